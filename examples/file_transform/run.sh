#!/bin/sh
# The kernel may read and write in the folder work and nowhere else.
mkdir -p work
i=0
while [ $i -lt 300 ]; do echo "line $i of a file that a kernel changes"; i=$((i + 1)); done > work/in.txt
kiln run transform.c changed=1 --grid 1 --device "${KILN_DEVICE:-cpu}" --allow-read=work --allow-write=work | grep changed
tr a-z A-Z < work/in.txt | cmp - work/out.txt && echo "file_transform: PASS" || { echo "file_transform: FAIL"; exit 1; }
