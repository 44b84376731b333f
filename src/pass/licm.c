// Loop-invariant code: pure operations whose operands come from outside of a loop move in front of
// it, and so do loads that nothing in the loop can change and that cannot fault where the original
// would not have run. Inner loops come first, so a value may travel out of several.
// Collectives never move. Kernels with wgmma keep cheap arithmetic where its author put it: a value
// held over the loop costs a register that an accumulator needs. Start reading at pass_licm.
#include "ir/nv.h"
#include "pass/alias.h"
#include "pass/loop.h"
#include "pass/pass.h"
#include "pass/passes.h"

typedef struct hoister {
    ir_func *f;
    ir_inst_id loop;
    uint8_t *is_inside;   // per region: of the loop
    ir_inst_id sure_test; // its test, when it is known to go on at first; 0
    bool
        is_tight; // wgmma: accumulators leave few registers, so what is cheap stays where it stands
    bool changed;
} hoister;

static bool is_dear(ir_op op)
{
    switch (op) {
    case IR_SDIV:
    case IR_UDIV:
    case IR_SREM:
    case IR_UREM:
    case IR_FDIV:
    case IR_FSQRT: return true;
    default: return false;
    }
}

static void mark_inside(hoister *h, ir_inst_id control)
{
    const ir_func *f = h->f;
    const ir_inst *i = ir_at(f, control);
    for (uint32_t k = 0; k < i->region_count; k++) {
        h->is_inside[i->regions + k] = 1;
        for (ir_inst_id in = ir_region_at(f, i->regions + k)->first; in; in = ir_at(f, in)->next)
            if (ir_at(f, in)->region_count)
                mark_inside(h, in);
    }
}

static bool is_outside(const hoister *h, ir_ref r)
{
    if (ir_is_const(r))
        return true;
    const ir_value *v = &h->f->values.at[r];
    return v->def == IR_DEF_PARAM ||
           !h->is_inside[v->def == IR_DEF_INST ? ir_at(h->f, v->owner)->parent : v->owner];
}

static bool are_operands_outside(const hoister *h, const ir_inst *i)
{
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (!is_outside(h, ir_operand(h->f, i, k)))
            return false;
    return true;
}

static bool region_writes(const ir_func *f, ir_region_id region, const alias_base *b)
{
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (alias_may_write(f, i, b))
            return true;
        for (uint32_t k = 0; k < i->region_count; k++)
            if (region_writes(f, i->regions + k, b))
                return true;
    }
    return false;
}

// An address that is valid whether or not the loop runs.
static bool is_always_valid(const ir_func *f, const ir_inst *load, const alias_base *b)
{
    int64_t from, to, bytes = (int64_t)ir_type_size(load->type) * load->result_count;
    if (!b->is_offset_known || __builtin_add_overflow(b->offset, load->imm, &from) || from < 0 ||
        __builtin_add_overflow(from, bytes, &to))
        return false;
    switch (b->kind) {
    case ALIAS_PARAM: return b->space == IR_PTR_PARAM && to <= (int64_t)f->params.at[b->index].size;
    case ALIAS_CONSTANT: return to <= (int64_t)f->module->data.at[b->index].size;
    case ALIAS_SHARED: return to <= (int64_t)f->module->shared.at[b->index].size;
    case ALIAS_LOCAL: return to <= (int64_t)f->locals.at[b->index].size;
    case ALIAS_UNKNOWN: return false;
    }
    return false;
}

static bool can_hoist(const hoister *h, const ir_inst *i, bool is_certain, bool is_own)
{
    const ir_func *f = h->f;
    if (i->region_count || !i->result_count || !are_operands_outside(h, i))
        return false;
    if (i->op == IR_UNIFORM && !is_certain) // the promise is made where it stands
        return false;
    if (ir_op_effect(i->op) == IR_FX_PURE)
        return h->is_tight ? is_own && (is_dear(i->op) || !i->operand_count)
                           : is_own || !is_dear(i->op);
    if (i->op != IR_LOAD || i->hint == IR_HINT_VOLATILE)
        return false;
    alias_base b = alias_base_of(f, ir_operand(f, i, 0));
    if (!is_certain && !is_always_valid(f, i, &b))
        return false;
    return !region_writes(f, ir_at(f, h->loop)->regions, &b);
}

// May control go elsewhere than to the next instruction?
static bool may_leave(const ir_func *f, ir_inst_id id)
{
    const ir_inst *i = ir_at(f, id);
    for (uint32_t k = 0; k < i->region_count; k++)
        for (ir_inst_id in = ir_region_at(f, i->regions + k)->first; in; in = ir_at(f, in)->next) {
            const ir_inst *inner = ir_at(f, in);
            if (ir_is_terminator(inner->op) && (inner->op != IR_EXIT || inner->aux != id))
                return true;
            if (inner->region_count && may_leave(f, in))
                return true;
        }
    return false;
}

// is_own: not under a condition within the loop; is_certain: run whenever the loop is reached.
static void hoist_region(hoister *h, ir_region_id region, bool is_certain, bool is_own)
{
    ir_func *f = h->f;
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        const ir_inst *i = ir_at(f, id);
        next = i->next;
        if (can_hoist(h, i, is_certain, is_own)) {
            ir_unlink(f, id);
            ir_cursor c = ir_before(f, h->loop);
            ir_insert(&c, id);
            h->changed = true;
            continue;
        }
        for (uint32_t k = 0; k < i->region_count; k++)
            hoist_region(h, i->regions + k, is_certain && i->op == IR_BLOCKSCOPE,
                         is_own && i->op == IR_BLOCKSCOPE);
        bool may_stop =
            i->op == IR_ASSERT || i->op == IR_BOUNDS || i->op == IR_TRAP || i->op == IR_CALL;
        if (may_stop || (i->region_count && id != h->sure_test && may_leave(f, id)))
            is_certain = false;
    }
}

static void visit_region(hoister *h, ir_region_id region)
{
    ir_func *f = h->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        for (uint32_t k = 0; k < i->region_count; k++)
            visit_region(h, ir_at(f, id)->regions + k);
        if (ir_at(f, id)->op != IR_LOOP)
            continue;
        loop_info l = loop_look(f, id);
        h->loop = id;
        memset(h->is_inside, 0, f->regions.len);
        mark_inside(h, id);
        h->sure_test = !l.goes_on_inside && loop_trips(f, &l, 1 << 16) > 0 ? l.exit_if : 0;
        hoist_region(h, l.body, true, true);
    }
}

bool pass_licm(ir_func *f, pass_ctx *ctx)
{
    hoister h = {.f = f,
                 .is_inside = arena_alloc(ctx->scratch, f->regions.len),
                 .is_tight = nv_has_wgmma(f)};
    visit_region(&h, f->body);
    return h.changed;
}
