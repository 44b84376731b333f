// Attention on mma (forward_mma.c, backward_mma.c): which calls these kernels take, and how they
// are launched. They have every mask, head dimensions that are multiples of 8 up to 256, and sums
// in a fixed order.
#include "ops/attention/host_attention.h"
#include "ops/attention/sizes.h"

// Bytes of shared memory of `rows` rows of a tile.
static uint32_t tile_bytes(const attention *a, uint32_t rows)
{
    return ceil_div(a->head_dim, 64) * 128 * rows;
}

bool attention_can_mma(attention *a, const tensor *tensors, size_t count, bool is_backward)
{
    // as in the kernels: two stages of two tiles, and one or two tiles of the block's own rows
    uint32_t other = a->head_dim > (is_backward ? 64 : 128) ? 32 : 64;
    uint32_t own = is_backward ? 2 * BACKWARD_MMA_ROWS : FORWARD_MMA_ROWS / 2;
    uint32_t heads = a->batch * (a->heads > a->kv_heads ? a->heads : a->kv_heads);
    uint32_t rows = a->queries > a->keys ? a->queries : a->keys;
    const char *why = NULL;
    if (!a->k->caps.has_nv || (a->k->caps.sm && a->k->caps.sm < 80))
        why = "the device is not sm_80 or later";
    else if (a->type == KILN_F32)
        why = "its tensors are bf16 or f16";
    else if (a->head_dim % 8 || a->head_dim > 256)
        why = "head_dim is not a multiple of 8 up to 256";
    else if (tile_bytes(a, own + 4 * other) + 1024 > a->k->caps.shared_bytes)
        why = "its tiles do not fit in shared memory";
    else if (op_product(heads, attention_tiles(a, rows, BACKWARD_MMA_ROWS)) > INT32_MAX)
        why = "there are too many rows";
    return attention_can(a, why) && attention_is_aligned(a, tensors, count);
}

uint32_t attention_mma_warps(const attention *a, uint32_t multiprocessors)
{
    // 8 warps read K and V half as often as 4; 4 give more blocks
    uint32_t other = a->head_dim > 128 ? 32 : 64;
    uint64_t blocks =
        (uint64_t)a->batch * a->heads * attention_tiles(a, a->queries, FORWARD_MMA_ROWS);
    bool is_too_large = tile_bytes(a, FORWARD_MMA_ROWS + 4 * other) > a->k->caps.shared_bytes;
    return is_too_large || blocks < multiprocessors ? 4 : 8;
}

kiln_status attention_run_mma(const attention *a, op_request *r, const mma_launch *l)
{
    const bool is_keys = l->is_keys;
    const struct { // struct shape of mma.h
        uint32_t batch, heads, kv_heads, queries, keys, tiles;
        float scale, factor;
    } s = {a->batch,
           a->heads,
           a->kv_heads,
           a->queries,
           a->keys,
           attention_tiles(a, is_keys ? a->keys : a->queries, l->rows),
           a->scale * 1.44269504f,
           a->scale};
    row_strides by[MMA_TENSORS];
    kiln_arg args[MMA_TENSORS + 2 + MASK_ARGS];
    size_t count = l->arg_count;
    memcpy(args, l->args, count * sizeof *args);
    for (size_t n = 0; n < l->tensor_count; n++)
        by[n] = n < l->given ? attention_row_strides(l->tensors[n].view) : (row_strides){0, 0, 0};
    args[count++] = kiln_arg_struct(&s, sizeof s);
    args[count++] = kiln_arg_struct(by, l->tensor_count * sizeof *by);
    count = attention_add_mask(a, r, args, count);
    op_set(r, TYPE, a->type);
    op_set(r, ANY_HD, a->head_dim);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(a->k, r, &kernel);
    if (status)
        return status;
    return kiln_launch(
        kernel->kernel,
        &(kiln_launch_desc){.grid = {a->batch * (is_keys ? a->kv_heads : a->heads) * s.tiles},
                            .shared_bytes = kernel->shared_bytes,
                            .args = args,
                            .arg_count = count,
                            .stream = l->stream});
}
