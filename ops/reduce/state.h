// What a reduction keeps while it runs, for each KIND: `struct state`, the empty one, the one of an
// element, how two are merged, and the result. The host defines KIND_name, ACC (the type of the
// sums) and INDEX (i32 or i64).
//
// FIELDS lists the members for what moves them between threads. A state of many elements at once is
// a tree of merges (state_of_all); variance and logsumexp do better when they see all of them.
#include <kiln/pack.h>

#ifndef T
#    define T     f32
#    define OUT   f32
#    define V     4
#    define ACC   f32
#    define INDEX i32
#    define KIND_sum
#endif
typedef pack_number(T) number;
typedef ACC acc;
#ifdef WIDE // parameters, and the division of a mean
typedef f64 real;
#else
typedef f32 real;
#endif

// clang-format off
#define NAN_f32     NAN
#define NAN_f64     ((f64)NAN)
#define NAN_i32     0
#define NAN_u32     0u
#define NAN_i64     0l
#define NAN_u64     0ul
#define NOT_A_NUMBER PACK_JOIN(NAN_, ACC) // integers are none
#define LOWEST      pack_lowest(T) // of the elements: sums may be wider, and none is the result of no elements
#define HIGHEST     pack_highest(T)
// clang-format on

// step(a, b) for neighbours, then for neighbours of those, until a[0] has all of them.
#define TREE(a, b, count, step)                                                                    \
    _Pragma("unroll") for (u32 level = 0; level < 6; level++)                                      \
        _Pragma("unroll") for (u32 a = 0; a + (1u << level) < (count); a += 2u << level)           \
    {                                                                                              \
        u32 b = a + (1u << level);                                                                 \
        step;                                                                                      \
    }

// A NaN is above and below everything: b wins against what came before.
#if defined KIND_max || defined KIND_argmax || defined KIND_max_ties
#    define WINS(b, a) ((b) > (a) || ((b) != (b) && (a) == (a)))
#    define LOSER      LOWEST
#else
#    define WINS(b, a) ((b) < (a) || ((b) != (b) && (a) == (a)))
#    define LOSER      HIGHEST
#endif
#define IS_TIE(b, a) ((b) == (a) || ((b) != (b) && (a) != (a)))
// The better of two that are no NaN.
#if defined KIND_max || defined KIND_argmax || defined KIND_max_ties
#    define BETTER(a, b) max(a, b)
#else
#    define BETTER(a, b) min(a, b)
#endif

#if defined KIND_argmax || defined KIND_argmin
#    define FIELDS FIELD(acc, best) FIELD(INDEX, at)
#elif defined KIND_max_ties || defined KIND_min_ties
#    define FIELDS FIELD(acc, best) FIELD(acc, ties)
#elif defined KIND_variance || defined KIND_deviation
#    define FIELDS FIELD(acc, count) FIELD(acc, mean) FIELD(acc, squares)
#elif defined KIND_logsumexp
#    define FIELDS FIELD(acc, largest) FIELD(acc, sum)
#else
#    define FIELDS FIELD(acc, sum)
#endif
#define FIELD(type, name) type name;
typedef struct state {
    FIELDS
} state;
#undef FIELD

// a merged with b is b merged with a, bit for bit.
#if defined KIND_sum || defined KIND_mean || defined KIND_prod || defined KIND_prod_nonzero || defined KIND_any || defined KIND_all || \
    defined KIND_count || defined KIND_zeros || defined KIND_norm_1 || defined KIND_norm_2
enum { COMMUTES = 1 };
#else
enum { COMMUTES = 0 };
#endif
#if defined KIND_variance || defined KIND_deviation
#    define IS_VARIANCE
#endif

// An element that changes no result, where there is one.
#if defined KIND_max || defined KIND_min
#    define NEUTRAL LOSER
#elif defined KIND_prod || defined KIND_all
#    define NEUTRAL 1
#elif defined KIND_sum || defined KIND_mean || defined KIND_any || defined KIND_count || defined KIND_norm_1 || defined KIND_norm_2
#    define NEUTRAL 0
#endif

static inline state state_empty(void)
{
#if defined KIND_argmax || defined KIND_argmin
    return (state){LOSER, pack_highest(INDEX)};
#elif defined KIND_max_ties || defined KIND_min_ties
    return (state){LOSER, 0};
#elif defined KIND_max || defined KIND_min
    return (state){LOSER};
#elif defined KIND_variance || defined KIND_deviation
    return (state){0, 0, 0};
#elif defined KIND_logsumexp
    return (state){LOWEST, 0};
#elif defined KIND_prod || defined KIND_prod_nonzero || defined KIND_all
    return (state){1};
#else
    return (state){0};
#endif
}

// p: the exponent of a norm.
static inline state state_of(number x, INDEX at, real p)
{
#if defined KIND_argmax || defined KIND_argmin
    return (state){x, at};
#elif defined KIND_max_ties || defined KIND_min_ties
    return (state){x, 1};
#elif defined KIND_variance || defined KIND_deviation
    return (state){1, x, 0};
#elif defined KIND_logsumexp
    return (state){x, exp(isfinite(x) ? 0 : x)};
#elif defined KIND_prod_nonzero
    return (state){x == 0 ? 1 : x};
#elif defined KIND_any || defined KIND_all || defined KIND_count
    return (state){x != 0};
#elif defined KIND_zeros
    return (state){x == 0 ? 1 : 0};
#elif defined KIND_norm_1
    return (state){fabs(x)};
#elif defined KIND_norm_2
    return (state){x * x};
#elif defined KIND_norm_p
    return (state){pow(fabs(x), p)};
#else
    return (state){(acc)x};
#endif
}

#if defined KIND_logsumexp
// The sum of a state is scaled by this.
static inline acc scale_of(acc largest)
{
    return isfinite(largest) ? largest : 0;
}

static inline acc scaled(state s, acc scale)
{
    return s.largest == LOWEST ? s.sum : s.sum * exp(scale_of(s.largest) - scale);
}
#endif

static inline state merge(state a, state b)
{
#if defined KIND_argmax || defined KIND_argmin
    bool is_b = WINS(b.best, a.best) || (IS_TIE(b.best, a.best) && b.at < a.at);
    return (state){is_b ? b.best : a.best, is_b ? b.at : a.at};
#elif defined KIND_max_ties || defined KIND_min_ties
    bool is_b = WINS(b.best, a.best), is_tie = IS_TIE(b.best, a.best);
    return (state){is_b ? b.best : a.best, is_tie ? a.ties + b.ties : is_b ? b.ties : a.ties};
#elif defined KIND_max || defined KIND_min
    return (state){WINS(b.sum, a.sum) ? b.sum : a.sum};
#elif defined KIND_variance || defined KIND_deviation
    acc count = a.count + b.count, delta = b.mean - a.mean, share = 0.5f;
    if (a.count != b.count) // else the quotient is a half
        share = b.count == 0 ? 0 : b.count / count;
    return (state){count, a.mean + (b.count == 0 ? 0 : delta * share),
                   a.squares + b.squares + (b.count == 0 ? 0 : delta * delta * a.count * share)};
#elif defined KIND_logsumexp
    acc largest = max(a.largest, b.largest), scale = scale_of(largest);
    return (state){largest, scaled(a, scale) + scaled(b, scale)};
#elif defined KIND_prod || defined KIND_prod_nonzero
    return (state){a.sum * b.sum};
#elif defined KIND_any
    return (state){a.sum | b.sum};
#elif defined KIND_all
    return (state){a.sum & b.sum};
#else
    return (state){a.sum + b.sum};
#endif
}

// Of `count` elements, a power of two or three times one.
static inline state state_of_all(const number *x, const INDEX *at, const u32 count, real p)
{
#if defined KIND_variance || defined KIND_deviation
    acc sum[4 * V], mean;
#    pragma unroll
    for (u32 i = 0; i < count; i++)
        sum[i] = x[i];
    TREE(a, b, count, sum[a] = sum[a] + sum[b])
    mean = sum[0] / (acc)count;
#    pragma unroll
    for (u32 i = 0; i < count; i++)
        sum[i] = (x[i] - mean) * (x[i] - mean);
    TREE(a, b, count, sum[a] = sum[a] + sum[b])
    return (state){(acc)count, mean, sum[0]};
#elif defined KIND_logsumexp
    acc largest = x[0], sum[4 * V];
#    pragma unroll
    for (u32 i = 1; i < count; i++)
        largest = max(largest, x[i]);
    acc scale = scale_of(largest);
#    pragma unroll
    for (u32 i = 0; i < count; i++)
        sum[i] = exp(x[i] - scale);
    TREE(a, b, count, sum[a] = sum[a] + sum[b])
    return (state){largest, sum[0]};
#elif defined KIND_max || defined KIND_min || defined KIND_max_ties || defined KIND_min_ties
    acc best[4 * V];
    bool has_nan = false;
#    pragma unroll
    for (u32 i = 0; i < count; i++) {
        best[i] = x[i];
        has_nan |= x[i] != x[i];
    }
    TREE(a, b, count, best[a] = BETTER(best[a], best[b]))
    best[0] = has_nan ? NOT_A_NUMBER : best[0];
#    if defined KIND_max || defined KIND_min
    return (state){best[0]};
#    else
    u32 ties = 0;
#        pragma unroll
    for (u32 i = 0; i < count; i++)
        ties += has_nan ? x[i] != x[i] : (acc)x[i] == best[0];
    return (state){best[0], (acc)ties};
#    endif
#else
    state s[4 * V];
#    pragma unroll
    for (u32 i = 0; i < count; i++)
        s[i] = state_of(x[i], at[i], p);
    TREE(a, b, count, s[a] = merge(s[a], s[b]))
    return s[0];
#endif
}

// The elements added to a state. Those of argmax and argmin rarely change it: the best of them says
// so. Where they do, the first place of the best is looked for.
static inline state state_with_all(state s, const number *x, const INDEX *at, const u32 count, real p)
{
#if defined KIND_argmax || defined KIND_argmin
    acc best[4 * V];
    bool has_nan = false;
#    pragma unroll
    for (u32 i = 0; i < count; i++) {
        best[i] = x[i];
        has_nan |= x[i] != x[i];
    }
    TREE(a, b, count, best[a] = BETTER(best[a], best[b]))
    if (!has_nan && !WINS(best[0], s.best) && best[0] != s.best)
        return s;
    INDEX first = pack_highest(INDEX);
    if (has_nan) { // the first of those
#    pragma unroll
        for (u32 i = 0; i < count; i++)
            first = x[i] != x[i] ? min(first, at[i]) : first;
    } else {
#    pragma unroll
        for (u32 i = 0; i < count; i++)
            first = (acc)x[i] == best[0] ? min(first, at[i]) : first;
    }
    return merge(s, (state){has_nan ? NOT_A_NUMBER : best[0], first});
#else
    return merge(s, state_of_all(x, at, count, p));
#endif
}

// The state of the lane whose number differs by this bit.
#define FIELD(type, name) shuffle_xor(s.name, distance),
static inline state other_lane(state s, u32 distance)
{
    return (state){FIELDS};
}
#undef FIELD

// The result: n elements were reduced, q of them count for the variance.
static inline void store(OUT *to, state s, real p, real n, real q)
{
#if defined KIND_argmax || defined KIND_argmin
    *to = pack_put(OUT, s.at == pack_highest(INDEX) ? -1 : s.at);
#elif defined KIND_max_ties || defined KIND_min_ties
    *to = pack_put(OUT, 1 / (real)s.ties);
#elif defined KIND_variance
    *to = pack_put(OUT, s.squares / q);
#elif defined KIND_deviation
    *to = pack_put(OUT, sqrt(s.squares / q));
#elif defined KIND_logsumexp
    *to = pack_put(OUT, scale_of(s.largest) + log(s.sum));
#elif defined KIND_mean
    *to = pack_put(OUT, (real)s.sum / n);
#elif defined KIND_norm_2
    *to = pack_put(OUT, sqrt(s.sum));
#elif defined KIND_norm_p
    *to = pack_put(OUT, pow(s.sum, 1 / p));
#else
    *to = pack_put(OUT, s.sum);
#endif
}
