// How a reduction is cut into blocks and threads, and its launches (host_reduce.h).
//
// Packs lie along the reduced loops where those are contiguous, else along the kept ones. The
// threads of a result are as few as keep all of the device busy; where even 512 of them for each
// result are too few, the reduced loops are cut into parts, and a second launch merges those.
#include "ops/reduce/host_reduce.h"

#include "ops/checks.h"
#include "ops/launch.h"
#include "rt/memory/view.h"

#define AXES "ops/reduce/axes.def"
#include "ops/axes.h"
static const op_program program = OP_PROGRAM("ops/reduce/kernel.c", "reduce");
static const op_program short_program = OP_PROGRAM("ops/reduce/short.c", "reduce_short");
static const op_program columns_program = OP_PROGRAM("ops/reduce/columns.c", "reduce_columns");

enum { TO, AT, X, VIEWS }; // as in kernel.c
enum {
    PER = 4,
    BLOCK = 256,
    BLOCKS = 1056,   // that fill a large GPU
    ROOM = 1 << 18,  // threads that run on it at the same time
    FEW = 1 << 16,   // threads that do not
    ROUNDS = 3,      // of a thread, which take no longer than a second launch
    PEEL_PACKS = 16, // of a row that starts between two packs, at least
    CHAIN = 64,      // merges of a thread, one after the other, at most: the error grows with them
};

static uint64_t power_of_two(uint64_t least_value)
{
    uint64_t p = 1;
    while (p < least_value)
        p *= 2;
    return p;
}

static bool is_signed(kiln_type type)
{
    return type == KILN_I8 || type == KILN_I16 || type == KILN_I32 || type == KILN_I64;
}

static kiln_type acc_type(reduce_kind kind, kiln_type type)
{
    bool is_best =
        kind == KIND_max || kind == KIND_min || kind == KIND_argmax || kind == KIND_argmin;
    if (kind == KIND_any || kind == KIND_all)
        return KILN_U32;
    if (kind == KIND_count)
        return KILN_I64;
    if (is_best && !op_type_is_float(type) && kiln_type_size(type) < 8)
        return is_signed(type) ? KILN_I32 : KILN_U32;
    if (kind == KIND_mean && kiln_type_size(type) == 8)
        return KILN_F64; // a sum of integers may need more than 64 bits
    return op_type_of_sums(type);
}

static uint64_t state_bytes(reduce_kind kind, kiln_type type)
{
    uint64_t acc = kiln_type_size(acc_type(kind, type));
    switch (kind) {
    case KIND_argmax:
    case KIND_argmin: return 16; // an index of 32 bits takes less
    case KIND_logsumexp:
    case KIND_max_ties:
    case KIND_min_ties: return 2 * acc;
    case KIND_variance:
    case KIND_deviation: return 3 * acc;
    default: return acc;
    }
}

static bool is_even(const op_nest *n, bool is_packed, uint32_t width)
{
    for (uint32_t d = 0; d < n->rank - is_packed; d++)
        if (n->sizes[d] > 1 && n->strides[X][d] % width)
            return false;
    return true;
}

// The widest packs along the contiguous loop; 1: there is none.
static uint32_t width_of(const reduce_plan *p, const kiln_view *x)
{
    const op_nest *n = p->is_columns ? &p->kept : &p->reduced;
    size_t size = view_element_size(x);
    uint32_t width = (uint32_t)(16 / size);
    bool has_rest = !p->is_columns && n->rank == 1;
    if (p->is_columns && width > 8)
        width = 8;
    for (; width > 1; width /= 2) {
        uint64_t length = n->sizes[n->rank - 1];
        bool is_even_all = is_even(&p->kept, p->is_columns, width) &&
                           is_even(&p->reduced, !p->is_columns, width) &&
                           (has_rest || length % width == 0);
        if (n->strides[X][n->rank - 1] == 1 &&
            (is_even_all || (has_rest && length >= (uint64_t)PEEL_PACKS * width)) &&
            view_is_aligned(x, width * size))
            break;
    }
    return width;
}

// rows: `packs` of each of `results`. A warp has short rows, or a part of it; a block long ones.
// Where threads would be more than FEW, one of a short row has up to PER packs: it does less beside
// loading.
static void plan_rows(reduce_plan *p, uint64_t packs)
{
    uint64_t lanes = power_of_two(op_min(packs, 32)), parts = 1;
    while (p->results * lanes > FEW && lanes > 1 && op_ceil_div(packs, lanes / 2) <= PER)
        lanes /= 2;
    // Of rows of a whole line two threads would touch too many lines at once.
    if (packs == 8 && lanes == 2 && p->width == 4)
        lanes = 4;
    bool is_long = packs > 256 || (packs > 128 && p->results < 8192);
    if (is_long || (packs > 32 && p->results < 4096)) {
        lanes = op_min(power_of_two(op_ceil_div(packs, PER)), 512);
        lanes = lanes < 64 ? 64 : lanes;
        // More threads have fewer packs each, as long as all of them run at the same time.
        while (is_long && lanes < 512 && packs > 2 * lanes && p->results * lanes * 2 <= ROOM)
            lanes *= 2;
        // Little more than there is room for: the rest would have the device for itself.
        bool is_loop = packs > lanes * PER;
        while (is_loop && lanes > 64 && p->results * lanes > ROOM && p->results * lanes < 4 * ROOM)
            lanes /= 2;
        if (packs > lanes * PER * ROUNDS && p->results < BLOCKS / 2) {
            lanes = BLOCK;
            parts = op_min(op_ceil_div(packs, lanes * PER), BLOCKS / p->results);
        }
        uint64_t chain = op_ceil_div(packs, lanes * PER * CHAIN);
        parts = parts > chain ? parts : chain;
    }
    if (p->rest > lanes)
        lanes = power_of_two(p->rest);
    p->lanes = (uint32_t)lanes;
    p->threads = lanes > 32 ? p->lanes : BLOCK;
    p->parts = parts;
}

// Columns: `packs` rows of `columns` packs of results. Neighbouring threads have neighbouring
// columns, as far as there are.
static void plan_columns(reduce_plan *p, uint64_t packs, uint64_t columns, bool may_split)
{
    uint64_t lanes = op_min(power_of_two(op_ceil_div(packs, 2 * PER)), 8), parts = 1;
    uint64_t wide = power_of_two(columns);
    while (BLOCK / lanes > wide && lanes < packs && lanes < BLOCK)
        lanes *= 2;
    uint64_t blocks = op_ceil_div(columns, BLOCK / lanes);
    if (may_split && packs >= CHAIN && blocks < BLOCKS / 2)
        parts = op_min(op_ceil_div(packs, lanes * PER), BLOCKS / blocks);
    uint64_t chain = may_split ? op_ceil_div(packs, lanes * PER * CHAIN) : 1;
    p->lanes = (uint32_t)lanes;
    p->threads = BLOCK;
    p->parts = parts > chain ? parts : chain;
}

void reduce_plan_make(const reduce_job *job, reduce_plan *p)
{
    // The flat index in the reduced dimensions is the third view, where it is asked for.
    bool has_index = job->kind == KIND_argmax || job->kind == KIND_argmin;
    kiln_view views[VIEWS] = {[TO] = job->out, [AT] = job->x, [X] = job->x};
    int64_t step = 1;
    views[AT].has_strides = true;
    view_strides(&job->out, views[TO].strides);
    views[TO].has_strides = true;
    for (uint32_t d = job->x.rank; d-- > 0;) {
        bool is_reduced = job->axes >> d & 1;
        views[AT].strides[d] = is_reduced && has_index ? step : 0;
        step *= is_reduced ? (int64_t)job->x.sizes[d] : 1;
        views[TO].sizes[d] = job->x.sizes[d];
        if (is_reduced)
            views[TO].strides[d] = 0;
        for (uint32_t v = 0; v < VIEWS && !job->count && is_reduced; v++)
            views[v].sizes[d] = 1; // nothing is read
    }
    *p = (reduce_plan){.width = 1};
    op_nest_some(views, VIEWS, ~job->axes, &p->kept);
    op_nest_some(views, VIEWS, job->axes, &p->reduced);
    p->results = op_nest_count(&p->kept);
    int64_t kept = p->kept.strides[X][p->kept.rank - 1];
    int64_t reduced = p->reduced.strides[X][p->reduced.rank - 1];
    uint64_t near = (uint64_t)(kept < 0 ? -kept : kept);
    uint64_t far = (uint64_t)(reduced < 0 ? -reduced : reduced);
    p->is_columns = p->results > 1 && near && (job->count == 1 || near < far || !far);
    if (job->count)
        p->width = width_of(p, &job->x);
    p->is_dense = !p->is_columns && reduced == 1;
    p->is_peeled = p->is_dense && p->width > 1 && !is_even(&p->kept, false, p->width);
    op_nest *packed = p->is_columns ? &p->kept : &p->reduced;
    p->rest = (uint32_t)(packed->sizes[packed->rank - 1] % p->width);
    op_nest_widen(packed, p->width);
    uint64_t packs = job->count ? op_nest_count(&p->reduced) : 0;
    if (p->is_columns)
        plan_columns(p, packs, op_nest_count(&p->kept), true);
    else
        plan_rows(p, packs);
    uint64_t step_packs = (uint64_t)p->lanes * PER;
    p->part_packs = op_ceil_div(op_ceil_div(packs, p->parts), step_packs) * step_packs;
    p->parts = packs ? op_ceil_div(packs, p->part_packs) : 1;
    uint64_t of_thread = op_ceil_div(op_min(packs, p->part_packs), p->lanes);
    bool is_easy = of_thread <= PER && !p->is_peeled; // places of few packs
    uint64_t most = p->width > 8 || (has_index && p->width == 8 && !is_easy) ? 2 : PER; // registers
    p->per = (uint32_t)op_min(of_thread ? of_thread : 1, most);
    p->has_singles = p->is_peeled || (!p->is_columns && p->rest);
    p->is_once = job->count && of_thread <= p->per && (!p->has_singles || p->lanes >= 2 * p->width);
    p->bytes = p->parts > 1
                   ? (p->parts * p->results * state_bytes(job->kind, job->x.type) + 7) / 8 * 8
                   : 0;
}

// Warps of a row that one warp plays: all of them where they would run in turn.
static uint32_t played_of(kiln *k, const reduce_plan *p, bool is_merge)
{
    bool is_one = !p->is_dense || p->reduced.rank > 1 || is_merge || p->lanes <= 32;
    return is_one || !op_is_in_turn(k) ? 1 : p->lanes / 32;
}

// Groups of 32 columns that one warp of columns.c has: a page of memory, and 32 KiB of states. 0:
// the columns are for kernel.c.
static uint32_t groups_of(kiln *k, const reduce_job *job, const reduce_plan *p, bool is_merge)
{
    enum { LANES = 8, PAGE = 4096, STATES = 1 << 15 };
    const op_nest *kept = &p->kept;
    uint64_t columns = kept->sizes[kept->rank - 1] * p->width, groups = 1;
    uint64_t row = PAGE / view_element_size(&job->x);
    uint64_t states = STATES / (p->lanes * state_bytes(job->kind, job->x.type));
    if (!op_is_in_turn(k) || !p->is_columns || is_merge || !job->count || p->lanes > LANES ||
        kept->strides[X][kept->rank - 1] != (int64_t)p->width || columns < 32)
        return 0;
    while (groups < 32 && 32 * groups < columns && 64 * groups <= op_min(row, states))
        groups *= 2;
    return (uint32_t)groups;
}

// Are the rows for short.c: whole packs, a power of two of them, one row after the other?
static bool is_short(kiln *k, const reduce_job *job, const reduce_plan *p)
{
    enum { CHUNK = 32 };
    bool is_tree = job->kind <= KIND_norm_2; // over elements and packs
    const uint64_t packs = p->reduced.sizes[0], row = packs * p->width;
    return op_is_in_turn(k) && is_tree && p->is_dense && p->is_once && !p->has_singles &&
           p->reduced.rank == 1 && p->kept.rank == 1 && p->kept.strides[X][0] == (int64_t)row &&
           packs == (uint64_t)p->lanes * p->per && p->per != 3 && packs <= 32 && p->parts == 1 &&
           p->results >= CHUNK;
}

static kiln_status launch_short(kiln *k, const reduce_job *job, const reduce_plan *p, op_request *r,
                                kiln_type real)
{
    enum { CHUNKS = 8 }; // as in short.c
    const uint64_t packs = p->reduced.sizes[0], step = packs < 8 ? packs : 8;
    r->program = &short_program;
    const kiln_arg args[] = {kiln_arg_view(job->x),
                             kiln_arg_view(job->out),
                             kiln_arg_i64(KILN_U64, (int64_t)p->results),
                             kiln_arg_i64(KILN_I64, p->kept.strides[TO][0]),
                             kiln_arg_f64(real, job->exponent),
                             kiln_arg_f64(real, (double)job->count),
                             kiln_arg_f64(real, job->freedom)};
    return op_launch(
        k, &(op_launch_desc){.request = r,
                             .blocks = op_ceil_div(p->results, CHUNKS * step * (32 / packs)),
                             .parts = 1,
                             .units = "results",
                             .unit_count = p->results,
                             .args = args,
                             .arg_count = COUNT(args),
                             .stream = job->stream});
}

// Packs of columns as single ones.
static void narrow_columns(op_nest *kept, uint32_t width)
{
    kept->sizes[kept->rank - 1] *= width;
    for (uint32_t v = 0; v < VIEWS; v++)
        kept->strides[v][kept->rank - 1] /= (int64_t)width;
}

static kiln_status launch(kiln *k, const reduce_job *job, const reduce_plan *p, bool is_last)
{
    kiln_type type = kiln_view_type(job->x), acc = acc_type(job->kind, type);
    bool is_split = p->parts > 1 && !is_last, is_merge = p->parts > 1 && is_last;
    bool is_wide = acc == KILN_F64 || (job->kind == KIND_mean && acc != KILN_F32);
    kiln_type real = is_wide ? KILN_F64 : KILN_F32;
    uint32_t groups = groups_of(k, job, p, is_merge);
    op_nest kept_loops = p->kept;
    op_packs kept, reduced;
    if (groups)
        narrow_columns(&kept_loops, p->width);
    op_nest_cut(&kept_loops, &kept);
    op_nest_cut(&p->reduced, &reduced);
    reduced.argument.rest = p->rest;
    if (!job->count)
        reduced.argument.packs = 0;
    op_request r = {.program = groups ? &columns_program : &program};
    op_set(&r, KIND, job->kind);
    op_set(&r, T, type);
    op_set(&r, OUT, kiln_view_type(job->out));
    op_set(&r, ACC, acc);
    op_set(&r, INDEX, job->count > INT32_MAX);
    op_set(&r, WIDE, is_wide);
    op_set(&r, V, groups ? 1 : p->width);
    op_set(&r, LANES, p->lanes);
    op_set(&r, PER, p->per);
    if (is_short(k, job, p))
        return launch_short(k, job, p, &r, real);
    op_set(&r, ONCE, p->is_once && !is_merge);
    op_set(&r, KEPT_RANK, kept.rank);
    op_set(&r, RANK, reduced.rank);
    op_set(&r, LONG, kept.is_long || reduced.is_long);
    op_set(&r, SPLIT, is_split);
    uint64_t blocks = op_ceil_div(kept.argument.packs, p->threads / p->lanes), chunks = 1;
    if (groups) {
        uint64_t columns = kept_loops.sizes[kept_loops.rank - 1];
        op_set(&r, GROUPS, groups);
        chunks = op_ceil_div(columns, 32 * groups);
        blocks = p->results / columns * chunks;
    } else {
        uint32_t played = played_of(k, p, is_merge);
        op_set(&r, THREADS, p->threads / played);
        op_set(&r, PLAYED, played > 1 ? played : 0);
        op_set(&r, COLUMNS, p->is_columns);
        op_set(&r, DENSE_ROWS, p->is_dense && !is_merge);
        op_set(&r, SINGLES, p->has_singles && !is_merge);
        op_set(&r, PEEL, p->is_peeled && !is_merge);
        op_set(&r, STATES, is_merge);
    }
    kiln_view none = {.buffer = NULL};
    const uint32_t loops = kept.rank > reduced.rank ? kept.rank : reduced.rank;
    const kiln_arg args[] = {kiln_arg_view(job->x),
                             kiln_arg_view(job->out),
                             op_launch_view(p->parts > 1 ? *job->words : none, job->out, KILN_U64),
                             op_nest_arg(&kept, loops),
                             op_nest_arg(&reduced, loops),
                             kiln_arg_i64(KILN_U64, (int64_t)(is_merge ? p->parts : p->part_packs)),
                             kiln_arg_f64(real, job->exponent),
                             kiln_arg_f64(real, (double)job->count),
                             kiln_arg_f64(real, job->freedom),
                             kiln_arg_i64(KILN_U32, (int64_t)chunks)}; // of columns.c
    return op_launch(k, &(op_launch_desc){.request = &r,
                                          .blocks = blocks,
                                          .parts = is_split ? p->parts : 1,
                                          .units = "results",
                                          .unit_count = p->results,
                                          .args = args,
                                          .arg_count = COUNT(args) - !groups,
                                          .stream = job->stream});
}

kiln_status reduce_run(kiln *k, const reduce_job *job, const reduce_plan *plan)
{
    kiln_status status = launch(k, job, plan, plan->parts == 1);
    if (status || plan->parts == 1)
        return status;
    // The states of the parts: [parts][results], one result a column.
    reduce_plan merge = *plan;
    if (plan->is_columns)
        narrow_columns(&merge.kept, plan->width);
    merge.is_columns = true;
    merge.width = merge.per = 1;
    merge.rest = 0;
    plan_columns(&merge, plan->parts, plan->results, false);
    merge.parts = plan->parts;
    return launch(k, job, &merge, true);
}
