// How far a kernel reaches behind a pointer, with a known grid: its regions are walked with what
// the guards on the way say, and the largest address of an access is the length. Start at
// infer_bytes.
#include "cli/infer_form.h"

static int64_t access_bytes(const ir_inst *i)
{
    uint32_t count = i->op == IR_LOAD    ? i->result_count
                     : i->op == IR_STORE ? i->operand_count - 1
                                         : 1;
    return (int64_t)count * ir_type_size((ir_type)i->type);
}

// --- lengths: a walk with what is known on the way

static void learn(infer *x, ir_ref r, int64_t lo, int64_t hi, int fuel)
{
    if (!fuel || ir_is_const(r) || x->steps++ > FORM_STEPS)
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
        form a = form_of(x, first, FORM_FUEL), b = form_of(x, second, FORM_FUEL);
        bool is_add = i->op == IR_ADD;
        learn(x, first, form_add(lo, is_add ? -b.hi : b.lo), form_add(hi, is_add ? -b.lo : b.hi),
              fuel - 1);
        if (is_add)
            learn(x, second, form_add(lo, -a.hi), form_add(hi, -a.lo), fuel - 1);
    } else if (i->op == IR_UDIV || i->op == IR_LSHR) {
        int64_t divisor;
        ir_ref from = form_dividend(x, r, &divisor);
        if (from != r)
            learn(x, from, lo <= 0 ? 0 : form_times(lo, divisor),
                  hi >= FORM_FAR ? FORM_FAR : form_add(form_times(hi + 1, divisor), -1), fuel - 1);
    } else if (i->op == IR_MUL || i->op == IR_SHL) {
        form by = form_of(x, ir_operand(x->f, i, 1), FORM_FUEL);
        if (form_is_number(by) && by.lo > 0 && by.lo < 60 + (i->op == IR_MUL) * FORM_FAR) {
            int64_t factor = i->op == IR_MUL ? by.lo : INT64_C(1) << by.lo;
            learn(x, first, lo <= -FORM_FAR ? lo : lo / factor, hi >= FORM_FAR ? hi : hi / factor,
                  fuel - 1);
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
    switch (i->op) {
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
            form a = form_of(x, ir_operand(x->f, i, 0), FORM_FUEL),
                 b = form_of(x, ir_operand(x->f, i, 1), FORM_FUEL);
            learn(x, ir_operand(x->f, i, 0), b.lo, b.hi, FORM_FUEL);
            learn(x, ir_operand(x->f, i, 1), a.lo, a.hi, FORM_FUEL);
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
        form least = form_of(x, small, FORM_FUEL), most = form_of(x, large, FORM_FUEL);
        learn(x, small, is_unsigned && truth ? 0 : -FORM_FAR, form_add(most.hi, -gap), FORM_FUEL);
        learn(x, large, form_add(least.lo, gap), FORM_FAR, FORM_FUEL);
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
        int64_t base = form_pointer(x, r, &offset);
        if (base != x->target || i->op == IR_PTRADD || i->op == IR_PTRCAST ||
            i->op == IR_PREFETCH || i->op == IR_IEQ || i->op == IR_INE || i->op == IR_UNIFORM)
            continue;
        if (!form_is_access((ir_op)i->op) || k || offset.hi >= FORM_FAR) {
            x->is_unbounded = true;
            continue;
        }
        int64_t end = form_add(offset.hi, i->imm + access_bytes(i));
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
                assume(x, ir_operand(x->f, i, 0), k == 0, FORM_FUEL);
            walk(x, i->regions + k);
            x->facts = before;
        }
        if (i->op == IR_IF && leaves(x, i->regions, id) != leaves(x, i->regions + 1, id))
            assume(x, ir_operand(x->f, i, 0), leaves(x, i->regions + 1, id), FORM_FUEL);
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
