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

// a - b * floor(a / b), with the sign of b, and that floor: as fmod, the remainder is exact.
#define KILN_FLOORED(T)                                                                            \
    static inline T remainder_of_##T(T a, T b)                                                     \
    {                                                                                              \
        T rest = fmod(a, b);                                                                       \
        return rest != (T)0 && (rest < (T)0) != (b < (T)0) ? rest + b : rest;                      \
    }                                                                                              \
    static inline T floor_divide_of_##T(T a, T b)                                                  \
    {                                                                                              \
        T rest = fmod(a, b), whole = rint((a - rest) / b);                                         \
        T below = rest != (T)0 && (rest < (T)0) != (b < (T)0) ? (T)1 : (T)0;                       \
        return b == (T)0 ? a / b : whole - below;                                                  \
    }
KILN_FLOORED(f32)
KILN_FLOORED(f64)
#undef KILN_FLOORED
#define remainder_of(a, b) _Generic((a), f64 : remainder_of_f64, default : remainder_of_f32)(a, b)
#define floor_divide_of(a, b)                                                                      \
    _Generic((a), f64 : floor_divide_of_f64, default : floor_divide_of_f32)(a, b)

#endif
