// Every integer operator on every integer type, over all pairs of the types' edge values.
#include <kiln/kernel.h>
#pragma kiln shifts(wrap)
#pragma GCC diagnostic ignored "-Wsign-compare"

#define BINARY(name, T, R, expression)                                                             \
    kernel void name##_##T(const T *a, const T *b, R *out)                                         \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i], y = b[i];                                                                      \
        out[i] = expression;                                                                       \
    }
#define ALL_BINARY(T, R, count)                                                                    \
    BINARY(add, T, R, x + y)                                                                       \
    BINARY(sub, T, R, x - y)                                                                       \
    BINARY(mul, T, R, x *y)                                                                        \
    BINARY(and, T, R, x &y)                                                                        \
    BINARY(or, T, R, x | y)                                                                        \
    BINARY(xor, T, R, x ^ y)                                                                       \
    BINARY(shl, T, R, x << (y & count))                                                            \
    BINARY(shr, T, R, x >> (y & count))                                                            \
    BINARY(div, T, R, y == 0 || (x + x == 0 && x != 0 && y + 1 == 0) ? x : x / y)                  \
    BINARY(rem, T, R, y == 0 || (x + x == 0 && x != 0 && y + 1 == 0) ? x : x % y)                  \
    BINARY(lt, T, R, x < y)                                                                        \
    BINARY(le, T, R, x <= y)                                                                       \
    BINARY(gt, T, R, x > y)                                                                        \
    BINARY(ge, T, R, x >= y)                                                                       \
    BINARY(eq, T, R, x == y)                                                                       \
    BINARY(ne, T, R, x != y)                                                                       \
    BINARY(both, T, R, x &&y)                                                                      \
    BINARY(either, T, R, x || y)

//! run {add,sub,mul,and,or,xor,shl,shr,div,rem,lt,le,gt,ge,eq,ne,both,either}_{i8,u8,i16,u16,i32} grid=4 block=64 ($2[256]:edge, $2[256]:edge2, i32[256])
ALL_BINARY(i8, i32, 31)
ALL_BINARY(u8, i32, 31)
ALL_BINARY(i16, i32, 31)
ALL_BINARY(u16, i32, 31)
ALL_BINARY(i32, i32, 31)
//! run {add,sub,mul,and,or,xor,shl,shr,div,rem,lt,le,gt,ge,eq,ne,both,either}_{u32,i64,u64} grid=4 block=64 ($2[256]:edge, $2[256]:edge2, $2[256])
ALL_BINARY(u32, u32, 31)
ALL_BINARY(i64, i64, 63)
ALL_BINARY(u64, u64, 63)

#define UNARY(T, R)                                                                                \
    kernel void unary_##T(const T *a, R *out)                                                      \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i];                                                                                \
        out[4 * i] = -x;                                                                           \
        out[4 * i + 1] = ~x;                                                                       \
        out[4 * i + 2] = !x;                                                                       \
        out[4 * i + 3] = +x;                                                                       \
    }
//! run unary_{i8,u8,i16,u16,i32} block=16 ($1[16]:edge, i32[64])
UNARY(i8, i32)
UNARY(u8, i32)
UNARY(i16, i32)
UNARY(u16, i32)
UNARY(i32, i32)
//! run unary_{u32,i64,u64} block=16 ($1[16]:edge, $1[64])
UNARY(u32, u32)
UNARY(i64, i64)
UNARY(u64, u64)

#define STEP(T)                                                                                    \
    kernel void step_##T(T *a, T *out)                                                             \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i];                                                                                \
        out[5 * i] = x++;                                                                          \
        out[5 * i + 1] = ++x;                                                                      \
        out[5 * i + 2] = x--;                                                                      \
        out[5 * i + 3] = --x;                                                                      \
        a[i]++;                                                                                    \
        ++a[i];                                                                                    \
        out[5 * i + 4] = a[i]--;                                                                   \
    }
//! run step_{i8,u8,i16,u16,i32,u32,i64,u64} block=16 ($1[16]:edge, $1[80])
STEP(i8)
STEP(u8)
STEP(i16)
STEP(u16)
STEP(i32)
STEP(u32)
STEP(i64)
STEP(u64)

#define COMPOUND(T, count)                                                                         \
    kernel void compound_##T(const T *a, const T *b, T *out)                                       \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i], y = b[i], r[8];                                                                \
        for (int k = 0; k < 8; k++)                                                                \
            r[k] = x;                                                                              \
        r[0] += y;                                                                                 \
        r[1] -= y;                                                                                 \
        r[2] *= y;                                                                                 \
        r[3] &= y;                                                                                 \
        r[4] |= y;                                                                                 \
        r[5] ^= y;                                                                                 \
        r[6] <<= y & count;                                                                        \
        r[7] >>= y & count;                                                                        \
        for (int k = 0; k < 8; k++)                                                                \
            out[8 * i + (u32)k] = r[k];                                                            \
    }
//! run compound_{i8,u8,i16,u16,i32,u32,i64,u64} grid=4 block=64 ($1[256]:edge, $1[256]:edge2, $1[2048])
COMPOUND(i8, 7)
COMPOUND(u8, 7)
COMPOUND(i16, 15)
COMPOUND(u16, 15)
COMPOUND(i32, 31)
COMPOUND(u32, 31)
COMPOUND(i64, 63)
COMPOUND(u64, 63)

#define DIVIDE(T)                                                                                  \
    kernel void divide_##T(T *a, const T *b, T *out)                                               \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T y = b[i];                                                                                \
        if (y == 0)                                                                                \
            y = 3;                                                                                 \
        T q = a[i];                                                                                \
        if (y + 1 == 0)                                                                            \
            q = 5;                                                                                 \
        T r = q;                                                                                   \
        q /= y;                                                                                    \
        r %= y;                                                                                    \
        out[i] = q;                                                                                \
        a[i] = r;                                                                                  \
    }
//! run divide_{i8,u8,i16,u16,i32,u32,i64,u64} grid=4 block=64 ($1[256]:edge, $1[256]:edge2, $1[256])
DIVIDE(i8)
DIVIDE(u8)
DIVIDE(i16)
DIVIDE(u16)
DIVIDE(i32)
DIVIDE(u32)
DIVIDE(i64)
DIVIDE(u64)

#define BY_CONSTANTS(T)                                                                            \
    kernel void by_constants_##T(const T *a, T *out)                                               \
    {                                                                                              \
        u32 i = global_x(), o = 16 * i;                                                            \
        T x = a[i];                                                                                \
        out[o] = x / 2;                                                                            \
        out[o + 1] = x % 2;                                                                        \
        out[o + 2] = x / 3;                                                                        \
        out[o + 3] = x % 3;                                                                        \
        out[o + 4] = x / 7;                                                                        \
        out[o + 5] = x % 7;                                                                        \
        out[o + 6] = x / 10;                                                                       \
        out[o + 7] = x % 64;                                                                       \
        out[o + 8] = x / 64;                                                                       \
        out[o + 9] = x * 8;                                                                        \
        out[o + 10] = x * 7;                                                                       \
        out[o + 11] = x * 0;                                                                       \
        out[o + 12] = x / 1;                                                                       \
        out[o + 13] = x % 1;                                                                       \
        out[o + 14] = x / 1000000007;                                                              \
        out[o + 15] = x % 1000000007;                                                              \
    }
//! run by_constants_{i32,u32,i64,u64} grid=2 block=64 ($1[128]:bits, $1[2048])
BY_CONSTANTS(i32)
BY_CONSTANTS(u32)
BY_CONSTANTS(i64)
BY_CONSTANTS(u64)

//! run negative_divisors grid=2 block=64 (i32[128]:bits, i64[128]:bits, i32[512], i64[512])
kernel void negative_divisors(const i32 *a, const i64 *b, i32 *out, i64 *wide)
{
    u32 i = global_x();
    out[4 * i] = a[i] / -2;
    out[4 * i + 1] = a[i] % -2;
    out[4 * i + 2] = a[i] / -7;
    out[4 * i + 3] = a[i] % -7;
    wide[4 * i] = b[i] / -16;
    wide[4 * i + 1] = b[i] % -16;
    wide[4 * i + 2] = b[i] / -5;
    wide[4 * i + 3] = b[i] % -5;
}

// What C leaves open and Kiln fixes: the host spells Kiln's rule out.
#ifdef __KILN__
#    define DIV(T, x, y)        ((x) / (y))
#    define REM(T, x, y)        ((x) % (y))
#    define SHL(T, x, y, width) ((x) << (y))
#    define SHR(T, x, y, width) ((x) >> (y))
#else
#    define DIV(T, x, y)        ((y) == 0 ? 0 : (y) + 1 == 0 ? (T)(0 - (x)) : (x) / (y))
#    define REM(T, x, y)        ((y) == 0 ? (x) : (y) + 1 == 0 && (T)-1 < 0 ? 0 : (x) % (y))
#    define SHL(T, x, y, width) ((x) << ((y) & (width - 1)))
#    define SHR(T, x, y, width) ((x) >> ((y) & (width - 1)))
#endif
#define OPEN(T, width)                                                                             \
    kernel void open_##T(const T *a, const T *b, T *out)                                           \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = a[i], y = b[i];                                                                      \
        out[4 * i] = DIV(T, x, y);                                                                 \
        out[4 * i + 1] = REM(T, x, y);                                                             \
        out[4 * i + 2] = SHL(T, x, y, width);                                                      \
        out[4 * i + 3] = SHR(T, x, y, width);                                                      \
    }
//! run open_{i32,i64} grid=4 block=64 ($1[256]:edge, $1[256]:edge2, $1[1024])
OPEN(i32, 32)
OPEN(i64, 64)
#ifndef __KILN__
#    undef DIV
#    undef REM
#    define DIV(T, x, y) ((y) == 0 ? 0 : (x) / (y))
#    define REM(T, x, y) ((y) == 0 ? (x) : (x) % (y))
#endif
//! run open_{u32,u64} grid=4 block=64 ($1[256]:edge, $1[256]:edge2, $1[1024])
OPEN(u32, 32)
OPEN(u64, 64)

//! run mixed_signs grid=4 block=64 (i32[256]:edge, u32[256]:edge2, i64[256]:edge2, u8[256]:edge, u64[2048])
kernel void mixed_signs(const i32 *a, const u32 *b, const i64 *c, const u8 *d, u64 *out)
{
    u32 i = global_x();
    i32 x = a[i];
    u32 y = b[i];
    i64 z = c[i];
    u8 w = d[i];
    u64 *o = out + 8 * i;
    o[0] = x < y;
    o[1] = x + y;
    o[2] = (u64)(x + z);
    o[3] = x * (u64)y;
    o[4] = w - y;
    o[5] = (u64)(w - x);
    o[6] = (u64)((x >> 3) + (i32)(y >> 3));
    o[7] = (x < z) + (y < z) * 2u + (w > x) * 4u;
}

//! run shift_by_wide block=64 (i32[64]:bits, i64[64]:mod32, i32[64], i64[64])
kernel void shift_by_wide(const i32 *a, const i64 *count, i32 *out, i64 *wide)
{
    u32 i = thread_x();
    out[i] = a[i] << count[i] ^ a[i] >> count[i];
    wide[i] = (i64)a[i] << (i32)count[i] ^ count[i] >> (u8)2;
}
