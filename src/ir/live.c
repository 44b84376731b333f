// A function -> where each of its values is needed. Start at ir_live_number, then ir_live_spans or
// ir_live_at.
#include "ir/live.h"

// --- positions
static void number_region(ir_live *l, ir_region_id region, uint32_t depth)
{
    const ir_func *f = l->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        l->start[id] = l->end[id] = ++l->last;
        l->depth[id] = depth;
        for (uint32_t k = 0; k < i->region_count; k++)
            number_region(l, i->regions + k, depth + (i->op == IR_LOOP));
        // The last round's end and the control's own are two positions.
        if (i->region_count)
            l->end[id] = l->last += 2;
    }
}

ir_live ir_live_number(const ir_func *f, arena *a)
{
    ir_live l = {.f = f,
                 .a = a,
                 .start = arena_array(a, uint32_t, f->insts.len + 1),
                 .end = arena_array(a, uint32_t, f->insts.len + 1),
                 .depth = arena_array(a, uint32_t, f->insts.len + 1)};
    number_region(&l, f->body, 0);
    return l;
}

// --- spans
static void begin(ir_live *l, ir_ref first, uint32_t count, uint32_t at, uint32_t until)
{
    for (uint32_t k = 0; k < count; k++)
        l->lives[first + k] = (ir_life){.from = at, .until = until, .last_use = at};
}

static void extend(ir_life *life, uint32_t until)
{
    if (life->until < until)
        life->until = until;
}

void ir_live_use(ir_live *l, ir_inst_id id, ir_ref r)
{
    if (!r || ir_is_const(r))
        return;
    ir_life *life = &l->lives[r];
    life->last_use = l->start[id]; // positions only grow
    extend(life, l->start[id]);
    // The outermost loop around this use that the value comes into from outside.
    for (uint32_t k = 0; k < l->around.len; k++)
        if (l->start[l->around.at[k]] > life->from) {
            extend(life, l->end[l->around.at[k]] - 1);
            return;
        }
}

static void span_region(ir_live *l, ir_region_id region, const ir_live_rules *rules);

static void span_control(ir_live *l, ir_inst_id id, const ir_live_rules *rules)
{
    const ir_inst *i = ir_at(l->f, id);
    bool is_early = rules->is_early && rules->is_early(rules->user, id);
    if (is_early)
        begin(l, i->result, i->result_count, l->start[id], l->end[id]);
    if (i->op == IR_LOOP) {
        const ir_region *body = ir_region_at(l->f, i->regions);
        begin(l, body->args, body->arg_count, l->start[id], l->end[id] - 1);
        vec_push(l->a, &l->around, id);
    }
    for (uint32_t k = 0; k < i->region_count; k++)
        span_region(l, i->regions + k, rules);
    if (i->op == IR_LOOP)
        (void)vec_pop(&l->around);
    if (!is_early)
        begin(l, i->result, i->result_count, l->end[id], l->end[id]);
}

static void span_region(ir_live *l, ir_region_id region, const ir_live_rules *rules)
{
    const ir_func *f = l->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        if (rules->uses) {
            if (!rules->uses(rules->user, l, id))
                continue;
        } else {
            for (uint32_t k = 0; k < i->operand_count; k++)
                ir_live_use(l, id, ir_operand(f, i, k));
        }
        if (i->region_count)
            span_control(l, id, rules);
        else
            begin(l, i->result, i->result_count, l->start[id], l->start[id]);
    }
}

void ir_live_spans(ir_live *l, const ir_live_rules *rules)
{
    static const ir_live_rules usual;
    l->lives = arena_array(l->a, ir_life, l->f->values.len + 1);
    span_region(l, l->f->body, rules ? rules : &usual);
}

// --- uses
static void count_or_list(ir_live *l, bool lists)
{
    const ir_func *f = l->f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        for (uint32_t k = 0; k < i->operand_count && i->op != IR_NOP; k++) {
            ir_ref r = ir_operand(f, i, k);
            if (ir_is_const(r))
                continue;
            if (lists)
                l->uses[l->first_use[r]++] = id;
            else
                l->first_use[r + 1]++;
        }
    }
}

void ir_live_uses(ir_live *l)
{
    uint32_t values = l->f->values.len, total = 0;
    l->first_use = arena_array(l->a, uint32_t, values + 2);
    count_or_list(l, false);
    for (uint32_t v = 0; v <= values; v++) {
        total += l->first_use[v];
        l->first_use[v] = total;
    }
    l->uses = arena_array(l->a, ir_inst_id, total + 1);
    count_or_list(l, true);
    // Listing moved every start to the next value's: move them back.
    for (uint32_t v = values; v > 0; v--)
        l->first_use[v] = l->first_use[v - 1];
    l->first_use[0] = 0;
}

// --- points
ir_point ir_point_behind(const ir_live *l, ir_inst_id id)
{
    return (ir_point){l->end[id], ir_at(l->f, id)->parent};
}

ir_point ir_point_of(const ir_live *l, ir_ref value)
{
    const ir_value *v = &l->f->values.at[value];
    if (v->def == IR_DEF_PARAM)
        return (ir_point){0, l->f->body};
    if (v->def == IR_DEF_INST)
        return ir_point_behind(l, v->owner);
    ir_inst_id owner = ir_region_at(l->f, v->owner)->owner;
    return (ir_point){owner ? l->start[owner] : 0, v->owner};
}

static ir_inst_id owner_of(const ir_live *l, ir_region_id r)
{
    return ir_region_at(l->f, r)->owner;
}

// Is region `r` the region `outer`, or somewhere in it?
static bool is_inside(const ir_live *l, ir_region_id r, ir_region_id outer)
{
    while (r && r != outer) {
        ir_inst_id owner = owner_of(l, r);
        r = owner ? ir_at(l->f, owner)->parent : 0;
    }
    return r == outer;
}

// Two places in different branches of one `if` or `switch`: after one comes never the other,
// unless a loop runs around both.
static bool are_exclusive(const ir_live *l, ir_region_id a, ir_region_id b)
{
    for (; a; a = ir_at(l->f, owner_of(l, a))->parent) {
        ir_inst_id owner = owner_of(l, a);
        if (!owner || is_inside(l, b, a))
            return false;
        const ir_inst *i = ir_at(l->f, owner);
        for (uint32_t k = 0; k < i->region_count; k++)
            if (i->regions + k != a && is_inside(l, b, i->regions + k))
                return i->op == IR_IF || i->op == IR_SWITCH;
    }
    return false;
}

// Is there a loop around `p` and the use, outside of which the value was made?
static bool comes_round(const ir_live *l, ir_point made, ir_point p, ir_inst_id use)
{
    for (ir_region_id r = p.region; r && r != made.region;) {
        ir_inst_id owner = owner_of(l, r);
        if (!owner)
            return false;
        if (ir_at(l->f, owner)->op == IR_LOOP && l->start[use] > l->start[owner] &&
            l->start[use] < l->end[owner])
            return true;
        r = ir_at(l->f, owner)->parent;
    }
    return false;
}

bool ir_live_at(const ir_live *l, ir_ref value, ir_point p)
{
    ir_point made = ir_point_of(l, value);
    if (made.at > p.at || !is_inside(l, p.region, made.region))
        return false;
    for (uint32_t k = l->first_use[value]; k < l->first_use[value + 1]; k++) {
        ir_inst_id use = l->uses[k];
        if (comes_round(l, made, p, use))
            return true;
        if (l->start[use] > p.at && !are_exclusive(l, p.region, ir_at(l->f, use)->parent))
            return true;
    }
    return false;
}

void ir_live_list(const ir_live *l, ir_point p, arena *a, ir_refs *out)
{
    for (ir_ref v = 1; v < l->f->values.len; v++)
        if (ir_live_at(l, v, p))
            vec_push(a, out, v);
}
