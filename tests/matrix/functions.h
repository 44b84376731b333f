// Kernels that call one function of REAL each, for functions_f32.c and functions_f64.c: on the
// input as it is, and on numbers at the edges of every exponent. With n threads the first n results
// are those of the input, the next n (2n) those of an edge in place of the first (the second)
// argument.
#include <kiln/kernel.h>

#define KERNEL_NAME(name, type) fn_##name##_##type
#define NAMED(name, type)       KERNEL_NAME(name, type)

#define ONE(name)                                                                                  \
    kernel void NAMED(name, REAL)(const REAL *x, REAL *out)                                        \
    {                                                                                              \
        u32 i = global_x(), n = grid_dim_x() * block_dim_x();                                      \
        out[i] = name(x[i]);                                                                       \
        out[n + i] = name(edge_of(i, x[i]));                                                       \
    }
#define TWO(name)                                                                                  \
    kernel void NAMED(name, REAL)(const REAL *x, const REAL *y, REAL *out)                         \
    {                                                                                              \
        u32 i = global_x(), n = grid_dim_x() * block_dim_x();                                      \
        out[i] = name(x[i], y[i]);                                                                 \
        out[n + i] = name(edge_of(i, x[i]), y[i]);                                                 \
        out[2 * n + i] = name(x[i], edge_of(i, y[i]));                                             \
    }
#define divide(x, y)    ((x) / (y))
#define fma_one(x, y)   fma(x, y, (REAL)1)
#define fma_small(x, y) fma(x, y, -(x) * (y))

ONE(sqrt)
ONE(floor)
ONE(ceil)
ONE(trunc)
ONE(rint)
ONE(fabs)
ONE(round)
ONE(rsqrt)
ONE(cbrt)
ONE(exp)
ONE(exp2)
ONE(expm1)
ONE(log)
ONE(log2)
ONE(log10)
ONE(log1p)
ONE(sin)
ONE(cos)
ONE(tan)
ONE(asin)
ONE(acos)
ONE(atan)
ONE(sinh)
ONE(cosh)
ONE(tanh)
ONE(erf)
ONE(erfc)
ONE(tgamma)
ONE(lgamma)
TWO(divide)
TWO(fma_one)
TWO(fma_small)
TWO(fmin)
TWO(fmax)
TWO(copysign)
TWO(pow)
TWO(atan2)
TWO(fmod)
TWO(remainder)
TWO(hypot)
