// The cross-entropy of rows of logits x and their classes y:
//     loss = -own * w[y] * log p[y] - each * sum over c of w[c] * log p[c],    log p[c] = x[c] - log(sum of exp(x))
// own is 1 and each 0 without label smoothing. A row is read once: every thread keeps the largest logit so far and the sum
// of the others relative to it.
#include "row.h"
#include <kiln/smooth.h>
KERNEL_OVERLAPS

enum { PER = V == 8 ? 2 : 4, GROUP = PER * V }; // packs and logits that a thread takes at once

// Largest logit, sum of exp(x - it), sums of w * x and of w.
struct sums {
    f32 largest, sum, weighted, weights;
};

// A number from which the logits are subtracted: that of nothing but -inf is 0.
static inline f32 base_of(f32 largest)
{
    return largest == -INFINITY ? 0.0f : min(largest, 3.40282347e38f);
}

// sum + exp(x) for x up to 0; exp is 0 below -87.7. A NaN stays. The relative error is 2^-21 and what one rounding of x * log2(e) makes
// of it, |x| * 2^-25: in a sum beside exp(0), the larger it is the less it counts.
static inline f32 add_exp(f32 sum, f32 x)
{
    x = x < -87.9f ? -87.9f : x;
    f32 t = fma(x, 1.44269504f, SMOOTH_ROUND), r = fma(x, 1.44269504f, SMOOTH_ROUND - t);
    return fma(smooth_power(r), smooth_scale(t), sum);
}

// Takes `count` logits.
static inline void take(struct sums *s, const f32 *v, const u32 count)
{
    f32 largest = s->largest, part = 0;
    EACH(i, count)
        largest = max(largest, v[i]);
    f32 base = base_of(largest);
    EACH(i, count)
        part = add_exp(part, v[i] - base);
    if (largest == INFINITY) { // above 0 there is no exp
        part = 0;
        EACH(i, count)
            part += v[i] == INFINITY || v[i] != v[i] ? v[i] : 0.0f;
    }
    s->sum = fma(s->sum, add_exp(0, min(s->largest, base) - base), part);
    s->largest = largest;
}

// The sums that label smoothing needs, of `count` logits of the classes from `class` on.
static inline void take_all(struct sums *s, const f32 *v, const u32 count, u64 class, const f32 *weight, const struct options *o)
{
#ifdef SMOOTH
    f32 weighted = 0, weights = 0;
    EACH(i, count) {
#    ifdef WEIGHT
        f32 w = weight[(i64)(class + i) * o->weight_step];
        weights += w;
        weighted += w * v[i];
#    else
        weighted += v[i];
#    endif
    }
    s->weighted += weighted;
    s->weights += weights;
#endif
}

kernel block(THREADS) void cross_entropy(const T *restrict x, const TARGET *restrict target, const f32 *restrict weight,
                                         LOSS *restrict loss, f32 *restrict lse, struct nest n, struct options o)
{
    kernel_begin();
    u64 index[8], row = row_of(), at = lane_of_row();
    if (LANES != THREADS && row >= n.packs)
        return;
    nest_find(&n, RANK, row, index);
    i64 first = nest_place(&n, RANK, index, AT_X);
    struct span span = span_of(first, o.classes);
    struct sums s = {-INFINITY, 0, 0, 0};
    f32 v[GROUP], own = 0;
    bool is_first = lane_of_row() == 0; // its class, and the logit of that, come while the row does
    i64 class = is_first ? (i64)target[nest_place(&n, RANK, index, AT_CLASS)] : 0l;
    for (; at + (PER - 1) * LANES < span.packs; at += PER * LANES) {
        EACH(p, PER)
            load(v + p * V, x, first, &span, at + p * LANES, o.step);
        take(&s, v, GROUP);
        EACH(p, PER)
            take_all(&s, v + p * V, V, span.head + (at + p * LANES) * V, weight, &o);
    }
    if (at < span.packs) {
        EACH(i, GROUP)
            v[i] = -INFINITY;
        EACH(p, PER)
            if (at + p * LANES < span.packs) {
                load(v + p * V, x, first, &span, at + p * LANES, o.step);
                take_all(&s, v + p * V, V, span.head + (at + p * LANES) * V, weight, &o);
            }
        take(&s, v, GROUP);
    }
    for (u64 i = lane_of_row(); i < o.classes - span.packs * V; i += LANES) {
        u64 c = single_class(&span, i);
        v[0] = pack_get(T, x[first + (i64)c * o.step]);
        take(&s, v, 1);
        take_all(&s, v, 1, c, weight, &o);
    }
    bool has_class = is_first && class >= 0 && class < (i64)o.classes;
    if (has_class)
        own = pack_get(T, x[first + class * o.step]);
    f32 base = base_of(row_max(s.largest)), sum = row_sum(s.sum * add_exp(0, min(s.largest, base) - base)), smooth = 0;
    f32 log_sum = base + log(sum);
#ifdef SMOOTH
#    ifdef WEIGHT
    f32 weights = row_sum(s.weights);
#    else
    f32 weights = o.classes_weight;
#    endif
    smooth = o.each * (weights * log_sum - row_sum(s.weighted));
#endif
    if (is_first) {
        f32 value = has_class ? o.own * weight_of(class, weight, &o) * (log_sum - own) + smooth : NAN;
        loss[nest_place(&n, RANK, index, AT_LOSS)] = pack_put(LOSS, is_ignored(class, &o) ? 0.0f : value);
#ifdef SAVE
        lse[nest_place(&n, RANK, index, AT_LSE)] = log_sum;
#endif
    }
}
