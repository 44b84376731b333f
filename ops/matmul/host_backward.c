// kiln_matmul_backward: gradients of a product and of what follows it. gemm_backward.c makes the
// gradient by the sum, g, unless dout is that already, and sums for the bias; then da = g *
// transposed b and db = transposed a * g are calls of kiln_matmul. For gradients of factors the
// product is computed once more; gemm_backward.c makes terms of it, which kiln_reduce_forward adds.
// Start reading at the last function.
#include "ops/matmul/host_matmul.h"
#include "rt/memory/view.h"

static const op_program gemm_backward = MATMUL_PROGRAM("ops/matmul/gemm_backward.c");

static const char call[] = "kiln_matmul_backward";

// --- checks
static kiln_status check_shape(kiln *k, const kiln_view *v, const char *name, uint32_t rank,
                               const uint64_t *sizes, kiln_type type)
{
    char shape[VIEW_TEXT], wanted[VIEW_TEXT];
    kiln_view want = {.buffer = v->buffer, .rank = rank};
    kiln_status status = view_check(k, v, call, name);
    if (status)
        return status;
    memcpy(want.sizes, sizes, rank * sizeof *sizes);
    if (v->rank != rank || memcmp(v->sizes, sizes, rank * sizeof *sizes) != 0)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004, "%s: '%s' is %s, not %s", call, name,
                         view_shape_text(v, shape), view_shape_text(&want, wanted));
    if (kiln_view_type(*v) != type)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not %s", call, name,
                         kiln_type_name(kiln_view_type(*v)), kiln_type_name(type));
    return KILN_OK;
}

static bool has_activation(const kiln_matmul_backward_desc *d)
{
    return d->epilogue > KILN_EPILOGUE_BIAS;
}

static kiln_status check_factor(kiln *k, const kiln_matmul_backward_desc *d, const kiln_view *v,
                                const char *name, uint64_t lines)
{
    char shape[VIEW_TEXT];
    bool is_batched = v == &d->a_scale && d->a.rank > 2;
    if (!v->buffer)
        return KILN_OK;
    kiln_status status = matmul_check_f32(k, v, call, name);
    if (status)
        return status;
    if (v->rank != 1 || (v->sizes[0] != 1 && (v->sizes[0] != lines || is_batched)))
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: '%s' is %s; [1] is possible, and without batches [%llu]", call, name,
                         view_shape_text(v, shape), (unsigned long long)lines);
    return matmul_check_steps(k, v, call, name);
}

static kiln_status check_operands(kiln *k, const kiln_matmul_backward_desc *d)
{
    char of_a[VIEW_TEXT], of_b[VIEW_TEXT], of_dout[VIEW_TEXT];
    kiln_status status = view_check(k, &d->a, call, "a");
    if (!status)
        status = view_check(k, &d->b, call, "b");
    if (!status)
        status = view_check(k, &d->dout, call, "dout");
    if (status)
        return status;
    const kiln_view *a = &d->a, *b = &d->b, *dout = &d->dout;
    uint32_t last = a->rank - 1;
    bool fits = a->rank >= 2 && dout->rank == a->rank && (b->rank == a->rank || b->rank == 2) &&
                a->sizes[last] == b->sizes[b->rank - 2] &&
                dout->sizes[last] == b->sizes[b->rank - 1];
    for (uint32_t n = 0; n < last && fits; n++)
        fits = a->sizes[n] == dout->sizes[n] &&
               (b->rank == 2 || n + 1 == last || a->sizes[n] == b->sizes[n]);
    if (!fits)
        return error_set(
            k, KILN_E_BAD_ARGUMENT, K7004,
            "%s: %s * %s does not make %s; [..., m, k] * [..., k, n] makes [..., m, n], "
            "and what is in front is the same, or b has two dimensions",
            call, view_shape_text(a, of_a), view_shape_text(b, of_b),
            view_shape_text(dout, of_dout));
    kiln_type type = kiln_view_type(*a), out = kiln_view_type(*dout);
    if (type != kiln_view_type(*b) || (type != KILN_BF16 && type != KILN_F16 && type != KILN_F32))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: 'a' is %s and 'b' is %s; both are bf16, f16 or f32", call,
                         kiln_type_name(type), kiln_type_name(kiln_view_type(*b)));
    if (out != KILN_BF16 && out != KILN_F16 && out != KILN_F32)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: 'dout' is %s; bf16, f16 and f32 are "
                         "possible",
                         call, kiln_type_name(out));
    return KILN_OK;
}

// Is there what a gradient is wanted of, or needed for?
static kiln_status check_wanted(kiln *k, const kiln_matmul_backward_desc *d)
{
    if (has_activation(d) && !d->saved.buffer)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "%s: the gradient of an activation needs 'saved'", call);
    if (d->dbias.buffer && d->epilogue == KILN_EPILOGUE_NONE)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "%s: there is no bias, and 'dbias' wants its gradient", call);
    if ((d->da_scale.buffer && !d->a_scale.buffer) || (d->db_scale.buffer && !d->b_scale.buffer))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "%s: there is no such factor, and '%s' wants its gradient", call,
                         d->da_scale.buffer && !d->a_scale.buffer ? "da_scale" : "db_scale");
    return KILN_OK;
}

// A result has the shape of `like`, or is a row of dout, and overlaps nothing that is read.
static kiln_status check_result(kiln *k, const kiln_matmul_backward_desc *d, const char *name,
                                const kiln_view *v, const kiln_view *like, kiln_type type)
{
    const kiln_view *const read[] = {&d->a, &d->b, &d->dout, &d->saved, &d->a_scale, &d->b_scale};
    if (!v->buffer)
        return KILN_OK;
    kiln_status status = like ? check_shape(k, v, name, like->rank, like->sizes, type)
                              : check_shape(k, v, name, 1, &d->dout.sizes[d->dout.rank - 1], type);
    if (!status)
        status = view_check_written(k, v, call, name);
    for (size_t i = 0; i < COUNT(read) && !status; i++)
        if (read[i]->buffer && kiln_view_overlaps(*v, *read[i]))
            status = error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: '%s' overlaps what is read",
                               call, name);
    return status;
}

static kiln_status check(kiln *k, const kiln_matmul_backward_desc *d)
{
    kiln_status status = check_operands(k, d);
    if (!status)
        status = check_wanted(k, d);
    if (status)
        return status;
    const kiln_view *dout = &d->dout;
    uint32_t last = dout->rank - 1;
    if (has_activation(d))
        status = check_shape(k, &d->saved, "saved", dout->rank, dout->sizes, kiln_view_type(*dout));
    if (!status)
        status = check_factor(k, d, &d->a_scale, "a_scale", d->a.sizes[last - 1]);
    if (!status)
        status = check_factor(k, d, &d->b_scale, "b_scale", dout->sizes[last]);
    kiln_type type = kiln_view_type(d->a);
    const struct {
        const char *name;
        const kiln_view *view, *like;
        kiln_type type;
    } results[] = {{"da", &d->da, &d->a, type},
                   {"db", &d->db, &d->b, type},
                   {"dbias", &d->dbias, NULL, KILN_F32},
                   {"da_scale", &d->da_scale, &d->a_scale, KILN_F32},
                   {"db_scale", &d->db_scale, &d->b_scale, KILN_F32}};
    for (size_t n = 0; n < COUNT(results) && !status; n++)
        status =
            check_result(k, d, results[n].name, results[n].view, results[n].like, results[n].type);
    return status;
}

// --- the kernel in front
typedef struct steps { // as gemm_backward.c has it
    int64_t dout[2], saved[2];
    uint32_t g, sums, a_scale, b_scale, terms;
    uint64_t second;
} steps;

enum { COLUMNS = 128, LEAST_CHUNK = 32, MOST_CHUNKS = 256 };

typedef struct front {
    kiln_view dout, saved; // [rows, n]
    kiln_view g;           // without a buffer: dout is the gradient by the sum
    kiln_view sums;        // [chunks, n] f32; without a buffer: none is wanted
    kiln_view terms[2];    // [rows, n] f32 for each factor; without a buffer: none are wanted
    uint32_t rows, chunk, chunks;
} front;

static result_type result_of(kiln_type type)
{
    return type == KILN_BF16 ? OUT_BF16 : type == KILN_F16 ? OUT_F16 : OUT_F32;
}

static uint32_t factor_step(const kiln_view *v)
{
    return v->buffer && v->sizes[0] > 1 ? (uint32_t)kiln_view_stride(*v, 0) : 0;
}

static bool has_terms_of(const front *f)
{
    return f->terms[0].buffer || f->terms[1].buffer;
}

static kiln_status run_front(kiln *k, const kiln_matmul_backward_desc *d, const front *f)
{
    op_request r = {.program = &gemm_backward};
    const op_kernel *kernel;
    bool has_g = f->g.buffer, has_sums = f->sums.buffer, has_terms = has_terms_of(f);
    const kiln_view *terms = &f->terms[f->terms[0].buffer ? 0 : 1];
    kiln_type type = kiln_view_type(d->a);
    op_set(&r, TYPE, type == KILN_BF16 ? BF16 : type == KILN_F16 ? F16 : F32);
    op_set(&r, OUT, result_of(kiln_view_type(d->dout)));
    op_set(&r, EPILOGUE, d->epilogue);
    op_set(&r, PRE, has_activation(d));
    op_set(&r, SCALED_A, (has_g || has_terms) && d->a_scale.buffer);
    op_set(&r, SCALED_B, (has_g || has_terms) && d->b_scale.buffer);
    op_set(&r, HAS_G, has_g);
    op_set(&r, HAS_SUMS, has_sums);
    op_set(&r, TERMS_A, f->terms[0].buffer != NULL);
    op_set(&r, TERMS_B, f->terms[1].buffer != NULL);
    kiln_status status = op_kernel_get(k, &r, &kernel);
    if (status)
        return status;
    const steps s = {.dout = {kiln_view_stride(f->dout, 0), kiln_view_stride(f->dout, 1)},
                     .saved = {has_activation(d) ? kiln_view_stride(f->saved, 0) : 0,
                               has_activation(d) ? kiln_view_stride(f->saved, 1) : 0},
                     .g = has_g ? (uint32_t)kiln_view_stride(f->g, 0) : 0,
                     .sums = has_sums ? (uint32_t)kiln_view_stride(f->sums, 0) : 0,
                     .a_scale = factor_step(&d->a_scale),
                     .b_scale = factor_step(&d->b_scale),
                     .terms = has_terms ? (uint32_t)kiln_view_stride(*terms, 0) : 0,
                     .second = f->terms[1].buffer ? f->terms[1].first - terms->first : 0};
    kiln_arg args[12] = {kiln_arg_view(f->dout)};
    size_t count = 1;
    if (has_activation(d))
        args[count++] = kiln_arg_view(f->saved);
    if ((has_g || has_terms) && d->a_scale.buffer)
        args[count++] = kiln_arg_view(d->a_scale);
    if ((has_g || has_terms) && d->b_scale.buffer)
        args[count++] = kiln_arg_view(d->b_scale);
    if (has_g)
        args[count++] = kiln_arg_view(f->g);
    if (has_sums)
        args[count++] = kiln_arg_view(f->sums);
    if (has_terms)
        args[count++] = kiln_arg_view(*terms);
    args[count++] = kiln_arg_i64(KILN_U32, f->rows);
    args[count++] = kiln_arg_i64(KILN_U32, (int64_t)f->dout.sizes[1]);
    args[count++] = kiln_arg_i64(KILN_U32, f->chunk);
    args[count++] = kiln_arg_struct(&s, sizeof s);
    return kiln_launch(
        kernel->kernel,
        &(kiln_launch_desc){.grid = {ceil_div((uint32_t)f->dout.sizes[1], COLUMNS), f->chunks},
                            .args = args,
                            .arg_count = count,
                            .stream = d->stream,
                            .overlaps_previous = k->caps.sm >= 90});
}

static kiln_status add_sums(kiln *k, const kiln_matmul_backward_desc *d, const front *f)
{
    const kiln_matmul_desc plain = {.stream = d->stream};
    int64_t step = kiln_view_stride(d->dbias, 0);
    uint32_t n = (uint32_t)d->dbias.sizes[0];
    if (n > 1 && step != 1)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004, "%s: 'dbias' is not contiguous", call);
    const job j = {.k = k,
                   .desc = &plain,
                   .type = F32,
                   .result = OUT_F32,
                   .out_bytes = 4,
                   .m = 1,
                   .n = n,
                   .batch = 1,
                   .out = {.buffer = d->dbias.buffer,
                           .type = KILN_F32,
                           .first = d->dbias.first,
                           .rows = 1,
                           .stride = n},
                   .is_loose = true};
    const matrix sums = {.buffer = f->sums.buffer,
                         .type = KILN_F32,
                         .first = f->sums.first,
                         .rows = f->chunks,
                         .stride = (uint64_t)kiln_view_stride(f->sums, 0)};
    return matmul_add_parts(&j, &sums, f->chunks);
}

// --- all of it
// All dimensions but the last become one.
static kiln_view fold(kiln_view v)
{
    uint64_t rows = 1;
    for (uint32_t n = 0; n + 1 < v.rank; n++)
        rows *= v.sizes[n];
    const uint64_t sizes[2] = {rows, v.rank ? v.sizes[v.rank - 1] : 1};
    return v.rank == 2 ? v : kiln_view_reshape(v, 2, sizes);
}

// The sum of a factor's terms: of each row or column, or of all.
static kiln_status add_terms(kiln *k, const kiln_matmul_backward_desc *d, kiln_view terms,
                             kiln_view out, uint32_t axis)
{
    kiln_reduce_desc r = {.op = KILN_REDUCE_SUM, .x = terms, .out = out, .stream = d->stream};
    uint64_t bytes = 0;
    bool is_temporary = false, is_one = terms.sizes[!axis] > 1 && out.sizes[0] == 1;
    const uint64_t whole[2] = {1, 1};
    r.axes = is_one ? 0 : 1u << axis;
    if (is_one)
        r.out = kiln_view_reshape(out, 2, whole);
    kiln_status status = kiln_reduce_workspace(k, &r, &bytes);
    if (!status && bytes) {
        r.workspace = (kiln_view){.type = KILN_U8, .rank = 1, .sizes = {bytes}};
        status = matmul_scratch(k, d->stream, bytes, &r.workspace.buffer, &is_temporary);
    }
    if (!status)
        status = kiln_reduce_forward(k, &r);
    if (is_temporary)
        kiln_buffer_free(r.workspace.buffer);
    return status;
}

// The sums of the forward call, where the terms will be.
static kiln_status run_again(kiln *k, const kiln_matmul_backward_desc *d, const front *f,
                             kiln_view a)
{
    kiln_view sums = f->terms[f->terms[0].buffer ? 0 : 1];
    if (a.rank > 2)
        sums = kiln_view_reshape(sums, d->dout.rank, d->dout.sizes);
    return kiln_matmul(
        k, &(kiln_matmul_desc){
               .a = a, .b = d->b, .out = sums, .is_tf32 = d->is_tf32, .stream = d->stream});
}

static kiln_status batches_apart(kiln *k, const char *name)
{
    return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                     "%s: the batches of '%s' must follow each other as rows do", call, name);
}

static kiln_status run(kiln *k, const kiln_matmul_backward_desc *d, front *f)
{
    kiln_view a = d->a, da = d->da, g = f->g.buffer ? f->g : f->dout;
    if (d->b.rank == 2 && a.rank > 2) { // one product for all batches
        a = fold(a);
        da = da.buffer ? fold(da) : da;
        if (kiln_view_check(a) || (da.buffer && kiln_view_check(da)))
            return batches_apart(k, kiln_view_check(a) ? "a" : "da");
    } else if (a.rank > 2) {
        g = kiln_view_reshape(g, d->dout.rank, d->dout.sizes);
    }
    kiln_status status = has_terms_of(f) ? run_again(k, d, f, a) : KILN_OK;
    if (!status && (f->g.buffer || f->sums.buffer || has_terms_of(f)))
        status = run_front(k, d, f);
    if (!status && f->sums.buffer)
        status = add_sums(k, d, f);
    for (uint32_t n = 0; n < 2 && !status; n++) {
        const kiln_view *to = n ? &d->db_scale : &d->da_scale;
        if (to->buffer) // of no rows or columns there are no terms, as there is no dout
            status = add_terms(k, d, f->terms[n].buffer ? f->terms[n] : f->dout, *to, !n);
    }
    kiln_matmul_desc product = {.is_tf32 = d->is_tf32, .stream = d->stream};
    if (!status && d->da.buffer) {
        product.a = g;
        product.b = kiln_view_transpose(d->b);
        product.out = da;
        status = kiln_matmul(k, &product);
    }
    if (!status && d->db.buffer) {
        product.a = kiln_view_transpose(a);
        product.b = g;
        product.out = d->db;
        status = kiln_matmul(k, &product);
    }
    return status;
}

kiln_status kiln_matmul_backward(kiln *k, const kiln_matmul_backward_desc *d)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!d)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: the description is NULL", call);
    if ((unsigned)d->epilogue > KILN_EPILOGUE_BIAS_SILU)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: there is no such epilogue", call);
    kiln_status status = check(k, d);
    if (status)
        return status;
    front f = {.dout = fold(d->dout)};
    if (has_activation(d))
        f.saved = fold(d->saved);
    if (kiln_view_check(f.dout) || (f.saved.buffer && kiln_view_check(f.saved)))
        return batches_apart(k, kiln_view_check(f.dout) ? "dout" : "saved");
    if (f.dout.sizes[0] > INT32_MAX)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: 'dout' has %llu rows in all batches; at most 2^31 - 1 are possible",
                         call, (unsigned long long)f.dout.sizes[0]);
    kiln_type type = kiln_view_type(d->a);
    uint32_t bytes = (uint32_t)kiln_type_size(type), n = (uint32_t)f.dout.sizes[1];
    uint64_t pitch = (n + 15) / 16 * 16;
    bool has_products = d->da.buffer || d->db.buffer;
    bool is_other = has_activation(d) || d->a_scale.buffer || d->b_scale.buffer ||
                    kiln_view_type(d->dout) != type;
    f.rows = (uint32_t)f.dout.sizes[0];
    f.chunk = LEAST_CHUNK;
    while (ceil_div(f.rows, f.chunk) > MOST_CHUNKS)
        f.chunk *= 2;
    f.chunks = f.rows ? ceil_div(f.rows, f.chunk) : 1;
    uint64_t of_g = has_products && is_other && n ? (f.rows * pitch * bytes + 255) / 256 * 256 : 0,
             of_sums = d->dbias.buffer && n ? f.chunks * pitch * 4 : 0,
             of_terms = f.rows && n ? f.rows * pitch : 0; // numbers
    uint32_t factors = (d->da_scale.buffer ? 1u : 0) + (d->db_scale.buffer ? 1u : 0);
    kiln_buffer *scratch = NULL;
    bool is_temporary = false;
    uint64_t all = of_g + of_sums + factors * of_terms * 4;
    if (all)
        status = matmul_outer_scratch(k, d->stream, all, &scratch, &is_temporary);
    if (of_g)
        f.g = (kiln_view){.buffer = scratch,
                          .type = type,
                          .rank = 2,
                          .sizes = {f.rows, n},
                          .has_strides = true,
                          .strides = {(int64_t)pitch, 1}};
    if (of_sums)
        f.sums = (kiln_view){.buffer = scratch,
                             .first = of_g / 4,
                             .type = KILN_F32,
                             .rank = 2,
                             .sizes = {f.chunks, n},
                             .has_strides = true,
                             .strides = {(int64_t)pitch, 1}};
    for (uint32_t i = 0, before = 0; i < 2 && of_terms; i++)
        if (i ? d->db_scale.buffer : d->da_scale.buffer)
            f.terms[i] = (kiln_view){.buffer = scratch,
                                     .first = (of_g + of_sums) / 4 + before++ * of_terms,
                                     .type = KILN_F32,
                                     .rank = 2,
                                     .sizes = {f.rows, n},
                                     .has_strides = true,
                                     .strides = {(int64_t)pitch, 1}};
    if (!status)
        status = run(k, d, &f);
    if (is_temporary)
        kiln_buffer_free(scratch);
    return status;
}
