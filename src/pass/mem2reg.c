// Scalar locals become values. A local is a slot here when all that is done with it is loading and
// storing it whole, with one type. One walk in reading order carries the newest value of every slot
// (`now`): a store sets it, a load is renamed to it. Where control meets, values travel as results
// of control instructions and as arguments of loops, only for slots that are stored inside.
//
// A slot lives in its home: the smallest region around all of its accesses. If the first access
// there is a store, nothing enters from outside, and loops around the home need not carry it.
// Otherwise the home moves out of all loops, because memory keeps its value from round to round. A
// slot that was never stored reads as 0.
#include "pass/passes.h"

typedef struct slot {
    bool is_bad;
    uint8_t type;           // IR_VOID: not accessed yet
    ir_inst_id first, last; // accesses in reading order
    ir_region_id home;
} slot;

typedef vec(uint32_t) slot_list;

typedef struct carrier { // a control instruction through which slots travel
    slot_list modified;  // stored inside, home outside
    slot_list results;   // of those: the ones that need a result
} carrier;

typedef struct promoter {
    ir_func *f;
    arena *scratch;
    uint32_t value_count; // before the pass
    slot *slots;          // per local
    uint32_t *local_of;   // per value: index + 1 of the local it points to
    uint32_t *depth;      // per region
    map carried;          // (control instruction, slot) -> seen
    uint32_t *carrier_of; // per instruction: index into carriers of a control instruction; 0: none
    vec(carrier) carriers;
    ir_ref *now;          // per local
    vec(ir_ref) with;     // per value, grows
    vec(ir_ref) operands; // scratch lists
    vec(uint8_t) types;
} promoter;

static ir_region_id outer_region(const promoter *p, ir_region_id r)
{
    return ir_at(p->f, ir_region_at(p->f, r)->owner)->parent;
}

// --- which locals are slots, and where they live

static void note_use(promoter *p, ir_inst_id id, uint32_t operand, uint32_t local)
{
    slot *s = &p->slots[local];
    const ir_inst *i = ir_at(p->f, id);
    bool is_plain = (i->op == IR_LOAD && i->result_count == 1) ||
                    (i->op == IR_STORE && operand == 0 && i->operand_count == 2);
    if (!is_plain || i->imm || i->hint == IR_HINT_VOLATILE ||
        ir_type_size((ir_type)i->type) != p->f->locals.at[local].size ||
        (s->type && s->type != i->type)) {
        s->is_bad = true;
        return;
    }
    s->type = i->type;
    s->last = id;
    if (!s->first) {
        s->first = id;
        s->home = i->parent;
        return;
    }
    ir_region_id a = s->home, b = i->parent;
    while (a != b) {
        if (p->depth[a] >= p->depth[b])
            a = outer_region(p, a);
        else
            b = outer_region(p, b);
    }
    s->home = a;
}

static void find_slots(promoter *p, ir_region_id region, uint32_t depth)
{
    const ir_func *f = p->f;
    p->depth[region] = depth;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        const ir_ref *operands = ir_operands(f, i);
        if (i->op == IR_LOCAL)
            p->local_of[i->result] = i->aux + 1;
        for (uint32_t k = 0; k < i->operand_count; k++) {
            ir_ref r = operands[k];
            if (!ir_is_const(r) && p->local_of[r])
                note_use(p, id, k, p->local_of[r] - 1);
        }
        for (uint32_t k = 0; k < i->region_count; k++)
            find_slots(p, i->regions + k, depth + 1);
    }
}

// only_set: a slot that may be read before it is stored stays in memory.
static bool settle_homes(promoter *p, bool only_set)
{
    const ir_func *f = p->f;
    bool has_any = false;
    for (uint32_t k = 0; k < f->locals.len; k++) {
        slot *s = &p->slots[k];
        if (s->is_bad || !s->first)
            continue;
        bool is_set = ir_at(f, s->first)->op == IR_STORE && ir_at(f, s->first)->parent == s->home;
        s->is_bad = only_set && !is_set;
        has_any |= !s->is_bad;
        if (is_set || s->is_bad)
            continue;
        for (ir_region_id r = s->home; r != f->body; r = outer_region(p, r))
            if (ir_at(f, ir_region_at(f, r)->owner)->op == IR_LOOP)
                s->home = outer_region(p, r);
    }
    return has_any;
}

static slot *slot_of(const promoter *p, const ir_inst *i, uint32_t *index)
{
    ir_ref pointer = ir_operand(p->f, i, 0);
    if (ir_is_const(pointer) || pointer >= p->value_count || !p->local_of[pointer])
        return NULL;
    *index = p->local_of[pointer] - 1;
    slot *s = &p->slots[*index];
    return s->is_bad || !s->first ? NULL : s;
}

// The access in its home region that holds the slot's last access.
static bool is_last_in_home(const promoter *p, const slot *s, ir_inst_id control)
{
    if (ir_at(p->f, control)->parent != s->home)
        return false;
    ir_inst_id i = s->last;
    while (ir_at(p->f, i)->parent != s->home)
        i = ir_region_at(p->f, ir_at(p->f, i)->parent)->owner;
    return i == control;
}

static const carrier *carrier_at(const promoter *p, ir_inst_id control)
{
    return &p->carriers.at[p->carrier_of[control]];
}

static carrier *make_carrier(promoter *p, ir_inst_id control)
{
    if (!p->carrier_of[control]) {
        p->carrier_of[control] = p->carriers.len;
        vec_push(p->scratch, &p->carriers, (carrier){0});
    }
    return &p->carriers.at[p->carrier_of[control]];
}

static void find_modified(promoter *p)
{
    const ir_func *f = p->f;
    for (uint32_t id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        uint32_t index;
        if (i->op != IR_STORE || !i->parent)
            continue;
        const slot *s = slot_of(p, i, &index);
        if (!s)
            continue;
        for (ir_region_id r = i->parent; r != s->home; r = outer_region(p, r)) {
            ir_inst_id control = ir_region_at(f, r)->owner;
            uint64_t *seen = map_at(&p->carried, (uint64_t)control << 32 | index);
            if (*seen)
                break;
            *seen = 1;
            carrier *c = make_carrier(p, control);
            vec_push(p->scratch, &c->modified, index);
            if (!is_last_in_home(p, s, control))
                vec_push(p->scratch, &c->results, index);
        }
    }
}

// --- the walk

static ir_ref resolve(promoter *p, ir_ref r)
{
    while (!ir_is_const(r) && r < p->with.len && p->with.at[r])
        r = p->with.at[r];
    return r;
}

static void rename_to(promoter *p, ir_ref old, ir_ref fresh, uint32_t count)
{
    vec_reserve(p->scratch, &p->with, p->f->values.len);
    while (p->with.len < p->f->values.len)
        p->with.at[p->with.len++] = 0;
    for (uint32_t k = 0; k < count; k++) {
        p->with.at[old + k] = fresh + k;
        p->f->values.at[fresh + k].name = p->f->values.at[old + k].name;
    }
}

static void push_operand(promoter *p, ir_ref r)
{
    vec_push(p->scratch, &p->operands, r);
}

static void add_results(promoter *p, ir_inst_id id)
{
    ir_func *f = p->f;
    const slot_list *added = &carrier_at(p, id)->results;
    ir_inst old = *ir_at(f, id);
    if (!added->len)
        return;
    p->types.len = 0;
    for (uint32_t k = 0; k < old.result_count; k++)
        vec_push(p->scratch, &p->types, f->values.at[old.result + k].type);
    for (uint32_t k = 0; k < added->len; k++)
        vec_push(p->scratch, &p->types, p->slots[added->at[k]].type);
    ir_set_results(f, id, p->types.at, p->types.len);
    ir_ref fresh = ir_at(f, id)->result;
    rename_to(p, old.result, fresh, old.result_count);
    for (uint32_t k = 0; k < added->len; k++)
        f->values.at[fresh + old.result_count + k].name = f->locals.at[added->at[k]].name;
}

static void add_loop_args(promoter *p, ir_inst_id id)
{
    ir_func *f = p->f;
    const slot_list *added = &carrier_at(p, id)->modified;
    if (!added->len)
        return;
    ir_region_id body = ir_at(f, id)->regions;
    ir_region old = *ir_region_at(f, body);
    ir_region_at(f, body)->arg_count = 0;
    for (uint32_t k = 0; k < old.arg_count; k++)
        ir_region_arg(f, body, ir_type_of(f, old.args + k));
    for (uint32_t k = 0; k < added->len; k++)
        ir_region_arg(f, body, (ir_type)p->slots[added->at[k]].type);
    ir_ref fresh = ir_region_at(f, body)->args;
    rename_to(p, old.args, fresh, old.arg_count);
    p->operands.len = 0;
    for (uint32_t k = 0; k < ir_at(f, id)->operand_count; k++)
        push_operand(p, ir_operand(f, ir_at(f, id), k));
    for (uint32_t k = 0; k < added->len; k++) {
        push_operand(p, p->now[added->at[k]]);
        p->now[added->at[k]] = fresh + old.arg_count + k;
        f->values.at[fresh + old.arg_count + k].name = f->locals.at[added->at[k]].name;
    }
    ir_set_operands(f, id, p->operands.at, p->operands.len);
}

static void walk_region(promoter *p, ir_region_id region);

static void walk_control(promoter *p, ir_inst_id id)
{
    ir_func *f = p->f;
    const slot_list *modified = &carrier_at(p, id)->modified,
                    *results = &carrier_at(p, id)->results;
    add_results(p, id);
    ir_ref *before = arena_array(p->scratch, ir_ref, modified->len);
    if (ir_at(f, id)->op == IR_LOOP)
        add_loop_args(p, id);
    for (uint32_t k = 0; k < modified->len; k++)
        before[k] = p->now[modified->at[k]];
    for (uint32_t r = 0; r < ir_at(f, id)->region_count; r++) {
        for (uint32_t k = 0; k < modified->len; k++)
            p->now[modified->at[k]] = before[k];
        walk_region(p, ir_at(f, id)->regions + r);
    }
    const ir_inst *i = ir_at(f, id);
    ir_ref first = i->result + i->result_count - results->len;
    for (uint32_t k = 0; k < results->len; k++)
        p->now[results->at[k]] = first + k;
}

// What a jump hands over: its own operands, then the newest values of the slots its target carries.
static void extend_transfer(promoter *p, ir_inst_id id)
{
    ir_func *f = p->f;
    const ir_inst *i = ir_at(f, id);
    const carrier *target = carrier_at(p, i->aux);
    const slot_list *added = i->op == IR_EXIT ? &target->results : &target->modified;
    if (!added->len)
        return;
    p->operands.len = 0;
    for (uint32_t k = 0; k < i->operand_count; k++)
        push_operand(p, ir_operand(f, i, k));
    for (uint32_t k = 0; k < added->len; k++)
        push_operand(p, p->now[added->at[k]]);
    ir_set_operands(f, id, p->operands.at, p->operands.len);
}

static void walk_region(promoter *p, ir_region_id region)
{
    ir_func *f = p->f;
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        ir_inst *i = ir_at(f, id);
        next = i->next;
        ir_ref *operands = ir_operands(f, i);
        for (uint32_t k = 0; k < i->operand_count; k++)
            operands[k] = resolve(p, operands[k]);
        uint32_t index = 0;
        if (i->op == IR_LOAD && slot_of(p, i, &index)) {
            if (i->result < p->with.len)
                p->with.at[i->result] = p->now[index];
            ir_remove(f, id);
        } else if (i->op == IR_STORE && slot_of(p, i, &index)) {
            ir_ref v = ir_operand(f, i, 1);
            p->now[index] = v;
            if (!ir_is_const(v) && !f->values.at[v].name && f->values.at[v].def == IR_DEF_INST)
                f->values.at[v].name = f->locals.at[index].name;
            ir_remove(f, id);
        } else if (i->op == IR_EXIT || i->op == IR_NEXT) {
            extend_transfer(p, id);
        } else if (ir_is_control((ir_op)i->op)) {
            walk_control(p, id);
        }
    }
}

static void drop_pointers(promoter *p)
{
    ir_func *f = p->f;
    for (uint32_t id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_LOCAL && i->parent && !p->slots[i->aux].is_bad)
            ir_remove(f, id);
    }
}

static bool promote(ir_func *f, pass_ctx *ctx, bool only_set)
{
    if (!f->locals.len)
        return false;
    arena *a = ctx->scratch;
    promoter p = {.f = f,
                  .scratch = a,
                  .value_count = f->values.len,
                  .slots = arena_array(a, slot, f->locals.len),
                  .local_of = arena_array(a, uint32_t, f->values.len),
                  .depth = arena_array(a, uint32_t, f->regions.len),
                  .carried = map_make(a),
                  .carrier_of = arena_array(a, uint32_t, f->insts.len),
                  .now = arena_array(a, ir_ref, f->locals.len)};
    find_slots(&p, f->body, 0);
    if (!settle_homes(&p, only_set))
        return false;
    vec_push(a, &p.carriers, (carrier){0}); // 0: of those that carry nothing
    find_modified(&p);
    for (uint32_t k = 0; k < f->locals.len; k++)
        if (p.slots[k].first && !p.slots[k].is_bad)
            p.now[k] = ir_constant(f, (ir_type)p.slots[k].type, 0);
    rename_to(&p, 0, 0, 0);
    // New values are never renamed and never point to a local; loads of old values are looked up
    // by their old numbers only.
    walk_region(&p, f->body);
    drop_pointers(&p);
    return true;
}

bool pass_mem2reg(ir_func *f, pass_ctx *ctx)
{
    return promote(f, ctx, false);
}

bool pass_set2reg(ir_func *f, pass_ctx *ctx)
{
    return promote(f, ctx, true);
}
