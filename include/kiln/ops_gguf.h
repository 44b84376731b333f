// ops_gguf.h: weights in the block formats of GGUF files: products that decode them on the way, and
// conversions to and from floats, on a device and on the host. Part of ops.h, which includes it.
//
// A row of weights is blocks, one after the other, each with its own scale. A tensor [n, k] of such
// rows is a view [n, bytes of a row] of u8 (kiln_gguf_row_bytes): what a file holds, unchanged.
#ifndef KILN_OPS_GGUF_H
#define KILN_OPS_GGUF_H

#include "kiln/kiln.h"

#pragma push_macro("kernel") // a mark of kiln/kernel.h
#undef kernel

#ifdef __cplusplus
extern "C" {
#endif

// --- formats, with their numbers in files; rows of ops/gguf/gguf.def
typedef enum kiln_gguf_type {
    KILN_GGUF_Q4_0 = 2, // blocks of 32: 4 bits and a scale
    KILN_GGUF_Q4_1 = 3, // and a minimum
    KILN_GGUF_Q5_0 = 6, // 5 bits
    KILN_GGUF_Q5_1 = 7,
    KILN_GGUF_Q8_0 = 8,  // 8 bits
    KILN_GGUF_Q2_K = 10, // blocks of 256, with small scales for groups of 16 or 32
    KILN_GGUF_Q3_K = 11,
    KILN_GGUF_Q4_K = 12,
    KILN_GGUF_Q5_K = 13,
    KILN_GGUF_Q6_K = 14
} kiln_gguf_type;

typedef struct kiln_gguf_format {
    const char *name;    // "q4_k"
    uint32_t block_size; // elements
    uint32_t block_bytes;
} kiln_gguf_format;
// KILN_E_NOT_FOUND: the number is none of the formats above.
KILN_API kiln_status kiln_gguf_format_of(kiln_gguf_type type, kiln_gguf_format *out);
// Bytes of a row of k elements, a multiple of the format's block.
KILN_API kiln_status kiln_gguf_row_bytes(kiln_gguf_type type, uint64_t k, uint64_t *bytes);

// --- products: out = x * transposed weight (+ bias)
typedef enum kiln_gguf_kernel {
    KILN_GGUF_BEST,
    KILN_GGUF_VECTOR, // for 8 rows of x at most: weights are read once
    KILN_GGUF_TILE,   // tiles in f32, for any number of rows
    KILN_GGUF_TENSOR, // tiles on tensor cores: sm_80 and later; x is f16 or bf16
    KILN_GGUF_FEW     // for 8 rows of x at most on tensor cores, at the speed of memory; levels and
                      // scales are not rounded
} kiln_gguf_kernel;

// Types of x: f16, bf16, f32; out and bias are any of these. Sums are f32, in an order that depends
// on the sizes and the kernel alone. VECTOR and TILE do not round the weights, and give the same
// bits on every device. TENSOR rounds each weight to the type of x, and needs rows of x that are
// contiguous and start at multiples of 16 bytes. BEST is VECTOR for 8 rows of x at most; for more
// it is TENSOR on a GPU that can, else TILE.
typedef struct kiln_gguf_matmul_desc {
    kiln_gguf_type type;
    kiln_view x;             // [m, k], any strides; k is a multiple of the format's block
    kiln_view weight;        // [n, bytes of a row of k elements] u8; rows are contiguous
    kiln_view bias;          // [n]; optional
    kiln_view out;           // [m, n], any strides; must not overlap the others
    kiln_gguf_kernel kernel; // instead of the best
    uint32_t tile_rows;      // rows of x of a tile of TENSOR: 16, 64, 128; 0: chosen
    kiln_stream *stream;     // NULL: the device's own
} kiln_gguf_matmul_desc;
KILN_API kiln_status kiln_gguf_matmul(kiln *k, const kiln_gguf_matmul_desc *desc);

// --- conversions on a device
// Blocks to floats (f16, bf16, f32): each element is rounded once.
typedef struct kiln_gguf_dequantise_desc {
    kiln_gguf_type type;
    kiln_view weight;    // [n, bytes of a row of k elements] u8; rows are contiguous
    kiln_view out;       // [n, k], any strides
    kiln_stream *stream; // NULL: the device's own
} kiln_gguf_dequantise_desc;
KILN_API kiln_status kiln_gguf_dequantise(kiln *k, const kiln_gguf_dequantise_desc *desc);

// Floats (f16, bf16, f32; finite, below 65504 in magnitude) to blocks. Formats of 32 elements round
// as their definition says. For those of 256 a group's largest magnitude, or its extremes, are the
// ends of its levels; programs that search for better scales write other bytes.
typedef struct kiln_gguf_quantise_desc {
    kiln_gguf_type type;
    kiln_view x;         // [n, k], any strides
    kiln_view out;       // [n, bytes of a row of k elements] u8; rows are contiguous
    kiln_stream *stream; // NULL: the device's own
} kiln_gguf_quantise_desc;
KILN_API kiln_status kiln_gguf_quantise(kiln *k, const kiln_gguf_quantise_desc *desc);

// --- the same on the host: `count` elements, a multiple of the format's block; the same bytes
KILN_API kiln_status kiln_gguf_unpack(kiln_gguf_type type, const void *blocks, uint64_t count,
                                      float *out);
KILN_API kiln_status kiln_gguf_pack(kiln_gguf_type type, const float *x, uint64_t count,
                                    void *blocks);

#ifdef __cplusplus
}
#endif
#pragma pop_macro("kernel")

#endif
