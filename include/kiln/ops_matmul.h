// ops_matmul.h: matrix products, with what may follow them, and their gradients.
#ifndef KILN_OPS_MATMUL_H
#define KILN_OPS_MATMUL_H

#include "kiln/kiln.h"

#pragma push_macro("kernel") // a mark of kiln/kernel.h
#undef kernel

#ifdef __cplusplus
extern "C" {
#endif

// --- matrix product: out = finish(a * b)
typedef enum kiln_epilogue { // what is done to each element before it is stored
    KILN_EPILOGUE_NONE,
    KILN_EPILOGUE_BIAS, // bias[column] is added
    KILN_EPILOGUE_BIAS_RELU,
    KILN_EPILOGUE_BIAS_GELU, // the tanh form
    KILN_EPILOGUE_BIAS_SILU
} kiln_epilogue;

typedef enum kiln_matmul_kernel {
    KILN_MATMUL_BEST,
    KILN_MATMUL_SM90, // wgmma and the copy engine: sm_90a
    KILN_MATMUL_SM80, // mma and asynchronous copies: sm_80 and later
    KILN_MATMUL_PORTABLE,
    KILN_MATMUL_CPU,  // sums in the vector registers of a CPU: cpu and interp
    KILN_MATMUL_THIN, // few rows or columns, mma: sm_80 and later
    KILN_MATMUL_SMALL // sums straight from memory, of 16-bit operands: every device; short ones,
                      // of tf32, too: sm_80 and later
} kiln_matmul_kernel;

// What else is chosen for the kernel for sm_90a, where tile_m and tile_n are given. A tile is
// tile_m rows of a and tile_n columns of b.
typedef struct kiln_matmul_sm90 {
    bool is_swapped;  // a tile is tile_m columns of b and tile_n rows of a
    bool is_pingpong; // two warpgroups have tiles of their own: one multiplies, the other stores
    uint32_t stages;  // of the ring of tiles in shared memory, at most 24; 0: as many as fit
    uint32_t group;   // rows of tiles that are worked on together, a power of two; 0: chosen
    uint32_t split_k; // blocks that share the sum of a tile: 1, 2, 4, 8; 0: 1
    uint32_t
        sharers;    // blocks with tiles below each other that load their columns together, 1, 2, 4
    uint32_t parts; // of k, up to 256: a second kernel adds their sums; 0: 1
    // With is_pingpong the last narrow_columns columns of tiles may be narrow_n wide instead of
    // tile_n; 0: none.
    uint32_t narrow_n, narrow_columns;
} kiln_matmul_sm90;

// Types of a and b: bf16, f16, f8e4 (out: f32, f16, bf16), f32 (out: f32; with is_tf32 f16 and bf16
// too), i8 (out: i32, no epilogue). Sums are f32, for i8 i32. A transposed operand is a view with
// exchanged strides: kiln_view_transpose. Dimensions in front of the last two are batches; those of
// a and b are broadcast to those of out. Any strides are possible; operands in which neither the
// rows nor the columns are contiguous are much slower.
typedef struct kiln_matmul_desc {
    kiln_view a;    // [..., m, k]
    kiln_view b;    // [..., k, n]
    kiln_view out;  // [..., m, n]; must not overlap the others
    kiln_view bias; // [n] f32; nothing without an epilogue
    bool is_tf32; // f32 operands are rounded to tf32 (10 bits after the point) where that is faster
    // f32 operands may be sums of two tf32 numbers, multiplied by the matrix unit (sm_90a) in three
    // products: 22 bits of each operand count instead of 24, and with an infinite operand the sum
    // is NaN. Elsewhere it is the plain product.
    bool is_tf32x3;
    kiln_epilogue epilogue;
    kiln_stream *stream; // NULL: the device's own
    // On sm_90a the kernel may be set up while the kernel before it on the stream still runs; it
    // waits for that one's results by itself. This switches that off.
    bool waits_for_previous;
    bool b_is_constant; // no kernel on a stream writes b: the kernel may read it while others run
    kiln_matmul_kernel kernel; // instead of the best
    uint32_t tile_m, tile_n;   // of the kernel; 0: chosen, with all of sm90
    kiln_matmul_sm90 sm90;
    // Factors of the sum, f32, in front of the bias. For the whole: [1]; for each row of a: [m];
    // for each column of b: [n]. With factors an i8 product may be f32, f16 or bf16 and have an
    // epilogue. For blocks of 128 along k, of f8e4 and i8: a_scale [m, k / 128] and b_scale [k /
    // 128, n / 128], both rounded up; each 128 products are summed by themselves, scaled, and added
    // in f32. The same factors are for all batches.
    kiln_view a_scale, b_scale;
    // [..., m, n] of out's type: added behind the activation. It may be out itself.
    kiln_view residual;
    // [..., m, n] of out's type: what the activation gets is stored there, for
    // kiln_matmul_backward.
    kiln_view pre;
} kiln_matmul_desc;
KILN_API kiln_status kiln_matmul(kiln *k, const kiln_matmul_desc *desc);
// Several products in one launch, as a mixture of experts has them: a is [rows, k], b is [groups,
// k, n], out is [rows, n]. Group g multiplies the rows from ends[g - 1] (0 for the first) up to
// ends[g] by b[g]; rows behind the last end are left alone. ends is i32 [groups], rising, on the
// device: it may be the result of another kernel. kernel may be KILN_MATMUL_SM90 (with its tile_m
// 64 or 128 and tile_n) or KILN_MATMUL_PORTABLE. Factors are a_scale [1] or [rows] and b_scale [1],
// [n], or for each group [groups, 1] or [groups, n]; none for blocks.
KILN_API kiln_status kiln_matmul_grouped(kiln *k, const kiln_matmul_desc *desc, kiln_view ends);

// Gradients of kiln_matmul: of a number whose gradient by `out` is dout. That of the residual is
// dout itself. a and b are bf16, f16 or f32; dout, `saved` and the results have the types of the
// forward call. Sizes in front of the last two are the same for all; where b has two dimensions, it
// was the same for all batches, and db is the sum of theirs.
typedef struct kiln_matmul_backward_desc {
    kiln_view a;        // [..., m, k]
    kiln_view b;        // [..., k, n]
    kiln_view dout;     // [..., m, n]
    kiln_view saved;    // [..., m, n]: `pre` of the forward call, of relu its result without a
                        // residual as well; may be left out where there is no activation
    kiln_view da;       // as a; without a buffer it is not computed
    kiln_view db;       // as b; without a buffer it is not computed
    kiln_view dbias;    // [n] f32; without a buffer it is not computed
    kiln_view a_scale;  // of the forward call, or none: [1], [m]
    kiln_view b_scale;  // of the forward call, or none: [1], [n]
    kiln_view da_scale; // as a_scale; without a buffer it is not computed. Gradients of factors
                        // take one more product, the sums of the forward call
    kiln_view db_scale; // as b_scale; without a buffer it is not computed
    kiln_epilogue epilogue;
    bool is_tf32; // as in the forward call
    kiln_stream *stream;
} kiln_matmul_backward_desc;
KILN_API kiln_status kiln_matmul_backward(kiln *k, const kiln_matmul_backward_desc *desc);

#ifdef __cplusplus
}
#endif
#pragma pop_macro("kernel")

#endif
