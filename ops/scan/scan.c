// kiln_scan_forward and kiln_scan_backward: running sums, products and extremes along an axis.
// Where the axis is contiguous, rows.c; where others are, columns.c. A long axis is cut into parts:
// two launches.
#include "kiln/ops.h"

#include "ops/nest.h"
#include "ops/operands.h"
#include "rt/memory/view.h"

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
    kiln_type type, out, acc;
    op_nest nest; // over the rows; of columns in packs
    bool is_columns;
    uint32_t width, lanes, per;
    uint64_t rows, parts, bytes;
    struct { // `struct row` of the kernels
        uint64_t count, part;
        int64_t x_step, to_step;
    } row;
} plan;

static uint64_t over(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static kiln_type acc_type(kiln_type type)
{
    switch (type) {
    case KILN_F64: return KILN_F64;
    case KILN_F16:
    case KILN_BF16:
    case KILN_F32: return KILN_F32;
    case KILN_I8:
    case KILN_I16:
    case KILN_I32:
    case KILN_I64: return KILN_I64;
    default: return KILN_U64;
    }
}

// May packs of that many elements be moved?
static bool is_possible(const plan *p, const kiln_view *views, uint32_t width, bool is_reverse)
{
    uint32_t last = p->nest.rank - 1;
    for (uint32_t v = 0; v < VIEWS; v++) {
        size_t size = view_element_size(&views[v]);
        int64_t step = v == X ? p->row.x_step : p->row.to_step;
        if (width * size > 16 ||
            (views[v].buffer->address + views[v].first * size) % (width * size) ||
            (p->is_columns ? p->nest.strides[v][last] != 1 || step % width : step != 1))
            return false;
        for (uint32_t d = 0; d < p->nest.rank && p->rows > 1; d++)
            if (!(p->is_columns && d == last) && p->nest.strides[v][d] % width)
                return false;
    }
    if (p->is_columns)
        return p->nest.sizes[last] % width == 0;
    return p->row.count % width == 0 || !is_reverse; // a last pack that is not full
}

static void make_plan(const kiln_view *views, uint32_t axis, bool is_reverse, plan *p)
{
    *p = (plan){.type = kiln_view_type(views[X]), .out = kiln_view_type(views[TO]), .rows = 1};
    p->acc = acc_type(p->type);
    p->row.count = views[X].sizes[axis];
    p->row.x_step = kiln_view_stride(views[X], axis);
    p->row.to_step = kiln_view_stride(views[TO], axis);
    op_nest_some(views, VIEWS, ~((uint32_t)1 << axis), &p->nest);
    for (uint32_t d = 0; d < p->nest.rank; d++)
        p->rows *= p->nest.sizes[d];
    int64_t near = p->nest.strides[X][p->nest.rank - 1], far = p->row.x_step;
    near = near < 0 ? -near : near;
    far = far < 0 ? -far : far;
    p->is_columns = p->rows > 1 && ((far != 1 && near < far) || p->row.count <= SHORT);
    p->width = 8;
    while (p->width > 1 && !is_possible(p, views, p->width, is_reverse))
        p->width /= 2;
    p->parts = 1;
    if (p->is_columns) {
        op_nest_widen(&p->nest, p->width);
        uint64_t columns = p->rows / p->width;
        if (columns < MANY && p->row.count > 2 * COLUMN_PART)
            p->parts = least(least(over(p->row.count, COLUMN_PART), MANY / columns), COLUMN_PARTS);
        p->per = 4;
        p->lanes = 32;
        p->row.part = over(p->row.count, p->parts);
        p->parts = over(p->row.count, p->row.part);
    } else {
        uint64_t packs = over(p->row.count, p->width), most = p->width == 8 ? 2 : 4;
        p->lanes = packs <= 256 && p->rows >= BLOCKS ? 32 : packs <= 32 ? 32 : THREADS;
        p->per = packs > p->lanes ? (uint32_t)most : 1;
        uint64_t tile = (uint64_t)p->lanes * p->per;
        if (p->lanes == THREADS && p->rows < BLOCKS / 2 && packs > 2 * tile)
            p->parts = least(over(packs, 2 * tile), BLOCKS / p->rows);
        p->row.part = over(over(packs, p->parts), tile) * tile;
        p->parts = over(packs, p->row.part);
    }
    p->bytes = p->parts > 1 ? p->rows * p->parts * 8 : 0;
}

static kiln_status launch(kiln *k, const plan *p, const kiln_scan_desc *d, const kiln_view *words,
                          bool is_in_place, bool is_first)
{
    op_packs packs;
    op_nest_cut(&p->nest, &packs);
    op_request r = {.program = p->is_columns ? &columns_program : &rows_program};
    op_set(&r, KIND, d->op);
    op_set(&r, T, p->type);
    op_set(&r, OUT, p->out);
    op_set(&r, OTHER_OUT, p->out != p->type);
    op_set(&r, ACC, p->acc);
    op_set(&r, V, p->width);
    op_set(&r, PER, p->per);
    if (!p->is_columns)
        op_set(&r, LANES, p->lanes);
    op_set(&r, RANK, packs.rank);
    op_set(&r, LONG, packs.is_long);
    op_set(&r, EXCLUSIVE, d->is_exclusive);
    op_set(&r, REVERSE, d->is_reverse);
    op_set(&r, TOTALS, is_first);
    op_set(&r, CARRY, p->parts > 1 && !is_first);
    op_set(&r, IN_PLACE, is_in_place);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, &r, &kernel);
    uint64_t blocks = over(packs.argument.packs, p->is_columns ? THREADS : THREADS / p->lanes);
    if (!status && blocks > INT32_MAX)
        return error_set(k, KILN_E_LAUNCH, K6015, "%llu rows are too many for one launch",
                         (unsigned long long)p->rows);
    kiln_view work = {.buffer = d->out.buffer, .type = KILN_U64}; // not used without parts
    const kiln_arg args[] = {kiln_arg_view(d->x), kiln_arg_view(d->out),
                             kiln_arg_view(p->parts > 1 ? *words : work),
                             kiln_arg_struct(&packs.argument, sizeof packs.argument),
                             kiln_arg_struct(&p->row, sizeof p->row)};
    const uint32_t grid[2] = {(uint32_t)blocks, (uint32_t)p->parts};
    return status ? status
                  : kiln_launch(kernel->kernel,
                                &(kiln_launch_desc){.grid = {grid[0], grid[1]},
                                                    .args = args,
                                                    .arg_count = COUNT(args),
                                                    .stream = d->stream,
                                                    .overlaps_previous = kernel->overlaps});
}

static kiln_status begin(kiln *k, const char *call, const kiln_scan_desc *d, bool is_backward,
                         plan *p, bool *is_in_place)
{
    const op_operand o[] = {
        {.name = is_backward ? "dout" : "x", .view = &d->x, .may_be_replaced = true},
        {.name = is_backward ? "dx" : "out", .view = &d->out, .is_result = true}};
    kiln_status status = op_check_operands(k, call, o, COUNT(o), is_in_place);
    if (!status)
        status = op_check_sizes(k, call, &o[1], &o[0]);
    if (status)
        return status;
    if ((unsigned)d->op > KILN_SCAN_MIN)
        return op_refuse(k, call, "there is no scan %d", (int)d->op);
    if (d->axis >= d->x.rank)
        return op_refuse(k, call, "axis %u of '%s', which has %u dimensions", d->axis, o[0].name,
                         d->x.rank);
    for (uint32_t n = 0; n < COUNT(o); n++) {
        kiln_type type = kiln_view_type(*o[n].view);
        if (!type || type == KILN_F8E4 || type == KILN_F8E5)
            return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, which the op lacks",
                             call, o[n].name, kiln_type_name(type));
    }
    const kiln_view views[VIEWS] = {[TO] = d->out, [X] = d->x};
    *p = (plan){.bytes = 0};
    if (kiln_view_count(d->x))
        make_plan(views, d->axis, d->is_reverse, p);
    return KILN_OK;
}

static kiln_status run(kiln *k, const char *call, const kiln_scan_desc *d, bool is_backward)
{
    plan p;
    bool is_in_place;
    kiln_view words = {.buffer = NULL};
    kiln_status status = begin(k, call, d, is_backward, &p, &is_in_place);
    if (!status)
        status = op_check_workspace(k, call, &d->workspace, p.bytes, &words);
    if (status || !kiln_view_count(d->x))
        return status;
    if (p.parts > 1)
        status = launch(k, &p, d, &words, is_in_place, true);
    return status ? status : launch(k, &p, d, &words, is_in_place, false);
}

kiln_status kiln_scan_workspace(kiln *k, const kiln_scan_desc *d, uint64_t *bytes)
{
    const char *call = "kiln_scan_workspace";
    plan p;
    bool is_in_place;
    kiln_status status = op_begin(k, call, d);
    if (!status && !bytes)
        status = op_refuse(k, call, "'bytes' is NULL");
    if (!status)
        status = begin(k, call, d, false, &p, &is_in_place);
    if (!status)
        *bytes = p.bytes;
    return status;
}

kiln_status kiln_scan_forward(kiln *k, const kiln_scan_desc *d)
{
    const char *call = "kiln_scan_forward";
    kiln_status status = op_begin(k, call, d);
    return status ? status : run(k, call, d, false);
}

kiln_status kiln_scan_backward(kiln *k, const kiln_scan_desc *d)
{
    const char *call = "kiln_scan_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    if (d->op != KILN_SCAN_SUM)
        return op_refuse(k, call, "only a running sum has a derivative");
    kiln_scan_desc reversed = *d;
    reversed.is_reverse = !d->is_reverse;
    return run(k, call, &reversed, true);
}
