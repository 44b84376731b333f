// Random numbers, and dropout: element i, counted in row-major order whatever the strides are, has
// words of Philox4x32-10 with the counter (i / GROUP, offset) and the seed as its key. GROUP elements
// share four words: which thread draws them does not matter.
#include <kiln/pack.h>

#ifndef T
#    define T f32
#endif
#ifndef V
#    define V 4
#endif
#ifndef LINEAR
#    define LINEAR DENSE
#endif
enum { UNIFORM, NORMAL, BERNOULLI, INTEGERS, DROPOUT };
#ifndef KIND
#    define KIND UNIFORM
#endif
#ifdef IN_PLACE
#    define ALONE
#else
#    define ALONE restrict
#endif
tune(RANK, 1, 2, 3, 4, 5, 6, 7, 8);
tune(LONG, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
KERNEL_OVERLAPS
PACK(T, V)
enum {
    X,
    PLACE, // the number of the element
    OUT,
    THREADS = 256,
    IS_F64 = sizeof(pack_number(T)) == 8 && KIND != INTEGERS && KIND != BERNOULLI,
    GROUP = IS_F64 || KIND == INTEGERS ? 2 : 4,
};

struct draw {
    u64 seed, offset;
    f64 p, q;
    i64 low;
    u64 range; // INTEGERS: low … low + range - 1; 0: 2^64 of them
};

static u32x4 words_of(const struct draw *d, u64 group)
{
    return philox((u32x4){(u32)group, (u32)(group >> 32), (u32)d->offset, (u32)(d->offset >> 32)},
                  (u32x2){(u32)d->seed, (u32)(d->seed >> 32)});
}

#define N pack_number(T)

static N from_word(const struct draw *d, u32 word, N x)
{
    f32 u = uniform_f32(word), p = (f32)d->p, q = (f32)d->q;
    return KIND == BERNOULLI ? (N)(u < p ? 1 : 0) : KIND == DROPOUT ? (u < p ? (N)((f32)x * q) : (N)0) : (N)(p + (q - p) * u);
}

static N from_words(const struct draw *d, u32 high, u32 low, N x)
{
    u64 word = (u64)high << 32 | low;
    f64 u = uniform_f64(high, low);
    if (KIND == INTEGERS)
        return (N)(d->low + (i64)(d->range ? mul_high(word, d->range) : word));
    return KIND == DROPOUT ? (u < d->p ? (N)((f64)x * d->q) : (N)0) : (N)(d->p + (d->q - d->p) * u);
}

// The numbers of a group; v: the operand's before.
static void draw_group(const struct draw *d, u64 group, N v[GROUP])
{
    u32x4 w = words_of(d, group);
    if (KIND == NORMAL && IS_F64) {
        f64x2 z = normal_f64(w);
        v[0] = (N)(d->p + d->q * z.x);
        v[1] = (N)(d->p + d->q * z.y);
    } else if (KIND == NORMAL) {
        f32x2 a = normal_f32(w.x, w.y), b = normal_f32(w.z, w.w);
        f32 p = (f32)d->p, q = (f32)d->q;
        v[0] = (N)(p + q * a.x);
        v[1] = (N)(p + q * a.y);
        v[GROUP - 2] = (N)(p + q * b.x);
        v[GROUP - 1] = (N)(p + q * b.y);
    } else if (GROUP == 2) {
        v[0] = from_words(d, w.x, w.y, v[0]);
        v[1] = from_words(d, w.z, w.w, v[1]);
    } else {
        v[0] = from_word(d, w.x, v[0]);
        v[1] = from_word(d, w.y, v[1]);
        v[GROUP - 2] = from_word(d, w.z, v[GROUP - 2]);
        v[GROUP - 1] = from_word(d, w.w, v[GROUP - 1]);
    }
}

kernel block(THREADS) void random(const T *ALONE from, T *ALONE to, struct nest n, struct draw d)
{
    kernel_begin();
    u64 at = LONG ? (u64)block_x() * THREADS + thread_x() : (u64)global_x(), index[8];
    if (at >= n.packs)
        return;
    nest_find(&n, RANK, at, index);
    N v[V];
#pragma unroll
    for (u32 i = 0; i < V; i++)
        v[i] = 0;
    if (KIND == DROPOUT)
        pack_load(T, V, v, from, (u64)nest_place(&n, RANK, index, X));
    u64 place = (u64)nest_place(&n, RANK, index, PLACE);
    if (V % GROUP == 0 && LINEAR == DENSE) {
#pragma unroll
        for (u32 g = 0; g < V / GROUP; g++)
            draw_group(&d, place * (V / GROUP) + g, &v[g * GROUP % V]);
    } else {
#pragma unroll
        for (u32 i = 0; i < V; i++) {
            u64 element = LINEAR == DENSE ? place * V + i : place;
            N all[GROUP];
#pragma unroll
            for (u32 k = 0; k < GROUP; k++)
                all[k] = v[i];
            draw_group(&d, element / GROUP, all);
#pragma unroll
            for (u32 k = 0; k < GROUP; k++)
                v[i] = element % GROUP == k ? all[k] : v[i];
        }
    }
    pack_store(T, V, to, (u64)nest_place(&n, RANK, index, OUT), v);
}
