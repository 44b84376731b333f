#!/bin/sh
# 500 vectors; awk finds the same one.
mkdir -p work
awk 'BEGIN { for (i = 0; i < 500; i++) print (i * 37) % 101 / 10, (i * 53) % 97 / 10, (i * 29) % 89 / 10, (i * 71) % 83 / 10 }' > work/vectors.txt
echo "3.1 4.1 5.9 2.6" > work/query.txt
want=$(awk 'BEGIN { best = 1e30 } { d = ($1 - 3.1)^2 + ($2 - 4.1)^2 + ($3 - 5.9)^2 + ($4 - 2.6)^2; if (d < best) { best = d; where = NR - 1 } } END { print where }' work/vectors.txt)
got=$(kiln run search.c best=1 distance=1 --grid 1 --device "${KILN_DEVICE:-cpu}" --allow-read=work | sed -n 's/.*best: u32\[1\] = \([0-9]*\) .*/\1/p')
echo "nearest: vector $got"
[ -n "$got" ] && [ "$got" = "$want" ] && echo "vector_search: PASS" || { echo "vector_search: FAIL (awk says $want)"; exit 1; }
