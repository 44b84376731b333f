// out = softmax(scale * Q K^T) V on mma (sm_80 and later), with windows, sequences of different lengths, biases and slopes, and any head
// dimension that is a multiple of 8 up to 256.
//
// A block has 16 queries for each of its warps, and walks over the keys that any of them sees: OTHER at a time, in a
// ring of two stages, the next one on its way while this one is multiplied. Keys that none of them sees are not read.
// NO_LSE: the logarithms of the rows' sums are not stored.
#include <kiln/kernel.h>

#if !defined(HD)
#    define HD 128
#endif
tune(WARPS, 8, 4);

enum { OTHER = HD > 128 ? 32 : 64 }; // keys of a block

#define MASK
#include "mask.h"
#include "mma.h"

enum {
    ROWS = WARPS * 16,
    THREADS = WARPS * 32,
    KEEPS_Q = HD <= 128, // in registers
    Q_BYTES = ROWS * ROW_BYTES,
    STAGE_BYTES = 2 * OTHER_BYTES,
    SHARED_BYTES = Q_BYTES + 2 * STAGE_BYTES
};

_Alignas(128) shared u8 smem[];

typedef struct tensors {
    strides q, k, v, out, lse;
} tensors;

typedef struct sums { // of a lane's two rows, lane() / 4 and 8 further
    f32 top[2], sum[2], out[ACC_STEPS * 2][4];
} sums;

// Scores become weights, relative to the largest so far; the sums are scaled when that grows.
static void add_block(sums *w, f32 (*scores)[OTHER / 8][4])
{
    f32 shrink[2];
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        f32 top = w->top[half], sum = 0.0f;
#pragma unroll
        for (u32 n = 0; n < OTHER / 8; n++)
            top = max(top, max((*scores)[n][half * 2], (*scores)[n][half * 2 + 1]));
        top = max(top, shuffle_xor(top, 1));
        top = max(top, shuffle_xor(top, 2));
        f32 base = top == -INFINITY ? 0.0f : top; // no key is seen yet
        shrink[half] = fast_exp2(w->top[half] - base);
        w->top[half] = top;
#pragma unroll
        for (u32 n = 0; n < OTHER / 8; n++)
#pragma unroll
            for (u32 e = half * 2; e < half * 2 + 2; e++) {
                (*scores)[n][e] = fast_exp2((*scores)[n][e] - base);
                sum += (*scores)[n][e];
            }
        w->sum[half] = w->sum[half] * shrink[half] + sum;
    }
    if (warp_any(shrink[0] != 1.0f || shrink[1] != 1.0f)) {
#pragma unroll
        for (u32 n = 0; n < STEPS * 2; n++)
#pragma unroll
            for (u32 e = 0; e < 4; e++)
                w->out[n][e] *= shrink[e / 2];
    }
}

kernel block(THREADS) max_registers(HD <= 32 ? 128 : 255) void attention(const elem_t *q, const elem_t *k, const elem_t *v, elem_t *out,
#if !defined(NO_LSE)
                                                        f32 *lse,
#endif
                                                        shape s, tensors by
                                                        MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    u32 head = block_x() / s.tiles, tile = s.tiles - 1 - block_x() % s.tiles; // causal: long ones first
    u32 batch = head / s.heads;
    head -= batch * s.heads;
    u32 kv_head = head / (s.heads / s.kv_heads);
    place_of_tile at_tile = TILE_OF_QUERIES(m, q_offsets, k_offsets, tile, ROWS, s.queries, s.keys);
    part p = at_tile.p;
    u32 first = at_tile.first, end = p.first_query + p.queries;
    if (first >= end)
        return;
    u32 last = min(first + ROWS, end) - 1;
    span head_keys = keys_of(m, p, first), tail_keys = keys_of(m, p, last);
    u32 begin = head_keys.begin, keys_end = tail_keys.end;
    const elem_t *from_k = k + (batch * by.k.batch + kv_head * by.k.head);
    const elem_t *from_v = v + (batch * by.v.batch + kv_head * by.v.head);
    u8 *ring = smem + Q_BYTES;

    copy_tile(smem, ROWS, THREADS, q + (batch * by.q.batch + head * by.q.head), by.q.row, first, end);
    if (begin < keys_end) {
        copy_tile(ring, OTHER, THREADS, from_k, by.k.row, begin, keys_end);
        copy_tile(ring + OTHER_BYTES, OTHER, THREADS, from_v, by.v.row, begin, keys_end);
    }
    async_commit();

    sums w;
    u32 query[2];
    span seen[2];
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        query[half] = min(first + warp() * 16 + lane() / 4 + half * 8, last);
        seen[half] = keys_of(m, p, query[half]);
        w.top[half] = -INFINITY;
        w.sum[half] = 0.0f;
    }
#pragma unroll
    for (u32 n = 0; n < STEPS * 2; n++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            w.out[n][e] = 0.0f;
    u32 kept[KEEPS_Q ? STEPS : 1][4];
    u32 stage = 0;
    for (u32 at = begin; at < keys_end; at += OTHER) {
        async_wait(0);
        barrier(); // the block is there, and the one before is no longer read
        const u8 *now = ring + stage * STAGE_BYTES;
        stage ^= 1;
        if (at + OTHER < keys_end) {
            copy_tile(ring + stage * STAGE_BYTES, OTHER, THREADS, from_k, by.k.row, at + OTHER, keys_end);
            copy_tile(ring + stage * STAGE_BYTES + OTHER_BYTES, OTHER, THREADS, from_v, by.v.row, at + OTHER, keys_end);
        }
        async_commit();
        f32 scores[OTHER / 8][4] = {{0.0f}};
        if (KEEPS_Q && at == begin) {
#pragma unroll
            for (u32 step = 0; step < (KEEPS_Q ? STEPS : 0); step++)
                load_rows(&kept[step], smem, ROWS, warp() * 16, step);
        }
#pragma unroll
        for (u32 step = 0; step < STEPS; step++) {
            if (KEEPS_Q) {
                multiply_step(&scores, &kept[KEEPS_Q ? step : 0], now, step);
            } else {
                u32 a[4];
                load_rows(&a, smem, ROWS, warp() * 16, step);
                multiply_step(&scores, &a, now, step);
            }
        }
        bool is_inside = at >= tail_keys.begin && at + OTHER <= head_keys.end;
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            edge x;
            EDGE_OF_QUERY(x, m, slopes, bias, p, batch, head, query[half], seen[half], at + lane() % 4 * 2);
#pragma unroll
            for (u32 n = 0; n < OTHER / 8; n++) {
#pragma unroll
                for (u32 odd = 0; odd < 2; odd++)
                    scores[n][half * 2 + odd] = score_of(&x, scores[n][half * 2 + odd] * s.scale, n, odd, is_inside);
                next_columns(&x);
            }
        }
        add_block(&w, &scores);
        add_rows(&w.out, &scores, now + OTHER_BYTES, 0, 0, STEPS);
    }
    async_wait(0);
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        f32 sum = w.sum[half];
        sum += shuffle_xor(sum, 1);
        sum += shuffle_xor(sum, 2);
        u32 row = first + warp() * 16 + lane() / 4 + half * 8;
        if (row > last)
            continue;
        bool is_none = w.top[half] == -INFINITY; // it sees no key: zeros
        store_row(out + (batch * by.out.batch + head * by.out.head + row * by.out.row), &w.out, half,
                  is_none ? 0.0f : 1.0f / sum, 0, STEPS);
#if !defined(NO_LSE)
        if (lane() % 4 == 0)
            lse[batch * by.lse.batch + head * by.lse.head + row * by.lse.row] =
                is_none ? -INFINITY : (log2(sum) + w.top[half]) * 0.69314718f;
#endif
    }
}
