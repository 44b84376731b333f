// What the calls of linear layers share: a job of one to three weight matrices, and how its kernels
// are launched.
#ifndef KILN_LINEAR_HOST_JOB_H
#define KILN_LINEAR_HOST_JOB_H

#include "ops/linear/host_linear.h"

enum { FEW_ROWS = 16 }; // of x: up to where reading the weights takes the time

typedef struct layer { // a weight matrix and what becomes of its product
    linear_weights weights;
    const kiln_view *bias, *out;
    const char *bias_name, *out_name;
} layer;

typedef struct job {
    const char *call;
    kiln_view x, x_scale, workspace;
    layer layers[LINEAR_LAYERS];
    uint32_t count, group;
    kiln_activation activation;
    kiln_linear_kernel kernel;
    kiln_stream *stream;
    linear_argument argument;
} job;

typedef struct tiling {
    uint32_t width;    // columns of a tile
    uint32_t splits;   // blocks that share a tile; 0: one
    uint32_t rows;     // tiles of rows
    bool is_resident;  // no more blocks than run at the same time: each has several tiles
    size_t more_bytes; // of shared memory, behind the kernel's own
    size_t all_bytes;  // of shared memory, at least
    size_t tile_bytes; // of shared memory for each of a resident block's tiles
} tiling;

// linear.c
bool linear_is_grouped(const job *j);
// What becomes of a sum.
void linear_set_result_axes(const job *j, op_request *r);
// The axes that all kernels with weights have.
void linear_set_axes(const job *j, op_request *r);
void linear_set_argument(job *j);
kiln_status linear_launch(kiln *k, job *j, const op_request *r, tiling t);
// Why tensor cores are impossible; NULL: they are possible.
const char *linear_obstacle(kiln *k, const job *j);

// host_few.c: few rows of x on tensor cores.
// Why that is impossible; NULL: it is possible.
const char *linear_few_obstacle(kiln *k, const job *j);
// is_done: false where x is too large.
kiln_status linear_run_few(kiln *k, job *j, const kiln_device_info *info, bool *is_done);
// Weights of 16 bytes.
uint32_t linear_chunk(const job *j);
// Words of a row of weights that a lane reads at a time: four lanes stay within a group.
uint32_t linear_span_words(const job *j);
// Do rows of scales or zeros lie side by side and start at multiples of `grain` bytes?
bool linear_has_grains(const kiln_view *v, uint32_t grain);

// host_registers.c: the same with x in registers, where linear_few_obstacle finds none. why: it is
// impossible and nothing was launched; NULL: it was.
kiln_status linear_run_registers(kiln *k, job *j, const kiln_device_info *info, const char **why);

// host_unpack.c: the weights become numbers, or the product is one of integers.
// Why that is impossible; NULL: it is possible.
const char *linear_unpack_obstacle(const job *j);
bool linear_is_unpacked(const job *j, const kiln_device_info *info);
// Bytes of the workspace: the weights as numbers; with x of i8 the sums, where scales follow them.
uint64_t linear_unpacked_bytes(const job *j);
kiln_status linear_run_unpack(kiln *k, job *j);

#endif
