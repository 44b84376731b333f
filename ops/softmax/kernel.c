// Softmax of rows, forward and backward: out = exp(x - m) / sum(exp(x - m)); with LOG its logarithm.
// Backward: from the result y and its gradient g, dx = y * (g - sum(g * y)), with LOG
// g - exp(y) * sum(g).
//
// LANES threads have a row: one (the rows lie side by side), a warp or a part of it, or the block. They keep it in
// registers, PER packs each, and read it once. A longer row (PER 0) is read twice: the maximum and
// the sum are made together, a later maximum scales the sum so far. With AHEAD a block takes rows one
// after the other, and copies the next one into shared memory while it computes.
#ifdef BACKWARD
#    define NEST_OF 3
#else
#    define NEST_OF 2
#endif
#include <kiln/rows.h>
#include "exp.h"
KERNEL_OVERLAPS

#ifdef AHEAD
#    define EACH_ROW(rows) for (u64 row = row_of(); row < (rows); row += grid_dim_x())
enum { SHARED_BYTES = PER * THREADS * 16 };
dynamic_shared(raw, next_row);

// The packs of this thread in a row that starts at `first`, copied to where only it reads.
static inline void copy_row(const T *from, i64 first, u64 packs)
{
    const raw *at = (const raw *)from + (first + (i64)thread_x());
    EACH_PACK(p)
        if (WHOLE || is_pack(p, packs))
            async_copy_16(next_row + (p * THREADS + thread_x()), at + p * THREADS);
    async_commit();
}

static inline void take_row(raw *packs_of, u64 packs)
{
    async_wait(0);
    EACH_PACK(p) {
        packs_of[p] = (raw){};
        if (WHOLE || is_pack(p, packs))
            packs_of[p] = next_row[p * THREADS + thread_x()];
    }
}
#else
#    define EACH_ROW(rows)
#endif

#ifndef BACKWARD
kernel block(THREADS) void softmax(const T *ALONE a_from, T *ALONE r_to, struct nest n)
{
    kernel_launch_next();
    u64 packs = row_packs(&n), index[8];
    bool is_there = row_find(&n, index);
    i64 a = row_first(&n, index, 0), r = row_first(&n, index, 1);
    kernel_wait_previous();
    if (!is_there)
        return;
#    if PER
#        ifdef AHEAD
    copy_row(a_from, a, packs);
#        endif
    EACH_ROW(n.rest) {
        f32 largest = -INFINITY, sum = 0;
        f32 v[PER][V];
        raw of_a[PER];
        const i64 to = r;
#        ifdef AHEAD
        take_row(of_a, packs);
        if (row + grid_dim_x() < n.rest) {
            nest_find(&n, RANK - 1, row + grid_dim_x(), index);
            r = row_first(&n, index, 1);
            copy_row(a_from, row_first(&n, index, 0), packs);
        }
#        else
        fetch_all(of_a, a_from, a, 0, &n);
#        endif
        EACH_PACK(p)
            pack_open(T, V, v[p], of_a[p]);
        FOR_PACKS(p, packs)
            FOR_ELEMENTS(i)
                largest = max(largest, v[p][i]);
        largest = row_max(largest, 0);
        FOR_PACKS(p, packs) {
            f32 part = 0;
            FOR_ELEMENTS(i) {
                f32 e = exp_below(v[p][i] - largest);
                v[p][i] = IS_LOG ? v[p][i] - largest : e;
                part += e;
            }
            sum += part;
        }
        sum = row_sum(sum, 1);
        f32 scale = 1.0f / sum, shift = IS_LOG ? log(sum) : 0.0f;
        FOR_PACKS(p, packs) {
            FOR_ELEMENTS(i)
                v[p][i] = IS_LOG ? v[p][i] - shift : v[p][i] * scale;
            store(r_to, to, pack_of(p), 1, &n, v[p]);
        }
    }
#    else
    f32 largest = -INFINITY, sum = 0;
    enum { TOGETHER = V >= 4 ? 4 : 8 }; // packs that a thread loads at once
    f32 v[TOGETHER][V];
    raw of_a[TOGETHER];
    for (u64 at = lane_of_row(); at < packs; at += TOGETHER * LANES) {
        fetch_some(of_a, TOGETHER, a_from, a, at, 0, &n);
        f32 before = largest, part = 0;
        EACH_OF(p, TOGETHER) {
            pack_open(T, V, v[p], of_a[p]);
            FOR_ELEMENTS(i) {
                v[p][i] = at + p * LANES < packs ? v[p][i] : -INFINITY;
                largest = max(largest, v[p][i]);
            }
        }
        f32 base = largest == -INFINITY ? 0.0f : largest; // nothing but -inf so far
        EACH_OF(p, TOGETHER)
            FOR_ELEMENTS(i)
                part += exp_below(v[p][i] - base);
        sum = sum * exp_below(before - base) + part;
    }
    f32 all = row_max(largest, 0);
    sum = row_sum(largest == all ? sum : sum * exp_below(largest - all), 1);
    f32 scale = 1.0f / sum, shift = IS_LOG ? log(sum) : 0.0f;
    for (u64 at = lane_of_row(); at < packs; at += TOGETHER * LANES) {
        fetch_some(of_a, TOGETHER, a_from, a, at, 0, &n);
        EACH_OF(p, TOGETHER) {
            pack_open(T, V, v[p], of_a[p]);
            FOR_ELEMENTS(i)
                v[p][i] = IS_LOG ? v[p][i] - all - shift : exp_below(v[p][i] - all) * scale;
            if (at + p * LANES < packs)
                store(r_to, r, at + p * LANES, 1, &n, v[p]);
        }
    }
#    endif
}
#else
kernel block(THREADS) void softmax(const T *ALONE a_from, const T *ALONE b_from, T *ALONE r_to, struct nest n)
{
    kernel_launch_next();
    u64 packs = row_packs(&n), index[8];
    bool is_there = row_find(&n, index);
    i64 a = row_first(&n, index, 0), b = row_first(&n, index, 1);
    i64 r = row_first(&n, index, 2);
    kernel_wait_previous();
    if (!is_there)
        return;
    f32 sum = 0;
#    if PER
    // Two rows do not fit into the registers of the largest blocks: y is read again.
    const bool is_kept = THREADS < 896 || PER * V <= 16;
    f32 y[PER][V], g[PER][V];
    FOR_PACKS(p, packs) {
        load(y[p], a_from, a, pack_of(p), 0, &n);
        load(g[p], b_from, b, pack_of(p), 1, &n);
    }
    FOR_PACKS(p, packs) {
        f32 part = 0;
        FOR_ELEMENTS(i)
            part += IS_LOG ? g[p][i] : g[p][i] * y[p][i];
        sum += part;
    }
    sum = row_sum(sum, 0);
    FOR_PACKS(p, packs) {
        if (!is_kept)
            load(y[p], a_from, a, pack_of(p), 0, &n);
        FOR_ELEMENTS(i)
            g[p][i] = IS_LOG ? g[p][i] - exp(y[p][i]) * sum : y[p][i] * (g[p][i] - sum);
        store(r_to, r, pack_of(p), 2, &n, g[p]);
    }
#    else
    f32 y[V], g[V];
    FOR_LONG(at, packs) {
        load(y, a_from, a, at, 0, &n);
        load(g, b_from, b, at, 1, &n);
        f32 part = 0;
        FOR_ELEMENTS(i)
            part += IS_LOG ? g[i] : g[i] * y[i];
        sum += part;
    }
    sum = row_sum(sum, 0);
    FOR_LONG(at, packs) {
        load(y, a_from, a, at, 0, &n);
        load(g, b_from, b, at, 1, &n);
        FOR_ELEMENTS(i)
            g[i] = IS_LOG ? g[i] - exp(y[i]) * sum : y[i] * (g[i] - sum);
        store(r_to, r, at, 2, &n, g);
    }
#    endif
}
#endif
