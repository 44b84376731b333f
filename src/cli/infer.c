// A kernel's IR and some known arguments in; blocks, lengths and sizes out.
//
// Every integer is a form: block indices with factors, and an interval for the rest. Without a grid
// the block indices stay symbolic, and a comparison `factor * block + rest < bound` says how many
// blocks have work. With a grid they are intervals too, guards on the way to an access narrow them,
// and the largest address says how long a buffer must be. Arithmetic is taken not to wrap: an
// answer is a proposal that the caller shows. Start reading at infer_grid.
#include "cli/infer.h"

#include <stdio.h>

#define FAR (INT64_C(1) << 60) // nothing beyond it is known

enum { FUEL = 40, STEPS = 1 << 20 };

typedef struct form {
    int64_t factor[3]; // of the block index of each axis
    int64_t lo, hi;    // of the rest; at most FAR away
} form;

typedef struct fact { // `value` lies in lo ... hi here
    ir_ref value;
    int64_t lo, hi;
    struct fact *outer;
} fact;

typedef struct infer {
    const ir_func *f;
    arena *a;
    const infer_arg *args;
    const uint32_t *block, *grid; // grid: NULL while it is not known
    fact *facts;
    uint32_t steps;  // forms computed; a shared tree may be large
    uint64_t used;   // parameters (bit) that went into the last form
    uint32_t target; // infer_bytes: the parameter
    uint64_t needed; // bytes behind it
    bool is_unbounded;
} infer;

static int64_t clamp(int64_t v)
{
    return v > FAR ? FAR : v < -FAR ? -FAR : v;
}

static int64_t add(int64_t a, int64_t b)
{
    return a >= FAR || b >= FAR ? FAR : a <= -FAR || b <= -FAR ? -FAR : clamp(a + b);
}

static int64_t times(int64_t a, int64_t b)
{
    int64_t out;
    if (__builtin_mul_overflow(a, b, &out))
        return (a < 0) != (b < 0) ? -FAR : FAR;
    return clamp(out);
}

static form number(int64_t v)
{
    return (form){.lo = v, .hi = v};
}

static form between(int64_t lo, int64_t hi)
{
    return (form){.lo = lo, .hi = hi};
}

static form anything(void)
{
    return between(-FAR, FAR);
}

static bool is_plain(form v)
{
    return !v.factor[0] && !v.factor[1] && !v.factor[2];
}

static bool is_number(form v)
{
    return is_plain(v) && v.lo == v.hi && v.lo > -FAR && v.lo < FAR;
}

static form plus(form a, form b, int sign)
{
    form out = between(add(a.lo, sign > 0 ? b.lo : -b.hi), add(a.hi, sign > 0 ? b.hi : -b.lo));
    for (int axis = 0; axis < 3; axis++)
        out.factor[axis] = add(a.factor[axis], sign * b.factor[axis]);
    return out;
}

static form scaled(form a, int64_t by)
{
    form out = between(times(a.lo, by), times(a.hi, by));
    for (int axis = 0; axis < 3; axis++)
        out.factor[axis] = times(a.factor[axis], by);
    return by < 0 ? between(-FAR, FAR) : out;
}

static form product(form a, form b)
{
    if (is_number(a))
        return scaled(b, a.lo);
    if (is_number(b))
        return scaled(a, b.lo);
    if (!is_plain(a) || !is_plain(b) || a.lo < 0 || b.lo < 0)
        return anything();
    return between(times(a.lo, b.lo), times(a.hi, b.hi));
}

static form divided(form a, form b)
{
    if (!is_number(b) || b.lo <= 0)
        return anything();
    form out = between(a.lo <= -FAR ? -FAR : a.lo / b.lo, a.hi >= FAR ? FAR : a.hi / b.lo);
    for (int axis = 0; axis < 3; axis++) {
        if (a.factor[axis] % b.lo)
            return anything();
        out.factor[axis] = a.factor[axis] / b.lo;
    }
    return out;
}

static form either(form a, form b)
{
    for (int axis = 0; axis < 3; axis++)
        if (a.factor[axis] != b.factor[axis])
            return anything();
    form out = a;
    out.lo = a.lo < b.lo ? a.lo : b.lo;
    out.hi = a.hi > b.hi ? a.hi : b.hi;
    return out;
}

// --- values

static form form_of(infer *x, ir_ref r, int fuel);

static int64_t extended(ir_type t, uint64_t bits)
{
    return t == IR_I32 ? (int32_t)bits : t == IR_I16 ? (int16_t)bits : (int64_t)bits;
}

static form param_form(infer *x, uint32_t index)
{
    const infer_arg *a = &x->args[index];
    x->used |= index < 64 ? UINT64_C(1) << index : 0;
    return a->is_integer && a->is_known && a->value < FAR && a->value > -FAR ? number(a->value)
                                                                             : anything();
}

// A loop's argument: where it starts, and which way its rounds move it.
static form loop_form(infer *x, const ir_inst *loop, uint32_t index, ir_ref arg, int fuel)
{
    form out = form_of(x, ir_operand(x->f, loop, index), fuel - 1);
    ir_inst_id id = (ir_inst_id)(loop - x->f->insts.at);
    for (uint32_t k = 1; k < x->f->insts.len; k++) {
        const ir_inst *next = ir_at(x->f, k);
        if (next->op != IR_NEXT || next->aux != id || index >= next->operand_count)
            continue;
        ir_inst_id def = ir_def_of(x->f, ir_operand(x->f, next, index));
        if (ir_operand(x->f, next, index) == arg)
            continue;
        const ir_inst *step = def ? ir_at(x->f, def) : NULL;
        bool is_own = step && step->operand_count == 2 && ir_operand(x->f, step, 0) == arg;
        form by = is_own ? form_of(x, ir_operand(x->f, step, 1), fuel - 1) : anything();
        if (is_own && (step->op == IR_ADD || step->op == IR_MUL || step->op == IR_SHL) &&
            by.lo >= 0)
            out.hi = FAR;
        else if (is_own && step->op == IR_ADD && is_plain(by) && by.hi <= 0)
            out.lo = -FAR;
        else if (is_own && (step->op == IR_LSHR || step->op == IR_UDIV) && is_plain(out) &&
                 out.lo >= 0)
            out.lo = 0;
        else
            return anything();
    }
    return out;
}

// What the EXITs of a control instruction give as its result `index`.
static form result_form(infer *x, const ir_inst *control, uint32_t index, int fuel)
{
    ir_inst_id id = (ir_inst_id)(control - x->f->insts.at);
    bool is_first = true;
    form out = anything();
    for (uint32_t k = 1; k < x->f->insts.len; k++) {
        const ir_inst *leave = ir_at(x->f, k);
        if (leave->op != IR_EXIT || leave->aux != id || index >= leave->operand_count)
            continue;
        form one = form_of(x, ir_operand(x->f, leave, index), fuel - 1);
        out = is_first ? one : either(out, one);
        is_first = false;
    }
    return out;
}

static form geometry_form(const infer *x, const ir_inst *i)
{
    uint64_t threads = (uint64_t)x->block[0] * x->block[1] * x->block[2];
    size_t axis = (size_t)i->imm % 3;
    form out = {.lo = 0};
    switch ((int)i->op) {
    case IR_THREAD: return between(0, (int64_t)x->block[axis] - 1);
    case IR_BLOCKDIM: return number(x->block[axis]);
    case IR_LANE: return between(0, 31);
    case IR_WARP: return between(0, (int64_t)((threads + 31) / 32) - 1);
    case IR_GRIDDIM: return x->grid ? number(x->grid[axis]) : between(1, FAR);
    case IR_BLOCK:
        if (x->grid)
            return between(0, (int64_t)x->grid[axis] - 1);
        out.factor[axis] = 1;
        return out;
    default: return anything();
    }
}

static form binary_form(infer *x, const ir_inst *i, int fuel)
{
    form a = form_of(x, ir_operand(x->f, i, 0), fuel - 1),
         b = form_of(x, ir_operand(x->f, i, 1), fuel - 1);
    switch ((int)i->op) {
    case IR_ADD: return plus(a, b, 1);
    case IR_SUB: return plus(a, b, -1);
    case IR_MUL: return product(a, b);
    case IR_SHL:
        return is_number(b) && b.lo >= 0 && b.lo < 60 ? scaled(a, INT64_C(1) << b.lo) : anything();
    case IR_LSHR:
    case IR_ASHR:
        return is_number(b) && b.lo >= 0 && b.lo < 60 && a.lo >= 0
                   ? divided(a, number(INT64_C(1) << b.lo))
                   : anything();
    case IR_UDIV:
    case IR_SDIV: return a.lo >= 0 ? divided(a, b) : anything();
    case IR_UREM:
    case IR_SREM:
        if (!is_plain(b) || b.lo <= 0)
            return anything();
        return between(0, is_plain(a) && a.lo >= 0 && a.hi < b.hi - 1 ? a.hi : add(b.hi, -1));
    case IR_AND:
        if (is_number(b) && b.lo >= 0)
            return between(0, is_plain(a) && a.lo >= 0 && a.hi < b.lo ? a.hi : b.lo);
        return anything();
    case IR_OR:
    case IR_XOR: // of numbers that share no bits it is a sum
        return is_plain(a) && is_plain(b) && a.lo >= 0 && b.lo >= 0 ? between(0, add(a.hi, b.hi))
                                                                    : anything();
    case IR_UMIN:
    case IR_SMIN:
        if (!is_plain(a) || !is_plain(b))
            return between(-FAR, is_plain(a) ? a.hi : is_plain(b) ? b.hi : FAR);
        return between(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
    case IR_UMAX:
    case IR_SMAX:
        if (!is_plain(a) || !is_plain(b))
            return anything();
        return between(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
    default: return anything();
    }
}

static form inst_form(infer *x, ir_inst_id def, ir_ref r, int fuel)
{
    const ir_inst *i = ir_at(x->f, def);
    switch ((int)i->op) {
    case IR_THREAD:
    case IR_BLOCKDIM:
    case IR_LANE:
    case IR_WARP:
    case IR_GRIDDIM:
    case IR_BLOCK: return geometry_form(x, i);
    case IR_ZEXT:
    case IR_SEXT:
        if (i->aux == IR_I1)
            return between(i->op == IR_SEXT ? -1 : 0, i->op == IR_SEXT ? 0 : 1);
        return form_of(x, ir_operand(x->f, i, 0), fuel - 1);
    case IR_TRUNC:
    case IR_UNIFORM: return form_of(x, ir_operand(x->f, i, 0), fuel - 1);
    case IR_SELECT:
        return either(form_of(x, ir_operand(x->f, i, 1), fuel - 1),
                      form_of(x, ir_operand(x->f, i, 2), fuel - 1));
    case IR_LOAD: // of 8 and 16 bits there are few
        return i->type == IR_I8    ? between(0, 255)
               : i->type == IR_I16 ? between(0, 65535)
                                   : anything();
    case IR_BLOCKSCOPE:
    case IR_IF:
    case IR_LOOP:
    case IR_SWITCH: return result_form(x, i, r - i->result, fuel);
    default:
        return i->operand_count == 2 && i->result_count == 1 ? binary_form(x, i, fuel) : anything();
    }
}

static form form_of(infer *x, ir_ref r, int fuel)
{
    uint64_t bits;
    if (!fuel || x->steps++ > STEPS)
        return anything();
    if (ir_const_bits(x->f, r, &bits))
        return number(clamp(extended(ir_type_of(x->f, r), bits)));
    const ir_value *v = &x->f->values.at[r];
    form out = anything();
    if (!ir_is_int((ir_type)v->type))
        return out;
    if (v->def == IR_DEF_PARAM)
        out = param_form(x, r - x->f->first_param);
    else if (v->def == IR_DEF_INST)
        out = inst_form(x, v->owner, r, fuel);
    else if (ir_region_at(x->f, v->owner)->owner &&
             ir_at(x->f, ir_region_at(x->f, v->owner)->owner)->op == IR_LOOP)
        out = loop_form(x, ir_at(x->f, ir_region_at(x->f, v->owner)->owner), v->index, r, fuel);
    for (const fact *k = x->facts; k; k = k->outer)
        if (k->value == r && is_plain(out)) {
            out.lo = k->lo > out.lo ? k->lo : out.lo;
            out.hi = k->hi < out.hi ? k->hi : out.hi;
        }
    return out;
}

// --- pointers

// The parameter behind a pointer, and how far behind its start; -1: another one, or not known.
static int64_t pointer_base(infer *x, ir_ref r, form *offset)
{
    *offset = number(0);
    for (int fuel = FUEL; fuel; fuel--) {
        if (ir_is_const(r))
            return -1;
        const ir_value *v = &x->f->values.at[r];
        if (v->def == IR_DEF_PARAM)
            return r - x->f->first_param;
        ir_inst_id def = ir_def_of(x->f, r);
        if (!def)
            return -1;
        const ir_inst *i = ir_at(x->f, def);
        if (i->op == IR_PTRADD)
            *offset = plus(*offset, form_of(x, ir_operand(x->f, i, 1), FUEL), 1);
        else if (i->op != IR_PTRCAST && i->op != IR_UNIFORM)
            return -1;
        r = ir_operand(x->f, i, 0);
    }
    return -1;
}

static bool is_access(ir_op op)
{
    return op == IR_LOAD || op == IR_STORE || op == IR_ATOMIC || op == IR_CAS ||
           op == IR_ATOMLOAD || op == IR_ATOMSTORE;
}

static int64_t access_bytes(const ir_inst *i)
{
    uint32_t count = i->op == IR_LOAD    ? i->result_count
                     : i->op == IR_STORE ? i->operand_count - 1
                                         : 1;
    return (int64_t)count * ir_type_size((ir_type)i->type);
}

// --- comparisons

typedef struct guard { // `index` < `bound` decides about work
    ir_ref index_ref, bound_ref;
    form index, bound;
    int64_t extra; // 1: index <= bound
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
    form left = form_of(x, a, FUEL), right = form_of(x, b, FUEL);
    bool is_left = !is_plain(left);
    if (is_left == !is_plain(right))
        return false;
    // i < n and !(n <= i) bound by n; i <= n and !(n < i) by n + 1.
    *out = (guard){.index_ref = is_left ? a : b,
                   .bound_ref = is_left ? b : a,
                   .index = is_left ? left : right,
                   .bound = is_left ? right : left,
                   .extra = is_left ? is_most : is_less};
    int axes = 0;
    for (int k = 0; k < 3; k++)
        if (out->index.factor[k]) {
            *axis = k;
            axes++;
        }
    return axes == 1 && out->index.factor[*axis] > 0 && out->index.lo > -FAR;
}

// The parameter that `r` is, through widenings; -1: something else.
static int64_t bare_param(const infer *x, ir_ref r)
{
    for (int fuel = FUEL; fuel; fuel--) {
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

static void say_guard(const infer *x, const guard *g, int axis, int64_t work, char *because)
{
    int64_t per_block = g->index.factor[axis], param = bare_param(x, g->bound_ref);
    char what[64];
    if (param >= 0 && !g->extra)
        snprintf(what, sizeof what, "%.40s = %lld", param_name(x, param),
                 (long long)x->args[param].value);
    else
        snprintf(what, sizeof what, "%lld (where an index is compared)", (long long)work);
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
        if (!i->parent || !read_guard(x, i, &g, &axis) || g.bound.hi >= FAR ||
            (x->used != 0) != with_params)
            continue;
        int64_t work = g.bound.hi + g.extra - g.index.lo;
        uint64_t blocks = blocks_for(work, g.index.factor[axis]);
        if (axes[axis].is_known && axes[axis].blocks >= blocks)
            continue;
        axes[axis].is_known = true;
        axes[axis].blocks = blocks;
        say_guard(x, &g, axis, work, axes[axis].because);
    }
}

static void grid_from_buffers(infer *x, infer_axis axes[3], const bool is_open[3])
{
    for (uint32_t k = 1; k < x->f->insts.len; k++) {
        const ir_inst *i = ir_at(x->f, k);
        form offset;
        if (!i->parent || !is_access((ir_op)i->op))
            continue;
        int64_t param = pointer_base(x, ir_operand(x->f, i, 0), &offset);
        if (param < 0 || !x->args[param].is_known || offset.lo <= -FAR)
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
            asks[0] = true; // it tells of the block, too
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
            bare_param(&x, g.bound_ref) != param)
            continue;
        for (uint32_t n = 1; n < f->insts.len; n++) {
            const ir_inst *i = ir_at(f, n);
            form offset;
            int64_t base = i->parent && is_access((ir_op)i->op)
                               ? pointer_base(&x, ir_operand(f, i, 0), &offset)
                               : -1;
            int64_t size = base >= 0 ? f->params.at[base].elem_size : 0;
            // The buffer is indexed by what is compared: x[i] beside i < n.
            if (size <= 0 || !args[base].is_known || i->imm ||
                offset.factor[axis] != times(g.index.factor[axis], size) ||
                offset.lo != times(g.index.lo, size))
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

// --- lengths: a walk with what is known on the way

static void learn(infer *x, ir_ref r, int64_t lo, int64_t hi, int fuel)
{
    if (!fuel || ir_is_const(r))
        return;
    fact *new = arena_new_of(x->a, fact);
    *new = (fact){.value = r, .lo = lo, .hi = hi, .outer = x->facts};
    x->facts = new;
    ir_inst_id def = ir_def_of(x->f, r);
    const ir_inst *i = def ? ir_at(x->f, def) : NULL;
    if (!i)
        return;
    ir_ref first = i->operand_count ? ir_operand(x->f, i, 0) : 0;
    if ((i->op == IR_ZEXT || i->op == IR_SEXT || i->op == IR_UNIFORM) && i->aux != IR_I1) {
        learn(x, first, lo, hi, fuel - 1);
    } else if (i->op == IR_ADD || i->op == IR_SUB) {
        ir_ref second = ir_operand(x->f, i, 1);
        form a = form_of(x, first, FUEL), b = form_of(x, second, FUEL);
        bool is_add = i->op == IR_ADD;
        learn(x, first, add(lo, is_add ? -b.hi : b.lo), add(hi, is_add ? -b.lo : b.hi), fuel - 1);
        if (is_add)
            learn(x, second, add(lo, -a.hi), add(hi, -a.lo), fuel - 1);
    } else if (i->op == IR_MUL || i->op == IR_SHL) {
        form by = form_of(x, ir_operand(x->f, i, 1), FUEL);
        if (is_number(by) && by.lo > 0 && by.lo < 60 + (i->op == IR_MUL) * FAR) {
            int64_t factor = i->op == IR_MUL ? by.lo : INT64_C(1) << by.lo;
            learn(x, first, lo <= -FAR ? lo : lo / factor, hi >= FAR ? hi : hi / factor, fuel - 1);
        }
    }
}

// What follows from the i1 `r` being `truth`.
static void assume(infer *x, ir_ref r, bool truth, int fuel)
{
    ir_inst_id def = ir_def_of(x->f, r);
    if (!def || !fuel)
        return;
    const ir_inst *i = ir_at(x->f, def);
    uint64_t bits;
    switch ((int)i->op) {
    case IR_AND:
    case IR_OR:
        for (uint32_t k = 0; k < 2 && truth == (i->op == IR_AND); k++)
            assume(x, ir_operand(x->f, i, k), truth, fuel - 1);
        break;
    case IR_XOR:
        if (ir_const_bits(x->f, ir_operand(x->f, i, 1), &bits))
            assume(x, ir_operand(x->f, i, 0), truth != (bits & 1), fuel - 1);
        break;
    case IR_IEQ:
    case IR_INE:
        if (truth == (i->op == IR_IEQ) && ir_is_int(ir_type_of(x->f, ir_operand(x->f, i, 0)))) {
            form a = form_of(x, ir_operand(x->f, i, 0), FUEL),
                 b = form_of(x, ir_operand(x->f, i, 1), FUEL);
            learn(x, ir_operand(x->f, i, 0), b.lo, b.hi, FUEL);
            learn(x, ir_operand(x->f, i, 1), a.lo, a.hi, FUEL);
        }
        break;
    case IR_ULT:
    case IR_SLT:
    case IR_ULE:
    case IR_SLE: {
        if (ir_is_ptr(ir_type_of(x->f, ir_operand(x->f, i, 0))))
            break;
        // small < large, or small <= large
        ir_ref small = ir_operand(x->f, i, truth ? 0 : 1),
               large = ir_operand(x->f, i, truth ? 1 : 0);
        int64_t gap = (i->op == IR_ULT || i->op == IR_SLT) == truth;
        bool is_unsigned = i->op == IR_ULT || i->op == IR_ULE;
        form least = form_of(x, small, FUEL), most = form_of(x, large, FUEL);
        learn(x, small, is_unsigned && truth ? 0 : -FAR, add(most.hi, -gap), FUEL);
        learn(x, large, add(least.lo, gap), FAR, FUEL);
        break;
    }
    case IR_IF: { // `a && b` is such a result: b on one side, false on the other
        for (uint32_t side = 0; side < 2; side++) {
            const ir_inst *leave = ir_at(x->f, ir_region_at(x->f, i->regions + side)->last);
            uint32_t index = r - i->result;
            if (leave->op != IR_EXIT || leave->aux != def || index >= leave->operand_count)
                continue;
            if (ir_const_bits(x->f, ir_operand(x->f, leave, index), &bits) && (bits & 1) != truth) {
                const ir_inst *other = ir_at(x->f, ir_region_at(x->f, i->regions + 1 - side)->last);
                assume(x, ir_operand(x->f, i, 0), side == 1, fuel - 1);
                if (other->op == IR_EXIT && other->aux == def && index < other->operand_count)
                    assume(x, ir_operand(x->f, other, index), truth, fuel - 1);
            }
        }
        break;
    }
    default: break;
    }
}

static void look_at(infer *x, const ir_inst *i)
{
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(x->f, i, k);
        if (ir_is_const(r) || !ir_is_ptr((ir_type)x->f->values.at[r].type))
            continue;
        form offset;
        int64_t base = pointer_base(x, r, &offset);
        if (base != x->target || i->op == IR_PTRADD || i->op == IR_PTRCAST ||
            i->op == IR_PREFETCH || i->op == IR_IEQ || i->op == IR_INE || i->op == IR_UNIFORM)
            continue;
        if (!is_access((ir_op)i->op) || k || offset.hi >= FAR) {
            x->is_unbounded = true;
            continue;
        }
        int64_t end = add(offset.hi, i->imm + access_bytes(i));
        if (end > 0 && (uint64_t)end > x->needed)
            x->needed = (uint64_t)end;
    }
}

// Does control never reach the end of the region's own control instruction this way?
static bool leaves(const infer *x, ir_region_id region, ir_inst_id owner)
{
    const ir_inst *last = ir_at(x->f, ir_region_at(x->f, region)->last);
    return last->op != IR_EXIT || last->aux != owner;
}

static void walk(infer *x, ir_region_id region)
{
    for (ir_inst_id id = ir_region_at(x->f, region)->first; id; id = ir_at(x->f, id)->next) {
        const ir_inst *i = ir_at(x->f, id);
        look_at(x, i);
        for (uint32_t k = 0; k < i->region_count; k++) {
            fact *before = x->facts;
            if (i->op == IR_IF)
                assume(x, ir_operand(x->f, i, 0), k == 0, FUEL);
            walk(x, i->regions + k);
            x->facts = before;
        }
        if (i->op == IR_IF && leaves(x, i->regions, id) != leaves(x, i->regions + 1, id))
            assume(x, ir_operand(x->f, i, 0), leaves(x, i->regions + 1, id), FUEL);
    }
}

bool infer_bytes(const ir_func *f, arena *a, const infer_arg *args, const uint32_t block[3],
                 const uint32_t grid[3], uint32_t param, uint64_t *bytes)
{
    infer x = {.f = f, .a = a, .args = args, .block = block, .grid = grid, .target = param};
    walk(&x, f->body);
    *bytes = x.needed;
    return !x.is_unbounded;
}
