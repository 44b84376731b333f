// Attention backward on any device, with sums in f32: dQ by one kernel, then dK and dV by another.
// A warp works on one row: 32 rows of the other side at a time, a lane has P and dS of one of them,
// then all lanes add these rows, each its own columns.
//
// Tensors are [batch][head][row][HD] with any strides, HD any number; -D TYPE_f16 or TYPE_f32
// instead of bf16. CAUSAL and shared heads of K and V as in forward_sm90.c. d: the sum of dO * O
// over each row, [batch][heads][queries], written by the first kernel and read by the second.
#include "portable.h"

typedef struct tensors {
    strides q, k, v, out, dout, lse, dq, dk, dv;
} tensors;

// The probability of a score. A bias may hide all keys of a query.
static f32 weight_of(f32 score, f32 lse)
{
#if defined(HAS_BIAS)
    if (lse == -INFINITY)
        return 0.0f;
#endif
    return exp(score - lse);
}

kernel block(32 * WARPS) void attention_backward_queries(const elem_t *q, const elem_t *k,
                                                         const elem_t *v, const elem_t *out,
                                                         const elem_t *dout, const f32 *lse, f32 *d,
                                                         elem_t *dq, shape s,
                                                         tensors by
                    MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    u32 number = block_x() * WARPS + warp(); // of the query, in all heads
    if (number >= s.batch * s.heads * s.queries)
        return;
    row r = row_of(number, s.heads, s.queries), first_key = {r.batch, r.head, 0};
    first_key.head /= s.heads / s.kv_heads;
#if defined(MASK)
    part p = PART_OF_QUERY(m, q_offsets, k_offsets, r.index, s.queries, s.keys);
    span keys = keys_of(m, p, r.index);
    u32 begin = keys.begin, seen = keys.end;
#else
    u32 begin = 0, seen = CAUSAL ? s.keys - s.queries + r.index + 1 : s.keys;
#endif
    const elem_t *own = q + row_at(by.q, r), *own_dout = dout + row_at(by.dout, r);
    const elem_t *own_out = out + row_at(by.out, r);
    const elem_t *k0 = k + row_at(by.k, first_key), *v0 = v + row_at(by.v, first_key);
    f32 part = 0.0f, acc[COLUMNS] = {0.0f};
    for (u32 c = lane(); c < HD; c += 32)
        part = fma(f32(own_dout[column_at(by.dout, c)]), f32(own_out[column_at(by.out, c)]), part);
    f32 sum = warp_sum(part), own_lse = lse[row_at(by.lse, r)];
    if (lane() == 0)
        d[number] = sum;
    for (u32 first = begin; first < seen; first += 32) {
        u32 count = min(seen - first, 32u), key = first + lane();
        f32 ds = 0.0f;
        if (lane() < count) {
            f32 score = dot(own, by.q, k0 + key * by.k.row, by.k) * s.scale;
            ADD_TO(score, 1.0f, m, slopes, bias, p, r.batch, r.head, r.index, key);
            ds = weight_of(score, own_lse) *
                 (dot(own_dout, by.dout, v0 + key * by.v.row, by.v) - sum);
        }
        for (u32 i = 0; i < count; i++)
            add_row(&acc, shuffle(ds, i), k0 + (first + i) * by.k.row, by.k);
    }
    store_row(dq + row_at(by.dq, r), by.dq, &acc, s.scale);
}

kernel block(32 * WARPS) void attention_backward_keys(const elem_t *q, const elem_t *k,
                                                      const elem_t *v, elem_t *dk,
                                                      const elem_t *dout, const f32 *lse,
                                                      const f32 *d, elem_t *dv, shape s,
                                                      tensors by
                    MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    u32 number = block_x() * WARPS + warp(); // of the key, in all heads of K and V
    if (number >= s.batch * s.kv_heads * s.keys)
        return;
    row r = row_of(number, s.kv_heads, s.keys), from = {r.batch, 0, 0};
    u32 sharing = s.heads / s.kv_heads, before = s.keys - s.queries;
#if defined(MASK)
    part p = PART_OF_KEY(m, q_offsets, k_offsets, r.index, s.queries, s.keys);
    span queries = queries_of(m, p, r.index);
#endif
    const elem_t *own_k = k + row_at(by.k, r), *own_v = v + row_at(by.v, r);
    f32 sum_k[COLUMNS] = {0.0f}, sum_v[COLUMNS] = {0.0f};
    for (u32 h = 0; h < sharing; h++) { // of the heads that share this one
        from.head = r.head * sharing + h;
        const elem_t *q0 = q + row_at(by.q, from), *dout0 = dout + row_at(by.dout, from);
        const f32 *lse0 = lse + row_at(by.lse, from);
        const f32 *d0 = d + (u64)(r.batch * s.heads + from.head) * s.queries;
        u32 begin = CAUSAL && r.index > before ? r.index - before : 0, end = s.queries;
#if defined(MASK)
        begin = queries.begin;
        end = queries.end;
#endif
        for (u32 first = begin; first < end; first += 32) {
            u32 count = min(end - first, 32u), query = first + lane();
            f32 weight = 0.0f, ds = 0.0f;
            if (lane() < count) {
                f32 score = dot(q0 + query * by.q.row, by.q, own_k, by.k) * s.scale;
                ADD_TO(score, 1.0f, m, slopes, bias, p, r.batch, from.head, query, r.index);
                weight = weight_of(score, lse0[query * by.lse.row]);
                ds = weight * (dot(dout0 + query * by.dout.row, by.dout, own_v, by.v) - d0[query]);
            }
            for (u32 i = 0; i < count; i++) {
                add_row(&sum_k, shuffle(ds, i), q0 + (first + i) * by.q.row, by.q);
                add_row(&sum_v, shuffle(weight, i), dout0 + (first + i) * by.dout.row, by.dout);
            }
        }
    }
    store_row(dk + row_at(by.dk, r), by.dk, &sum_k, s.scale);
    store_row(dv + row_at(by.dv, r), by.dv, &sum_v, 1.0f);
}
