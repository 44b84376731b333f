// kiln/activate.h: what the rows of ops/elementwise/elementwise.def call beside the functions of
// the language. SMOOTH says how exact they are: 16 where all tensors have 16 bits, 32 where the
// numbers are f32; where it is missing they are those of the language, for f64.
#ifndef KILN_ACTIVATE_H
#define KILN_ACTIVATE_H

#include <kiln/narrow.h>

#ifndef SMOOTH
#    define exp_below(x)            exp(x)
#    define gelu_of(x)              ((x) * (1 + erf((x)*0.7071067811865476)) * 0.5)
#    define over_one_plus_exp(a, x) ((a) / (1 + exp(x)))
#    define gelu_slope_of(x)                                                                       \
        ((1 + erf((x)*0.7071067811865476)) * 0.5 + (x)*0.3989422804014327 * exp((x) * (x) * -0.5))
#elif SMOOTH == 16
#    define exp_below(x)            narrow_exp(x)
#    define gelu_of(x)              narrow_gelu(x)
#    define gelu_slope_of(x)        narrow_gelu_slope(x)
#    define over_one_plus_exp(a, x) narrow_over_one_plus_exp(a, x)
#    define tanh(x)                 narrow_tanh(x)
#else
#    define exp_below(x)            smooth_exp(x)
#    define gelu_of(x)              smooth_gelu(x)
#    define gelu_slope_of(x)        smooth_gelu_slope(x)
#    define over_one_plus_exp(a, x) smooth_over_one_plus_exp(a, x)
#    define tanh(x)                 smooth_tanh(x)
#endif

#endif
