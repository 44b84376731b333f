// Running values along an axis across which the elements are contiguous: a thread has V neighbouring columns and walks down
// a part of them, PER rows at a time. Parts are as in rows.c; `work` is [parts][columns].
#include "step.h"
KERNEL_OVERLAPS

enum { THREADS = 256 };

kernel block(THREADS) void scan_columns(const T *ALONE x, OUT *ALONE to, u64 *restrict work, struct nest n, struct row r)
{
    kernel_begin();
    u64 column = (u64)block_x() * THREADS + thread_x(), index[8];
    u32 part = PART_OF_BLOCK;
    if (column >= n.packs)
        return;
    nest_find(&n, RANK, column, index);
    i64 x_step = r.x_step, to_step = r.to_step;
    i64 first = nest_place(&n, RANK, index, X), first_to = nest_place(&n, RANK, index, TO);
#ifdef REVERSE
    first += (i64)(r.count - 1) * x_step;
    first_to += (i64)(r.count - 1) * to_step;
    x_step = -x_step;
    to_step = -to_step;
#endif
    u64 from = part * r.part, end = min(from + r.part, r.count);
    acc carry[V], v[PER][V];
    EACH(i, V)
        carry[i] = EMPTY;
#ifdef CARRY
#    pragma unroll 4
    for (u32 p = 0; p < part; p++)
        EACH(i, V)
            carry[i] = step(carry[i], ((const acc *)work)[(p * n.packs + column) * V + i]);
#endif
    for (; from < end; from += PER) {
        EACH(p, PER)
            if (from + p < end) {
                pack_number(T) number[V];
                pack_load(T, V, number, x, (u64)((first + (i64)(from + p) * x_step) / V));
                EACH(i, V)
                    v[p][i] = (acc)number[i];
            }
        EACH(p, PER)
            if (from + p < end) {
                pack_number(OUT) result[V];
                EACH(i, V) {
#ifdef EXCLUSIVE
                    result[i] = pack_convert(OUT, carry[i]);
#endif
                    carry[i] = step(carry[i], v[p][i]);
#ifndef EXCLUSIVE
                    result[i] = pack_convert(OUT, carry[i]);
#endif
                }
#ifndef TOTALS
                pack_store(OUT, V, to, (u64)((first_to + (i64)(from + p) * to_step) / V), result);
#endif
            }
    }
#ifdef TOTALS
    EACH(i, V)
        ((acc *)work)[(part * n.packs + column) * V + i] = carry[i];
#endif
}
