// ops.h: operations that come with the library, each one description and one call.
//
// Every call checks its description, picks the fastest kernel for the device, compiles it when it
// is needed first and keeps it with the device's handle, and launches it on the description's
// stream. Kernels are written in Kiln C; they are in the folder ops/ of the source.
#ifndef KILN_OPS_H
#define KILN_OPS_H

#include "kiln/kiln.h"

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
    KILN_MATMUL_PORTABLE
} kiln_matmul_kernel;

// What else is chosen for the kernel for sm_90a, where tile_m and tile_n are given. A tile is
// tile_m rows of a and tile_n columns of b.
typedef struct kiln_matmul_sm90 {
    bool is_swapped;  // a tile is tile_m columns of b and tile_n rows of a
    bool is_pingpong; // two warpgroups have tiles of their own: one multiplies, the other stores
    uint32_t stages;  // of the ring of tiles in shared memory, at most 24; 0: as many as fit
    uint32_t group;   // rows of tiles that are worked on together, a power of two; 0: chosen
    uint32_t split_k; // blocks that share the sum of a tile: 1, 2, 4, 8; 0: 1
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
    kiln_epilogue epilogue;
    kiln_stream *stream; // NULL: the device's own
    // On sm_90a the kernel may be set up while the kernel before it on the stream still runs; it
    // waits for that one's results by itself. This switches that off.
    bool waits_for_previous;
    bool b_is_constant; // no kernel on a stream writes b: the kernel may read it while others run
    kiln_matmul_kernel kernel; // instead of the best
    uint32_t tile_m, tile_n;   // of the kernel; 0: chosen, with all of sm90
    kiln_matmul_sm90 sm90;
} kiln_matmul_desc;
KILN_API kiln_status kiln_matmul(kiln *k, const kiln_matmul_desc *desc);

// --- attention: out = softmax(scale * q * transposed k) * v, row by row
typedef enum kiln_attention_kernel {
    KILN_ATTENTION_BEST,
    KILN_ATTENTION_SM90, // wgmma and the copy engine: sm_90a; head_dim 64, 128, 256; bf16 and f16
    KILN_ATTENTION_PORTABLE
} kiln_attention_kernel;

// Sizes come from the views: [batch, heads, queries, head_dim], with any strides. A packed tensor
// [batch, length, 3, heads, head_dim] is sliced and permuted (kiln_view_index, kiln_view_permute),
// one head for all is broadcast. The kernel for sm_90a needs contiguous rows that start at
// multiples of 16 bytes; without them KILN_ATTENTION_BEST is the portable one. Types: bf16, f16,
// f32, the same for all but lse; sums are f32. Each heads / kv_heads neighbouring heads of q share
// one of k and v.
typedef struct kiln_attention_desc {
    kiln_view q;         // [batch, heads, queries, head_dim]
    kiln_view k, v;      // [batch, kv_heads, keys, head_dim]
    kiln_view out;       // as q; has no element in common with the others
    kiln_view lse;       // [batch, heads, queries] f32: logarithm of each row's sum of e to the
                         // scaled score; without a buffer it is not computed
    bool is_causal;      // the last query sees all keys, each one before it one less
    float scale;         // 0: one over the root of head_dim
    kiln_stream *stream; // NULL: the device's own
    kiln_attention_kernel kernel;     // instead of the best
    uint32_t tile_queries, tile_keys; // instead of the best; 0: chosen
} kiln_attention_desc;
KILN_API kiln_status kiln_attention_forward(kiln *k, const kiln_attention_desc *desc);

// Gradients of attention: dq, dk and dv of a number whose gradient by `out` is dout. Views as in
// the forward call. A head of k and v that several heads of q share gets the sum of their
// gradients; one that a view broadcasts does not: dk and dv have an element for each of theirs.
typedef struct kiln_attention_backward_desc {
    kiln_view q, k, v;   // of the forward call
    kiln_view out, lse;  // its results
    kiln_view dout;      // as out
    kiln_view dq;        // as q; results have no element in common with others
    kiln_view dk, dv;    // as k and v
    kiln_view workspace; // f32, dense: as many elements as kiln_attention_backward_workspace says
    bool is_causal;      // as in the forward call
    float scale;         // the same; 0: one over the root of head_dim
    kiln_stream *stream; // NULL: the device's own
    kiln_attention_kernel kernel; // instead of the best; sm_90a: head_dim 64 and 128
} kiln_attention_backward_desc;
// Of the description only q, k and what is not a view is read.
KILN_API kiln_status kiln_attention_backward_workspace(kiln *k,
                                                       const kiln_attention_backward_desc *desc,
                                                       uint64_t *elements);
// dk and dv are the same bits every time; on sm_90a dq is a sum in changing order.
KILN_API kiln_status kiln_attention_backward(kiln *k, const kiln_attention_backward_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
