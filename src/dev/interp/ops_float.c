// Lane loops for f32 and f64. IEEE, nearest even, never contracted (-ffp-contract=off); must agree
// bit for bit with ir_eval, but for the payload of a NaN. Start at the table at the end.
#include <math.h>

#include "dev/interp/engine.h"
#include "dev/interp/loops.h"

#define TERNARY(name, T, expr)                                                                     \
    static void name(void *dv, const void *av, const void *bv, const void *cv)                     \
    {                                                                                              \
        T *d = dv;                                                                                 \
        const T *a = av, *b = bv, *c = cv;                                                         \
        LANE_LOOP for (int i = 0; i < LANES; i++)                                                  \
        {                                                                                          \
            T x = a[i], y = b[i], z = c[i];                                                        \
            d[i] = expr;                                                                           \
        }                                                                                          \
    }

static inline float min_f32(float x, float y)
{
    return isnan(x) ? y : isnan(y) ? x : x == y ? (signbit(x) ? x : y) : x < y ? x : y;
}
static inline float max_f32(float x, float y)
{
    return isnan(x) ? y : isnan(y) ? x : x == y ? (signbit(x) ? y : x) : x > y ? x : y;
}
static inline double min_f64(double x, double y)
{
    return isnan(x) ? y : isnan(y) ? x : x == y ? (signbit(x) ? x : y) : x < y ? x : y;
}
static inline double max_f64(double x, double y)
{
    return isnan(x) ? y : isnan(y) ? x : x == y ? (signbit(x) ? y : x) : x > y ? x : y;
}

#define FLOATS(w)                                                                                  \
    BINARY(fadd_##w, lane_f##w, lane_f##w, x + y)                                                  \
    BINARY(fsub_##w, lane_f##w, lane_f##w, x - y)                                                  \
    BINARY(fmul_##w, lane_f##w, lane_f##w, x *y)                                                   \
    BINARY(fdiv_##w, lane_f##w, lane_f##w, x / y)                                                  \
    BINARY(fmin_##w, lane_f##w, lane_f##w, min_f##w(x, y))                                         \
    BINARY(fmax_##w, lane_f##w, lane_f##w, max_f##w(x, y))                                         \
    BINARY(feq_##w, lane_f##w, lane_u8, x == y)                                                    \
    BINARY(fne_##w, lane_f##w, lane_u8, x != y)                                                    \
    BINARY(flt_##w, lane_f##w, lane_u8, x < y)                                                     \
    BINARY(fle_##w, lane_f##w, lane_u8, x <= y)                                                    \
    UNARY(fneg_##w, lane_u##w, x ^ ((uint##w##_t)1 << (w - 1)))                                    \
    UNARY(fabs_##w, lane_u##w, x & ~((uint##w##_t)1 << (w - 1)))                                   \
    BINARY(fcopysign_##w, lane_u##w, lane_u##w,                                                    \
           (x & ~((uint##w##_t)1 << (w - 1))) | (y & ((uint##w##_t)1 << (w - 1))))
FLOATS(32)
FLOATS(64)

UNARY(fsqrt_32, lane_f32, sqrtf(x))
UNARY(fsqrt_64, lane_f64, sqrt(x))
UNARY(ffloor_32, lane_f32, floorf(x))
UNARY(ffloor_64, lane_f64, floor(x))
UNARY(fceil_32, lane_f32, ceilf(x))
UNARY(fceil_64, lane_f64, ceil(x))
UNARY(ftrunc_32, lane_f32, truncf(x))
UNARY(ftrunc_64, lane_f64, trunc(x))
UNARY(frint_32, lane_f32, rintf(x))
UNARY(frint_64, lane_f64, rint(x))
TERNARY(ffma_32, lane_f32, fmaf(x, y, z))
TERNARY(ffma_64, lane_f64, fma(x, y, z))

// Outside the promise of equal bits: the best answer, rounded once.
UNARY(fast_exp2, lane_f32, exp2((double)x))
UNARY(fast_log2, lane_f32, log2((double)x))
UNARY(fast_sin, lane_f32, sin((double)x))
UNARY(fast_cos, lane_f32, cos((double)x))
UNARY(fast_tanh, lane_f32, tanh((double)x))
UNARY(fast_rcp, lane_f32, 1.0 / (double)x)
UNARY(fast_rsqrt, lane_f32, 1.0 / sqrt((double)x))
UNARY(fast_sqrt, lane_f32, sqrt((double)x))
BINARY(fast_div, lane_f32, lane_f32, (double)x / (double)y)

typedef lane_fn *by_width[2]; // f32, f64
#define BOTH(name)                                                                                 \
    {                                                                                              \
        name##_32, name##_64                                                                       \
    }

// clang-format off
static const by_width float_table[IR_OP_COUNT] = {
    [IR_FADD] = BOTH(fadd),       [IR_FSUB] = BOTH(fsub),   [IR_FMUL] = BOTH(fmul),
    [IR_FDIV] = BOTH(fdiv),       [IR_FFMA] = BOTH(ffma),   [IR_FSQRT] = BOTH(fsqrt),
    [IR_FNEG] = BOTH(fneg),       [IR_FABS] = BOTH(fabs),   [IR_FCOPYSIGN] = BOTH(fcopysign),
    [IR_FMIN] = BOTH(fmin),       [IR_FMAX] = BOTH(fmax),   [IR_FFLOOR] = BOTH(ffloor),
    [IR_FCEIL] = BOTH(fceil),     [IR_FTRUNC] = BOTH(ftrunc), [IR_FRINT] = BOTH(frint),
    [IR_FEQ] = BOTH(feq),         [IR_FNE] = BOTH(fne),     [IR_FLT] = BOTH(flt),
    [IR_FLE] = BOTH(fle),
    [IR_FAST_EXP2] = {fast_exp2}, [IR_FAST_LOG2] = {fast_log2}, [IR_FAST_SIN] = {fast_sin},
    [IR_FAST_COS] = {fast_cos},   [IR_FAST_TANH] = {fast_tanh}, [IR_FAST_RCP] = {fast_rcp},
    [IR_FAST_RSQRT] = {fast_rsqrt}, [IR_FAST_SQRT] = {fast_sqrt}, [IR_FAST_DIV] = {fast_div},
};
// clang-format on

lane_fn *LANE_NAME(lane_find_float)(ir_op op, ir_type type)
{
    return type == IR_F32 ? float_table[op][0] : type == IR_F64 ? float_table[op][1] : NULL;
}

#undef BINARY
#undef UNARY
#undef TERNARY
#undef FLOATS
#undef BOTH
