// ops_reduce.h: ops that make few numbers of many, or put them in order: reductions,
// losses, scans, sorting. Part of ops.h,
// which includes it.
#ifndef KILN_OPS_REDUCE_H
#define KILN_OPS_REDUCE_H

#include "kiln/kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- reductions: one number for all elements along some dimensions
typedef enum kiln_reduction { // rows of ops/reduce/reduce.def
    KILN_REDUCE_SUM,          // of integers in 64 bits
    KILN_REDUCE_MEAN,
    KILN_REDUCE_PROD,
    KILN_REDUCE_MAX, // NaN where there is one
    KILN_REDUCE_MIN,
    KILN_REDUCE_ANY, // 1 where an element is not 0
    KILN_REDUCE_ALL,
    KILN_REDUCE_COUNT,     // elements that are not 0
    KILN_REDUCE_NORM,      // (sum of |x|^alpha)^(1 / alpha); alpha 0 is 2
    KILN_REDUCE_VARIANCE,  // the divisor is the number of elements minus alpha
    KILN_REDUCE_DEVIATION, // its root
    KILN_REDUCE_ARGMAX,    // row-major index in the reduced dimensions of the first one: i32, i64
    KILN_REDUCE_ARGMIN,
    KILN_REDUCE_LOGSUMEXP
} kiln_reduction;
// Types: f16, bf16, f32, f64; but for norm, variance, deviation and logsumexp also integers and
// bool. out is of any type. Sums of 16-bit floats are f32, of integers 64 bits; a mean of 64-bit
// integers is computed in f64. Of no elements a sum is 0, a product 1, the largest -infinity, a
// mean NaN, an index -1.
typedef struct kiln_reduce_desc {
    kiln_reduction op;
    kiln_view x;
    kiln_view out;       // x without the reduced dimensions, or with sizes of 1 for them
    uint32_t axes;       // bit n: dimension n is reduced; 0: all of them
    double alpha;        // of the ops that have it
    kiln_view workspace; // dense, of any type: as many bytes as kiln_reduce_workspace says
    kiln_stream *stream; // NULL: the device's own
} kiln_reduce_desc;
KILN_API kiln_status kiln_reduce_forward(kiln *k, const kiln_reduce_desc *desc);
// Of the description the workspace is not read. 0: none is needed.
KILN_API kiln_status kiln_reduce_workspace(kiln *k, const kiln_reduce_desc *desc, uint64_t *bytes);
// Floats. The largest and the smallest share the gradient among equal elements; a product has the
// right gradient where elements are 0. dx may be the same view as x.
typedef struct kiln_reduce_backward_desc {
    kiln_reduction op;
    kiln_view x, out, dout; // of the forward call, its result, and the gradient of that
    kiln_view dx;
    uint32_t axes;
    double alpha;
    kiln_view workspace; // as many bytes as kiln_reduce_backward_workspace says
    kiln_stream *stream;
} kiln_reduce_backward_desc;
KILN_API kiln_status kiln_reduce_backward(kiln *k, const kiln_reduce_backward_desc *desc);
KILN_API kiln_status kiln_reduce_backward_workspace(kiln *k, const kiln_reduce_backward_desc *desc,
                                                    uint64_t *bytes);

// --- cross-entropy: what log-softmax of logits and the negative log-likelihood of classes are
// together
typedef enum kiln_loss_reduction {
    KILN_LOSS_ROWS, // a loss for each row
    KILN_LOSS_MEAN, // their sum over the sum of the rows' weights
    KILN_LOSS_SUM
} kiln_loss_reduction;
// The loss of a row is -w[y] log p[y] for its class y; with label smoothing s that is multiplied by
// 1 - s, and s / classes times the sum of -w[c] log p[c] over all classes is added. The weight of a
// row is w[y]; without weights all are 1. A class that there is not gives NaN. Types: f16, bf16,
// f32; sums are f32.
typedef struct kiln_cross_entropy_desc {
    kiln_view logits;       // the classes lie along `axis`
    kiln_view targets;      // i32 or i64: logits without the axis
    kiln_view weight;       // [classes] f32; without a buffer: none
    kiln_view loss;         // f16, bf16 or f32: logits without the axis, or one element
    kiln_view lse;          // f32, as targets: what backward needs; without a buffer: not wanted
    kiln_view total_weight; // f32, one element: what backward of a mean needs; without a buffer:
                            // not wanted. Not written with KILN_LOSS_ROWS, 0 with KILN_LOSS_SUM
    kiln_view workspace;    // as many bytes as kiln_cross_entropy_workspace says; 0 for rows
    uint32_t axis;
    kiln_loss_reduction reduction;
    double label_smoothing; // 0 to 1
    bool has_ignored_class; // rows of ignored_class have the loss, weight and gradient 0
    int64_t ignored_class;
    kiln_stream *stream; // NULL: the device's own
} kiln_cross_entropy_desc;
KILN_API kiln_status kiln_cross_entropy_forward(kiln *k, const kiln_cross_entropy_desc *desc);
KILN_API kiln_status kiln_cross_entropy_workspace(kiln *k, const kiln_cross_entropy_desc *desc,
                                                  uint64_t *bytes);
// dlogits may be the same view as logits.
typedef struct kiln_cross_entropy_backward_desc {
    kiln_view logits, targets, weight; // of the forward call
    kiln_view lse, total_weight;       // its results; total_weight only for a mean
    kiln_view dloss;                   // the gradient of its loss
    kiln_view dlogits;
    uint32_t axis;
    kiln_loss_reduction reduction;
    double label_smoothing;
    bool has_ignored_class;
    int64_t ignored_class;
    kiln_stream *stream;
} kiln_cross_entropy_backward_desc;
KILN_API kiln_status kiln_cross_entropy_backward(kiln *k,
                                                 const kiln_cross_entropy_backward_desc *desc);

// --- scans: running values along an axis
typedef enum kiln_scan { // words of the axis KIND in ops/scan/axes.def
    KILN_SCAN_SUM,
    KILN_SCAN_PROD,
    KILN_SCAN_MAX, // from the first NaN on NaN
    KILN_SCAN_MIN
} kiln_scan;
// out[i] is the value of x[0] to x[i]. Types: f16, bf16, f32, f64, integers and bool; out is of any
// type. Running values of 16-bit floats are f32, of integers 64 bits. out may be the same view as
// x.
typedef struct kiln_scan_desc {
    kiln_scan op;
    kiln_view x, out; // of the same sizes; of backward: dout and dx
    uint32_t axis;
    bool is_exclusive;   // x[i] does not count: out[0] is 0, 1 or minus or plus infinity; for
                         // integers instead of infinity the ends of x's type
    bool is_reverse;     // from the last element to the first
    kiln_view workspace; // dense, of any type: as many bytes as kiln_scan_workspace says
    kiln_stream *stream; // NULL: the device's own
} kiln_scan_desc;
KILN_API kiln_status kiln_scan_forward(kiln *k, const kiln_scan_desc *desc);
KILN_API kiln_status kiln_scan_workspace(kiln *k, const kiln_scan_desc *desc, uint64_t *bytes);
// Of a sum: the description of the forward call with x the gradient of its result and out that of
// its operand. The workspace is as large.
KILN_API kiln_status kiln_scan_backward(kiln *k, const kiln_scan_desc *desc);

// --- sort: the elements along an axis in order, and where they were
// Types: f16, bf16, f32, f64, integers and bool. The order is that of the numbers, -0 before +0,
// NaN after all others; descending the reverse. Equal elements keep their order. Results without a
// buffer are not wanted.
typedef struct kiln_sort_desc {
    kiln_view x;
    kiln_view out;                // of the type and sizes of x; without a buffer: not wanted
    kiln_view index;              // i32 or i64, where each was in x; without a buffer: not wanted
    kiln_view values, values_out; // of any type, in the same order; without a buffer: none
    uint32_t axis;
    bool is_descending;
    kiln_view workspace; // dense, of any type: as many bytes as kiln_sort_workspace says
    kiln_stream *stream; // NULL: the device's own
} kiln_sort_desc;
KILN_API kiln_status kiln_sort_forward(kiln *k, const kiln_sort_desc *desc);
KILN_API kiln_status kiln_sort_workspace(kiln *k, const kiln_sort_desc *desc, uint64_t *bytes);
// The k largest elements along an axis, the largest first, or the k smallest; of equal ones those
// that come first. k is the size of the results along the axis.
typedef struct kiln_topk_desc {
    kiln_view x;
    kiln_view out;   // of the type of x; without a buffer: not wanted
    kiln_view index; // i32 or i64; without a buffer: not wanted
    uint32_t axis;
    bool is_smallest;
    kiln_view workspace; // as many bytes as kiln_topk_workspace says
    kiln_stream *stream;
} kiln_topk_desc;
KILN_API kiln_status kiln_topk_forward(kiln *k, const kiln_topk_desc *desc);
KILN_API kiln_status kiln_topk_workspace(kiln *k, const kiln_topk_desc *desc, uint64_t *bytes);
// Of both: dx[index[i]] = dout[i] along the axis, and 0 where no index points. No index may come
// twice. Types: f16, bf16, f32, f64.
typedef struct kiln_sort_backward_desc {
    kiln_view dout, index; // the gradient of the elements, and their indices
    kiln_view dx;
    uint32_t axis;
    kiln_stream *stream;
} kiln_sort_backward_desc;
KILN_API kiln_status kiln_sort_backward(kiln *k, const kiln_sort_backward_desc *desc);

// --- histogram: how many elements are in each bin
// With a range the bins are equal parts of it: bin floor((x - low) / (high - low) * bins), and the
// last one for x = high. Without one (low and high 0) an integer is its own bin. Elements outside,
// and NaN, are not counted. Types: f16, bf16, f32, f64, integers and bool. The bin of a 16-bit or
// f32 number is computed in f32, of others in f64.
typedef struct kiln_histogram_desc {
    kiln_view x;         // of any sizes
    kiln_view out;       // [bins] i32, u32, i64 or u64
    double low, high;    // of the first bin, of the last one
    kiln_stream *stream; // NULL: the device's own
} kiln_histogram_desc;
KILN_API kiln_status kiln_histogram(kiln *k, const kiln_histogram_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
