// asin, acos, atan, atan2 in Kiln C; host compilers read the same text.
//
// atan: the argument is moved to |t| <= tan(pi/8) through 1/x or (x - 1) / (x + 1), with the quotient's rest kept;
// asin and acos: a polynomial up to 1/2, above it twice the arc of sqrt((1 - x) / 2). f32 is computed in f64.
#ifndef KILN_LIB_ARC_H
#define KILN_LIB_ARC_H
#include "core_f64.h"

// atan(a + low) in two parts, a >= 0
static inline f64x2 k_atan_parts_f64(f64 a, f64 low)
{
    bool is_big = a > 2.414213562373095, is_middle = a > 0.4142135623730951 && !is_big;
    a = a > 1e20 ? 1e20 : a;
    f64x2 top = k_sum_any_f64(a, -1.0), bottom = k_sum_any_f64(1.0, a);
    f64 p = is_big ? -1.0 : is_middle ? top.x : a, p_low = is_big ? 0.0 : is_middle ? top.y + low : low;
    f64 q = is_big ? a : is_middle ? bottom.x : 1.0, q_low = is_big ? low : is_middle ? bottom.y + low : 0.0;
    f64 t = p / q, rest = (fma(-t, q, p) + fma(-t, q_low, p_low)) / q;
    f64 z = t * t;
    f64 c = fma(-0.0129759658984931938, z, 0.0296076628693384657);
    c = fma(c, z, -0.0405495582295736373);
    c = fma(c, z, 0.0470557280890793322);
    c = fma(c, z, -0.052555610022194249);
    c = fma(c, z, 0.058816262662468137);
    c = fma(c, z, -0.0666661744046365967);
    c = fma(c, z, 0.0769230536461944225);
    c = fma(c, z, -0.0909090901632421816);
    c = fma(c, z, 0.11111111109572025);
    c = fma(c, z, -0.142857142856955222);
    c = fma(c, z, 0.199999999999998845);
    c = fma(c, z, -0.333333333333333315);
    f64 base = is_big ? 0x1.921fb54442d18p+0 : is_middle ? 0x1.921fb54442d18p-1 : 0.0;
    f64 base_low = is_big ? 0x1.1a62633145c07p-54 : is_middle ? 0x1.1a62633145c07p-55 : 0.0;
    f64x2 sum = k_sum_f64(base, t);
    return (f64x2){sum.x, sum.y + (base_low + fma(t * z, c, rest))};
}

static inline f64 k_atan_f64(f64 x)
{
    f64x2 y = k_atan_parts_f64(fabs(x), 0.0);
    return copysign(y.x + y.y, x);
}

static inline f64 k_atan2_f64(f64 y, f64 x)
{
    f64 a = fabs(y), b = fabs(x);
    f64 q = a / b, unit = a < 0x1p-700 ? 0x1p300 : 1.0; // no part of the rest is lost below the smallest number
    f64 rest = q > 0x1p-60 && q < 1e20 ? fma(-q, b * unit, a * unit) / (b * unit) : 0.0;
    q = a == b ? 1.0 : q; // both infinite
    q = a == 0 ? 0.0 : q; // both zero
    f64x2 r = k_atan_parts_f64(q, a == b ? 0.0 : rest);
    f64x2 sum = k_sum_f64(0x1.921fb54442d18p+1, -r.x);
    f64 angle = signbit(x) ? sum.x + (sum.y + (0x1.1a62633145c07p-53 - r.y)) : r.x + r.y;
    return x != x || y != y ? x + y : copysign(angle, y);
}

// asin(s) / s - 1 as a function of z = s^2 <= 1/4
static inline f64 k_asin_tail_f64(f64 z)
{
    f64 c = fma(0.0327034055782465319, z, -0.0211186759590650357);
    c = fma(c, z, 0.0217920096937236039);
    c = fma(c, z, 0.00367163202239950996);
    c = fma(c, z, 0.0107894661899409355);
    c = fma(c, z, 0.0113972673127737713);
    c = fma(c, z, 0.0139810216796781243);
    c = fma(c, z, 0.0173515952362883544);
    c = fma(c, z, 0.0223722159207953297);
    c = fma(c, z, 0.030381942674737334);
    c = fma(c, z, 0.0446428571752978953);
    c = fma(c, z, 0.0749999999997008476);
    c = fma(c, z, 0.166666666666667629);
    return c * z;
}

// 2 asin(sqrt((1 - a) / 2)) in two parts, 1/2 <= a <= 1
static inline f64x2 k_arc_above_half_f64(f64 a)
{
    f64 z = fma(-0.5, a, 0.5), s = sqrt(z);
    f64 rest = s > 0 ? fma(-s, s, z) / (s + s) : 0.0;
    return (f64x2){2.0 * s, 2.0 * fma(s, k_asin_tail_f64(z), rest)};
}

static inline f64 k_asin_f64(f64 x)
{
    f64 a = fabs(x);
    f64x2 r = k_arc_above_half_f64(a), sum = k_sum_f64(0x1.921fb54442d18p+0, -r.x);
    f64 big = sum.x + (sum.y + (0x1.1a62633145c07p-54 - r.y));
    return copysign(a < 0.5 ? fma(a, k_asin_tail_f64(a * a), a) : big, x);
}

static inline f64 k_acos_f64(f64 x)
{
    f64 a = fabs(x);
    f64x2 r = k_arc_above_half_f64(a), back = k_sum_f64(0x1.921fb54442d18p+1, -r.x), sum = k_sum_f64(0x1.921fb54442d18p+0, -x);
    f64 big = x < 0 ? back.x + (back.y + (0x1.1a62633145c07p-53 - r.y)) : r.x + r.y;
    f64 small = sum.x + (sum.y + fma(-x, k_asin_tail_f64(a * a), 0x1.1a62633145c07p-54));
    return a < 0.5 ? small : big;
}

static inline f32 k_asin_f32(f32 x)
{
    return (f32)k_asin_f64((f64)x);
}

static inline f32 k_acos_f32(f32 x)
{
    return (f32)k_acos_f64((f64)x);
}

static inline f32 k_atan_f32(f32 x)
{
    return (f32)k_atan_f64((f64)x);
}

static inline f32 k_atan2_f32(f32 y, f32 x)
{
    return (f32)k_atan2_f64((f64)y, (f64)x);
}
#endif
