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

// Nothing is read or stored where it is not inside.
static f32 ended(f32 x, ends e, ends_steps at, u32 row, u32 column, bool is_inside)
{
    f32 bias = 0.0f;
    if (!is_inside)
        return 0.0f;
#if defined(SCALED_A)
    x *= e.a_scale[(u64)row * at.a_row];
#endif
#if defined(SCALED_B)
    x *= e.b_scale[(u64)column * at.b_column];
#endif
#if HAS_BIAS
    bias = e.bias[(u64)column * at.bias];
#endif
#if defined(HAS_PRE)
    e.pre[(i64)row * at.pre[0] + (i64)column * at.pre[1]] = TO_OUT(x + bias);
#endif
#if HAS_BIAS
    x = epilogue(x, bias);
#endif
#if defined(HAS_RESIDUAL)
    x += FROM_OUT(e.residual[(i64)row * at.residual[0] + (i64)column * at.residual[1]]);
#endif
    return x;
}

#endif
