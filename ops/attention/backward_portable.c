// Attention backward on any device, with sums in f32: dQ by one kernel, then dK and dV by another.
// A warp works on one row: 32 rows of the other side at a time, a lane has P and dS of one of them,
// then all lanes add these rows, each its own columns.
//
// Tensors are [head][row][HD], dense, HD any number; -D TYPE_f16 or TYPE_f32 instead of bf16. d:
// the sum of dO * O over each row, written by the first kernel and read by the second.
#include <kiln/kernel.h>

#if !defined(HD)
#    define HD 128
#endif
tune(CAUSAL, 0, 1);

#if defined(TYPE_f32)
typedef f32 elem_t;
#    define ROUND
#elif defined(TYPE_f16)
typedef f16 elem_t;
#    define ROUND to_f16
#else
typedef bf16 elem_t;
#    define ROUND to_bf16
#endif

enum { WARPS = 4, COLUMNS = (HD + 31) / 32 }; // columns of a lane: lane(), lane() + 32 …

static f32 dot(const elem_t *a, const elem_t *b)
{
    f32 sum = 0.0f;
    for (u32 i = 0; i < HD; i++)
        sum = fma(f32(a[i]), f32(b[i]), sum);
    return sum;
}

static void add_row(f32 (*acc)[COLUMNS], f32 weight, const elem_t *row)
{
#pragma unroll
    for (u32 c = 0; c < COLUMNS; c++)
        if (c * 32 + lane() < HD)
            (*acc)[c] = fma(weight, f32(row[c * 32 + lane()]), (*acc)[c]);
}

static void store_row(elem_t *row, f32 (*acc)[COLUMNS], f32 scale)
{
#pragma unroll
    for (u32 c = 0; c < COLUMNS; c++)
        if (c * 32 + lane() < HD)
            row[c * 32 + lane()] = ROUND((*acc)[c] * scale);
}

kernel block(32 * WARPS) void attention_backward_queries(const elem_t *q, const elem_t *k,
                                                         const elem_t *v, const elem_t *out,
                                                         const elem_t *dout, const f32 *lse, f32 *d,
                                                         elem_t *dq, u32 rows, u32 length,
                                                         f32 scale)
{
    u32 row = block_x() * WARPS + warp(); // of all heads
    if (row >= rows)
        return;
    u32 head = row / length, seen = CAUSAL ? row - head * length + 1 : length;
    const elem_t *own = q + (u64)row * HD, *own_dout = dout + (u64)row * HD;
    const elem_t *k0 = k + (u64)head * length * HD, *v0 = v + (u64)head * length * HD;
    f32 part = 0.0f, acc[COLUMNS] = {0.0f};
    for (u32 c = lane(); c < HD; c += 32)
        part = fma(f32(own_dout[c]), f32(out[(u64)row * HD + c]), part);
    f32 sum = warp_sum(part), own_lse = lse[row];
    if (lane() == 0)
        d[row] = sum;
    for (u32 first = 0; first < seen; first += 32) {
        u32 count = min(seen - first, 32u);
        f32 ds = 0.0f;
        if (lane() < count) {
            u64 at = (u64)(first + lane()) * HD;
            ds = exp(dot(own, k0 + at) * scale - own_lse) * (dot(own_dout, v0 + at) - sum);
        }
        for (u32 i = 0; i < count; i++)
            add_row(&acc, shuffle(ds, i), k0 + (u64)(first + i) * HD);
    }
    store_row(dq + (u64)row * HD, &acc, scale);
}

kernel block(32 * WARPS) void attention_backward_keys(const elem_t *q, const elem_t *k,
                                                      const elem_t *v, elem_t *dk,
                                                      const elem_t *dout, const f32 *lse,
                                                      const f32 *d, elem_t *dv, u32 rows,
                                                      u32 length, f32 scale)
{
    u32 row = block_x() * WARPS + warp(); // of all heads
    if (row >= rows)
        return;
    u32 start = row / length * length; // the head's first row
    const elem_t *own_k = k + (u64)row * HD, *own_v = v + (u64)row * HD;
    f32 sum_k[COLUMNS] = {0.0f}, sum_v[COLUMNS] = {0.0f};
    for (u32 first = CAUSAL ? row : start; first < start + length; first += 32) {
        u32 count = min(start + length - first, 32u), query = first + lane();
        f32 p = 0.0f, ds = 0.0f;
        if (lane() < count) {
            p = exp(dot(q + (u64)query * HD, own_k) * scale - lse[query]);
            ds = p * (dot(dout + (u64)query * HD, own_v) - d[query]);
        }
        for (u32 i = 0; i < count; i++) {
            add_row(&sum_k, shuffle(ds, i), q + (u64)(first + i) * HD);
            add_row(&sum_v, shuffle(p, i), dout + (u64)(first + i) * HD);
        }
    }
    store_row(dk + (u64)row * HD, &sum_k, scale);
    store_row(dv + (u64)row * HD, &sum_v, 1.0f);
}
