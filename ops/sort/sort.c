// kiln_sort_forward, kiln_topk_forward and kiln_sort_backward. Short rows are sorted in shared
// memory in one launch (short.c). Long ones in passes of three launches, eight bits of the keys
// each (count.c, digits.c, scatter.c); of few wanted results each tile keeps its own, until one
// tile is left (select.c).
#include "kiln/ops.h"

#include "ops/nest.h"
#include "ops/operands.h"
#include "ops/sort/host_sort.h"
#include "rt/memory/view.h"

#define AXES "ops/sort/axes.def"
#include "ops/axes.h"
static const op_program short_rows = OP_PROGRAM("ops/sort/short.c", "sort_short"),
                        count = OP_PROGRAM("ops/sort/count.c", "sort_count"),
                        digits = OP_PROGRAM("ops/sort/digits.c", "sort_digits"),
                        scatter = OP_PROGRAM("ops/sort/scatter.c", "sort_scatter"),
                        select_few = OP_PROGRAM("ops/sort/select.c", "sort_select"),
                        backward = OP_PROGRAM("ops/sort/backward.c", "sort_backward");

enum { AT_OUT, AT_INDEX, AT_VALUE, AT_TO_VALUE, AT_X, VIEWS }; // as in key.h
enum { DIGITS = 256, FEW = 1024, THREADS = 256 };

typedef struct job {
    kiln_view x, out, index, value, to_value;
    uint32_t axis;
    bool is_descending, has_places; // places: where each element was
    kiln_stream *stream;
    kiln_type type, key;
    op_nest nest; // over the rows
    uint64_t rows;
    struct { // `struct row` of the kernels
        uint64_t count, results;
        int64_t x_step, out_step, index_step, value_step, to_value_step;
    } row;
    kiln_view words; // the workspace
    uint64_t used;   // bytes of it
    uint32_t digits; // of eight bits, of the keys
} job;

static uint64_t over(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

// Unsigned, of that size.
static kiln_type bits_type(size_t size)
{
    return size == 1 ? KILN_U8 : size == 2 ? KILN_U16 : size == 4 ? KILN_U32 : KILN_U64;
}

static uint64_t tile_of(const job *j)
{
    return kiln_type_size(j->key) == 8 ? 2048 : 4096;
}

static bool is_short(const job *j)
{
    return j->row.count <= tile_of(j);
}

static bool is_few(const job *j)
{
    return j->row.results <= FEW && j->row.results * 4 <= j->row.count && !j->to_value.buffer;
}

// Elements of that type in the workspace, after those before.
static kiln_view part(job *j, kiln_type type, uint64_t elements)
{
    size_t size = kiln_type_size(type);
    kiln_view v = {.buffer = j->words.buffer,
                   .first = (j->words.first * 8 + j->used) / size,
                   .type = type,
                   .rank = 1,
                   .sizes = {elements}};
    j->used += over(elements * size, 8) * 8;
    return v;
}

static kiln_status launch(kiln *k, const job *j, op_request *r, kiln_arg *args, size_t arg_count,
                          size_t nest_at, uint64_t blocks)
{
    op_packs packs;
    op_nest_cut(&j->nest, &packs);
    if (r->program != &digits) {
        op_set(r, T, j->type);
        op_set(r, KEY, j->key);
        op_set(r, INDEX, j->index.buffer ? kiln_view_type(j->index) : KILN_I64);
        op_set(r, VALUE, j->value.buffer ? bits_type(view_element_size(&j->value)) : KILN_U32);
        op_set(r, DESCENDING, j->is_descending);
        op_set(r, RANK, packs.rank);
        op_set(r, LONG, packs.is_long);
        op_set(r, TO_OUT, j->out.buffer != NULL);
        op_set(r, TO_INDEX, j->index.buffer != NULL);
        op_set(r, TO_VALUE, j->to_value.buffer != NULL);
        args[nest_at] = kiln_arg_struct(&packs.argument, sizeof packs.argument);
        args[nest_at + 1] = kiln_arg_struct(&j->row, sizeof j->row);
    }
    if (blocks > INT32_MAX)
        return error_set(k, KILN_E_LAUNCH, K6015, "%llu rows are too many for one launch",
                         (unsigned long long)j->rows);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, r, &kernel);
    return status ? status
                  : kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)blocks},
                                                                    .args = args,
                                                                    .arg_count = arg_count,
                                                                    .stream = j->stream});
}

// A view that nobody reads where there is none.
static kiln_arg maybe(const job *j, kiln_view v, kiln_type type)
{
    if (v.buffer && v.type != type)
        v.type = type; // of the same size
    return kiln_arg_view(v.buffer ? v : (kiln_view){.buffer = j->x.buffer, .type = type});
}

typedef struct ends { // the results' arguments, in the kernels' order
    kiln_arg out, index, value, to_value;
} ends;

static ends ends_of(const job *j)
{
    kiln_type index = j->index.buffer ? kiln_view_type(j->index) : KILN_I64;
    kiln_type value = j->value.buffer ? bits_type(view_element_size(&j->value)) : KILN_U32;
    return (ends){maybe(j, j->out, j->type), maybe(j, j->index, index), maybe(j, j->value, value),
                  maybe(j, j->to_value, value)};
}

static kiln_status sort_short(kiln *k, const job *j)
{
    uint32_t length = 2;
    while (length < j->row.count)
        length *= 2;
    ends e = ends_of(j);
    kiln_arg args[7] = {kiln_arg_view(j->x), e.out, e.index, e.value, e.to_value};
    op_request r = {.program = &short_rows};
    op_set(&r, LENGTH, length);
    return launch(k, j, &r, args, COUNT(args), 5, over(j->rows, length > 512 ? 1 : 512 / length));
}

static kiln_status sort_long(kiln *k, job *j, bool is_dry)
{
    uint64_t elements = j->rows * j->row.count, tiles = over(j->row.count, tile_of(j));
    kiln_view none = {.buffer = NULL}, keys[2] = {none, none}, places[2] = {none, none}; // in turn
    for (uint64_t n = 0; n < 2 && n + 1 < j->digits; n++) {
        keys[n] = part(j, j->key, elements);
        if (j->has_places)
            places[n] = part(j, KILN_U32, elements);
    }
    kiln_view counts = part(j, KILN_U32, j->rows * DIGITS * tiles);
    kiln_view totals = part(j, KILN_U32, j->rows * DIGITS);
    ends e = ends_of(j);
    kiln_status status = KILN_OK;
    for (uint32_t pass = 0; pass < j->digits && !status && !is_dry; pass++) {
        struct {
            uint32_t shift, tiles;
        } p = {8 * pass, (uint32_t)tiles};
        bool is_first = pass == 0, is_last = pass + 1 == j->digits;
        kiln_arg from = maybe(j, keys[(pass + 1) % 2], j->key);
        kiln_arg from_places = maybe(j, places[(pass + 1) % 2], KILN_U32);
        kiln_arg to = maybe(j, keys[pass % 2], j->key);
        kiln_arg to_places = maybe(j, places[pass % 2], KILN_U32);
        kiln_arg of_pass = kiln_arg_struct(&p, sizeof p);
        kiln_arg counting[6] = {kiln_arg_view(j->x), from, kiln_arg_view(counts)};
        kiln_arg adding[] = {kiln_arg_view(counts), kiln_arg_view(totals),
                             kiln_arg_i64(KILN_U32, (int64_t)tiles)};
        kiln_arg moving[14] = {kiln_arg_view(j->x),
                               from,
                               from_places,
                               kiln_arg_view(counts),
                               kiln_arg_view(totals),
                               to,
                               to_places,
                               e.out,
                               e.index,
                               e.value,
                               e.to_value};
        counting[5] = moving[13] = of_pass;
        op_request r = {.program = &count};
        op_set(&r, FIRST, is_first);
        status = launch(k, j, &r, counting, COUNT(counting), 3, j->rows * tiles);
        op_request add = {.program = &digits};
        if (!status)
            status = launch(k, j, &add, adding, COUNT(adding), 0, j->rows * DIGITS);
        r.program = &scatter;
        op_set(&r, LAST, is_last);
        if (!status)
            status = launch(k, j, &r, moving, COUNT(moving), 11, j->rows * tiles);
    }
    return status;
}

static kiln_status select_long(kiln *k, job *j, bool is_dry)
{
    uint64_t wanted = j->row.results, tile = tile_of(j), sizes[2] = {0, 0};
    kiln_view keys[2], places[2];
    uint64_t whole = j->row.count;
    for (uint32_t level = 0; level < 2; level++) { // the first two are the largest
        uint64_t tiles = over(whole, tile), last = whole - (tiles - 1) * tile;
        sizes[level] = (tiles - 1) * wanted + (last < wanted ? last : wanted);
        keys[level] = part(j, j->key, j->rows * sizes[level]);
        places[level] = part(j, KILN_U32, j->rows * sizes[level]);
        whole = sizes[level];
    }
    ends e = ends_of(j);
    kiln_status status = KILN_OK;
    for (uint32_t level = 0; !status && !is_dry; level++) {
        uint64_t tiles = over(j->row.count, tile), last = j->row.count - (tiles - 1) * tile;
        struct {
            uint32_t tiles, wanted;
            uint64_t next;
        } s = {(uint32_t)tiles, (uint32_t)wanted,
               (tiles - 1) * wanted + (last < wanted ? last : wanted)};
        uint32_t from = (level + 1) % 2, to = level % 2;
        kiln_arg args[10] = {kiln_arg_view(j->x),
                             kiln_arg_view(keys[from]),
                             kiln_arg_view(places[from]),
                             kiln_arg_view(keys[to]),
                             kiln_arg_view(places[to]),
                             e.out,
                             e.index};
        args[9] = kiln_arg_struct(&s, sizeof s);
        op_request r = {.program = &select_few};
        op_set(&r, FIRST, level == 0);
        op_set(&r, LAST, tiles == 1);
        status = launch(k, j, &r, args, COUNT(args), 7, j->rows * tiles);
        if (tiles == 1)
            break;
        j->row.count = s.next;
    }
    return status;
}

// With is_dry: only counts the bytes of the workspace.
static kiln_status run(kiln *k, job *j, bool is_dry)
{
    j->used = 0;
    if (!j->rows || !j->row.results)
        return KILN_OK;
    if (is_short(j))
        return is_dry ? KILN_OK : sort_short(k, j);
    return is_few(j) ? select_long(k, j, is_dry) : sort_long(k, j, is_dry);
}

uint64_t op_sort_room(kiln_type type, uint64_t count_of_keys, uint32_t key_digits)
{
    job j = {.key = type,
             .digits = key_digits,
             .rows = 1,
             .row = {.count = count_of_keys, .results = count_of_keys},
             .has_places = true};
    run(NULL, &j, true);
    return j.used;
}

static kiln_status check_index(kiln *k, const char *call, const kiln_view *index, uint64_t size)
{
    kiln_type type = kiln_view_type(*index);
    if (index->buffer && type != KILN_I32 && type != KILN_I64)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'index' is %s; indices are i32 or i64",
                         call, kiln_type_name(type));
    if (size > (index->buffer && type == KILN_I32 ? INT32_MAX : UINT32_MAX))
        return op_refuse(k, call, "%llu elements of a row are too many for their indices",
                         (unsigned long long)size);
    return KILN_OK;
}

// The sizes of x, but of any size up to its own along the axis.
static kiln_status check_result(kiln *k, const char *call, const op_operand *o, const kiln_view *x,
                                uint32_t axis)
{
    const kiln_view *v = o->view;
    bool is_right = v->rank == x->rank && v->sizes[axis] <= x->sizes[axis];
    for (uint32_t n = 0; n < x->rank && is_right; n++)
        is_right = n == axis || v->sizes[n] == x->sizes[n];
    return is_right || !v->buffer
               ? KILN_OK
               : op_refuse(k, call, "'%s' has not the sizes of 'x', or fewer along axis %u",
                           o->name, axis);
}

static void make_rows(job *j)
{
    const kiln_view *given[VIEWS] = {&j->out, &j->index, &j->value, &j->to_value, &j->x};
    int64_t *steps[VIEWS] = {&j->row.out_step, &j->row.index_step, &j->row.value_step,
                             &j->row.to_value_step, &j->row.x_step};
    kiln_view views[VIEWS];
    for (uint32_t v = 0; v < VIEWS; v++) {
        views[v] = given[v]->buffer ? *given[v] : j->x;
        *steps[v] = kiln_view_stride(views[v], j->axis);
    }
    j->has_places = j->index.buffer || j->to_value.buffer;
    j->type = kiln_view_type(j->x);
    j->key = bits_type(view_element_size(&j->x));
    j->digits = j->digits ? j->digits : (uint32_t)kiln_type_size(j->key);
    j->row.count = j->x.sizes[j->axis];
    op_nest_some(views, VIEWS, ~((uint32_t)1 << j->axis), &j->nest);
    j->rows = 1;
    for (uint32_t d = 0; d < j->nest.rank; d++)
        j->rows *= j->nest.sizes[d];
}

static kiln_status check(kiln *k, const char *call, job *j, bool is_whole)
{
    const op_operand o[] = {
        {.name = "x", .view = &j->x},
        {.name = "out", .view = &j->out, .is_result = true, .is_optional = true},
        {.name = "index", .view = &j->index, .is_result = true, .is_optional = true},
        {.name = "values", .view = &j->value, .is_optional = true},
        {.name = "values_out", .view = &j->to_value, .is_result = true, .is_optional = true}};
    kiln_status status = op_check_operands(k, call, o, COUNT(o), NULL);
    kiln_type type = kiln_view_type(j->x);
    if (!status && (!type || type == KILN_F8E4 || type == KILN_F8E5))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'x' is %s, which the op lacks", call,
                         kiln_type_name(type));
    if (!status && j->axis >= j->x.rank)
        return op_refuse(k, call, "axis %u of 'x', which has %u dimensions", j->axis, j->x.rank);
    for (uint32_t n = 1; n < COUNT(o) && !status; n++)
        status = check_result(k, call, &o[n], &j->x, j->axis);
    if (!status)
        status = op_check_type(k, call, &o[1], type);
    if (!status && !j->value.buffer != !j->to_value.buffer)
        return op_refuse(k, call, "'values' and 'values_out' belong together");
    if (!status && j->value.buffer)
        status = op_check_type(k, call, &o[4], kiln_view_type(j->value));
    if (!status && !j->out.buffer && !j->index.buffer && !j->to_value.buffer)
        return op_refuse(k, call, "there is no result: 'out', 'index' or 'values_out'");
    if (!status)
        status = check_index(k, call, &j->index, j->x.sizes[j->axis]);
    const kiln_view *like = j->out.buffer ? &j->out : j->index.buffer ? &j->index : &j->to_value;
    if (status)
        return status;
    j->row.results = like->sizes[j->axis];
    for (uint32_t n = 1; n < COUNT(o); n++) {
        uint64_t wanted = n == 3 ? j->x.sizes[j->axis] : j->row.results;
        if (o[n].view->buffer && o[n].view->sizes[j->axis] != wanted)
            return op_refuse(k, call, "'%s' has another size along axis %u", o[n].name, j->axis);
    }
    if (is_whole && j->row.results != j->x.sizes[j->axis])
        return op_refuse(k, call, "the results have fewer elements along axis %u than 'x'",
                         j->axis);
    make_rows(j);
    return KILN_OK;
}

// bytes: where only those of the workspace are asked for.
static kiln_status sort(kiln *k, const char *call, job *j, const kiln_view *workspace,
                        bool is_whole, uint64_t *bytes)
{
    kiln_status status = check(k, call, j, is_whole);
    if (!status)
        status = run(k, j, true);
    if (bytes && !status)
        *bytes = j->used;
    if (status || bytes)
        return status;
    status = op_check_workspace(k, call, workspace, j->used, &j->words);
    return status ? status : run(k, j, false);
}

static kiln_status do_sort(kiln *k, const char *call, const kiln_sort_desc *d, uint32_t key_digits,
                           uint64_t *bytes)
{
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    job j = {.x = d->x,
             .out = d->out,
             .index = d->index,
             .value = d->values,
             .to_value = d->values_out,
             .axis = d->axis,
             .is_descending = d->is_descending,
             .stream = d->stream,
             .digits = key_digits};
    return sort(k, call, &j, &d->workspace, true, bytes);
}

static kiln_status do_topk(kiln *k, const char *call, const kiln_topk_desc *d, uint64_t *bytes)
{
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    job j = {.x = d->x,
             .out = d->out,
             .index = d->index,
             .axis = d->axis,
             .is_descending = !d->is_smallest,
             .stream = d->stream};
    return sort(k, call, &j, &d->workspace, false, bytes);
}

kiln_status kiln_sort_forward(kiln *k, const kiln_sort_desc *d)
{
    return do_sort(k, "kiln_sort_forward", d, 0, NULL);
}

kiln_status op_sort_keys(kiln *k, const kiln_sort_desc *d, uint32_t key_digits)
{
    return do_sort(k, "a sort of keys", d, key_digits, NULL);
}

kiln_status kiln_sort_workspace(kiln *k, const kiln_sort_desc *d, uint64_t *bytes)
{
    uint64_t unused;
    return do_sort(k, "kiln_sort_workspace", d, 0, bytes ? bytes : &unused);
}

kiln_status kiln_topk_forward(kiln *k, const kiln_topk_desc *d)
{
    return do_topk(k, "kiln_topk_forward", d, NULL);
}

kiln_status kiln_topk_workspace(kiln *k, const kiln_topk_desc *d, uint64_t *bytes)
{
    uint64_t unused;
    return do_topk(k, "kiln_topk_workspace", d, bytes ? bytes : &unused);
}

kiln_status kiln_sort_backward(kiln *k, const kiln_sort_backward_desc *d)
{
    const char *call = "kiln_sort_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const op_operand o[] = {{.name = "dout", .view = &d->dout},
                            {.name = "index", .view = &d->index},
                            {.name = "dx", .view = &d->dx, .is_result = true}};
    status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status && d->axis >= d->dx.rank)
        status =
            op_refuse(k, call, "axis %u of 'dx', which has %u dimensions", d->axis, d->dx.rank);
    if (!status)
        status = check_result(k, call, &o[0], &d->dx, d->axis);
    if (!status)
        status = op_check_sizes(k, call, &o[1], &o[0]);
    if (!status)
        status = check_index(k, call, &d->index, d->dx.sizes[d->axis]);
    if (!status)
        status = op_check_type(k, call, &o[2], kiln_view_type(d->dout));
    kiln_type type = kiln_view_type(d->dx);
    if (!status && type != KILN_F16 && type != KILN_BF16 && type != KILN_F32 && type != KILN_F64)
        status = error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'dx' is %s, not a float", call,
                           kiln_type_name(type));
    if (status || !kiln_view_count(d->dx))
        return status;
    job j = {.x = d->dx, .out = d->dout, .index = d->index, .axis = d->axis, .stream = d->stream};
    make_rows(&j);
    j.row.results = d->dout.sizes[d->axis];
    for (uint32_t zero = j.row.results < j.row.count; !status; zero--) {
        op_request r = {.program = &backward};
        uint64_t tiles = over(zero ? j.row.count : j.row.results, THREADS);
        kiln_arg args[6] = {kiln_arg_view(d->dout), kiln_arg_view(d->index), kiln_arg_view(d->dx)};
        args[5] = kiln_arg_i64(KILN_U32, (int64_t)tiles);
        op_set(&r, ZERO, zero);
        if (tiles)
            status = launch(k, &j, &r, args, COUNT(args), 3, j.rows * tiles);
        if (!zero)
            break;
    }
    return status;
}
