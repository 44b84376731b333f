// Every integer operator with a constant on one side, for constants that rules know: 0, 1, -1,
// powers of two, the ends of the range. What a rule says must be what the operator does.
#include <kiln/kernel.h>
#pragma kiln shifts(wrap)
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtautological-compare"

#define BITS(T)    (8 * sizeof(T) - 1)
#define SAFE(T, b) ((b) == 0 || (b) == (T)-1 ? 1 : (b)) // MIN / -1 is for op_int.c
#define ONE(T, name, C)                                                                            \
    kernel void left_##name(const T *in, T *out)                                                   \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = in[i], *o = out + 18u * i;                                                           \
        o[0] = C + x;                                                                              \
        o[1] = C - x;                                                                              \
        o[2] = C * x;                                                                              \
        o[3] = C & x;                                                                              \
        o[4] = C | x;                                                                              \
        o[5] = C ^ x;                                                                              \
        o[6] = C << (x & BITS(T));                                                                 \
        o[7] = C >> (x & BITS(T));                                                                 \
        o[8] = C / SAFE(T, x);                                                                     \
        o[9] = C % SAFE(T, x);                                                                     \
        o[10] = C < x;                                                                             \
        o[11] = C <= x;                                                                            \
        o[12] = C > x;                                                                             \
        o[13] = C >= x;                                                                            \
        o[14] = C == x;                                                                            \
        o[15] = min(C, x);                                                                         \
        o[16] = max(C, x);                                                                         \
        o[17] = C > x ? C - x : x - C;                                                             \
    }                                                                                              \
    kernel void right_##name(const T *in, T *out)                                                  \
    {                                                                                              \
        u32 i = global_x();                                                                        \
        T x = in[i], *o = out + 18u * i;                                                           \
        o[0] = x + C;                                                                              \
        o[1] = x - C;                                                                              \
        o[2] = x * C;                                                                              \
        o[3] = x & C;                                                                              \
        o[4] = x | C;                                                                              \
        o[5] = x ^ C;                                                                              \
        o[6] = x << (C & BITS(T));                                                                 \
        o[7] = x >> (C & BITS(T));                                                                 \
        o[8] = x / SAFE(T, C);                                                                     \
        o[9] = x % SAFE(T, C);                                                                     \
        o[10] = x < C;                                                                             \
        o[11] = x <= C;                                                                            \
        o[12] = x > C;                                                                             \
        o[13] = x >= C;                                                                            \
        o[14] = x != C;                                                                            \
        o[15] = min(x, C);                                                                         \
        o[16] = max(x, C);                                                                         \
        o[17] = (x + C - C) * C / (C | 1);                                                         \
    }
#define SIGNED(T, LOW, HIGH)                                                                       \
    ONE(T, zero_##T, (T)0)                                                                         \
    ONE(T, one_##T, (T)1)                                                                          \
    ONE(T, ones_##T, (T)-1)                                                                        \
    ONE(T, eight_##T, (T)8)                                                                        \
    ONE(T, odd_##T, (T)1000)                                                                       \
    ONE(T, less_##T, (T)-12)                                                                       \
    ONE(T, low_##T, LOW)                                                                           \
    ONE(T, high_##T, HIGH)
#define UNSIGNED(T, HALF)                                                                          \
    ONE(T, zero_##T, (T)0)                                                                         \
    ONE(T, one_##T, (T)1)                                                                          \
    ONE(T, ones_##T, (T)-1)                                                                        \
    ONE(T, eight_##T, (T)8)                                                                        \
    ONE(T, odd_##T, (T)1000)                                                                       \
    ONE(T, half_##T, HALF)

//! run {left,right}_{zero,one,ones,eight}_{i32,i64} block=16 ($3[16]:edge, $3[288])
//! run {left,right}_{odd,less,low,high}_{i32,i64} block=16 ($3[16]:edge, $3[288])
SIGNED(i32, (-2147483647 - 1), 2147483647)
SIGNED(i64, (-9223372036854775807l - 1), 9223372036854775807l)
//! run {left,right}_{zero,one,ones,eight,odd,half}_{u32,u64} block=16 ($3[16]:edge, $3[288])
UNSIGNED(u32, 2147483648u)
UNSIGNED(u64, 9223372036854775808ul)

// What the compiler works out itself: every operator, on integers and on floating numbers.
static const f64 reals[] = {1.5 - 0.25,     1.0 / 3.0,        7.0 * 0.5,           -2.5 + 1.0,          (f64)(f32)16777217, (f64)(f32)16777217u,
                            (f64)(i64)-3,   (f64)(f32)-5,     (f64)0xffffffffffff, (f64)(0.1f + 0.2f),  (f64)(1.0f / 3.0f), (f64)(f32)0.1,
                            1 ? 2.5 : 3.5,  0 ? 2.5 : 3.5,    (f64)(1.0f - 3.0f),  (f64)(3.0f * 0.1f)};
static const i32 truths[] = {1.5 < 2.0,  1.5 >= 2.0, 2.0 <= 2.0, 2.0 > 1.0, 1.0 == 1.0, 1.0 != 1.0, 2.0f < 1.0f, 3.0f >= 3.0f, !0.0,     !2.5,
                             3 <= 3,     4 <= 3,     3 < 3,      -1 < 1,    5 > 5,      6 >= 6,     1u <= 2u,    0xffffffffu < 1u, 5 && 0, 0 || 3,
                             1.5 && 2.0, 0.0 || 0.0, 3 == 3,     3 != 3,    !5,         !0};
static const i32 wholes[] = {~5,      6 ^ 3,   6 | 9,      12 & 10,   -7 / 2,       -7 % 3,        7 % -4,    (i32)3.99,       (i32)-3.99,    (i32)(u8)300, (i32)(i8)200,
                             1 << 5,  -16 >> 2, (i32)(0x80000000u >> 31), 5 - 9, 6 * -7, +4, -(-4), (i32)(~0u >> 4), (i32)(u16)~1u, 1 ? 2 : 3, (i32)sizeof(reals[0])};
static const u64 wides[] = {~0ul, 1ul << 63, 0x123456789abcdef0ul ^ 0xfful, 0xfffffffffffffffful / 10, 0xfffffffffffffffful % 10, (u64)(i64)-1, (u64)1e15, 5ul - 9ul};

//! run worked_out grid=1 block=32 (f64[32], i32[64], u64[32])
kernel block(32) void worked_out(f64 *a, i32 *b, u64 *c)
{
    u32 t = thread_x();
    a[t] = reals[t % (sizeof reals / sizeof reals[0])];
    b[t] = truths[t % (sizeof truths / sizeof truths[0])];
    b[t + 32] = wholes[t % (sizeof wholes / sizeof wholes[0])];
    c[t] = wides[t % (sizeof wides / sizeof wides[0])];
}
