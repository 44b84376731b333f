// kiln_cross_entropy_forward and kiln_cross_entropy_backward: rows of logits along an axis and
// their classes. Forward is one launch for the rows (forward.c) and one or two for their sum or
// mean (total.c), backward one (backward.c).
#include "kiln/ops.h"

#include "ops/checks.h"
#include "ops/lines.h"
#include "ops/walk.h"
#include "rt/memory/view.h"

#define AXES "ops/cross_entropy/axes.def"
#include "ops/axes.h"
static const op_program forward = OP_PROGRAM("ops/cross_entropy/forward.c", "cross_entropy"),
                        backward =
                            OP_PROGRAM("ops/cross_entropy/backward.c", "cross_entropy_backward"),
                        total = OP_PROGRAM("ops/cross_entropy/total.c", "cross_entropy_total");

enum { AT_CLASS, AT_LOSS, AT_LSE, AT_DX, AT_X, VIEWS }; // as in row.h
enum { AIM = 32, MOST = 256, BLOCK = 256, PART = 8192, PARTS = 1024, FEW = 1 << 16 };

typedef struct job {
    const kiln_cross_entropy_desc *d;
    op_lines lines;
    uint64_t parts;
    uint32_t width, lanes, threads;
    struct { // `struct options` of the kernels
        uint64_t classes;
        int64_t step, dx_step, weight_step, ignored;
        float own, each, classes_weight;
    } options;
} job;

static const op_types number_types = {1 << KILN_F16 | 1 << KILN_BF16 | 1 << KILN_F32,
                                      "; bf16, f16 and f32 are possible"};

// What a loss, or its gradient, is: an element for each row, or one where they are reduced.
static uint32_t sizes_of_loss(kiln_loss_reduction reduction)
{
    return reduction == KILN_LOSS_ROWS ? OP_WITHOUT_AXIS : OP_ONE_ELEMENT;
}

static kiln_status check_options(kiln *k, const char *call, double smoothing,
                                 kiln_loss_reduction reduction)
{
    if (!(smoothing >= 0 && smoothing <= 1))
        return op_refuse(k, call, "label_smoothing is not in 0 … 1");
    if ((unsigned)reduction > KILN_LOSS_SUM)
        return op_refuse(k, call, "there is no reduction %d", (int)reduction);
    return KILN_OK;
}

// The widest packs of a row of both.
static uint32_t width_of(const job *j, const kiln_view *x, const kiln_view *dx)
{
    const op_nest *nest = &j->lines.nest;
    size_t size = view_element_size(x);
    uint32_t width = j->options.step == 1 && j->options.dx_step == 1 ? (uint32_t)(16 / size) : 1;
    for (; width > 1; width /= 2) {
        bool is_even = view_is_aligned(x, width * size) && view_is_aligned(dx, width * size);
        // Rows start anywhere, but in both at the same place between two packs.
        for (uint32_t n = 0; n < nest->rank && is_even && j->lines.rows > 1; n++)
            is_even = (nest->strides[AT_DX][n] - nest->strides[AT_X][n]) % width == 0;
        if (is_even)
            break;
    }
    return width;
}

// loss: that of the rows, or its gradient. dx: the logits where there is none.
static void make_job(const kiln_cross_entropy_desc *d, kiln_view loss, kiln_view dx, job *j)
{
    uint64_t sizes[KILN_MAX_RANK];
    for (uint32_t n = 0; n + 1 < d->logits.rank; n++)
        sizes[n] = d->logits.sizes[n + (n >= d->axis)];
    kiln_view none =
        kiln_view_broadcast((kiln_view){.buffer = d->logits.buffer, .first = d->logits.first},
                            d->logits.rank - 1, sizes);
    if (d->reduction != KILN_LOSS_ROWS) {
        loss.rank = 0;
        loss = kiln_view_broadcast(loss, d->logits.rank - 1, sizes);
    }
    kiln_view views[VIEWS] = {[AT_CLASS] = d->targets,
                              [AT_LOSS] = loss,
                              [AT_LSE] = d->lse.buffer ? d->lse : none,
                              [AT_DX] = dx,
                              [AT_X] = d->logits};
    for (uint32_t v = 0; v < AT_DX; v++)
        views[v] = kiln_view_unsqueeze(views[v], d->axis);
    *j = (job){.d = d};
    op_lines_make(views, VIEWS, d->axis, &j->lines);
    uint64_t classes = d->logits.sizes[d->axis];
    double each = classes ? d->label_smoothing / (double)classes : 0;
    j->options.classes = classes;
    j->options.step = kiln_view_stride(d->logits, d->axis);
    j->options.dx_step = kiln_view_stride(dx, d->axis);
    j->options.weight_step = d->weight.buffer ? kiln_view_stride(d->weight, 0) : 0;
    j->options.ignored = d->ignored_class;
    j->options.own = (float)(1 - d->label_smoothing);
    j->options.each = (float)each;
    j->options.classes_weight = (float)classes;
    j->width = width_of(j, &d->logits, &dx);
    // Neighbouring rows that lie side by side have neighbouring threads.
    int64_t near = j->lines.nest.strides[AT_X][j->lines.nest.rank - 1];
    bool is_across = j->lines.rows > 1 && j->options.step != 1 && (near == 1 || near == -1);
    uint64_t packs = op_ceil_div(classes, j->width);
    j->lanes = is_across || packs <= 2 ? 1 : 32;
    if (j->lanes == 32 && packs > 64) {
        // Some blocks load while others add up what their threads have.
        uint64_t wanted = op_ceil_div(packs, AIM);
        for (j->lanes = 64; j->lanes < MOST && j->lanes < wanted;)
            j->lanes *= 2;
        while (j->lanes < 1024 && j->lanes < packs && j->lines.rows * j->lanes < FEW)
            j->lanes *= 2;
    }
    j->threads = j->lanes > 32 ? j->lanes : BLOCK;
    j->parts = op_ceil_div(j->lines.rows, PART);
    j->parts = j->parts < 1 ? 1 : j->parts > PARTS ? PARTS : j->parts;
}

static kiln_status launch(kiln *k, const job *j, const op_program *program, op_request *r,
                          kiln_type loss, kiln_arg *args, size_t count, uint64_t blocks)
{
    const kiln_cross_entropy_desc *d = j->d;
    op_packs packs;
    op_nest_cut(&j->lines.nest, &packs);
    r->program = program;
    op_set(r, T, kiln_view_type(d->logits));
    op_set(r, TARGET, kiln_view_type(d->targets));
    op_set(r, LOSS, loss);
    op_set(r, V, j->width);
    op_set(r, THREADS, j->threads);
    op_set(r, LANES, j->lanes);
    op_walk_set_loops(r, &packs);
    op_set(r, WEIGHT, d->weight.buffer != NULL);
    op_set(r, SMOOTH, d->label_smoothing > 0);
    op_set(r, IGNORE, d->has_ignored_class);
    op_set(r, MEAN, d->reduction == KILN_LOSS_MEAN);
    args[count - 2] = op_walk_arg(&packs);
    args[count - 1] = kiln_arg_struct(&j->options, sizeof j->options);
    return op_lines_launch(
        k, &j->lines,
        (op_launch_desc){
            .request = r, .blocks = blocks, .args = args, .arg_count = count, .stream = d->stream});
}

static kiln_status run_total(kiln *k, const job *j, kiln_view losses)
{
    const kiln_cross_entropy_desc *d = j->d;
    kiln_view parts = losses;
    parts.first += (j->lines.rows + 1) / 2 * 2;
    kiln_status status = KILN_OK;
    for (uint32_t last = 0; last < 1 + (j->parts > 1) && !status; last++) {
        op_request r = {.program = NULL};
        uint64_t part = last ? j->parts : op_ceil_div(j->lines.rows, j->parts);
        kiln_arg args[9] = {kiln_arg_view(losses),
                            kiln_arg_view(d->targets),
                            op_launch_view(d->weight, losses, KILN_F32),
                            kiln_arg_view(parts),
                            kiln_arg_view(d->loss),
                            kiln_arg_view(d->total_weight.buffer ? d->total_weight : parts),
                            kiln_arg_i64(KILN_U64, (int64_t)part)};
        op_set(&r, LAST, last);
        status = launch(k, j, &total, &r, kiln_view_type(d->loss), args, COUNT(args),
                        last ? 1 : j->parts);
    }
    return status;
}

static kiln_status begin(kiln *k, const char *call, const kiln_cross_entropy_desc *d, job *j,
                         uint64_t *bytes)
{
    const op_operand o[] = {
        {.name = "logits", .view = &d->logits, .types = &number_types},
        {"targets", &d->targets, .types = &op_types_indices, .same = OP_WITHOUT_AXIS},
        {.name = "weight", .view = &d->weight, .is_column = true, .types = &op_types_f32},
        {"loss", &d->loss, .is_result = true, .types = &number_types,
         .same = sizes_of_loss(d->reduction)},
        {"lse", &d->lse, .is_result = true, .is_optional = true, .types = &op_types_f32,
         .same = OP_WITHOUT_AXIS},
        {"total_weight", &d->total_weight, .is_result = true, .is_optional = true,
         .types = &op_types_f32, .same = OP_ONE_ELEMENT}};
    kiln_status status = check_options(k, call, d->label_smoothing, d->reduction);
    if (!status)
        status = op_check_rows(k, call, o, COUNT(o), d->axis, NULL);
    if (status)
        return status;
    make_job(d, d->loss, d->logits, j);
    *bytes = d->reduction == KILN_LOSS_ROWS ? 0 : ((j->lines.rows + 1) / 2 + j->parts) * 8;
    return KILN_OK;
}

kiln_status kiln_cross_entropy_workspace(kiln *k, const kiln_cross_entropy_desc *d, uint64_t *bytes)
{
    job j;
    kiln_status status = op_begin_bytes(k, __func__, d, bytes);
    return status ? status : begin(k, __func__, d, &j, bytes);
}

kiln_status kiln_cross_entropy_forward(kiln *k, const kiln_cross_entropy_desc *d)
{
    const char *call = "kiln_cross_entropy_forward";
    kiln_view words = {.buffer = NULL};
    job j;
    uint64_t bytes;
    kiln_status status = op_begin(k, call, d);
    if (!status)
        status = begin(k, call, d, &j, &bytes);
    if (!status)
        status = op_check_workspace(k, call, &d->workspace, bytes, &words);
    if (status)
        return status;
    kiln_view losses = d->loss;
    if (bytes) { // one after the other, in the order of the loops
        losses = (kiln_view){.buffer = words.buffer, .first = words.first * 2, .type = KILN_F32};
        int64_t step = 1;
        for (uint32_t n = j.lines.nest.rank; n-- > 0; step *= (int64_t)j.lines.nest.sizes[n])
            j.lines.nest.strides[AT_LOSS][n] = step;
    }
    op_request r = {.program = NULL};
    // lse: not of the logits where there is none, because they may be read-only
    kiln_arg args[7] = {kiln_arg_view(d->logits), kiln_arg_view(d->targets),
                        op_launch_view(d->weight, d->logits, KILN_F32), kiln_arg_view(losses),
                        op_launch_view(d->lse, losses, KILN_F32)};
    op_set(&r, SAVE, d->lse.buffer != NULL);
    if (j.lines.rows)
        status = launch(k, &j, &forward, &r, kiln_view_type(losses), args, COUNT(args),
                        op_ceil_div(j.lines.rows, j.threads / j.lanes));
    return status || !bytes ? status : run_total(k, &j, losses);
}

kiln_status kiln_cross_entropy_backward(kiln *k, const kiln_cross_entropy_backward_desc *d)
{
    const char *call = "kiln_cross_entropy_backward";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    bool is_mean = d->reduction == KILN_LOSS_MEAN, is_in_place;
    const op_operand o[] = {
        {"logits", &d->logits, .may_be_replaced = true, .types = &number_types},
        {"targets", &d->targets, .types = &op_types_indices, .same = OP_WITHOUT_AXIS},
        {.name = "weight", .view = &d->weight, .is_column = true, .types = &op_types_f32},
        {"dloss", &d->dloss, .types = &number_types, .same = sizes_of_loss(d->reduction)},
        {"lse", &d->lse, .types = &op_types_f32, .same = OP_WITHOUT_AXIS},
        {"total_weight", &d->total_weight, .is_optional = !is_mean, .types = &op_types_f32,
         .same = is_mean ? OP_ONE_ELEMENT : 0},
        {"dlogits", &d->dlogits, .is_result = true, .same = OP_SAME_TYPE | OP_SAME_SIZES}};
    const kiln_cross_entropy_desc same = {.logits = d->logits,
                                          .targets = d->targets,
                                          .weight = d->weight,
                                          .lse = d->lse,
                                          .total_weight = d->total_weight,
                                          .axis = d->axis,
                                          .reduction = d->reduction,
                                          .label_smoothing = d->label_smoothing,
                                          .has_ignored_class = d->has_ignored_class,
                                          .ignored_class = d->ignored_class,
                                          .stream = d->stream};
    status = check_options(k, call, d->label_smoothing, d->reduction);
    if (!status)
        status = op_check_rows(k, call, o, COUNT(o), d->axis, &is_in_place);
    if (status || !kiln_view_count(d->logits))
        return status;
    job j;
    make_job(&same, d->dloss, d->dlogits, &j);
    op_request r = {.program = NULL};
    kiln_arg args[9] = {kiln_arg_view(d->logits),
                        kiln_arg_view(d->targets),
                        op_launch_view(d->weight, d->logits, KILN_F32),
                        kiln_arg_view(d->dloss),
                        kiln_arg_view(d->lse),
                        op_launch_view(d->total_weight, d->lse, KILN_F32),
                        kiln_arg_view(d->dlogits)};
    op_set(&r, IN_PLACE, is_in_place);
    return launch(k, &j, &backward, &r, kiln_view_type(d->dloss), args, COUNT(args),
                  op_ceil_div(j.lines.rows, j.threads / j.lanes));
}
