// Address spaces: finds out what a ptr.gen value really points to and gives it that type, so that
// loads, stores and atomics use the precise space. C has no address spaces, so lowering makes all
// pointers generic; after inlining nearly all of them come from one parameter or one array.
//
// A value starts as "not known yet" and falls to one space, then to generic, as its sources are
// seen; the null pointer counts as global. Where a generic pointer is still needed (memory,
// integers, joins of two spaces) a cast is put in. Start reading at pass_space.
#include "pass/pass.h"
#include "pass/passes.h"

enum { UNKNOWN = 0 }; // IR_VOID, above all spaces; IR_PTR_GEN is below all

typedef struct spaces {
    ir_func *f;
    uint8_t *of; // per value: UNKNOWN, a space, or IR_PTR_GEN
    bool changed;
} spaces;

static uint8_t meet(uint8_t a, uint8_t b)
{
    return a == UNKNOWN ? b : b == UNKNOWN || a == b ? a : IR_PTR_GEN;
}

static uint8_t space_of(const spaces *s, ir_ref r)
{
    ir_type t = ir_type_of(s->f, r);
    if (t != IR_PTR_GEN)
        return (uint8_t)t;
    uint64_t bits;
    if (ir_const_bits(s->f, r, &bits)) // null is not address 0 of shared or local memory
        return bits ? IR_PTR_GEN : IR_PTR_GLOBAL;
    return s->of[r];
}

static void flow_into(spaces *s, ir_ref into, uint8_t space)
{
    if (ir_type_of(s->f, into) != IR_PTR_GEN)
        return;
    uint8_t now = meet(s->of[into], space);
    if (now != s->of[into]) {
        s->of[into] = now;
        s->changed = true;
    }
}

static void visit(spaces *s, ir_inst_id id)
{
    const ir_func *f = s->f;
    const ir_inst *i = ir_at(f, id);
    switch (i->op) {
    case IR_PTRCAST:
    case IR_PTRADD:
    case IR_UNIFORM: flow_into(s, i->result, space_of(s, ir_operand(f, i, 0))); return;
    case IR_SELECT:
        flow_into(s, i->result, space_of(s, ir_operand(f, i, 1)));
        flow_into(s, i->result, space_of(s, ir_operand(f, i, 2)));
        return;
    case IR_LOAD: // the host can only pass addresses of global memory
        for (uint32_t k = 0; k < i->result_count; k++)
            flow_into(s, i->result + k,
                      space_of(s, ir_operand(f, i, 0)) == IR_PTR_PARAM ? IR_PTR_GLOBAL
                                                                       : IR_PTR_GEN);
        return;
    case IR_EXIT:
        for (uint32_t k = 0; k < i->operand_count; k++)
            flow_into(s, ir_at(f, i->aux)->result + k, space_of(s, ir_operand(f, i, k)));
        return;
    case IR_NEXT:
    case IR_LOOP: {
        const ir_inst *loop = i->op == IR_LOOP ? i : ir_at(f, i->aux);
        ir_ref args = ir_region_at(f, loop->regions)->args;
        for (uint32_t k = 0; k < i->operand_count; k++)
            flow_into(s, args + k, space_of(s, ir_operand(f, i, k)));
        return;
    }
    case IR_BLOCKSCOPE:
    case IR_IF:
    case IR_SWITCH: return; // known from their exits
    default:
        for (uint32_t k = 0; k < i->result_count; k++)
            flow_into(s, i->result + k, IR_PTR_GEN);
    }
}

// --- rewriting

static ir_ref as_space(spaces *s, ir_inst_id user, ir_ref r, ir_type want)
{
    ir_type have = ir_type_of(s->f, r);
    if (!ir_is_ptr(have) || have == want)
        return r;
    uint64_t bits;
    if (ir_const_bits(s->f, r, &bits))
        return ir_constant(s->f, want, bits);
    if (have != IR_PTR_GEN && want != IR_PTR_GEN)
        r = as_space(s, user, r, IR_PTR_GEN);
    ir_cursor c = ir_before(s->f, user);
    return ir_convert(&c, IR_PTRCAST, want, r);
}

static void want(spaces *s, ir_inst_id id, uint32_t operand, ir_type space)
{
    ir_ref old = ir_operand(s->f, ir_at(s->f, id), operand);
    ir_ref now = as_space(s, id, old, space);
    ir_operands(s->f, ir_at(s->f, id))[operand] = now;
}

static void want_results(spaces *s, ir_inst_id id, ir_ref results)
{
    for (uint32_t k = 0; k < ir_at(s->f, id)->operand_count; k++) {
        ir_type t = ir_type_of(s->f, results + k);
        if (ir_is_ptr(t))
            want(s, id, k, t);
    }
}

static void rewrite_compare(spaces *s, ir_inst_id id)
{
    const ir_inst *i = ir_at(s->f, id);
    ir_ref a = ir_operand(s->f, i, 0), b = ir_operand(s->f, i, 1);
    ir_type ta = ir_type_of(s->f, a), tb = ir_type_of(s->f, b);
    ir_type t = ir_is_const(a) ? tb : ir_is_const(b) || ta == tb ? ta : IR_PTR_GEN;
    // Only a null pointer may change its space; another number is an address of generic memory.
    uint64_t bits = 0;
    if ((ir_const_bits(s->f, a, &bits) || ir_const_bits(s->f, b, &bits)) && bits)
        t = IR_PTR_GEN;
    // Shared and local memory start at address 0 of their own space, where null is not special.
    if ((ir_is_const(a) || ir_is_const(b)) && t != IR_PTR_GLOBAL)
        t = IR_PTR_GEN;
    want(s, id, 0, t);
    want(s, id, 1, t);
    ir_at(s->f, id)->type = (uint8_t)t;
}

static void rewrite(spaces *s, ir_inst_id id, ir_ref *renames)
{
    ir_func *f = s->f;
    ir_inst *i = ir_at(f, id);
    ir_type t = i->result ? ir_type_of(f, i->result) : IR_VOID;
    switch (i->op) {
    case IR_PTRCAST: {
        ir_ref from = ir_operand(f, i, 0);
        if (ir_type_of(f, from) == t) {
            renames[i->result] = from;
            return;
        }
        if (t != IR_PTR_GEN)
            want(s, id, 0, IR_PTR_GEN);
        i = ir_at(f, id);
        i->type = (uint8_t)t;
        i->aux = ir_type_of(f, ir_operand(f, i, 0));
        return;
    }
    case IR_PTRADD:
    case IR_UNIFORM:
        if (ir_is_ptr(t)) {
            i->type = (uint8_t)t;
            want(s, id, 0, t);
        }
        return;
    case IR_SELECT:
        if (ir_is_ptr(t)) {
            i->type = (uint8_t)t;
            want(s, id, 1, t);
            want(s, id, 2, t);
        }
        return;
    case IR_LOAD: i->type = (uint8_t)(ir_is_ptr(t) ? t : (ir_type)i->type); return;
    case IR_EXIT: want_results(s, id, ir_at(f, i->aux)->result); return;
    case IR_NEXT: want_results(s, id, ir_region_at(f, ir_at(f, i->aux)->regions)->args); return;
    case IR_LOOP: want_results(s, id, ir_region_at(f, i->regions)->args); return;
    case IR_IEQ:
    case IR_INE:
    case IR_ULT:
    case IR_ULE:
        if (ir_is_ptr(i->type))
            rewrite_compare(s, id);
        return;
    case IR_NV:
    case IR_SHADDR:
    case IR_MAPA: return; // their pointers have fixed spaces
    default: break;
    }
    // Everything else: the address operand may be of any space, other pointers must stay generic.
    bool has_address = i->op == IR_STORE || i->op == IR_ATOMIC || i->op == IR_CAS ||
                       i->op == IR_ATOMLOAD || i->op == IR_ATOMSTORE || i->op == IR_PREFETCH;
    for (uint32_t k = has_address ? 1 : 0; k < ir_at(f, id)->operand_count; k++)
        want(s, id, k, IR_PTR_GEN);
    if (i->op == IR_PTRTOINT)
        ir_at(f, id)->aux = ir_type_of(f, ir_operand(f, ir_at(f, id), 0));
}

static bool has_generic(const ir_func *f)
{
    for (uint32_t v = 1; v < f->values.len; v++)
        if (f->values.at[v].type == IR_PTR_GEN)
            return true;
    return false;
}

bool pass_space(ir_func *f, pass_ctx *ctx)
{
    if (!has_generic(f))
        return false;
    spaces s = {.f = f, .of = arena_array(ctx->scratch, uint8_t, f->values.len)};
    for (uint32_t k = 0; k < f->params.len; k++)
        if (ir_type_of(f, f->first_param + k) == IR_PTR_GEN)
            s.of[f->first_param + k] = IR_PTR_GEN;
    uint32_t inst_count = f->insts.len, value_count = f->values.len;
    do {
        s.changed = false;
        for (ir_inst_id id = 1; id < inst_count; id++)
            visit(&s, id);
    } while (s.changed);
    bool changed = false;
    for (ir_ref v = 1; v < value_count; v++)
        if (f->values.at[v].type == IR_PTR_GEN && s.of[v] != UNKNOWN && s.of[v] != IR_PTR_GEN) {
            f->values.at[v].type = s.of[v];
            changed = true;
        }
    if (!changed)
        return false;
    // Casts made on the way have fresh results, which nothing renames.
    ir_ref *renames = arena_array(ctx->scratch, ir_ref, 2 * f->operands.len + value_count);
    for (ir_inst_id id = 1; id < inst_count; id++)
        if (ir_at(f, id)->op != IR_NOP)
            rewrite(&s, id, renames);
    ir_rename(f, renames);
    for (ir_inst_id id = 1; id < inst_count; id++)
        if (ir_at(f, id)->op == IR_PTRCAST && renames[ir_at(f, id)->result])
            ir_remove(f, id);
    constant_check(f, ctx->diags);
    return true;
}
