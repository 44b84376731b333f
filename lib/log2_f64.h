// log2 of f64 in Kiln C, as log_f64.h; host compilers read the same text.
#ifndef KILN_LIB_LOG2_F64_H
#define KILN_LIB_LOG2_F64_H
#include "log_f64.h"

static inline f64 k_log2_f64(f64 x)
{
    f64x2 s = k_log_split_f64(x), p = k_log1p_parts_f64(s.y);
    f64x2 high = k_product_f64(p.x, 0x1.71547652b82fep+0);
    f64x2 sum = k_sum_f64(s.x, high.x);
    f64 low = fma(p.x, 0x1.777d0ffda0d24p-56, high.y) + p.y * 0x1.71547652b82fep+0;
    return k_log_edges_f64(x, sum.x + (sum.y + low));
}
#endif
