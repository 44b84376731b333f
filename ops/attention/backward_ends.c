// The two ends of attention backward: what every query row needs, made before the main kernel (backward_sm90.c,
// backward_wide.c), and dQ, made from the sum that it leaves. -D TYPE_f16 for f16, STRIDED and SPLIT as there.
//
// Queries come in blocks of M. `rows`: [heads, blocks, 2, M]: -LSE * log2(e), then D, the sum of
// dO * O over the row; past the end -infinity and 0, so that P is 0 there. `sums`: [heads, blocks,
// SUM] numbers of dQ in the order of the main kernel's registers: [64 x 64 of it][4 warps][8][32 lanes][4].
// With a mask (mask.h) a query that sees no key has -infinity, too; with OFFSETS every sequence begins
// with a new block.
#include <kiln/overlap.h>

#include "hopper.h"

KERNEL_OVERLAPS

enum { M = BACKWARD_QUERIES(HD), SUM = SUM_BLOCK(HD), LANES = HD == 192 ? 32 : HD / 8 };

typedef struct tensors {
    u32 length, blocks; // queries of a head, blocks of them
    f32 scale;
    u32 heads;
    strides out, dout, lse, dq;
} tensors;

// The query at a place of a head's blocks; none: no less than `length`.
#if defined(OFFSETS)
static u32 query_at(const i32 *q_offsets, const i32 *k_offsets, mask m, u32 place, u32 length)
{
    place_of_tile at = TILE_OF_QUERIES(m, q_offsets, k_offsets, place / M, M, length, 0);
    u32 query = at.first + place % M;
    return query < at.p.first_query + at.p.queries ? query : length;
}
#    define QUERY_AT(q_offsets, k_offsets, m, place, length)                                       \
        query_at(q_offsets, k_offsets, m, place, length)
#else
#    define QUERY_AT(q_offsets, k_offsets, m, place, length) (place)
#endif

static f32 add_products(f32 sum, u32 a, u32 b)
{
    f32x2 x = unpack(a), y = unpack(b);
    return fma(x.y, y.y, fma(x.x, y.x, sum));
}

// A thread for 8 numbers: clears as many of the sums, and has a part of D.
kernel block(256) void attention_backward_prepare(const half_t *o, const half_t *grad, const f32 *lse,
                                                  f32 *rows, f32 *sums, tensors t
                    MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    kernel_begin();
    u32 i = global_x(), part = i % LANES, padded = i / LANES, head = padded / (t.blocks * M);
    u32 place = padded - head * t.blocks * M, query = QUERY_AT(q_offsets, k_offsets, m, place, t.length);
    f32x4 zero = {0.0f, 0.0f, 0.0f, 0.0f}, *clear = (f32x4 *)(sums + ((u64)padded * HD + part * 8));
    if (part < HD / 8) {
        clear[0] = zero;
        clear[1] = zero;
    }
    u32x4 a = {0, 0, 0, 0}, b = {0, 0, 0, 0};
    f32 minus_lse = -INFINITY;
    if (query < t.length && (COLUMNS == LANES * 8 || part * 8 < COLUMNS)) {
        a = *(const u32x4 *)(o + row_at(t.out, head, t.heads, query, t.length, HD) + part * 8);
        b = *(const u32x4 *)(grad + row_at(t.dout, head, t.heads, query, t.length, HD) + part * 8);
        minus_lse = lse[row_at(t.lse, head, t.heads, query, t.length, 1)] * -1.4426950408889634f;
        if (MASKED && minus_lse == INFINITY) { // its numbers may be anything
            minus_lse = -INFINITY;
            a = b = (u32x4){0, 0, 0, 0};
        }
    }
    f32 d = add_products(0.0f, a.x, b.x);
    d = add_products(d, a.y, b.y);
    d = add_products(d, a.z, b.z);
    d = add_products(d, a.w, b.w);
#pragma unroll
    for (u32 step = 1; step < LANES; step *= 2)
        d += shuffle_xor(d, step);
    if (part == 0) {
        f32 *to = rows + (u64)(head * t.blocks + place / M) * (2 * M) + place % M;
        to[0] = minus_lse;
        to[M] = d;
    }
}

#if defined(SPLIT)
typedef struct joined { // the shares of dK, then those of dV: [parts][heads][keys][HD]
    u32 first, parts, rows; // first: block of the grid; rows: keys of all heads
    u32 keys, kv_heads;
    strides dk, dv;
} joined;

// A thread for 8 numbers of dK or dV.
static void join(const f32 *shares, half_t *dk, half_t *dv, joined j, u32 i)
{
    u32 part = i % (HD / 8), row = i / (HD / 8), is_v = row >= j.rows ? 1 : 0;
    row -= is_v * j.rows;
    if (row >= j.rows || part * 8 >= COLUMNS)
        return;
    u64 share = (u64)j.rows * HD;
    const f32 *from = shares + (is_v * j.parts * share + (u64)row * HD + part * 8);
    f32x4 low = {0.0f, 0.0f, 0.0f, 0.0f}, high = low;
    for (u32 n = 0; n < j.parts; n++) {
        low = vec_add(low, *(const f32x4 *)(from + n * share));
        high = vec_add(high, *(const f32x4 *)(from + n * share + 4));
    }
    u32 head = row / j.keys;
    strides by = is_v ? j.dv : j.dk;
    half_t *to = (is_v ? dv : dk) + row_at(by, head, j.kv_heads, row - head * j.keys, j.keys, HD) + part * 8;
    *(u32x4 *)to = (u32x4){PACK(low.x, low.y), PACK(low.z, low.w), PACK(high.x, high.y), PACK(high.z, high.w)};
}
#    define SPLIT_PARAMETERS(shares, dk, dv, j) , const f32 *shares, half_t *dk, half_t *dv, joined j
#else
#    define SPLIT_PARAMETERS(...)
#endif

// A thread for 16 numbers: 8 columns of rows r and r + 8 of 64 x 64.
kernel block(256) void attention_backward_convert(const f32 *sums, half_t *dq, tensors t
                    SPLIT_PARAMETERS(shares, dk, dv, shared_keys) MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    kernel_begin();
#if defined(SPLIT)
    if (block_x() >= shared_keys.first) {
        join(shares, dk, dv, shared_keys, global_x() - shared_keys.first * 256);
        return;
    }
#endif
    u32 i = global_x(), j = i % 8, row = i / 8 % 8, warp_row = i / 64 % 4, square = i / 256 % (SUM / 4096);
    u32 tile = i / (SUM / 16), head = tile / t.blocks, block = tile - head * t.blocks;
    const f32x4 *from =
        (const f32x4 *)(sums + (u64)(i / 256) * 4096 + warp_row * 1024 + j * 128 + row * 16);
    u32 low[4], high[4];
#pragma unroll
    for (u32 k = 0; k < 4; k++) {
        f32x4 v = from[k];
        low[k] = PACK(v.x * t.scale, v.y * t.scale);
        high[k] = PACK(v.z * t.scale, v.w * t.scale);
    }
    u32 place = block * M + (HD == 64 ? square * 64 : 0) + warp_row * 16 + row;
    u32 query = QUERY_AT(q_offsets, k_offsets, m, place, t.length);
    u32 column = (HD == 64 ? 0 : square * 64) + j * 8;
    if (COLUMNS != HD && column >= COLUMNS)
        return;
    half_t *to = dq + row_at(t.dq, head, t.heads, query, t.length, HD) + column;
    if (query < t.length)
        *(u32x4 *)to = (u32x4){low[0], low[1], low[2], low[3]};
    if (QUERY_AT(q_offsets, k_offsets, m, place + 8, t.length) < t.length)
        *(u32x4 *)(to + 8 * (STRIDED ? t.dq.row : HD)) = (u32x4){high[0], high[1], high[2], high[3]};
}
