#!/bin/sh
# Server and client are two launches, in two processes, on the loopback interface.
rm -rf work && mkdir work
device=${KILN_DEVICE:-cpu}
kiln run echo.c serve clients=1 --grid 1 --device "$device" --allow-net='127.0.0.1:*' --allow-write=work > server.log 2>&1 &
server=$!
tries=0
while [ ! -s work/port.txt ] && [ $tries -lt 600 ] && kill -0 $server 2> /dev/null; do sleep 0.1; tries=$((tries + 1)); done
got=$(kiln run echo.c ask --grid 1 --device "$device" --allow-net='127.0.0.1:*' --allow-read=work | head -1)
[ -s work/port.txt ] || kill $server 2> /dev/null
wait $server
echo "$got"
[ "$got" = "is anybody there?" ] && echo "tcp_echo: PASS" || { cat server.log; echo "tcp_echo: FAIL"; exit 1; }
rm -f server.log
