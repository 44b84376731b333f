// The cross-entropy of rows of logits x and their classes y:
//     loss = -own * w[y] * log p[y] - each * sum over c of w[c] * log p[c],    log p[c] = x[c] - log(sum of exp(x))
// own is 1 and each 0 without label smoothing. A row is read once: every thread keeps the largest logit so far and the sum
// of the others relative to it.
#include "row.h"
KERNEL_OVERLAPS

enum { PER = V == 8 ? 2 : 4 }; // packs that a thread loads at once

// Largest logit, sum of exp(x - it), sums of w * x and of w.
struct sums {
    f32 largest, sum, weighted, weights;
};

static inline f32 base_of(f32 largest)
{
    return isfinite(largest) ? largest : 0.0f;
}

// Takes `count` logits of the classes from `class` on.
static inline void take(struct sums *s, const f32 *v, const u32 count, u64 class, const f32 *weight, const struct options *o)
{
    f32 largest = s->largest, part = 0;
    EACH(i, count)
        largest = max(largest, v[i]);
    f32 base = base_of(largest);
    EACH(i, count)
        part += exp(v[i] - base);
    s->sum = (s->largest == -INFINITY ? s->sum : s->sum * exp(base_of(s->largest) - base)) + part;
    s->largest = largest;
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
    f32 v[PER][V];
    for (; at + (PER - 1) * LANES < span.packs; at += PER * LANES) {
        EACH(p, PER)
            load(v[p], x, first, &span, at + p * LANES, o.step);
        EACH(p, PER)
            take(&s, v[p], V, span.head + (at + p * LANES) * V, weight, &o);
    }
    EACH(p, PER)
        if (at + p * LANES < span.packs)
            load(v[p], x, first, &span, at + p * LANES, o.step);
    EACH(p, PER)
        if (at + p * LANES < span.packs)
            take(&s, v[p], V, span.head + (at + p * LANES) * V, weight, &o);
    for (u64 i = lane_of_row(); i < o.classes - span.packs * V; i += LANES) {
        u64 c = single_class(&span, i);
        v[0][0] = pack_get(T, x[first + (i64)c * o.step]);
        take(&s, v[0], 1, c, weight, &o);
    }
    f32 largest = row_max(s.largest), base = base_of(largest);
    f32 sum = row_sum(s.largest == -INFINITY ? s.sum : s.sum * exp(base_of(s.largest) - base)), smooth = 0;
    f32 log_sum = base + log(sum);
#ifdef SMOOTH
#    ifdef WEIGHT
    f32 weights = row_sum(s.weights);
#    else
    f32 weights = o.classes_weight;
#    endif
    smooth = o.each * (weights * log_sum - row_sum(s.weighted));
#endif
    if (lane_of_row() == 0) {
        i64 class = (i64)target[nest_place(&n, RANK, index, AT_CLASS)];
        f32 w = weight_of(class, weight, &o), value = NAN;
        if (class >= 0 && class < (i64)o.classes)
            value = o.own * w * (log_sum - pack_get(T, x[first + class * o.step])) + smooth;
        loss[nest_place(&n, RANK, index, AT_LOSS)] = pack_put(LOSS, is_ignored(class, &o) ? 0.0f : value);
#ifdef SAVE
        lse[nest_place(&n, RANK, index, AT_LSE)] = log_sum;
#endif
    }
}
