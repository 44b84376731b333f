// ops_linear.h: linear layers whose weights are small integers.
//
// A weight is w = (q - zero) * scale: q an integer of 8 or 4 bits, scale and zero one for each row
// of the weights, or one for each group of elements along K. Products multiply the integers as they
// are and apply the scale to sums, so that nothing is rounded to a narrow type but the result
// (KILN_LINEAR_UNPACK rounds the weights, too).
//
// Layouts, rows are the outputs of a layer:
//     int8    i8 [n, k], rows at any distance.
//     int4    u32 [n, kiln_int4_words(k)]: a word has eight numbers from 0 to 15, and those with
//             even indices come first: elements 0 2 4 6 1 3 5 7 from the lowest four bits up. Rows
//             are padded to 16 bytes. kiln_pack_int4 makes it of the layouts of others.
//     scale   [n, groups] f32, f16 or bf16, of any strides; groups = ceil(k / group), the last one
//             may be shorter. [n] where there is one group, [1] for one number in all.
//     zero    the same shapes: u8 for int4, i8 for int8.
#ifndef KILN_OPS_LINEAR_H
#define KILN_OPS_LINEAR_H

#include "kiln/ops.h"

#pragma push_macro("kernel") // a mark of kiln/kernel.h
#undef kernel

#ifdef __cplusplus
extern "C" {
#endif

// --- linear layers with quantised weights
typedef enum kiln_linear_kernel {
    KILN_LINEAR_BEST,
    KILN_LINEAR_ROWS, // sums in an order that depends on the sizes alone: the same bits everywhere
    KILN_LINEAR_TENSOR, // tensor cores (sm_80 and later), x of f16, bf16 or i8. BEST is this above
                        // 16 rows of x, where it is possible
    KILN_LINEAR_UNPACK, // weights become numbers of x's type in the workspace, each rounded to it;
                        // then it is kiln_matmul. With x of i8 that multiplies integers, their
                        // sums are in the workspace, and a kernel more scales them. BEST is this on
                        // GPUs above 16 rows of x, or 64 of i8 with wgmma, where there is a
                        // workspace
    KILN_LINEAR_FEW,    // tensor cores for at most 16 rows of x, f16 or bf16, which start at
                        // multiples of 16 bytes as those of the weights do; K is a multiple of 32
                        // (int4) or 16 (int8). BEST is this where REGISTERS is impossible
    KILN_LINEAR_REGISTERS // FEW with x in registers, on sm_90a. K is at most 65536; 32768 for int8
                          // and above 8 rows of x. With groups it is a multiple of 128 (int4) or 64
                          // (int8) and of the group, and rows of scales and zeros are multiples of
                          // 4 bytes. BEST is this where it is possible
} kiln_linear_kernel;

// out = activation(x * transposed weights + bias). x is f16, bf16 or f32, sums are f32, out is f16,
// bf16 or f32. x of i8 takes weights of i8: sums are i32, and out = activation(sum * scale *
// x_scale + bias), the same bits on every device; or out is i32, the sums themselves, without
// scales, bias and activation.
typedef struct kiln_linear_desc {
    kiln_view x;                // [m, k]
    kiln_view weight;           // int8 or int4
    kiln_view scale;            // of the weights; none where out is i32
    kiln_view zero;             // without a buffer: 0 for int8, 8 for int4
    kiln_view x_scale;          // [m] or [1] f32; without a buffer: 1. For x of i8 alone
    kiln_view bias;             // [n] f32; without a buffer: none
    kiln_view out;              // [m, n]
    uint32_t group;             // elements of K with one scale: a power of two from 32; 0: all
    kiln_activation activation; // of the sum with the bias
    kiln_linear_kernel kernel;  // instead of the best
    kiln_view workspace;        // dense, at a multiple of 16 bytes: as many bytes as
                                // kiln_linear_workspace says; without a buffer: none
    kiln_stream *stream;        // NULL: the device's own
} kiln_linear_desc;
KILN_API kiln_status kiln_linear(kiln *k, const kiln_linear_desc *desc);
// 0: it needs none.
KILN_API kiln_status kiln_linear_workspace(kiln *k, const kiln_linear_desc *desc, uint64_t *bytes);

// Three layers on one x in one launch: the projections to queries, keys and values. Each has its
// own number of rows; formats, groups and types are the same, and so is whether there are zeros and
// biases. The results have the bits of three calls of kiln_linear, but for KILN_LINEAR_FEW and
// KILN_LINEAR_REGISTERS, whose sums have parts that depend on the number of rows of all weights.
typedef struct kiln_linear_qkv_desc {
    kiln_view x;                            // [m, k]
    kiln_view weight_q, weight_k, weight_v; // as of kiln_linear
    kiln_view scale_q, scale_k, scale_v;    // none where the results are i32
    kiln_view zero_q, zero_k, zero_v;       // without a buffer: 0 for int8, 8 for int4
    kiln_view x_scale;                      // [m] or [1] f32; without a buffer: 1
    kiln_view bias_q, bias_k, bias_v;       // f32; without a buffer: none
    kiln_view out_q, out_k, out_v;          // [m, n of each]
    uint32_t group;                         // as of kiln_linear
    kiln_linear_kernel kernel;              // instead of the best
    kiln_stream *stream;                    // NULL: the device's own
} kiln_linear_qkv_desc;
KILN_API kiln_status kiln_linear_qkv(kiln *k, const kiln_linear_qkv_desc *desc);

// --- quantised weights on the device
// Makes weights of numbers, row by row and group by group, and numbers of weights.
// kiln_quantise_weights: without zero a scale is the largest magnitude of its group over 127 or 7,
// and q is from -127 to 127, or 1 to 15 with 8 in the middle. With zero the range from the smallest
// to the largest number, and 0, is spread over all values of q. Scales are rounded to their type
// first, then q = round(x / scale) + zero; ties to even. A group of zeros has scale 0; a NaN counts
// as 0.
typedef struct kiln_quantise_weights_desc {
    kiln_view x;         // [n, k] f32, f16 or bf16
    kiln_view weight;    // int8 or int4, written
    kiln_view scale;     // written
    kiln_view zero;      // written; without a buffer: symmetric
    uint32_t group;      // as of kiln_linear
    kiln_stream *stream; // NULL: the device's own
} kiln_quantise_weights_desc;
KILN_API kiln_status kiln_quantise_weights(kiln *k, const kiln_quantise_weights_desc *desc);

// out = (q - zero) * scale, computed in f32.
typedef struct kiln_dequantise_weights_desc {
    kiln_view weight;    // int8 or int4
    kiln_view scale;     // as of kiln_linear
    kiln_view zero;      // without a buffer: 0 for int8, 8 for int4
    kiln_view out;       // [n, k] f32, f16 or bf16
    uint32_t group;      // as of kiln_linear
    kiln_stream *stream; // NULL: the device's own
} kiln_dequantise_weights_desc;
KILN_API kiln_status kiln_dequantise_weights(kiln *k, const kiln_dequantise_weights_desc *desc);

// --- packing int4 in host memory
typedef enum kiln_int4_form {
    KILN_INT4_BYTES,   // u8 [n, k] and u8 [n, groups], a number from 0 to 15 in each
    KILN_INT4_GPTQ,    // i32 [ceil(k / 8), n], eight neighbours along K in a word, lowest bits
                       // first; zeros i32 [groups, ceil(n / 8)], along n, each less one
    KILN_INT4_GPTQ_V2, // the same with zeros as they are
    KILN_INT4_AWQ      // i32 [k, ceil(n / 8)], eight neighbours along n in a word, in the order 0 2
                       // 4 6 1 3 5 7; zeros i32 [groups, ceil(n / 8)] in the same way
} kiln_int4_form;

// Between the layout of kiln_linear and another one. Scales need no packing: those of GPTQ and AWQ
// are [groups, n], a transposed view. Weights that GPTQ has put in another order (act-order, with
// g_idx) are put back by the caller.
typedef struct kiln_int4_desc {
    kiln_int4_form form;
    uint64_t n, k;
    uint64_t groups; // of zeros
    void *weight;    // in that form
    void *zero;      // in that form; NULL: none
    uint32_t *words; // [n, kiln_int4_words(k)]
    uint8_t *zeros;  // [n, groups]; NULL: none
} kiln_int4_desc;
KILN_API size_t kiln_int4_words(uint64_t k);                       // of a row; a multiple of 4
KILN_API kiln_status kiln_pack_int4(const kiln_int4_desc *desc);   // weight and zero are read
KILN_API kiln_status kiln_unpack_int4(const kiln_int4_desc *desc); // weight and zero are written

#ifdef __cplusplus
}
#endif
#pragma pop_macro("kernel")
#endif
