// Lane loops for integers, comparisons of integers, and select. Each is a plain loop over 32 lanes
// that the C compiler turns into vector code; the rules are those of ir/ops.def and must agree bit
// for bit with ir_eval. Start at the table at the end.
#include "dev/interp/engine.h"
#include "dev/interp/loops.h"

#define SHIFT(name, S, U, width, expr)                                                             \
    static void name(void *dv, const void *av, const void *bv, const void *cv)                     \
    {                                                                                              \
        (void)cv;                                                                                  \
        U *d = dv;                                                                                 \
        const S *a = av;                                                                           \
        const lane_u32 *b = bv;                                                                    \
        LANE_LOOP for (int i = 0; i < LANES; i++)                                                  \
        {                                                                                          \
            S x = a[i];                                                                            \
            uint32_t n = b[i] & (width - 1);                                                       \
            d[i] = (U)(expr);                                                                      \
        }                                                                                          \
    }
#define SELECT(name, T)                                                                            \
    static void name(void *dv, const void *av, const void *bv, const void *cv)                     \
    {                                                                                              \
        T *d = dv;                                                                                 \
        const lane_u8 *a = av;                                                                     \
        const T *b = bv, *c = cv;                                                                  \
        LANE_LOOP for (int i = 0; i < LANES; i++) d[i] = a[i] ? b[i] : c[i];                       \
    }

// Signed arithmetic goes through unsigned numbers: it wraps.
BINARY(and_8, lane_u8, lane_u8, x &y)
BINARY(or_8, lane_u8, lane_u8, x | y)
BINARY(xor_8, lane_u8, lane_u8, x ^ y)
#define WIDTH(w)                                                                                   \
    BINARY(add_##w, lane_u##w, lane_u##w, x + y)                                                   \
    BINARY(sub_##w, lane_u##w, lane_u##w, x - y)                                                   \
    BINARY(mul_##w, lane_u##w, lane_u##w, x *y)                                                    \
    BINARY(and_##w, lane_u##w, lane_u##w, x &y)                                                    \
    BINARY(or_##w, lane_u##w, lane_u##w, x | y)                                                    \
    BINARY(xor_##w, lane_u##w, lane_u##w, x ^ y)                                                   \
    BINARY(sdiv_##w, lane_i##w, lane_u##w,                                                         \
           y == 0    ? 0                                                                           \
           : y == -1 ? (uint##w##_t)0 - (uint##w##_t)x                                             \
                     : (uint##w##_t)(x / y))                                                       \
    BINARY(udiv_##w, lane_u##w, lane_u##w, y == 0 ? 0 : x / y)                                     \
    BINARY(srem_##w, lane_i##w, lane_i##w, y == 0 ? x : y == -1 ? 0 : x % y)                       \
    BINARY(urem_##w, lane_u##w, lane_u##w, y == 0 ? x : x % y)                                     \
    BINARY(smin_##w, lane_i##w, lane_i##w, x < y ? x : y)                                          \
    BINARY(smax_##w, lane_i##w, lane_i##w, x > y ? x : y)                                          \
    BINARY(umin_##w, lane_u##w, lane_u##w, x < y ? x : y)                                          \
    BINARY(umax_##w, lane_u##w, lane_u##w, x > y ? x : y)                                          \
    BINARY(slt_##w, lane_i##w, lane_u8, x < y)                                                     \
    BINARY(sle_##w, lane_i##w, lane_u8, x <= y)                                                    \
    SHIFT(shl_##w, lane_u##w, lane_u##w, w, x << n)                                                \
    SHIFT(lshr_##w, lane_u##w, lane_u##w, w, x >> n)                                               \
    SHIFT(ashr_##w, lane_i##w, lane_i##w, w, x >> n)
WIDTH(32)
WIDTH(64)
#define ANY_WIDTH(w)                                                                               \
    BINARY(ieq_##w, lane_u##w, lane_u8, x == y)                                                    \
    BINARY(ine_##w, lane_u##w, lane_u8, x != y)                                                    \
    BINARY(ult_##w, lane_u##w, lane_u8, x < y)                                                     \
    BINARY(ule_##w, lane_u##w, lane_u8, x <= y)                                                    \
    SELECT(select_##w, lane_u##w)
ANY_WIDTH(8)
ANY_WIDTH(16)
ANY_WIDTH(32)
ANY_WIDTH(64)

BINARY(smulhi_32, lane_i32, lane_u32, (uint64_t)((int64_t)x *y) >> 32)
BINARY(umulhi_32, lane_u32, lane_u32, ((uint64_t)x * y) >> 32)

static uint64_t high_product(uint64_t x, uint64_t y)
{
    uint64_t xl = (uint32_t)x, xh = x >> 32, yl = (uint32_t)y, yh = y >> 32;
    uint64_t middle = xh * yl + ((xl * yl) >> 32);
    uint64_t other = xl * yh + (uint32_t)middle;
    return xh * yh + (middle >> 32) + (other >> 32);
}
BINARY(umulhi_64, lane_u64, lane_u64, high_product(x, y))
BINARY(smulhi_64, lane_i64, lane_u64,
       high_product((uint64_t)x, (uint64_t)y) - (x < 0 ? (uint64_t)y : 0) -
           (y < 0 ? (uint64_t)x : 0))

UNARY(popc_32, lane_u32, __builtin_popcount(x))
UNARY(popc_64, lane_u64, __builtin_popcountll(x))
UNARY(clz_32, lane_u32, x ? __builtin_clz(x) : 32)
UNARY(clz_64, lane_u64, x ? __builtin_clzll(x) : 64)
UNARY(ctz_32, lane_u32, x ? __builtin_ctz(x) : 32)
UNARY(ctz_64, lane_u64, x ? __builtin_ctzll(x) : 64)

static inline uint64_t reversed(uint64_t x)
{
    x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
    x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
    return __builtin_bswap64(x);
}
UNARY(brev_32, lane_u32, reversed(x) >> 32)
UNARY(brev_64, lane_u64, reversed(x))

#define TERNARY(name, T, Z, expr)                                                                  \
    static void name(void *dv, const void *av, const void *bv, const void *cv)                     \
    {                                                                                              \
        T *d = dv;                                                                                 \
        const T *a = av, *b = bv;                                                                  \
        const Z *c = cv;                                                                           \
        LANE_LOOP for (int i = 0; i < LANES; i++)                                                  \
        {                                                                                          \
            T x = a[i], y = b[i];                                                                  \
            Z z = c[i];                                                                            \
            d[i] = (T)(expr);                                                                      \
        }                                                                                          \
    }
TERNARY(fshl_32, lane_u32, lane_u32, z & 31 ? x << (z & 31) | y >> (32 - (z & 31)) : x)
TERNARY(fshl_64, lane_u64, lane_u32, z & 63 ? x << (z & 63) | y >> (64 - (z & 63)) : x)
#define BYTE(type, x, k) ((int32_t)(type)(x >> 8 * k))
#define DOT4(type, x, y)                                                                           \
    BYTE(type, x, 0) * BYTE(type, y, 0) + BYTE(type, x, 1) * BYTE(type, y, 1) +                    \
        BYTE(type, x, 2) * BYTE(type, y, 2) + BYTE(type, x, 3) * BYTE(type, y, 3)
TERNARY(dp4a_s_32, lane_u32, lane_u32, z + (uint32_t)(DOT4(int8_t, x, y)))
TERNARY(dp4a_u_32, lane_u32, lane_u32, z + (uint32_t)(DOT4(uint8_t, x, y)))

typedef lane_fn *by_type[IR_TYPE_COUNT];
#define BOTH(name)                                                                                 \
    {                                                                                              \
        [IR_I32] = name##_32, [IR_I64] = name##_64                                                 \
    }
#define LOGIC(name)                                                                                \
    {                                                                                              \
        [IR_I1] = name##_8, [IR_I32] = name##_32, [IR_I64] = name##_64                             \
    }
#define WIDTHS(name)                                                                               \
    {                                                                                              \
        [IR_I1] = name##_8, [IR_I8] = name##_8, [IR_I16] = name##_16, [IR_I32] = name##_32,        \
        [IR_I64] = name##_64                                                                       \
    }

// clang-format off
static const by_type int_table[IR_OP_COUNT] = {
    [IR_ADD] = BOTH(add),       [IR_SUB] = BOTH(sub),       [IR_MUL] = BOTH(mul),
    [IR_SMULHI] = BOTH(smulhi), [IR_UMULHI] = BOTH(umulhi), [IR_SDIV] = BOTH(sdiv),
    [IR_UDIV] = BOTH(udiv),     [IR_SREM] = BOTH(srem),     [IR_UREM] = BOTH(urem),
    [IR_AND] = LOGIC(and),      [IR_OR] = LOGIC(or),        [IR_XOR] = LOGIC(xor),
    [IR_SHL] = BOTH(shl),       [IR_LSHR] = BOTH(lshr),     [IR_ASHR] = BOTH(ashr),
    [IR_SMIN] = BOTH(smin),     [IR_SMAX] = BOTH(smax),     [IR_UMIN] = BOTH(umin),
    [IR_UMAX] = BOTH(umax),     [IR_POPC] = BOTH(popc),     [IR_CLZ] = BOTH(clz),
    [IR_CTZ] = BOTH(ctz),       [IR_SLT] = BOTH(slt),       [IR_SLE] = BOTH(sle),
    [IR_IEQ] = WIDTHS(ieq),     [IR_INE] = WIDTHS(ine),     [IR_ULT] = WIDTHS(ult),
    [IR_ULE] = WIDTHS(ule),     [IR_SELECT] = WIDTHS(select),
    [IR_PTRADD] = {[IR_I64] = add_64},
    [IR_BREV] = BOTH(brev),     [IR_FSHL] = BOTH(fshl),
    [IR_DP4A_S] = {[IR_I32] = dp4a_s_32}, [IR_DP4A_U] = {[IR_I32] = dp4a_u_32},
};
// clang-format on

lane_fn *LANE_NAME(lane_find_int)(ir_op op, ir_type type)
{
    static const uint8_t same_size[IR_TYPE_COUNT] = {
        [IR_F16] = IR_I16, [IR_BF16] = IR_I16, [IR_F8E4] = IR_I8,
        [IR_F8E5] = IR_I8, [IR_F32] = IR_I32,  [IR_F64] = IR_I64};
    if (ir_is_ptr(type))
        type = IR_I64;
    else if (ir_is_float(type) && op == IR_SELECT)
        type = (ir_type)same_size[type];
    return int_table[op][type];
}

#undef BINARY
#undef SHIFT
#undef UNARY
#undef SELECT
#undef WIDTH
#undef TERNARY
#undef BYTE
#undef DOT4
#undef ANY_WIDTH
#undef BOTH
#undef LOGIC
#undef WIDTHS
