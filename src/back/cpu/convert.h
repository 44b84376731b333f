// clang-format off
// --- conversions: scalar forms, then lanes. Part of the same text as lanes.h.
//@ ftosi_* ftoui_*
IN uint32_t ftosi_32(double v, uint32_t w) // saturates at w bits
{
    double limit = (double)(1ll << (w - 1));
    if (v != v)
        return 0;
    uint32_t r = v >= limit ? (1u << (w - 1)) - 1 : v < -limit ? 1u << (w - 1) : (uint32_t)(int32_t)v;
    return w == 32 ? r : r & ((1u << w) - 1);
}
IN uint32_t ftoui_32(double v, uint32_t w)
{
    if (v != v || v <= 0)
        return 0;
    return v >= (double)(1ull << w) ? (uint32_t)((1ull << w) - 1) : (uint32_t)(int64_t)v;
}
IN uint64_t ftosi_64(double v)
{
    return v != v ? 0 : v >= 0x1p63 ? 0x7fffffffffffffffu : v < -0x1p63 ? 0x8000000000000000u : (uint64_t)(int64_t)v;
}
IN uint64_t ftoui_64(double v) { return v != v || v <= 0 ? 0 : v >= 0x1p64 ? ~0ull : (uint64_t)v; }
#define TO(op, name, bits) \
    IN uint32_t op##_f32_##name(float a) { return op##_32((double)a, bits); } IN uint32_t op##_f64_##name(double a) { return op##_32(a, bits); } \
    FAR V4 op##_f4_##name(V4 a) { A4 x = {a}, r; FOR_LANES r.u[l] = op##_32((double)x.f[l], bits); return r.v; } \
    FAR V4 op##_f8_##name(V8 a) { A8 x = {a}; A4 r; FOR_LANES r.u[l] = op##_32(x.f[l], bits); return r.v; }
TO(ftosi, u8, 8) TO(ftosi, u16, 16) TO(ftoui, u8, 8) TO(ftoui, u16, 16)
#define TO64(op) \
    IN uint64_t op##_f32_u64(float a) { return op##_64((double)a); } IN uint64_t op##_f64_u64(double a) { return op##_64(a); } \
    FAR V8 op##_f4_u64(V4 a) { A4 x = {a}; A8 r; FOR_LANES r.u[l] = op##_64((double)x.f[l]); return r.v; } \
    FAR V8 op##_f8_u64(V8 a) { A8 x = {a}, r; FOR_LANES r.u[l] = op##_64(x.f[l]); return r.v; }
TO64(ftosi) TO64(ftoui)
IN uint32_t ftosi_f32_u32(float a) { return ftosi_32((double)a, 32); }
IN uint32_t ftosi_f64_u32(double a) { return ftosi_32(a, 32); }
IN uint32_t ftoui_f32_u32(float a) { return ftoui_32((double)a, 32); }
IN uint32_t ftoui_f64_u32(double a) { return ftoui_32(a, 32); }
FAR V4 ftosi_f8_u32(V8 a) { A8 x = {a}; A4 r; FOR_LANES r.u[l] = ftosi_32(x.f[l], 32); return r.v; }
FAR V4 ftoui_f8_u32(V8 a) { A8 x = {a}; A4 r; FOR_LANES r.u[l] = ftoui_32(x.f[l], 32); return r.v; }
// What lies outside the range is replaced before the conversion, whose result would be undefined there.
#define P(i) r.p##i = (vu)__builtin_convertvector((vf)c.p##i, vi);
IN V4 ftosi_f4_u32(V4 a)
{
    V4 r, c = sel4(flt_f4(a, sf4(-0x1p31f)), sf4(-0x1p31f), a);
    M over = fle_f4(sf4(0x1p31f), a);
    c = sel4(m_or(over, fne_f4(a, a)), s4(0), c);
    E4(P)
    return sel4(over, s4(0x7fffffffu), r);
}
#undef P
#define P(i) r.p##i = __builtin_convertvector((vf)c.p##i, vu);
IN V4 ftoui_f4_u32(V4 a)
{
    M over = fle_f4(sf4(0x1p32f), a), fits = m_less(flt_f4(s4(0), a), over);
    V4 r, c = sel4(fits, a, s4(0));
    E4(P)
    return sel4(over, s4(ALL), r);
}
#undef P
//@ sitof_i* uitof_i* f64_f32
#define P(i) r.p##i = (vu)__builtin_convertvector((vi)a.p##i, vf);
BODY4(sitof_i4_f4(V4 a), P)
#undef P
#define P(i) r.p##i = (vu)__builtin_convertvector(a.p##i, vf);
BODY4(uitof_i4_f4(V4 a), P)
#undef P
#define P(i) r.p##i = (vq)__builtin_convertvector((vl)a.p##i, vd);
BODY8(sitof_i8_f8(V8 a), P)
#undef P
#define P(i) r.p##i = (vq)__builtin_convertvector(a.p##i, vd);
BODY8(uitof_i8_f8(V8 a), P)
#undef P
IN V8 uitof_i4_f8(V4 a) { return sitof_i8_f8(zext8(a)); }
FAR V4 sitof_i8_f4(V8 a) { A8 x = {a}; A4 r; FOR_LANES r.f[l] = (float)(int64_t)x.u[l]; return r.v; }
FAR V4 uitof_i8_f4(V8 a) { A8 x = {a}; A4 r; FOR_LANES r.f[l] = (float)x.u[l]; return r.v; }
FAR V4 f64_f32(V8 a) { A8 x = {a}; A4 r; FOR_LANES r.f[l] = (float)x.f[l]; return r.v; }
//@ sitof_u* uitof_u*
IN float sitof_u32_f32(uint32_t a) { return (float)(int32_t)a; }
IN float uitof_u32_f32(uint32_t a) { return (float)a; }
IN double sitof_u32_f64(uint32_t a) { return (double)(int32_t)a; }
IN double uitof_u32_f64(uint32_t a) { return (double)a; }
IN float sitof_u64_f32(uint64_t a) { return (float)(int64_t)a; }
IN float uitof_u64_f32(uint64_t a) { return (float)a; }
IN double sitof_u64_f64(uint64_t a) { return (double)(int64_t)a; }
IN double uitof_u64_f64(uint64_t a) { return (double)a; }

//@ small_* f16_* bf16_* f8e4_* f8e5_* f32_f16 f32_bf16 f32_f8* f4_f16 f4_bf16 f4_f8* hadd2* hsub2* hmul2* hmin2* hmax2* hfma2* pick_* sum_to_odd
// --- narrow floats: exponent bits, mantissa bits, bias, infinity, largest finite, saturates
#define SMALL(X) X(f16, 5, 10, 15, 1, 0x7bff, 0) X(bf16, 8, 7, 127, 1, 0x7f7f, 0) X(f8e4, 4, 3, 7, 0, 0x7e, 1) X(f8e5, 5, 2, 15, 1, 0x7b, 1)
IN double small_wide(uint32_t x, int e, int m, int bias, int has_inf)
{
    uint32_t sign = x >> (e + m) & 1, exponent = x >> m & ((1u << e) - 1), mantissa = x & ((1u << m) - 1), top = (1u << e) - 1;
    if (exponent == top && (has_inf || mantissa == (1u << m) - 1)) {
        uint64_t wide = (uint64_t)mantissa << (52 - m);
        return f64_bits((uint64_t)sign << 63 | (uint64_t)0x7ff << 52 | wide | (mantissa ? (uint64_t)1 << 51 : 0));
    }
    int power = exponent ? (int)exponent - bias - m : 1 - bias - m;
    double v = (double)(exponent ? mantissa | 1u << m : mantissa) * f64_bits((uint64_t)(power + 1023) << 52);
    return sign ? -v : v;
}
IN uint32_t small_of(double v, int e, int m, int bias, uint32_t largest, int saturates)
{
    uint64_t x = bits_f64(v);
    uint32_t sign = (uint32_t)(x >> 63) << (e + m), infinity = ((1u << e) - 1) << m, over = saturates ? largest : infinity;
    if (v != v)
        return saturates ? sign | 0x7f : sign | infinity | 1u << (m - 1) | ((uint32_t)(x >> (52 - m)) & ((1u << m) - 1));
    int exponent = (int)(x >> 52 & 0x7ff) - 1023;
    if (exponent == 1024)
        return sign | over;
    if (exponent < -300)
        return sign;
    uint64_t mantissa = (x & 0xfffffffffffffu) | (uint64_t)1 << 52;
    int lowest = 1 - bias, shift = 52 - m + (exponent < lowest ? lowest - exponent : 0);
    if (shift > 54)
        return sign;
    uint64_t kept = mantissa >> shift, rest = mantissa & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    uint64_t r = exponent < lowest ? kept : kept + ((uint64_t)(exponent - lowest) << m);
    return sign | (uint32_t)(exponent > 200 || r > largest ? over : r);
}
#define S(t, e, m, b, inf, big, sat) \
    IN float t##_f32(uint32_t a) { return (float)small_wide(a, e, m, b, inf); } \
    IN uint32_t f32_##t(float a) { return small_of((double)a, e, m, b, big, sat); }
SMALL(S)
#undef S
#define S(t) \
    FAR V4 t##_f4(V4 a) { A4 x = {a}, r; FOR_LANES r.f[l] = t##_f32(x.u[l]); return r.v; } \
    FAR V4 f4_##t(V4 a) { A4 x = {a}, r; FOR_LANES r.u[l] = f32_##t(x.f[l]); return r.v; }
S(f8e4) S(f8e5)
#undef S
// The lanes of the 16-bit types by their bits; a NaN becomes quiet, as above.
#define P(i) { vu w = a.p##i << 16; r.p##i = w | ((vu)((w & 0x7fffffff) > 0x7f800000) & 0x400000); }
BODY4(bf16_f4(V4 a), P)
#undef P
#define P(i) { vu x = a.p##i, nan = (vu)((x & 0x7fffffff) > 0x7f800000); \
    r.p##i = (nan & (x >> 16 | 0x40)) | (~nan & (x + 0x7fff + (x >> 16 & 1)) >> 16); }
BODY4(f4_bf16(V4 a), P)
#undef P
// A subnormal f16 is the fraction of a float that begins at 2^-14; one that is made gets its place from an addition of 1/2, which rounds.
#define P(i) { vu m = (a.p##i & 0x7fff) << 13, tiny = (vu)(m < 0x800000), top = (vu)(m >= 0xf800000), nan = (vu)(m > 0xf800000); \
    vu small = (vu)((vf)(m + 0x38800000) - ((vf){0} + 0x1p-14f)); \
    r.p##i = (a.p##i & 0x8000) << 16 | (tiny & small) | (~tiny & (m + 0x38000000 + (top & 0x38000000))) | (nan & 0x400000); }
BODY4(f16_f4(V4 a), P)
#undef P
#define P(i) { vu m = a.p##i & 0x7fffffff, tiny = (vu)(m < 0x38800000), over = (vu)(m >= 0x477ff000), nan = (vu)(m > 0x7f800000); \
    vu small = (vu)((vf)m + ((vf){0} + 0.5f)) - 0x3f000000, plain = (m + 0xc8000fff + (m >> 13 & 1)) >> 13; \
    r.p##i = (a.p##i >> 16 & 0x8000) | (tiny & small) | (~tiny & ~over & plain) | (over & 0x7c00) | (nan & (0x200 | (m >> 13 & 0x3ff))); }
BODY4(f4_f16(V4 a), P)
#undef P
IN double pick_min(double a, double b) { return fmin_f64(a, b); }
IN double pick_max(double a, double b) { return fmax_f64(a, b); }
// The product of two small floats is exact; a sum rounded to odd can be rounded once more without harm.
IN double sum_to_odd(double product, double c)
{
    double sum = product + c;
    if (sum != sum || sum - sum != 0)
        return sum;
    double back = sum - product, error = (product - (sum - back)) + (c - back);
    uint64_t x = bits_f64(sum);
    if (error == 0 || (x & 1))
        return sum;
    return f64_bits(x + ((error > 0) == (sum > 0) ? 1u : ~0ull));
}
#define H_OP(op, t, expr) \
    IN uint32_t op##_##t(uint32_t a_, uint32_t b_) { uint32_t r = 0; for (int s = 0; s < 32; s += 16) { \
        double a = (double)t##_f32(a_ >> s & 0xffff), b = (double)t##_f32(b_ >> s & 0xffff); r |= t##_of_f64(expr) << s; } return r; } \
    FAR V4 op##_##t##4(V4 a, V4 b) { A4 x = {a}, y = {b}, r; FOR_LANES r.u[l] = op##_##t(x.u[l], y.u[l]); return r.v; }
IN uint32_t f16_of_f64(double v) { return small_of(v, 5, 10, 15, 0x7bff, 0); }
IN uint32_t bf16_of_f64(double v) { return small_of(v, 8, 7, 127, 0x7f7f, 0); }
#define H_ALL(t) H_OP(hadd2, t, a + b) H_OP(hsub2, t, a - b) H_OP(hmul2, t, a * b) H_OP(hmin2, t, pick_min(a, b)) H_OP(hmax2, t, pick_max(a, b)) \
    IN uint32_t hfma2_##t(uint32_t a_, uint32_t b_, uint32_t c_) { uint32_t r = 0; for (int s = 0; s < 32; s += 16) \
        r |= t##_of_f64(sum_to_odd((double)t##_f32(a_ >> s & 0xffff) * (double)t##_f32(b_ >> s & 0xffff), (double)t##_f32(c_ >> s & 0xffff))) << s; return r; } \
    FAR V4 hfma2_##t##4(V4 a, V4 b, V4 c) { A4 x = {a}, y = {b}, z = {c}, r; FOR_LANES r.u[l] = hfma2_##t(x.u[l], y.u[l], z.u[l]); return r.v; }
H_ALL(f16) H_ALL(bf16)

