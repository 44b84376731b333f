// pow of f64 in Kiln C: exp(y log |x|), the logarithm in two parts; host compilers read the same text.
#ifndef KILN_LIB_POW_F64_H
#define KILN_LIB_POW_F64_H
#include "wide.h"

static inline f64 k_pow_f64(f64 x, f64 y)
{
    f64 a = fabs(x);
    f64x2 log = k_log_wide_f64(a, 0.0);
    f64x2 p = k_times_f64(log, y);
    f64 edge = a == 0 ? -KILN_INF64 * y : a * y; // a is infinite or a NaN
    bool is_plain = a > 0 && a < KILN_INF64 && fabs(p.x) < 800.0;
    f64 high = is_plain ? p.x : a > 0 && a < KILN_INF64 ? p.x : edge;
    high = high > 800.0 ? 800.0 : high < -800.0 ? -800.0 : high;
    k_power e = k_exp_wide_f64(high, is_plain ? p.y : 0.0);
    f64 result = k_scale_f64(e.x + e.y, e.bits);
    bool is_whole = trunc(y) == y, is_odd = is_whole && fabs(y) < 0x1p53 && ((i64)y & 1) != 0;
    result = x < 0 && a < KILN_INF64 && !is_whole ? KILN_NAN64 : result;
    result = is_odd ? copysign(result, x) : result;
    return x == 1 || y == 0 || (x == -1 && fabs(y) == KILN_INF64) ? 1.0 : result;
}
#endif
