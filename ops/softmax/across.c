// The softmax of kernel.c where rows lie side by side: along an axis that is not the last of dense tensors. x is
// [others][columns][packs] of packs of V neighbouring rows. A block has WIDE packs side by side, and its threads every
// GROUPS-th column of them: they read a row twice, and make the maximum and the sum together.
#include <kiln/pack.h>

tune(THREADS, 256, 1024);
#ifndef T
#    define T f32
#endif
#ifndef V
#    define V 4
#endif
#ifdef IN_PLACE
#    define ALONE
#else
#    define ALONE restrict
#endif
#include "exp.h"
KERNEL_OVERLAPS
PACK(T, V)
typedef pack_raw(T, V) raw;
enum { WIDE = 4, ROWS = WIDE * V, GROUPS = THREADS / WIDE, WARPS = THREADS / 32, TOGETHER = 4 };
#define FOR_ELEMENTS(i) _Pragma("unroll") for (u32 i = 0; i < V; i++)
#define FOR_PACKS(p)    _Pragma("unroll") for (u32 p = 0; p < TOGETHER; p++)

// The pack of this thread in the first column; false: there is none, it is the first of all.
static inline bool find(u32 others, u32 columns, u32 packs, u32 *first)
{
    u32 pack = block_x() * WIDE + thread_x() % WIDE;
    bool is_there = pack < others * packs;
    pack = is_there ? pack : 0;
    *first = pack / packs * (columns * packs) + pack % packs;
    return is_there;
}

// TOGETHER columns from `at` on, GROUPS apart.
static inline void fetch(raw *to, const T *from, u32 first, u32 at, u32 columns, u32 packs)
{
    FOR_PACKS(p) {
        to[p] = (raw){};
        if (at + p * GROUPS < columns)
            to[p] = pack_fetch(T, V, from, (u64)(first + (at + p * GROUPS) * packs));
    }
}

// A sum that belongs to another largest number; both may be -inf.
static inline f32 part_of(f32 sum, f32 largest, f32 all)
{
    return largest == all ? sum : sum * exp_below(largest - all);
}

shared f32 largest_of[WARPS][ROWS], sum_of[WARPS][ROWS];

// What the threads have of each row becomes what the block has.
static inline void join(f32 largest[V], f32 sum[V], bool has_largest)
{
    FOR_ELEMENTS(i)
    {
#pragma unroll
        for (u32 distance = 16; distance >= WIDE; distance /= 2) {
            f32 of = shuffle_xor(sum[i], distance);
            if (has_largest) {
                f32 other = shuffle_xor(largest[i], distance), all = max(largest[i], other);
                sum[i] = part_of(sum[i], largest[i], all);
                of = part_of(of, other, all);
                largest[i] = all;
            }
            sum[i] += of;
        }
        if (lane() < WIDE) {
            sum_of[warp()][lane() * V + i] = sum[i];
            if (has_largest)
                largest_of[warp()][lane() * V + i] = largest[i];
        }
    }
    barrier();
    for (u32 row = warp(); row < ROWS; row += WARPS) {
        f32 own = lane() < WARPS ? sum_of[lane() % WARPS][row] : 0.0f, all = 0;
        if (has_largest) {
            f32 most = lane() < WARPS ? largest_of[lane() % WARPS][row] : -INFINITY;
            all = warp_max(most);
            own = part_of(own, most, all);
        }
        own = warp_sum(lane() < WARPS ? own : 0.0f);
        warp_sync();
        if (lane() == 0) {
            sum_of[0][row] = own;
            largest_of[0][row] = all;
        }
    }
    barrier();
    FOR_ELEMENTS(i)
    {
        sum[i] = sum_of[0][thread_x() % WIDE * V + i];
        largest[i] = largest_of[0][thread_x() % WIDE * V + i];
    }
}

#ifndef BACKWARD
kernel block(THREADS) void softmax_across(const T *ALONE x, T *ALONE to, u32 others, u32 columns, u32 packs)
{
    kernel_launch_next();
    u32 first, group = thread_x() / WIDE;
    bool is_there = find(others, columns, packs, &first);
    f32 largest[V], sum[V], v[TOGETHER][V];
    raw of_x[TOGETHER];
    FOR_ELEMENTS(i)
    {
        largest[i] = -INFINITY;
        sum[i] = 0;
    }
    kernel_wait_previous();
    for (u32 at = group; at < (is_there ? columns : 0); at += TOGETHER * GROUPS) {
        fetch(of_x, x, first, at, columns, packs);
        FOR_PACKS(p)
        pack_open(T, V, v[p], of_x[p]);
        FOR_ELEMENTS(i)
        {
            f32 before = largest[i], part = 0;
            FOR_PACKS(p) {
                v[p][i] = at + p * GROUPS < columns ? v[p][i] : -INFINITY;
                largest[i] = max(largest[i], v[p][i]);
            }
            f32 base = largest[i] == -INFINITY ? 0.0f : largest[i]; // nothing but -inf so far
            FOR_PACKS(p)
            part += exp_below(v[p][i] - base);
            sum[i] = sum[i] * exp_below(before - base) + part;
        }
    }
    join(largest, sum, true);
    FOR_ELEMENTS(i)
    sum[i] = IS_LOG ? log(sum[i]) : 1.0f / sum[i];
    for (u32 at = group; at < (is_there ? columns : 0); at += TOGETHER * GROUPS) {
        fetch(of_x, x, first, at, columns, packs);
        FOR_PACKS(p) {
            pack_open(T, V, v[p], of_x[p]);
            FOR_ELEMENTS(i)
            {
                f32 below = v[p][i] - largest[i];
                v[p][i] = IS_LOG ? below - sum[i] : exp_below(below) * sum[i];
            }
            if (at + p * GROUPS < columns)
                pack_store(T, V, to, (u64)(first + (at + p * GROUPS) * packs), v[p]);
        }
    }
}
#else
kernel block(THREADS) void softmax_across(const T *ALONE out, const T *ALONE dout, T *ALONE to, u32 others, u32 columns, u32 packs)
{
    kernel_launch_next();
    u32 first, group = thread_x() / WIDE;
    bool is_there = find(others, columns, packs, &first);
    f32 none[V], sum[V], y[V], g[V];
    raw of_y[TOGETHER], of_g[TOGETHER];
    FOR_ELEMENTS(i)
    sum[i] = 0;
    kernel_wait_previous();
    for (u32 at = group; at < (is_there ? columns : 0); at += TOGETHER * GROUPS) {
        fetch(of_y, out, first, at, columns, packs);
        fetch(of_g, dout, first, at, columns, packs);
        FOR_PACKS(p) {
            pack_open(T, V, y, of_y[p]);
            pack_open(T, V, g, of_g[p]);
            FOR_ELEMENTS(i)
            sum[i] += IS_LOG ? g[i] : g[i] * y[i];
        }
    }
    join(none, sum, false);
    for (u32 at = group; at < (is_there ? columns : 0); at += TOGETHER * GROUPS) {
        fetch(of_y, out, first, at, columns, packs);
        fetch(of_g, dout, first, at, columns, packs);
        FOR_PACKS(p) {
            pack_open(T, V, y, of_y[p]);
            pack_open(T, V, g, of_g[p]);
            FOR_ELEMENTS(i)
            g[i] = IS_LOG ? g[i] - exp(y[i]) * sum[i] : y[i] * (g[i] - sum[i]);
            if (at + p * GROUPS < columns)
                pack_store(T, V, to, (u64)(first + (at + p * GROUPS) * packs), g);
        }
    }
}
#endif
