// kiln_matmul with more behind the sum than bias and activation: factors of rows and columns or of
// blocks, a residual, the numbers before the activation. scaled_sm90.c does it in one kernel;
// elsewhere any kernel makes the sums, and gemm_finish.c the rest. Start reading at
// matmul_run_ends, the last function.
#include "ops/matmul/host_matmul.h"
#include "rt/memory/view.h"

static const op_program gemm_finish = MATMUL_PROGRAM("ops/matmul/gemm_finish.c"),
                        gemm_strided = MATMUL_PROGRAM("ops/matmul/gemm_strided.c");

static const char call[] = "kiln_matmul";

enum { BLOCK = 128 }; // of K, and of columns

bool matmul_has_ends(const kiln_matmul_desc *d)
{
    return d->a_scale.buffer || d->b_scale.buffer || d->residual.buffer || d->pre.buffer;
}

// --- checks
kiln_status matmul_check_steps(kiln *k, const kiln_view *v, const char *call_of, const char *name)
{
    for (uint32_t n = 0; n < v->rank; n++) {
        int64_t step = v->sizes[n] > 1 ? kiln_view_stride(*v, n) : 0;
        if (step < 0 || step > UINT32_MAX)
            return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                             "%s: '%s' has a stride of %lld; 0 to %u is possible", call_of, name,
                             (long long)step, UINT32_MAX);
    }
    return KILN_OK;
}

kiln_status matmul_check_f32(kiln *k, const kiln_view *v, const char *call_of, const char *name)
{
    kiln_status status = view_check(k, v, call_of, name);
    if (status || kiln_view_type(*v) == KILN_F32)
        return status;
    return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not f32", call_of, name,
                     kiln_type_name(kiln_view_type(*v)));
}

static kiln_status check_scale(kiln *k, const kiln_view *v, const char *name, uint64_t lines,
                               uint64_t blocks0, uint64_t blocks1)
{
    char shape[VIEW_TEXT];
    if (!v->buffer)
        return KILN_OK;
    kiln_status status = matmul_check_f32(k, v, call, name);
    if (status)
        return status;
    bool fits = v->rank == 1   ? v->sizes[0] == 1 || v->sizes[0] == lines
                : v->rank == 2 ? v->sizes[0] == blocks0 && v->sizes[1] == blocks1
                               : false;
    if (!fits)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: '%s' is %s; [1], [%llu], or for blocks [%llu, %llu] is possible",
                         call, name, view_shape_text(v, shape), (unsigned long long)lines,
                         (unsigned long long)blocks0, (unsigned long long)blocks1);
    return matmul_check_steps(k, v, call, name);
}

static kiln_status check_scales(kiln *k, const kiln_matmul_desc *d)
{
    uint64_t m = d->a.sizes[d->a.rank - 2], depth = d->a.sizes[d->a.rank - 1],
             n = d->b.sizes[d->b.rank - 1], blocks = (depth + BLOCK - 1) / BLOCK;
    kiln_type type = kiln_view_type(d->a);
    kiln_status status = KILN_OK;
    if (d->epilogue != KILN_EPILOGUE_NONE)
        status = matmul_check_steps(k, &d->bias, call, "bias");
    if (!status)
        status = check_scale(k, &d->a_scale, "a_scale", m, m, blocks);
    if (!status)
        status = check_scale(k, &d->b_scale, "b_scale", n, blocks, (n + BLOCK - 1) / BLOCK);
    if (status)
        return status;
    bool of_a = d->a_scale.buffer && d->a_scale.rank == 2,
         of_b = d->b_scale.buffer && d->b_scale.rank == 2;
    if (of_a != of_b)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "%s: 'a_scale' and 'b_scale' are both for blocks, or neither is", call);
    if (of_a && type != KILN_F8E4 && type != KILN_I8)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: factors of blocks are for f8e4 and i8, not for %s", call,
                         kiln_type_name(type));
    if (type == KILN_I8 && !d->a_scale.buffer && !d->b_scale.buffer)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "%s: an i8 product with a residual or 'pre' needs a_scale or b_scale",
                         call);
    return KILN_OK;
}

// A view of the result's shape and type.
static kiln_status check_like_out(kiln *k, const kiln_matmul_desc *d, const kiln_view *v,
                                  const char *call_of, const char *name)
{
    char shape[VIEW_TEXT], of_out[VIEW_TEXT];
    if (!v->buffer)
        return KILN_OK;
    kiln_status status = view_check(k, v, call_of, name);
    if (status)
        return status;
    bool fits = v->rank == d->out.rank;
    for (uint32_t n = 0; n < v->rank && fits; n++)
        fits = v->sizes[n] == d->out.sizes[n];
    if (!fits)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004, "%s: '%s' is %s, and 'out' %s", call_of,
                         name, view_shape_text(v, shape), view_shape_text(&d->out, of_out));
    if (kiln_view_type(*v) != kiln_view_type(d->out))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, and 'out' %s", call_of,
                         name, kiln_type_name(kiln_view_type(*v)),
                         kiln_type_name(kiln_view_type(d->out)));
    return KILN_OK;
}

static bool is_same_view(const kiln_view *x, const kiln_view *y)
{
    bool is_same = x->buffer == y->buffer && x->first == y->first;
    for (uint32_t n = 0; n < x->rank && is_same; n++)
        is_same = x->sizes[n] <= 1 || kiln_view_stride(*x, n) == kiln_view_stride(*y, n);
    return is_same;
}

static kiln_status check_overlaps(kiln *k, const kiln_matmul_desc *d, const char *call_of)
{
    const struct {
        const char *name;
        const kiln_view *view;
    } all[] = {{"a", &d->a},
               {"b", &d->b},
               {"bias", &d->bias},
               {"a_scale", &d->a_scale},
               {"b_scale", &d->b_scale},
               {"residual", &d->residual}};
    for (size_t n = 0; n < COUNT(all); n++) {
        const kiln_view *v = all[n].view;
        bool is_residual = v == &d->residual;
        if (!v->buffer || (v == &d->bias && d->epilogue == KILN_EPILOGUE_NONE))
            continue;
        if (d->pre.buffer && kiln_view_overlaps(d->pre, *v))
            return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: 'pre' and '%s' overlap", call_of,
                             all[n].name);
        if (kiln_view_overlaps(d->out, *v) && !(is_residual && is_same_view(v, &d->out)))
            return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: 'out' and '%s' overlap", call_of,
                             all[n].name);
    }
    if (d->pre.buffer && kiln_view_overlaps(d->pre, d->out))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: 'out' and 'pre' overlap", call_of);
    return KILN_OK;
}

kiln_status matmul_check_ends(kiln *k, const kiln_matmul_desc *d, const char *call_of)
{
    kiln_status status = check_like_out(k, d, &d->residual, call_of, "residual");
    if (!status)
        status = check_like_out(k, d, &d->pre, call_of, "pre");
    if (!status && d->pre.buffer)
        status = view_check_written(k, &d->pre, call_of, "pre");
    return status ? status : check_overlaps(k, d, call_of);
}

kiln_status matmul_check_end_types(job *j, const char *call_of)
{
    kiln_matmul_desc of_sums = *j->desc;
    const kiln_matmul_desc *d = j->desc;
    kiln_type out = kiln_view_type(d->out);
    of_sums.out.type = kiln_view_type(d->a) == KILN_I8 ? KILN_I32 : KILN_F32;
    of_sums.epilogue = KILN_EPILOGUE_NONE;
    if (d->epilogue != KILN_EPILOGUE_NONE && kiln_view_type(d->bias) != KILN_F32)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'bias' is %s, not f32", call_of,
                         kiln_type_name(kiln_view_type(d->bias)));
    if (out != KILN_F32 && out != KILN_F16 && out != KILN_BF16)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: with factors or a residual a result is f32, f16 or bf16, not %s",
                         call_of, kiln_type_name(out));
    j->desc = &of_sums;
    kiln_status status = matmul_check_types(j);
    j->desc = d;
    j->result = out == KILN_F32 ? OUT_F32 : out == KILN_F16 ? OUT_F16 : OUT_BF16;
    j->out_bytes = (uint32_t)kiln_type_size(out);
    return status;
}

// --- sums, then the rest
kiln_status matmul_finish(const job *j, const matmul_ends *e, const kiln_view *sums)
{
    enum { THREADS = 256, MOST_BLOCKS = 1 << 20 };
    const kiln_matmul_desc *d = j->desc;
    op_request r = {.program = &gemm_finish};
    const op_kernel *kernel;
    job plain = *j;
    matmul_ends rest = *e;
    if (e->is_blocked) { // the sums have them
        rest.a_scale = rest.b_scale = (kiln_view){.buffer = NULL};
        rest.is_blocked = false;
        plain.type = F32;
    }
    uint32_t m = (uint32_t)d->out.sizes[0], n = (uint32_t)d->out.sizes[1];
    bool is_grouped = e->group_ends.buffer;
    matmul_set_ends(&plain, &rest, &r);
    op_set(&r, GROUPED, is_grouped);
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    if (status)
        return status;
    ends_steps at = matmul_ends_steps(j, &rest, (uint64_t)kiln_view_stride(*sums, 0));
    kiln_arg args[14] = {kiln_arg_view(*sums), kiln_arg_view(d->out)};
    size_t count = matmul_ends_args(&plain, &rest, args, 2);
    if (is_grouped) {
        args[count++] = kiln_arg_view(e->group_ends);
        args[count++] = kiln_arg_i64(KILN_U32, (int64_t)e->group_ends.sizes[0]);
    }
    args[count++] = kiln_arg_i64(KILN_U32, m);
    args[count++] = kiln_arg_i64(KILN_U32, n);
    args[count++] = kiln_arg_i64(KILN_I64, kiln_view_stride(d->out, 0));
    args[count++] = kiln_arg_i64(KILN_I64, kiln_view_stride(d->out, 1));
    args[count++] = kiln_arg_struct(&at, sizeof at);
    uint64_t blocks = ((uint64_t)m * n + THREADS - 1) / THREADS;
    return kiln_launch(
        kernel->kernel,
        &(kiln_launch_desc){.grid = {(uint32_t)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS)},
                            .args = args,
                            .arg_count = count,
                            .stream = d->stream,
                            .overlaps_previous = matmul_overlaps(j)});
}

typedef struct strided_layout { // as gemm_strided.c has it
    uint64_t first[4];
    int64_t steps[7], next[3];
} strided_layout;

typedef struct scales_at {
    uint32_t a_row, a_k, b_column, b_k;
} scales_at;

// Sums of scaled blocks, on every device.
static kiln_status sum_blocks(const job *j, const kiln_matmul_desc *d, const matmul_ends *e,
                              const kiln_view *sums)
{
    enum { TILE = 32 };
    op_request r = {.program = &gemm_strided};
    const op_kernel *kernel;
    const kiln_view *const all[] = {&d->a, &d->b, sums};
    strided_layout l = {.first = {0}};
    ends_steps of = matmul_ends_steps(j, e, 0);
    const scales_at at = {of.a_row, of.a_k, of.b_column, of.b_k};
    kiln_arg args[10];
    size_t count = 0;
    uint32_t m = (uint32_t)sums->sizes[0], n = (uint32_t)sums->sizes[1];
    op_set(&r, TYPE, j->type);
    op_set(&r, OUT, OUT_F32);
    op_set(&r, BLOCKED, true);
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    uint64_t tiles = (uint64_t)ceil_div(m, TILE) * ceil_div(n, TILE);
    if (!status && tiles > INT32_MAX)
        return matmul_too_many_tiles(j, tiles);
    if (status)
        return status;
    for (size_t i = 0; i < COUNT(all); i++) {
        args[count++] =
            kiln_arg_view((kiln_view){.buffer = all[i]->buffer, .type = kiln_view_type(*all[i])});
        l.first[i] = all[i]->first;
        l.steps[2 * i] = kiln_view_stride(*all[i], 0);
        l.steps[2 * i + 1] = kiln_view_stride(*all[i], 1);
    }
    args[count++] = kiln_arg_view(e->a_scale);
    args[count++] = kiln_arg_view(e->b_scale);
    args[count++] = kiln_arg_struct(&at, sizeof at);
    args[count++] = kiln_arg_i64(KILN_U32, m);
    args[count++] = kiln_arg_i64(KILN_U32, n);
    args[count++] = kiln_arg_i64(KILN_U32, (int64_t)d->a.sizes[1]);
    args[count++] = kiln_arg_struct(&l, sizeof l);
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)tiles},
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = d->stream});
}

kiln_status matmul_sums(const job *j, const matmul_ends *e, kiln_view *sums, bool *is_temporary)
{
    const kiln_view *out = &j->desc->out;
    uint64_t pitch = (out->sizes[1] + 3) / 4 * 4;
    *sums = (kiln_view){.type = j->type == S8 && !e->is_blocked ? KILN_I32 : KILN_F32,
                        .rank = 2,
                        .sizes = {out->sizes[0], out->sizes[1]},
                        .strides = {(int64_t)pitch, 1},
                        .has_strides = true};
    return matmul_outer_scratch(j->k, j->desc->stream, out->sizes[0] * pitch * 4, &sums->buffer,
                                is_temporary);
}

static kiln_status run_sums(const job *j, const kiln_matmul_desc *d, const matmul_ends *e)
{
    kiln_view sums;
    bool is_temporary = false;
    kiln_status status = matmul_sums(j, e, &sums, &is_temporary);
    if (status)
        return status;
    kiln_matmul_desc plain = {.a = d->a,
                              .b = d->b,
                              .out = sums,
                              .is_tf32 = d->is_tf32,
                              .is_tf32x3 = d->is_tf32x3,
                              .stream = d->stream,
                              .waits_for_previous = d->waits_for_previous,
                              .b_is_constant = d->b_is_constant,
                              .kernel = d->kernel,
                              .tile_m = d->tile_m,
                              .tile_n = d->tile_n,
                              .sm90 = d->sm90};
    status = e->is_blocked ? sum_blocks(j, d, e, &sums) : kiln_matmul(j->k, &plain);
    if (!status)
        status = matmul_finish(j, e, &sums);
    if (is_temporary)
        kiln_buffer_free(sums.buffer);
    return status;
}

// --- one product
static kiln_status run_one(kiln *k, const kiln_matmul_desc *d)
{
    products p;
    const matmul_ends e = {.a_scale = d->a_scale,
                           .b_scale = d->b_scale,
                           .residual = d->residual,
                           .pre = d->pre,
                           .is_blocked = d->a_scale.buffer && d->a_scale.rank == 2};
    kiln_status status = matmul_products(k, d, &p);
    if (status || !kiln_view_count(d->out))
        return status;
    status = op_device(k, &p.job.device);
    if (!status)
        status = matmul_check_end_types(&p.job, call);
    if (status)
        return status;
    job j = p.job;
    matmul_set_loose(&j);
    // A result whose columns are contiguous would be computed transposed, and its factors
    // exchanged.
    const char *obstacle = d->out.sizes[1] < 2 || kiln_view_stride(d->out, 1) != 1
                               ? matmul_not_contiguous
                               : matmul_scaled_obstacle(&j, &e);
    if (d->kernel == KILN_MATMUL_SM90)
        return obstacle ? error_set(k, KILN_E_UNSUPPORTED, K6038,
                                    "%s: the sm_90a kernel cannot: %s", call, obstacle)
                        : matmul_run_scaled(&j, &e);
    if (e.is_blocked && d->kernel != KILN_MATMUL_BEST && d->kernel != KILN_MATMUL_PORTABLE)
        return error_set(k, KILN_E_UNSUPPORTED, K6038,
                         "%s: factors of blocks have the sm_90a kernel and the portable one", call);
    bool is_fused = d->kernel == KILN_MATMUL_BEST && !obstacle && !k->caps.is_emulated;
    if (is_fused && !e.is_blocked) { // sums that are few are made faster by a kernel that shares K
        enum { MOVED_PER_CYCLE = 2400, LAUNCH_CYCLES = 2500 };
        job sums = j;
        sums.result = j.type == S8 ? OUT_S32 : OUT_F32;
        sums.out_bytes = 4;
        uint64_t moved = (uint64_t)j.m * j.n * (8 + j.out_bytes) / MOVED_PER_CYCLE;
        is_fused = matmul_sm90_obstacle(&sums) ||
                   matmul_scaled_cost(&j, &e) <= matmul_sm90_cost(&sums) + moved + LAUNCH_CYCLES;
    }
    return is_fused ? matmul_run_scaled(&j, &e) : run_sums(&j, d, &e);
}

// The matrix at `at` of the batches of `out`; sizes of 1 are broadcast.
static kiln_view matrix_at(kiln_view v, const kiln_view *out, uint64_t at)
{
    uint32_t rank = v.rank; // of which dimensions are taken, the last ones first
    if (!v.buffer)
        return v;
    for (uint32_t axis = out->rank - 2; axis-- > 0;) {
        uint64_t index = at % out->sizes[axis];
        at /= out->sizes[axis];
        if (out->rank - axis > rank)
            continue;
        uint32_t own = rank - (out->rank - axis);
        v = kiln_view_index(v, own, v.sizes[own] == 1 ? 0 : index);
    }
    return v;
}

kiln_status matmul_run_ends(kiln *k, const kiln_matmul_desc *d)
{
    products p;
    kiln_matmul_desc sizes = *d; // out may be the residual: overlaps are checked below
    kiln_status status = matmul_products(k, &sizes, &p);
    if (!status)
        status = check_scales(k, d);
    if (!status)
        status = matmul_check_ends(k, d, call);
    uint64_t count = 1;
    for (uint32_t n = 0; n + 2 < d->out.rank && !status; n++)
        count *= d->out.sizes[n];
    for (uint64_t n = 0; n < count && !status; n++) {
        kiln_matmul_desc one = *d;
        one.a = matrix_at(d->a, &d->out, n);
        one.b = matrix_at(d->b, &d->out, n);
        one.out = matrix_at(d->out, &d->out, n);
        one.residual = matrix_at(d->residual, &d->out, n);
        one.pre = matrix_at(d->pre, &d->out, n);
        status = run_one(k, &one);
    }
    return status;
}
