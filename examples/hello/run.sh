#!/bin/sh
# Eight threads in two blocks; every line must be there once.
got=$(kiln run hello.c --grid 2 --device "${KILN_DEVICE:-cpu}" | grep '^hello from' | sort)
want=$(for block in 0 1; do for thread in 0 1 2 3; do echo "hello from thread $thread of block $block"; done; done | sort)
echo "$got"
[ "$got" = "$want" ] && echo "hello: PASS" || { echo "hello: FAIL"; exit 1; }
