// out = softmax(scale * Q K^T) V on any device, with sums in f32, and the logarithm of each row's
// sum. A warp works on one query: 32 keys at a time, a lane has the score of one of them, then all
// lanes add these keys' rows of V, each its own columns.
//
// Tensors are [head][row][HD], dense, HD any number; -D TYPE_f16 or TYPE_f32 instead of bf16.
// CAUSAL, NO_LSE and shared heads of K and V as in forward_sm90.c.
#include <kiln/kernel.h>

#if !defined(HD)
#define HD 128
#endif
tune(CAUSAL, 0, 1);

#if defined(TYPE_f32)
typedef f32 elem_t;
#define ROUND
#elif defined(TYPE_f16)
typedef f16 elem_t;
#define ROUND to_f16
#else
typedef bf16 elem_t;
#define ROUND to_bf16
#endif

enum { WARPS = 4, COLUMNS = (HD + 31) / 32 }; // columns of a lane: lane(), lane() + 32 …

static f32 dot(const elem_t *a, const elem_t *b)
{
    f32 sum = 0.0f;
    for (u32 d = 0; d < HD; d++)
        sum = fma(f32(a[d]), f32(b[d]), sum);
    return sum;
}

kernel block(32 * WARPS) void attention(const elem_t *q, const elem_t *k, const elem_t *v,
                                        elem_t *out,
#if !defined(NO_LSE)
                                        f32 *lse,
#endif
                                        u32 rows, u32 queries, u32 keys, u32 sharing, f32 scale)
{
    u32 row = block_x() * WARPS + warp(); // of all heads
    if (row >= rows)
        return;
    u32 head = row / queries, kv_head = head / sharing;
    u32 seen = CAUSAL ? keys - queries + row % queries + 1 : keys;
    const elem_t *own = q + (u64)row * HD;
    const elem_t *k0 = k + (u64)kv_head * keys * HD, *v0 = v + (u64)kv_head * keys * HD;

    f32 top = -INFINITY, sum = 0.0f, acc[COLUMNS] = {0.0f};
    for (u32 first = 0; first < seen; first += 32) {
        u32 count = min(seen - first, 32u);
        f32 score = -INFINITY;
        if (lane() < count)
            score = dot(own, k0 + (u64)(first + lane()) * HD) * scale;
        f32 new_top = max(top, warp_max(score));
        f32 shrink = exp2(top - new_top), p = exp2(score - new_top);
        top = new_top;
        sum = fma(sum, shrink, warp_sum(p));
#pragma unroll
        for (u32 c = 0; c < COLUMNS; c++)
            acc[c] *= shrink;
        for (u32 i = 0; i < count; i++) {
            f32 weight = shuffle(p, i);
            const elem_t *from = v0 + (u64)(first + i) * HD;
#pragma unroll
            for (u32 c = 0; c < COLUMNS; c++)
                if (c * 32 + lane() < HD)
                    acc[c] = fma(weight, f32(from[c * 32 + lane()]), acc[c]);
        }
    }
#pragma unroll
    for (u32 c = 0; c < COLUMNS; c++)
        if (c * 32 + lane() < HD)
            out[(u64)row * HD + c * 32 + lane()] = ROUND(acc[c] / sum);
#if !defined(NO_LSE)
    if (lane() == 0)
        lse[row] = (log2(sum) + top) * 0.69314718f;
#endif
}
