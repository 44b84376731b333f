// kiln_scan_forward and kiln_scan_backward: running sums, products and extremes along an axis.
// Where the axis is contiguous, rows.c; where others are, columns.c. A long axis is cut into parts:
// two launches.
#include "kiln/ops.h"

#include <stdlib.h>

#include "ops/checks.h"
#include "ops/lines.h"
#include "ops/walk.h"

#define AXES "ops/scan/axes.def"
#include "ops/axes.h"
static const op_program rows_program = OP_PROGRAM("ops/scan/rows.c", "scan_rows"),
                        columns_program = OP_PROGRAM("ops/scan/columns.c", "scan_columns");

enum { TO, X, VIEWS }; // as in step.h
enum {
    THREADS = 256,
    BLOCKS = 1056,     // that fill a large GPU
    MANY = 1 << 16,    // threads that do
    SHORT = 32,        // rows of which a thread has a whole one
    COLUMN_PART = 64,  // least rows of a part of columns
    COLUMN_PARTS = 64, // a thread adds those before its own
};

typedef struct plan {
    op_lines lines; // of columns: in packs
    bool is_columns, is_whole;
    uint32_t width, lanes, per;
    uint64_t parts, bytes;
    struct { // `struct row` of the kernels
        uint64_t count, part;
        int64_t x_step, to_step;
    } row;
} plan;

// May packs of that many elements be moved?
static bool is_possible(const plan *p, const kiln_view *views, uint32_t width, bool is_reverse)
{
    const op_nest *n = &p->lines.nest;
    uint32_t last = n->rank - 1, along = p->is_columns ? last : n->rank; // the axis is no loop
    for (uint32_t v = 0; v < VIEWS; v++) {
        int64_t step = v == X ? p->row.x_step : p->row.to_step;
        if (!op_nest_is_aligned(n, &views[v], v, along, width) ||
            (p->is_columns ? n->strides[v][last] != 1 || step % width : step != 1))
            return false;
    }
    if (p->is_columns)
        return n->sizes[last] % width == 0;
    return p->row.count % width == 0 || !is_reverse; // a last pack that is not full
}

static void make_plan(const kiln_scan_desc *d, plan *p)
{
    const kiln_view views[VIEWS] = {[TO] = d->out, [X] = d->x};
    *p = (plan){.parts = 1,
                .row.count = d->x.sizes[d->axis],
                .row.x_step = kiln_view_stride(d->x, d->axis),
                .row.to_step = kiln_view_stride(d->out, d->axis)};
    op_lines_make(views, VIEWS, d->axis, &p->lines);
    int64_t near = llabs(p->lines.nest.strides[X][p->lines.nest.rank - 1]);
    int64_t far = llabs(p->row.x_step);
    p->is_columns = p->lines.rows > 1 && ((far != 1 && near < far) || p->row.count <= SHORT);
    p->width = 8;
    while (p->width > 1 && !is_possible(p, views, p->width, d->is_reverse))
        p->width /= 2;
    if (p->is_columns) {
        op_nest_widen(&p->lines.nest, p->width);
        uint64_t columns = p->lines.rows / p->width;
        if (columns < MANY && p->row.count > 2 * COLUMN_PART)
            p->parts = op_min(op_min(op_ceil_div(p->row.count, COLUMN_PART), MANY / columns),
                              COLUMN_PARTS);
        p->per = 4;
        p->lanes = 32;
        p->row.part = op_ceil_div(p->row.count, p->parts);
        p->parts = op_ceil_div(p->row.count, p->row.part);
    } else {
        uint64_t packs = op_ceil_div(p->row.count, p->width), most = p->width == 8 ? 2 : 4;
        bool is_warp = packs <= (p->lines.rows < BLOCKS ? 32 : 256);
        p->lanes = is_warp ? 32 : packs > 128 ? THREADS : packs > 64 ? 128 : 64;
        p->per = packs > p->lanes ? (uint32_t)most : 1;
        uint64_t tile = (uint64_t)p->lanes * p->per;
        if (p->lanes == THREADS && p->lines.rows < BLOCKS / 2 && packs > 2 * tile)
            p->parts = op_min(op_ceil_div(packs, 2 * tile), BLOCKS / p->lines.rows);
        p->row.part = op_ceil_div(op_ceil_div(packs, p->parts), tile) * tile;
        p->parts = op_ceil_div(packs, p->row.part);
        p->is_whole = p->row.count % p->width == 0 && p->width > 1 && packs <= tile;
    }
    p->bytes = p->parts > 1 ? p->lines.rows * p->parts * 8 : 0;
}

static kiln_status launch(kiln *k, const plan *p, const kiln_scan_desc *d, const kiln_view *words,
                          bool is_in_place, bool is_first)
{
    kiln_type type = kiln_view_type(d->x), out = kiln_view_type(d->out);
    op_packs packs;
    op_nest_cut(&p->lines.nest, &packs);
    op_request r = {.program = p->is_columns ? &columns_program : &rows_program};
    op_set(&r, KIND, d->op);
    op_set(&r, T, type);
    op_set(&r, OUT, out);
    op_set(&r, OTHER_OUT, out != type);
    op_set(&r, ACC, op_type_of_sums(type));
    op_set(&r, V, p->width);
    op_set(&r, PER, p->per);
    if (!p->is_columns)
        op_set(&r, LANES, p->lanes);
    op_set(&r, WHOLE, p->is_whole);
    op_walk_set_loops(&r, &packs);
    op_set(&r, EXCLUSIVE, d->is_exclusive);
    op_set(&r, REVERSE, d->is_reverse);
    op_set(&r, TOTALS, is_first);
    op_set(&r, CARRY, p->parts > 1 && !is_first);
    op_set(&r, IN_PLACE, is_in_place);
    const kiln_arg args[] = {kiln_arg_view(d->x), kiln_arg_view(d->out),
                             op_launch_view(*words, d->out, KILN_U64), op_walk_arg(&packs),
                             kiln_arg_struct(&p->row, sizeof p->row)};
    uint32_t together = p->is_columns ? THREADS : p->lanes == 32 ? THREADS / 32 : 1;
    return op_lines_launch(k, &p->lines,
                           (op_launch_desc){.request = &r,
                                            .blocks = op_ceil_div(packs.argument.packs, together),
                                            .parts = p->parts,
                                            .args = args,
                                            .arg_count = COUNT(args),
                                            .stream = d->stream});
}

// bytes: where only those of the workspace are asked for.
static kiln_status run(kiln *k, const char *call, const kiln_scan_desc *d, bool is_backward,
                       uint64_t *bytes)
{
    const op_operand o[] = {
        {is_backward ? "dout" : "x", &d->x, .may_be_replaced = true, .types = &op_types_all},
        {is_backward ? "dx" : "out", &d->out, .is_result = true, .types = &op_types_all,
         .same = OP_SAME_SIZES}};
    plan p = {.bytes = 0};
    bool is_in_place;
    kiln_view words = {.buffer = NULL};
    kiln_status status = op_check_rows(k, call, o, COUNT(o), d->axis, &is_in_place);
    if (!status && (unsigned)d->op > KILN_SCAN_MIN)
        status = op_refuse(k, call, "there is no scan %d", (int)d->op);
    if (!status && kiln_view_count(d->x))
        make_plan(d, &p);
    if (!status && bytes)
        *bytes = p.bytes;
    else if (!status)
        status = op_check_workspace(k, call, &d->workspace, p.bytes, &words);
    if (status || bytes || !kiln_view_count(d->x))
        return status;
    if (p.parts > 1)
        status = launch(k, &p, d, &words, is_in_place, true);
    return status ? status : launch(k, &p, d, &words, is_in_place, false);
}

kiln_status kiln_scan_workspace(kiln *k, const kiln_scan_desc *d, uint64_t *bytes)
{
    kiln_status status = op_begin_bytes(k, __func__, d, bytes);
    return status ? status : run(k, __func__, d, false, bytes);
}

kiln_status kiln_scan_forward(kiln *k, const kiln_scan_desc *d)
{
    kiln_status status = op_begin(k, __func__, d);
    return status ? status : run(k, __func__, d, false, NULL);
}

kiln_status kiln_scan_backward(kiln *k, const kiln_scan_desc *d)
{
    kiln_status status = op_begin(k, __func__, d);
    if (!status && d->op != KILN_SCAN_SUM)
        status = op_refuse(k, __func__, "only a running sum has a derivative");
    if (status)
        return status;
    kiln_scan_desc reversed = *d;
    reversed.is_reverse = !d->is_reverse;
    return run(k, __func__, &reversed, true, NULL);
}
