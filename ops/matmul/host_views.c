// From the views of a description to products that a kernel can do: sizes are checked against one
// another, of each operand it is found out whether rows or columns are contiguous, and batches at
// equal distances become one launch. Start reading at matmul_products, near the end.
#include "ops/matmul/host_matmul.h"
#include "rt/memory/view.h"

static const char call[] = "kiln_matmul";

// --- checks
static kiln_status check_shapes(kiln *k, const kiln_matmul_desc *d)
{
    const struct {
        const char *name;
        const kiln_view *view;
    } given[] = {{"a", &d->a}, {"b", &d->b}, {"out", &d->out}};
    char a[VIEW_TEXT], b[VIEW_TEXT], out[VIEW_TEXT];
    for (size_t n = 0; n < COUNT(given); n++)
        if (given[n].view->rank < 2)
            return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                             "%s: '%s' is %s; it needs rows and columns: kiln_view_unsqueeze adds "
                             "a dimension",
                             call, given[n].name, view_shape_text(given[n].view, a));
    const uint64_t *of_a = &d->a.sizes[d->a.rank - 2], *of_b = &d->b.sizes[d->b.rank - 2],
                   *of_out = &d->out.sizes[d->out.rank - 2];
    bool fits = of_a[0] == of_out[0] && of_a[1] == of_b[0] && of_b[1] == of_out[1] &&
                d->a.rank <= d->out.rank && d->b.rank <= d->out.rank;
    for (size_t n = 0; n < 2 && fits; n++)
        for (uint32_t i = 0; i + 2 < given[n].view->rank; i++) {
            uint64_t size = given[n].view->sizes[i];
            fits =
                fits && (size == 1 || size == d->out.sizes[d->out.rank - given[n].view->rank + i]);
        }
    if (!fits)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: %s * %s does not make %s; [..., m, k] * [..., k, n] makes [..., m, "
                         "n], and what is in front is the same or 1",
                         call, view_shape_text(&d->a, a), view_shape_text(&d->b, b),
                         view_shape_text(&d->out, out));
    if (of_out[0] > INT32_MAX || of_out[1] > INT32_MAX || of_a[1] > INT32_MAX)
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: m, n and k are at most 2147483647; %s * %s is too large", call,
                         view_shape_text(&d->a, a), view_shape_text(&d->b, b));
    if (d->epilogue != KILN_EPILOGUE_NONE && (d->bias.rank != 1 || d->bias.sizes[0] != of_out[1]))
        return error_set(k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: 'bias' is %s; it needs one number for each of the %llu columns", call,
                         view_shape_text(&d->bias, a), (unsigned long long)of_out[1]);
    return KILN_OK;
}

static kiln_status check_views(kiln *k, const kiln_matmul_desc *d)
{
    const struct {
        const char *name;
        const kiln_view *view;
    } read[] = {{"a", &d->a}, {"b", &d->b}, {"bias", &d->bias}};
    size_t count = d->epilogue == KILN_EPILOGUE_NONE ? 2 : 3;
    kiln_status status = view_check_written(k, &d->out, call, "out");
    for (size_t n = 0; n < count && !status; n++)
        status = view_check(k, read[n].view, call, read[n].name);
    if (!status)
        status = check_shapes(k, d);
    for (size_t n = 0; n < count && !status; n++)
        if (kiln_view_overlaps(d->out, *read[n].view))
            status = error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: 'out' and '%s' overlap", call,
                               read[n].name);
    return status;
}

// --- layouts
static bool is_stride(uint64_t lines, int64_t step)
{
    return lines <= 1 || (step >= 0 && step <= UINT32_MAX);
}

// Decides which of the two dimensions is the contiguous one. Where both could be, because one of
// them is 1, it is the longer one.
static void lay_out(matrix *x, uint64_t rows, uint64_t columns, bool prefers_columns)
{
    bool by_rows = (columns <= 1 || x->steps[1] == 1) && is_stride(rows, x->steps[0]);
    bool by_columns = (rows <= 1 || x->steps[0] == 1) && is_stride(columns, x->steps[1]);
    x->is_scattered = !by_rows && !by_columns;
    x->is_transposed =
        by_columns && (!by_rows || rows > columns || (rows == columns && prefers_columns));
    x->rows = x->is_transposed ? columns : rows;
    uint64_t line = x->is_transposed ? rows : columns;
    x->stride = x->rows <= 1 ? line : (uint64_t)x->steps[x->is_transposed];
    x->next = x->rows * x->stride; // of a batch of one
}

static matrix matrix_of(const kiln_view *v)
{
    int64_t strides[KILN_MAX_RANK];
    view_strides(v, strides);
    return (matrix){.buffer = v->buffer,
                    .type = kiln_view_type(*v),
                    .first = v->first,
                    .steps = {strides[v->rank - 2], strides[v->rank - 1]}};
}

// --- batches
// Strides of a view's batch dimensions, as out has them. An operand without elements (K is 0) has
// one place for all batches: its strides would lead outside of its buffer.
static void batch_strides(const kiln_view *v, const kiln_view *out, int64_t to[KILN_MAX_RANK])
{
    int64_t strides[KILN_MAX_RANK];
    uint32_t missing = out->rank - v->rank;
    bool is_empty = !kiln_view_count(*v);
    view_strides(v, strides);
    for (uint32_t n = 0; n + 2 < out->rank; n++)
        to[n] = is_empty || n < missing || v->sizes[n - missing] == 1 ? 0 : strides[n - missing];
}

// Leaves out dimensions of 1, and joins those that lie at equal distances in all three.
static void join_batches(const kiln_view *a, const kiln_view *b, const kiln_view *out, products *p)
{
    int64_t of_a[KILN_MAX_RANK], of_b[KILN_MAX_RANK], of_out[KILN_MAX_RANK];
    batch_strides(a, out, of_a);
    batch_strides(b, out, of_b);
    batch_strides(out, out, of_out);
    for (uint32_t n = 0; n + 2 < out->rank; n++) {
        int64_t size = (int64_t)out->sizes[n];
        uint32_t last = p->rank - 1;
        if (size == 1)
            continue;
        if (p->rank && p->a[last] == of_a[n] * size && p->b[last] == of_b[n] * size &&
            p->out[last] == of_out[n] * size)
            p->sizes[last] *= out->sizes[n];
        else
            p->sizes[last = p->rank++] = out->sizes[n];
        p->a[last] = of_a[n];
        p->b[last] = of_b[n];
        p->out[last] = of_out[n];
    }
}

// The longest dimension of the batches becomes the launch's; the others are launches of their own.
static void choose_batch(products *p)
{
    job *j = &p->job;
    uint32_t best = KILN_MAX_RANK;
    for (uint32_t n = 0; n < p->rank; n++)
        if (p->a[n] >= 0 && p->b[n] >= 0 && p->out[n] >= 0 && p->sizes[n] <= UINT32_MAX &&
            (best == KILN_MAX_RANK || p->sizes[n] > p->sizes[best]))
            best = n;
    j->batch = 1;
    p->count = 1;
    if (best < p->rank) {
        j->batch = (uint32_t)p->sizes[best];
        j->a.next = (uint64_t)p->a[best];
        j->b.next = (uint64_t)p->b[best];
        j->out.next = (uint64_t)p->out[best];
        p->rank--;
        for (uint32_t n = best; n < p->rank; n++) {
            p->sizes[n] = p->sizes[n + 1];
            p->a[n] = p->a[n + 1];
            p->b[n] = p->b[n + 1];
            p->out[n] = p->out[n + 1];
        }
    }
    for (uint32_t n = 0; n < p->rank; n++)
        p->count *= p->sizes[n];
}

kiln_status matmul_products(kiln *k, const kiln_matmul_desc *d, products *p)
{
    *p = (products){.job = {.k = k, .desc = d}};
    kiln_status status = check_views(k, d);
    if (status || !kiln_view_count(d->out))
        return status;
    kiln_view a = d->a, b = d->b, out = d->out;
    // A result whose columns are contiguous is the transposed product of the transposed operands.
    // A bias stays with the columns.
    matrix as_given = matrix_of(&out);
    lay_out(&as_given, out.sizes[out.rank - 2], out.sizes[out.rank - 1], false);
    if (!as_given.is_scattered && as_given.is_transposed && d->epilogue == KILN_EPILOGUE_NONE &&
        as_given.rows > 1) {
        a = kiln_view_transpose(d->b);
        b = kiln_view_transpose(d->a);
        out = kiln_view_transpose(d->out);
    }
    job *j = &p->job;
    j->m = (uint32_t)out.sizes[out.rank - 2];
    j->n = (uint32_t)out.sizes[out.rank - 1];
    j->depth = (uint32_t)a.sizes[a.rank - 1];
    j->a = matrix_of(&a);
    j->b = matrix_of(&b);
    j->out = matrix_of(&out);
    lay_out(&j->a, j->m, j->depth, false);
    lay_out(&j->b, j->depth, j->n, true);
    lay_out(&j->out, j->m, j->n, false);
    if (j->out.is_transposed) { // a single column can be a row of its own
        bool is_possible = j->n == 1;
        j->out.is_transposed = false;
        j->out.is_scattered = !is_possible;
        j->out.rows = j->m;
        j->out.stride = 1;
        j->out.next = j->m;
    }
    if (d->epilogue != KILN_EPILOGUE_NONE) {
        j->bias = (matrix){.buffer = d->bias.buffer,
                           .type = kiln_view_type(d->bias),
                           .first = d->bias.first,
                           .steps = {kiln_view_stride(d->bias, 0)}};
        j->bias.is_scattered = j->n > 1 && j->bias.steps[0] != 1;
    }
    join_batches(&a, &b, &out, p);
    choose_batch(p);
    return KILN_OK;
}

job matmul_job(const products *p, uint64_t n)
{
    job j = p->job;
    for (uint32_t dim = p->rank; dim-- > 0;) {
        uint64_t at = n % p->sizes[dim];
        n /= p->sizes[dim];
        j.a.first += at * (uint64_t)p->a[dim];
        j.b.first += at * (uint64_t)p->b[dim];
        j.out.first += at * (uint64_t)p->out[dim];
    }
    return j;
}

kiln_arg matmul_arg(const matrix *of, uint64_t n)
{
    return kiln_arg_view(
        (kiln_view){.buffer = of->buffer, .type = of->type, .first = of->first + n * of->next});
}

kiln_arg matmul_arg_start(const matrix *of)
{
    return kiln_arg_view((kiln_view){.buffer = of->buffer, .type = of->type});
}
