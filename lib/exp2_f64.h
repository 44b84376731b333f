// exp2 of f64 in Kiln C, as exp_f64.h; host compilers read the same text.
#ifndef KILN_LIB_EXP2_F64_H
#define KILN_LIB_EXP2_F64_H
#include "exp_f64.h"

static inline f64 k_exp2_f64(f64 x)
{
    x = x > 1025.0 ? 1025.0 : x;
    x = x < -1080.0 ? -1080.0 : x;
    f64 t = x + KILN_ROUND64, n = x - (t - KILN_ROUND64);
    f64 r = n * 0x1.62e42fefa39efp-1;
    f64 low = fma(n, 0x1.62e42fefa39efp-1, -r) + n * 0x1.abc9e3b39803fp-56;
    return k_scale_f64(1.0 + (r + (low + k_exp_tail_f64(r))), bits_f64(t));
}
#endif
