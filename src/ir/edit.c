// Changing a function in place: linking and unlinking instructions, renaming values, copying
// regions, and compaction, which drops what was removed and numbers everything in reading order.
#include "ir/ir.h"

void ir_unlink(ir_func *f, ir_inst_id inst)
{
    ir_inst *i = ir_at(f, inst);
    ir_region *r = ir_region_at(f, i->parent);
    if (i->prev)
        ir_at(f, i->prev)->next = i->next;
    else
        r->first = i->next;
    if (i->next)
        ir_at(f, i->next)->prev = i->prev;
    else
        r->last = i->prev;
    i->prev = i->next = 0;
    i->parent = 0;
}

void ir_insert(ir_cursor *c, ir_inst_id inst)
{
    ir_func *f = c->f;
    ir_inst *i = ir_at(f, inst);
    ir_region *r = ir_region_at(f, c->region);
    i->parent = c->region;
    i->next = c->before;
    i->prev = c->before ? ir_at(f, c->before)->prev : r->last;
    if (i->prev)
        ir_at(f, i->prev)->next = inst;
    else
        r->first = inst;
    if (c->before)
        ir_at(f, c->before)->prev = inst;
    else
        r->last = inst;
}

static void clear_inst(ir_func *f, ir_inst_id inst)
{
    ir_inst *i = ir_at(f, inst);
    for (uint32_t k = 0; k < i->region_count; k++) {
        ir_region *r = ir_region_at(f, i->regions + k);
        for (ir_inst_id in = r->first, next; in; in = next) {
            next = ir_at(f, in)->next;
            clear_inst(f, in);
        }
        r->first = r->last = 0;
    }
    *i = (ir_inst){.op = IR_NOP};
}

void ir_remove(ir_func *f, ir_inst_id inst)
{
    ir_unlink(f, inst);
    clear_inst(f, inst);
}

void ir_replace_uses(ir_func *f, ir_ref old, ir_ref with)
{
    for (uint32_t i = 1; i < f->insts.len; i++) {
        const ir_inst *inst = ir_at(f, i);
        for (uint32_t k = 0; k < inst->operand_count; k++)
            if (ir_operand(f, inst, k) == old)
                ir_operands(f, inst)[k] = with;
    }
}

static ir_ref renamed(const ir_ref *with, ir_ref r)
{
    while (r && !ir_is_const(r) && with[r])
        r = with[r];
    return r;
}

void ir_rename(ir_func *f, const ir_ref *with)
{
    for (uint32_t i = 1; i < f->insts.len; i++) {
        const ir_inst *inst = ir_at(f, i);
        ir_ref *operands = ir_operands(f, inst);
        for (uint32_t k = 0; k < inst->operand_count; k++)
            operands[k] = renamed(with, operands[k]);
    }
}

// --- copying

typedef struct cloner {
    ir_func *f;
    const ir_func *from;
    map *values, *targets;
    map inside; // old control instruction -> its copy
} cloner;

static ir_ref clone_ref(cloner *cl, ir_ref r)
{
    if (!r)
        return 0;
    if (ir_is_const(r)) {
        const ir_const *k = &cl->from->consts.at[ir_index(r)];
        return cl->f == cl->from ? r : ir_constant(cl->f, k->type, k->bits);
    }
    const uint64_t *found = map_find(cl->values, r);
    if (found)
        return (ir_ref)*found;
    must(cl->f == cl->from);
    return r;
}

static uint32_t clone_target(cloner *cl, uint32_t target)
{
    const uint64_t *found = map_find(&cl->inside, target);
    if (!found && cl->targets)
        found = map_find(cl->targets, target);
    if (found)
        return (uint32_t)*found;
    must(cl->f == cl->from);
    return target;
}

static void clone_into(cloner *cl, ir_cursor *c, ir_region_id from);

static void clone_values(cloner *cl, ir_ref old, ir_ref fresh, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        *map_at(cl->values, old + k) = fresh + k;
        cl->f->values.at[fresh + k].name = cl->from->values.at[old + k].name;
    }
}

static void clone_inst(cloner *cl, ir_cursor *c, ir_inst_id id)
{
    // Copies by value: the arrays may move when source and destination are the same function.
    ir_inst old = *ir_at(cl->from, id);
    enum { FEW = 32 };
    ir_ref few[FEW];
    uint8_t few_types[FEW];
    ir_ref *operands =
        old.operand_count <= FEW ? few : arena_array(cl->f->module->in, ir_ref, old.operand_count);
    uint8_t *types =
        old.result_count <= FEW ? few_types : arena_alloc(cl->f->module->in, old.result_count);
    for (uint32_t k = 0; k < old.operand_count; k++)
        operands[k] = clone_ref(cl, ir_operand(cl->from, &old, k));
    for (uint32_t k = 0; k < old.result_count; k++)
        types[k] = cl->from->values.at[old.result + k].type;
    c->at = old.at;
    ir_inst_id copy = ir_is_control((ir_op)old.op)
                          ? ir_control(c, (ir_op)old.op, operands, old.operand_count,
                                       old.region_count, types, old.result_count)
                          : ir_add(c, (ir_op)old.op, (ir_type)old.type, operands, old.operand_count,
                                   types, old.result_count);
    ir_inst *made = ir_at(cl->f, copy);
    made->hint = old.hint;
    made->order = old.order;
    made->scope = old.scope;
    made->align = old.align; // or unroll
    made->aux = old.op == IR_EXIT || old.op == IR_NEXT ? clone_target(cl, old.aux) : old.aux;
    if (old.op != IR_SWITCH)
        made->imm = old.imm;
    else if (old.region_count > 1)
        memcpy(made->cases, old.cases, (old.region_count - 1) * sizeof *old.cases);
    clone_values(cl, old.result, made->result, old.result_count);
    if (!old.region_count)
        return;
    *map_at(&cl->inside, id) = copy;
    for (uint32_t k = 0; k < old.region_count; k++) {
        const ir_region from = *ir_region_at(cl->from, old.regions + k);
        ir_region_id to = ir_at(cl->f, copy)->regions + k;
        clone_values(cl, from.args, ir_region_at(cl->f, to)->args, from.arg_count);
        ir_cursor inner = ir_at_end(cl->f, to, old.at);
        clone_into(cl, &inner, old.regions + k);
    }
}

static void clone_into(cloner *cl, ir_cursor *c, ir_region_id from)
{
    span at = c->at;
    ir_inst_id last = ir_region_at(cl->from, from)->last;
    for (ir_inst_id id = ir_region_at(cl->from, from)->first; id;
         id = id == last ? 0 : ir_at(cl->from, id)->next)
        clone_inst(cl, c, id);
    c->at = at;
}

void ir_clone_region(ir_cursor *c, const ir_func *from_func, ir_region_id from, map *value_map,
                     map *target_map)
{
    cloner cl = {c->f, from_func, value_map, target_map, map_make(value_map->in)};
    clone_into(&cl, c, from);
}

// --- compaction

typedef struct packer {
    ir_func *f;
    uint32_t *value_to, *control_to, *const_to; // old -> new; control instructions
    ir_value *values;
    ir_const *consts;
    ir_inst *insts;
    ir_region *regions;
    ir_ref *operands;
    uint32_t value_len, const_len, inst_len, region_len, operand_len;
} packer;

static void pack_values(packer *p, ir_ref first, uint32_t count, uint32_t owner)
{
    for (uint32_t k = 0; k < count; k++) {
        ir_value *v = &p->values[p->value_len];
        *v = p->f->values.at[first + k];
        v->owner = owner;
        p->value_to[first + k] = p->value_len++;
    }
}

static ir_ref pack_ref(packer *p, ir_ref r)
{
    if (!ir_is_const(r))
        return p->value_to[r];
    uint32_t k = ir_index(r);
    if (!p->const_to[k]) {
        p->consts[p->const_len] = p->f->consts.at[k];
        p->const_to[k] = p->const_len++;
    }
    return p->const_to[k] | IR_CONST_BIT;
}

static void pack_region(packer *p, ir_region_id id, ir_region_id to, ir_inst_id owner);

static void pack_inside(packer *p, const ir_inst *old, ir_inst_id to)
{
    uint32_t first = p->region_len;
    p->insts[to].regions = first;
    p->region_len += old->region_count;
    for (uint32_t k = 0; k < old->region_count; k++)
        pack_region(p, old->regions + k, first + k, to);
}

static void pack_region(packer *p, ir_region_id id, ir_region_id to, ir_inst_id owner)
{
    const ir_func *f = p->f;
    const ir_region *old_region = ir_region_at(f, id);
    ir_inst_id before = 0;
    p->regions[to] = (ir_region){.owner = owner,
                                 .first = old_region->first ? p->inst_len : 0,
                                 .args = old_region->arg_count ? p->value_len : 0,
                                 .arg_count = old_region->arg_count};
    pack_values(p, old_region->args, old_region->arg_count, to);
    for (ir_inst_id from = old_region->first; from; from = ir_at(f, from)->next) {
        const ir_inst *old = ir_at(f, from);
        ir_inst_id at = p->inst_len++;
        ir_inst *i = &p->insts[at];
        *i = *old;
        i->operands = p->operand_len;
        for (uint32_t k = 0; k < old->operand_count; k++)
            p->operands[p->operand_len++] = pack_ref(p, ir_operand(f, old, k));
        i->result = old->result_count ? p->value_len : 0;
        pack_values(p, old->result, old->result_count, at);
        i->parent = to;
        i->prev = before;
        i->next = 0;
        if (before)
            p->insts[before].next = at;
        before = at;
        if (old->op == IR_EXIT || old->op == IR_NEXT)
            i->aux = p->control_to[old->aux];
        if (old->region_count) {
            p->control_to[from] = at;
            pack_inside(p, old, at);
        }
    }
    p->regions[to].last = before;
}

static void rebuild_const_index(ir_func *f)
{
    uint32_t count = f->consts.len;
    if (f->const_index.slots)
        memset(f->const_index.slots, 0, f->const_index.slot_cap * sizeof(uint32_t));
    f->const_index.len = 0;
    f->consts.len = 1;
    for (uint32_t k = 1; k < count; k++)
        ir_constant(f, f->consts.at[k].type, f->consts.at[k].bits);
}

void ir_compact(ir_func *f, arena *scratch)
{
    arena *a = scratch;
    arena_mark mark = arena_save(a);
    // Operand slices are never shared, but a removed instruction leaves its slice behind: what is
    // left fits.
    packer p = {
        .f = f,
        .value_to = arena_array(a, uint32_t, f->values.len),
        .control_to = arena_array(a, uint32_t, f->insts.len),
        .const_to = arena_array(a, uint32_t, f->consts.len),
        .values = arena_room(a, f->values.len * sizeof(ir_value)),
        .consts = arena_room(a, f->consts.len * sizeof(ir_const)),
        .insts = arena_room(a, f->insts.len * sizeof(ir_inst)),
        .regions = arena_room(a, f->regions.len * sizeof(ir_region)),
        .operands = arena_room(a, f->operands.len * sizeof(ir_ref)),
        .value_len = 1,
        .const_len = 1,
        .inst_len = 1,
        .region_len = 1,
    };
    // Index 0 means "none"; all else is written below.
    p.values[0] = (ir_value){0};
    p.consts[0] = (ir_const){0};
    p.insts[0] = (ir_inst){0};
    p.regions[0] = (ir_region){0};
    pack_values(&p, f->first_param, f->params.len, 0);
    ir_region_id body = p.region_len++;
    pack_region(&p, f->body, body, 0);
    memcpy(f->values.at, p.values, p.value_len * sizeof *p.values);
    memcpy(f->consts.at, p.consts, p.const_len * sizeof *p.consts);
    memcpy(f->insts.at, p.insts, p.inst_len * sizeof *p.insts);
    memcpy(f->regions.at, p.regions, p.region_len * sizeof *p.regions);
    if (p.operand_len)
        memcpy(f->operands.at, p.operands, p.operand_len * sizeof *p.operands);
    f->values.len = p.value_len;
    f->consts.len = p.const_len;
    f->insts.len = p.inst_len;
    f->regions.len = p.region_len;
    f->operands.len = p.operand_len;
    f->first_param = p.value_to[f->first_param];
    f->body = body;
    arena_restore(a, mark);
    rebuild_const_index(f);
}
