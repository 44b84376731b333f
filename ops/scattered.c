// Entries are sorted by the row that they belong to (ops/scatter/keys.c), then each row takes its
// own in their order (ops/scatter/rows.c). Start reading at op_scatter_run.
#include "ops/scattered.h"

#include "ops/checks.h"
#include "ops/indexed.h"
#include "ops/moved.h"
#include "ops/sorting.h"
#include "ops/walk.h"

#define AXES "ops/scatter/axes.def"
#include "ops/axes.h"
static const op_program keys_of = OP_PROGRAM("ops/scatter/keys.c", "scatter_keys"),
                        spans_of = OP_PROGRAM("ops/scatter/keys.c", "scatter_spans"),
                        rows_of = OP_PROGRAM("ops/scatter/rows.c", "scatter_rows");

enum { THREADS = 256, SOURCE = 0, OUT = 1 };

typedef struct entries { // `struct entries` of keys.c
    uint32_t count, rows, sizes[KILN_MAX_RANK];
    int64_t index[KILN_MAX_RANK];
    uint32_t key[KILN_MAX_RANK];
    int64_t axis_sizes[KILN_MAX_RANK];
    uint32_t axis_key[KILN_MAX_RANK];
    int64_t step, ignored;
    uint32_t has_ignored;
} entries;

typedef struct rows { // `struct rows` of rows.c
    uint32_t sizes[KILN_MAX_RANK];
    int64_t source[KILN_MAX_RANK];
    uint32_t axis_sizes[KILN_MAX_RANK];
    int64_t out[KILN_MAX_RANK];
    uint32_t count;
} rows;

// A scatter taken apart: loops over entries, the axes of a row's number, the columns of a row.
typedef struct plan {
    entries e;
    rows r;
    uint32_t loops, axes, index_axes;
    kiln_view columns[2]; // of source and out, one row of each
    uint64_t count, row_count;
} plan;

static void add_row_axis(plan *p, uint64_t size, int64_t stride)
{
    p->r.axis_sizes[p->axes] = (uint32_t)size;
    p->r.out[p->axes++] = stride;
    p->row_count = op_product(p->row_count, size);
}

static void add_column(plan *p, uint64_t size, int64_t source, int64_t out)
{
    uint32_t d = p->columns[SOURCE].rank++;
    p->columns[OUT].rank++;
    p->columns[SOURCE].sizes[d] = p->columns[OUT].sizes[d] = size;
    p->columns[SOURCE].strides[d] = source;
    p->columns[OUT].strides[d] = out;
}

static void add_loop(plan *p, uint64_t size, int64_t index, int64_t source)
{
    p->e.sizes[p->loops] = p->r.sizes[p->loops] = (uint32_t)size;
    p->e.index[p->loops] = index;
    p->r.source[p->loops++] = source;
    p->count = op_product(p->count, size);
}

// Neighbouring loops that are one in the index tensor, in the source and in the keys become one.
static void merge_loops(plan *p)
{
    for (uint32_t d = p->loops ? p->loops - 1 : 0; d-- > 0;) {
        uint32_t inner = p->e.sizes[d + 1];
        if (p->e.index[d] != p->e.index[d + 1] * (int64_t)inner ||
            p->r.source[d] != p->r.source[d + 1] * (int64_t)inner ||
            p->e.key[d] != p->e.key[d + 1] * inner)
            continue;
        p->e.sizes[d] *= inner;
        p->e.index[d] = p->e.index[d + 1];
        p->e.key[d] = p->e.key[d + 1];
        p->r.source[d] = p->r.source[d + 1];
        p->loops--;
        for (uint32_t m = d + 1; m < p->loops; m++) {
            p->e.sizes[m] = p->e.sizes[m + 1];
            p->e.index[m] = p->e.index[m + 1];
            p->e.key[m] = p->e.key[m + 1];
            p->r.source[m] = p->r.source[m + 1];
        }
        memcpy(p->r.sizes, p->e.sizes, sizeof p->r.sizes);
    }
}

static void plan_it(const op_scatter *s, const op_indexed *o, plan *p)
{
    uint32_t own[KILN_MAX_RANK]; // the row axis that a loop is, plus 1
    *p = (plan){.count = 1, .row_count = 1, .index_axes = o->axis_count};
    p->columns[SOURCE] = *s->source;
    p->columns[OUT] = *s->out;
    for (uint32_t v = 0; v < 2; v++) {
        p->columns[v].rank = 0;
        p->columns[v].has_strides = true;
    }
    for (uint32_t d = 0; d < o->rank; d++)
        if (o->is_own[d] && !o->index[d] && o->sizes[d] == o->own_sizes[d]) {
            add_column(p, o->sizes[d], o->elements[d], o->x[d]);
        } else {
            own[p->loops] = o->is_own[d] ? p->axes + 1 : 0;
            add_loop(p, o->sizes[d], o->index[d], o->elements[d]);
            if (o->is_own[d])
                add_row_axis(p, o->own_sizes[d], o->x[d]);
        }
    uint32_t first = p->axes;
    for (uint32_t a = 0; a < o->axis_count; a++) {
        p->e.axis_sizes[a] = (int64_t)o->axis_sizes[a];
        add_row_axis(p, o->axis_sizes[a], o->axis_strides[a]);
    }
    uint32_t step = 1;
    for (uint32_t a = p->axes; a-- > 0; step *= p->r.axis_sizes[a]) {
        if (a >= first)
            p->e.axis_key[a - first] = step;
        for (uint32_t n = 0; n < p->loops && a < first; n++)
            p->e.key[n] = own[n] == a + 1 ? step : p->e.key[n];
    }
    if (!p->loops)
        add_loop(p, 1, 0, 0);
    merge_loops(p);
    p->e.count = (uint32_t)p->count;
    p->e.rows = p->r.count = (uint32_t)p->row_count;
    p->e.step = o->step;
    p->e.ignored = s->ignored;
    p->e.has_ignored = s->has_ignored;
}

static kiln_status make_plan(kiln *k, const char *call, const op_scatter *s, plan *p)
{
    const op_operand o[] = {{.name = "index", .view = s->index},
                            {.name = s->source_name, .view = s->source},
                            {.name = s->out_name, .view = s->out, .is_result = true}};
    op_indexed indexed;
    kiln_status status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status)
        status = op_check_type(k, call, &o[1], kiln_view_type(*s->out));
    if (!status)
        status = op_indexed_make(k, call, s->form, s->axis, &o[2], &o[0], &o[1], &indexed);
    if (status)
        return status;
    plan_it(s, &indexed, p);
    if (indexed.rank + indexed.axis_count > KILN_MAX_RANK && p->axes > KILN_MAX_RANK)
        return op_refuse(k, call, "'%s' and 'index' have too many dimensions", s->out_name);
    if (p->count > INT32_MAX || p->row_count >= UINT32_MAX - THREADS)
        return op_refuse(k, call, "%llu indices into %llu rows; at most 2^31 - 1 and 2^32 - 258",
                         (unsigned long long)p->count, (unsigned long long)p->row_count);
    return KILN_OK;
}

// --- launches
static kiln_arg number(uint64_t value)
{
    return kiln_arg_i64(KILN_U32, (int64_t)value);
}

// The workspace: what the sort needs, the spans, keys, sorted keys, the entries in their order.
typedef struct work {
    kiln_view sort, spans, keys, sorted, order;
} work;

static kiln_type key_type(const plan *p)
{
    return p->row_count < UINT16_MAX ? KILN_U16 : KILN_U32;
}

// Bytes of the largest key, the number of rows.
static uint32_t key_digits(const plan *p)
{
    return p->row_count >> 24 ? 4 : p->row_count >> 16 ? 3 : p->row_count >> 8 ? 2 : 1;
}

static uint64_t sort_words(const plan *p)
{
    return op_sort_room(key_type(p), p->count, key_digits(p)) / 4;
}

static uint64_t workspace_of(const plan *p)
{
    return 1 + sort_words(p) + 2 * p->row_count + 3 * p->count;
}

// The next `words` of the workspace, as `count` elements of that type.
static kiln_view take(kiln_view *from, uint64_t words, kiln_type type, uint64_t count)
{
    kiln_view v = {.buffer = from->buffer,
                   .first = from->first * 4 / kiln_type_size(type),
                   .type = type,
                   .rank = 1,
                   .sizes = {count}};
    from->first += words;
    return v;
}

static work cut(const plan *p, kiln_view w)
{
    uint64_t room = sort_words(p);
    w.first += w.first % 2; // sorting takes words of 8 bytes
    work all;               // the first two are of words of 8 bytes
    all.sort = take(&w, room, KILN_U32, room);
    all.spans = take(&w, 2 * p->row_count, KILN_U32, 2 * p->row_count);
    all.keys = take(&w, p->count, key_type(p), p->count);
    all.sorted = take(&w, p->count, key_type(p), p->count);
    all.order = take(&w, p->count, KILN_I32, p->count);
    return all;
}

// The entries in the order of their rows, and where those of each row are.
static kiln_status sort(kiln *k, const plan *p, const op_scatter *s, const work *w)
{
    op_request r = {.program = &keys_of};
    op_set(&r, KEY, key_type(p) == KILN_U32);
    op_request spans = r;
    op_set(&r, INDEX, kiln_view_type(*s->index) == KILN_I64);
    op_set(&r, LOOPS, p->loops);
    op_set(&r, AXES, p->index_axes);
    const kiln_arg first[] = {kiln_arg_view(*s->index), kiln_arg_view(w->keys),
                              kiln_arg_view(w->spans), kiln_arg_struct(&p->e, sizeof p->e)};
    const kiln_arg last[] = {kiln_arg_view(w->sorted), kiln_arg_view(w->spans), number(p->count),
                             number(p->row_count)};
    const kiln_sort_desc d = {.x = w->keys,
                              .out = w->sorted,
                              .index = w->order,
                              .workspace = w->sort,
                              .stream = s->stream};
    uint64_t threads = p->count > p->row_count ? p->count : p->row_count;
    kiln_status status =
        op_launch_blocks(k, &r, op_ceil_div(threads, THREADS), first, COUNT(first), s->stream);
    if (status || !p->count)
        return status;
    spans.program = &spans_of;
    status = op_sort_keys(k, &d, key_digits(p));
    return status ? status
                  : op_launch_blocks(k, &spans, op_ceil_div(p->count, THREADS), last, COUNT(last),
                                     s->stream);
}

static kiln_status run_rows(kiln *k, plan *p, const op_scatter *s, kiln_arg spans, kiln_arg order)
{
    op_packs packs;
    kiln_type type = kiln_view_type(*s->out);
    kiln_view views[] = {p->columns[SOURCE], p->columns[OUT]};
    if (s->how == KILN_SCATTER_SET) { // elements of any type are only moved
        views[SOURCE] = op_moved_view(views[SOURCE]);
        views[OUT] = op_moved_view(views[OUT]);
        type = views[OUT].type;
    }
    op_walk how = {.dense = 1 << SOURCE | 1 << OUT};
    how.widest = op_walk_divide(16, p->r.source, p->loops);
    how.widest = op_walk_divide(how.widest, p->r.out, p->axes);
    op_walk_make(views, 2, how, &packs);
    for (uint32_t d = 0; d < p->loops; d++)
        p->r.source[d] /= (int64_t)packs.width;
    for (uint32_t d = 0; d < p->axes; d++)
        p->r.out[d] /= (int64_t)packs.width;
    uint64_t threads = op_product(packs.argument.packs, p->row_count);
    op_request r = {.program = &rows_of};
    op_set(&r, LOOPS, p->loops);
    op_set(&r, AXES, p->axes);
    op_set(&r, T, type);
    op_set(&r, V, packs.width);
    op_set(&r, HOW, s->how);
    op_set(&r, ZERO, s->is_from_zero);
    op_set(&r, RANK, packs.rank);
    op_set(&r, LONG, threads >= ((uint64_t)1 << 31) - THREADS);
    const kiln_arg args[] = {kiln_arg_view(views[SOURCE]),
                             spans,
                             order,
                             kiln_arg_view(views[OUT]),
                             op_walk_arg(&packs),
                             kiln_arg_struct(&p->r, sizeof p->r)};
    return op_launch_blocks(k, &r, op_ceil_div(threads, THREADS), args, COUNT(args), s->stream);
}

kiln_status op_scatter_workspace(kiln *k, const char *call, const op_scatter *s, uint64_t *elements)
{
    plan p;
    kiln_status status = elements ? KILN_OK : op_refuse(k, call, "'elements' is NULL");
    if (!status)
        status = make_plan(k, call, s, &p);
    if (!status)
        *elements = workspace_of(&p);
    return status;
}

kiln_status op_scatter_run(kiln *k, const char *call, const op_scatter *s)
{
    const op_operand o[] = {{.name = "index", .view = s->index},
                            {.name = s->source_name, .view = s->source},
                            {.name = s->out_name, .view = s->out, .is_result = true},
                            {.name = "workspace", .view = s->workspace, .is_result = true}};
    static const op_types types = {OP_FLOATS | OP_INDICES | 1 << KILN_U32 | 1 << KILN_U64,
                                   ", which the op lacks"};
    plan p;
    if ((unsigned)s->how > KILN_SCATTER_MAX)
        return op_refuse(k, call, "there is no op %d", (int)s->how);
    kiln_status status = make_plan(k, call, s, &p);
    if (!status)
        status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status && s->how != KILN_SCATTER_SET)
        status = op_check_types(k, call, &o[2], &types);
    if (!status)
        status = op_check_type(k, call, &o[3], KILN_U32);
    if (status || !kiln_view_count(*s->out) || (!s->is_from_zero && !kiln_view_count(*s->source)))
        return status;
    uint64_t needed = workspace_of(&p);
    if (!kiln_view_is_dense(*s->workspace) || kiln_view_count(*s->workspace) < needed)
        return op_refuse(k, call, "the workspace is not %llu dense elements",
                         (unsigned long long)needed);
    work w = cut(&p, *s->workspace);
    status = sort(k, &p, s, &w);
    w.order.type = KILN_U32;
    return status ? status : run_rows(k, &p, s, kiln_arg_view(w.spans), kiln_arg_view(w.order));
}
