// Which entries belong to which row: their keys, which ops/sort brings into order, and where
// the keys of each row start then.
//
// An entry is an element of the index tensor (or AXES of them); its key is the number of its row, or
// `rows` where it has none: its index is out of range, or ignored.
#include <kiln/kernel.h>

#ifndef INDEX
#    define INDEX i32
#endif
#ifndef KEY
#    define KEY u32
#endif
tune(LOOPS, 1, 2, 3, 4, 5, 6, 7, 8);
tune(AXES, 1, 2, 3, 4, 5, 6, 7, 8);
enum { THREADS = 256 };

struct entries {
    u32 count, rows;
    u32 sizes[8]; // of the loops, outermost first
    i64 index[8]; // strides of the index tensor
    u32 key[8];   // what a step of the loop adds to the key
    i64 axis_sizes[8];
    u32 axis_key[8];
    i64 step;    // from one index of an entry to the next
    i64 ignored; // this index has no row; where has_ignored is set
    u32 has_ignored;
};

kernel block(THREADS) void scatter_keys(const INDEX *restrict index, KEY *restrict keys, struct entries n)
{
    u32 entry = global_x(), rest = entry, key = 0;
    if (entry >= n.count)
        return;
    i64 at = 0;
#pragma unroll
    for (i32 d = (i32)LOOPS - 1; d >= 0; d--) {
        u32 outer = d ? rest / n.sizes[d] : 0, i = rest - outer * n.sizes[d];
        at += (i64)i * n.index[d];
        key += i * n.key[d];
        rest = outer;
    }
    bool is_inside = true;
#pragma unroll
    for (u32 a = 0; a < AXES; a++) {
        i64 i = (i64)index[at + (i64)a * n.step];
        is_inside = is_inside && !(n.has_ignored != 0 && i == n.ignored);
        i = i < 0 ? i + n.axis_sizes[a] : i;
        is_inside = is_inside && i >= 0 && i < n.axis_sizes[a];
        key += (u32)i * n.axis_key[a];
    }
    keys[entry] = (KEY)(is_inside ? key : n.rows);
}

// Where the entries of each row start among the sorted ones.
kernel block(THREADS) void scatter_starts(const KEY *restrict keys, u32 *restrict starts, u32 count, u32 rows)
{
    u32 row = global_x(), low = 0, high = count;
    if (row > rows) // there is one more start than rows
        return;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if ((u32)keys[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    starts[row] = low;
}
