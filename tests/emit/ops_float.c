// Every operation on floats, of 32 and 64 bits; the approximate ones; pairs of 16 bits.
#include <kiln/kernel.h>

#define FLOATS(T)                                                                                  \
    kernel block(32) void exact_##T(const T *a, const T *b, T *out, i32 *is)                       \
    {                                                                                              \
        T x = a[thread_x()], y = b[thread_x()];                                                    \
        out[0] = x + y;                                                                            \
        out[1] = x - y;                                                                            \
        out[2] = x * y;                                                                            \
        out[3] = x / y;                                                                            \
        out[4] = fma(x, y, x);                                                                     \
        out[5] = sqrt(x);                                                                          \
        out[6] = -x;                                                                               \
        out[7] = abs(y);                                                                           \
        out[8] = copysign(x, y);                                                                   \
        out[9] = min(x, y);                                                                        \
        out[10] = max(x, y);                                                                       \
        out[11] = floor(x);                                                                        \
        out[12] = ceil(x);                                                                         \
        out[13] = trunc(x);                                                                        \
        out[14] = rint(x);                                                                         \
        is[0] = x == y;                                                                            \
        is[1] = x != y;                                                                            \
        is[2] = x < y;                                                                             \
        is[3] = x <= y;                                                                            \
        is[4] = isnan(x);                                                                          \
        out[15] = x < y ? x * 2 : y * 3;                                                           \
    }
FLOATS(f32)
FLOATS(f64)

kernel block(32) void fast(const f32 *a, const f32 *b, f32 *out)
{
    f32 x = a[thread_x()], y = b[thread_x()];
    out[0] = fast_exp2(x);
    out[1] = fast_log2(x);
    out[2] = fast_sin(x);
    out[3] = fast_cos(x);
    out[4] = fast_tanh(x);
    out[5] = fast_rcp(x);
    out[6] = fast_rsqrt(x);
    out[7] = fast_sqrt(x);
    out[8] = fast_div(x, y);
}

#define PAIRS(T)                                                                                   \
    kernel block(32) void pairs_##T(const T *a, const T *b, T *out)                                \
    {                                                                                              \
        T x = a[thread_x()], y = b[thread_x()];                                                    \
        out[0] = add2(x, y);                                                                       \
        out[1] = sub2(x, y);                                                                       \
        out[2] = mul2(x, y);                                                                       \
        out[3] = fma2(x, y, x);                                                                    \
        out[4] = min2(x, y);                                                                       \
        out[5] = max2(x, y);                                                                       \
    }
PAIRS(f16x2)
PAIRS(bf16x2)
