// What may follow a sum, for scaled_sm90.c and gemm_finish.c: factors of its row and column, bias,
// activation, a residual; what the activation gets may be stored, too. Macros as in scaled_sm90.c.
#ifndef KILN_GEMM_ENDS_H
#define KILN_GEMM_ENDS_H

// Elements from one row (column, block of K, group) to the next; 0: one number for all.
typedef struct ends_steps {
    i64 residual[2], pre[2]; // rows, columns
    u32 out, bias;           // rows of the result; numbers of the bias
    u32 a_row, a_k, b_column, b_k, b_group, unused;
} ends_steps;

typedef struct ends {
    const f32 *bias, *a_scale, *b_scale;
    const out_t *residual;
    out_t *pre;
} ends;

#if HAS_BIAS
#define ENDS_BIAS         const f32 *bias,
#define ENDS_GET_BIAS(e)  (e).bias = bias
#else
#define ENDS_BIAS
#define ENDS_GET_BIAS(e)  (e).bias = (const f32 *)0
#endif
#if defined(SCALED_A) || defined(BLOCKED)
#define ENDS_A_SCALE         const f32 *a_scale,
#define ENDS_GET_A_SCALE(e)  (e).a_scale = a_scale
#else
#define ENDS_A_SCALE
#define ENDS_GET_A_SCALE(e)  (e).a_scale = (const f32 *)0
#endif
#if defined(SCALED_B) || defined(BLOCKED)
#define ENDS_B_SCALE         const f32 *b_scale,
#define ENDS_GET_B_SCALE(e)  (e).b_scale = b_scale
#else
#define ENDS_B_SCALE
#define ENDS_GET_B_SCALE(e)  (e).b_scale = (const f32 *)0
#endif
#if defined(HAS_RESIDUAL)
#define ENDS_RESIDUAL        const out_t *residual,
#define ENDS_GET_RESIDUAL(e) (e).residual = residual
#else
#define ENDS_RESIDUAL
#define ENDS_GET_RESIDUAL(e) (e).residual = (const out_t *)0
#endif
#if defined(HAS_PRE)
#define ENDS_PRE        out_t *pre,
#define ENDS_GET_PRE(e) (e).pre = pre
#else
#define ENDS_PRE
#define ENDS_GET_PRE(e) (e).pre = (out_t *)0
#endif
// Parameters of a kernel, and how they become an `ends`.
#define ENDS_PARAMETERS ENDS_BIAS ENDS_A_SCALE ENDS_B_SCALE ENDS_RESIDUAL ENDS_PRE
#define ENDS_GATHER(e)                                                                              \
    do {                                                                                           \
        ENDS_GET_BIAS(e);                                                                          \
        ENDS_GET_A_SCALE(e);                                                                       \
        ENDS_GET_B_SCALE(e);                                                                       \
        ENDS_GET_RESIDUAL(e);                                                                      \
        ENDS_GET_PRE(e);                                                                           \
    } while (0)

#if defined(OUT_f16)
#define pair_bits(x, y) ((u32)bits_f16(x) | (u32)bits_f16(y) << 16)
#elif defined(PACK)
#define pair_bits(x, y) ((u32)bits_bf16(x) | (u32)bits_bf16(y) << 16)
#endif

#if defined(SCALED_A)
#define ROW_FACTOR(e, at, row) ((e).a_scale[(u64)(row) * (at).a_row])
#else
#define ROW_FACTOR(e, at, row) 1.0f
#endif
#if defined(SCALED_B)
#if defined(GROUPED)
#define COLUMN_FACTOR(e, at, group, column)                                                        \
    ((e).b_scale[(u64)(column) * (at).b_column + (u64)(group) * (at).b_group])
#else
#define COLUMN_FACTOR(e, at, group, column) ((e).b_scale[(u64)(column) * (at).b_column])
#endif
#else
#define COLUMN_FACTOR(e, at, group, column) 1.0f
#endif
#if HAS_BIAS
#define BIAS_OF(e, at, column) ((e).bias[(u64)(column) * (at).bias])
#else
#define BIAS_OF(e, at, column) 0.0f
#endif

// A number before the activation, and behind it.
static f32 scaled(f32 sum, f32 of_row, f32 of_column, f32 bias)
{
#if defined(SCALED_A) || defined(SCALED_B)
    sum *= of_row * of_column;
#endif
    return HAS_BIAS ? sum + bias : sum;
}

static f32 activated(f32 x)
{
    return HAS_BIAS ? epilogue(x, 0.0f) : x;
}

static f32 residual_at(ends e, ends_steps at, u32 row, u32 column)
{
#if defined(HAS_RESIDUAL)
    return FROM_OUT(e.residual[(i64)row * at.residual[0] + (i64)column * at.residual[1]]);
#else
    return 0.0f;
#endif
}

static void keep_pre(ends e, ends_steps at, u32 row, u32 column, f32 x)
{
#if defined(HAS_PRE)
    e.pre[(i64)row * at.pre[0] + (i64)column * at.pre[1]] = TO_OUT(x);
#endif
}

#endif
