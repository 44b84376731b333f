// Which entries belong to which row: their keys, which ops/sort brings into order, and where
// those of each row are then: its span, the first of them and the one behind the last.
//
// An entry is an element of the index tensor (or AXES of them); its key is the number of its row, or
// `rows` where it has none: its index is out of range, or ignored.
#include <kiln/overlap.h>

KERNEL_OVERLAPS
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

// Rows without entries keep the empty span that this kernel gives to all.
kernel block(THREADS) void scatter_keys(const INDEX *restrict index, KEY *restrict keys, u32x2 *restrict spans, struct entries n)
{
    kernel_begin();
    u32 entry = global_x(), rest = entry, key = 0;
    if (entry < n.rows)
        spans[entry] = (u32x2){0, 0};
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

// The spans of the rows that have entries, from the sorted keys.
kernel block(THREADS) void scatter_spans(const KEY *restrict keys, u32 *restrict spans, u32 count, u32 rows)
{
    kernel_begin();
    u32 at = global_x();
    if (at >= count || (u32)keys[at] >= rows)
        return;
    u32 row = (u32)keys[at];
    if (at == 0 || (u32)keys[at - 1] != row)
        spans[2 * (u64)row] = at;
    if (at + 1 == count || (u32)keys[at + 1] != row)
        spans[2 * (u64)row + 1] = at + 1;
}
