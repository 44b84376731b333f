// Every float operator on f32 and f64, over all pairs of edge values (denormals, infinities, NaN,
// -0).
#include <kiln/kernel.h>

#define BINARY(name, T, R, expression)                                                             \
    kernel void name##_##T(const T *a, const T *b, R *out)                                         \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i], y = b[i];                                                                      \
        out[i] = expression;                                                                       \
    }
#define ARITH(T)                                                                                   \
    BINARY(fadd, T, T, x + y)                                                                      \
    BINARY(fsub, T, T, x - y)                                                                      \
    BINARY(fmul, T, T, x *y)                                                                       \
    BINARY(fdiv, T, T, x / y)                                                                      \
    BINARY(fmuladd, T, T, x *y + x)                                                                \
    BINARY(fmulsub, T, T, x *y - y * x)                                                            \
    BINARY(fchoose, T, T, x < y ? x : y)                                                           \
    BINARY(fneg, T, T, -x - y)                                                                     \
    BINARY(fsquare, T, T, (x - y) * (x - y))
#define COMPARE(T)                                                                                 \
    BINARY(flt, T, i32, x < y)                                                                     \
    BINARY(fle, T, i32, x <= y)                                                                    \
    BINARY(fgt, T, i32, x > y)                                                                     \
    BINARY(fge, T, i32, x >= y)                                                                    \
    BINARY(feq, T, i32, x == y)                                                                    \
    BINARY(fne, T, i32, x != y)                                                                    \
    BINARY(fboth, T, i32, x &&y)                                                                   \
    BINARY(feither, T, i32, x || y)                                                                \
    BINARY(fnot, T, i32, !x + 2 * !(x < y))

//! run {fadd,fsub,fmul,fdiv,fmuladd,fmulsub,fchoose,fneg,fsquare}_{f32,f64} grid=4 block=64 ($2[256]:edge, $2[256]:edge2, $2[256])
ARITH(f32)
ARITH(f64)
//! run {flt,fle,fgt,fge,feq,fne,fboth,feither,fnot}_{f32,f64} grid=4 block=64 ($2[256]:edge, $2[256]:edge2, i32[256])
COMPARE(f32)
COMPARE(f64)

//! run {fadd,fsub,fmul,fdiv}_{f32,f64} grid=8 block=64 ($2[512]:bits, $2[512]:bits, $2[512])

#define COMPOUND(T)                                                                                \
    kernel void fcompound_##T(const T *a, const T *b, T *out)                                      \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i], y = b[i], p = x, q = x, r = x, s = x, t = x;                                   \
        p += y;                                                                                    \
        q -= y;                                                                                    \
        r *= y;                                                                                    \
        s /= y;                                                                                    \
        T before = t++;                                                                            \
        out[6 * i] = p;                                                                            \
        out[6 * i + 1] = q;                                                                        \
        out[6 * i + 2] = r;                                                                        \
        out[6 * i + 3] = s;                                                                        \
        out[6 * i + 4] = --t + before;                                                             \
        out[6 * i + 5] = t;                                                                        \
    }
//! run fcompound_{f32,f64} grid=4 block=64 ($1[256]:edge, $1[256]:edge2, $1[1536])
COMPOUND(f32)
COMPOUND(f64)

// a*b+c rounds twice, whatever the device would like.
static bool never_fused(const f32 *a, const f32 *b, const f32 *c, const f32 *out)
{
    for (u32 i = 0; i < 256; i++) {
        volatile f32 product = a[i] * b[i];
        if (out[i] != product + c[i])
            return false;
    }
    return true;
}

//! run two_roundings grid=4 block=64 check=never_fused (f32[256]:rand, f32[256]:unit, f32[256]:rand, f32[256])
kernel void two_roundings(const f32 *a, const f32 *b, const f32 *c, f32 *out)
{
    u32 i = global_x();
    out[i] = a[i] * b[i] + c[i];
}

// The order of a sum is the order in the text.
//! run no_reassociation block=64 (f32[256]:rand, f32[64], f64[256]:rand, f64[64])
kernel void no_reassociation(const f32 *a, f32 *out, const f64 *b, f64 *wide)
{
    u32 i = thread_x();
    out[i] = ((a[i] + a[i + 64]) + a[i + 128]) + a[i + 192] -
             (a[i] + (a[i + 64] + (a[i + 128] + a[i + 192])));
    wide[i] = (b[i] * 3) * b[i + 64] - b[i] * (3 * b[i + 64]) + (b[i] - b[i + 128] + b[i + 128]);
}

// x + 0, x * 1, x - x, 0 * x, x / x must not be simplified where a special value makes the
// difference.
//! run identities_{f32,f64} block=16 ($1[16]:edge, $1[128])
#define IDENTITIES(T)                                                                              \
    kernel void identities_##T(const T *a, T *out)                                                 \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        T x = a[i];                                                                                \
        out[8 * i] = x + 0;                                                                        \
        out[8 * i + 1] = x * 1;                                                                    \
        out[8 * i + 2] = x - x;                                                                    \
        out[8 * i + 3] = 0 * x;                                                                    \
        out[8 * i + 4] = x / x;                                                                    \
        out[8 * i + 5] = 0 - x;                                                                    \
        out[8 * i + 6] = x / 3;                                                                    \
        out[8 * i + 7] = -(-x) + -0.0f;                                                            \
    }
IDENTITIES(f32)
IDENTITIES(f64)

//! run mixed_floats grid=4 block=64 (f32[256]:edge, f64[256]:edge2, i32[256]:edge, f64[768])
kernel void mixed_floats(const f32 *a, const f64 *b, const i32 *c, f64 *out)
{
    u32 i = global_x();
    out[3 * i] = a[i] * b[i];
    out[3 * i + 1] = a[i] < b[i] ? a[i] : b[i];
    out[3 * i + 2] = c[i] + b[i] * 2 + (f64)(a[i] + a[i]);
}
