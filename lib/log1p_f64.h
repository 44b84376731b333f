// log1p of f64 in Kiln C, as log_f64.h; host compilers read the same text.
#ifndef KILN_LIB_LOG1P_F64_H
#define KILN_LIB_LOG1P_F64_H
#include "log_f64.h"

static inline f64 k_log1p_f64(f64 x)
{
    f64 u = 1.0 + x;
    i64 e = (i64)(bits_f64(u) - 0x3fe6a09e667f3bcdu) >> 52;
    f64 scale = f64_from_bits(0x3ff0000000000000u - ((u64)e << 52)), k = (f64)(i32)e;
    f64x2 f = k_sum_any_f64(x * scale, scale - 1.0);
    f64 big = f64_from_bits(bits_f64(u) - ((u64)e << 52)) - 1.0; // where the 1 does not count
    f = (f64x2){x > 1e20 ? big : f.x, x > 1e20 ? 0.0 : f.y};
    f64x2 p = k_log1p_parts_f64(f.x);
    f64x2 sum = k_sum_f64(k * 0x1.62e42fefa38p-1, p.x);
    f64 low = fma(k, 0x1.ef35793c7673p-45, p.y) + f.y / (1.0 + f.x);
    f64 y = k_log_edges_f64(u, sum.x + (sum.y + low));
    return fabs(x) < 1e-17 ? x : y;
}
#endif
