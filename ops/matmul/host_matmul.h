// What the two host files of kiln_matmul share: a description with everything decided (matmul.c
// makes it), and the tile that gemm_sm90.c gets for it (host_tile.c picks it).
#ifndef KILN_HOST_MATMUL_H
#define KILN_HOST_MATMUL_H

#include "kiln/ops.h"

#include "ops/op.h"

typedef enum operand { BF16, F16, TF32, E4M3, S8, F32, OPERAND_COUNT } operand;
typedef enum result { OUT_BF16, OUT_F16, OUT_F32, OUT_S32 } result_type; // of the axis OUT

typedef struct job {
    kiln *k;
    const kiln_matmul_desc *desc;
    const kiln_device_info *device;
    operand type;
    uint32_t bytes; // of an operand's element
    result_type result;
    uint32_t out_bytes, batch;
    uint64_t a_rows, b_rows; // in memory
    uint64_t a_stride, b_stride, out_stride, a_batch, b_batch, out_batch;
} job;

typedef struct side { // an operand of the kernel: a and b, or b and a for a transposed result
    const kiln_buffer *buffer;
    uint64_t first, next, rows, columns, stride; // in memory
    bool is_mn;                                  // contiguous across K
    uint32_t size;
} side;

enum { LEFT, RIGHT };

typedef struct tile {
    uint32_t m, n, warpgroups, stages, group, split_k;
    bool is_swapped, is_pingpong;
    bool right_is_mn, has_parts;       // as gemm_sm90.c has it
    uint32_t narrow_n, narrow_columns; // the last columns of tiles; 0: as wide as all
    uint32_t shift; // columns by which a group of rows begins later than the one before
} tile;

static inline uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

void matmul_sides(const job *j, bool is_swapped, side out[2]);
// Steps along K, of 128 bytes.
uint32_t matmul_steps(const job *j);
// Of an operand that is read across K 64 rows are loaded at a time.
uint32_t matmul_lines(bool is_mn, uint32_t rows);
// The tile that the description asks for, or the one that is expected to be the fastest.
tile matmul_tile(const job *j);
// Is the one that it asks for possible?
bool matmul_has_tile(const job *j);
// Do a tile's results wait in registers, and leave while the next tile is multiplied?
bool matmul_is_held(const job *j, const tile *t);
// Does the kernel load the right side by multiples of 64 columns, and what is left of a tile, its
// tail, by itself?
bool matmul_has_tail(const job *j, const side *right, const tile *t);
// Columns of tiles over `size` columns.
uint32_t matmul_columns(const tile *t, uint32_t size);
// Dynamic shared memory that the kernel needs.
uint32_t matmul_shared_bytes(const tile *t);

#endif
