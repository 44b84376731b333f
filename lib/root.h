// cbrt and hypot in Kiln C; host compilers read the same text. f32 is computed in f64.
#ifndef KILN_LIB_ROOT_H
#define KILN_LIB_ROOT_H
#include "core_f32.h"
#include "core_f64.h"

static inline f32 k_cbrt_f32(f32 x)
{
    f64 a = (f64)fabs(x);
    u32 high = (u32)(bits_f64(a) >> 32);
    f64 y = f64_from_bits((u64)(high / 3 + 0x2a9f7893u) << 32);
    f64 c = y * y * y;
    y = y * (c + a + a) / (c + c + a);
    c = y * y * y;
    y = y * (c + a + a) / (c + c + a);
    f32 edge = x == 0 || !(fabs(x) < KILN_INF32) ? x : (f32)y;
    return copysign(edge, x);
}

static inline f64 k_cbrt_f64(f64 x)
{
    f64 a = fabs(x);
    bool is_small = a < 2.2250738585072014e-308;
    a = is_small ? a * 0x1p54 : a;
    u32 high = (u32)(bits_f64(a) >> 32);
    f64 y = f64_from_bits((u64)(high / 3 + 0x2a9f7893u) << 32);
    // the exponent is taken out, so that no cube overflows
    u64 e = bits_f64(y) >> 52;
    f64 unit = f64_from_bits((2046 - e) << 52);
    a = a * unit * unit * unit;
    y = y * unit;
    f64 c = y * y * y;
    y = y * (c + a + a) / (c + c + a);
    c = y * y * y;
    y = y * (c + a + a) / (c + c + a);
    // one Newton step with the exact residual
    f64 s = y * y, s_low = fma(y, y, -s);
    f64 rest = fma(-s, y, a) - s_low * y;
    y = y + rest / (3.0 * s);
    y = y * f64_from_bits(e << 52);
    y = is_small ? y * 0x1p-18 : y;
    return copysign(x == 0 || !(fabs(x) < KILN_INF64) ? x : y, x);
}

static inline f32 k_hypot_f32(f32 x, f32 y)
{
    f64 a = (f64)x, b = (f64)y;
    f32 h = (f32)sqrt(fma(a, a, b * b));
    return fabs(x) == KILN_INF32 || fabs(y) == KILN_INF32 ? KILN_INF32 : h;
}

static inline f64 k_hypot_f64(f64 x, f64 y)
{
    f64 a = fabs(x), b = fabs(y);
    f64 big = a < b ? b : a, small = a < b ? a : b;
    f64 scale = big > 0x1p500 ? 0x1p-600 : big < 0x1p-450 ? 0x1p600 : 1.0;
    f64 back = big > 0x1p500 ? 0x1p600 : big < 0x1p-450 ? 0x1p-600 : 1.0;
    big *= scale;
    small *= scale;
    f64x2 p = k_product_f64(big, big), q = k_product_f64(small, small), sum = k_sum_f64(p.x, q.x);
    f64 h = sqrt(sum.x), rest = fma(-h, h, sum.x) + (sum.y + (p.y + q.y));
    f64 result = (h > 0 ? h + rest / (h + h) : h) * back;
    result = a != a || b != b ? KILN_NAN64 : result;
    return a == KILN_INF64 || b == KILN_INF64 ? KILN_INF64 : result;
}
#endif
