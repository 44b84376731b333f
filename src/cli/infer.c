// A kernel's IR and some known arguments in; the grid and sizes out (lengths: infer_reach.c).
//
// Without a grid the block indices in forms (infer_form.h) stay symbolic, and a comparison `factor
// * block + rest < bound` says how many blocks have work. An answer is a proposal that the caller
// shows. Start reading at infer_grid.
#include "cli/infer_form.h"

#include <stdio.h>

// --- comparisons

typedef struct guard { // `index` < `bound` decides about work
    ir_ref index_ref, bound_ref;
    form index, bound;
    int64_t extra; // 1: index <= bound
    int64_t scale; // index / scale is what is compared
} guard;

// Reads a comparison as a test of an index that depends on the block along one axis.
static bool read_guard(infer *x, const ir_inst *i, guard *out, int *axis)
{
    bool is_less = i->op == IR_ULT || i->op == IR_SLT, is_most = i->op == IR_ULE || i->op == IR_SLE;
    if (!is_less && !is_most)
        return false;
    ir_ref a = ir_operand(x->f, i, 0), b = ir_operand(x->f, i, 1);
    if (ir_is_ptr(ir_type_of(x->f, a)))
        return false;
    int64_t left_scale, right_scale;
    form left = form_of(x, form_dividend(x, a, &left_scale), FORM_FUEL),
         right = form_of(x, form_dividend(x, b, &right_scale), FORM_FUEL);
    bool is_left = !form_is_plain(left);
    if (is_left)
        right = form_of(x, b, FORM_FUEL);
    else
        left = form_of(x, a, FORM_FUEL);
    if (is_left == !form_is_plain(right))
        return false;
    // i < n and !(n <= i) bound by n; i <= n and !(n < i) by n + 1.
    *out = (guard){.index_ref = is_left ? a : b,
                   .bound_ref = is_left ? b : a,
                   .index = is_left ? left : right,
                   .bound = is_left ? right : left,
                   .extra = is_left ? is_most : is_less,
                   .scale = is_left ? left_scale : right_scale};
    int axes = 0;
    for (int k = 0; k < 3; k++)
        if (out->index.factor[k]) {
            *axis = k;
            axes++;
        }
    return axes == 1 && out->index.factor[*axis] > 0 && out->index.lo > -FORM_FAR;
}

// The parameter that `r` is, through widenings; -1: something else.
static int64_t bare_param(const infer *x, ir_ref r)
{
    for (int fuel = FORM_FUEL; fuel; fuel--) {
        if (ir_is_const(r))
            return -1;
        if (x->f->values.at[r].def == IR_DEF_PARAM)
            return r - x->f->first_param;
        ir_inst_id def = ir_def_of(x->f, r);
        if (!def || (ir_at(x->f, def)->op != IR_ZEXT && ir_at(x->f, def)->op != IR_SEXT))
            return -1;
        r = ir_operand(x->f, ir_at(x->f, def), 0);
    }
    return -1;
}

static uint64_t blocks_for(int64_t work, int64_t per_block)
{
    return work <= 0 ? 0 : ((uint64_t)work + (uint64_t)per_block - 1) / (uint64_t)per_block;
}

static const char *param_name(const infer *x, int64_t index)
{
    return x->f->params.at[index].name;
}

static void describe_guard(const infer *x, const guard *g, int axis, int64_t work, char *because)
{
    int64_t per_block = g->index.factor[axis], param = bare_param(x, g->bound_ref);
    char what[64];
    if (param >= 0 && !g->extra && g->scale == 1)
        snprintf(what, sizeof what, "%.40s = %lld", param_name(x, param),
                 (long long)x->args[param].value);
    else
        snprintf(what, sizeof what, "%lld indices below a bound in it", (long long)work);
    if (per_block == 1)
        snprintf(because, INFER_TEXT, "one block for each of %s", what);
    else if (per_block == (int64_t)x->block[axis])
        snprintf(because, INFER_TEXT, "one thread for each of %s", what);
    else
        snprintf(because, INFER_TEXT, "%lld of %s for each block", (long long)per_block, what);
}

static void grid_from_guards(infer *x, infer_axis axes[3], bool with_params)
{
    for (uint32_t k = 1; k < x->f->insts.len; k++) {
        const ir_inst *i = ir_at(x->f, k);
        guard g;
        int axis = 0;
        x->used = 0;
        if (!i->parent || !read_guard(x, i, &g, &axis) || g.bound.hi >= FORM_FAR ||
            (x->used != 0) != with_params)
            continue;
        int64_t work = form_add(form_times(g.bound.hi + g.extra, g.scale), -g.index.lo);
        if (work >= FORM_FAR)
            continue;
        uint64_t blocks = blocks_for(work, g.index.factor[axis]);
        if (axes[axis].is_known && axes[axis].blocks >= blocks)
            continue;
        axes[axis].is_known = true;
        axes[axis].blocks = blocks;
        describe_guard(x, &g, axis, work, axes[axis].because);
    }
}

static void grid_from_buffers(infer *x, infer_axis axes[3], const bool is_open[3])
{
    for (uint32_t k = 1; k < x->f->insts.len; k++) {
        const ir_inst *i = ir_at(x->f, k);
        form offset;
        if (!i->parent || !form_is_access((ir_op)i->op))
            continue;
        int64_t param = form_pointer(x, ir_operand(x->f, i, 0), &offset);
        if (param < 0 || !x->args[param].is_known || offset.lo <= -FORM_FAR)
            continue;
        for (int axis = 0; axis < 3; axis++) {
            int64_t step = offset.factor[axis];
            bool is_only = !offset.factor[(axis + 1) % 3] && !offset.factor[(axis + 2) % 3];
            if (!is_open[axis] || step <= 0 || !is_only)
                continue;
            uint64_t blocks = blocks_for((int64_t)x->args[param].bytes - offset.lo - i->imm, step);
            if (axes[axis].is_known && axes[axis].blocks >= blocks)
                continue;
            int64_t size = x->f->params.at[param].elem_size ? x->f->params.at[param].elem_size : 1;
            axes[axis].is_known = axes[axis].is_guess = true;
            axes[axis].blocks = blocks;
            char each[48] = "one thread";
            if (step / size == 1)
                snprintf(each, sizeof each, "one block");
            else if (step / size != (int64_t)x->block[axis])
                snprintf(each, sizeof each, "a block for %lld", (long long)(step / size));
            snprintf(axes[axis].because, INFER_TEXT,
                     step / size != 1 && step / size != (int64_t)x->block[axis]
                         ? "%s of the %lld elements of %.40s"
                         : "%s for each of the %lld elements of %.40s",
                     each, (long long)x->args[param].bytes / size, param_name(x, param));
        }
    }
}

void infer_grid(const ir_func *f, arena *a, const infer_arg *args, const uint32_t block[3],
                infer_axis axes[3])
{
    infer x = {.f = f, .a = a, .args = args, .block = block};
    bool asks[3] = {0}, is_open[3];
    memset(axes, 0, 3 * sizeof *axes);
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = ir_at(f, k);
        if (i->parent && i->op == IR_BLOCK)
            asks[i->imm % 3] = true;
        if (i->parent && i->op == IR_CLUSTER)
            asks[0] = true; // it depends on the block, too
    }
    grid_from_guards(&x, axes, true);
    for (int axis = 0; axis < 3; axis++)
        is_open[axis] = !axes[axis].is_known && asks[axis];
    grid_from_buffers(&x, axes, is_open);
    infer_axis constant[3] = {0};
    grid_from_guards(&x, constant, false);
    for (int axis = 0; axis < 3; axis++) {
        if (!axes[axis].is_known && constant[axis].is_known)
            axes[axis] = constant[axis];
        if (!axes[axis].is_known && !asks[axis])
            axes[axis] = (infer_axis){.is_known = true, .blocks = 1};
    }
}

bool infer_scalar(const ir_func *f, arena *a, const infer_arg *args, const uint32_t block[3],
                  uint32_t param, int64_t *value, char because[INFER_TEXT])
{
    infer x = {.f = f, .a = a, .args = args, .block = block};
    bool is_found = false;
    for (uint32_t k = 1; k < f->insts.len; k++) {
        guard g;
        int axis = 0;
        if (!ir_at(f, k)->parent || !read_guard(&x, ir_at(f, k), &g, &axis) || g.extra ||
            g.scale != 1 || bare_param(&x, g.bound_ref) != param)
            continue;
        for (uint32_t n = 1; n < f->insts.len; n++) {
            const ir_inst *i = ir_at(f, n);
            form offset;
            int64_t base = i->parent && form_is_access((ir_op)i->op)
                               ? form_pointer(&x, ir_operand(f, i, 0), &offset)
                               : -1;
            int64_t size = base >= 0 ? f->params.at[base].elem_size : 0;
            // The buffer is indexed by what is compared: x[i], or a member of it, beside i < n.
            int64_t within = form_add(form_add(offset.lo, i->imm), -form_times(g.index.lo, size));
            if (size <= 0 || !args[base].is_known || within < 0 || within >= size ||
                offset.factor[axis] != form_times(g.index.factor[axis], size))
                continue;
            int64_t count = (int64_t)(args[base].bytes / (uint64_t)size);
            if (is_found && *value <= count)
                continue;
            *value = count;
            is_found = true;
            snprintf(because, INFER_TEXT, "the elements of %.40s", param_name(&x, base));
        }
    }
    return is_found;
}

static bool is_used_as_size(const ir_func *f, ir_ref r, int fuel, uint32_t *steps)
{
    for (uint32_t k = 1; fuel && k < f->insts.len && *steps < FORM_STEPS; k++) {
        const ir_inst *i = ir_at(f, k);
        bool has = false;
        ++*steps;
        for (uint32_t n = 0; n < i->operand_count && !has; n++)
            has = ir_operand(f, i, n) == r;
        if (!has || !i->parent)
            continue;
        switch (i->op) {
        case IR_ULT:
        case IR_ULE:
        case IR_SLT:
        case IR_SLE:
        case IR_MUL: return true;
        case IR_ZEXT:
        case IR_SEXT:
        case IR_TRUNC:
        case IR_ADD:
        case IR_SUB:
        case IR_UDIV:
        case IR_SDIV:
        case IR_LSHR:
        case IR_ASHR:
        case IR_SHL:
            if (is_used_as_size(f, i->result, fuel - 1, steps))
                return true;
            break;
        default: break;
        }
    }
    return false;
}

bool infer_is_size(const ir_func *f, uint32_t param)
{
    uint32_t steps = 0;
    return is_used_as_size(f, f->first_param + param, 4, &steps);
}
