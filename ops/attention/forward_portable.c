// out = softmax(scale * Q K^T) V on any device, with sums in f32, and the logarithm of each row's
// sum. A warp works on one query: 32 keys at a time, a lane has the score of one of them, then all
// lanes add these keys' rows of V, each its own columns.
//
// Tensors are [batch][head][row][HD] with any strides, HD any number; -D TYPE_f16 or TYPE_f32
// instead of bf16. CAUSAL, NO_LSE and shared heads of K and V as in forward_sm90.c.
#include "portable.h"

typedef struct tensors {
    strides q, k, v, out, lse;
} tensors;

kernel block(32 * WARPS) void attention(const elem_t *q, const elem_t *k, const elem_t *v,
                                        elem_t *out,
#if !defined(NO_LSE)
                                        f32 *lse,
#endif
                                        shape s, tensors by)
{
    u32 number = block_x() * WARPS + warp(); // of the query, in all heads
    if (number >= s.batch * s.heads * s.queries)
        return;
    row r = row_of(number, s.heads, s.queries), first_key = {r.batch, r.head, 0};
    first_key.head /= s.heads / s.kv_heads;
    u32 seen = CAUSAL ? s.keys - s.queries + r.index + 1 : s.keys;
    const elem_t *own = q + row_at(by.q, r);
    const elem_t *k0 = k + row_at(by.k, first_key), *v0 = v + row_at(by.v, first_key);

    f32 top = -INFINITY, sum = 0.0f, acc[COLUMNS] = {0.0f};
    for (u32 first = 0; first < seen; first += 32) {
        u32 count = min(seen - first, 32u);
        f32 score = -INFINITY;
        if (lane() < count)
            score = dot(own, by.q, k0 + (first + lane()) * by.k.row, by.k) * s.scale;
        f32 new_top = max(top, warp_max(score));
        f32 shrink = exp2(top - new_top), p = exp2(score - new_top);
        top = new_top;
        sum = fma(sum, shrink, warp_sum(p));
#pragma unroll
        for (u32 c = 0; c < COLUMNS; c++)
            acc[c] *= shrink;
        for (u32 i = 0; i < count; i++)
            add_row(&acc, shuffle(p, i), v0 + (first + i) * by.v.row, by.v);
    }
#pragma unroll
    for (u32 c = 0; c < COLUMNS; c++)
        acc[c] /= sum;
    store_row(out + row_at(by.out, r), by.out, &acc, 1.0f);
#if !defined(NO_LSE)
    if (lane() == 0)
        lse[row_at(by.lse, r)] = (log2(sum) + top) * 0.69314718f;
#endif
}
