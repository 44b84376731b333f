// cuda_half.h: CUDA's functions of half, half2, nv_bfloat16 and nv_bfloat162. cuda.h includes it.
#ifndef KILN_CUDA_HALF_H
#define KILN_CUDA_HALF_H

static inline f16x2 kiln_cuda_half2(f16 low, f16 high)
{
    return (f16x2){low, high};
}
static inline bf16x2 kiln_cuda_bfloat162(bf16 low, bf16 high)
{
    return (bf16x2){low, high};
}
static inline f32x2 kiln_cuda_half22float2(f16x2 h)
{
    return (f32x2){f32(h.x), f32(h.y)};
}
static inline f32x2 kiln_cuda_bfloat1622float2(bf16x2 h)
{
    return (f32x2){f32(h.x), f32(h.y)};
}
static inline f16x2 kiln_cuda_float22half2(f32x2 v)
{
    return to_f16x2(v.x, v.y);
}
static inline bf16x2 kiln_cuda_float22bfloat162(f32x2 v)
{
    return to_bf16x2(v.x, v.y);
}
static inline f16 kiln_cuda_hfma(f16 a, f16 b, f16 c)
{
    return fma2(kiln_cuda_half2(a, a), kiln_cuda_half2(b, b), kiln_cuda_half2(c, c)).x;
}
static inline bf16 kiln_cuda_bfma(bf16 a, bf16 b, bf16 c)
{
    return fma2(kiln_cuda_bfloat162(a, a), kiln_cuda_bfloat162(b, b), kiln_cuda_bfloat162(c, c)).x;
}
static inline f16x2 kiln_cuda_both_f16(f32 x)
{
    return to_f16x2(x, x);
}
static inline bf16x2 kiln_cuda_both_bf16(f32 x)
{
    return to_bf16x2(x, x);
}
// Atomic sums, which give the old value: the word they are in is exchanged until nobody was faster.
// A number alone has another beside it, so that its buffer must end with a whole word.
#define KILN_CUDA_ATOMIC(T)                                                                        \
    static inline T kiln_cuda_add_##T(void *p, T value)                                            \
    {                                                                                              \
        u16 *half = (u16 *)p;                                                                      \
        u32 is_odd = (u32)((u64)half >> 1) & 1, by = 16 * is_odd;                                  \
        u32 *word = (u32 *)(half - is_odd), seen = atomic_load(word), old;                         \
        do {                                                                                       \
            old = seen;                                                                            \
            T sum = to_##T(f32(T##_from_bits((u16)(old >> by))) + f32(value));                     \
            u32 others = old & ~(0xffffu << by), bits = bits_##T(sum);                             \
            seen = atomic_cas(word, old, others | bits << by);                                     \
        } while (seen != old);                                                                     \
        return T##_from_bits((u16)(old >> by));                                                    \
    }                                                                                              \
    static inline T##x2 kiln_cuda_add_##T##x2(void *p, T##x2 value)                                \
    {                                                                                              \
        u32 *word = (u32 *)p, seen = atomic_load(word), old;                                       \
        T##x2 was, sum;                                                                            \
        do {                                                                                       \
            old = seen;                                                                            \
            was = (T##x2){T##_from_bits((u16)old), T##_from_bits((u16)(old >> 16))};               \
            sum = add2(was, value);                                                                \
            u32 low = bits_##T(sum.x), high = bits_##T(sum.y);                                     \
            seen = atomic_cas(word, old, low | high << 16);                                        \
        } while (seen != old);                                                                     \
        return was;                                                                                \
    }
KILN_CUDA_ATOMIC(f16)
KILN_CUDA_ATOMIC(bf16)
// Different, and neither is a NaN.
static inline bool kiln_cuda_apart(f32 a, f32 b)
{
    return a < b || a > b;
}
// __hadd: of narrow floats a sum, of integers the mean.
static inline f16 kiln_cuda_hadd_f16(f16 a, f16 b)
{
    return to_f16(f32(a) + f32(b));
}
static inline bf16 kiln_cuda_hadd_bf16(bf16 a, bf16 b)
{
    return to_bf16(f32(a) + f32(b));
}
static inline i32 kiln_cuda_mean(i32 a, i32 b)
{
    return (a & b) + ((a ^ b) >> 1);
}
#define __hadd(a, b)                                                                               \
    _Generic((a), bf16                                                                             \
             : kiln_cuda_hadd_bf16, i32                                                            \
             : kiln_cuda_mean, default                                                             \
             : kiln_cuda_hadd_f16)(a, b)
// Two numbers at once.
#define KILN_CUDA_PAIR(name, step)                                                                 \
    static inline f16x2 kiln_cuda_##name##_f16(f16x2 h)                                            \
    {                                                                                              \
        f32 a = f32(h.x), b = f32(h.y);                                                            \
        return to_f16x2(step(a), step(b));                                                         \
    }                                                                                              \
    static inline bf16x2 kiln_cuda_##name##_bf16(bf16x2 h)                                         \
    {                                                                                              \
        f32 a = f32(h.x), b = f32(h.y);                                                            \
        return to_bf16x2(step(a), step(b));                                                        \
    }
KILN_CUDA_PAIR(neg, -)
KILN_CUDA_PAIR(abs, fabsf)
KILN_CUDA_PAIR(exp, expf)
KILN_CUDA_PAIR(exp2, exp2f)
KILN_CUDA_PAIR(log, logf)
KILN_CUDA_PAIR(log2, log2f)
KILN_CUDA_PAIR(sqrt, sqrtf)
KILN_CUDA_PAIR(rsqrt, rsqrtf)
KILN_CUDA_PAIR(rcp, 1.0f /)
KILN_CUDA_PAIR(sin, sinf)
KILN_CUDA_PAIR(cos, cosf)
KILN_CUDA_PAIR(floor, floorf)
KILN_CUDA_PAIR(ceil, ceilf)
KILN_CUDA_PAIR(trunc, truncf)
KILN_CUDA_PAIR(rint, rintf)
#define KILN_CUDA_PAIRS(name, h)                                                                   \
    _Generic((h), bf16x2 : kiln_cuda_##name##_bf16, default : kiln_cuda_##name##_f16)(h)
// The same of two pairs: a number, or 1 and 0.
#define KILN_CUDA_PAIR_OF(name, step)                                                              \
    static inline f16x2 kiln_cuda_##name##_f16(f16x2 a, f16x2 b)                                   \
    {                                                                                              \
        return to_f16x2((f32)(f32(a.x) step f32(b.x)), (f32)(f32(a.y) step f32(b.y)));             \
    }                                                                                              \
    static inline bf16x2 kiln_cuda_##name##_bf16(bf16x2 a, bf16x2 b)                               \
    {                                                                                              \
        return to_bf16x2((f32)(f32(a.x) step f32(b.x)), (f32)(f32(a.y) step f32(b.y)));            \
    }
KILN_CUDA_PAIR_OF(div, /)
KILN_CUDA_PAIR_OF(lt, <)
KILN_CUDA_PAIR_OF(le, <=)
KILN_CUDA_PAIR_OF(gt, >)
KILN_CUDA_PAIR_OF(ge, >=)
KILN_CUDA_PAIR_OF(eq, ==)
#define KILN_CUDA_PAIRS_OF(name, a, b)                                                             \
    _Generic((a), bf16x2 : kiln_cuda_##name##_bf16, default : kiln_cuda_##name##_f16)(a, b)
static inline bool kiln_cuda_both_set_f16(f16x2 h)
{
    return f32(h.x) != 0 && f32(h.y) != 0;
}
static inline bool kiln_cuda_both_set_bf16(bf16x2 h)
{
    return f32(h.x) != 0 && f32(h.y) != 0;
}
#define __float2half(x)             to_f16(x)
#define __float2half_rn(x)          to_f16(x)
#define __half2float(x)             f32(x)
#define __floats2half2_rn(a, b)     to_f16x2(a, b)
#define __float22half2_rn(v)        kiln_cuda_float22half2(v)
#define __half22float2(h)           kiln_cuda_half22float2(h)
#define __float2bfloat16(x)         to_bf16(x)
#define __float2bfloat16_rn(x)      to_bf16(x)
#define __bfloat162float(x)         f32(x)
#define __floats2bfloat162_rn(a, b) to_bf16x2(a, b)
#define __float22bfloat162_rn(v)    kiln_cuda_float22bfloat162(v)
#define __bfloat1622float2(h)       kiln_cuda_bfloat1622float2(h)
#define __half2half2(x)             kiln_cuda_both_f16(f32(x))
#define __float2half2_rn(x)         kiln_cuda_both_f16(x)
#define __bfloat162bfloat162(x)     kiln_cuda_both_bf16(f32(x))
#define __float2bfloat162_rn(x)     kiln_cuda_both_bf16(x)
#define __halves2half2(a, b)        kiln_cuda_half2(a, b)
#define make_half2(a, b)            kiln_cuda_half2(a, b)
#define __halves2bfloat162(a, b)    kiln_cuda_bfloat162(a, b)
#define make_bfloat162(a, b)        kiln_cuda_bfloat162(a, b)
#define __low2float(h)              f32((h).x)
#define __high2float(h)             f32((h).y)
#define __low2half(h)               ((h).x)
#define __high2half(h)              ((h).y)
#define __low2bfloat16(h)           ((h).x)
#define __high2bfloat16(h)          ((h).y)
#define __lows2half2(a, b)          kiln_cuda_half2((a).x, (b).x)
#define __highs2half2(a, b)         kiln_cuda_half2((a).y, (b).y)
#define __low2half2(h)              kiln_cuda_both_f16(f32((h).x))
#define __high2half2(h)             kiln_cuda_both_f16(f32((h).y))
#define __double2half(x)            to_f16((f64)(x))
#define __double2bfloat16(x)        to_bf16((f64)(x))
#define __int2half_rn(x)            to_f16((f32)(i32)(x))
#define __uint2half_rn(x)           to_f16((f32)(u32)(x))
#define __half2int_rn(x)            ((i32)rintf(f32(x)))
#define __half2int_rz(x)            ((i32)truncf(f32(x)))
#define __half2uint_rn(x)           ((u32)rintf(f32(x)))
#define __half2uint_rz(x)           ((u32)truncf(f32(x)))
#define __half_as_ushort(x)         bits_f16(x)
#define __ushort_as_half(x)         f16_from_bits((u16)(x))
#define __bfloat16_as_ushort(x)     bits_bf16(x)
#define __ushort_as_bfloat16(x)     bf16_from_bits((u16)(x))
// These take f16 and bf16. One rounding each: an f32 has more than twice the digits of both.
#define KILN_CUDA_NARROW(like, x)   _Generic((like), bf16 : to_bf16, default : to_f16)(x)
#define __hsub(a, b)                KILN_CUDA_NARROW(a, f32(a) - f32(b))
#define __hmul(a, b)                KILN_CUDA_NARROW(a, f32(a) * f32(b))
#define __hdiv(a, b)                KILN_CUDA_NARROW(a, f32(a) / f32(b))
#define __hfma(a, b, c)             _Generic((a), bf16 : kiln_cuda_bfma, default : kiln_cuda_hfma)(a, b, c)
#define __hneg(a)                   KILN_CUDA_NARROW(a, -f32(a))
#define __habs(a)                   KILN_CUDA_NARROW(a, fabsf(f32(a)))
#define __hmin(a, b)                KILN_CUDA_NARROW(a, fminf(f32(a), f32(b)))
#define __hmax(a, b)                KILN_CUDA_NARROW(a, fmaxf(f32(a), f32(b)))
#define hexp(x)                     KILN_CUDA_NARROW(x, expf(f32(x)))
#define hexp2(x)                    KILN_CUDA_NARROW(x, exp2f(f32(x)))
#define hlog(x)                     KILN_CUDA_NARROW(x, logf(f32(x)))
#define hlog2(x)                    KILN_CUDA_NARROW(x, log2f(f32(x)))
#define hsqrt(x)                    KILN_CUDA_NARROW(x, sqrtf(f32(x)))
#define hrsqrt(x)                   KILN_CUDA_NARROW(x, rsqrtf(f32(x)))
#define hrcp(x)                     KILN_CUDA_NARROW(x, 1.0f / f32(x))
#define hsin(x)                     KILN_CUDA_NARROW(x, sinf(f32(x)))
#define hcos(x)                     KILN_CUDA_NARROW(x, cosf(f32(x)))
#define hfloor(x)                   KILN_CUDA_NARROW(x, floorf(f32(x)))
#define hceil(x)                    KILN_CUDA_NARROW(x, ceilf(f32(x)))
#define htrunc(x)                   KILN_CUDA_NARROW(x, truncf(f32(x)))
#define hrint(x)                    KILN_CUDA_NARROW(x, rintf(f32(x)))
#define __hlt(a, b)                 (f32(a) < f32(b))
#define __hle(a, b)                 (f32(a) <= f32(b))
#define __hgt(a, b)                 (f32(a) > f32(b))
#define __hge(a, b)                 (f32(a) >= f32(b))
#define __heq(a, b)                 (f32(a) == f32(b))
#define __hne(a, b)                 kiln_cuda_apart(f32(a), f32(b))
#define __hltu(a, b)                (!(f32(a) >= f32(b)))
#define __hleu(a, b)                (!(f32(a) > f32(b)))
#define __hgtu(a, b)                (!(f32(a) <= f32(b)))
#define __hgeu(a, b)                (!(f32(a) < f32(b)))
#define __hequ(a, b)                (!kiln_cuda_apart(f32(a), f32(b)))
#define __hneu(a, b)                (f32(a) != f32(b))
#define __hisnan(a)                 isnan(f32(a))
#define __hmin2(a, b)               min2(a, b)
#define __hmax2(a, b)               max2(a, b)
#define __hadd2(a, b)               add2(a, b)
#define __hsub2(a, b)               sub2(a, b)
#define __hmul2(a, b)               mul2(a, b)
#define __hfma2(a, b, c)            fma2(a, b, c)
#define __h2div(a, b)               KILN_CUDA_PAIRS_OF(div, a, b)
#define __hlt2(a, b)                KILN_CUDA_PAIRS_OF(lt, a, b)
#define __hle2(a, b)                KILN_CUDA_PAIRS_OF(le, a, b)
#define __hgt2(a, b)                KILN_CUDA_PAIRS_OF(gt, a, b)
#define __hge2(a, b)                KILN_CUDA_PAIRS_OF(ge, a, b)
#define __heq2(a, b)                KILN_CUDA_PAIRS_OF(eq, a, b)
#define KILN_CUDA_BOTH(a, pair)                                                                    \
    _Generic((a), bf16x2 : kiln_cuda_both_set_bf16, default : kiln_cuda_both_set_f16)(pair)
#define __hblt2(a, b) KILN_CUDA_BOTH(a, __hlt2(a, b))
#define __hble2(a, b) KILN_CUDA_BOTH(a, __hle2(a, b))
#define __hbgt2(a, b) KILN_CUDA_BOTH(a, __hgt2(a, b))
#define __hbge2(a, b) KILN_CUDA_BOTH(a, __hge2(a, b))
#define __hbeq2(a, b) KILN_CUDA_BOTH(a, __heq2(a, b))
#define __hneg2(h)    KILN_CUDA_PAIRS(neg, h)
#define __habs2(h)    KILN_CUDA_PAIRS(abs, h)
#define h2exp(h)      KILN_CUDA_PAIRS(exp, h)
#define h2exp2(h)     KILN_CUDA_PAIRS(exp2, h)
#define h2log(h)      KILN_CUDA_PAIRS(log, h)
#define h2log2(h)     KILN_CUDA_PAIRS(log2, h)
#define h2sqrt(h)     KILN_CUDA_PAIRS(sqrt, h)
#define h2rsqrt(h)    KILN_CUDA_PAIRS(rsqrt, h)
#define h2rcp(h)      KILN_CUDA_PAIRS(rcp, h)
#define h2sin(h)      KILN_CUDA_PAIRS(sin, h)
#define h2cos(h)      KILN_CUDA_PAIRS(cos, h)
#define h2floor(h)    KILN_CUDA_PAIRS(floor, h)
#define h2ceil(h)     KILN_CUDA_PAIRS(ceil, h)
#define h2trunc(h)    KILN_CUDA_PAIRS(trunc, h)
#define h2rint(h)     KILN_CUDA_PAIRS(rint, h)

#endif
