// How a kernel of rows is launched (rows.h).
#include "ops/rows.h"

#include "ops/checks.h"
#include "ops/launch.h"
#include "rt/memory/view.h"

#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include "ops/rows_axes.def"
};
#undef AXIS

enum {
    MOST_PER = 8,
    MOST_KEPT = 32,
    WARP_PACKS = 64,
    BLOCK = 256,
    SMALL = 1 << 19,
    MANY = 1 << 17
};

static const uint16_t sizes[] = {64,  96,  128, 160, 192, 224, 256, 320,
                                 384, 448, 512, 640, 768, 896, 1024}; // of blocks, as kiln/rows.h

static uint32_t block_for(uint64_t threads)
{
    size_t n = 0;
    while (n + 1 < COUNT(sizes) && sizes[n] < threads)
        n++;
    return sizes[n];
}

// Do the rows lie side by side, so that neighbouring threads should have neighbouring rows?
static bool is_across(const op_nest *n)
{
    int64_t row = n->rank > 1 ? n->strides[0][n->rank - 2] : 0, inner = n->strides[0][n->rank - 1];
    return (row == 1 || row == -1) && inner != 1;
}

// Warps that share 32 rows that lie side by side; 1: rows are short, or so many that a thread can
// have its own.
static uint32_t across_warps(const op_nest *n, uint64_t columns, uint64_t rows)
{
    enum { EACH = 8, ENOUGH = 1 << 18, MOST = 32 };
    uint32_t warps = 1;
    while (is_across(n) && rows < ENOUGH && warps < MOST && columns > EACH * warps)
        warps *= 2;
    return warps;
}

// Threads of a row that a warp has, or a part of one. Many rows: what a thread does beside its
// packs takes as long as three of them, and it has four at most. Few rows: every thread has one.
static uint32_t lanes_of(uint64_t packs, uint64_t rows)
{
    enum { BESIDE = 3, EACH = 4 };
    uint32_t best = 32;
    for (uint32_t lanes = 16; lanes > 1; lanes /= 2) {
        uint64_t per = op_ceil_div(packs, lanes), before = op_ceil_div(packs, best);
        bool is_better = rows * packs >= MANY
                             ? per <= EACH && lanes * (per + BESIDE) < best * (before + BESIDE)
                             : per == 1;
        best = is_better ? lanes : best;
    }
    return best;
}

void op_rows_make(const kiln_view *views, uint32_t count, uint32_t axis, uint32_t aim,
                  uint32_t kept, bool is_by_first, op_rows *out)
{
    op_nest nest;
    op_nest_rows(views, count, axis, is_by_first, &nest);
    bool is_small = kiln_view_count(views[0]) < SMALL && nest.sizes[nest.rank - 1] <= 4 * BLOCK;
    nest.widest = is_small ? 4 : 16; // a thread has less to compute
    *out = (op_rows){.inner = OP_DENSE, .columns = nest.sizes[nest.rank - 1]};
    op_nest_pack(&nest, views, &out->packs);
    for (uint32_t v = 0; v < count; v++)
        if (out->packs.inner[v] != OP_DENSE)
            out->inner = OP_STRIDED;
    if (out->inner == OP_STRIDED && out->packs.width > 1) { // one is broadcast along the row
        nest.is_of_rows = true;
        for (uint32_t v = 0; v < count; v++)
            for (uint32_t d = 0; d + 1 < nest.rank; d++)
                out->packs.argument.strides[v][d] = nest.strides[v][d];
        out->packs.argument.packs *= out->packs.width;
        out->packs.argument.sizes[nest.rank - 1] = out->columns;
        out->packs.width = 1;
    }
    uint64_t packs = out->packs.argument.sizes[nest.rank - 1];
    out->rows = out->packs.argument.rest = out->packs.argument.packs / packs;
    uint64_t warps = across_warps(&nest, packs, out->rows);
    if (warps > 1) {
        out->is_across = true;
        out->lanes = (uint32_t)warps;
        out->threads = 32 * out->lanes;
    } else if (is_across(&nest) || packs <= 2) {
        out->lanes = 1;
        out->threads = BLOCK;
    } else if (packs <= WARP_PACKS || (packs <= 2 * WARP_PACKS && out->rows * packs >= MANY)) {
        out->lanes = lanes_of(packs, out->rows);
        out->threads = BLOCK;
    } else {
        out->lanes = out->threads = block_for(packs <= BLOCK ? packs : op_ceil_div(packs, aim));
    }
    uint64_t per = op_ceil_div(packs, out->lanes);
    bool is_kept = per <= MOST_PER || kept * per * out->packs.width <= MOST_KEPT;
    out->per = is_kept && !is_across(&nest) ? (uint32_t)per : 0;
    out->is_whole = out->per && packs % out->lanes == 0;
    out->blocks = op_ceil_div(out->rows, out->threads / out->lanes);
}

void op_rows_set(const op_rows *rows, kiln_type type, bool is_in_place, op_request *r)
{
    op_set(r, T, op_type_float_axis(type));
    op_set(r, INNER, rows->inner);
    op_set(r, V, rows->packs.width);
    op_set(r, IN_PLACE, is_in_place);
    op_set(r, THREADS, rows->is_played ? 32 : rows->threads);
    op_set(r, LANES, rows->lanes);
    op_set(r, ACROSS, rows->is_across);
    op_set(r, PER, rows->per);
    op_set(r, WHOLE, rows->is_whole);
    op_set(r, RANK, rows->packs.rank);
    op_set(r, LONG, rows->packs.is_long);
}

kiln_status op_rows_launch(kiln *k, const op_rows *rows, const op_request *r, const kiln_arg *args,
                           size_t count, kiln_stream *stream)
{
    return op_launch(k, &(op_launch_desc){.request = r,
                                          .blocks = rows->blocks,
                                          .is_resident = rows->takes_several,
                                          .units = "rows",
                                          .unit_count = rows->rows,
                                          .args = args,
                                          .arg_count = count,
                                          .stream = stream});
}

kiln_status op_rows_check(kiln *k, const char *call, const op_operand *o, size_t count,
                          uint32_t axis)
{
    kiln_type type = kiln_view_type(*o->view);
    if (type != KILN_F32 && type != KILN_F16 && type != KILN_BF16)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: '%s' is %s; bf16, f16 and f32 are possible", call, o->name,
                         kiln_type_name(type));
    kiln_status status = op_check_axis(k, call, o, axis);
    for (size_t n = 1; n < count && !status; n++)
        status = op_check_type(k, call, &o[n], type);
    return status;
}

// --- calls
kiln_status op_rows_begin(kiln *k, op_rows_call *c)
{
    const op_operand *o = c->operands;
    kiln_status status = op_check_operands(k, c->name, o, c->count, &c->is_in_place);
    if (!status)
        status = op_rows_check(k, c->name, o, c->count, c->axis);
    for (size_t n = 1; n < c->count && !status; n++)
        status = o[n].is_column ? op_check_column(k, c->name, &o[n], o->view->sizes[c->axis])
                                : op_check_sizes(k, c->name, &o[n], o);
    c->is_empty = !status && !kiln_view_count(*o->view);
    return status;
}

bool op_rows_is_dense(const op_rows_call *c)
{
    bool all = kiln_view_count(*c->operands->view) <= INT32_MAX;
    for (uint32_t n = 0; n < c->count && all; n++) {
        const op_operand *o = &c->operands[n];
        if (o->view->buffer)
            all = o->is_column ? kiln_view_stride(*o->view, 0) == 1
                               : kiln_view_is_dense(*o->view) && view_is_aligned(o->view, 16);
    }
    return all;
}

// A column for every row of x.
static kiln_view for_rows(kiln_view v, const kiln_view *x, uint32_t axis)
{
    for (uint32_t n = axis + 1; n < x->rank; n++)
        v = kiln_view_unsqueeze(v, v.rank);
    return kiln_view_broadcast(v, x->rank, x->sizes);
}

// What stands for an operand that is not there: for a result another one, because x may be
// read-only.
static kiln_view instead_of(const op_rows_call *c, const op_operand *missing)
{
    for (uint32_t n = 0; n < c->count && missing->is_result; n++)
        if (c->operands[n].is_result && !c->operands[n].is_column && c->operands[n].view->buffer)
            return *c->operands[n].view;
    return *c->operands->view;
}

void op_rows_add_operands(op_rows_call *c, uint32_t count, kiln_view *views)
{
    for (uint32_t n = 0; n < c->count; n++)
        if (c->operands[n].axis)
            op_set_axis(&c->request, c->operands[n].axis, c->operands[n].view->buffer != NULL);
    for (uint32_t n = 0; n < count; n++) {
        const op_operand *o = &c->operands[n];
        kiln_view v = !o->view->buffer ? instead_of(c, o)
                      : o->is_column   ? for_rows(*o->view, c->operands->view, c->axis)
                                       : *o->view;
        op_rows_add(c, kiln_arg_view(v));
        if (views)
            views[n] = v;
    }
}

void op_rows_plan(op_rows_call *c, const op_program *program, uint32_t count, uint32_t aim,
                  uint32_t kept)
{
    kiln_view views[NEST_VIEWS];
    c->request.program = program;
    op_rows_add_operands(c, count, views);
    op_rows_make(views, count, c->axis, aim, kept, c->is_by_x, &c->rows);
    op_rows_add(c, op_nest_arg(&c->rows.packs, c->rows.packs.rank));
}

uint32_t op_rows_plan_columns(op_rows_call *c)
{
    enum { THREADS = 512, BLOCKS = 128 };
    op_rows *r = &c->rows;
    uint64_t packs = r->packs.argument.sizes[r->packs.rank - 1];
    uint32_t width = 32; // fewer make more blocks
    while (width > 2 && packs / width < BLOCKS)
        width /= 2;
    r->threads = r->lanes = THREADS;
    r->is_across = r->is_whole = false;
    r->blocks = op_ceil_div(packs, width);
    r->per = 1;
    return width;
}

void op_rows_add(op_rows_call *c, kiln_arg arg)
{
    c->args[c->arg_count++] = arg;
}

void op_rows_add_f32(op_rows_call *c, uint32_t count, const double *values)
{
    for (uint32_t n = 0; n < count; n++)
        op_rows_add(c, kiln_arg_f64(KILN_F32, values[n]));
}

static void play(kiln *k, op_rows_call *c)
{
    op_rows *r = &c->rows;
    r->is_played = c->played && op_is_in_turn(k) && r->inner == OP_DENSE && r->lanes > 32 &&
                   r->lanes == r->threads && !r->is_across && r->per && !r->packs.is_long;
    if (r->is_played)
        c->request.program = c->played;
}

kiln_status op_rows_run(kiln *k, op_rows_call *c, kiln_stream *stream)
{
    play(k, c);
    op_rows_set(&c->rows, kiln_view_type(*c->operands->view), c->is_in_place, &c->request);
    return op_rows_launch(k, &c->rows, &c->request, c->args, c->arg_count, stream);
}
