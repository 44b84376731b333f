// Removes dead code: mark from the effects, then sweep. A control instruction lives when
// something inside it does, when one of its results is used, or when a jump inside leaves for a
// living target further out. Unused results of control and unused arguments of loops go, too, with
// the operands that fed them. Stores to locals that are never read are no effects. A loop without
// any way out is kept: it is what the author wrote.
#include "pass/passes.h"

typedef struct sweeper {
    ir_func *f;
    arena *scratch;
    uint8_t *live;            // per instruction
    uint8_t *used;            // per value
    uint8_t *is_read;         // per local: loaded, or its address goes somewhere unknown
    uint32_t *local_of;       // per value: index + 1 of the local it points into
    uint32_t *first_transfer; // per control instruction: EXITs and NEXTs that aim at it
    uint32_t *next_transfer;
    vec(ir_inst_id) insts; // work lists
    vec(ir_ref) values;
    bool did_change;
} sweeper;

// --- what is an effect

static void note_pointers(sweeper *s, ir_region_id region)
{
    const ir_func *f = s->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        for (uint32_t k = 0; k < i->operand_count; k++) {
            ir_ref r = ir_operand(f, i, k);
            if (ir_is_const(r) || !s->local_of[r])
                continue;
            if ((i->op == IR_PTRADD || i->op == IR_PTRCAST) && k == 0)
                s->local_of[i->result] = s->local_of[r];
            else if (i->op != IR_STORE || k != 0)
                s->is_read[s->local_of[r] - 1] = 1;
        }
        if (i->op == IR_LOCAL)
            s->local_of[i->result] = i->aux + 1;
        for (uint32_t k = 0; k < i->region_count; k++)
            note_pointers(s, i->regions + k);
    }
}

static bool has_effect(const sweeper *s, const ir_inst *i)
{
    ir_ref pointer = i->operand_count ? ir_operand(s->f, i, 0) : 0;
    switch (ir_op_effect((ir_op)i->op)) {
    case IR_FX_PURE: return false;
    case IR_FX_READ: return i->hint == IR_HINT_VOLATILE;
    case IR_FX_WRITE:
        return i->op != IR_STORE || i->hint == IR_HINT_VOLATILE || ir_is_const(pointer) ||
               !s->local_of[pointer] || s->is_read[s->local_of[pointer] - 1];
    case IR_FX_CONV: // asking the other lanes and not using the answer is nothing
        return i->op == IR_BARRIER || i->op == IR_WARPSYNC || i->op == IR_CALL;
    case IR_FX_CTRL: return i->op == IR_RETURN;
    case IR_FX_SIDE: return true;
    }
    return true;
}

// --- mark

static void mark_inst(sweeper *s, ir_inst_id id)
{
    if (s->live[id])
        return;
    s->live[id] = 1;
    s->insts.at[s->insts.len++] = id;
}

static void mark_value(sweeper *s, ir_ref r)
{
    if (ir_is_const(r) || s->used[r])
        return;
    s->used[r] = 1;
    const ir_value *v = &s->f->values.at[r];
    if (v->def == IR_DEF_INST)
        mark_inst(s, v->owner);
    if (v->def != IR_DEF_INST || ir_at(s->f, v->owner)->region_count)
        s->values.at[s->values.len++] = r; // what feeds it is to be found
}

static bool has_way_out(const sweeper *s, ir_inst_id loop)
{
    for (uint32_t t = s->first_transfer[loop]; t; t = s->next_transfer[t])
        if (ir_at(s->f, t)->op == IR_EXIT)
            return true;
    return false;
}

static bool leaves(const ir_func *f, ir_inst_id transfer, ir_inst_id loop)
{
    for (ir_inst_id i = ir_at(f, transfer)->aux; i; i = ir_region_at(f, ir_at(f, i)->parent)->owner)
        if (i == loop)
            return false;
    return true;
}

static void note_transfer(sweeper *s, ir_inst_id id)
{
    uint32_t target = ir_at(s->f, id)->aux;
    s->next_transfer[id] = s->first_transfer[target];
    s->first_transfer[target] = id;
}

// Marks the roots and lists the transfers; answers whether something in the region jumps out of all
// of `loop`.
static bool mark_roots(sweeper *s, ir_region_id region, ir_inst_id loop)
{
    const ir_func *f = s->f;
    bool does_leave = false;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (ir_op_effect((ir_op)i->op) == IR_FX_PURE)
            continue; // most are
        if (has_effect(s, i))
            mark_inst(s, id);
        bool is_transfer = i->op == IR_EXIT || i->op == IR_NEXT;
        if (is_transfer)
            note_transfer(s, id);
        does_leave |= i->op == IR_RETURN || i->op == IR_UNREACHABLE ||
                      (is_transfer && loop && leaves(f, id, loop));
        bool is_loop = i->op == IR_LOOP;
        bool inner = false;
        for (uint32_t k = 0; k < i->region_count; k++)
            inner |= mark_roots(s, i->regions + k, is_loop ? id : loop);
        if (is_loop && !inner && !has_way_out(s, id))
            mark_inst(s, id);
        does_leave |= inner && !is_loop;
        if (is_loop && inner)
            does_leave = true; // conservative: it may leave this loop as well
    }
    return does_leave;
}

static void mark_operands(sweeper *s, const ir_inst *i)
{
    for (uint32_t k = 0; k < i->operand_count; k++)
        mark_value(s, ir_operand(s->f, i, k));
}

static void visit_inst(sweeper *s, ir_inst_id id)
{
    const ir_func *f = s->f;
    const ir_inst *i = ir_at(f, id);
    ir_inst_id around = ir_region_at(f, i->parent)->owner;
    if (around)
        mark_inst(s, around);
    if (i->op == IR_EXIT || i->op == IR_NEXT) {
        ir_ref first = i->op == IR_EXIT ? ir_at(f, i->aux)->result
                                        : ir_region_at(f, ir_at(f, i->aux)->regions)->args;
        for (uint32_t k = 0; k < i->operand_count; k++)
            if (s->used[first + k])
                mark_value(s, ir_operand(f, i, k));
        mark_inst(s, i->aux);
        return;
    }
    if (i->op != IR_LOOP)
        mark_operands(s, i);
    if (!ir_is_control((ir_op)i->op))
        return;
    for (uint32_t k = 0; k < i->region_count; k++)
        mark_inst(s, ir_region_at(f, i->regions + k)->last);
    for (uint32_t t = s->first_transfer[id]; t; t = s->next_transfer[t])
        mark_inst(s, t);
}

static void feed(sweeper *s, ir_inst_id target, ir_op op, uint32_t k)
{
    for (uint32_t t = s->first_transfer[target]; t; t = s->next_transfer[t])
        if (ir_at(s->f, t)->op == op)
            mark_value(s, ir_operand(s->f, ir_at(s->f, t), k));
}

static void visit_value(sweeper *s, ir_ref r)
{
    const ir_func *f = s->f;
    const ir_value *v = &f->values.at[r];
    if (v->def == IR_DEF_INST) {
        feed(s, v->owner, IR_EXIT, v->index);
    } else if (v->def == IR_DEF_REGION_ARG) {
        ir_inst_id loop = ir_region_at(f, v->owner)->owner;
        mark_inst(s, loop);
        mark_value(s, ir_operand(f, ir_at(f, loop), v->index));
        feed(s, loop, IR_NEXT, v->index);
    }
}

static void mark(sweeper *s)
{
    mark_roots(s, s->f->body, 0);
    mark_inst(s, ir_region_at(s->f, s->f->body)->last);
    while (s->insts.len || s->values.len) {
        if (s->values.len)
            visit_value(s, vec_pop(&s->values));
        else
            visit_inst(s, vec_pop(&s->insts));
    }
}

// --- sweep

static void drop_operands(sweeper *s, ir_inst_id id, ir_ref first)
{
    const ir_inst *i = ir_at(s->f, id);
    ir_ref *operands = ir_operands(s->f, i);
    uint32_t kept = 0;
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (s->used[first + k])
            operands[kept++] = operands[k];
    ir_at(s->f, id)->operand_count = kept;
}

static uint32_t count_used(const sweeper *s, ir_ref first, uint32_t count)
{
    uint32_t used = 0;
    for (uint32_t k = 0; k < count; k++)
        used += s->used[first + k];
    return used;
}

typedef struct trim { // values that move to fresh ones
    ir_ref old, fresh;
    uint32_t count;
} trim;

typedef vec(trim) trim_list;

static void trim_results(sweeper *s, ir_inst_id id, trim_list *trims)
{
    ir_func *f = s->f;
    ir_inst old = *ir_at(f, id);
    uint32_t kept = count_used(s, old.result, old.result_count);
    if (kept == old.result_count)
        return;
    for (uint32_t t = s->first_transfer[id]; t; t = s->next_transfer[t])
        if (ir_at(f, t)->op == IR_EXIT && s->live[t])
            drop_operands(s, t, old.result);
    uint8_t *types = arena_alloc(s->scratch, kept);
    for (uint32_t k = 0, n = 0; k < old.result_count; k++)
        if (s->used[old.result + k])
            types[n++] = f->values.at[old.result + k].type;
    ir_set_results(f, id, types, kept);
    vec_push(s->scratch, trims, (trim){old.result, ir_at(f, id)->result, old.result_count});
    s->did_change = true;
}

static void trim_arguments(sweeper *s, ir_inst_id id, trim_list *trims)
{
    ir_func *f = s->f;
    ir_region_id body = ir_at(f, id)->regions;
    ir_region old = *ir_region_at(f, body);
    uint32_t kept = count_used(s, old.args, old.arg_count);
    if (kept == old.arg_count)
        return;
    for (uint32_t t = s->first_transfer[id]; t; t = s->next_transfer[t])
        if (ir_at(f, t)->op == IR_NEXT && s->live[t])
            drop_operands(s, t, old.args);
    drop_operands(s, id, old.args);
    ir_region_at(f, body)->arg_count = 0;
    ir_region_at(f, body)->args = 0;
    for (uint32_t k = 0; k < old.arg_count; k++)
        if (s->used[old.args + k])
            ir_region_arg(f, body, ir_type_of(f, old.args + k));
    vec_push(s->scratch, trims, (trim){old.args, ir_region_at(f, body)->args, old.arg_count});
    s->did_change = true;
}

static void sweep(sweeper *s)
{
    ir_func *f = s->f;
    uint32_t count = f->insts.len;
    trim_list trims = {0};
    vec(ir_inst_id) controls = {0};
    for (ir_inst_id id = 1; id < count; id++) {
        const ir_inst *i = ir_at(f, id);
        if (s->live[id]) {
            if (i->region_count)
                vec_push(s->scratch, &controls, id);
        } else if (i->parent) {
            ir_remove(f, id);
            s->did_change = true;
        }
    }
    for (uint32_t k = 0; k < controls.len; k++) {
        trim_results(s, controls.at[k], &trims);
        if (ir_at(f, controls.at[k])->op == IR_LOOP)
            trim_arguments(s, controls.at[k], &trims);
    }
    if (!trims.len)
        return;
    ir_ref *with = arena_array(s->scratch, ir_ref, f->values.len);
    for (uint32_t t = 0; t < trims.len; t++)
        for (uint32_t k = 0, n = 0; k < trims.at[t].count; k++)
            if (s->used[trims.at[t].old + k]) {
                with[trims.at[t].old + k] = trims.at[t].fresh + n;
                f->values.at[trims.at[t].fresh + n++].name = f->values.at[trims.at[t].old + k].name;
            }
    ir_rename(f, with);
}

// Locals that no instruction names are gone, too; the others move up.
static void drop_locals(sweeper *s)
{
    ir_func *f = s->f;
    uint32_t *to = arena_array(s->scratch, uint32_t, f->locals.len);
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (ir_at(f, id)->op == IR_LOCAL && ir_at(f, id)->parent)
            to[ir_at(f, id)->aux] = 1;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < f->locals.len; k++) {
        if (!to[k])
            continue;
        f->locals.at[kept] = f->locals.at[k];
        to[k] = kept++;
    }
    if (kept == f->locals.len)
        return;
    f->locals.len = kept;
    s->did_change = true;
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (ir_at(f, id)->op == IR_LOCAL && ir_at(f, id)->parent)
            ir_at(f, id)->aux = to[ir_at(f, id)->aux];
}

static bool has_local(const ir_func *f)
{
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (ir_at(f, id)->op == IR_LOCAL)
            return true;
    return false;
}

bool pass_dce(ir_func *f, pass_ctx *ctx)
{
    arena *a = ctx->scratch;
    sweeper s = {.f = f,
                 .scratch = a,
                 .live = arena_alloc(a, f->insts.len),
                 .used = arena_alloc(a, f->values.len),
                 .is_read = arena_alloc(a, f->locals.len),
                 .local_of = arena_array(a, uint32_t, f->values.len),
                 .first_transfer = arena_array(a, uint32_t, f->insts.len),
                 .next_transfer = arena_room(a, f->insts.len * sizeof(uint32_t))};
    // Each comes into its list once.
    vec_reserve(a, &s.insts, f->insts.len);
    vec_reserve(a, &s.values, f->values.len);
    if (has_local(f))
        note_pointers(&s, f->body);
    mark(&s);
    sweep(&s);
    if (f->locals.len)
        drop_locals(&s);
    return s.did_change;
}
