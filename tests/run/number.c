// min, max, clamp, abs, rounding, classification and fma on edge values.
#include <kiln/kernel.h>

#define TWO(name, T, R, expression)                                                                \
    kernel void name##_##T(const T *a, const T *b, R *out)                                         \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i], y = b[i];                                                                      \
        out[i] = expression;                                                                       \
    }
#define MINMAX(T)                                                                                  \
    TWO(min, T, T, min(x, y))                                                                      \
    TWO(max, T, T, max(x, y))                                                                      \
    TWO(clamp, T, T, clamp(x, y, 5))                                                               \
    TWO(clamp_between, T, T, clamp(x, 1, y))
//! run {min,max,clamp,clamp_between}_{i32,u32,i64,u64,f32,f64} grid=4 block=64 ($2[256]:edge, $2[256]:edge2, $2[256])
MINMAX(i32)
MINMAX(u32)
MINMAX(i64)
MINMAX(u64)
MINMAX(f32)
MINMAX(f64)

#define FLOAT2(T)                                                                                  \
    TWO(fmin, T, T, fmin(x, y))                                                                    \
    TWO(fmax, T, T, fmax(x, y))                                                                    \
    TWO(copysign, T, T, copysign(x, y))
//! run {fmin,fmax,copysign}_{f32,f64} grid=4 block=64 ($2[256]:edge, $2[256]:edge2, $2[256])
FLOAT2(f32)
FLOAT2(f64)

#define ONE(name, T, R, expression)                                                                \
    kernel void name##_##T(const T *a, R *out)                                                     \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i];                                                                                \
        out[i] = expression;                                                                       \
    }
//! run abs_{i32,i64,f32,f64} block=64 ($1[64]:edge, $1[64])
ONE(abs, i32, i32, abs(x))
ONE(abs, i64, i64, abs(x))
ONE(abs, f32, f32, abs(x))
ONE(abs, f64, f64, abs(x))

#define FLOAT1(T)                                                                                  \
    ONE(sqrt, T, T, sqrt(x))                                                                       \
    ONE(floor, T, T, floor(x))                                                                     \
    ONE(ceil, T, T, ceil(x))                                                                       \
    ONE(trunc, T, T, trunc(x))                                                                     \
    ONE(rint, T, T, rint(x))                                                                       \
    ONE(fabs, T, T, fabs(x))                                                                       \
    ONE(halves, T, T, floor(x / 8) + 100 * ceil(x / 8) + 10000 * rint(x / 8) + trunc(x / 8))       \
    ONE(isnan, T, i32, isnan(x))                                                                   \
    ONE(isinf, T, i32, isinf(x))                                                                   \
    ONE(isfinite, T, i32, isfinite(x))                                                             \
    ONE(signbit, T, i32, signbit(x))
//! run {sqrt,floor,ceil,trunc,rint,fabs}_{f32,f64} block=64 ($2[64]:edge, $2[64])
//! run {sqrt,floor,ceil,trunc,rint,fabs}_{f32,f64} grid=4 block=64 ($2[256]:rand, $2[256])
//! run {sqrt,floor,ceil,trunc,rint,fabs}_{f32,f64} grid=4 block=64 ($2[256]:bits, $2[256])
//! run halves_{f32,f64} grid=4 block=64 ($1[256]:sym50, $1[256])
//! run {isnan,isinf,isfinite,signbit}_{f32,f64} block=64 ($2[64]:edge, i32[64])
//! run {isnan,isinf,isfinite,signbit}_{f32,f64} block=64 ($2[64]:bits, i32[64])
FLOAT1(f32)
FLOAT1(f64)

#define FMA(T)                                                                                     \
    kernel void fma_##T(const T *a, const T *b, const T *c, T *out)                                \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        out[i] = fma(a[i], b[i], c[i]);                                                            \
    }
//! run fma_{f32,f64} grid=64 block=64 ($1[4096]:edge, $1[4096]:edge2, $1[4096]:edge3, $1[4096])
//! run fma_{f32,f64} grid=8 block=64 ($1[512]:rand, $1[512]:rand, $1[512]:rand, $1[512])
//! run fma_{f32,f64} grid=8 block=64 ($1[512]:bits, $1[512]:bits, $1[512]:bits, $1[512])
FMA(f32)
FMA(f64)

static bool residual_is_exact(const f32 *a, const f32 *b, const f32 *out)
{
    for (u32 i = 0; i < 64; i++)
        if (out[i] != (f32)((f64)a[i] * (f64)b[i] - (f64)(a[i] * b[i])))
            return false;
    return true;
}
//! run fma_residual block=64 check=residual_is_exact (f32[64]:rand, f32[64]:rand, f32[64])
kernel void fma_residual(const f32 *a, const f32 *b, f32 *out)
{
    u32 i = thread_x();
    out[i] = fma(a[i], b[i], -(a[i] * b[i]));
}

//! run c_names block=64 (f32[64]:rand, f32[64]:rand, f32[64])
kernel void c_names(const f32 *a, const f32 *b, f32 *out)
{
    u32 i = thread_x();
    f32 x = a[i], y = b[i];
    out[i] = sqrtf(fabsf(x)) + floorf(x) + ceilf(y) * truncf(x) - rintf(y) +
             fminf(x, y) * fmaxf(x, y) + copysignf(x, y) + fmaf(x, y, x);
}

//! run min_chain block=64 (f32[256]:rand, f32[64], i32[256]:bits, i32[64])
kernel void min_chain(const f32 *a, f32 *out, const i32 *b, i32 *whole)
{
    u32 i = thread_x();
    f32 low = INFINITY, high = -INFINITY;
    i32 small = INT_MAX, large = INT_MIN;
    for (u32 k = 0; k < 4; k++) {
        low = min(low, a[4 * i + k]);
        high = max(high, a[4 * i + k]);
        small = min(small, b[4 * i + k]);
        large = max(large, b[4 * i + k]);
    }
    out[i] = high - low;
    whole[i] = small ^ large;
}
