// What the kernels of linear layers share: the operands, which weights a block has, the end of a sum.
//
// Macros: X, SCALE, OUT (types), WEIGHT_i8 or WEIGHT_i4, HAS_ZERO, HAS_BIAS, HAS_X_SCALE,
// ACTIVATION_…, THREE.
#ifndef KILN_LINEAR_LAYER_H
#define KILN_LINEAR_LAYER_H

#include <kiln/pack.h>

#ifndef SCALE
#    define SCALE f32
#endif
#ifdef WEIGHT_i4
typedef u32 weight_t; // eight numbers
typedef u8 zero_t;
#else
typedef i8 weight_t;
typedef i8 zero_t;
#endif

struct layer { // one weight matrix: sizes and strides in elements
    u32 n;
    i64 weight, scale[2], zero[2], bias, out[2];
};

struct linear {
    u32 m, k;
    u32 group_shift; // a group is 1 << group_shift elements of K
    i64 x[2], x_scale;
    struct layer layers[3];
};

#ifdef THREE
#    define POINTERS(T, p)  T *restrict p##0, T *restrict p##1, T *restrict p##2
#    define OF(which, p)    ((which) == 0 ? p##0 : (which) == 1 ? p##1 : p##2)
#    define FIELD(l, which, f) ((which) == 0 ? (l).layers[0].f : (which) == 1 ? (l).layers[1].f : (l).layers[2].f)
#else
#    define POINTERS(T, p)  T *restrict p##0
#    define OF(which, p)    p##0
#    define FIELD(l, which, f) (l).layers[0].f
#endif

// Which of the layers, and which of its tiles of `width` columns, a block has.
typedef struct corner {
    u32 which, column;
} corner;

static inline corner corner_of(const struct linear *l, u32 tile, u32 width)
{
    corner c = {0, 0};
#ifdef THREE
    u32 first = (l->layers[0].n + width - 1) / width, second = (l->layers[1].n + width - 1) / width;
    if (tile >= first) {
        tile -= first;
        c.which = 1;
        if (tile >= second) {
            tile -= second;
            c.which = 2;
        }
    }
#endif
    c.column = tile * width;
    return c;
}

static inline f32 activate(f32 x)
{
#if defined(ACTIVATION_relu)
    return x < 0.0f ? 0.0f : x;
#elif defined(ACTIVATION_gelu)
    return 0.5f * x * (1.0f + tanh(0.7978845608028654f * (x + 0.044715f * x * x * x)));
#elif defined(ACTIVATION_silu)
    return x / (1.0f + exp(-x));
#else
    return x;
#endif
}

#endif
