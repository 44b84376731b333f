// The text in front of every kernel's OpenCL C: what each operation means, on one thread's values. It is embedded in the library and
// compiled with the kernel by the device's own compiler. The names are those of the cpu device's text (back/cpu/lanes.h), whose scalar
// printer is shared. Defined before it by the printer: KILN_PTX (NVIDIA's compiler: inline PTX), KILN_EXACT (division and square root of
// f32 are correctly rounded) and KILN_LOOPS (PoCL).
//
// Pointers are 64-bit numbers: to global memory the address, to the block's shared memory, a thread's own frame and constant data the byte
// offset in `shared`, `frame` and `data`. A generic pointer to one of these three has the top bit, the next, or the one after set.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL FP_CONTRACT OFF

typedef uint uint32_t;
typedef ulong uint64_t;
typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
// Memory is seen as cells of 1, 2, 4 or 8 bytes, whatever was stored there before.
typedef uchar __attribute__((may_alias)) m1;
typedef ushort __attribute__((may_alias)) m2;
typedef uint __attribute__((may_alias)) m4;
typedef ulong __attribute__((may_alias)) m8;

#define IN static inline __attribute__((always_inline))
#define bits_f32(x) as_uint(x)
#define f32_bits(x) as_float((uint)(x))
#define bits_f64(x) as_ulong(x)
#define f64_bits(x) as_double((ulong)(x))
#define IS_PRIVATE(a) ((a) >> 63)
#define IS_SHARED(a) ((a) >> 62 & 1)
#define IS_DATA(a) ((a) >> 61 & 1)
#define OFFSET(a) ((a) & 0x1ffffffffffffffful)

// --- integers
#define SCALARS(X) X(u32, uint, int, 32) X(u64, ulong, long, 64)
// What NVIDIA's assembler folds wrongly when it is written the obvious way (docs/assembler.md; ctext/safe.c asks for it): instructions
// that its compiler does not look into. A copy made by lop3 may be an operand, but must not be compared: the assembler dies of it.
#ifdef KILN_PTX
IN uint hide_u32(uint x) { uint y; asm("lop3.b32 %0, %1, 0, 0, 0xF0;" : "=r"(y) : "r"(x)); return y; }
IN uint not_u32(uint x, uint all) { uint y; asm("sub.s32 %0, %1, %2;" : "=r"(y) : "r"(all), "r"(x)); return y; }
IN uint neg_u32(uint x) { uint y; asm("neg.s32 %0, %1;" : "=r"(y) : "r"(x)); return y; }
IN uint extend_byte(uint x) { uint y; asm("cvt.s32.s8 %0, %1;" : "=r"(y) : "r"(x)); return y; }
IN uint shl_wrap_u32(uint x, uint n) { uint y; asm("shf.l.wrap.b32 %0, 0, %1, %2;" : "=r"(y) : "r"(x), "r"(n)); return y; }
IN uint xor_known_u32(uint a, uint b)
{
    uint y;
    asm("{ .reg .b32 any, both; or.b32 any, %1, %2; and.b32 both, %1, %2; sub.s32 %0, any, both; }" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
IN uint pick_u32(uint c, uint a, uint b)
{
    uint y;
    asm("{ .reg .pred yes; setp.ne.u32 yes, %1, 0; selp.b32 %0, %2, %3, yes; }" : "=r"(y) : "r"(c), "r"(a), "r"(b));
    return y;
}
#define EXTREME(op, ptx) \
    IN uint op##_u32(uint a, uint b) { uint y; \
        asm("{ .reg .b32 a, b; lop3.b32 a, %1, 0, 0, 0xF0; lop3.b32 b, %2, 0, 0, 0xF0; " ptx " %0, a, b; }" : "=r"(y) : "r"(a), "r"(b)); return y; } \
    IN uint op##_const_u32(uint a, uint b) { uint y; \
        asm("{ .reg .b32 a; lop3.b32 a, %1, 0, 0, 0xF0; " ptx " %0, a, %2; }" : "=r"(y) : "r"(a), "r"(b)); return y; }
EXTREME(smin, "min.s32") EXTREME(smax, "max.s32")
#define ROTATED(name, op) IN ulong name##_rotated_u64(ulong a, ulong b) { return a op ((b & 0xffffffff00000000ul) | hide_u32((uint)b)); }
ROTATED(add, +) ROTATED(sub, -)
// volatile: not in a choice that the compiler makes of a branch
IN float minus_zero(void) { float y; asm volatile("mov.f32 %0, 0f80000000;" : "=f"(y)); return y; }
#define MINUS_ZERO minus_zero()
IN float negated_f32(float x) { uint y; asm("xor.b32 %0, %1, -2147483648;" : "=r"(y) : "r"(bits_f32(x))); return f32_bits(y); }
// Taken for saturation otherwise; of two zeros +0.0 is the larger.
#define ABOVE(name, less, zero, zero64) \
    IN float name(float x) \
    { \
        uint y; \
        asm("{ .reg .pred below; setp." less ".f32 below, %1, 0f80000000; selp.b32 %0, " zero ", %2, below; }" : "=r"(y) : "f"(x), "r"(bits_f32(x))); \
        return f32_bits(y); \
    } \
    IN double name##_f64(double x) \
    { \
        ulong y; \
        asm("{ .reg .pred below; setp." less ".f64 below, %1, 0d8000000000000000; selp.b64 %0, %2, %3, below; }" : "=l"(y) : "d"(x), "l"(zero64), "l"(bits_f64(x))); \
        return f64_bits(y); \
    }
ABOVE(above_minus_zero, "ltu", "-2147483648", 1ul << 63) ABOVE(above_zero, "leu", "0", 0ul)
#define ORDERED(op, ptx) IN uint op##_ordered(float a, float b) { uint y; \
    asm("{ .reg .pred no; " ptx " no, %1, %2; selp.b32 %0, 0, 1, no; }" : "=r"(y) : "f"(a), "f"(b)); return y; }
ORDERED(flt, "setp.geu.f32") ORDERED(fle, "setp.gtu.f32")
#else
#define hide_u32(x) (x)
#define not_u32(x, all) ((uint)(all) - (x))
#define neg_u32(x) (0u - (x))
#define extend_byte(x) ((uint)(int)(char)(x))
#define shl_wrap_u32(x, n) shl_u32(x, n)
#define xor_known_u32(a, b) xor_u32(a, b)
#define pick_u32(c, a, b) ((c) ? (a) : (b))
IN uint smin_u32(uint a, uint b) { return (int)a < (int)b ? a : b; }
IN uint smax_u32(uint a, uint b) { return (int)a > (int)b ? a : b; }
#define smin_const_u32(a, b) smin_u32(a, b)
#define smax_const_u32(a, b) smax_u32(a, b)
#define add_rotated_u64(a, b) ((a) + (b))
#define sub_rotated_u64(a, b) ((a) - (b))
#define MINUS_ZERO f32_bits(0x80000000u)
#define negated_f32(x) fneg_f32(x)
#define above_minus_zero(x) fmax_f32(x, MINUS_ZERO)
#define above_minus_zero_f64(x) fmax_f64(x, f64_bits(1ul << 63))
#define above_zero(x) fmax_f32(x, 0.0f)
#define above_zero_f64(x) fmax_f64(x, 0.0)
#define flt_ordered(a, b) flt_f32(a, b)
#define fle_ordered(a, b) fle_f32(a, b)
#endif
// What is asked for often is a macro, and its operands are evaluated more than once: they are names and literals. Without optimisation a
// function costs its compiler a copy of each operand, and the assembler a store and a load of it.
#define add_u32(a, b) ((a) + (b))
#define add_u64(a, b) ((a) + (b))
#define sub_u32(a, b) ((a) - (b))
#define sub_u64(a, b) ((a) - (b))
#define mul_u32(a, b) ((a) * (b))
#define mul_u64(a, b) ((a) * (b))
#define and_u32(a, b) ((a) & (b))
#define and_u64(a, b) ((a) & (b))
#define or_u32(a, b) ((a) | (b))
#define or_u64(a, b) ((a) | (b))
#define xor_u32(a, b) ((a) ^ (b))
#define xor_u64(a, b) ((a) ^ (b))
#define shl_u32(a, n) ((a) << ((n) & 31))
#define shl_u64(a, n) ((a) << ((n) & 63))
#define lshr_u32(a, n) ((a) >> ((n) & 31))
#define lshr_u64(a, n) ((a) >> ((n) & 63))
#define ashr_u32(a, n) ((uint)((int)(a) >> ((n) & 31)))
#define ashr_u64(a, n) ((ulong)((long)(a) >> ((n) & 63)))
#define udiv_u32(a, b) ((b) ? (a) / (b) : 0)
#define udiv_u64(a, b) ((b) ? (a) / (b) : 0)
#define urem_u32(a, b) ((b) ? (a) % (b) : (a))
#define urem_u64(a, b) ((b) ? (a) % (b) : (a))
#define umin_u32(a, b) ((a) < (b) ? (a) : (b))
#define umin_u64(a, b) ((a) < (b) ? (a) : (b))
#define umax_u32(a, b) ((a) > (b) ? (a) : (b))
#define umax_u64(a, b) ((a) > (b) ? (a) : (b))
#define umulhi_u32(a, b) mul_hi(a, b)
#define umulhi_u64(a, b) mul_hi(a, b)
#define smulhi_u32(a, b) ((uint)mul_hi((int)(a), (int)(b)))
#define smulhi_u64(a, b) ((ulong)mul_hi((long)(a), (long)(b)))
#define ieq_u32(a, b) ((uint)((a) == (b)))
#define ieq_u64(a, b) ((uint)((a) == (b)))
#define ine_u32(a, b) ((uint)((a) != (b)))
#define ine_u64(a, b) ((uint)((a) != (b)))
#define ult_u32(a, b) ((uint)((a) < (b)))
#define ult_u64(a, b) ((uint)((a) < (b)))
#define ule_u32(a, b) ((uint)((a) <= (b)))
#define ule_u64(a, b) ((uint)((a) <= (b)))
#define slt_u32(a, b) ((uint)((int)(a) < (int)(b)))
#define slt_u64(a, b) ((uint)((long)(a) < (long)(b)))
#define sle_u32(a, b) ((uint)((int)(a) <= (int)(b)))
#define sle_u64(a, b) ((uint)((long)(a) <= (long)(b)))
#define popc_u32(a) popcount(a)
#define popc_u64(a) popcount(a)
#define clz_u32(a) ((a) ? clz(a) : 32)
#define clz_u64(a) ((a) ? clz(a) : 64)
#define smin_u64(a, b) ((long)(a) < (long)(b) ? (a) : (b))
#define smax_u64(a, b) ((long)(a) > (long)(b) ? (a) : (b))
#define S(t, u, s, w) \
    IN u sdiv_##t(u a, u b) { return !b ? 0 : b == (u)-1 ? 0 - a : (u)((s)a / (s)b); } \
    IN u srem_##t(u a, u b) { return !b ? a : b == (u)-1 ? 0 : (u)((s)a % (s)b); } \
    IN u fshl_##t(u a, u b, uint n) { n &= w - 1; return n ? a << n | b >> (w - n) : a; } \
    IN u ctz_##t(u a) { return a ? popcount((u)((a & (0 - a)) - 1)) : w; }
SCALARS(S)
#undef S
IN uint brev_u32(uint a)
{
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
    return a >> 16 | a << 16;
}
IN ulong brev_u64(ulong a) { return (ulong)brev_u32((uint)a) << 32 | brev_u32((uint)(a >> 32)); }
IN uint prmt_u32(uint lo, uint hi, uint selector)
{
    ulong all_bytes = (ulong)hi << 32 | lo;
    uint out = 0;
    for (uint i = 0; i < 4; i++) {
        uint pick = selector >> (4 * i) & 15, byte = (uint)(all_bytes >> (8 * (pick & 7))) & 255;
        out |= (pick & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return out;
}
IN uint dp4a_s_u32(uint a, uint b, uint c)
{
    for (uint i = 0; i < 32; i += 8)
        c += (uint)((int)(char)(a >> i) * (int)(char)(b >> i));
    return c;
}
IN uint dp4a_u_u32(uint a, uint b, uint c)
{
    for (uint i = 0; i < 32; i += 8)
        c += (a >> i & 255) * (b >> i & 255);
    return c;
}

// --- floats
#ifdef KILN_EXACT
#define fdiv_f32(a, b) ((a) / (b))
#define fsqrt_f32(a) sqrt(a)
#else // a double has more than twice a float's digits: rounding again changes nothing
IN float fdiv_f32(float a, float b) { return (float)((double)a / (double)b); }
IN float fsqrt_f32(float a) { return (float)sqrt((double)a); }
#endif
#define fdiv_f64(a, b) ((a) / (b))
#define fsqrt_f64(a) sqrt(a)
#define FLOATS(X) X(f32, float, bits_f32, f32_bits, 0x80000000u, 8388608.0f) X(f64, double, bits_f64, f64_bits, 0x8000000000000000ul, 4503599627370496.0)
// whole: from here on every number is whole. PoCL 3.1 folds rint of a constant of 2^63 and more to an endless kernel.
#define fadd_f32(a, b) ((a) + (b))
#define fadd_f64(a, b) ((a) + (b))
#define fsub_f32(a, b) ((a) - (b))
#define fsub_f64(a, b) ((a) - (b))
#define fmul_f32(a, b) ((a) * (b))
#define fmul_f64(a, b) ((a) * (b))
#define ffma_f32(a, b, c) fma(a, b, c)
#define ffma_f64(a, b, c) fma(a, b, c)
#define fneg_f32(a) f32_bits(bits_f32(a) ^ 0x80000000u)
#define fneg_f64(a) f64_bits(bits_f64(a) ^ 0x8000000000000000ul)
#define fabs_f32(a) f32_bits(bits_f32(a) & ~0x80000000u)
#define fabs_f64(a) f64_bits(bits_f64(a) & ~0x8000000000000000ul)
#define fcopysign_f32(a, b) f32_bits((bits_f32(a) & ~0x80000000u) | (bits_f32(b) & 0x80000000u))
#define fcopysign_f64(a, b) f64_bits((bits_f64(a) & ~0x8000000000000000ul) | (bits_f64(b) & 0x8000000000000000ul))
#define ffloor_f32(a) floor(a)
#define ffloor_f64(a) floor(a)
#define fceil_f32(a) ceil(a)
#define fceil_f64(a) ceil(a)
#define ftrunc_f32(a) trunc(a)
#define ftrunc_f64(a) trunc(a)
#define feq_f32(a, b) ((uint)((a) == (b)))
#define feq_f64(a, b) ((uint)((a) == (b)))
#define fne_f32(a, b) ((uint)((a) != (b)))
#define fne_f64(a, b) ((uint)((a) != (b)))
#define flt_f32(a, b) ((uint)((a) < (b)))
#define flt_f64(a, b) ((uint)((a) < (b)))
#define fle_f32(a, b) ((uint)((a) <= (b)))
#define fle_f64(a, b) ((uint)((a) <= (b)))
#define S(t, T, to, of, sign, whole) \
    IN T fmin_##t(T a, T b) { return a != a ? b : b != b ? a : a == b ? of(to(a) | to(b)) : a < b ? a : b; } \
    IN T fmax_##t(T a, T b) { return a != a ? b : b != b ? a : a == b ? of(to(a) & to(b)) : a > b ? a : b; } \
    IN T frint_##t(T a) { return of(to(a) & ~sign) >= whole ? a : rint(a); }
FLOATS(S)
#undef S
#define fast_exp2_f32(a) native_exp2(a)
#define fast_log2_f32(a) native_log2(a)
#define fast_sin_f32(a) native_sin(a)
#define fast_cos_f32(a) native_cos(a)
#define fast_tanh_f32(a) tanh(a)
#define fast_rcp_f32(a) native_recip(a)
#define fast_rsqrt_f32(a) native_rsqrt(a)
#define fast_sqrt_f32(a) native_sqrt(a)
#define fast_div_f32(a, b) native_divide(a, b)

// --- conversions: saturating, a NaN gives 0
IN uint ftosi_32(double v, uint w)
{
    double limit = (double)(1ul << (w - 1));
    if (v != v)
        return 0;
    uint r = v >= limit ? (1u << (w - 1)) - 1 : v < -limit ? 1u << (w - 1) : (uint)(int)v;
    return w == 32 ? r : r & ((1u << w) - 1);
}
IN uint ftoui_32(double v, uint w)
{
    if (v != v || v <= 0)
        return 0;
    return v >= (double)(1ul << w) ? (uint)((1ul << w) - 1) : (uint)(long)v;
}
IN ulong ftosi_64(double v) { return v != v ? 0 : v >= 0x1p63 ? 0x7ffffffffffffffful : v < -0x1p63 ? 0x8000000000000000ul : (ulong)(long)v; }
IN ulong ftoui_64(double v) { return v != v || v <= 0 ? 0 : v >= 0x1p64 ? ~0ul : v >= 0x1p63 ? (ulong)(long)(v - 0x1p63) + 0x8000000000000000ul : (ulong)(long)v; }
#define TO(op, name, w) \
    IN uint op##_f32_##name(float a) { return op##_32((double)a, w); } IN uint op##_f64_##name(double a) { return op##_32(a, w); }
TO(ftosi, u8, 8) TO(ftosi, u16, 16) TO(ftosi, u32, 32) TO(ftoui, u8, 8) TO(ftoui, u16, 16) TO(ftoui, u32, 32)
#define TO64(op) IN ulong op##_f32_u64(float a) { return op##_64((double)a); } IN ulong op##_f64_u64(double a) { return op##_64(a); }
TO64(ftosi) TO64(ftoui)
#define sitof_u32_f32(a) ((float)(int)(a))
#define uitof_u32_f32(a) ((float)(uint)(a))
#define sitof_u32_f64(a) ((double)(int)(a))
#define uitof_u32_f64(a) ((double)(uint)(a))
#define sitof_u64_f32(a) ((float)(long)(a))
#define uitof_u64_f32(a) ((float)(ulong)(a))
#define sitof_u64_f64(a) ((double)(long)(a))
#define uitof_u64_f64(a) ((double)(ulong)(a))

// --- narrow floats: exponent bits, mantissa bits, bias, infinity, largest finite, saturates
#define SMALL(X) X(f16, 5, 10, 15, 1, 0x7bff, 0) X(bf16, 8, 7, 127, 1, 0x7f7f, 0) X(f8e4, 4, 3, 7, 0, 0x7e, 1) X(f8e5, 5, 2, 15, 1, 0x7b, 1)
IN double small_wide(uint x, int e, int m, int bias, int has_inf)
{
    uint sign = x >> (e + m) & 1, exponent = x >> m & ((1u << e) - 1), mantissa = x & ((1u << m) - 1), top = (1u << e) - 1;
    if (exponent == top && (has_inf || mantissa == (1u << m) - 1)) {
        ulong wide = (ulong)mantissa << (52 - m);
        return f64_bits((ulong)sign << 63 | (ulong)0x7ff << 52 | wide | (mantissa ? (ulong)1 << 51 : 0));
    }
    int power = exponent ? (int)exponent - bias - m : 1 - bias - m;
    double v = (double)(exponent ? mantissa | 1u << m : mantissa) * f64_bits((ulong)(power + 1023) << 52);
    return sign ? -v : v;
}
IN uint small_of(double v, int e, int m, int bias, uint largest, int saturates)
{
    ulong x = bits_f64(v);
    uint sign = (uint)(x >> 63) << (e + m), infinite = ((1u << e) - 1) << m, over = saturates ? largest : infinite;
    if (v != v)
        return saturates ? sign | 0x7f : sign | infinite | 1u << (m - 1) | ((uint)(x >> (52 - m)) & ((1u << m) - 1));
    int exponent = (int)(x >> 52 & 0x7ff) - 1023;
    if (exponent == 1024)
        return sign | over;
    if (exponent < -300)
        return sign;
    ulong mantissa = (x & 0xffffffffffffful) | (ulong)1 << 52;
    int lowest = 1 - bias, shift = 52 - m + (exponent < lowest ? lowest - exponent : 0);
    if (shift > 54)
        return sign;
    ulong kept = mantissa >> shift, rest = mantissa & (((ulong)1 << shift) - 1), half_way = (ulong)1 << (shift - 1);
    kept += rest > half_way || (rest == half_way && (kept & 1));
    ulong r = exponent < lowest ? kept : kept + ((ulong)(exponent - lowest) << m);
    return sign | (uint)(exponent > 200 || r > largest ? over : r);
}
#define S(t, e, m, b, inf, big, sat) \
    IN float t##_f32(uint a) { return (float)small_wide(a, e, m, b, inf); } \
    IN uint f32_##t(float a) { return small_of((double)a, e, m, b, big, sat); } \
    IN uint t##_of_f64(double v) { return small_of(v, e, m, b, big, sat); }
SMALL(S)
#undef S
// The product of two small floats is exact; a sum rounded to odd can be rounded once more without harm.
IN double sum_to_odd(double product, double c)
{
    double sum = product + c;
    if (sum != sum || sum - sum != 0)
        return sum;
    double back = sum - product, error = (product - (sum - back)) + (c - back);
    ulong x = bits_f64(sum);
    if (error == 0 || (x & 1))
        return sum;
    return f64_bits(x + ((error > 0) == (sum > 0) ? 1ul : ~0ul));
}
#define H_OP(op, t, expr) \
    IN uint op##_##t(uint a_, uint b_) { uint r = 0; for (uint s = 0; s < 32; s += 16) { \
        double a = (double)t##_f32(a_ >> s & 0xffff), b = (double)t##_f32(b_ >> s & 0xffff); r |= t##_of_f64(expr) << s; } return r; }
#define H_ALL(t) H_OP(hadd2, t, a + b) H_OP(hsub2, t, a - b) H_OP(hmul2, t, a * b) H_OP(hmin2, t, fmin_f64(a, b)) H_OP(hmax2, t, fmax_f64(a, b)) \
    IN uint hfma2_##t(uint a_, uint b_, uint c_) { uint r = 0; for (uint s = 0; s < 32; s += 16) \
        r |= t##_of_f64(sum_to_odd((double)t##_f32(a_ >> s & 0xffff) * (double)t##_f32(b_ >> s & 0xffff), (double)t##_f32(c_ >> s & 0xffff))) << s; return r; }
H_ALL(f16) H_ALL(bf16)

// --- order between threads
#ifdef KILN_LOOPS // keeps a compiler that makes loops of the block's threads from making vectors of them
#define ONE_BY_ONE() __asm__ volatile("" ::: "memory")
#else
#define ONE_BY_ONE() (void)0
#endif
#define LOCAL_BARRIER() do { barrier(CLK_LOCAL_MEM_FENCE); ONE_BY_ONE(); } while (0)
#define BLOCK_BARRIER() do { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); ONE_BY_ONE(); } while (0)
#if defined(KILN_PTX)
#define FENCE() __asm__ volatile("fence.sc.gpu;" ::: "memory")
#elif defined(__clang__)
#define FENCE() __sync_synchronize()
#else
#define FENCE() mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif

// --- atomics: _g on global and _s on shared memory, _p on a thread's own
#define SPACES(X) X(_g, __global) X(_s, __local)
#define LOOP_OP(end, Q, w, u, cas, op, next) \
    IN u at_##op##w##end(volatile Q m##w *p, u v) { u old = *p; for (;;) { u was = cas((volatile Q u *)p, old, (u)(next)); if (was == old) return old; old = was; } }
#define NATIVE(end, Q, op, name, T) IN uint at_##op##4##end(volatile Q m4 *p, uint v) { return (uint)name((volatile Q T *)p, (T)v); }
#define LOOPS8(X, end, Q) X(end, Q, 8, ulong, atom_cmpxchg, add, old + v) X(end, Q, 8, ulong, atom_cmpxchg, and, old & v) \
    X(end, Q, 8, ulong, atom_cmpxchg, or, old | v) X(end, Q, 8, ulong, atom_cmpxchg, xor, old ^ v) X(end, Q, 8, ulong, atom_cmpxchg, xchg, v) \
    X(end, Q, 8, ulong, atom_cmpxchg, smin, smin_u64(old, v)) X(end, Q, 8, ulong, atom_cmpxchg, smax, smax_u64(old, v)) \
    X(end, Q, 8, ulong, atom_cmpxchg, umin, umin_u64(old, v)) X(end, Q, 8, ulong, atom_cmpxchg, umax, umax_u64(old, v))
#define FLOAT_OPS(X, end, Q) \
    X(end, Q, 4, uint, atomic_cmpxchg, fadd, bits_f32(f32_bits(old) + f32_bits(v))) X(end, Q, 4, uint, atomic_cmpxchg, fmin, bits_f32(fmin_f32(f32_bits(old), f32_bits(v)))) \
    X(end, Q, 4, uint, atomic_cmpxchg, fmax, bits_f32(fmax_f32(f32_bits(old), f32_bits(v)))) X(end, Q, 8, ulong, atom_cmpxchg, fadd, bits_f64(f64_bits(old) + f64_bits(v))) \
    X(end, Q, 8, ulong, atom_cmpxchg, fmin, bits_f64(fmin_f64(f64_bits(old), f64_bits(v)))) X(end, Q, 8, ulong, atom_cmpxchg, fmax, bits_f64(fmax_f64(f64_bits(old), f64_bits(v))))
// A cell of 2 bytes is changed within its word.
#define ATOMICS(end, Q) \
    NATIVE(end, Q, add, atomic_add, uint) NATIVE(end, Q, and, atomic_and, uint) NATIVE(end, Q, or, atomic_or, uint) NATIVE(end, Q, xor, atomic_xor, uint) \
    NATIVE(end, Q, xchg, atomic_xchg, uint) NATIVE(end, Q, smin, atomic_min, int) NATIVE(end, Q, smax, atomic_max, int) \
    NATIVE(end, Q, umin, atomic_min, uint) NATIVE(end, Q, umax, atomic_max, uint) LOOPS8(LOOP_OP, end, Q) FLOAT_OPS(LOOP_OP, end, Q) \
    IN uint at_cas4##end(volatile Q m4 *p, uint e, uint v) { return atomic_cmpxchg((volatile Q uint *)p, e, v); } \
    IN ulong at_cas8##end(volatile Q m8 *p, ulong e, ulong v) { return atom_cmpxchg((volatile Q ulong *)p, e, v); } \
    IN uint at_cas2##end(volatile Q m2 *p, uint e, uint v) { uint shift = (uint)(ulong)p << 3 & 16; volatile Q uint *word = (volatile Q uint *)((ulong)p & ~3ul); \
        uint old = *word; for (;;) { uint now = old >> shift & 0xffff; if (now != (e & 0xffff)) return now; \
            uint was = atomic_cmpxchg(word, old, (old & ~(0xffffu << shift)) | (v & 0xffff) << shift); if (was == old) return now; old = was; } }
SPACES(ATOMICS)
#define PLAIN_OP(end, Q, w, u, cas, op, next) IN u at_##op##w##_p(m##w *p, u v) { u old = *p; *p = (u)(next); return old; }
LOOPS8(PLAIN_OP, , ) FLOAT_OPS(PLAIN_OP, , )
#define PLAIN4(op, next) PLAIN_OP(, , 4, uint, , op, next)
PLAIN4(add, old + v) PLAIN4(and, old & v) PLAIN4(or, old | v) PLAIN4(xor, old ^ v) PLAIN4(xchg, v)
PLAIN4(smin, smin_u32(old, v)) PLAIN4(smax, smax_u32(old, v)) PLAIN4(umin, umin_u32(old, v)) PLAIN4(umax, umax_u32(old, v))
IN uint at_cas2_p(m2 *p, uint e, uint v) { uint old = *p; if (old == (e & 0xffff)) *p = (ushort)v; return old; }
IN uint at_cas4_p(m4 *p, uint e, uint v) { uint old = *p; if (old == e) *p = v; return old; }
IN ulong at_cas8_p(m8 *p, ulong e, ulong v) { ulong old = *p; if (old == e) *p = v; return old; }

// --- warps
IN uint thread_rank(void) { return (uint)(get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2))); }
IN uint thread_count(void) { return (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2)); }
#ifdef KILN_PTX
IN uint shfl(uint v, uint from) { uint r; __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;" : "=r"(r) : "r"(v), "r"(from)); return r; }
// The lane that lane l reads among n, which are a power of two; by kind of shuffle. Kernels know their thread's `rank` and the block's `count`.
#define LANE_0(l, k, n) (((l) & ~((n) - 1)) | ((k) & ((n) - 1)))
#define LANE_1(l, k, n) ((k) <= ((l) & ((n) - 1)) ? (l) - (k) : (l))
#define LANE_2(l, k, n) ((k) < (n) - ((l) & ((n) - 1)) ? (l) + (k) : (l))
#define LANE_3(l, k, n) ((k) < (n) ? (l) ^ (k) : (l))
#define WIDTH(n) ((n) == 0 || (n) > 32 || ((n) & ((n) - 1)) ? 32u : (n))
IN uint shuffle_u32(uint v, uint rank, uint count, uint from)
{
    uint r = shfl(v, from);
    return (rank & ~31u) + from < count ? r : v;
}
IN ulong shuffle_u64(ulong v, uint rank, uint count, uint from)
{
    ulong r = (ulong)shfl((uint)v, from) | (ulong)shfl((uint)(v >> 32), from) << 32;
    return (rank & ~31u) + from < count ? r : v;
}
#define shuffle_32(kind, v, by, width) shuffle_u32(v, rank, count, LANE_##kind(rank & 31, by, WIDTH(width)))
#define shuffle_64(kind, v, by, width) shuffle_u64(v, rank, count, LANE_##kind(rank & 31, by, WIDTH(width)))
IN uint ballot(uint x) { uint r; __asm__ volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(r) : "r"(x)); return r; }
IN uint active_lanes(void) { uint r; __asm__ volatile("activemask.b32 %0;" : "=r"(r)); return r; }
IN uint match_32(uint v) { uint r; __asm__ volatile("match.any.sync.b32 %0, %1, -1;" : "=r"(r) : "r"(v)); return r; }
IN uint match_64(ulong v) { uint r; __asm__ volatile("match.any.sync.b64 %0, %1, -1;" : "=r"(r) : "l"(v)); return r; }
#define WARP_BARRIER() __asm__ volatile("bar.warp.sync -1;" ::: "memory")
IN ulong time_now(uint kind)
{
    ulong r;
    if (kind)
        __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(r));
    else
        __asm__ volatile("mov.u64 %0, %%clock64;" : "=l"(r));
    return r;
}
#define NAP(n) __asm__ volatile("nanosleep.u32 %0;" ::"r"(n))
#else
// Without warps of 32: all threads of the block come here together, those that take part say so in `act` (NULL flags: all do), and look into
// each other's box. There are two rows of boxes, used in turns, so that one barrier will do: who writes into a row again has been at the
// barrier of the other one since, and so has everybody who read from it.
IN uint shuffle_from(uint kind, uint l, uint k, uint n) // the lane that lane l reads
{
    if (!n || n > 32 || (n & (n - 1)))
        n = 32;
    uint lo = l & ~(n - 1), hi = lo + n - 1;
    if (kind == 0)
        return lo | (k & (n - 1));
    if (kind == 1)
        return k <= l - lo ? l - k : l;
    if (kind == 2)
        return k <= hi - l ? l + k : l;
    return (l ^ k) >= lo && (l ^ k) <= hi ? l ^ k : l;
}
IN uint takes_part(__local ulong *box, __local uchar *flag, ulong v, uint act)
{
    uint rank = thread_rank();
    box[rank] = v;
    if (flag)
        flag[rank] = (uchar)act;
    LOCAL_BARRIER();
    return rank;
}
IN ulong shuffle_box(__local ulong *box, __local uchar *flag, uint act, uint kind, ulong v, uint by, uint width)
{
    uint rank = takes_part(box, flag, v, act), from = (rank & ~31u) + shuffle_from(kind, rank & 31, by, width);
    return from < thread_count() && (!flag || flag[from]) ? box[from] : v;
}
// The active lanes that put `v` into their box.
IN uint match_box(__local ulong *box, __local uchar *flag, uint act, ulong mine, ulong v)
{
    uint rank = takes_part(box, flag, mine, act), first = rank & ~31u, lanes = min(32u, thread_count() - first), r = 0;
    for (uint l = 0; l < lanes; l++)
        r |= (uint)((!flag || flag[first + l]) && box[first + l] == v) << l;
    return r;
}
IN uint any_of_block(__local uint *word, uint x)
{
    LOCAL_BARRIER();
    if (thread_rank() == 0)
        *word = 0;
    LOCAL_BARRIER();
    if (x)
        *word = 1;
    LOCAL_BARRIER();
    return *word;
}
#define time_now(kind) (ticks += 64) // there is no clock: it moves when it is looked at
#define NAP(n) (void)(n)
#endif

// --- talking to the host (back/channel.h): the header, then the lines at 64, then the fault
IN void tell_place(__global uchar *at, uint site)
{
    __global uint *word = (__global uint *)at;
    word[1] = site;
    for (uint k = 0; k < 3; k++) {
        word[2 + k] = (uint)get_local_id(k);
        word[5 + k] = (uint)get_group_id(k);
    }
}
// Room for a line, or NULL.
IN __global uchar *line_of(__global uchar *channel, uint site, uint count)
{
    __global uint *head = (__global uint *)channel;
    uint room = head[2], bytes = 32 + 8 * count, at = ((volatile __global uint *)head)[3];
    if (at < room)
        at = atomic_add((volatile __global uint *)(head + 3), bytes);
    if (at >= room || at + bytes > room) {
        atomic_add((volatile __global uint *)(head + 4), 1u);
        return 0;
    }
    __global uchar *line = channel + 64 + at;
    tell_place(line, site);
    *(__global uint *)line = bytes;
    return line;
}
IN void fault(__global uchar *channel, uint site, ulong a, ulong b)
{
    __global uint *head = (__global uint *)channel;
    if (atomic_cmpxchg((volatile __global uint *)(head + 5), 0u, 1u))
        return;
    __global uchar *at = channel + 64 + head[2];
    tell_place(at, site);
    ((__global ulong *)at)[4] = a;
    ((__global ulong *)at)[5] = b;
    *(__global uint *)at = 1;
}
