// Which values share a register. The accumulator of a wgmma is updated in place and may not be
// moved while it is under way: its operand, its result, and what loops and branches make of them
// are one physical register. Two values are tied only when neither is alive where the other is
// made; what cannot be tied is moved, as everywhere else. Start at ptx_tie.
#include "back/ptx/ptx.h"
#include "ir/nv.h"

typedef struct point { // where a value is made
    uint32_t at;
    ir_region_id region;
} point;

typedef struct tier {
    const ir_func *f;
    uint32_t *start, *end;      // per instruction: positions in reading order
    uint32_t *first_use, *uses; // per value: uses[first_use[v] … first_use[v + 1]) are instructions
    ir_ref *root, *next;        // per value: its class, and the next member of the class
    bool *is_acc;               // per root: the class holds an accumulator
    uint32_t position;
} tier;

static void number_region(tier *t, ir_region_id r)
{
    for (ir_inst_id id = ir_region_at(t->f, r)->first; id; id = ir_at(t->f, id)->next) {
        const ir_inst *i = ir_at(t->f, id);
        t->start[id] = ++t->position;
        for (uint32_t k = 0; k < i->region_count; k++)
            number_region(t, i->regions + k);
        t->end[id] = i->region_count ? ++t->position : t->start[id];
    }
}

static void list_uses(tier *t, arena *scratch)
{
    const ir_func *f = t->f;
    uint32_t total = 0;
    t->first_use = arena_array(scratch, uint32_t, f->values.len + 2);
    for (int round = 0; round < 2; round++) {
        for (uint32_t k = 1; k < f->insts.len; k++) {
            const ir_inst *i = &f->insts.at[k];
            if (i->op == IR_NOP)
                continue;
            for (uint32_t n = 0; n < i->operand_count; n++) {
                ir_ref r = ir_operand(f, i, n);
                if (ir_is_const(r))
                    continue;
                if (round)
                    t->uses[t->first_use[r]++] = k;
                else
                    t->first_use[r + 1]++;
            }
        }
        if (round)
            break;
        for (uint32_t v = 0; v <= f->values.len; v++) {
            total += t->first_use[v];
            t->first_use[v] = total;
        }
        t->uses = arena_array(scratch, uint32_t, total + 1);
    }
    // filling moved every start to the next value's: move them back
    for (uint32_t v = (uint32_t)f->values.len; v > 0; v--)
        t->first_use[v] = t->first_use[v - 1];
    t->first_use[0] = 0;
}

static point made_at(const tier *t, ir_ref r)
{
    const ir_value *v = &t->f->values.at[r];
    if (v->def == IR_DEF_PARAM)
        return (point){0, t->f->body};
    if (v->def == IR_DEF_REGION_ARG) {
        ir_inst_id owner = ir_region_at(t->f, v->owner)->owner;
        return (point){owner ? t->start[owner] : 0, v->owner};
    }
    return (point){t->end[v->owner], ir_at(t->f, v->owner)->parent};
}

static ir_inst_id owner_of(const tier *t, ir_region_id r)
{
    return ir_region_at(t->f, r)->owner;
}

// Is region `r` the region `outer`, or somewhere in it?
static bool is_inside(const tier *t, ir_region_id r, ir_region_id outer)
{
    while (r && r != outer) {
        ir_inst_id owner = owner_of(t, r);
        r = owner ? ir_at(t->f, owner)->parent : 0;
    }
    return r == outer;
}

// Two places in different branches of one `if` or `switch`: after one comes never the other,
// unless a loop runs around both.
static bool are_exclusive(const tier *t, ir_region_id a, ir_region_id b)
{
    for (; a; a = ir_at(t->f, owner_of(t, a))->parent) {
        ir_inst_id owner = owner_of(t, a);
        if (!owner)
            return false;
        const ir_inst *i = ir_at(t->f, owner);
        if (is_inside(t, b, a))
            return false;
        for (uint32_t k = 0; k < i->region_count; k++)
            if (i->regions + k != a && is_inside(t, b, i->regions + k))
                return i->op == IR_IF || i->op == IR_SWITCH;
    }
    return false;
}

// Is there a loop around `p` and the use, outside of which the value was made?
static bool comes_round(const tier *t, point made, point p, ir_inst_id use)
{
    for (ir_region_id r = p.region; r && r != made.region;) {
        ir_inst_id owner = owner_of(t, r);
        if (!owner)
            return false;
        if (ir_at(t->f, owner)->op == IR_LOOP && t->start[use] > t->start[owner] &&
            t->start[use] < t->end[owner])
            return true;
        r = ir_at(t->f, owner)->parent;
    }
    return false;
}

static bool is_alive(const tier *t, ir_ref v, point p)
{
    point made = made_at(t, v);
    if (made.at > p.at || !is_inside(t, p.region, made.region))
        return false;
    for (uint32_t k = t->first_use[v]; k < t->first_use[v + 1]; k++) {
        ir_inst_id use = t->uses[k];
        if (comes_round(t, made, p, use))
            return true;
        if (t->start[use] > p.at && !are_exclusive(t, p.region, ir_at(t->f, use)->parent))
            return true;
    }
    return false;
}

static ir_ref root_of(const tier *t, ir_ref v)
{
    while (t->root[v] != v)
        v = t->root[v];
    return v;
}

static bool meet(const tier *t, ir_ref a, ir_ref b)
{
    for (ir_ref x = a; x; x = t->next[x])
        for (ir_ref y = b; y; y = t->next[y])
            if (is_alive(t, x, made_at(t, y)) || is_alive(t, y, made_at(t, x)))
                return true;
    return false;
}

static bool tie(tier *t, ir_ref a, ir_ref b, bool is_acc)
{
    if (ir_is_const(a) || ir_is_const(b))
        return false;
    a = root_of(t, a);
    b = root_of(t, b);
    if (a == b || ir_type_of(t->f, a) != ir_type_of(t->f, b))
        return false;
    if (!is_acc && !t->is_acc[a] && !t->is_acc[b])
        return false;
    if (meet(t, a, b))
        return false;
    ir_ref last = a;
    while (t->next[last])
        last = t->next[last];
    t->next[last] = b;
    t->root[b] = a;
    t->is_acc[a] = true;
    return true;
}

static bool is_wgmma(const ir_inst *i)
{
    return i->op == IR_NV && i->aux == NV_WGMMA;
}

static bool tie_list(tier *t, ir_ref first, const ir_inst *i)
{
    bool changed = false;
    for (uint32_t k = 0; k < i->operand_count; k++)
        changed |= tie(t, first + k, ir_operand(t->f, i, k), false);
    return changed;
}

static bool tie_control(tier *t, const ir_inst *i)
{
    const ir_func *f = t->f;
    switch (i->op) {
    case IR_NEXT: return tie_list(t, ir_region_at(f, ir_at(f, i->aux)->regions)->args, i);
    case IR_EXIT: return tie_list(t, ir_at(f, i->aux)->result, i);
    case IR_LOOP: return tie_list(t, ir_region_at(f, i->regions)->args, i);
    default: return false;
    }
}

ir_ref *ptx_tie(const ir_func *f, arena *scratch)
{
    bool has_any = false;
    for (uint32_t k = 1; k < f->insts.len && !has_any; k++)
        has_any = is_wgmma(&f->insts.at[k]);
    if (!has_any)
        return NULL;
    tier t = {.f = f,
              .start = arena_array(scratch, uint32_t, f->insts.len),
              .end = arena_array(scratch, uint32_t, f->insts.len),
              .root = arena_array(scratch, ir_ref, f->values.len),
              .next = arena_array(scratch, ir_ref, f->values.len),
              .is_acc = arena_array(scratch, bool, f->values.len)};
    for (uint32_t v = 0; v < f->values.len; v++)
        t.root[v] = v;
    number_region(&t, f->body);
    list_uses(&t, scratch);
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        if (!is_wgmma(i))
            continue;
        bool is_started = i->operand_count > i->result_count;
        for (uint32_t n = 0; n < i->result_count; n++) {
            t.is_acc[root_of(&t, i->result + n)] = true;
            if (is_started)
                tie(&t, i->result + n, ir_operand(f, i, n), true);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < f->insts.len; k++)
            changed |= tie_control(&t, &f->insts.at[k]);
    }
    for (uint32_t v = 1; v < f->values.len; v++)
        t.root[v] = root_of(&t, v);
    return t.root;
}
