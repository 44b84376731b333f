// The functions of the math library, each beside the C library's in twice the precision and MPFR's.
//
// The library text is what gcc makes of lib/*.h: the same operations as on every device. `bound` is
// the error of the C library's function in its own ulps: at least twice what glibc's manual states;
// ulp.c checks it against MPFR as it goes. Start reading at the table.
#include "ulp.h"

#define FOR_ALL for (u32 i = 0; i < n; i++)
#define OURS1(name)                                                                                \
    static void ours_##name##_f32(const f64 *x, const f64 *y, f64 *out, u32 n)                     \
    {                                                                                              \
        (void)y;                                                                                   \
        FOR_ALL out[i] = (f64)k_##name##_f32((f32)x[i]);                                           \
    }                                                                                              \
    static void ours_##name##_f64(const f64 *x, const f64 *y, f64 *out, u32 n)                     \
    {                                                                                              \
        (void)y;                                                                                   \
        FOR_ALL out[i] = k_##name##_f64(x[i]);                                                     \
    }
#define OURS2(name)                                                                                \
    static void ours_##name##_f32(const f64 *x, const f64 *y, f64 *out, u32 n)                     \
    {                                                                                              \
        FOR_ALL out[i] = (f64)k_##name##_f32((f32)x[i], (f32)y[i]);                                \
    }                                                                                              \
    static void ours_##name##_f64(const f64 *x, const f64 *y, f64 *out, u32 n)                     \
    {                                                                                              \
        FOR_ALL out[i] = k_##name##_f64(x[i], y[i]);                                               \
    }
// The C library's functions; its names are macros here.
#define WRAP1(name)                                                                                \
    static void plain_##name(const f64 *x, const f64 *y, f64 *out, u32 n)                          \
    {                                                                                              \
        (void)y;                                                                                   \
        FOR_ALL out[i] = __builtin_##name(x[i]);                                                   \
    }                                                                                              \
    static void wide_##name(const f64 *x, const f64 *y, long double *out, u32 n)                   \
    {                                                                                              \
        (void)y;                                                                                   \
        FOR_ALL out[i] = __builtin_##name##l((long double)x[i]);                                   \
    }
#define WRAP2(name)                                                                                \
    static void plain_##name(const f64 *x, const f64 *y, f64 *out, u32 n)                          \
    {                                                                                              \
        FOR_ALL out[i] = __builtin_##name(x[i], y[i]);                                             \
    }                                                                                              \
    static void wide_##name(const f64 *x, const f64 *y, long double *out, u32 n)                   \
    {                                                                                              \
        FOR_ALL out[i] = __builtin_##name##l((long double)x[i], (long double)y[i]);                \
    }

// clang-format off
// Operations of the language: the host's instruction stands for them.
#define k_sqrt_f32  kiln_sqrt_f32
#define k_sqrt_f64  kiln_sqrt_f64
#define k_floor_f32 kiln_floor_f32
#define k_floor_f64 kiln_floor_f64
#define k_ceil_f32  kiln_ceil_f32
#define k_ceil_f64  kiln_ceil_f64
#define k_trunc_f32 kiln_trunc_f32
#define k_trunc_f64 kiln_trunc_f64
#define k_rint_f32  kiln_rint_f32
#define k_rint_f64  kiln_rint_f64
#define BOTH1(name) OURS1(name) WRAP1(name)
#define BOTH2(name) OURS2(name) WRAP2(name)
BOTH1(sqrt) BOTH1(floor) BOTH1(ceil) BOTH1(trunc) BOTH1(rint) BOTH1(round) BOTH1(cbrt)
BOTH1(exp) BOTH1(exp2) BOTH1(expm1) BOTH1(log) BOTH1(log2) BOTH1(log10) BOTH1(log1p)
BOTH1(sin) BOTH1(cos) BOTH1(tan) BOTH1(asin) BOTH1(acos) BOTH1(atan)
BOTH1(sinh) BOTH1(cosh) BOTH1(tanh) BOTH1(erf) BOTH1(erfc) BOTH1(tgamma)
BOTH2(pow) BOTH2(atan2) BOTH2(fmod) BOTH2(remainder) BOTH2(hypot)
OURS1(rsqrt) OURS1(lgamma)
    // clang-format on

    static void plain_rsqrt(const f64 *x, const f64 *y, f64 *out, u32 n)
{
    (void)y;
    FOR_ALL out[i] = 1.0 / __builtin_sqrt(x[i]);
}
static void wide_rsqrt(const f64 *x, const f64 *y, long double *out, u32 n)
{
    (void)y;
    FOR_ALL out[i] = 1.0L / __builtin_sqrtl((long double)x[i]);
}
static void plain_lgamma(const f64 *x, const f64 *y, f64 *out, u32 n)
{
    (void)y;
    int sign;
    FOR_ALL out[i] = lgamma_r(x[i], &sign);
}
static void wide_lgamma(const f64 *x, const f64 *y, long double *out, u32 n)
{
    (void)y;
    int sign;
    FOR_ALL out[i] = lgammal_r((long double)x[i], &sign);
}

static int exact_lgamma(mpfr_t y, const mpfr_t x, mpfr_rnd_t rnd)
{
    int sign;
    return mpfr_lgamma(y, &sign, x, rnd);
}
#define EXACT_INT(name, as)                                                                        \
    static int exact_##name(mpfr_t y, const mpfr_t x, mpfr_rnd_t rnd)                              \
    {                                                                                              \
        (void)rnd;                                                                                 \
        return as;                                                                                 \
    }
EXACT_INT(floor, mpfr_floor(y, x))
EXACT_INT(ceil, mpfr_ceil(y, x))
EXACT_INT(trunc, mpfr_trunc(y, x))
EXACT_INT(round, mpfr_round(y, x))
EXACT_INT(rint, mpfr_rint(y, x, MPFR_RNDN))

// clang-format off
#define ONE(name, from, to, limit32, limit64, bound, ...) ONE_AS(name, mpfr_##name, from, to, limit32, limit64, bound, __VA_ARGS__)
#define ONE_AS(name_, exact, from, to, limit32, limit64, bound_, ...)                                                                                 \
    {.name = #name_, .type = "f32", .ours = ours_##name_##_f32, .plain = plain_##name_, .mpfr_1 = exact, .low = from, .high = to, .limit = limit32, .bound = bound_}, \
    {.name = #name_, .type = "f64", .ours = ours_##name_##_f64, .wide = wide_##name_, .mpfr_1 = exact, .low = from, .high = to, .limit = limit64, .bound = bound_, __VA_ARGS__},
#define TWO(name_, from, to, limit32, limit64, bound_, how)                                                                                                                 \
    {.name = #name_, .type = "f32", .ours = ours_##name_##_f32, .plain = plain_##name_, .mpfr_2 = mpfr_##name_, .low = from, .high = to, .limit = limit32, .bound = bound_, .pair = how}, \
    {.name = #name_, .type = "f64", .ours = ours_##name_##_f64, .wide = wide_##name_, .mpfr_2 = mpfr_##name_, .low = from, .high = to, .limit = limit64, .bound = bound_, .pair = how},

const function functions[] = {
    ONE_AS(floor, exact_floor, -1e3, 1e3, 0, 0, 0, .pair = ALONE)
    ONE_AS(ceil, exact_ceil, -1e3, 1e3, 0, 0, 0, .pair = ALONE)
    ONE_AS(trunc, exact_trunc, -1e3, 1e3, 0, 0, 0, .pair = ALONE)
    ONE_AS(rint, exact_rint, -1e3, 1e3, 0, 0, 0, .pair = ALONE)
    ONE_AS(round, exact_round, -1e3, 1e3, 0, 0, 0, .pair = ALONE)
    ONE(sqrt, 0, 4, 0.5, 0.5, 1, .pair = ALONE)
    ONE_AS(rsqrt, mpfr_rec_sqrt, 0, 4, 1, 1.5, 2, .pair = ALONE)
    ONE(cbrt, -10, 10, 1, 1.5, 8, .pair = ALONE)
    ONE(exp, -745, 710, 1, 1.5, 4, .edges = {709.782712893384, -745.1332191019411, -708.3964185322641, 0.34657359027997264})
    ONE(exp2, -1080, 1030, 1, 1.5, 4, .edges = {1024, -1074, -1022, -1075})
    ONE(expm1, -40, 710, 1, 1.5, 8, .edges = {709.782712893384, -37.42994775023705, 0.34657359027997264, -0.34657359027997264})
    ONE(log, 0, 4, 1, 1.5, 4, .pair = ALONE)
    ONE(log2, 0, 4, 1, 1.5, 4, .pair = ALONE)
    ONE(log10, 0, 4, 1, 1.5, 4, .pair = ALONE)
    ONE(log1p, -1, 3, 1, 1.5, 6, .edges = {-0.2928932188134524, 0.41421356237309503})
    ONE(sin, -100, 100, 1, 1.5, 4, .edges = {0.7853981633974483})
    ONE(cos, -100, 100, 1, 1.5, 4, .edges = {0.7853981633974483})
    ONE(tan, -100, 100, 1, 1.5, 4, .edges = {0.7853981633974483})
    ONE(asin, -1, 1, 1, 1.5, 4, .pair = ALONE)
    ONE(acos, -1, 1, 1, 1.5, 4, .pair = ALONE)
    ONE(atan, -10, 10, 1, 1.5, 4, .pair = ALONE)
    ONE(sinh, -20, 20, 1, 1.5, 10, .edges = {710.4758600739439, -710.4758600739439, 0.34657359027997264})
    ONE(cosh, -20, 20, 1, 1.5, 6, .edges = {710.4758600739439, -710.4758600739439, 0.34657359027997264})
    ONE(tanh, -20, 20, 1, 1.5, 8, .edges = {19.061547465398498, 0.34657359027997264})
    ONE(erf, -7, 7, 1, 1.5, 4, .edges = {5.921587195794507, 0.84375, 1.25})
    ONE(erfc, -7, 28, 1, 2, 10, .edges = {26.543258454250982, 27.226017111108366, -5.863584748755168})
    ONE_AS(tgamma, mpfr_gamma, -180, 175, 2, 2, 20, .edges = {171.6243769563027, -170.5674972726612, -177.78077, -184.0})
    ONE_AS(lgamma, exact_lgamma, -20, 200, 2, 2, 16, .edges = {-2.4570247382208006, -2.747682646727413, -3.143580888349981, -3.955294284858598, -4.039361839740537, -4.991544640560048, -5.008218168440115, -5.998607480080876})
    TWO(pow, -100, 100, 2, 2, 4, PAIR_POWER)
    TWO(atan2, -10, 10, 1, 1.5, 4, PAIR_RATIO)
    TWO(fmod, -100, 100, 0, 0, 0, PAIR_MULTIPLE)
    TWO(remainder, -100, 100, 0, 0, 0, PAIR_MULTIPLE)
    TWO(hypot, -100, 100, 1, 1.5, 2, PAIR_RATIO)
};
// clang-format on

const u32 function_count = sizeof functions / sizeof *functions;
