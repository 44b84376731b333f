// ops_reduce.h: ops that make few numbers of many, or put them in order: reductions. Part of ops.h,
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
// bool. out is of any type. Sums of 16-bit floats are f32, of integers 64 bits. Of no elements a
// sum is 0, a product 1, the largest -infinity, a mean NaN, an index -1.
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

#ifdef __cplusplus
}
#endif
#endif
