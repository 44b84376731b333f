// Attention backward on mma (sm_80 and later): dQ by one kernel, then dK and dV by another, for any head dimension that is a multiple of 8
// up to 256. Nothing is added in memory, so every result is the same bits each time.
//
// Both kernels compute scores again. A block of the first has ROWS queries and walks over the keys that any of them
// sees; a block of the second has ROWS keys and walks over the queries that see any of them, in all heads that share
// those keys. OTHER rows at a time come through a ring of two stages. d: the sum of dO * O over each row,
// [batch][heads][queries], written by the first kernel and read by the second.
#include <kiln/kernel.h>

#if !defined(HD)
#    define HD 128
#endif

enum { OTHER = HD > 64 ? 32 : 64 };

#define MASK
#include "mask.h"
#include "mma.h"

enum {
    ROWS = BACKWARD_MMA_ROWS,
    ROW_WARPS = ROWS / 16,
    OWN_BYTES = ROWS * ROW_BYTES,
    STAGE_BYTES = 2 * OTHER_BYTES,
    SHARED_BYTES = 2 * OWN_BYTES + 2 * STAGE_BYTES,
    // Large heads: two warps share 16 keys, each has half of their columns of dK and dV.
    PARTS = HD > 128 ? 2 : 1,
    PART_STEPS = PARTS == 1 ? STEPS : 8, // whole panels
    MOST_FIRST = (PARTS - 1) * PART_STEPS
};

_Alignas(128) shared u8 smem[];

typedef struct tensors {
    strides q, k, v, out, dout, lse, dq, dk, dv;
} tensors;

// Starts the copies of rows of two tensors.
static void copy_pair(u8 *tiles, u32 rows, u32 threads, const elem_t *a, i64 by_a, const elem_t *b, i64 by_b, u32 first,
                      u32 end)
{
    copy_tile(tiles, rows, threads, a, by_a, first, end);
    copy_tile(tiles + rows * ROW_BYTES, rows, threads, b, by_b, first, end);
}

// Products of a warp's rows of two tensors and the rows of two others: scores and dP, or both transposed.
static void multiply_pair(f32 (*scores)[OTHER / 8][4], f32 (*dp)[OTHER / 8][4], const u8 *own, const u8 *other, u32 first)
{
#pragma unroll
    for (u32 step = 0; step < STEPS; step++) {
        u32 a[4], b[4];
        load_rows(&a, own, ROWS, first, step);
        multiply_step(scores, &a, other, step);
        load_rows(&b, own + OWN_BYTES, ROWS, first, step);
        multiply_step(dp, &b, other + OTHER_BYTES, step);
    }
}

// What a score times LOG2_E is added to; a row that sees nothing has weights of 0.
static f32 minus_log(f32 lse)
{
    return lse == -INFINITY ? -INFINITY : lse * -LOG2_E;
}

static f32 add_products(f32 sum, const elem_t *a, const elem_t *b)
{
#pragma unroll
    for (u32 i = 0; i < 8; i++)
        sum = fma(f32(a[i]), f32(b[i]), sum);
    return sum;
}

kernel block(32 * ROW_WARPS) void attention_backward_queries(const elem_t *q, const elem_t *k, const elem_t *v, const elem_t *out,
                                                      const elem_t *dout, const f32 *lse, f32 *d, elem_t *dq, shape s, tensors by
                                                      MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    enum { THREADS = 32 * ROW_WARPS };
    u32 head = block_x() / s.tiles, tile = s.tiles - 1 - block_x() % s.tiles, batch = head / s.heads;
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
    const elem_t *own_out = out + (batch * by.out.batch + head * by.out.head);
    const elem_t *own_dout = dout + (batch * by.dout.batch + head * by.dout.head);
    u8 *ring = smem + 2 * OWN_BYTES;
    copy_pair(smem, ROWS, THREADS, q + (batch * by.q.batch + head * by.q.head), by.q.row, own_dout, by.dout.row, first, end);
    if (begin < keys_end)
        copy_pair(ring, OTHER, THREADS, from_k, by.k.row, from_v, by.v.row, begin, keys_end);
    async_commit();

    // Two lanes sum a row of dO * O.
    u32 summed = first + warp() * 16 + lane() / 2;
    f32 part_of_d = 0.0f;
    for (u32 g = lane() % 2; g < GRANULES && summed <= last; g += 2)
        part_of_d = add_products(part_of_d, own_dout + (summed * by.dout.row + g * 8), own_out + (summed * by.out.row + g * 8));
    part_of_d += shuffle_xor(part_of_d, 1);
    if (lane() % 2 == 0 && summed <= last)
        d[(u64)(batch * s.heads + head) * s.queries + summed] = part_of_d;

    u32 query[2];
    span seen[2];
    f32 minus[2], own_d[2];
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        query[half] = min(first + warp() * 16 + lane() / 4 + half * 8, last);
        seen[half] = keys_of(m, p, query[half]);
        minus[half] = minus_log(lse[batch * by.lse.batch + head * by.lse.head + query[half] * by.lse.row]);
        own_d[half] = shuffle(part_of_d, lane() / 4 * 2 + half * 16);
    }
    f32 acc[ACC_STEPS * 2][4];
#pragma unroll
    for (u32 n = 0; n < STEPS * 2; n++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            acc[n][e] = 0.0f;
    u32 stage = 0;
    for (u32 at = begin; at < keys_end; at += OTHER) {
        async_wait(0);
        barrier(); // the block is there, and the one before is no longer read
        const u8 *now = ring + stage * STAGE_BYTES;
        stage ^= 1;
        if (at + OTHER < keys_end)
            copy_pair(ring + stage * STAGE_BYTES, OTHER, THREADS, from_k, by.k.row, from_v, by.v.row, at + OTHER, keys_end);
        async_commit();
        f32 scores[OTHER / 8][4] = {{0.0f}}, ds[OTHER / 8][4] = {{0.0f}};
        multiply_pair(&scores, &ds, smem, now, warp() * 16);
        bool is_inside = at >= tail_keys.begin && at + OTHER <= head_keys.end;
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            edge x;
            EDGE_OF_QUERY(x, m, slopes, bias, p, batch, head, query[half], seen[half], at + lane() % 4 * 2);
#pragma unroll
            for (u32 n = 0; n < OTHER / 8; n++) {
#pragma unroll
                for (u32 odd = 0; odd < 2; odd++) {
                    u32 e = half * 2 + odd;
                    f32 weight = fast_exp2(score_of(&x, scores[n][e] * s.scale, n, odd, is_inside) + minus[half]);
                    ds[n][e] = weight * (ds[n][e] - own_d[half]);
                }
                next_columns(&x);
            }
        }
        add_rows(&acc, &ds, now, 0, 0, STEPS);
    }
    async_wait(0);
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        u32 row = first + warp() * 16 + lane() / 4 + half * 8;
        if (row <= last)
            store_row(dq + (batch * by.dq.batch + head * by.dq.head + row * by.dq.row), &acc, half, s.factor, 0, STEPS);
    }
}

kernel block(32 * ROW_WARPS * PARTS) void attention_backward_keys(const elem_t *q, const elem_t *k, const elem_t *v, elem_t *dk,
                                                                  const elem_t *dout, const f32 *lse, const f32 *d, elem_t *dv, shape s, tensors by
                                                                  MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    enum { THREADS = 32 * ROW_WARPS * PARTS };
    shared f32 rows[2][2][OTHER]; // of a stage: minus_log and d of its queries
    u32 kv_head = block_x() / s.tiles, tile = block_x() % s.tiles, batch = kv_head / s.kv_heads;
    kv_head -= batch * s.kv_heads;
    u32 sharing = s.heads / s.kv_heads, own_warp = warp() % ROW_WARPS, first_step = PARTS == 1 ? 0 : warp() / ROW_WARPS * PART_STEPS;
    place_of_tile at_tile = TILE_OF_KEYS(m, q_offsets, k_offsets, tile, ROWS, s.queries, s.keys);
    part p = at_tile.p;
    u32 first = at_tile.first, end = p.first_key + p.keys;
    if (first >= end)
        return;
    u32 last = min(first + ROWS, end) - 1;
    span head_queries = queries_of(m, p, first), tail_queries = queries_of(m, p, last);
    u32 begin = head_queries.begin, queries_end = tail_queries.end;
    u32 blocks = begin < queries_end ? (queries_end - begin + OTHER - 1) / OTHER : 0, all = blocks * sharing;
    u8 *ring = smem + 2 * OWN_BYTES;
    copy_pair(smem, ROWS, THREADS, k + (batch * by.k.batch + kv_head * by.k.head), by.k.row,
              v + (batch * by.v.batch + kv_head * by.v.head), by.v.row, first, end);

    u32 key[2];
    span seen[2];
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        key[half] = min(first + own_warp * 16 + lane() / 4 + half * 8, last);
        seen[half] = queries_of(m, p, key[half]);
    }
    f32 sum_k[ACC_STEPS * 2][4], sum_v[ACC_STEPS * 2][4];
#pragma unroll
    for (u32 n = 0; n < PART_STEPS * 2; n++)
#pragma unroll
        for (u32 e = 0; e < 4; e++)
            sum_k[n][e] = sum_v[n][e] = 0.0f;
    for (u32 i = 0; i <= all; i++) { // block i is on its way while the one before is multiplied
        u32 stage = i % 2;
        if (i > 0) {
            async_wait(0);
            barrier();
        }
        if (i < all) {
            u32 head = kv_head * sharing + i / blocks, at = begin + i % blocks * OTHER;
            copy_pair(ring + stage * STAGE_BYTES, OTHER, THREADS, q + (batch * by.q.batch + head * by.q.head), by.q.row,
                      dout + (batch * by.dout.batch + head * by.dout.head), by.dout.row, at, queries_end);
            if (thread_x() < OTHER) {
                u32 query = at + thread_x();
                bool is_there = query < queries_end;
                rows[stage][0][thread_x()] =
                    is_there ? minus_log(lse[batch * by.lse.batch + head * by.lse.head + query * by.lse.row]) : -INFINITY;
                rows[stage][1][thread_x()] = is_there ? d[(u64)(batch * s.heads + head) * s.queries + query] : 0.0f;
            }
        }
        async_commit();
        if (i == 0)
            continue;
        u32 before = i - 1, at = begin + before % blocks * OTHER, head = kv_head * sharing + before / blocks;
        const u8 *now = ring + (stage ^ 1) * STAGE_BYTES;
        f32 weights[OTHER / 8][4] = {{0.0f}}, ds[OTHER / 8][4] = {{0.0f}};
        multiply_pair(&weights, &ds, smem, now, own_warp * 16);
        bool is_inside = at >= tail_queries.begin && at + OTHER <= head_queries.end;
#pragma unroll
        for (u32 half = 0; half < 2; half++) {
            edge x;
            EDGE_OF_KEY(x, m, slopes, bias, p, batch, head, key[half], seen[half], at + lane() % 4 * 2);
#pragma unroll
            for (u32 n = 0; n < OTHER / 8; n++) {
#pragma unroll
                for (u32 odd = 0; odd < 2; odd++) {
                    u32 e = half * 2 + odd, column = n * 8 + lane() % 4 * 2 + odd;
                    f32 score = score_of(&x, weights[n][e] * s.scale, n, odd, is_inside);
                    weights[n][e] = fast_exp2(score + rows[stage ^ 1][0][column]);
                    ds[n][e] = weights[n][e] * (ds[n][e] - rows[stage ^ 1][1][column]);
                }
                next_columns(&x);
            }
        }
        add_rows(&sum_v, &weights, now + OTHER_BYTES, first_step, MOST_FIRST, PART_STEPS);
        add_rows(&sum_k, &ds, now, first_step, MOST_FIRST, PART_STEPS);
    }
    async_wait(0);
#pragma unroll
    for (u32 half = 0; half < 2; half++) {
        u32 row = first + own_warp * 16 + lane() / 4 + half * 8;
        if (row > last)
            continue;
        store_row(dk + (batch * by.dk.batch + kv_head * by.dk.head + row * by.dk.row), &sum_k, half, s.factor, first_step, PART_STEPS);
        store_row(dv + (batch * by.dv.batch + kv_head * by.dv.head + row * by.dv.row), &sum_v, half, 1.0f, first_step, PART_STEPS);
    }
}
