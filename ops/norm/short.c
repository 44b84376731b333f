// The norms of forward.c for many short rows, which follow one another in x and in out. A warp takes
// 32 / LANES rows at a time, which are one part of memory, and goes on with others: it loads the next
// rows before it computes, and weight and bias stay in registers.
//
// Rows of whole packs (V > 1): a lane has one pack of each of AHEAD rows. Others (V 1) pass through
// shared memory: they are moved as packs of 16 bytes, and a lane has up to PER elements of a row,
// every LANES-th.
#include "flags.h"
#include <kiln/pack.h>

tune(THREADS, 256);
tune(LANES, 8, 1, 2, 4, 16, 32);
tune(WHOLE, 0, 1); // all lanes have as many packs, or elements
#ifndef T
#    define T f32
#endif
#ifndef V
#    define V 4
#endif
#ifndef PER
#    define PER 1
#endif
#ifdef IN_PLACE
#    define ALONE
#else
#    define ALONE restrict
#endif
KERNEL_OVERLAPS

enum { WARPS = THREADS / 32, ROWS = 32 / LANES, KEPT = V > 1 ? V : PER };
#define FOR_KEPT(i) _Pragma("unroll") for (u32 i = 0; i < KEPT; i++)

static inline f32 row_sum(f32 x)
{
#pragma unroll
    for (u32 distance = 16; distance > 0; distance /= 2)
        if (distance < LANES)
            x += shuffle_xor(x, distance);
    return x;
}

// Is element i of this lane one of the row? `is_mine`: is the pack, or the last of PER elements?
static inline bool is_there(u32 i, bool is_mine)
{
    return WHOLE || (V == 1 && i + 1 < PER) || is_mine;
}

// v becomes its norm; elements that are not there are 0.
static inline void norm_row(f32 v[KEPT], const f32 w[KEPT], const f32 b[KEPT], bool is_mine, f32 eps, f32 share)
{
    f32 sum = 0, squares = 0;
    if (!IS_RMS) {
        FOR_KEPT(i)
            sum += v[i];
        f32 mean = row_sum(sum) * share;
        FOR_KEPT(i)
            v[i] = is_there(i, is_mine) ? v[i] - mean : 0.0f;
    }
    FOR_KEPT(i)
        squares = fma(v[i], v[i], squares);
    f32 scale = rsqrt(row_sum(squares) * share + eps);
    FOR_KEPT(i) {
        v[i] *= scale;
        v[i] = HAS_WEIGHT && HAS_BIAS ? fma(v[i], w[i], b[i]) : HAS_WEIGHT ? v[i] * w[i] : HAS_BIAS ? v[i] + b[i] : v[i];
    }
}

#if V > 1
PACK(T, V)
typedef pack_raw(T, V) raw;
enum { AHEAD = 2 };

// The packs of a lane in the rows `first` … of its warp.
static inline void fetch_rows(raw next[AHEAD], const T *from, u32 first, u32 rows, u32 packs)
{
    const u32 own = lane() / LANES, at = lane() % LANES;
#    pragma unroll
    for (u32 p = 0; p < AHEAD; p++) {
        u32 row = first + p * ROWS + own;
        next[p] = (raw){};
        if (row < rows && (WHOLE || at < packs))
            next[p] = pack_fetch(T, V, from, (u64)(row * packs + at));
    }
}

kernel block(THREADS) void norm_short(const T *ALONE x, T *ALONE to, const T *restrict weight, const T *restrict bias,
                                      u32 columns, u32 rows, f32 eps, f32 share)
{
    kernel_launch_next();
    const u32 own = lane() / LANES, at = lane() % LANES, packs = columns / V;
    const bool is_mine = WHOLE || at < packs;
    u32 first = (block_x() * WARPS + warp()) * (ROWS * AHEAD), step = grid_dim_x() * (WARPS * ROWS * AHEAD);
    f32 v[V], w[V], b[V];
    raw next[AHEAD], now[AHEAD];
    kernel_wait_previous();
    fetch_rows(next, x, first, rows, packs);
    if (HAS_WEIGHT)
        pack_load(T, V, w, weight, (u64)(is_mine ? at : 0u));
    if (HAS_BIAS)
        pack_load(T, V, b, bias, (u64)(is_mine ? at : 0u));
    for (; first < rows; first += step) {
#    pragma unroll
        for (u32 p = 0; p < AHEAD; p++)
            now[p] = next[p];
        if (first + step < rows)
            fetch_rows(next, x, first + step, rows, packs);
#    pragma unroll
        for (u32 p = 0; p < AHEAD; p++) {
            u32 row = first + p * ROWS + own;
            pack_open(T, V, v, now[p]);
            norm_row(v, w, b, is_mine, eps, share);
            if (is_mine && row < rows)
                pack_store(T, V, to, (u64)(row * packs + at), v);
        }
    }
}
#else
enum { EACH = 16 / sizeof(T), MOVES = (PER * (u32)sizeof(T) + 15) / 16 }; // elements of a move; moves of a lane
typedef struct move {
    _Alignas(16) u32 e[4];
} move;

// The moves of a lane in the part of memory of a group of rows, of which there are `count`.
static inline void fetch_moves(move next[MOVES], const T *from, u32 group, u32 count)
{
#    pragma unroll
    for (u32 m = 0; m < MOVES; m++)
        if (m * 32 + lane() < count)
            next[m] = ((const move *)from)[(u64)(group * count + m * 32 + lane())];
}

kernel block(THREADS) void norm_short(const T *ALONE x, T *ALONE to, const T *restrict weight, const T *restrict bias,
                                      u32 columns, u32 rows, f32 eps, f32 share)
{
    kernel_launch_next();
    shared move parts[WARPS][32 * MOVES];
    T *part = (T *)parts[warp()];
    const u32 at = lane() % LANES, first = lane() / LANES * columns + at, count = ROWS * columns / EACH;
    const bool is_mine = at + (PER - 1) * LANES < columns;
    const u32 step = grid_dim_x() * WARPS, full = rows / ROWS;
    u32 group = block_x() * WARPS + warp();
    f32 v[PER], w[PER], b[PER];
    move next[MOVES];
    kernel_wait_previous();
    if (group < full)
        fetch_moves(next, x, group, count);
    FOR_KEPT(i) {
        u32 column = is_there(i, is_mine) ? at + i * LANES : 0;
        w[i] = HAS_WEIGHT ? pack_get(T, weight[column]) : 1.0f;
        b[i] = HAS_BIAS ? pack_get(T, bias[column]) : 0.0f;
    }
    for (; group * ROWS < rows; group += step) {
        const u32 left = group < full ? 0u : (rows - group * ROWS) * columns; // elements of a group that is not full
        const u64 from = (u64)(group * (ROWS * columns));
#    pragma unroll
        for (u32 m = 0; m < MOVES; m++)
            if (!left && m * 32 + lane() < count)
                parts[warp()][m * 32 + lane()] = next[m];
#    pragma unroll 1
        for (u32 e = lane(); left && e < ROWS * columns; e += 32)
            part[e] = e < left ? x[from + e] : pack_put(T, 0.0f);
        warp_sync();
        if (group + step < full)
            fetch_moves(next, x, group + step, count);
        FOR_KEPT(i)
            v[i] = is_there(i, is_mine) ? pack_get(T, part[first + i * LANES]) : 0.0f;
        norm_row(v, w, b, is_mine, eps, share);
        FOR_KEPT(i)
            if (is_there(i, is_mine))
                part[first + i * LANES] = pack_put(T, v[i]);
        warp_sync();
#    pragma unroll
        for (u32 m = 0; m < MOVES; m++)
            if (!left && m * 32 + lane() < count)
                ((move *)to)[(u64)(group * count + m * 32 + lane())] = parts[warp()][m * 32 + lane()];
#    pragma unroll 1
        for (u32 e = lane(); e < left; e += 32)
            to[from + e] = part[e];
        warp_sync();
    }
}
#endif
