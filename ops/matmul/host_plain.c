// Kernels with the arguments of gemm_portable.c, which read operands in plain memory: why some of
// them cannot multiply, and their launches.
#include "ops/matmul/host_matmul.h"

const char matmul_not_contiguous[] = "neither rows nor columns of an operand are contiguous",
           matmul_across_rows[] = "only 16-bit operands can be read across their rows: of a the "
                                  "rows are contiguous, of b the columns";

const char *matmul_operand_obstacle(const job *j)
{
    if (j->type == F32)
        return "f32 without is_tf32 has no matrix unit";
    if (matmul_is_scattered(j))
        return matmul_not_contiguous;
    if (j->bytes != 2 && (j->a.is_transposed || !j->b.is_transposed))
        return matmul_across_rows;
    return NULL;
}

const char *matmul_mma_obstacle(const job *j)
{
    const kiln_caps *caps = &j->k->caps;
    if (!caps->has_nv)
        return "the device has no matrix unit";
    if (caps->sm && caps->sm < (j->type == E4M3 ? 89 : 80))
        return "the device is too old";
    const char *obstacle = matmul_operand_obstacle(j);
    return obstacle || j->depth ? obstacle : "k is 0";
}

bool matmul_overlaps(const job *j)
{
    return !j->desc->waits_for_previous && j->k->caps.sm >= 90;
}

kiln_status matmul_too_many_tiles(const job *j, uint64_t tiles)
{
    return error_set(j->k, KILN_E_LAUNCH, K6015, "kiln_matmul: %llu tiles are too many",
                     (unsigned long long)tiles);
}

kiln_status matmul_launch_plain(const job *j, const op_kernel *kernel, uint32_t blocks,
                                uint32_t parts, bool overlaps_previous)
{
    const kiln_matmul_desc *d = j->desc;
    kiln_status status = KILN_OK;
    const uint32_t most = 65535; // blocks along y
    for (uint32_t first = 0; first < j->batch && !status; first += most) {
        kiln_arg args[16] = {matmul_arg(&j->a, first), matmul_arg(&j->b, first),
                             matmul_arg(&j->out, first)};
        size_t count = 3;
        if (d->epilogue != KILN_EPILOGUE_NONE)
            args[count++] = matmul_arg(&j->bias, 0);
        const uint64_t numbers[] = {j->m,          j->n,      j->depth,  j->a.stride, j->b.stride,
                                    j->out.stride, j->a.next, j->b.next, j->out.next};
        for (size_t i = 0; i < COUNT(numbers); i++)
            args[count++] = kiln_arg_i64(i < 6 ? KILN_U32 : KILN_U64, (int64_t)numbers[i]);
        uint32_t rest = j->batch - first;
        status = kiln_launch(kernel->kernel,
                             &(kiln_launch_desc){.grid = {blocks, rest < most ? rest : most, parts},
                                                 .shared_bytes = kernel->shared_bytes,
                                                 .args = args,
                                                 .arg_count = count,
                                                 .stream = d->stream,
                                                 .overlaps_previous = overlaps_previous});
    }
    return status;
}

kiln_status matmul_launch_tiles(const job *j, const op_request *r, uint64_t tiles, uint32_t parts,
                                bool overlaps_previous)
{
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->k, r, &kernel);
    if (!status && tiles > INT32_MAX)
        return matmul_too_many_tiles(j, tiles);
    return status ? status
                  : matmul_launch_plain(j, kernel, (uint32_t)tiles, parts, overlaps_previous);
}
