// kiln_attention_backward: checks a description, picks kernels, and launches them.
//
// Two ways: backward_sm90.c between the two kernels of backward_ends.c (wgmma, tensor maps), and
// backward_portable.c (any device, any head dimension). The first one that can do the job is taken.
// Start reading at kiln_attention_backward, the last function.
#include "kiln/ops.h"

#include <math.h>

#include "ops/op.h"

static const char op_name[] = "kiln_attention_backward";

// --- the kernels and the axes of their variants
#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include "ops/attention/axes.def"
};
#define AXIS(id, text, what, domain) [AXIS_##id] = {.name = text, .kind = OP_##what, domain},
static const op_axis axes[] = {
#include "ops/attention/axes.def"
};
static const op_program prepare = {"ops/attention/backward_ends.c", "attention_backward_prepare",
                                   axes, COUNT(axes)},
                        backward_sm90 = {"ops/attention/backward_sm90.c", "attention_backward",
                                         axes, COUNT(axes)},
                        convert = {"ops/attention/backward_ends.c", "attention_backward_convert",
                                   axes, COUNT(axes)},
                        portable_queries = {"ops/attention/backward_portable.c",
                                            "attention_backward_queries", axes, COUNT(axes)},
                        portable_keys = {"ops/attention/backward_portable.c",
                                         "attention_backward_keys", axes, COUNT(axes)};

// A description with everything decided.
typedef struct job {
    kiln *k;
    const kiln_attention_backward_desc *desc;
    kiln_type type;
    uint32_t heads; // of the whole batch
    float scale;
    bool is_fast;
} job;

// --- the shape
static kiln_status wrong(kiln *k, const char *what)
{
    return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: %s", op_name, what);
}

static kiln_status check_shape(job *j)
{
    const kiln_attention_backward_desc *d = j->desc;
    if (!d->head_dim || d->head_dim > 1024)
        return wrong(j->k, "head_dim is 1 to 1024");
    if (!(d->scale >= 0.0f) || isinf(d->scale))
        return wrong(j->k, "scale is not a positive number");
    if ((unsigned)d->kernel > KILN_ATTENTION_PORTABLE)
        return wrong(j->k, "there is no such kernel");
    uint64_t heads = (uint64_t)d->batch * d->heads;
    if (heads > INT32_MAX || d->length > INT32_MAX - 1024)
        return wrong(j->k, "the rows of a head and the heads of the batch are at most 2^31 - 1024");
    if (d->length && heads > UINT32_MAX / d->length)
        return wrong(j->k, "the heads of the batch have more than 2^32 - 1 rows");
    j->heads = (uint32_t)heads;
    j->scale = d->scale > 0.0f ? d->scale : 1.0f / sqrtf((float)d->head_dim);
    return KILN_OK;
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

enum { KEYS = 128, SUM_BLOCK = 8192 }; // as in backward_tiles.h

static uint32_t block_queries(uint32_t head_dim)
{
    return head_dim == 128 ? 64 : 128;
}

// Why backward_sm90.c cannot do it; NULL: it can.
static const char *sm90_obstacle(const job *j)
{
    const kiln_attention_backward_desc *d = j->desc;
    if (!j->k->caps.has_wgmma)
        return "the device is not sm_90a";
    if (d->head_dim != 64 && d->head_dim != 128)
        return "head_dim is not 64 or 128";
    if (d->q && kiln_buffer_type(d->q) == KILN_F32)
        return "its tensors are bf16 or f16";
    if ((uint64_t)j->heads * ceil_div(d->length, block_queries(d->head_dim)) >= 1 << 22)
        return "there are more than 2^22 blocks of queries";
    return NULL;
}

static kiln_status choose(job *j)
{
    const char *obstacle = sm90_obstacle(j);
    if (j->desc->kernel == KILN_ATTENTION_SM90 && obstacle)
        return error_set(j->k, KILN_E_UNSUPPORTED, K6038, "%s: the sm_90a kernel cannot: %s",
                         op_name, obstacle);
    j->is_fast = j->desc->kernel == KILN_ATTENTION_SM90 ||
                 (j->desc->kernel == KILN_ATTENTION_BEST && !j->k->caps.is_emulated && !obstacle);
    return KILN_OK;
}

// Elements of the workspace: the sums of dQ, then two numbers a query; portable: one number.
static uint64_t sums_of(const job *j)
{
    uint32_t blocks = ceil_div(j->desc->length, block_queries(j->desc->head_dim));
    return (uint64_t)j->heads * blocks * SUM_BLOCK;
}

static uint64_t workspace_of(const job *j)
{
    uint64_t rows = (uint64_t)j->heads * j->desc->length;
    return j->is_fast ? sums_of(j) + sums_of(j) / SUM_BLOCK * 2 * block_queries(j->desc->head_dim)
                      : rows;
}

// --- the buffers
static kiln_status check_buffers(job *j)
{
    const kiln_attention_backward_desc *d = j->desc;
    const uint64_t rows = (uint64_t)j->heads * d->length, count = rows * d->head_dim;
    const struct {
        const char *name;
        const kiln_buffer *buffer;
        uint64_t count;
        bool is_f32, is_result;
    } given[] = {{"q", d->q, count, false, false},
                 {"k", d->k, count, false, false},
                 {"v", d->v, count, false, false},
                 {"out", d->out, count, false, false},
                 {"dout", d->dout, count, false, false},
                 {"lse", d->lse, rows, true, false},
                 {"dq", d->dq, count, false, true},
                 {"dk", d->dk, count, false, true},
                 {"dv", d->dv, count, false, true},
                 {"workspace", d->workspace, workspace_of(j), true, true}};
    for (size_t n = 0; n < COUNT(given); n++) {
        kiln_status status =
            op_check_buffer(j->k, op_name, given[n].name, given[n].buffer, 0, given[n].count);
        if (status)
            return status;
        kiln_type type = kiln_buffer_type(given[n].buffer);
        if (n == 0)
            j->type = type;
        kiln_type wanted = given[n].is_f32 ? KILN_F32 : j->type;
        if (type != wanted)
            return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not %s", op_name,
                             given[n].name, kiln_type_name(type), kiln_type_name(wanted));
        for (size_t before = 0; given[n].is_result && before < n; before++)
            if (given[before].buffer == given[n].buffer)
                return error_set(j->k, KILN_E_BAD_ARGUMENT, K6003,
                                 "%s: '%s' and '%s' are the same buffer", op_name,
                                 given[before].name, given[n].name);
    }
    if (j->type != KILN_BF16 && j->type != KILN_F16 && j->type != KILN_F32)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: tensors of %s; bf16, f16 and f32 are possible", op_name,
                         kiln_type_name(j->type));
    return KILN_OK;
}

// --- sm_90a
static kiln_status map_rows(const job *j, const kiln_buffer *buffer, uint32_t box_rows,
                            kiln_tensor_map *out)
{
    const kiln_attention_backward_desc *d = j->desc;
    return kiln_tensor_map_make(j->k,
                                &(kiln_tensor_map_desc){.buffer = buffer,
                                                        .rank = 3,
                                                        .size = {d->head_dim, d->length, j->heads},
                                                        .box = {64, box_rows, 1},
                                                        .swizzle_bytes = 128,
                                                        .promotion_bytes = 256},
                                out);
}

static size_t shared_bytes_of(uint32_t head_dim)
{
    size_t m = block_queries(head_dim), keys = (size_t)KEYS * head_dim * 2, q = m * head_dim * 2;
    return 2 * keys + 6 * q + 2 * KEYS * m * 2 + 8 * 4096 + 2 * 8 * m + 20 * 8;
}

static kiln_status get(const job *j, const op_program *program, size_t shared_bytes,
                       const op_kernel **out)
{
    op_request r = {.program = program, .shared_bytes = shared_bytes};
    op_set(&r, TYPE, j->type);
    op_set(&r, HD, j->desc->head_dim);
    if (shared_bytes)
        op_set(&r, CAUSAL, j->desc->is_causal);
    return op_kernel_get(j->k, &r, out);
}

static kiln_arg number(uint32_t value)
{
    return kiln_arg_i64(KILN_U32, value);
}

static kiln_arg real(float value)
{
    return kiln_arg_f64(KILN_F32, (double)value);
}

static kiln_status launch(const job *j, const op_kernel *kernel, uint32_t grid, size_t shared_bytes,
                          const kiln_arg *args, size_t count)
{
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {grid},
                                                           .shared_bytes = shared_bytes,
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = j->desc->stream});
}

static kiln_status run_main(const job *j, const op_kernel *kernel, uint32_t blocks)
{
    const kiln_attention_backward_desc *d = j->desc;
    uint32_t m = block_queries(d->head_dim), key_blocks = ceil_div(d->length, KEYS);
    uint32_t per_head = d->is_causal ? ceil_div(key_blocks, 2) : key_blocks;
    uint32_t units = j->heads * per_head, waves = ceil_div(units, kernel->resident);
    const struct {
        const kiln_buffer *buffer;
        uint32_t rows;
    } mapped[] = {{d->q, m}, {d->k, KEYS}, {d->v, KEYS}, {d->dout, m}};
    kiln_tensor_map maps[COUNT(mapped)];
    kiln_arg args[15];
    size_t count = 0;
    for (; count < COUNT(mapped); count++) {
        kiln_status status = map_rows(j, mapped[count].buffer, mapped[count].rows, &maps[count]);
        if (status)
            return status;
        args[count] = kiln_arg_struct(&maps[count], sizeof maps[count]);
    }
    args[count++] = kiln_arg_buffer_at(d->workspace, sums_of(j));
    args[count++] = kiln_arg_buffer(d->workspace);
    args[count++] = kiln_arg_buffer(d->dk);
    args[count++] = kiln_arg_buffer(d->dv);
    const uint32_t numbers[] = {d->length, blocks, key_blocks, units, per_head};
    for (size_t n = 0; n < COUNT(numbers); n++)
        args[count++] = number(numbers[n]);
    args[count++] = real(j->scale * 1.44269504f);
    args[count++] = real(j->scale);
    return launch(j, kernel, ceil_div(units, waves), shared_bytes_of(d->head_dim), args, count);
}

static kiln_status run_sm90(const job *j)
{
    const kiln_attention_backward_desc *d = j->desc;
    const op_kernel *first, *main, *last;
    kiln_status status = get(j, &prepare, 0, &first);
    if (!status)
        status = get(j, &backward_sm90, shared_bytes_of(d->head_dim), &main);
    if (!status)
        status = get(j, &convert, 0, &last);
    if (status)
        return status;
    uint32_t blocks = ceil_div(d->length, block_queries(d->head_dim));
    const kiln_arg before[] = {kiln_arg_buffer(d->out),
                               kiln_arg_buffer(d->dout),
                               kiln_arg_buffer(d->lse),
                               kiln_arg_buffer_at(d->workspace, sums_of(j)),
                               kiln_arg_buffer(d->workspace),
                               number(d->length),
                               number(blocks)};
    const kiln_arg after[] = {kiln_arg_buffer(d->workspace), kiln_arg_buffer(d->dq),
                              number(d->length), number(blocks), real(j->scale)};
    uint32_t tiles = j->heads * blocks;
    status = launch(j, first, tiles * (SUM_BLOCK / 8 / 256), 0, before, COUNT(before));
    if (!status)
        status = run_main(j, main, blocks);
    return status ? status
                  : launch(j, last, tiles * (SUM_BLOCK / 16 / 256), 0, after, COUNT(after));
}

// --- any device
enum { PORTABLE_ROWS = 4 }; // of a block: WARPS in backward_portable.c

static kiln_status run_portable(const job *j)
{
    const kiln_attention_backward_desc *d = j->desc;
    static const op_program *const programs[] = {&portable_queries, &portable_keys};
    for (size_t n = 0; n < COUNT(programs); n++) { // the first one writes what the second one needs
        op_request r = {.program = programs[n]};
        op_set(&r, TYPE, j->type);
        op_set(&r, ANY_HD, d->head_dim);
        op_set(&r, CAUSAL, d->is_causal);
        const op_kernel *kernel;
        kiln_status status = op_kernel_get(j->k, &r, &kernel);
        if (status)
            return status;
        uint32_t rows = j->heads * d->length;
        const kiln_arg args[] = {kiln_arg_buffer(d->q),
                                 kiln_arg_buffer(d->k),
                                 kiln_arg_buffer(d->v),
                                 kiln_arg_buffer(n ? d->dk : d->out),
                                 kiln_arg_buffer(d->dout),
                                 kiln_arg_buffer(d->lse),
                                 kiln_arg_buffer(d->workspace),
                                 kiln_arg_buffer(n ? d->dv : d->dq),
                                 number(rows),
                                 number(d->length),
                                 real(j->scale)};
        status = launch(j, kernel, ceil_div(rows, PORTABLE_ROWS), 0, args, COUNT(args));
        if (status)
            return status;
    }
    return KILN_OK;
}

// --- the calls
static kiln_status begin(kiln *k, const kiln_attention_backward_desc *desc, job *j)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!desc)
        return wrong(k, "the description is NULL");
    *j = (job){.k = k, .desc = desc};
    kiln_status status = check_shape(j);
    if (!status)
        status = op_check_buffer(k, op_name, "q", desc->q, 0, 0);
    return status ? status : choose(j);
}

kiln_status kiln_attention_backward_workspace(kiln *k, const kiln_attention_backward_desc *desc,
                                              uint64_t *elements)
{
    job j;
    kiln_status status = begin(k, desc, &j);
    if (!status && !elements)
        status = wrong(k, "'elements' is NULL");
    if (!status)
        *elements = workspace_of(&j);
    return status;
}

kiln_status kiln_attention_backward(kiln *k, const kiln_attention_backward_desc *desc)
{
    job j;
    kiln_status status = begin(k, desc, &j);
    if (!status)
        status = check_buffers(&j);
    if (status || !j.heads || !desc->length)
        return status;
    return j.is_fast ? run_sm90(&j) : run_portable(&j);
}
