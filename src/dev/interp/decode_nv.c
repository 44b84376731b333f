// Decoding of NVIDIA's instructions. wgmma updates its accumulator in place and at a later time, so
// a result of it must have its operand's slot, all the way around a loop: results take over the
// slots of operands that die there (decode_nv_slots). Where that is not possible the words are
// copied, and before a copy whatever is under way must end (CODE_SETTLE): that is earlier than the
// latest moment, but right. Start at decode_nv_plan.
#include "dev/interp/decode.h"
#include "ir/nv.h"

static bool is_wgmma(const ir_inst *i)
{
    return i->op == IR_NV && i->aux == NV_WGMMA;
}

static uint32_t acc_words(const ir_inst *i)
{
    nv_op op = (nv_op)i->aux;
    return nv_acc_words(op, nv_unpack(i->imm));
}

// Operands that are the accumulator: none when wgmma starts from zero.
static uint32_t acc_operands(const ir_inst *i)
{
    uint32_t words = acc_words(i);
    return i->operand_count > words ? words : 0;
}

// --- the plan
static bool mark_all(const decoder *d, ir_ref first, const ir_ref *from, uint32_t count)
{
    bool did_change = false;
    for (uint32_t k = 0; k < count; k++) {
        ir_ref v = decode_root(d, from[k]);
        if (!v || ir_is_const(v) || !d->is_acc[v] || d->is_acc[first + k])
            continue;
        d->is_acc[first + k] = did_change = true;
    }
    return did_change;
}

// Accumulators travel through loops and branches.
static bool mark_inst(const decoder *d, const ir_inst *i)
{
    const ir_func *f = d->f;
    const ir_ref *from = ir_operands(f, i);
    if (i->op == IR_LOOP)
        return mark_all(d, ir_region_at(f, i->regions)->args, from, i->operand_count);
    if (i->op != IR_NEXT && i->op != IR_EXIT)
        return false;
    const ir_inst *target = ir_at(f, i->aux);
    ir_ref first = i->op == IR_NEXT ? ir_region_at(f, target->regions)->args : target->result;
    return mark_all(d, first, from, i->operand_count);
}

static void mark_accumulators(decoder *d)
{
    const ir_func *f = d->f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (!is_wgmma(i))
            continue;
        for (uint32_t k = 0; k < i->result_count; k++)
            d->is_acc[i->result + k] = true;
        uint32_t acc = acc_operands(i), words = nv_unpack(i->imm).from_words ? 4 : 0;
        for (uint32_t k = 0; k < acc + words; k++) {
            ir_ref v = decode_root(d, ir_operand(f, i, k));
            if (v && !ir_is_const(v))
                d->feeds[v] = true;
        }
    }
    for (bool did_change = true; did_change;) {
        did_change = false;
        for (ir_inst_id id = 1; id < f->insts.len; id++)
            did_change |= mark_inst(d, ir_at(f, id));
    }
}

// A loop that is left with an accumulator among its arguments leaves it in that argument's slot.
// All lanes leave a loop with wgmma together, so no lane overwrites the values of another.
static void share_loop_results(decoder *d)
{
    const ir_func *f = d->f;
    bool *is_seen = arena_array(d->scratch, bool, f->values.len);
    bool *is_taken = arena_array(d->scratch, bool, f->values.len);
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op != IR_EXIT || ir_at(f, i->aux)->op != IR_LOOP)
            continue;
        const ir_inst *loop = ir_at(f, i->aux);
        const ir_region *body = ir_region_at(f, loop->regions);
        for (uint32_t k = 0; k < i->operand_count; k++) {
            ir_ref to = loop->result + k, v = decode_root(d, ir_operand(f, i, k));
            bool is_arg = v && !ir_is_const(v) && v >= body->args &&
                          v < body->args + body->arg_count && d->is_acc[v];
            bool is_same = !is_seen[to] || d->same_slot[to] == v;
            d->same_slot[to] = is_arg && is_same ? v : 0;
            is_seen[to] = true;
        }
    }
    for (ir_ref v = 1; v < f->values.len; v++) {
        ir_ref arg = d->same_slot[v];
        if (!arg)
            continue;
        if (is_taken[arg]) {
            d->same_slot[v] = 0;
            continue;
        }
        is_taken[arg] = true;
        if (d->live.lives[arg].until < d->live.lives[v].until)
            d->live.lives[arg].until = d->live.lives[v].until;
    }
}

void decode_nv_plan(decoder *d)
{
    const ir_func *f = d->f;
    bool has_any = false;
    for (ir_inst_id id = 1; id < f->insts.len && !has_any; id++)
        has_any = is_wgmma(ir_at(f, id));
    if (!has_any)
        return;
    d->is_acc = arena_array(d->scratch, bool, f->values.len);
    d->feeds = arena_array(d->scratch, bool, f->values.len);
    d->until = arena_array(d->scratch, uint32_t, f->values.len);
    d->is_heir = arena_array(d->scratch, bool, f->values.len);
    d->is_robbed = arena_array(d->scratch, bool, f->values.len);
    d->same_slot = arena_array(d->scratch, ir_ref, f->values.len);
    memset(d->until, 0xff, f->values.len * sizeof *d->until);
    mark_accumulators(d);
    share_loop_results(d);
    // A word that is never read is still written at some point.
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        for (uint32_t k = 0; is_wgmma(i) && k < i->result_count; k++)
            if (d->live.lives[i->result + k].until <= d->live.start[id])
                d->live.lives[i->result + k].until = d->live.last + 1;
    }
}

// --- slots
// The argument's loop is the innermost one around the instruction.
static bool is_in_loop_of(const ir_func *f, const ir_inst *i, ir_ref arg)
{
    ir_region_id region = i->parent;
    while (region) {
        const ir_region *g = ir_region_at(f, region);
        if (arg >= g->args && arg < g->args + g->arg_count)
            return true;
        if (!g->owner || ir_at(f, g->owner)->op == IR_LOOP)
            return false;
        region = ir_at(f, g->owner)->parent;
    }
    return false;
}

static bool may_reuse(const decoder *d, const ir_inst *i, ir_ref v, ir_ref result)
{
    uint32_t pos = d->live.start[i - d->f->insts.at];
    if (!v || ir_is_const(v) || d->f->values.at[v].def == IR_DEF_PARAM)
        return false;
    uint32_t slot = d->slot[v];
    if (slot & UNIFORM_BIT || slot < d->fixed_bytes || d->live.lives[result].until > d->until[v])
        return false;
    for (ir_ref r = i->result; r < result; r++) // the same operand twice
        if (d->preset[r] && d->preset[r] - 1 == slot)
            return false;
    bool is_arg = d->f->values.at[v].def != IR_DEF_INST && d->live.lives[v].last_use <= pos;
    return d->live.lives[v].until == pos || (is_arg && is_in_loop_of(d->f, i, v));
}

void decode_nv_slots(decoder *d, const ir_inst *i)
{
    if (!is_wgmma(i) || !d->is_acc)
        return;
    uint32_t count = acc_operands(i), pos = d->live.start[i - d->f->insts.at];
    for (uint32_t k = 0; k < count; k++) {
        ir_ref v = decode_root(d, ir_operand(d->f, i, k)), result = i->result + k;
        if (!may_reuse(d, i, v, result))
            continue;
        ir_ref owner = d->same_slot[v] ? d->same_slot[v] : v;
        d->preset[result] = d->slot[v] + 1;
        d->until[result] = d->until[v];
        d->is_heir[result] =
            d->live.lives[owner].until == pos && (!d->preset[owner] || d->is_heir[owner]);
        d->is_robbed[owner] = d->is_heir[result];
    }
}

// --- code
static uint32_t put_slots(decoder *d, const ir_inst *i, uint32_t from)
{
    uint32_t list = d->extra.len;
    for (uint32_t k = from; k < i->operand_count; k++)
        vec_push(d->a, &d->extra, decode_slot(d, ir_operand(d->f, i, k)));
    return list;
}

// The words that could not be taken over.
static void copy_accumulator(decoder *d, const ir_inst *i, uint32_t count)
{
    bool is_settled = false;
    for (uint32_t k = 0; k < count; k++) {
        ir_ref from = ir_operand(d->f, i, k), v = decode_root(d, from);
        uint32_t slot = decode_slot(d, from);
        if (slot == d->slot[i->result + k])
            continue;
        if (!is_settled && v && !ir_is_const(v) && d->is_acc[v]) {
            decode_emit(d, CODE_SETTLE, i);
            is_settled = true;
        }
        code *c = decode_emit(d, CODE_MOVE, i);
        c->d = d->slot[i->result + k];
        c->a = slot;
        c->size = 4;
        c->count = MOVE_ALL;
    }
}

void decode_nv(decoder *d, const ir_inst *i)
{
    uint32_t acc = is_wgmma(i) ? acc_operands(i) : 0;
    copy_accumulator(d, i, acc);
    uint32_t results = d->extra.len;
    for (uint32_t k = 0; k < i->result_count; k++)
        vec_push(d->a, &d->extra, d->slot[i->result + k]);
    uint32_t operands = put_slots(d, i, acc);
    code *c = decode_emit(d, CODE_NV, i);
    c->align = (uint16_t)i->aux;
    c->size = 1;
    c->d = results;
    c->b = operands;
    c->c = i->operand_count - acc;
    c->count = acc != 0;
    c->u.imm = i->imm;
}

// Without optimisation an accumulator is an array in memory, stored right after the instruction:
// that is no use of it by the program.
static bool is_spill(const decoder *d, const ir_inst *i)
{
    ir_ref to = ir_operand(d->f, i, 0);
    if (i->op != IR_STORE)
        return false;
    for (;;) {
        ir_inst_id def = ir_def_of(d->f, to);
        if (!def)
            return false;
        const ir_inst *p = ir_at(d->f, def);
        if (p->op == IR_LOCAL)
            return true;
        if (p->op != IR_PTRADD && p->op != IR_PTRCAST && p->op != IR_UNIFORM)
            return false;
        to = ir_operand(d->f, p, 0);
    }
}

void decode_nv_before(decoder *d, const ir_inst *i)
{
    if (!d->is_acc || is_wgmma(i))
        return;
    bool is_settled = false;
    for (uint32_t k = 0; k < i->operand_count && !is_settled; k++) {
        ir_ref v = decode_root(d, ir_operand(d->f, i, k));
        if (!v || ir_is_const(v) || !d->is_acc[v])
            continue;
        if (is_spill(d, i)) {
            decode_emit(d, CODE_SETTLE, i);
            is_settled = true;
        } else if (d->watch) {
            decode_emit(d, CODE_LOOK, i)->a = d->slot[v];
        }
    }
}

void decode_nv_after(decoder *d, const ir_inst *i)
{
    if (!d->is_acc || !d->watch || is_wgmma(i))
        return;
    for (uint32_t k = 0; k < i->result_count; k++)
        if (d->feeds[i->result + k]) {
            decode_emit(d, CODE_TOUCHED, i);
            return;
        }
}

void decode_nv_moves(decoder *d, const ir_inst *at, ir_ref first, const ir_ref *from,
                     uint32_t count)
{
    for (uint32_t k = 0; d->is_acc && k < count; k++) {
        ir_ref v = decode_root(d, from[k]);
        if (!v || ir_is_const(v) || !d->is_acc[v] || d->slot[first + k] == d->slot[v])
            continue;
        decode_emit(d, CODE_SETTLE, at);
        return;
    }
}

void decode_nv_facts(interp_program *p, const ir_inst *i)
{
    p->has_nv = p->keeps_warps = true;
    p->has_wgmma |= is_wgmma(i);
    bool adds = i->op == IR_NV && nv_row_of(i)->copy == NV_COPY_ADD;
    p->is_sequential |= adds; // the order of sums could show
}
