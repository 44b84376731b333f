// The gradient of the cross-entropy by the logits, from the logarithm of each row's sum that forward has kept:
//     dx[c] = g * (p[c] * (own * w[y] + each * sum of w) - own * w[y] * (c == y) - each * w[c]),    p[c] = exp(x[c] - lse)
// g is the gradient of the row's loss; of a mean that of the mean over the sum of the weights. Rows that do not count get 0.
#include "row.h"
KERNEL_OVERLAPS

enum { PER = V == 8 ? 2 : 4 }; // packs that a thread loads at once

static inline f32 gradient(f32 x, u64 c, i64 class, f32 lse, f32 scale, f32 own, f32 each, const f32 *weight, const struct options *o)
{
    f32 d = exp(x - lse) * scale - ((i64)c == class ? own : 0.0f);
#ifdef SMOOTH
#    ifdef WEIGHT
    d -= each * weight[(i64)c * o->weight_step];
#    else
    d -= each;
#    endif
#endif
    return d;
}

static inline void store(T *to, i64 first, const struct span *s, u64 at, i64 step, const f32 v[V])
{
    if (V > 1)
        pack_store(T, V, to, (u64)((first + (i64)s->head) / V + (i64)at), v);
    else
        to[first + (i64)at * step] = pack_put(T, v[0]);
}

kernel block(THREADS) void cross_entropy_backward(const T *ALONE x, const TARGET *restrict target, const f32 *restrict weight,
                                                  const LOSS *restrict dloss, const f32 *restrict lse, const f32 *restrict total,
                                                  T *ALONE dx, struct nest n, struct options o)
{
    kernel_begin();
    u64 index[8], row = row_of(), at = lane_of_row();
    if (LANES != THREADS && row >= n.packs)
        return;
    nest_find(&n, RANK, row, index);
    i64 first = nest_place(&n, RANK, index, AT_X), first_dx = nest_place(&n, RANK, index, AT_DX);
    i64 class = (i64)target[nest_place(&n, RANK, index, AT_CLASS)];
    f32 log_sum = lse[nest_place(&n, RANK, index, AT_LSE)], g = pack_get(LOSS, dloss[nest_place(&n, RANK, index, AT_LOSS)]);
    bool counts = !is_ignored(class, &o);
#ifdef MEAN
    g /= *total;
#endif
    f32 own = g * o.own * weight_of(class, weight, &o), scale = own, each = 0;
#ifdef SMOOTH
#    ifdef WEIGHT
    f32 weights = 0;
    for (u64 c = lane_of_row(); c < o.classes; c += LANES)
        weights += weight[(i64)c * o.weight_step];
    weights = row_sum(weights);
#    else
    f32 weights = o.classes_weight;
#    endif
    each = g * o.each;
    scale += each * weights;
#endif
    struct span span = span_of(first, o.classes);
    f32 v[PER][V];
    for (; at < span.packs; at += PER * LANES) {
        EACH(p, PER)
            if (at + p * LANES < span.packs)
                load(v[p], x, first, &span, at + p * LANES, o.step);
        EACH(p, PER)
            if (at + p * LANES < span.packs) {
                u64 pack = at + p * LANES;
                EACH(i, V)
                    v[p][i] = counts ? gradient(v[p][i], span.head + pack * V + i, class, log_sum, scale, own, each, weight, &o) : 0.0f;
                store(dx, first_dx, &span, pack, o.dx_step, v[p]);
            }
    }
    for (u64 i = lane_of_row(); i < o.classes - span.packs * V; i += LANES) {
        u64 c = single_class(&span, i);
        f32 d = gradient(pack_get(T, x[first + (i64)c * o.step]), c, class, log_sum, scale, own, each, weight, &o);
        dx[first_dx + (i64)c * o.dx_step] = pack_put(T, counts ? d : 0.0f);
    }
}
