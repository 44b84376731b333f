// kiln_matmul_grouped: products of groups of rows in one launch, on sm_90a of scaled_sm90.c, else
// of gemm_portable.c or gemm_f32.c, with gemm_finish.c behind it where more follows the sum than
// bias and activation. Where groups end is known to the device alone, so the grid of the latter has
// room for the most tiles that there can be. Start reading at the last function.
#include "ops/matmul/host_matmul.h"
#include "rt/memory/view.h"

static const op_program gemm_portable = MATMUL_PROGRAM("ops/matmul/gemm_portable.c"),
                        gemm_f32 = MATMUL_PROGRAM("ops/matmul/gemm_f32.c");

static const char call[] = "kiln_matmul_grouped";

typedef struct form { // of a kernel
    uint32_t m, n, warps_m, warps_n, line;
} form;

static form form_of(const job *j)
{
    bool is_gpu = j->k->caps.sm >= 80, is_small = j->m < 128 || j->n < 128;
    bool transposes_bytes = j->type == S8 && (j->a.is_transposed || !j->b.is_transposed);
    if (j->type == F32 || j->type == TF32)
        return j->k->caps.sm && !is_small ? (form){128, 128, 0, 0, 0} : (form){64, 64, 0, 0, 0};
    return j->k->caps.is_host                        ? (form){32, 32, 1, 1, 64}
           : !is_gpu || transposes_bytes || is_small ? (form){64, 64, 2, 2, 64}
                                                     : (form){128, 128, 2, 2, 128};
}

static void request_of(const job *j, form f, op_request *r)
{
    bool is_f32 = j->type == F32 || j->type == TF32, is_even = j->type != E4M3;
    job own = *j;
    own.type = is_f32 ? F32 : j->type;
    is_even = is_even && matmul_is_aligned(j, &j->a, j->bytes) &&
              matmul_is_aligned(j, &j->b, j->bytes) && j->b.next * j->bytes % 16 == 0 &&
              !(j->a.is_transposed && !is_f32); // groups of columns begin anywhere
    r->program = is_f32 ? &gemm_f32 : &gemm_portable;
    matmul_set_types(&own, j->a.is_transposed, !j->b.is_transposed, r);
    op_set(r, GROUPED, true);
    op_set(r, PAIRS,
           j->n % 2 == 0 && j->out.stride % 2 == 0 &&
               (j->out.buffer->address + j->out.first * j->out_bytes) % (2 * j->out_bytes) == 0);
    if (is_f32) {
        op_set(r, TILE, f.m);
        op_set(r, ALIGNED, is_even && !j->a.is_transposed);
        return;
    }
    op_set(r, BM, f.m);
    op_set(r, BN, f.n);
    op_set(r, WARPS_M, f.warps_m);
    op_set(r, WARPS_N, f.warps_n);
    op_set(r, LINE, f.line);
    op_set(r, ALIGNED, is_even);
    op_set(r, WHOLE, false);
}

// --- checks
static kiln_status check(kiln *k, const kiln_matmul_desc *d, kiln_view ends)
{
    char shape[VIEW_TEXT];
    kiln_status status = view_check(k, &d->b, call, "b");
    if (!status)
        status = view_check(k, &ends, call, "ends");
    if (status)
        return status;
    if (d->b.rank != 3 || d->a.rank != 2 || d->out.rank != 2)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: 'b' is %s; a is [rows, k], b is [groups, k, n], out is [rows, n]",
                         call, view_shape_text(&d->b, shape));
    if (kiln_view_type(ends) != KILN_I32)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'ends' is %s, not i32", call,
                         kiln_type_name(kiln_view_type(ends)));
    if (ends.rank != 1 || ends.sizes[0] != d->b.sizes[0] ||
        (ends.sizes[0] > 1 && kiln_view_stride(ends, 0) != 1))
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: 'ends' is %s; it needs one number for each of the %llu groups, one "
                         "behind the other",
                         call, view_shape_text(&ends, shape), (unsigned long long)d->b.sizes[0]);
    if (kiln_view_overlaps(d->out, d->b) || kiln_view_overlaps(d->out, ends))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: 'out' overlaps what is read", call);
    return KILN_OK;
}

static kiln_status check_scale(kiln *k, const kiln_matmul_desc *d, const kiln_view *v,
                               const char *name)
{
    char shape[VIEW_TEXT];
    bool is_a = v == &d->a_scale;
    uint64_t lines = is_a ? d->out.sizes[0] : d->out.sizes[1], groups = d->b.sizes[0];
    if (!v->buffer)
        return KILN_OK;
    kiln_status status = matmul_check_f32(k, v, call, name);
    if (status)
        return status;
    bool fits = v->rank == 1 || (v->rank == 2 && !is_a && v->sizes[0] == groups);
    fits = fits && (v->sizes[v->rank - 1] == 1 || v->sizes[v->rank - 1] == lines);
    for (uint32_t n = 0; n < v->rank && fits; n++)
        fits = kiln_view_stride(*v, n) >= 0 && kiln_view_stride(*v, n) <= UINT32_MAX;
    return fits ? KILN_OK
                : error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                            "%s: '%s' is %s; [1] and [%llu] are possible%s", call, name,
                            view_shape_text(v, shape), (unsigned long long)lines,
                            is_a ? "" : ", with the number of groups in front or without");
}

// Factors, residual and `pre`.
static kiln_status check_ends(kiln *k, const kiln_matmul_desc *d)
{
    kiln_status status = check_scale(k, d, &d->a_scale, "a_scale");
    if (!status)
        status = check_scale(k, d, &d->b_scale, "b_scale");
    if (!status && kiln_view_type(d->a) == KILN_I8 && !d->a_scale.buffer && !d->b_scale.buffer)
        status =
            error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                      "%s: an i8 product with a residual or 'pre' needs a_scale or b_scale", call);
    return status ? status : matmul_check_ends(k, d, call);
}

static kiln_status launch(const job *j, kiln_view ends)
{
    const kiln_matmul_desc *d = j->desc;
    const op_kernel *kernel;
    op_request r = {.program = NULL};
    form f = form_of(j);
    uint32_t groups = (uint32_t)ends.sizes[0];
    request_of(j, f, &r);
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    uint64_t rows = ceil_div(j->m, f.m) + (uint64_t)groups - 1, tiles = rows * ceil_div(j->n, f.n);
    if (status || tiles > INT32_MAX)
        return status ? status : matmul_too_many_tiles(j, tiles);
    kiln_arg args[16] = {matmul_arg(&j->a, 0), matmul_arg(&j->b, 0), matmul_arg(&j->out, 0)};
    size_t count = 3;
    if (d->epilogue != KILN_EPILOGUE_NONE)
        args[count++] = matmul_arg(&j->bias, 0);
    const uint64_t numbers[] = {j->m, j->n,      j->depth, j->a.stride, j->b.stride, j->out.stride,
                                0,    j->b.next, 0};
    for (size_t i = 0; i < COUNT(numbers); i++)
        args[count++] = kiln_arg_i64(i < 6 ? KILN_U32 : KILN_U64, (int64_t)numbers[i]);
    args[count++] = kiln_arg_view(ends);
    args[count++] = kiln_arg_i64(KILN_U32, groups);
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)tiles},
                                                           .shared_bytes = kernel->shared_bytes,
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = d->stream});
}

// Sums, then what follows them.
static kiln_status launch_both(const job *j, const matmul_ends *e)
{
    kiln_view sums;
    bool is_temporary = false;
    kiln_status status = matmul_sums(j, e, &sums, &is_temporary);
    if (status)
        return status;
    kiln_matmul_desc plain = *j->desc;
    job first = *j;
    plain.epilogue = KILN_EPILOGUE_NONE;
    first.desc = &plain;
    first.result = j->type == S8 ? OUT_S32 : OUT_F32;
    first.out_bytes = 4;
    first.out = (matrix){.buffer = sums.buffer,
                         .type = kiln_view_type(sums),
                         .steps = {kiln_view_stride(sums, 0), 1},
                         .rows = j->m,
                         .stride = (uint64_t)kiln_view_stride(sums, 0)};
    status = launch(&first, e->group_ends);
    if (!status)
        status = matmul_finish(j, e, &sums);
    if (is_temporary)
        kiln_buffer_free(sums.buffer);
    return status;
}

static kiln_status run(job *j, kiln_view ends)
{
    const kiln_matmul_desc *d = j->desc;
    const matmul_ends e = {.a_scale = d->a_scale,
                           .b_scale = d->b_scale,
                           .residual = d->residual,
                           .pre = d->pre,
                           .group_ends = ends};
    kiln_matmul_kernel kernel = d->kernel;
    matmul_set_loose(j);
    const char *obstacle = j->b.next * j->bytes % 16 != 0
                               ? "a group of b does not start at a multiple of 16 bytes"
                               : matmul_scaled_obstacle(j, &e);
    if (kernel == KILN_MATMUL_SM90 && obstacle)
        return error_set(j->k, KILN_E_UNSUPPORTED, K6038, "%s: the sm_90a kernel cannot: %s", call,
                         obstacle);
    bool is_best = kernel == KILN_MATMUL_BEST && !j->k->caps.is_emulated;
    return !obstacle && (is_best || kernel == KILN_MATMUL_SM90) ? matmul_run_scaled(j, &e)
           : matmul_has_ends(d)                                 ? launch_both(j, &e)
                                                                : launch(j, ends);
}

kiln_status kiln_matmul_grouped(kiln *k, const kiln_matmul_desc *desc, kiln_view ends)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!desc)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: the description is NULL", call);
    if ((unsigned)desc->epilogue > KILN_EPILOGUE_BIAS_SILU)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: there is no such epilogue", call);
    kiln_status status = check(k, desc, ends);
    if (!status && matmul_has_ends(desc))
        status = check_ends(k, desc);
    if (status || !ends.sizes[0] || !kiln_view_count(desc->out))
        return status;
    kiln_matmul_desc first = *desc; // the product of all rows with the first b
    products p;
    first.b = kiln_view_index(desc->b, 0, 0);
    status = matmul_products(k, &first, &p);
    if (!status)
        status = op_device(k, &p.job.device);
    if (!status)
        status = matmul_has_ends(desc) ? matmul_check_end_types(&p.job, call)
                                       : matmul_check_types(&p.job);
    if (status)
        return status;
    job j = p.job;
    int64_t next = kiln_view_stride(desc->b, 0);
    if (matmul_is_scattered(&j) || j.out.stride < j.n || next < 0 || j.m != desc->out.sizes[0] ||
        j.a.buffer != desc->a.buffer || (j.a.is_transposed && j.a.rows == 1 && j.m > 1))
        return error_set(k, KILN_E_UNSUPPORTED, K6038,
                         "%s: rows of out, and rows or columns of a and b, must be contiguous",
                         call);
    j.b.next = (uint64_t)next;
    return run(&j, ends);
}
