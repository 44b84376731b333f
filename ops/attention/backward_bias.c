// The gradient of attention's bias, on any device: dS, summed over what the bias was broadcast to. Scores are computed
// again. d as in backward_portable.c, whose first kernel, or that of backward_mma.c, ran before.
//
// A thread has an element of the gradient or, TOGETHER, a warp has one and its lanes every 32nd term of the sum.
#include "portable.h"

tune(TOGETHER, 0, 1);

#if defined(BIAS_f16)
#    define ROUND_BIAS to_f16
#elif defined(BIAS_bf16)
#    define ROUND_BIAS to_bf16
#else
#    define ROUND_BIAS
#endif

typedef struct gradient { // by batch, head, query, key
    u32 sizes[4];         // 1: broadcast
    u32 terms[4];         // how many are added along it: 1 where it is not
    i64 by[4];            // strides
    u64 count;            // of elements
} gradient;

typedef struct tensors {
    strides q, k, v, dout, lse;
} tensors;

kernel block(32 * WARPS) void attention_backward_bias(const elem_t *q, const elem_t *k, const elem_t *v, const elem_t *dout,
                                                      const f32 *lse, const f32 *d, bias_t *dbias, shape s, tensors by,
                                                      gradient g MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    u64 number = TOGETHER ? (u64)block_x() * WARPS + warp() : (u64)block_x() * (32 * WARPS) + thread_x();
    if (number >= g.count)
        return;
    u32 place[4];
    u64 rest = number, terms = 1;
    i64 to = 0;
#pragma unroll
    for (u32 n = 4; n-- > 0;) {
        place[n] = (u32)(rest % g.sizes[n]);
        rest /= g.sizes[n];
        to += place[n] * g.by[n];
        terms *= g.terms[n];
    }
    part p = {0, s.queries, 0, s.keys};
    f32 sum = 0.0f;
    for (u64 term = TOGETHER ? lane() : 0; term < terms; term += TOGETHER ? 32 : 1) {
        u32 at[4];
        u64 left = term;
#pragma unroll
        for (u32 n = 4; n-- > 0;) {
            at[n] = place[n] + (u32)(left % g.terms[n]); // one of the two is 0
            left /= g.terms[n];
        }
        row of_query = {at[0], at[1], at[2]}, of_key = {at[0], at[1] / (s.heads / s.kv_heads), at[3]};
        span seen = keys_of(m, p, at[2]);
        f32 own_lse = lse[row_at(by.lse, of_query)];
        if (at[3] < seen.begin || at[3] >= seen.end || own_lse == -INFINITY)
            continue;
        f32 score = dot(q + row_at(by.q, of_query), by.q, k + row_at(by.k, of_key), by.k) * s.scale;
        ADD_TO(score, 1.0f, m, slopes, bias, p, at[0], at[1], at[2], at[3]);
        f32 dp = dot(dout + row_at(by.dout, of_query), by.dout, v + row_at(by.v, of_key), by.v);
        sum += exp(score - own_lse) * (dp - d[((u64)at[0] * s.heads + at[1]) * s.queries + at[2]]);
    }
    if (TOGETHER)
        sum = warp_sum(sum);
    if (!TOGETHER || lane() == 0)
        dbias[to] = ROUND_BIAS(sum);
}
