// The integers of a kernel's IR as forms. Arithmetic is taken not to wrap. Start at form_of.
#include "cli/infer_form.h"

static int64_t clamp(int64_t v)
{
    return v > FORM_FAR ? FORM_FAR : v < -FORM_FAR ? -FORM_FAR : v;
}

int64_t form_add(int64_t a, int64_t b)
{
    return a >= FORM_FAR || b >= FORM_FAR     ? FORM_FAR
           : a <= -FORM_FAR || b <= -FORM_FAR ? -FORM_FAR
                                              : clamp(a + b);
}

int64_t form_times(int64_t a, int64_t b)
{
    int64_t out;
    if (__builtin_mul_overflow(a, b, &out))
        return (a < 0) != (b < 0) ? -FORM_FAR : FORM_FAR;
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
    return between(-FORM_FAR, FORM_FAR);
}

bool form_is_plain(form v)
{
    return !v.factor[0] && !v.factor[1] && !v.factor[2];
}

bool form_is_number(form v)
{
    return form_is_plain(v) && v.lo == v.hi && v.lo > -FORM_FAR && v.lo < FORM_FAR;
}

static form plus(form a, form b, int sign)
{
    form out =
        between(form_add(a.lo, sign > 0 ? b.lo : -b.hi), form_add(a.hi, sign > 0 ? b.hi : -b.lo));
    for (int axis = 0; axis < 3; axis++)
        out.factor[axis] = form_add(a.factor[axis], sign * b.factor[axis]);
    return out;
}

static form scaled(form a, int64_t by)
{
    form out = between(form_times(a.lo, by), form_times(a.hi, by));
    for (int axis = 0; axis < 3; axis++)
        out.factor[axis] = form_times(a.factor[axis], by);
    return by < 0 ? between(-FORM_FAR, FORM_FAR) : out;
}

static form product(form a, form b)
{
    if (form_is_number(a))
        return scaled(b, a.lo);
    if (form_is_number(b))
        return scaled(a, b.lo);
    if (!form_is_plain(a) || !form_is_plain(b) || a.lo < 0 || b.lo < 0)
        return anything();
    return between(form_times(a.lo, b.lo), form_times(a.hi, b.hi));
}

static form divided(form a, form b)
{
    if (!form_is_number(b) || b.lo <= 0)
        return anything();
    form out = between(a.lo <= -FORM_FAR ? -FORM_FAR : a.lo / b.lo,
                       a.hi >= FORM_FAR ? FORM_FAR : a.hi / b.lo);
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

static int64_t extended(ir_type t, uint64_t bits)
{
    return t == IR_I32 ? (int32_t)bits : t == IR_I16 ? (int16_t)bits : (int64_t)bits;
}

static form param_form(infer *x, uint32_t index)
{
    const infer_arg *a = &x->args[index];
    x->used |= index < 64 ? UINT64_C(1) << index : 0;
    return a->is_integer && a->is_known && a->value < FORM_FAR && a->value > -FORM_FAR
               ? number(a->value)
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
            out.hi = FORM_FAR;
        else if (is_own && step->op == IR_ADD && form_is_plain(by) && by.hi <= 0)
            out.lo = -FORM_FAR;
        else if (is_own && (step->op == IR_LSHR || step->op == IR_UDIV) && form_is_plain(out) &&
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
    switch (i->op) {
    case IR_THREAD: return between(0, (int64_t)x->block[axis] - 1);
    case IR_BLOCKDIM: return number(x->block[axis]);
    case IR_LANE: return between(0, 31);
    case IR_WARP: return between(0, (int64_t)((threads + 31) / 32) - 1);
    case IR_GRIDDIM: return x->grid ? number(x->grid[axis]) : between(1, FORM_FAR);
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
    switch (i->op) {
    case IR_ADD: return plus(a, b, 1);
    case IR_SUB: return plus(a, b, -1);
    case IR_MUL: return product(a, b);
    case IR_SHL:
        return form_is_number(b) && b.lo >= 0 && b.lo < 60 ? scaled(a, INT64_C(1) << b.lo)
                                                           : anything();
    case IR_LSHR:
    case IR_ASHR:
        return form_is_number(b) && b.lo >= 0 && b.lo < 60 && a.lo >= 0
                   ? divided(a, number(INT64_C(1) << b.lo))
                   : anything();
    case IR_UDIV:
    case IR_SDIV: return a.lo >= 0 ? divided(a, b) : anything();
    case IR_UREM:
    case IR_SREM:
        if (!form_is_plain(b) || b.lo <= 0)
            return anything();
        return between(0, form_is_plain(a) && a.lo >= 0 && a.hi < b.hi - 1 ? a.hi
                                                                           : form_add(b.hi, -1));
    case IR_AND:
        if (form_is_number(b) && b.lo >= 0)
            return between(0, form_is_plain(a) && a.lo >= 0 && a.hi < b.lo ? a.hi : b.lo);
        return anything();
    case IR_OR:
    case IR_XOR: // of numbers that share no bits it is a sum
        return form_is_plain(a) && form_is_plain(b) && a.lo >= 0 && b.lo >= 0
                   ? between(0, form_add(a.hi, b.hi))
                   : anything();
    case IR_UMIN:
    case IR_SMIN:
        if (!form_is_plain(a) || !form_is_plain(b))
            return between(-FORM_FAR, form_is_plain(a) ? a.hi : form_is_plain(b) ? b.hi : FORM_FAR);
        return between(a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi);
    case IR_UMAX:
    case IR_SMAX:
        if (!form_is_plain(a) || !form_is_plain(b))
            return anything();
        return between(a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi);
    default: return anything();
    }
}

// A member of a struct that is known; of 8 and 16 bits there are few values.
static form load_form(infer *x, const ir_inst *i, uint32_t index)
{
    form offset;
    int64_t param = form_pointer(x, ir_operand(x->f, i, 0), &offset);
    int64_t size = ir_type_size((ir_type)i->type);
    int64_t at = form_is_number(offset) ? offset.lo + i->imm + index * size : -1;
    if (param >= 0 && x->args[param].bytes_at && ir_is_int((ir_type)i->type) && at >= 0 &&
        (uint64_t)(at + size) <= x->args[param].bytes) {
        uint64_t bits = 0;
        memcpy(&bits, x->args[param].bytes_at + at, (size_t)size);
        x->used |= param < 64 ? UINT64_C(1) << param : 0;
        return number(clamp(extended((ir_type)i->type, bits)));
    }
    return i->type == IR_I8 ? between(0, 255) : i->type == IR_I16 ? between(0, 65535) : anything();
}

static form inst_form(infer *x, ir_inst_id def, ir_ref r, int fuel)
{
    const ir_inst *i = ir_at(x->f, def);
    switch (i->op) {
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
    case IR_LOAD: return load_form(x, i, r - i->result);
    case IR_BLOCKSCOPE:
    case IR_IF:
    case IR_LOOP:
    case IR_SWITCH: return result_form(x, i, r - i->result, fuel);
    default:
        return i->operand_count == 2 && i->result_count == 1 ? binary_form(x, i, fuel) : anything();
    }
}

form form_of(infer *x, ir_ref r, int fuel)
{
    uint64_t bits;
    if (!fuel || x->steps++ > FORM_STEPS)
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
    for (const fact *k = x->facts; k; k = k->outer, x->steps++)
        if (k->value == r && form_is_plain(out)) {
            out.lo = k->lo > out.lo ? k->lo : out.lo;
            out.hi = k->hi < out.hi ? k->hi : out.hi;
        }
    return out;
}

// --- pointers

int64_t form_pointer(infer *x, ir_ref r, form *offset)
{
    *offset = number(0);
    for (int fuel = FORM_FUEL; fuel; fuel--) {
        if (ir_is_const(r))
            return -1;
        const ir_value *v = &x->f->values.at[r];
        if (v->def == IR_DEF_PARAM) // the heap is no argument
            return x->f->params.at[r - x->f->first_param].is_hidden
                       ? -1
                       : (int64_t)r - x->f->first_param;
        ir_inst_id def = ir_def_of(x->f, r);
        if (!def)
            return -1;
        const ir_inst *i = ir_at(x->f, def);
        if (i->op == IR_PTRADD)
            *offset = plus(*offset, form_of(x, ir_operand(x->f, i, 1), FORM_FUEL), 1);
        else if (i->op != IR_PTRCAST && i->op != IR_UNIFORM)
            return -1;
        r = ir_operand(x->f, i, 0);
    }
    return -1;
}

bool form_is_access(ir_op op)
{
    return op == IR_LOAD || op == IR_STORE || op == IR_ATOMIC || op == IR_CAS ||
           op == IR_ATOMLOAD || op == IR_ATOMSTORE;
}

ir_ref form_dividend(infer *x, ir_ref r, int64_t *divisor)
{
    ir_ref at = r;
    *divisor = 1;
    for (int fuel = FORM_FUEL; fuel; fuel--) {
        ir_inst_id def = ir_is_const(at) ? 0 : ir_def_of(x->f, at);
        const ir_inst *i = def ? ir_at(x->f, def) : NULL;
        if (!i)
            return r;
        if (i->op == IR_UDIV || i->op == IR_SDIV || i->op == IR_LSHR || i->op == IR_ASHR) {
            form by = form_of(x, ir_operand(x->f, i, 1), FORM_FUEL);
            bool is_shift = i->op == IR_LSHR || i->op == IR_ASHR;
            if (!form_is_number(by) || by.lo < !is_shift || by.lo >= (is_shift ? 60 : FORM_FAR))
                return r;
            *divisor = is_shift ? INT64_C(1) << by.lo : by.lo;
            return ir_operand(x->f, i, 0);
        }
        if (i->op != IR_ZEXT && i->op != IR_SEXT && i->op != IR_TRUNC)
            return r;
        at = ir_operand(x->f, i, 0);
    }
    return r;
}
