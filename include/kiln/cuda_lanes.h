// cuda_lanes.h: CUDA's functions of two numbers of 16 bits, or four of 8, in a word, and those for
// dynamic programming. cuda.h includes it.
#ifndef KILN_CUDA_LANES_H
#define KILN_CUDA_LANES_H

static inline i32 kiln_cuda_within(i32 x, i32 least, i32 most)
{
    return x < least ? least : x > most ? most : x;
}
#define KILN_CUDA_LANES(name, type, bits, step)                                                    \
    static inline u32 name(u32 x, u32 y)                                                           \
    {                                                                                              \
        const i32 half = 1 << (bits - 1);                                                          \
        u32 all = 0;                                                                               \
        for (u32 at = 0; at < 32; at += bits) {                                                    \
            i32 a = (type)(x >> at), b = (type)(y >> at);                                          \
            all |= ((u32)(step) & (u32)(2 * half - 1)) << at;                                      \
        }                                                                                          \
        return all;                                                                                \
    }
#define KILN_CUDA_SIMD(name, sign, step)                                                           \
    KILN_CUDA_LANES(name##2, sign##16, 16, step)                                                   \
    KILN_CUDA_LANES(name##4, sign##8, 8, step)
#define KILN_CUDA_COMPARE(name, sign, step)                                                        \
    KILN_CUDA_SIMD(__vcmp##name, sign, -(i32)(step))                                               \
    KILN_CUDA_SIMD(__vset##name, sign, (step))
KILN_CUDA_SIMD(__vadd, i, a + b)
KILN_CUDA_SIMD(__vsub, i, a - b)
KILN_CUDA_SIMD(__vaddss, i, kiln_cuda_within(a + b, -half, half - 1))
KILN_CUDA_SIMD(__vsubss, i, kiln_cuda_within(a - b, -half, half - 1))
KILN_CUDA_SIMD(__vaddus, u, kiln_cuda_within(a + b, 0, 2 * half - 1))
KILN_CUDA_SIMD(__vsubus, u, kiln_cuda_within(a - b, 0, 2 * half - 1))
KILN_CUDA_SIMD(__vavgs, i, (a + b + (a + b >= 0)) >> 1) // halves go away from 0
KILN_CUDA_SIMD(__vavgu, u, (a + b + 1) >> 1)
KILN_CUDA_SIMD(__vhaddu, u, (a + b) >> 1)
KILN_CUDA_SIMD(__vabsdiffs, i, a < b ? b - a : a - b)
KILN_CUDA_SIMD(__vabsdiffu, u, a < b ? b - a : a - b)
KILN_CUDA_SIMD(__vmaxs, i, a > b ? a : b)
KILN_CUDA_SIMD(__vmaxu, u, a > b ? a : b)
KILN_CUDA_SIMD(__vmins, i, a < b ? a : b)
KILN_CUDA_SIMD(__vminu, u, a < b ? a : b)
KILN_CUDA_COMPARE(eq, u, a == b)
KILN_CUDA_COMPARE(ne, u, a != b)
KILN_CUDA_COMPARE(ges, i, a >= b)
KILN_CUDA_COMPARE(geu, u, a >= b)
KILN_CUDA_COMPARE(gts, i, a > b)
KILN_CUDA_COMPARE(gtu, u, a > b)
KILN_CUDA_COMPARE(les, i, a <= b)
KILN_CUDA_COMPARE(leu, u, a <= b)
KILN_CUDA_COMPARE(lts, i, a < b)
KILN_CUDA_COMPARE(ltu, u, a < b)
KILN_CUDA_SIMD(kiln_cuda_away, i, b < 0 ? a - b : a + b)
KILN_CUDA_SIMD(kiln_cuda_away_most, i, kiln_cuda_within(b < 0 ? a - b : a + b, 0, half - 1))
static inline u32 kiln_cuda_sum2(u32 x)
{
    return (x & 0xffffu) + (x >> 16);
}
static inline u32 kiln_cuda_sum4(u32 x)
{
    return (x & 0xffu) + (x >> 8 & 0xffu) + (x >> 16 & 0xffu) + (x >> 24);
}
#define __vneg2(a)     __vsub2(0, a)
#define __vneg4(a)     __vsub4(0, a)
#define __vnegss2(a)   __vsubss2(0, a)
#define __vnegss4(a)   __vsubss4(0, a)
#define __vabs2(a)     kiln_cuda_away2(0, a)
#define __vabs4(a)     kiln_cuda_away4(0, a)
#define __vabsss2(a)   kiln_cuda_away_most2(0, a)
#define __vabsss4(a)   kiln_cuda_away_most4(0, a)
#define __vsads2(a, b) kiln_cuda_sum2(__vabsdiffs2(a, b))
#define __vsads4(a, b) kiln_cuda_sum4(__vabsdiffs4(a, b))
#define __vsadu2(a, b) kiln_cuda_sum2(__vabsdiffu2(a, b))
#define __vsadu4(a, b) kiln_cuda_sum4(__vabsdiffu4(a, b))

// Instructions for dynamic programming. A sum wraps before it is compared.
#define KILN_CUDA_MOST(name, order, type, kind)                                                    \
    static inline type __vi##name##3_##kind(type a, type b, type c)                                \
    {                                                                                              \
        type most = a order b ? a : b;                                                             \
        return most order c ? most : c;                                                            \
    }                                                                                              \
    static inline type __viadd##name##_##kind(type a, type b, type c)                              \
    {                                                                                              \
        type sum = (type)((u32)a + (u32)b);                                                        \
        return sum order c ? sum : c;                                                              \
    }
KILN_CUDA_MOST(max, >, i32, s32)
KILN_CUDA_MOST(min, <, i32, s32)
KILN_CUDA_MOST(max, >, u32, u32)
KILN_CUDA_MOST(min, <, u32, u32)
#define __vimax_s32_relu(a, b)         __vimax3_s32(a, b, 0)
#define __vimin_s32_relu(a, b)         __viaddmax_s32(__vimin3_s32(a, b, 0x7fffffff), 0, 0)
#define __vimax3_s32_relu(a, b, c)     __viaddmax_s32(__vimax3_s32(a, b, c), 0, 0)
#define __vimin3_s32_relu(a, b, c)     __viaddmax_s32(__vimin3_s32(a, b, c), 0, 0)
#define __viaddmax_s32_relu(a, b, c)   __viaddmax_s32(__viaddmax_s32(a, b, c), 0, 0)
#define __viaddmin_s32_relu(a, b, c)   __viaddmax_s32(__viaddmin_s32(a, b, c), 0, 0)
#define __vimax_s16x2_relu(a, b)       __vmaxs2(__vmaxs2(a, b), 0)
#define __vimin_s16x2_relu(a, b)       __vmaxs2(__vmins2(a, b), 0)
#define __vimax3_s16x2(a, b, c)        __vmaxs2(__vmaxs2(a, b), c)
#define __vimin3_s16x2(a, b, c)        __vmins2(__vmins2(a, b), c)
#define __vimax3_u16x2(a, b, c)        __vmaxu2(__vmaxu2(a, b), c)
#define __vimin3_u16x2(a, b, c)        __vminu2(__vminu2(a, b), c)
#define __vimax3_s16x2_relu(a, b, c)   __vmaxs2(__vimax3_s16x2(a, b, c), 0)
#define __vimin3_s16x2_relu(a, b, c)   __vmaxs2(__vimin3_s16x2(a, b, c), 0)
#define __viaddmax_s16x2(a, b, c)      __vmaxs2(__vadd2(a, b), c)
#define __viaddmin_s16x2(a, b, c)      __vmins2(__vadd2(a, b), c)
#define __viaddmax_u16x2(a, b, c)      __vmaxu2(__vadd2(a, b), c)
#define __viaddmin_u16x2(a, b, c)      __vminu2(__vadd2(a, b), c)
#define __viaddmax_s16x2_relu(a, b, c) __vmaxs2(__viaddmax_s16x2(a, b, c), 0)
#define __viaddmin_s16x2_relu(a, b, c) __vmaxs2(__viaddmin_s16x2(a, b, c), 0)
// The larger or smaller of two, and whether it is the first: in halves of a word for each.
#define KILN_CUDA_WHICH(name, order, type, kind)                                                   \
    static inline type __vib##name##_##kind(type a, type b, bool *is_first)                        \
    {                                                                                              \
        *is_first = a order b;                                                                     \
        return a order b ? a : b;                                                                  \
    }
#define KILN_CUDA_WHICH2(name, order, type, kind)                                                  \
    static inline u32 __vib##name##_##kind##x2(u32 a, u32 b, bool *is_high, bool *is_low)          \
    {                                                                                              \
        type high = (type)(a >> 16), low = (type)a, of_high = (type)(b >> 16), of_low = (type)b;   \
        *is_high = high order of_high;                                                             \
        *is_low = low order of_low;                                                                \
        return ((*is_high ? a : b) & 0xffff0000u) | ((*is_low ? a : b) & 0xffffu);                 \
    }
KILN_CUDA_WHICH(max, >=, i32, s32)
KILN_CUDA_WHICH(min, <=, i32, s32)
KILN_CUDA_WHICH(max, >=, u32, u32)
KILN_CUDA_WHICH(min, <=, u32, u32)
KILN_CUDA_WHICH2(max, >=, i16, s16)
KILN_CUDA_WHICH2(min, <=, i16, s16)
KILN_CUDA_WHICH2(max, >=, u16, u16)
KILN_CUDA_WHICH2(min, <=, u16, u16)

#endif
