// If-conversion: an IF whose sides only compute a few cheap values becomes those computations and
// selects; the conditions of && and || become and/or. Nothing that reads memory, may be dear or
// communicates with other threads is run where it was not before. Inner IFs come first, so chains
// collapse. Start reading at pass_ifconv.
#include "pass/pass.h"
#include "pass/passes.h"

enum { MOST_OPS = 8, MOST_RESULTS = 8 };

static bool is_cheap(const ir_inst *i)
{
    // A promise is made where it stands: threads that do not get there are not part of it.
    if (ir_op_effect(i->op) != IR_FX_PURE || i->region_count || i->op == IR_UNIFORM)
        return false;
    switch (i->op) {
    case IR_SDIV:
    case IR_UDIV:
    case IR_SREM:
    case IR_UREM:
    case IR_FDIV:
    case IR_FSQRT: return false;
    default: return true;
    }
}

// Operations of a side that only computes and falls out of the IF; -1: it does more.
static int count_side(const ir_func *f, ir_region_id side, ir_inst_id owner)
{
    int n = 0;
    for (ir_inst_id id = ir_region_at(f, side)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_EXIT && i->aux == owner)
            return n;
        if (!is_cheap(i) || ++n > MOST_OPS)
            return -1;
    }
    return -1;
}

static void move_out(ir_func *f, ir_region_id side, ir_inst_id owner)
{
    for (ir_inst_id id = ir_region_at(f, side)->first, next; id; id = next) {
        next = ir_at(f, id)->next;
        if (ir_is_terminator(ir_at(f, id)->op))
            return;
        ir_unlink(f, id);
        ir_cursor c = ir_before(f, owner);
        ir_insert(&c, id);
    }
}

static ir_ref choose(ir_cursor *c, ir_ref condition, ir_ref yes, ir_ref no)
{
    ir_func *f = c->f;
    uint64_t bits;
    if (yes == no)
        return yes;
    if (ir_type_of(f, yes) != IR_I1)
        return ir_select(c, condition, yes, no);
    bool is_yes_const = ir_const_bits(f, yes, &bits);
    if (is_yes_const && bits) // yes is true
        return ir_const_bits(f, no, &bits) ? condition : ir_bin(c, IR_OR, IR_I1, condition, no);
    bool is_no_false = ir_const_bits(f, no, &bits) && !bits;
    if (is_no_false)
        return ir_bin(c, IR_AND, IR_I1, condition, yes);
    if (is_yes_const && ir_const_bits(f, no, &bits))
        return ir_bin(c, IR_XOR, IR_I1, condition, ir_bool(f, true));
    return ir_select(c, condition, yes, no);
}

static bool convert(ir_func *f, ir_inst_id id, ir_ref *renames)
{
    const ir_inst *i = ir_at(f, id);
    ir_region_id yes = i->regions, no = i->regions + 1;
    int a = count_side(f, yes, id), b = count_side(f, no, id);
    if (a < 0 || b < 0 || a + b > MOST_OPS || i->result_count > MOST_RESULTS)
        return false;
    ir_ref condition = ir_operand(f, i, 0), result = i->result;
    uint32_t count = i->result_count;
    move_out(f, yes, id);
    move_out(f, no, id);
    ir_inst_id yes_exit = ir_region_at(f, yes)->first, no_exit = ir_region_at(f, no)->first;
    for (uint32_t k = 0; k < count; k++) {
        ir_cursor c = ir_before(f, id);
        ir_ref r = choose(&c, condition, ir_operand(f, ir_at(f, yes_exit), k),
                          ir_operand(f, ir_at(f, no_exit), k));
        renames[result + k] = r;
    }
    ir_remove(f, id);
    return true;
}

static bool visit_region(ir_func *f, ir_region_id region, ir_ref *renames)
{
    bool changed = false;
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        next = ir_at(f, id)->next;
        for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++)
            changed |= visit_region(f, ir_at(f, id)->regions + k, renames);
        if (ir_at(f, id)->op == IR_IF)
            changed |= convert(f, id, renames);
    }
    return changed;
}

bool pass_ifconv(ir_func *f, pass_ctx *ctx)
{
    // Each result makes at most one new value, which is never renamed itself.
    ir_ref *renames = arena_array(ctx->scratch, ir_ref, 2 * f->values.len);
    bool changed = visit_region(f, f->body, renames);
    if (changed)
        ir_rename(f, renames);
    return changed;
}
