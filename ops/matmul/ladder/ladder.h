// Host code for the rungs of the ladder: which ones a device can run, and how each is launched.
// What differs between the kernels (tile sizes, shared memory, boxes of the tensor maps) is read
// from their constants, never repeated here. Start reading at ladder_prepare.
#ifndef KILN_LADDER_H
#define KILN_LADDER_H

#include <kiln/kiln.h>
#include <stdio.h>
#include <string.h>

#define LADDER_FOLDER "ops/matmul/ladder/"

typedef enum ladder_needs { LADDER_ANYTHING, LADDER_MMA, LADDER_WGMMA } ladder_needs;

typedef struct ladder_rung {
    const char *name, *path, *target; // the oldest GPU
    ladder_needs needs;
    const char *what; // is new
} ladder_rung;

#define RUNG(name, file, target, needs, what)                                                      \
    {#name, LADDER_FOLDER file, target, LADDER_##needs, what},
static const ladder_rung ladder_rungs[] = {
#include "ops/matmul/ladder/rungs.def"
};
#undef RUNG
enum { LADDER_RUNGS = sizeof ladder_rungs / sizeof *ladder_rungs };

static inline bool ladder_runs_on(const ladder_rung *rung, const kiln_caps *caps)
{
    switch (rung->needs) {
    case LADDER_ANYTHING: return true;
    case LADDER_MMA: return caps->has_nv && (caps->is_emulated || caps->sm >= 80);
    case LADDER_WGMMA: return caps->has_wgmma && caps->has_tensor_copies;
    }
    return false;
}

// c: [m, n] = a: [m, k] times b: [n, k] transposed, all bf16.
typedef struct ladder_problem {
    kiln_buffer *a, *b, *c;
    uint32_t m, n, k;
} ladder_problem;

typedef struct ladder_launch {
    kiln_tensor_map maps[3];
    kiln_arg args[6];
    kiln_launch_desc desc; // points to args: a ladder_launch stays where it was prepared
} ladder_launch;

// A constant of the kernel, or what to take where it has none.
static inline uint32_t ladder_constant(const kiln_kernel *kernel, const char *name,
                                       uint32_t otherwise)
{
    int64_t value = otherwise;
    kiln_kernel_constant(kernel, name, &value);
    return (uint32_t)value;
}

// The map of a matrix [rows, columns]: one copy takes a box of box_rows x 64 columns, 128 bytes.
static inline kiln_status ladder_map(kiln *k, kiln_buffer *b, uint32_t rows, uint32_t columns,
                                     uint32_t box_rows, kiln_tensor_map *out)
{
    const kiln_tensor_map_desc desc = {.buffer = b,
                                       .rank = 2,
                                       .size = {columns, rows},
                                       .box = {64, box_rows},
                                       .swizzle_bytes = 128};
    return kiln_tensor_map_make(k, &desc, out);
}

// Fills in `out` for kiln_launch(kernel, &out->desc). `blocks` is the grid of a kernel whose blocks
// compute one tile after the other (PERSISTENT): the multiprocessors of the device.
static inline kiln_status ladder_prepare(kiln *k, const kiln_kernel *kernel,
                                         const ladder_problem *p, uint32_t blocks,
                                         ladder_launch *out)
{
    memset(out, 0, sizeof *out);
    kiln_buffer *const buffers[3] = {p->a, p->b, p->c};
    const uint32_t bm = ladder_constant(kernel, "BM", 1), bn = ladder_constant(kernel, "BN", 1);
    const uint32_t rows[3] = {p->m, p->n, p->m}, columns[3] = {p->k, p->k, p->n};
    const uint32_t box_rows[3] = {bm, bn, ladder_constant(kernel, "STORE_ROWS", 1)};
    for (size_t i = 0; i < 3; i++) {
        kiln_param_info param;
        kiln_status status = kiln_kernel_param(kernel, i, &param);
        out->args[i] = kiln_arg_buffer(buffers[i]);
        if (!status && param.kind == KILN_PARAM_TENSOR_MAP) {
            status = ladder_map(k, buffers[i], rows[i], columns[i], box_rows[i], &out->maps[i]);
            out->args[i] = kiln_arg_struct(&out->maps[i], sizeof out->maps[i]);
        }
        if (status)
            return status;
    }
    out->args[3] = kiln_arg_i64(KILN_U32, p->m);
    out->args[4] = kiln_arg_i64(KILN_U32, p->n);
    out->args[5] = kiln_arg_i64(KILN_U32, p->k);
    const uint32_t across = (p->n + bn - 1) / bn, down = (p->m + bm - 1) / bm;
    out->desc = (kiln_launch_desc){.grid = {across, down},
                                   .shared_bytes = ladder_constant(kernel, "SHARED_BYTES", 0),
                                   .args = out->args,
                                   .arg_count = 6};
    if (ladder_constant(kernel, "PERSISTENT", 0)) {
        out->desc.grid[0] = across * down < blocks ? across * down : blocks;
        out->desc.grid[1] = 1;
    }
    return KILN_OK;
}

#endif
