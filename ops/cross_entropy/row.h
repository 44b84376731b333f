// What the cross-entropy kernels share: the loops over rows, the threads of a row, the weight of a row.
#include <kiln/pack.h>

tune(THREADS, 256, 64, 128, 512, 1024);
tune(LANES, 256, 1, 32, 64, 128, 512, 1024); // threads of a row: one, a warp, the block
tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
#ifndef T
#    define T      f32
#    define TARGET i64
#    define LOSS   f32
#    define V      4
#endif
#ifdef LONG
#    define NEST_LONG 1
#else
#    define NEST_LONG 0
#endif
#ifdef IN_PLACE // the gradient has the place of the logits
#    define ALONE
#else
#    define ALONE restrict
#endif
#define NEST_RANK RANK
#include <kiln/nest.h>

PACK(T, V)

enum { AT_CLASS, AT_LOSS, AT_LSE, AT_DX, AT_X }; // views of the loops over rows
enum { TOGETHER = THREADS / LANES };

struct options {
    u64 classes;
    i64 step, dx_step;  // between two classes, in elements
    i64 weight_step;
    i64 ignored; // this class does not count
    f32 own, each; // shares of the loss: of the class itself, and of each of all
    f32 classes_weight; // the weight of all classes, where they have no weights
};

#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

static inline u64 lane_of_row(void)
{
    return LANES == 1 ? 0 : LANES == 32 ? lane() : thread_x();
}

static inline u64 row_of(void)
{
    return LANES == THREADS ? block_x() : (u64)block_x() * TOGETHER + (LANES == 1 ? thread_x() : warp());
}

static inline f32 row_sum(f32 x)
{
    return LANES == 1 ? x : LANES == 32 ? warp_sum(x) : block_sum(x);
}

static inline f32 row_max(f32 x)
{
    return LANES == 1 ? x : LANES == 32 ? warp_max(x) : block_max(x);
}

static inline bool is_ignored(i64 class, const struct options *o)
{
#ifdef IGNORE
    return class == o->ignored;
#else
    return false;
#endif
}

// NaN for a class that there is not.
static inline f32 weight_of(i64 class, const f32 *weight, const struct options *o)
{
    if (class < 0 || class >= (i64)o->classes)
        return NAN;
#ifdef WEIGHT
    return weight[class * o->weight_step];
#else
    return 1;
#endif
}

// A row in packs: `head` classes come before the first pack, which starts at a multiple of V elements.
struct span {
    u64 head, packs;
};

static inline struct span span_of(i64 first, u64 classes)
{
    u64 head = min((u64)(0 - first) & (V - 1), classes);
    return (struct span){head, (classes - head) / V};
}

// Classes outside of the packs: number n of them.
static inline u64 single_class(const struct span *s, u64 n)
{
    return n < s->head ? n : n + s->packs * V;
}

// Pack `at` of a row that begins at element `first`.
static inline void load(f32 v[V], const T *from, i64 first, const struct span *s, u64 at, i64 step)
{
    if (V > 1)
        pack_load(T, V, v, from, (u64)((first + (i64)s->head) / V + (i64)at));
    else
        v[0] = pack_get(T, from[first + (i64)at * step]);
}
