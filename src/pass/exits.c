// Makes control plain, for targets without goto. Afterwards a transfer is one of three things that
// every structured language has:
//   the end of a branch: `exit` of the `if` or `switch` whose region it ends;
//   break: `exit` of the innermost loop or block around it, through branches only;
//   continue: `next` of that loop.
// (`return` stays: all have it.) A transfer that goes further out becomes a break with a selector:
// the loop or block gets a result that says where to go on, results that carry the values, and a
// branch behind it that goes there. That branch is one level further out; controls are taken from
// the inside, so what it does is made plain when its own loop or block is. Lanes that leave wait
// behind each control instead of behind the last one, with the same lanes active at every
// instruction. Start reading at pass_exits.
#include "pass/passes.h"

typedef struct group { // transfers that leave a loop or block for one place
    uint16_t op;       // IR_EXIT or IR_NEXT
    ir_inst_id target;
    ir_ref *values;  // per operand: the value, when it is the same for all and known outside; or 0
    uint32_t *slots; // per operand without such a value: which result carries it
    uint32_t count;  // operands
} group;

typedef struct plainer {
    ir_func *f;
    arena *scratch;
    vec(ir_ref) with;       // by value: what has replaced it; 0: nothing
    vec(ir_inst_id) inside; // the transfers of the control at hand, without those of inner ones
    vec(group) groups;      // where they go
    uint32_t tested;        // how many of the groups the selector distinguishes; the rest is 0
    vec(uint8_t) types;     // of its results
    vec(ir_ref) operands;   // of a transfer
} plainer;

static bool has_breaks(uint16_t op)
{
    return op == IR_LOOP || op == IR_BLOCKSCOPE;
}

static ir_ref resolved(const plainer *p, ir_ref r)
{
    while (!ir_is_const(r) && r < p->with.len && p->with.at[r])
        r = p->with.at[r];
    return r;
}

static ir_inst_id owner_of(const ir_func *f, ir_inst_id id)
{
    return ir_region_at(f, ir_at(f, id)->parent)->owner;
}

static bool is_inside(const ir_func *f, ir_inst_id id, ir_inst_id outer)
{
    for (; id; id = owner_of(f, id))
        if (id == outer)
            return true;
    return false;
}

// Whether the value is known behind `control`.
static bool is_known_outside(const ir_func *f, ir_ref r, ir_inst_id control)
{
    if (ir_is_const(r) || f->values.at[r].def == IR_DEF_PARAM)
        return true;
    const ir_value *v = &f->values.at[r];
    ir_inst_id maker =
        v->def == IR_DEF_REGION_ARG ? ir_region_at(f, v->owner)->owner : (ir_inst_id)v->owner;
    return !is_inside(f, maker, control);
}

// --- what leaves
static void list_transfers(plainer *p, ir_region_id region)
{
    const ir_func *f = p->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_EXIT || i->op == IR_NEXT)
            vec_push(p->scratch, &p->inside, id);
        for (uint32_t k = 0; k < i->region_count && !has_breaks(i->op); k++)
            list_transfers(p, i->regions + k);
    }
}

static void list_all(plainer *p, ir_inst_id control)
{
    const ir_inst *i = ir_at(p->f, control);
    p->inside.len = 0;
    for (uint32_t k = 0; k < i->region_count; k++)
        list_transfers(p, i->regions + k);
}

// NULL: it leaves for none of the groups' places.
static group *group_of(const plainer *p, ir_inst_id transfer)
{
    const ir_inst *i = ir_at(p->f, transfer);
    for (uint32_t k = 0; k < p->groups.len; k++)
        if (p->groups.at[k].op == i->op && p->groups.at[k].target == i->aux)
            return &p->groups.at[k];
    return NULL;
}

// Targets between the control and the transfer are branches, whose ends are plain.
static bool goes_further(const plainer *p, ir_inst_id control, ir_inst_id transfer)
{
    return !is_inside(p->f, ir_at(p->f, transfer)->aux, control);
}

static void find_groups(plainer *p, ir_inst_id control)
{
    p->groups.len = 0;
    for (uint32_t k = 0; k < p->inside.len; k++) {
        ir_inst_id id = p->inside.at[k];
        if (!goes_further(p, control, id))
            continue;
        const ir_inst *i = ir_at(p->f, id);
        group *g = group_of(p, id);
        if (!g) {
            vec_push(p->scratch, &p->groups,
                     ((group){.op = i->op,
                              .target = i->aux,
                              .values = arena_array(p->scratch, ir_ref, i->operand_count + 1),
                              .slots = arena_array(p->scratch, uint32_t, i->operand_count + 1),
                              .count = i->operand_count}));
            g = &vec_last(&p->groups);
            for (uint32_t n = 0; n < g->count; n++)
                g->values[n] = resolved(p, ir_operand(p->f, i, n));
        }
        for (uint32_t n = 0; n < g->count; n++) {
            ir_ref r = resolved(p, ir_operand(p->f, i, n));
            if (r != g->values[n] || !is_known_outside(p->f, r, control))
                g->values[n] = 0;
        }
    }
}

// --- results
static ir_ref zero_of(ir_func *f, uint8_t type)
{
    return ir_constant(f, (ir_type)type, 0);
}

// The type of what a transfer gives to its target.
static uint8_t type_given(const ir_func *f, const group *g, uint32_t k)
{
    const ir_inst *x = ir_at(f, g->target);
    ir_ref to = g->op == IR_EXIT ? x->result : ir_region_at(f, x->regions)->args;
    return f->values.at[to + k].type;
}

static void replace_results(plainer *p, ir_inst_id control, ir_ref old, uint32_t count)
{
    ir_func *f = p->f;
    ir_set_results(f, control, p->types.at, p->types.len);
    while (p->with.len < f->values.len)
        vec_push(p->scratch, &p->with, 0);
    for (uint32_t k = 0; k < count; k++) {
        ir_ref fresh = ir_at(f, control)->result + k;
        p->with.at[old + k] = fresh;
        f->values.at[fresh].name = f->values.at[old + k].name;
    }
}

// Results behind the control's own: the selector, then what the groups carry.
static void add_results(plainer *p, ir_inst_id control)
{
    ir_func *f = p->f;
    ir_ref old = ir_at(f, control)->result;
    uint32_t count = ir_at(f, control)->result_count;
    p->types.len = 0;
    for (uint32_t k = 0; k < count; k++)
        vec_push(p->scratch, &p->types, f->values.at[old + k].type);
    if (p->tested)
        vec_push(p->scratch, &p->types, p->tested > 1 ? IR_I32 : IR_I1);
    for (uint32_t n = 0; n < p->groups.len; n++) {
        group *g = &p->groups.at[n];
        for (uint32_t k = 0; k < g->count; k++) {
            if (g->values[k])
                continue;
            g->slots[k] = p->types.len;
            vec_push(p->scratch, &p->types, type_given(f, g, k));
        }
    }
    replace_results(p, control, old, count);
}

static void turn_to_break(plainer *p, ir_inst_id control, ir_inst_id id, uint32_t own)
{
    ir_func *f = p->f;
    ir_inst *i = ir_at(f, id);
    const group *g = group_of(p, id);
    if (!g && (i->op != IR_EXIT || i->aux != control))
        return;
    p->operands.len = 0;
    for (uint32_t k = 0; k < p->types.len; k++)
        vec_push(p->scratch, &p->operands,
                 !g && k < own ? ir_operand(f, i, k) : zero_of(f, p->types.at[k]));
    if (g && (uint32_t)(g - p->groups.at) < p->tested)
        p->operands.at[own] =
            ir_constant(f, (ir_type)p->types.at[own], (uint64_t)(g - p->groups.at) + 1);
    for (uint32_t k = 0; g && k < g->count; k++)
        if (!g->values[k])
            p->operands.at[g->slots[k]] = ir_operand(f, ir_at(f, id), k);
    ir_at(f, id)->op = IR_EXIT;
    ir_at(f, id)->aux = control;
    ir_set_operands(f, id, p->operands.at, p->operands.len);
}

// --- behind the control
static void emit_transfer(plainer *p, ir_cursor *c, ir_inst_id control, const group *g)
{
    ir_func *f = p->f;
    p->operands.len = 0;
    for (uint32_t k = 0; k < g->count; k++)
        vec_push(p->scratch, &p->operands,
                 g->values[k] ? g->values[k] : ir_at(f, control)->result + g->slots[k]);
    if (g->op == IR_EXIT)
        ir_exit(c, g->target, p->operands.at, p->operands.len);
    else
        ir_next(c, g->target, p->operands.at, p->operands.len);
}

static ir_inst_id emit_branches(plainer *p, ir_inst_id control, ir_ref selector)
{
    ir_func *f = p->f;
    ir_cursor c = ir_before(f, ir_at(f, control)->next);
    c.at = ir_at(f, control)->at;
    uint32_t count = p->tested;
    ir_inst_id branch =
        ir_control(&c, count > 1 ? IR_SWITCH : IR_IF, &selector, 1, count + 1, NULL, 0);
    for (uint32_t n = 0; n <= count; n++) {
        ir_cursor in = ir_at_end(f, ir_at(f, branch)->regions + n, c.at);
        if (n < count)
            emit_transfer(p, &in, control, &p->groups.at[n]);
        else
            ir_exit(&in, branch, NULL, 0);
        if (count > 1 && n < count)
            ir_at(f, branch)->cases[n] = (int64_t)n + 1;
    }
    return branch;
}

// Control that passes all branches goes to the last target.
static void end_region(plainer *p, ir_inst_id control, ir_inst_id last)
{
    ir_func *f = p->f;
    ir_region_id region = ir_at(f, control)->parent;
    while (ir_at(f, last)->next)
        ir_remove(f, ir_region_at(f, region)->last);
    ir_cursor c = ir_at_end(f, region, ir_at(f, control)->at);
    emit_transfer(p, &c, control, &vec_last(&p->groups));
}

static void plain_loop_or_block(plainer *p, ir_inst_id control)
{
    list_all(p, control);
    find_groups(p, control);
    if (!p->groups.len)
        return;
    bool has_own_exits = false;
    for (uint32_t k = 0; k < p->inside.len; k++) {
        const ir_inst *i = ir_at(p->f, p->inside.at[k]);
        has_own_exits |= i->op == IR_EXIT && i->aux == control;
    }
    uint32_t own = ir_at(p->f, control)->result_count;
    p->tested = has_own_exits ? p->groups.len : p->groups.len - 1;
    add_results(p, control);
    for (uint32_t k = 0; k < p->inside.len; k++)
        turn_to_break(p, control, p->inside.at[k], own);
    ir_inst_id last = control;
    if (p->tested)
        last = emit_branches(p, control, ir_at(p->f, control)->result + own);
    if (!has_own_exits)
        end_region(p, control, last);
}

// --- branches
// A branch that is left from inside an inner branch gets a block around it, which those leave.
static ir_inst_id plain_branch(plainer *p, ir_inst_id branch)
{
    ir_func *f = p->f;
    ir_inst_id block = 0;
    list_all(p, branch);
    for (uint32_t k = 0; k < p->inside.len; k++) {
        ir_inst_id id = p->inside.at[k];
        if (ir_at(f, id)->op != IR_EXIT || ir_at(f, id)->aux != branch || owner_of(f, id) == branch)
            continue;
        if (!block) {
            ir_cursor c = ir_before(f, branch);
            block = ir_control(&c, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0);
        }
        ir_at(f, id)->aux = block;
    }
    if (!block)
        return branch;
    // The block takes over the results, the branch gives it fresh ones.
    ir_inst *x = ir_at(f, branch), *b = ir_at(f, block);
    b->result = x->result;
    b->result_count = x->result_count;
    p->types.len = p->operands.len = 0;
    for (uint32_t k = 0; k < b->result_count; k++) {
        f->values.at[b->result + k].owner = block;
        vec_push(p->scratch, &p->types, f->values.at[b->result + k].type);
    }
    ir_set_results(f, branch, p->types.at, p->types.len);
    ir_unlink(f, branch);
    ir_cursor c = ir_at_end(f, ir_at(f, block)->regions, ir_at(f, branch)->at);
    ir_insert(&c, branch);
    for (uint32_t k = 0; k < p->types.len; k++)
        vec_push(p->scratch, &p->operands, ir_at(f, branch)->result + k);
    ir_exit(&c, block, p->operands.at, p->operands.len);
    return block;
}

static void plain_region(plainer *p, ir_region_id region)
{
    ir_func *f = p->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        if (!ir_is_control((ir_op)ir_at(f, id)->op))
            continue;
        for (uint32_t k = 0; k < ir_at(f, id)->region_count; k++)
            plain_region(p, ir_at(f, id)->regions + k);
        if (!has_breaks(ir_at(f, id)->op))
            id = plain_branch(p, id);
        if (has_breaks(ir_at(f, id)->op))
            plain_loop_or_block(p, id);
    }
}

ir_inst_id exits_find_far(const ir_func *f)
{
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op != IR_EXIT && i->op != IR_NEXT)
            continue;
        ir_inst_id x = owner_of(f, id);
        if (has_breaks(ir_at(f, i->aux)->op))
            while (!has_breaks(ir_at(f, x)->op))
                x = owner_of(f, x);
        if (x != i->aux)
            return id;
    }
    return 0;
}

bool pass_exits(ir_func *f, pass_ctx *ctx)
{
    if (!exits_find_far(f))
        return false;
    plainer p = {.f = f, .scratch = ctx->scratch};
    plain_region(&p, f->body);
    while (p.with.len < f->values.len)
        vec_push(p.scratch, &p.with, 0);
    ir_rename(f, p.with.at);
    ir_compact(f, ctx->scratch);
    must(!exits_find_far(f));
    return true;
}
