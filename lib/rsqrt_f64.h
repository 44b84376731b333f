// rsqrt of f64 in Kiln C; host compilers read the same text.
#ifndef KILN_LIB_RSQRT_F64_H
#define KILN_LIB_RSQRT_F64_H
#include "core_f64.h"

static inline f64 k_rsqrt_f64(f64 x)
{
    bool is_small = x < 1e-280;
    f64 a = is_small ? x * 0x1p200 : x, s = sqrt(a), y = 1.0 / s;
    // a = s^2 + rest; 1/sqrt(a) = (1/s) (1 - rest / (2 s^2))
    f64 rest = fma(-s, s, a), e = fma(-y, s, 1.0);
    f64 better = fma(y, e - 0.5 * rest * y * y, y);
    better = is_small ? better * 0x1p100 : better;
    return x > 0 && x < KILN_INF64 ? better : y;
}
#endif
