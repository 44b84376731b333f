#!/bin/sh
# A tree of 60 files, compared with the system's grep.
rm -rf work
for folder in work/a work/a/deep work/b; do
    mkdir -p $folder
    i=0
    while [ $i -lt 20 ]; do
        echo "some hay $i" > $folder/$i.txt
        [ $((i % 7)) != 3 ] || echo "a needle in $folder" >> $folder/$i.txt
        i=$((i + 1))
    done
done
kiln run grep.c matches=1 --grid 1 --device "${KILN_DEVICE:-cpu}" --allow-read=work > result.txt || exit 1
grep '^work' result.txt | sort > found.txt
grep -rn needle work | sort > wanted.txt
head -3 found.txt
if cmp found.txt wanted.txt && grep -q 'matches: u32\[1\] = 9 ' result.txt; then echo "gpu_grep: PASS"; else echo "gpu_grep: FAIL"; exit 1; fi
rm -f result.txt found.txt wanted.txt
