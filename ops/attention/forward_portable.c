// out = softmax(scale * Q K^T) V on any device, with sums in f32, and the logarithm of each row's
// sum. A warp works on one query: 32 keys at a time, a lane has the score of one of them, then all
// lanes add these keys' rows of V, each its own columns.
//
// Tensors are [batch][head][row][HD] with any strides, HD any number; -D TYPE_f16 or TYPE_f32
// instead of bf16. CAUSAL, NO_LSE and shared heads of K and V as in forward_sm90.c; LENGTHS and
// PAGED and CACHE_f8e4 as in decode.c; MASK and what comes with it as in mask.h.
#include "portable.h"

typedef struct tensors {
    strides q, k, v, out, lse;
} tensors;

#define LOG2_E 1.44269504f
// Is a largest score that of no key? Only a bias makes one of minus infinity.
#if defined(HAS_BIAS)
#    define IS_NONE(top) ((top) == -INFINITY)
#else
#    define IS_NONE(top) false
#endif

typedef struct place { // of a key; false: its page does not exist
    i64 batch;
    u32 row;
    bool is_there;
} place;

static place place_of(shape s, u32 batch, const i32 *table, u32 key)
{
    if (!table)
        return (place){batch, key, true};
    i32 page = table[key / s.page_size];
    return (place){page, key % s.page_size, page >= 0 && page < (i64)s.pages};
}

kernel block(32 * WARPS) void attention(const elem_t *q, const cache_t *k, const cache_t *v,
                                        elem_t *out,
#if !defined(NO_LSE)
                                        f32 *lse,
#endif
#if defined(LENGTHS)
                                        const i32 *lengths,
#endif
#if defined(PAGED)
                                        const i32 *pages,
#endif
                                        shape s, tensors by
#if defined(HAS_CACHE)
                                        , f32 v_scale // of the numbers of V
#endif
                                        MASK_PARAMETERS(q_offsets, k_offsets, slopes, bias, m))
{
    u32 number = block_x() * WARPS + warp(); // of the query, in all heads
    if (number >= s.batch * s.heads * s.queries)
        return;
    row r = row_of(number, s.heads, s.queries);
    u32 head = r.head / (s.heads / s.kv_heads), seen = s.keys;
    const i32 *table = NULL;
#if defined(LENGTHS)
    i32 length = lengths[r.batch];
    seen = length < 0 ? 0u : min((u32)length, s.keys);
#endif
#if defined(PAGED)
    table = pages + (u64)r.batch * s.table;
#endif
#if defined(MASK)
    part p = PART_OF_QUERY(m, q_offsets, k_offsets, r.index, s.queries, seen);
    span keys = keys_of(m, p, r.index);
    u32 begin = keys.begin;
    seen = keys.end;
#else
    u32 hidden = CAUSAL ? s.queries - 1 - r.index : 0, begin = 0;
    seen = seen > hidden ? seen - hidden : 0;
#endif
    const elem_t *own = q + row_at(by.q, r);
    const cache_t *k0 = k + head * by.k.head, *v0 = v + head * by.v.head;

    f32 top = -INFINITY, sum = 0.0f, acc[COLUMNS] = {0.0f};
    for (u32 first = begin; first < seen; first += 32) {
        u32 count = min(seen - first, 32u);
        f32 score = -INFINITY;
        if (lane() < count) {
            place at = place_of(s, r.batch, table, first + lane());
            score = 0.0f;
            if (at.is_there)
                score = dot(own, by.q, k0 + (at.batch * by.k.batch + at.row * by.k.row), by.k) *
                        s.scale;
            ADD_TO(score, LOG2_E, m, slopes, bias, p, r.batch, r.head, r.index, first + lane());
        }
        f32 new_top = max(top, warp_max(score));
        f32 base = IS_NONE(new_top) ? 0.0f : new_top; // a bias may hide all keys so far
        f32 shrink = exp2(top - base), weight = exp2(score - base);
        top = new_top;
        sum = fma(sum, shrink, warp_sum(weight));
#pragma unroll
        for (u32 c = 0; c < COLUMNS; c++)
            acc[c] *= shrink;
        for (u32 i = 0; i < count; i++) {
            place at = place_of(s, r.batch, table, first + i);
            f32 its = shuffle(weight, i);
            if (at.is_there)
                add_row(&acc, its, v0 + (at.batch * by.v.batch + at.row * by.v.row), by.v);
        }
    }
#if defined(MASK)
    seen = seen > begin && !IS_NONE(top) ? 1 : 0;
#endif
#pragma unroll
    for (u32 c = 0; c < COLUMNS; c++)
        acc[c] = seen ? acc[c] / sum : 0.0f;
#if defined(HAS_CACHE)
    store_row(out + row_at(by.out, r), by.out, &acc, v_scale);
#else
    store_row(out + row_at(by.out, r), by.out, &acc, 1.0f);
#endif
#if !defined(NO_LSE)
    if (lane() == 0)
        lse[row_at(by.lse, r)] = seen ? (log2(sum) + top) * 0.69314718f : -INFINITY;
#endif
}
