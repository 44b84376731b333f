// ops.h: operations that come with the library, each one description and one call.
//
// Every call checks its description, picks the fastest kernel for the device, compiles it when it
// is needed first and keeps it with the device's handle, and launches it on the description's
// stream. Kernels are written in Kiln C; they are in the folder ops/ of the source.
#ifndef KILN_OPS_H
#define KILN_OPS_H

#include "kiln/kiln.h"
#include "kiln/ops_matmul.h"

#pragma push_macro("kernel") // a mark of kiln/kernel.h
#undef kernel

#ifdef __cplusplus
extern "C" {
#endif

// --- attention: out = softmax(scale * q * transposed k) * v, row by row
typedef enum kiln_attention_kernel {
    KILN_ATTENTION_BEST,
    KILN_ATTENTION_SM90, // wgmma and the copy engine: sm_90a; head_dim 32 to 256; bf16 and f16
    KILN_ATTENTION_PORTABLE,
    KILN_ATTENTION_DECODE, // forward, for few queries and many keys: sm_80 and later; bf16 and f16;
                           // head_dim a multiple of 8 up to 256
    KILN_ATTENTION_SM80    // mma and asynchronous copies: sm_80 and later; bf16 and f16; head_dim a
                           // multiple of 8 up to 256
} kiln_attention_kernel;

// Sizes come from the views: [batch, heads, queries, head_dim], with any strides. A packed tensor
// [batch, length, 3, heads, head_dim] is sliced and permuted (kiln_view_index, kiln_view_permute),
// one head for all is broadcast. The kernel for sm_90a needs contiguous rows that start at
// multiples of 16 bytes; without them KILN_ATTENTION_BEST is the portable one. Types: bf16, f16,
// f32, the same for all but lse (k and v: k_scale); sums are f32. Each heads / kv_heads
// neighbouring heads of q share one of k and v.
typedef struct kiln_attention_desc {
    kiln_view q;    // [batch, heads, queries, head_dim]
    kiln_view k, v; // [batch, kv_heads, keys, head_dim]
    kiln_view out;  // as q; has no element in common with the others
    kiln_view lse;  // [batch, heads, queries] f32: logarithm of each row's sum of e to the
                    // scaled score; without a buffer it is not computed
    // A cache of keys and values that is not full: [batch] i32, dense. Batch b sees its first
    // lengths[b] keys (none below 0, all above `keys`), and is_causal counts from there. A query
    // that sees no key has zeros as its result, and minus infinity in lse.
    kiln_view lengths;
    // A cache in pages: k and v are [pages, kv_heads, page_size, head_dim], and key number j of
    // batch b is key j % page_size of page pages[b, j / page_size]: [batch, n] i32 with contiguous
    // rows. A page number that does not exist stands for keys and values of zeros.
    kiln_view pages;
    bool is_causal;                   // the last query sees all keys, each one before it one less
    float scale;                      // 0: one over the root of head_dim
    kiln_stream *stream;              // NULL: the device's own
    kiln_attention_kernel kernel;     // instead of the best
    uint32_t tile_queries, tile_keys; // instead of the best; 0: chosen
    // A window: with is_causal a query sees keys up to its own. It sees window_left keys before its
    // own and window_right behind it, without limit where that is below 0.
    bool has_window;
    int32_t window_left, window_right;
    // Sequences of different lengths, rows one behind the other (batch: 1): sequence n has rows
    // q_offsets[n] to q_offsets[n + 1] - 1 of q and out, and those of k_offsets in k and v. Both:
    // [sequences + 1] i32, dense, ascending. Rows of no sequence have zeros as their result.
    kiln_view q_offsets, k_offsets;
    // Added to the scaled scores: [batch, heads, queries, keys] f32, f16 or bf16. A size of 1 is
    // broadcast, dimensions in front may be missing. Minus infinity hides a key. Not with offsets.
    kiln_view bias;
    // ALiBi: [heads] or [batch, heads] f32. slope * distance of the query's own key and the other
    // one is subtracted from the scaled score.
    kiln_view slopes;
    // A cache of f8e4 or f8e5, with q of f16 or bf16: k times k_scale, v times v_scale; 0: 1.
    float k_scale, v_scale;
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
    kiln_attention_kernel kernel; // instead of the best; sm_90a: head_dim 32 to 256
    bool has_window;              // this and the rest as in the forward call
    int32_t window_left, window_right;
    kiln_view q_offsets, k_offsets;
    kiln_view bias;
    kiln_view slopes;
    bool is_deterministic; // dq is the same bits every time, too: not by the kernels for sm_90a
    kiln_view dbias; // shape and type of bias: its gradient, summed over what it is broadcast to;
                     // without a buffer: none
} kiln_attention_backward_desc;
// Of the description only q, k, the views of a mask and what is not a view is read.
KILN_API kiln_status kiln_attention_backward_workspace(kiln *k,
                                                       const kiln_attention_backward_desc *desc,
                                                       uint64_t *elements);
// dk and dv are the same bits every time; on sm_90a dq is a sum in changing order, unless
// is_deterministic.
KILN_API kiln_status kiln_attention_backward(kiln *k, const kiln_attention_backward_desc *desc);

// --- convolution: a window of weights slides over a tensor
// Sizes come from the views: x [batch, channels, space…], weight [output channels, channels /
// groups, window…], out [batch, output channels, space…], with one, two or three dimensions of
// space. Any strides are possible: channels-last tensors (NHWC) are permuted views. Types: f16,
// bf16, f32, f64, the same for all views but the bias. Sums are f32, of f64 f64.
typedef enum kiln_activation {
    KILN_ACTIVATION_NONE,
    KILN_ACTIVATION_RELU,
    KILN_ACTIVATION_GELU, // the tanh form
    KILN_ACTIVATION_SILU
} kiln_activation;

// How the window slides, by dimension of space.
typedef struct kiln_window {
    uint32_t stride[3], dilation[3];      // 0: 1
    uint32_t pad_before[3], pad_after[3]; // zeros around the tensor
} kiln_window;

// Convolutions of f16 and bf16 run on tensor cores (sm_80 and later) where channels are contiguous,
// start at multiples of 16 bytes, and are a multiple of 8 in each group: channels-last tensors.
// Then the order of a sum is another, and a workspace is needed unless the weights lie as the
// kernel takes them: [output channels, window…, channels] for a convolution.
typedef enum kiln_conv_kernel {
    KILN_CONV_BEST,
    KILN_CONV_TENSOR,
    KILN_CONV_DIRECT, // any shape and layout; every device gives the same bits
    KILN_CONV_SM80    // tensor cores as sm_80 has them, where sm_90a has better ones
} kiln_conv_kernel;

// out = activation(convolution + bias). Along each dimension of space out has (size + pads -
// dilation * (window - 1) - 1) / stride + 1 elements.
//
// is_transposed: the gradient of a convolution by its operand, as a forward pass. weight is
// [channels, output channels / groups, window…], and x must have the size that the formula gives
// for out.
typedef struct kiln_conv_desc {
    kiln_view x, weight, out; // out has no element in common with the others
    kiln_view bias;           // [output channels], f32 or the type of x; without a buffer: none
    kiln_window window;
    uint32_t groups; // 0: 1
    bool is_transposed;
    kiln_activation activation;
    kiln_conv_kernel kernel; // instead of the best
    kiln_view workspace;     // f32, dense: as many elements as kiln_conv_workspace says; without a
                             // buffer and where it is needed the best kernel is the direct one
    kiln_stream *stream;     // NULL: the device's own
} kiln_conv_desc;
KILN_API kiln_status kiln_conv_forward(kiln *k, const kiln_conv_desc *desc);
KILN_API kiln_status kiln_conv_workspace(kiln *k, const kiln_conv_desc *desc, uint64_t *elements);

// Gradients by x, weight and bias of a number whose gradient by the result, before the activation,
// is dout. Sums have the same order every time.
typedef struct kiln_conv_backward_desc {
    kiln_view x, weight;          // of the forward call
    kiln_view dout;               // as out
    kiln_view dx, dweight, dbias; // as x, weight, bias; without a buffer: not wanted
    kiln_window window;           // as in the forward call
    uint32_t groups;
    bool is_transposed;
    kiln_conv_kernel kernel;
    kiln_view workspace; // the same, of kiln_conv_backward_workspace
    kiln_stream *stream;
} kiln_conv_backward_desc;
KILN_API kiln_status kiln_conv_backward(kiln *k, const kiln_conv_backward_desc *desc);
KILN_API kiln_status kiln_conv_backward_workspace(kiln *k, const kiln_conv_backward_desc *desc,
                                                  uint64_t *elements);

// --- pooling: one number for each place of a window, in every channel alone
// Sizes come from the views: [batch, channels, space…], with one, two or three dimensions of space
// and any strides. Types: f16, bf16, f32, f64, the same for all views but the indices.
typedef enum kiln_pooling {
    KILN_POOL_MAX, // a NaN is larger than everything
    KILN_POOL_AVERAGE
} kiln_pooling;

typedef struct kiln_pool_shape {
    kiln_pooling kind;
    uint32_t size[3];    // of the window; 0: all of the dimension (global pooling)
    kiln_window window;  // a stride of 0 is the window's size; pads are shorter than the window
    bool is_adaptive;    // as many windows as the result has elements, as even as possible; size
                         // and window are not read
    bool counts_padding; // an average counts the padding as zeros
} kiln_pool_shape;

// Along each dimension of space out has (size + pads - dilation * (window - 1) - 1) / stride + 1
// elements, rounded down or up: the last window may reach beyond the end. A window over padding
// alone gives minus infinity, or 0.
typedef struct kiln_pool_desc {
    kiln_view x, out;
    kiln_view indices; // i32 or i64, as out: where the largest lies in the space of x, counted row
                       // by row; of equal ones the first. Without a buffer: not wanted
    kiln_pool_shape shape;
    kiln_stream *stream; // NULL: the device's own
} kiln_pool_desc;
KILN_API kiln_status kiln_pool_forward(kiln *k, const kiln_pool_desc *desc);
typedef struct kiln_pool_backward_desc {
    kiln_view dout, dx;
    kiln_view indices; // of the forward call; KILN_POOL_MAX needs them
    kiln_pool_shape shape;
    kiln_stream *stream;
} kiln_pool_backward_desc;
KILN_API kiln_status kiln_pool_backward(kiln *k, const kiln_pool_backward_desc *desc);

// --- elementwise: out[i] = f(a[i], b[i], c[i]) for every index of a shape
typedef enum kiln_elementwise { // rows of ops/elementwise/elementwise.def; docs/ops/elementwise.md
                                // says what each does
    // elementwise, KILN_EW_: written by tools/ops
    KILN_EW_COPY,
    KILN_EW_ADD,
    KILN_EW_SUB,
    KILN_EW_MUL,
    KILN_EW_DIV,
    KILN_EW_POW,
    KILN_EW_MIN,
    KILN_EW_MAX,
    KILN_EW_HYPOT,
    KILN_EW_ATAN2,
    KILN_EW_MULTIPLY_ADD,
    KILN_EW_LERP,
    KILN_EW_SCALE,
    KILN_EW_BLEND,
    KILN_EW_NEG,
    KILN_EW_ABS,
    KILN_EW_SIGN,
    KILN_EW_SQUARE,
    KILN_EW_RECIPROCAL,
    KILN_EW_FLOOR,
    KILN_EW_CEIL,
    KILN_EW_ROUND,
    KILN_EW_CLAMP,
    KILN_EW_WHERE,
    KILN_EW_TRUNC,
    KILN_EW_FRAC,
    KILN_EW_FMOD,
    KILN_EW_REMAINDER,
    KILN_EW_FLOOR_DIVIDE,
    KILN_EW_HEAVISIDE,
    KILN_EW_QUANTISE_I8,
    KILN_EW_QUANTISE_U8,
    KILN_EW_EQUAL,
    KILN_EW_NOT_EQUAL,
    KILN_EW_LESS,
    KILN_EW_LESS_EQUAL,
    KILN_EW_GREATER,
    KILN_EW_GREATER_EQUAL,
    KILN_EW_LOGICAL_AND,
    KILN_EW_LOGICAL_OR,
    KILN_EW_LOGICAL_NOT,
    KILN_EW_IS_NAN,
    KILN_EW_IS_INF,
    KILN_EW_IS_FINITE,
    KILN_EW_EXP,
    KILN_EW_EXP2,
    KILN_EW_EXPM1,
    KILN_EW_LOG,
    KILN_EW_LOG2,
    KILN_EW_LOG1P,
    KILN_EW_SQRT,
    KILN_EW_RSQRT,
    KILN_EW_SIN,
    KILN_EW_COS,
    KILN_EW_TAN,
    KILN_EW_ATAN,
    KILN_EW_SINH,
    KILN_EW_COSH,
    KILN_EW_TANH,
    KILN_EW_ERF,
    KILN_EW_LOG10,
    KILN_EW_LOGIT,
    KILN_EW_XLOGY,
    KILN_EW_LOGADDEXP,
    KILN_EW_CBRT,
    KILN_EW_ASIN,
    KILN_EW_ACOS,
    KILN_EW_ASINH,
    KILN_EW_ACOSH,
    KILN_EW_ATANH,
    KILN_EW_ERFC,
    KILN_EW_RELU,
    KILN_EW_RELU6,
    KILN_EW_LEAKY_RELU,
    KILN_EW_ELU,
    KILN_EW_SELU,
    KILN_EW_CELU,
    KILN_EW_GELU,
    KILN_EW_GELU_TANH,
    KILN_EW_SIGMOID,
    KILN_EW_LOG_SIGMOID,
    KILN_EW_SILU,
    KILN_EW_SOFTPLUS,
    KILN_EW_SOFTSIGN,
    KILN_EW_MISH,
    KILN_EW_HARDSIGMOID,
    KILN_EW_HARDSWISH,
    KILN_EW_HARDTANH,
    KILN_EW_PRELU,
    KILN_EW_THRESHOLD,
    KILN_EW_HARDSHRINK,
    KILN_EW_SOFTSHRINK,
    KILN_EW_TANHSHRINK,
    KILN_EW_RELU_SQUARED,
    KILN_EW_QUICK_GELU,
    KILN_EW_SWISH,
    KILN_EW_ADD_RELU,
    KILN_EW_ADD_GELU,
    KILN_EW_ADD_SILU,
    KILN_EW_SILU_GATE,
    KILN_EW_GELU_GATE,
    KILN_EW_SIGMOID_GATE,
    KILN_EW_RELU_GATE,
    KILN_EW_SQUARED_ERROR,
    KILN_EW_ABSOLUTE_ERROR,
    KILN_EW_HUBER,
    KILN_EW_SMOOTH_L1,
    KILN_EW_BCE,
    KILN_EW_BCE_LOGITS,
    KILN_EW_HINGE,
    KILN_EW_SOFT_MARGIN,
    // end
    KILN_ELEMENTWISE_COUNT
} kiln_elementwise;

// Types: f16, bf16, f32, f64, integers and bool, as the op allows; all operands are of one type
// (but for a mask), out is of any. 16-bit floats are computed in f32. Operands are broadcast to the
// sizes of out: dimensions of 1, and missing ones in front. out may be the same view as an operand.
typedef struct kiln_elementwise_desc {
    kiln_elementwise op;
    kiln_view in[3]; // a, b, c: as many as the op has
    kiln_view out;
    double alpha, beta;  // of the ops that have them
    kiln_stream *stream; // NULL: the device's own
} kiln_elementwise_desc;
KILN_API kiln_status kiln_elementwise_forward(kiln *k, const kiln_elementwise_desc *desc);

// din[n] = dout times the derivative by operand n, at the operands of the forward call. An operand
// that was broadcast has a gradient of the size of dout; its sum over the repeated dimensions is
// left to the caller.
typedef struct kiln_elementwise_backward_desc {
    kiln_elementwise op;
    kiln_view in[3], dout;
    kiln_view din[3]; // of dout's sizes; those without a buffer are not wanted
    double alpha, beta;
    kiln_stream *stream;
} kiln_elementwise_backward_desc;
KILN_API kiln_status kiln_elementwise_backward(kiln *k, const kiln_elementwise_backward_desc *desc);

// --- softmax: out = exp(x) / sum of exp(x) along an axis
// Types: f16, bf16, f32; all views have the same type and sizes. Sums are f32. A result may be the
// same view as an operand.
typedef struct kiln_softmax_desc {
    kiln_view x, out;
    uint32_t axis;
    bool is_log;         // the logarithm of it
    kiln_stream *stream; // NULL: the device's own
} kiln_softmax_desc;
KILN_API kiln_status kiln_softmax_forward(kiln *k, const kiln_softmax_desc *desc);
typedef struct kiln_softmax_backward_desc {
    kiln_view out, dout; // the result of the forward call, and its gradient
    kiln_view dx;
    uint32_t axis;
    bool is_log;
    kiln_stream *stream;
} kiln_softmax_backward_desc;
KILN_API kiln_status kiln_softmax_backward(kiln *k, const kiln_softmax_backward_desc *desc);

// --- norms along an axis: out = (x - mean) / sqrt(variance + eps) * weight + bias
// Types: f16, bf16, f32, the same for all views but the workspace. Sums are f32. out may be the
// same view as x.
typedef struct kiln_norm_desc {
    kiln_view x, out;
    kiln_view weight, bias; // one dimension, as long as the axis; without a buffer: none
    // With a buffer: sum = x + residual, rounded to the type, and out is the norm of sum.
    kiln_view residual, sum; // as x; sum may be the same view as x or residual
    uint32_t axis;
    bool is_rms; // mean is 0: x / sqrt(mean of squares + eps)
    double eps;
    kiln_stream *stream; // NULL: the device's own
} kiln_norm_desc;
KILN_API kiln_status kiln_norm_forward(kiln *k, const kiln_norm_desc *desc);
// Without dweight and dbias, dx may be the same view as x, dout or dsum. With a residual, x is the
// sum, and dx the gradient of the residual, too.
typedef struct kiln_norm_backward_desc {
    kiln_view x, weight; // of the forward call
    kiln_view dout, dx;
    kiln_view dsum; // added to dx: what the sum has from elsewhere; without a buffer: none
    kiln_view dweight, dbias; // without a buffer: not wanted
    kiln_view workspace;      // for dweight and dbias: two f32 for each row, dense
    uint32_t axis;
    bool is_rms;
    double eps;
    kiln_stream *stream;
} kiln_norm_backward_desc;
KILN_API kiln_status kiln_norm_backward(kiln *k, const kiln_norm_backward_desc *desc);

// --- norms of channels: x is [items, channels, ...]; out = (x - mean) * scale * weight + bias with
// scale = 1 / sqrt(variance + eps)
// Types: f16, bf16, f32, the same for x, out, weight and bias; sums and statistics are f32. weight
// and bias have one dimension, a number for each channel; without a buffer: none. out may be the
// same view as x. The workspace is f32 and dense: 2 * (elements of x / its last size + numbers of
// mean), where the last size counts as 1 if x has two dimensions.

// Group norm: mean and variance of groups of neighbouring channels of an item. One channel in a
// group: instance norm.
typedef struct kiln_group_norm_desc {
    kiln_view x, out, weight, bias;
    uint64_t groups;
    kiln_view mean, scale; // results for backward: f32 [items * groups]
    kiln_view workspace;
    double eps;
    kiln_stream *stream; // NULL: the device's own
} kiln_group_norm_desc;
KILN_API kiln_status kiln_group_norm_forward(kiln *k, const kiln_group_norm_desc *desc);
typedef struct kiln_group_norm_backward_desc {
    kiln_view x, weight, mean, scale; // of the forward call
    kiln_view dout, dx;
    kiln_view dweight, dbias; // without a buffer: not wanted
    kiln_view workspace;
    uint64_t groups;
    kiln_stream *stream;
} kiln_group_norm_backward_desc;
KILN_API kiln_status kiln_group_norm_backward(kiln *k, const kiln_group_norm_backward_desc *desc);

// Batch norm: mean and variance of a channel over all items. Running statistics r become
// r * (1 - momentum) + momentum * new, with the unbiased variance; with is_eval they are used
// instead. Without elements mean and scale are 0, and running statistics stay.
typedef struct kiln_batch_norm_desc {
    kiln_view x, out, weight, bias;
    kiln_view running_mean, running_variance; // f32 [channels]; without a buffer: none
    kiln_view mean, scale;                    // results for backward: f32 [channels]
    kiln_view workspace;
    double eps, momentum;
    bool is_eval;
    kiln_stream *stream; // NULL: the device's own
} kiln_batch_norm_desc;
KILN_API kiln_status kiln_batch_norm_forward(kiln *k, const kiln_batch_norm_desc *desc);
typedef struct kiln_batch_norm_backward_desc {
    kiln_view x, weight, mean, scale; // of the forward call
    kiln_view dout, dx;
    kiln_view dweight, dbias; // without a buffer: not wanted
    kiln_view workspace;
    bool is_eval;
    kiln_stream *stream;
} kiln_batch_norm_backward_desc;
KILN_API kiln_status kiln_batch_norm_backward(kiln *k, const kiln_batch_norm_backward_desc *desc);

// --- copies: out = in, views of the same sizes with any strides
// Any type; where the types differ each element is converted: docs/ops/copy.md says how.
// Permutations, slices with steps and reversed dimensions are views of in or out:
// kiln_view_permute, kiln_view_slice, kiln_view_flip; repeated dimensions are kiln_view_broadcast.
typedef struct kiln_copy_view_desc {
    kiln_view in, out;   // without an element in common
    kiln_stream *stream; // NULL: the device's own
} kiln_copy_view_desc;
KILN_API kiln_status kiln_copy_view(kiln *k, const kiln_copy_view_desc *desc);

// Parts side by side along an axis, in one launch for eight of them: kiln_concat copies the parts
// into whole, kiln_split copies whole into the parts. Each is the other's backward pass. The parts
// have the type of whole and its sizes but along the axis, where theirs add up to its size.
typedef struct kiln_concat_desc {
    const kiln_view *parts;
    uint32_t count, axis;
    kiln_view whole;
    kiln_stream *stream; // NULL: the device's own
} kiln_concat_desc;
KILN_API kiln_status kiln_concat(kiln *k, const kiln_concat_desc *desc);
KILN_API kiln_status kiln_split(kiln *k, const kiln_concat_desc *desc);

// --- pad: out[i] = x[i - before] along each dimension, and something else where x has no such
// index
typedef enum kiln_pad_mode {
    KILN_PAD_CONSTANT, // value
    KILN_PAD_REFLECT,  // mirrored at the first and last element, which are not repeated
    KILN_PAD_EDGE,     // the first or last element
    KILN_PAD_CIRCULAR  // x again
} kiln_pad_mode;

// Any type; x and out have the same. out's sizes say how much comes after x; negative amounts crop.
// With KILN_PAD_CIRCULAR out is x tiled where its sizes are multiples of x's, and x rolled by
// `before` where they are x's own. KILN_PAD_REFLECT pads by less than the size of the dimension.
typedef struct kiln_pad_desc {
    kiln_view x, out; // without an element in common
    int64_t before[KILN_MAX_RANK];
    kiln_pad_mode mode;
    double value;        // of KILN_PAD_CONSTANT; must be a number of the type
    kiln_stream *stream; // NULL: the device's own
} kiln_pad_desc;
KILN_API kiln_status kiln_pad_forward(kiln *k, const kiln_pad_desc *desc);
// dx is the sum of dout over the outputs that are the same element of x, in their row-major order.
// Types: f16, bf16, f32, f64; sums of 16-bit types are f32.
typedef struct kiln_pad_backward_desc {
    kiln_view dout, dx;
    int64_t before[KILN_MAX_RANK];
    kiln_pad_mode mode;
    kiln_stream *stream;
} kiln_pad_backward_desc;
KILN_API kiln_status kiln_pad_backward(kiln *k, const kiln_pad_backward_desc *desc);

// --- gather and scatter: elements of x whose index along some axes is read from an index tensor
// Indices are i32 or i64; negative ones count from the end. No index leads outside of x: one that
// is out of range gives 0 in a gather, and nothing happens for it in a scatter.
typedef enum kiln_index_form {
    // elements[i, j, k] is x[i, index[i, j, k], k] (axis 1). index has the sizes of the elements,
    // or 1
    // where it is the same for all; they are not larger than x's but along the axis.
    KILN_INDEX_ELEMENTS,
    // elements[i, j…, k] is x[i, index[j…], k] (axis 1): index has any rank.
    KILN_INDEX_TAKE,
    // elements[i…, k] is x[index[i…, 0], index[i…, 1], k]: the last dimension of index has an index
    // for each of the first axes of x.
    KILN_INDEX_ND
} kiln_index_form;

typedef struct kiln_gather_desc { // any type
    kiln_view x, index, out;      // out: the elements
    kiln_index_form form;
    uint32_t axis;       // nothing for KILN_INDEX_ND
    kiln_stream *stream; // NULL: the device's own
} kiln_gather_desc;
KILN_API kiln_status kiln_gather_forward(kiln *k, const kiln_gather_desc *desc);
// dx[i] is the sum of dout over the elements that are x[i], in the order of the indices: the same
// bits every time. Types: f16, bf16, f32, f64; sums of 16-bit types are f32.
typedef struct kiln_gather_backward_desc {
    kiln_view index, dout, dx;
    kiln_view workspace; // u32, dense: as many elements as kiln_gather_backward_workspace says
    kiln_index_form form;
    uint32_t axis;
    kiln_stream *stream;
} kiln_gather_backward_desc;
KILN_API kiln_status kiln_gather_backward_workspace(kiln *k, const kiln_gather_backward_desc *desc,
                                                    uint64_t *elements);
KILN_API kiln_status kiln_gather_backward(kiln *k, const kiln_gather_backward_desc *desc);

typedef enum kiln_scatter_op {
    KILN_SCATTER_SET, // of several elements with the same index the last one stays
    KILN_SCATTER_ADD,
    KILN_SCATTER_MUL,
    KILN_SCATTER_MIN,
    KILN_SCATTER_MAX
} kiln_scatter_op;

// out[index] = out[index] op source, for the elements in their row-major order: the same bits every
// time. out is x of the forms. Types: any for KILN_SCATTER_SET; else f16, bf16, f32, f64 and
// integers of 32 and 64 bits. At most 2^31 - 1 indices, and 2^32 - 258 places along the axes that
// they index.
typedef struct kiln_scatter_desc {
    kiln_view index, source, out;
    kiln_view workspace; // u32, dense: as many elements as kiln_scatter_workspace says
    kiln_index_form form;
    uint32_t axis;
    kiln_scatter_op op;
    kiln_stream *stream;
} kiln_scatter_desc;
// The workspace is not read.
KILN_API kiln_status kiln_scatter_workspace(kiln *k, const kiln_scatter_desc *desc,
                                            uint64_t *elements);
KILN_API kiln_status kiln_scatter(kiln *k, const kiln_scatter_desc *desc);

// --- embedding: out[i…] = weight[index[i…]]
typedef struct kiln_embedding_desc {
    kiln_view weight;    // [rows, columns]
    kiln_view index;     // i32 or i64, any rank
    kiln_view out;       // the sizes of index, then columns
    kiln_stream *stream; // NULL: the device's own
} kiln_embedding_desc;
KILN_API kiln_status kiln_embedding_forward(kiln *k, const kiln_embedding_desc *desc);
// dweight is the sum of the rows of dout with the same index, in their order; the same bits every
// time.
typedef struct kiln_embedding_backward_desc {
    kiln_view index, dout, dweight;
    kiln_view workspace; // u32, dense
    bool has_padding;    // rows of dout with the index `padding` do not count
    int64_t padding;
    bool is_added; // to what dweight has; else it starts with 0
    kiln_stream *stream;
} kiln_embedding_backward_desc;
KILN_API kiln_status kiln_embedding_backward_workspace(kiln *k,
                                                       const kiln_embedding_backward_desc *desc,
                                                       uint64_t *elements);
KILN_API kiln_status kiln_embedding_backward(kiln *k, const kiln_embedding_backward_desc *desc);

// --- random numbers: Philox4x32-10, the same bits on every device
// Element i of out, counted in row-major order whatever the strides are, depends on the seed, the
// offset and i alone. Other offsets give other numbers: a training step takes its own.
typedef enum kiln_random_kind {
    KILN_RANDOM_UNIFORM,   // alpha … beta; floats
    KILN_RANDOM_NORMAL,    // of mean alpha and deviation beta; floats
    KILN_RANDOM_BERNOULLI, // 1 with the probability alpha, else 0; floats, integers, bool
    KILN_RANDOM_INTEGERS   // low … high, both of them possible; integers
} kiln_random_kind;
typedef struct kiln_random_desc {
    kiln_view out;
    kiln_random_kind kind;
    uint64_t seed, offset;
    double alpha, beta;
    int64_t low, high;
    kiln_stream *stream; // NULL: the device's own
} kiln_random_desc;
KILN_API kiln_status kiln_random(kiln *k, const kiln_random_desc *desc);

// --- dropout: out = 0 with the probability `rate`, else x / (1 - rate)
// Types: f16, bf16, f32, f64. Nothing is stored: backward takes dout as x and dx as out, with the
// same rate, seed and offset. out may be the same view as x.
typedef struct kiln_dropout_desc {
    kiln_view x, out;
    double rate;
    uint64_t seed, offset;
    kiln_stream *stream; // NULL: the device's own
} kiln_dropout_desc;
KILN_API kiln_status kiln_dropout_forward(kiln *k, const kiln_dropout_desc *desc);
KILN_API kiln_status kiln_dropout_backward(kiln *k, const kiln_dropout_desc *desc);

// --- tensors from the indices of their elements
typedef enum kiln_generate_op { // rows of ops/generate/generate.def; docs/ops/generate.md
    // generate, KILN_GENERATE_: written by tools/ops
    KILN_GENERATE_FILL,
    KILN_GENERATE_ARANGE,
    KILN_GENERATE_LINSPACE,
    KILN_GENERATE_EYE,
    KILN_GENERATE_TRIL,
    KILN_GENERATE_TRIU,
    KILN_GENERATE_ONE_HOT,
    // end
    KILN_GENERATE_COUNT
} kiln_generate_op;

// The backward pass of a triangle is the same triangle of dout; it may be in place.
typedef struct kiln_generate_desc {
    kiln_generate_op op;
    kiln_view in; // TRIL, TRIU: as out; ONE_HOT: i32 or i64, without out's last dimension
    kiln_view out;
    double alpha, beta;
    int64_t diagonal;    // EYE, TRIL, TRIU: column minus row; 0: the main one
    kiln_stream *stream; // NULL: the device's own
} kiln_generate_desc;
KILN_API kiln_status kiln_generate(kiln *k, const kiln_generate_desc *desc);

// --- rope: rotary position embedding, pairs of numbers turned by an angle
// Types: f16, bf16, f32, f64, x and out the same; the tables have any of them. x is [..., dim],
// with any strides: [batch, heads, length, dim] or [batch, length, heads, dim]. cos and sin are
// [..., pairs] and are broadcast to x: [length, pairs], or [length, 1, pairs] where heads are
// behind the length, or [batch, 1, length, pairs]. The first 2 * pairs numbers are turned, others
// are copied. out may be the same view as x. Backward takes dout as x and dx as out.
typedef struct kiln_rope_desc {
    kiln_view x, out;
    kiln_view cos, sin;
    bool is_interleaved; // pairs are x[2 * i], x[2 * i + 1] (GPT-J); else x[i], x[i + pairs] (NeoX)
    kiln_stream *stream; // NULL: the device's own
} kiln_rope_desc;
KILN_API kiln_status kiln_rope_forward(kiln *k, const kiln_rope_desc *desc);
KILN_API kiln_status kiln_rope_backward(kiln *k, const kiln_rope_desc *desc);
// The tables: angle = (position + offset) * scale * base to the power of -2 * i / (2 * pairs),
// computed in f64.
typedef struct kiln_rope_tables_desc {
    kiln_view cos, sin;  // [..., pairs], of the same sizes and type
    kiln_view positions; // i32 or i64, cos without its last dimension; without a buffer: the index
                         // along the dimension before the last
    int64_t offset;
    double base, scale; // scale 0: 1
    kiln_stream *stream;
} kiln_rope_tables_desc;
KILN_API kiln_status kiln_rope_tables(kiln *k, const kiln_rope_tables_desc *desc);

// --- upsample: x at other sizes
typedef enum kiln_upsample_mode {
    KILN_UPSAMPLE_NEAREST, // output i is input i * in / out, rounded down; any type
    KILN_UPSAMPLE_LINEAR   // between two inputs along each dimension; f16, bf16, f32, f64
} kiln_upsample_mode;
// Dimensions of other sizes in out are interpolated, up to three of them by KILN_UPSAMPLE_LINEAR:
// linear, bilinear, trilinear. Output i is at input (i + 0.5) * in / out - 0.5, but not below 0;
// with aligns_corners at i * (in - 1) / (out - 1).
typedef struct kiln_upsample_desc {
    kiln_view x, out;
    kiln_upsample_mode mode;
    bool aligns_corners;
    kiln_stream *stream; // NULL: the device's own
} kiln_upsample_desc;
KILN_API kiln_status kiln_upsample_forward(kiln *k, const kiln_upsample_desc *desc);
// Each element of dx is a sum over the outputs that it is in, in their order: the same bits every
// time.
typedef struct kiln_upsample_backward_desc {
    kiln_view dout, dx;
    kiln_upsample_mode mode;
    bool aligns_corners;
    kiln_stream *stream;
} kiln_upsample_backward_desc;
KILN_API kiln_status kiln_upsample_backward(kiln *k, const kiln_upsample_backward_desc *desc);

// --- bits of integers: out = a op b
typedef enum kiln_bitwise_op { // rows of ops/bitwise/bitwise.def; docs/ops/bitwise.md
    // bitwise, KILN_BITWISE_: written by tools/ops
    KILN_BITWISE_AND,
    KILN_BITWISE_OR,
    KILN_BITWISE_XOR,
    KILN_BITWISE_NOT,
    KILN_BITWISE_SHIFT_LEFT,
    KILN_BITWISE_SHIFT_RIGHT,
    // end
    KILN_BITWISE_COUNT
} kiln_bitwise_op;
// All views have the same type; a and b are broadcast to out, which may be the same view as one.
typedef struct kiln_bitwise_desc {
    kiln_bitwise_op op;
    kiln_view a, b, out;
    kiln_stream *stream; // NULL: the device's own
} kiln_bitwise_desc;
KILN_API kiln_status kiln_bitwise(kiln *k, const kiln_bitwise_desc *desc);

// --- affine numbers of eight bits
// kiln_quantise: out = round(x / scale) + zero, within the range of its type (i8, u8); ties to
// even. kiln_dequantise: out = (x - zero) * scale. Floats are f16, bf16, f32. scale (f32) and zero
// (of the narrow type; without a buffer: 0) are broadcast: one number for all, or one for each row
// or channel.
typedef struct kiln_quantise_desc {
    kiln_view x, scale, zero, out;
    kiln_stream *stream; // NULL: the device's own
} kiln_quantise_desc;
KILN_API kiln_status kiln_quantise(kiln *k, const kiln_quantise_desc *desc);
KILN_API kiln_status kiln_dequantise(kiln *k, const kiln_quantise_desc *desc);

#ifdef __cplusplus
}
#endif
#pragma pop_macro("kernel")

#include "kiln/ops_gguf.h"
#include "kiln/ops_linear.h"
#include "kiln/ops_reduce.h"
#endif
