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
