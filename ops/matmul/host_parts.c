// Products whose sums are cut into parts along K: a job makes the sums of all parts, and gemm_add.c
// adds them.
#include "ops/matmul/host_matmul.h"

static const op_program gemm_add = MATMUL_PROGRAM("ops/matmul/gemm_add.c");

// Numbers from row to row of a part's sums.
static uint32_t part_pitch(const job *j)
{
    return (j->n + 3) / 4 * 4;
}

uint64_t matmul_part_bytes(const job *j, uint32_t parts)
{
    return parts > 1 ? (uint64_t)parts * j->m * part_pitch(j) * 4 : 0;
}

job matmul_job_of_parts(const job *j, kiln_matmul_desc *plain, kiln_buffer *to, uint64_t offset)
{
    job parts = *j;
    *plain = *j->desc;
    plain->epilogue = KILN_EPILOGUE_NONE;
    parts.desc = plain;
    parts.result = j->type == S8 ? OUT_S32 : OUT_F32;
    parts.out_bytes = 4;
    parts.is_loose = false;
    parts.out = (matrix){.buffer = to,
                         .type = j->type == S8 ? KILN_I32 : KILN_F32,
                         .first = offset / 4,
                         .rows = j->m,
                         .stride = part_pitch(j)};
    return parts;
}

kiln_status matmul_add_parts(const job *j, const matrix *sums, uint32_t parts)
{
    enum { THREADS = 128 };
    const kiln_matmul_desc *d = j->desc;
    op_request r = {.program = &gemm_add};
    const op_kernel *kernel;
    uint64_t threads = (uint64_t)j->m * ceil_div(j->n, 4);
    op_set(&r, TYPE, j->type);
    op_set(&r, OUT, j->result);
    op_set(&r, EPILOGUE, d->epilogue);
    op_set(&r, LOOSE, j->is_loose);
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    if (status)
        return status;
    kiln_arg args[8] = {matmul_arg(sums, 0), matmul_arg(&j->out, 0)};
    size_t count = 2;
    if (d->epilogue != KILN_EPILOGUE_NONE)
        args[count++] = matmul_arg(&j->bias, 0);
    const uint64_t numbers[] = {j->m, j->n, parts, sums->stride, j->out.stride};
    for (size_t n = 0; n < COUNT(numbers); n++)
        args[count++] = kiln_arg_i64(KILN_U32, (int64_t)numbers[n]);
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {(uint32_t)((threads + THREADS - 1) / THREADS)},
                                           .args = args,
                                           .arg_count = count,
                                           .stream = d->stream,
                                           .overlaps_previous = matmul_overlaps(j)});
}

kiln_status matmul_run_parts(const job *j, const matrix *copied, uint32_t count,
                             matmul_multiply *multiply, const void *way)
{
    uint64_t copies = copied ? matmul_copy_bytes(j, copied) : 0,
             bytes = copies + matmul_part_bytes(j, count);
    kiln_matmul_desc plain;
    kiln_buffer *scratch = NULL;
    bool is_temporary = false;
    kiln_status status =
        bytes ? matmul_scratch(j->k, j->desc->stream, bytes, &scratch, &is_temporary) : KILN_OK;
    job inner = *j;
    if (!status && copies)
        status = matmul_pack(j, copied, scratch, &inner);
    if (!status && count > 1) {
        job parts = matmul_job_of_parts(&inner, &plain, scratch, copies);
        status = multiply(&parts, way);
        if (!status)
            status = matmul_add_parts(j, &parts.out, count);
    } else if (!status) {
        status = multiply(&inner, way);
    }
    if (is_temporary)
        kiln_buffer_free(scratch);
    return status;
}
