// What all matrix product kernels share: types chosen by macros, the order of tiles, the epilogue.
// BM, BN and GROUP are tunables of the file that includes this.
#ifndef KILN_GEMM_TYPES_H
#define KILN_GEMM_TYPES_H

// WGMMA is the product of sm_90a; of 16-bit types it takes the layouts of the operands, too.
#if defined(TYPE_f16)
typedef f16 in_t;
#define WGMMA(...) wgmma_f16(__VA_ARGS__, WGMMA_LAYOUT)
#elif defined(TYPE_tf32) || defined(TYPE_f32)
typedef f32 in_t;
#define WGMMA wgmma_tf32
#elif defined(TYPE_e4m3)
typedef f8e4 in_t;
#define WGMMA wgmma_e4m3
#elif defined(TYPE_s8)
typedef i8 in_t;
#define WGMMA wgmma_s8
#else
typedef bf16 in_t;
#define WGMMA(...) wgmma_bf16(__VA_ARGS__, WGMMA_LAYOUT)
#endif

#if defined(TYPE_s8)
typedef i32 acc_t;
typedef i32x4 acc4;
#else
typedef f32 acc_t;
typedef f32x4 acc4;
#endif

static acc4 plus(acc4 a, acc4 b)
{
    return (acc4){a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

#if defined(OUT_s32)
typedef i32 out_t;
#define TO_OUT(x) (x)
#elif defined(OUT_f32)
typedef f32 out_t;
#define TO_OUT(x)   (x)
#define FROM_OUT(x) (x)
#elif defined(OUT_f16)
typedef f16 out_t;
#define TO_OUT(x) to_f16(x)
#define FROM_OUT(x) f32(x)
#define PACK      pack_f16
#else
typedef bf16 out_t;
#define TO_OUT(x) to_bf16(x)
#define FROM_OUT(x) f32(x)
#define PACK      pack_bf16
#endif

tune(A_IS_MN, 0, 1); // the operand is stored [K,M] instead of [M,K]
tune(B_IS_MN, 0, 1); // … [K,N] instead of [N,K]
#define WGMMA_LAYOUT ((A_IS_MN ? wgmma_a_mn : 0) | (B_IS_MN ? wgmma_b_mn : 0))

// Groups of GROUP tile rows, column by column inside a group: neighbours share operands in the cache.
static u32x2 tile_at(u32 t, u32 rows, u32 columns)
{
    u32 width = GROUP * columns, group = t / width, first = group * GROUP;
    u32 height = min(rows - first, (u32)GROUP), rest = t - group * width, n = rest / height;
    return (u32x2){(first + rest - n * height) * BM, n * BN};
}

#if defined(EPILOGUE_bias) || defined(EPILOGUE_bias_gelu) || defined(EPILOGUE_bias_relu) ||        \
    defined(EPILOGUE_bias_silu)
#define HAS_BIAS 1
#else
#define HAS_BIAS 0
#endif

static f32 epilogue(f32 x, f32 bias)
{
    x += bias;
#if defined(EPILOGUE_bias_gelu)
    f32 inner = 0.7978845608f * (x + 0.044715f * x * x * x);
#if defined(OUT_f32) // keeps what the hardware's tanh would lose
    return 0.5f * x * (1.0f + tanh(inner));
#else
    return 0.5f * x * (1.0f + fast_tanh(inner));
#endif
#elif defined(EPILOGUE_bias_relu)
    return max(x, 0.0f);
#elif defined(EPILOGUE_bias_silu)
    return x * fast_rcp(1.0f + fast_exp2(-1.4426950409f * x));
#else
    return x;
#endif
}

static acc_t finished(acc_t x, const f32 *bias, u32 column)
{
    return HAS_BIAS ? (acc_t)epilogue((f32)x, bias[column]) : x;
}

#endif
