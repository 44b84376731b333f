#!/bin/sh
# Standard input and output, an argument and the exit status go through.
device=${KILN_DEVICE:-cpu}
got=$(printf 'one two three\nfour\n\nfive six\n' | kiln run wc.c --main --arg here --allow-stdin --device "$device")
status=$?
kiln run wc.c --main --allow-stdin --device "$device" < /dev/null > /dev/null
empty=$?
echo "$got"
[ "$got" = "4 6 29 here" ] && [ $status = 0 ] && [ $empty = 3 ] && echo "word_count: PASS" || { echo "word_count: FAIL ($status, $empty)"; exit 1; }
