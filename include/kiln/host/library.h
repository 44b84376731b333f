// The part of the language that is itself written in Kiln C (lib/): reductions, scans, elementary
// functions. The host's compiler reads the same text as Kiln, so it computes the same bits; where
// the text is not installed the host's own library stands in (close, not bit for bit).
#ifndef KILN_HOST_LIBRARY_H
#define KILN_HOST_LIBRARY_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#if __has_include("../lib/reduce.h")
#    include "../lib/fragment.h"
#    include "../lib/grid_reduce.h"
#    include "../lib/grid_scan.h"
#    include "../lib/vec.h"
#elif __has_include("../../../lib/reduce.h")
#    include "../../../lib/fragment.h"
#    include "../../../lib/grid_reduce.h"
#    include "../../../lib/grid_scan.h"
#    include "../../../lib/vec.h"
#endif
#if __has_include("../lib/gamma.h")
#    define KILN_HOST_HAS_MATH 1
#    include "../lib/arc.h"
#    include "../lib/erf_f32.h"
#    include "../lib/erfc.h"
#    include "../lib/exp2_f32.h"
#    include "../lib/exp2_f64.h"
#    include "../lib/exp_f32.h"
#    include "../lib/expm1_f32.h"
#    include "../lib/expm1_f64.h"
#    include "../lib/gamma.h"
#    include "../lib/hyper.h"
#    include "../lib/log10_f32.h"
#    include "../lib/log10_f64.h"
#    include "../lib/log1p_f32.h"
#    include "../lib/log1p_f64.h"
#    include "../lib/log2_f32.h"
#    include "../lib/log2_f64.h"
#    include "../lib/modulo.h"
#    include "../lib/normal_f32.h"
#    include "../lib/normal_f64.h"
#    include "../lib/pow_f32.h"
#    include "../lib/pow_f64.h"
#    include "../lib/random.h"
#    include "../lib/root.h"
#    include "../lib/round.h"
#    include "../lib/rsqrt_f32.h"
#    include "../lib/rsqrt_f64.h"
#    include "../lib/tan.h"
#    include "../lib/tanh_f32.h"
#    include "../lib/tanh_f64.h"
#    include "../lib/trig_f32.h"
#elif __has_include("../../../lib/gamma.h")
#    define KILN_HOST_HAS_MATH 1
#    include "../../../lib/arc.h"
#    include "../../../lib/erf_f32.h"
#    include "../../../lib/erfc.h"
#    include "../../../lib/exp2_f32.h"
#    include "../../../lib/exp2_f64.h"
#    include "../../../lib/exp_f32.h"
#    include "../../../lib/expm1_f32.h"
#    include "../../../lib/expm1_f64.h"
#    include "../../../lib/gamma.h"
#    include "../../../lib/hyper.h"
#    include "../../../lib/log10_f32.h"
#    include "../../../lib/log10_f64.h"
#    include "../../../lib/log1p_f32.h"
#    include "../../../lib/log1p_f64.h"
#    include "../../../lib/log2_f32.h"
#    include "../../../lib/log2_f64.h"
#    include "../../../lib/modulo.h"
#    include "../../../lib/normal_f32.h"
#    include "../../../lib/normal_f64.h"
#    include "../../../lib/pow_f32.h"
#    include "../../../lib/pow_f64.h"
#    include "../../../lib/random.h"
#    include "../../../lib/root.h"
#    include "../../../lib/round.h"
#    include "../../../lib/rsqrt_f32.h"
#    include "../../../lib/rsqrt_f64.h"
#    include "../../../lib/tan.h"
#    include "../../../lib/tanh_f32.h"
#    include "../../../lib/tanh_f64.h"
#    include "../../../lib/trig_f32.h"
#endif
#pragma GCC diagnostic pop

#ifndef KILN_HOST_HAS_MATH
#    define KILN_BORROW1(name)                                                                     \
        static inline f32 k_##name##_f32(f32 x)                                                    \
        {                                                                                          \
            return __builtin_##name##f(x);                                                         \
        }                                                                                          \
        static inline f64 k_##name##_f64(f64 x)                                                    \
        {                                                                                          \
            return __builtin_##name(x);                                                            \
        }
#    define KILN_BORROW2(name)                                                                     \
        static inline f32 k_##name##_f32(f32 x, f32 y)                                             \
        {                                                                                          \
            return __builtin_##name##f(x, y);                                                      \
        }                                                                                          \
        static inline f64 k_##name##_f64(f64 x, f64 y)                                             \
        {                                                                                          \
            return __builtin_##name(x, y);                                                         \
        }
// clang-format off
KILN_BORROW1(round) KILN_BORROW1(cbrt)  KILN_BORROW1(exp)   KILN_BORROW1(exp2)  KILN_BORROW1(expm1) KILN_BORROW1(log)
KILN_BORROW1(log2)  KILN_BORROW1(log10) KILN_BORROW1(log1p) KILN_BORROW1(sin)   KILN_BORROW1(cos)   KILN_BORROW1(tan)
KILN_BORROW1(asin)  KILN_BORROW1(acos)  KILN_BORROW1(atan)  KILN_BORROW1(sinh)  KILN_BORROW1(cosh)  KILN_BORROW1(tanh)
KILN_BORROW1(erf)   KILN_BORROW1(erfc)  KILN_BORROW1(tgamma) KILN_BORROW1(lgamma)
KILN_BORROW2(pow)   KILN_BORROW2(atan2) KILN_BORROW2(fmod)  KILN_BORROW2(remainder) KILN_BORROW2(hypot)
    // clang-format on
    static inline f32 k_rsqrt_f32(f32 x)
{
    return 1.0f / kiln_sqrt_f32(x);
}
static inline f64 k_rsqrt_f64(f64 x)
{
    return 1.0 / kiln_sqrt_f64(x);
}
#endif

// clang-format off
#define round(x)        KILN_MATH1(k_round, x)
#define rsqrt(x)        KILN_MATH1(k_rsqrt, x)
#define cbrt(x)         KILN_MATH1(k_cbrt, x)
#define exp(x)          KILN_MATH1(k_exp, x)
#define exp2(x)         KILN_MATH1(k_exp2, x)
#define expm1(x)        KILN_MATH1(k_expm1, x)
#define log(x)          KILN_MATH1(k_log, x)
#define log2(x)         KILN_MATH1(k_log2, x)
#define log10(x)        KILN_MATH1(k_log10, x)
#define log1p(x)        KILN_MATH1(k_log1p, x)
#define pow(x, y)       KILN_MATH2(k_pow, x, y)
#define sin(x)          KILN_MATH1(k_sin, x)
#define cos(x)          KILN_MATH1(k_cos, x)
#define tan(x)          KILN_MATH1(k_tan, x)
#define asin(x)         KILN_MATH1(k_asin, x)
#define acos(x)         KILN_MATH1(k_acos, x)
#define atan(x)         KILN_MATH1(k_atan, x)
#define atan2(y, x)     KILN_MATH2(k_atan2, y, x)
#define sinh(x)         KILN_MATH1(k_sinh, x)
#define cosh(x)         KILN_MATH1(k_cosh, x)
#define tanh(x)         KILN_MATH1(k_tanh, x)
#define erf(x)          KILN_MATH1(k_erf, x)
#define erfc(x)         KILN_MATH1(k_erfc, x)
#define tgamma(x)       KILN_MATH1(k_tgamma, x)
#define lgamma(x)       KILN_MATH1(k_lgamma, x)
#define fmod(x, y)      KILN_MATH2(k_fmod, x, y)
#define remainder(x, y) KILN_MATH2(k_remainder, x, y)
#define hypot(x, y)     KILN_MATH2(k_hypot, x, y)
#define roundf(x)       k_round_f32(x)
#define rsqrtf(x)       k_rsqrt_f32(x)
#define cbrtf(x)        k_cbrt_f32(x)
#define expf(x)         k_exp_f32(x)
#define exp2f(x)        k_exp2_f32(x)
#define expm1f(x)       k_expm1_f32(x)
#define logf(x)         k_log_f32(x)
#define log2f(x)        k_log2_f32(x)
#define log10f(x)       k_log10_f32(x)
#define log1pf(x)       k_log1p_f32(x)
#define powf(x, y)      k_pow_f32(x, y)
#define sinf(x)         k_sin_f32(x)
#define cosf(x)         k_cos_f32(x)
#define tanf(x)         k_tan_f32(x)
#define asinf(x)        k_asin_f32(x)
#define acosf(x)        k_acos_f32(x)
#define atanf(x)        k_atan_f32(x)
#define atan2f(y, x)    k_atan2_f32(y, x)
#define sinhf(x)        k_sinh_f32(x)
#define coshf(x)        k_cosh_f32(x)
#define tanhf(x)        k_tanh_f32(x)
#define erff(x)         k_erf_f32(x)
#define erfcf(x)        k_erfc_f32(x)
#define tgammaf(x)      k_tgamma_f32(x)
#define lgammaf(x)      k_lgamma_f32(x)
#define fmodf(x, y)     k_fmod_f32(x, y)
#define remainderf(x, y) k_remainder_f32(x, y)
#define hypotf(x, y)    k_hypot_f32(x, y)

// --- random numbers; an argument may be a compound literal with commas
#define philox(...)     k_philox(__VA_ARGS__)
#define pcg32_seed(...) k_pcg32_seed(__VA_ARGS__)
#define pcg32_step(...) k_pcg32_step(__VA_ARGS__)
#define pcg32(...)      k_pcg32(__VA_ARGS__)
#define uniform_f32(...) k_uniform_f32(__VA_ARGS__)
#define uniform_f64(...) k_uniform_f64(__VA_ARGS__)
#define normal_f32(...) k_normal_f32(__VA_ARGS__)
#define normal_f64(...) k_normal_f64(__VA_ARGS__)

// --- reductions and scans
#define warp_sum(v)     KILN_BY_NUM(k_warp_sum, (v) + 0)(v)
#define warp_min(v)     KILN_BY_NUM(k_warp_min, (v) + 0)(v)
#define warp_max(v)     KILN_BY_NUM(k_warp_max, (v) + 0)(v)
#define warp_and(v)     KILN_BY_WORD(k_warp_and, (v) + 0)(v)
#define warp_or(v)      KILN_BY_WORD(k_warp_or, (v) + 0)(v)
#define warp_xor(v)     KILN_BY_WORD(k_warp_xor, (v) + 0)(v)
#define block_sum(v)    KILN_BY_NUM(k_block_sum, (v) + 0)(v)
#define block_min(v)    KILN_BY_NUM(k_block_min, (v) + 0)(v)
#define block_max(v)    KILN_BY_NUM(k_block_max, (v) + 0)(v)
#define block_and(v)    KILN_BY_WORD(k_block_and, (v) + 0)(v)
#define block_or(v)     KILN_BY_WORD(k_block_or, (v) + 0)(v)
#define block_xor(v)    KILN_BY_WORD(k_block_xor, (v) + 0)(v)
#define block_any(c)    k_block_any(c)
#define block_all(c)    k_block_all(c)
#define block_count(c)  k_block_count(c)
#define warp_scan_sum(v)         KILN_BY_NUM(k_warp_scan_sum, (v) + 0)(v)
#define warp_scan_min(v)         KILN_BY_NUM(k_warp_scan_min, (v) + 0)(v)
#define warp_scan_max(v)         KILN_BY_NUM(k_warp_scan_max, (v) + 0)(v)
#define warp_scan_sum_before(v)  KILN_BY_NUM(k_warp_scan_sum_before, (v) + 0)(v)
#define block_scan_sum(v)        KILN_BY_NUM(k_block_scan_sum, (v) + 0)(v)
#define block_scan_min(v)        KILN_BY_NUM(k_block_scan_min, (v) + 0)(v)
#define block_scan_max(v)        KILN_BY_NUM(k_block_scan_max, (v) + 0)(v)
#define block_scan_sum_before(v) KILN_BY_NUM(k_block_scan_sum_before, (v) + 0)(v)
#define grid_is_last(ticket)     k_grid_is_last(ticket)
#define grid_sum(v, partial, ticket) KILN_BY_NUM(k_grid_sum, *(partial))(v, KILN_AT(partial), ticket)
#define grid_min(v, partial, ticket) KILN_BY_NUM(k_grid_min, *(partial))(v, KILN_AT(partial), ticket)
#define grid_max(v, partial, ticket) KILN_BY_NUM(k_grid_max, *(partial))(v, KILN_AT(partial), ticket)
#define grid_and(v, partial, ticket) KILN_BY_WORD(k_grid_and, *(partial))(v, KILN_AT(partial), ticket)
#define grid_or(v, partial, ticket)  KILN_BY_WORD(k_grid_or, *(partial))(v, KILN_AT(partial), ticket)
#define grid_xor(v, partial, ticket) KILN_BY_WORD(k_grid_xor, *(partial))(v, KILN_AT(partial), ticket)
#define grid_scan_sum(v, totals, ticket) KILN_BY_NUM(k_grid_scan_sum, *(totals))(v, KILN_AT(totals), ticket)
#define grid_scan_min(v, totals, ticket) KILN_BY_NUM(k_grid_scan_min, *(totals))(v, KILN_AT(totals), ticket)
#define grid_scan_max(v, totals, ticket) KILN_BY_NUM(k_grid_scan_max, *(totals))(v, KILN_AT(totals), ticket)
#define grid_scan_sum_before(v, totals, ticket) KILN_BY_NUM(k_grid_scan_sum_before, *(totals))(v, KILN_AT(totals), ticket)
#define grid_scan_sum_end(v, totals) KILN_BY_NUM(k_grid_scan_sum_end, *(totals))(v, KILN_AT(totals))
#define grid_scan_min_end(v, totals) KILN_BY_NUM(k_grid_scan_min_end, *(totals))(v, KILN_AT(totals))
#define grid_scan_max_end(v, totals) KILN_BY_NUM(k_grid_scan_max_end, *(totals))(v, KILN_AT(totals))
#define grid_scan_sum_before_end(v, totals) KILN_BY_NUM(k_grid_scan_sum_before_end, *(totals))(v, KILN_AT(totals))

// --- vectors
#define KILN_FLOAT_VECTORS(name)  f32x2: name##_f32x2, f32x3: name##_f32x3, f32x4: name##_f32x4, f64x2: name##_f64x2
#define KILN_SIGNED_VECTORS(name) KILN_FLOAT_VECTORS(name), i32x2: name##_i32x2, i32x3: name##_i32x3, i32x4: name##_i32x4, i64x2: name##_i64x2
#define KILN_VECTORS(name)        KILN_SIGNED_VECTORS(name), u32x2: name##_u32x2, u32x3: name##_u32x3, u32x4: name##_u32x4, u64x2: name##_u64x2
#define vec_add(a, b)        _Generic((a), KILN_VECTORS(k_vec_add))(a, b)
#define vec_sub(a, b)        _Generic((a), KILN_VECTORS(k_vec_sub))(a, b)
#define vec_mul(a, b)        _Generic((a), KILN_VECTORS(k_vec_mul))(a, b)
#define vec_div(a, b)        _Generic((a), KILN_VECTORS(k_vec_div))(a, b)
#define vec_scale(a, s)      _Generic((a), KILN_VECTORS(k_vec_scale))(a, s)
#define vec_min(a, b)        _Generic((a), KILN_VECTORS(k_vec_min))(a, b)
#define vec_max(a, b)        _Generic((a), KILN_VECTORS(k_vec_max))(a, b)
#define vec_clamp(a, b, c)   _Generic((a), KILN_VECTORS(k_vec_clamp))(a, b, c)
#define vec_neg(a)           _Generic((a), KILN_SIGNED_VECTORS(k_vec_neg))(a)
#define vec_abs(a)           _Generic((a), KILN_SIGNED_VECTORS(k_vec_abs))(a)
#define vec_sum(a)           _Generic((a), KILN_VECTORS(k_vec_sum))(a)
#define vec_dot(a, b)        _Generic((a), KILN_VECTORS(k_vec_dot))(a, b)
#define vec_fma(a, b, c)     _Generic((a), KILN_FLOAT_VECTORS(k_vec_fma))(a, b, c)
#define vec_lerp(a, b, t)    _Generic((a), KILN_FLOAT_VECTORS(k_vec_lerp))(a, b, t)
#define vec_length(a)        _Generic((a), KILN_FLOAT_VECTORS(k_vec_length))(a)
#define vec_distance(a, b)   _Generic((a), KILN_FLOAT_VECTORS(k_vec_distance))(a, b)
#define vec_normalize(a)     _Generic((a), KILN_FLOAT_VECTORS(k_vec_normalize))(a)
#define vec_cross(a, b)      k_vec_cross(a, b)

// --- matrix fragments
#define KILN_BY_FRAGMENT(name, p) _Generic(*(p), f16: name##_f16, bf16: name##_bf16, i8: name##_i8)
#define fragment_load_a(words, from, stride)   KILN_BY_FRAGMENT(k_fragment_load_a, from)(words, from, stride)
#define fragment_load_a_t(words, from, stride) KILN_BY_FRAGMENT(k_fragment_load_a_t, from)(words, from, stride)
#define fragment_load_b(words, from, stride)   KILN_BY_FRAGMENT(k_fragment_load_b, from)(words, from, stride)
#define fragment_load_b_t(words, from, stride) KILN_BY_FRAGMENT(k_fragment_load_b_t, from)(words, from, stride)
#define fragment_fetch_a(words, from, stride)   KILN_BY_FRAGMENT(k_fragment_fetch_a, from)(words, from, stride)
#define fragment_fetch_a_t(words, from, stride) KILN_BY_FRAGMENT(k_fragment_fetch_a_t, from)(words, from, stride)
#define fragment_fetch_b(words, from, stride)   KILN_BY_FRAGMENT(k_fragment_fetch_b, from)(words, from, stride)
#define fragment_fetch_b_t(words, from, stride) KILN_BY_FRAGMENT(k_fragment_fetch_b_t, from)(words, from, stride)
#define fragment_multiply_f16(sum, a, b)  k_fragment_multiply_f16(sum, a, b)
#define fragment_multiply_bf16(sum, a, b) k_fragment_multiply_bf16(sum, a, b)
#define fragment_multiply_i8(sum, a, b)   k_fragment_multiply_i8(sum, a, b)
#define fragment_store(to, stride, sum)   _Generic(*(to), f32: k_fragment_store_f32, i32: k_fragment_store_i32)(to, stride, sum)
#define fragment_row(element)    k_fragment_row(element)
#define fragment_column(element) k_fragment_column(element)
// clang-format on

#endif
