// f32 products on the matrix unit of sm_90a with nearly the error of f32 (is_tf32x3): gemm_split.c
// writes both operands as sums of two tf32 numbers, side by side along K, and gemm_sm90.c
// multiplies these. Start reading at matmul_run_split, the last function.
#include "ops/matmul/host_matmul.h"

static const op_program gemm_split = MATMUL_PROGRAM("ops/matmul/gemm_split.c");

enum { TILE = 32, THIRDS = 3 };

static uint32_t padded_of(const job *j)
{
    return ceil_div(j->depth, TILE) * TILE;
}

static uint64_t bytes_of(const job *j, uint32_t rows)
{
    return (uint64_t)rows * padded_of(j) * THIRDS * 4; // a multiple of 128
}

// The product of the operands that gemm_split.c makes in `to`.
static job split_job(const job *j, kiln_matmul_desc *desc, kiln_buffer *to)
{
    job s = *j;
    uint64_t pitch = (uint64_t)padded_of(j) * THIRDS;
    *desc = *j->desc;
    desc->is_tf32 = true;
    desc->is_tf32x3 = false;
    desc->b_is_constant = false;
    s.desc = desc;
    s.type = TF32;
    s.batch = 1;
    s.depth = padded_of(j) * THIRDS;
    s.a = (matrix){.buffer = to,
                   .type = KILN_F32,
                   .steps = {(int64_t)pitch, 1},
                   .rows = j->m,
                   .stride = pitch};
    s.b = (matrix){.buffer = to,
                   .type = KILN_F32,
                   .first = bytes_of(j, j->m) / 4,
                   .steps = {1, (int64_t)pitch},
                   .is_transposed = true,
                   .rows = j->n,
                   .stride = pitch};
    return s;
}

bool matmul_is_split(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    kiln_matmul_desc desc;
    if (!d->is_tf32x3 || j->type != F32 || !j->depth || matmul_is_scattered(j) ||
        padded_of(j) > INT32_MAX / THIRDS)
        return false;
    // What the product itself would keep in memory between kernels has no room beside the operands.
    job s = split_job(j, &desc, j->a.buffer);
    return !matmul_sm90_obstacle(&s) && matmul_tile(&s).parts == 1;
}

static kiln_status split(const job *j, const matrix *x, uint32_t n, bool is_right, kiln_buffer *to,
                         uint64_t first)
{
    uint32_t rows = is_right ? j->n : j->m, padded = padded_of(j);
    uint64_t tiles = (uint64_t)ceil_div(rows, TILE) * (padded / TILE);
    op_request r = {.program = &gemm_split};
    const op_kernel *kernel;
    op_set(&r, IS_MN, x->is_transposed != is_right);
    op_set(&r, IS_RIGHT, is_right);
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    if (status || tiles > INT32_MAX)
        return status ? status : matmul_too_many_tiles(j, tiles);
    const kiln_arg args[] = {
        matmul_arg(x, n),
        kiln_arg_view((kiln_view){.buffer = to, .type = KILN_F32, .first = first / 4}),
        kiln_arg_i64(KILN_U32, rows),
        kiln_arg_i64(KILN_U32, j->depth),
        kiln_arg_i64(KILN_U32, (int64_t)x->stride),
        kiln_arg_i64(KILN_U32, padded)};
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {(uint32_t)tiles},
                                           .args = args,
                                           .arg_count = COUNT(args),
                                           .stream = j->desc->stream,
                                           .overlaps_previous = matmul_overlaps(j)});
}

kiln_status matmul_run_split(const job *j)
{
    kiln_buffer *scratch = NULL;
    bool is_temporary = false;
    kiln_matmul_desc desc;
    uint64_t of_a = bytes_of(j, j->m);
    kiln_status status =
        matmul_scratch(j->k, j->desc->stream, of_a + bytes_of(j, j->n), &scratch, &is_temporary);
    for (uint32_t n = 0; n < j->batch && !status; n++) {
        status = split(j, &j->a, n, false, scratch, 0);
        if (!status)
            status = split(j, &j->b, n, true, scratch, of_a);
        job s = split_job(j, &desc, scratch);
        s.out.first += n * j->out.next;
        if (!status)
            status = matmul_run_sm90(&s);
    }
    if (is_temporary)
        kiln_buffer_free(scratch);
    return status;
}
