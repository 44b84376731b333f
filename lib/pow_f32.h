// pow of f32 in Kiln C: 2^(y log2 |x|) in f64; host compilers read the same text.
#ifndef KILN_LIB_POW_F32_H
#define KILN_LIB_POW_F32_H
#include "core_f32.h"
#include "core_f64.h"

static inline f32 k_pow_f32(f32 x, f32 y)
{
    f64 a = (f64)fabs(x);
    u64 bits = bits_f64(a);
    i64 e = (i64)(bits - 0x3fe6a09e667f3bcdu) >> 52;
    f64 m = f64_from_bits(bits - ((u64)e << 52));
    f64 s = (m - 1.0) / (m + 1.0), z = s * s;
    f64 q = fma(0.282929809704440316, z, 0.319903666489231076);
    q = fma(q, z, 0.412209300772206966);
    q = fma(q, z, 0.577077941897080282);
    q = fma(q, z, 0.961796694114913087);
    q = fma(q, z, 2.88539008177784906);
    f64 log = fma(q, s, (f64)(i32)e);
    log = a == 0 ? -KILN_INF64 : a < KILN_INF64 ? log : a;
    f64 p = log * (f64)y;
    p = p > 200.0 ? 200.0 : p < -200.0 ? -200.0 : p;
    f64 t = p + KILN_ROUND64, r = p - (t - KILN_ROUND64);
    q = fma(1.3264071593911966e-6, r, 0.0000153100806596512104);
    q = fma(q, r, 0.00015403411595301181);
    q = fma(q, r, 0.00133334505633973788);
    q = fma(q, r, 0.00961812922856290255);
    q = fma(q, r, 0.0555041094121073858);
    q = fma(q, r, 0.240226506954679203);
    q = fma(q, r, 0.693147180545931829);
    q = fma(q, r, 1.0);
    f32 result = (f32)(q * f64_from_bits((bits_f64(t) << 52) + 0x3ff0000000000000u));
    bool is_whole = trunc(y) == y, is_odd = is_whole && fabs(y) < 16777216.0f && ((i32)y & 1) != 0;
    result = x < 0 && fabs(x) < KILN_INF32 && !is_whole ? KILN_NAN32 : result;
    result = is_odd ? copysign(result, x) : result;
    return x == 1 || y == 0 || (x == -1 && fabs(y) == KILN_INF32) ? 1.0f : result;
}
#endif
