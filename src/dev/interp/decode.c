// IR -> flat code. Two walks over the regions in reading order: the first (ir/live.h) numbers the
// instructions and finds where each value is last needed (liveness), the second gives out register
// slots and writes the code. Geometry, sizes, parameters, constants and the addresses of arrays
// cost no code: they are slots that are filled elsewhere. Start at interp_decode.
//
// Invariant: a slot is reused only after the last position, in reading order, at which any lane may
// still need its value; a value used in a loop it was not made in lives to the loop's end.
#include "dev/interp/decode.h"

// --- liveness
ir_ref decode_root(const decoder *d, ir_ref r)
{
    return ir_is_const(r) ? r : d->root[r];
}

static bool is_alias(ir_op op)
{
    return op == IR_BITCAST || op == IR_PTRTOINT || op == IR_INTTOPTR || op == IR_PTRCAST ||
           op == IR_UNIFORM;
}

// A value that is another one with a new type has no slot and no life of its own.
static bool uses_of(void *user, ir_live *l, ir_inst_id id)
{
    decoder *d = user;
    const ir_func *f = d->f;
    const ir_inst *i = ir_at(f, id);
    d->next_count[i->op == IR_NEXT ? i->aux : 0]++;
    for (uint32_t k = 0; k < i->operand_count; k++)
        ir_live_use(l, id, decode_root(d, ir_operand(f, i, k)));
    if (is_alias((ir_op)i->op)) {
        d->root[i->result] = decode_root(d, ir_operand(f, i, 0));
        return false;
    }
    for (uint32_t k = 0; k < i->result_count; k++)
        d->root[i->result + k] = i->result + k;
    if (i->op == IR_LOOP) {
        const ir_region *body = ir_region_at(f, i->regions);
        for (uint32_t k = 0; k < body->arg_count; k++)
            d->root[body->args + k] = body->args + k;
    }
    return true;
}

// Lanes that have left write a control's results while others are still inside.
static bool is_early(void *user, ir_inst_id control)
{
    (void)user;
    (void)control;
    return true;
}

static void live_func(decoder *d)
{
    const ir_func *f = d->f;
    uint32_t values = f->values.len;
    d->root = arena_array(d->scratch, ir_ref, values);
    d->slot = arena_array(d->scratch, uint32_t, values);
    d->preset = arena_array(d->scratch, uint32_t, values);
    d->next_count = arena_array(d->scratch, uint32_t, f->insts.len);
    for (uint32_t k = 0; k < f->params.len; k++)
        d->root[f->first_param + k] = f->first_param + k;
    d->live = ir_live_number(f, d->scratch);
    ir_live_spans(&d->live, &(ir_live_rules){uses_of, is_early, d});
    decode_nv_plan(d);
    d->dying = arena_array(d->scratch, uint32_t, d->live.last + 2);
    d->dying_next = arena_array(d->scratch, uint32_t, values);
    for (uint32_t v = 1; v < values; v++)
        if (d->root[v] == v && d->live.lives[v].from) {
            uint32_t at = d->live.lives[v].until;
            d->dying_next[v] = d->dying[at];
            d->dying[at] = v;
        }
}

// --- slots
static uint32_t size_class(uint32_t size)
{
    return size <= 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
}

static uint32_t slot_new(decoder *d, ir_type type)
{
    uint32_t class = size_class(ir_type_size(type));
    if (d->free_slots[class].len)
        return vec_pop(&d->free_slots[class]);
    uint32_t slot = d->p->reg_bytes;
    d->p->reg_bytes += (uint32_t)LANES << class;
    return slot;
}

static void slots_for(decoder *d, ir_ref first, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        ir_ref v = first + k;
        d->slot[v] =
            d->preset[v] ? d->preset[v] - 1 : slot_new(d, (ir_type)d->f->values.at[v].type);
    }
}

static void free_dying(decoder *d, uint32_t pos)
{
    for (uint32_t v = d->dying[pos]; v; v = d->dying_next[v]) {
        uint32_t slot = d->slot[v];
        // Special and uniform slots have no owner; a preset one belongs to the loop's argument.
        bool is_owner = d->is_heir && d->is_heir[v] ? true : !d->preset[v];
        if (slot & UNIFORM_BIT || slot < d->fixed_bytes || !is_owner ||
            (d->is_robbed && d->is_robbed[v]))
            continue;
        uint32_t class = size_class(ir_type_size((ir_type)d->f->values.at[v].type));
        vec_push(d->scratch, &d->free_slots[class], slot);
    }
}

static uint32_t uniform_new(decoder *d, uint32_t size)
{
    uint32_t bytes = (uint32_t)LANES << size_class(size);
    uint32_t at = d->p->uniform_bytes;
    if (at + bytes > d->uniform_cap) {
        uint32_t cap = d->uniform_cap < 4096 ? 4096 : 2 * d->uniform_cap;
        d->p->uniform = arena_grow(d->a, d->p->uniform, d->uniform_cap, cap);
        d->uniform_cap = cap;
    }
    d->p->uniform_bytes += bytes;
    return at | UNIFORM_BIT;
}

void interp_broadcast(void *slot, uint32_t size, uint64_t bits)
{
    uint8_t *at = slot;
    for (uint32_t k = 0; k < LANES; k++)
        memcpy(at + k * size, &bits, size); // little-endian: the low bytes come first
}

// The uniform slot that holds `bits` in every lane.
static uint32_t constant_slot(decoder *d, uint32_t size, uint64_t bits)
{
    uint64_t *known = map_at(&d->constants[size_class(size)], bits);
    if (!*known) {
        uint32_t slot = uniform_new(d, size);
        interp_broadcast(d->p->uniform + (slot & ~UNIFORM_BIT), size, bits);
        *known = (uint64_t)slot + 1;
    }
    return (uint32_t)(*known - 1);
}

uint32_t decode_slot(decoder *d, ir_ref r)
{
    r = decode_root(d, r);
    if (!ir_is_const(r))
        return d->slot[r];
    const ir_const *c = &d->f->consts.at[ir_index(r)];
    return constant_slot(d, ir_type_size(c->type), c->bits);
}

static void alloc_fixed(decoder *d)
{
    interp_program *p = d->p;
    d->specials = p->specials;
    for (int s = 0; s < SPECIAL_COUNT; s++)
        p->specials[s] = NO_SLOT;
    for (ir_inst_id id = 1; id < d->f->insts.len; id++) {
        const ir_inst *i = ir_at(d->f, id);
        int s = decode_special(i);
        if (s < 0 || p->specials[s] != NO_SLOT)
            continue;
        if (s >= SPECIAL_BLOCKDIM_X) {
            p->specials[s] = uniform_new(d, 4);
        } else {
            p->specials[s] = p->reg_bytes;
            p->reg_bytes += LANES * 4;
        }
    }
    d->fixed_bytes = p->reg_bytes;
    p->param_count = d->f->params.len;
    p->params = arena_array(d->a, param_info, p->param_count + 1);
    for (uint32_t k = 0; k < p->param_count; k++) {
        const ir_param *from = &d->f->params.at[k];
        param_info *to = &p->params[k];
        *to = (param_info){.name = str_format(d->a, "%s", from->name ? from->name : ""),
                           .kind = from->kind,
                           .size = from->size,
                           .elem_size = from->elem_size,
                           .value_size = (uint8_t)ir_type_size((ir_type)from->type)};
        if (ir_param_has_bytes(from)) {
            uint64_t at = ir_round_up(p->param_bytes, 16);
            uint32_t array = decode_segment(d, SEGMENT_PARAM, from->name, at, from->size, 1);
            p->param_bytes = at + from->size;
            to->slot = decode_address_slot(d, array);
            to->offset = p->segments[array].offset;
        } else {
            to->slot = uniform_new(d, to->value_size);
        }
        d->slot[d->f->first_param + k] = to->slot;
    }
}

// --- arrays of the program
uint32_t decode_segment(decoder *d, segment_kind kind, const char *name, uint64_t at, uint64_t size,
                        uint32_t elem_size)
{
    interp_program *p = d->p;
    p->segments = arena_grow(d->a, p->segments, p->segment_count * sizeof *p->segments,
                             (p->segment_count + 1) * sizeof *p->segments);
    p->segments[p->segment_count] = (segment_info){
        .kind = kind,
        // As in the source: the second array of a name is NAME.2 in IR.
        .name = name ? str_format(d->a, "%.*s", (int)strcspn(name, "."), name) : "an array",
        .offset = at,
        .size = size,
        .elem_size = elem_size,
    };
    return p->segment_count++;
}

uint32_t decode_address_slot(decoder *d, uint32_t array)
{
    return constant_slot(d, 8, (uint64_t)(STATIC_SEGMENT + array) << INTERP_SEGMENT_BITS);
}

static uint32_t array_segment(decoder *d, const ir_inst *i)
{
    uint64_t *known = map_at(&d->arrays, (uint64_t)i->op << 32 | i->aux);
    if (*known)
        return (uint32_t)(*known - 1);
    const ir_module *m = d->f->module;
    uint32_t array;
    if (i->op == IR_LOCAL) {
        const ir_local *l = &d->f->locals.at[i->aux];
        array = decode_segment(d, SEGMENT_LOCAL, l->name, d->locals.at[i->aux], l->size,
                               ir_row_size(l->elem, l->row));
    } else if (i->op == IR_SHARED) {
        const ir_shared *s = &m->shared.at[i->aux];
        array = decode_segment(d, s->is_dynamic ? SEGMENT_DYNAMIC : SEGMENT_SHARED, s->name,
                               s->is_dynamic ? 0 : d->shared.at[i->aux], s->size,
                               ir_row_size(s->elem, s->row));
        d->p->has_dynamic_shared |= s->is_dynamic;
    } else {
        const ir_data *c = &m->data.at[i->aux];
        uint64_t before = d->p->const_size, at = ir_round_up(before, c->align > 16 ? c->align : 16);
        array =
            decode_segment(d, SEGMENT_CONST, c->name, at, c->size, ir_row_size(c->elem, c->row));
        d->p->const_size = at + c->size;
        d->p->const_bytes = arena_grow(d->a, d->p->const_bytes, before, d->p->const_size);
        if (c->size)
            memcpy(d->p->const_bytes + d->p->segments[array].offset, c->bytes, c->size);
    }
    *map_at(&d->arrays, (uint64_t)i->op << 32 | i->aux) = (uint64_t)array + 1;
    return array;
}

// --- messages: where an instruction stands, which array an access means
static uint32_t place_of(decoder *d, span at)
{
    ir_module *m = d->f->module;
    if (!m->sources || !at.lo)
        return 0;
    uint64_t key = (uint64_t)at.lo << 32 | at.hi, *known = map_at(&d->place_index, key);
    if (*known)
        return (uint32_t)*known;
    place p = {.file = ""};
    source_shown_place where = source_shown(m->sources, at, &p.use_line);
    p.line = where.line;
    p.column = where.column;
    uint64_t *file = map_at(&d->files, map_key(where.path));
    if (!*file)
        *file = map_key(str_format(d->a, "%s", where.path));
    p.file = (const char *)(uintptr_t)*file;
    vec_push(d->a, &d->places, p);
    *map_at(&d->place_index, key) = d->places.len - 1;
    return d->places.len - 1;
}

static uint32_t base_of(decoder *d, ir_ref r)
{
    for (;;) {
        if (!r || ir_is_const(r))
            return 0;
        const ir_value *v = &d->f->values.at[r];
        if (v->def == IR_DEF_PARAM)
            return d->function ? 0 : (uint32_t)v->index + 1;
        if (v->def != IR_DEF_INST)
            return 0;
        const ir_inst *i = ir_at(d->f, v->owner);
        if (i->op == IR_LOCAL && d->function)
            return 0;
        if (i->op == IR_LOCAL || i->op == IR_SHARED || i->op == IR_CONSTANT)
            return STATIC_SEGMENT + array_segment(d, i);
        if (i->op != IR_PTRADD && i->op != IR_PTRCAST && i->op != IR_UNIFORM)
            return 0;
        r = ir_operand(d->f, i, 0);
    }
}

code *decode_emit(decoder *d, code_op op, const ir_inst *i)
{
    if (d->watch)
        vec_push(d->a, &d->spans, i->at);
    bool touches_memory = op >= CODE_LOAD && op <= CODE_ATOMIC_STORE;
    vec_push(d->a, &d->info,
             (code_info){.place = place_of(d, i->at),
                         .base = touches_memory ? base_of(d, ir_operand(d->f, i, 0)) : 0,
                         .elem_size = ir_type_size((ir_type)i->type)});
    vec_push(d->a, &d->code, (code){.op = (uint8_t)op, .type = i->type});
    code *c = &vec_last(&d->code);
    c->size = (uint8_t)ir_type_size((ir_type)i->type);
    return c;
}

// --- regions
static void decode_region(decoder *d, ir_region_id region, uint32_t depth);

// A value that is an argument's next one is made in the argument's slot, when nothing reads the old
// one after that: `i = i + 1` needs no move then. Sound only at the top of the body and with one
// `next`, at its end: every lane of the round that is still in the loop comes by.
static void preset_next(decoder *d, ir_inst_id loop)
{
    const ir_func *f = d->f;
    const ir_region *body = ir_region_at(f, ir_at(f, loop)->regions);
    const ir_inst *next = ir_at(f, body->last);
    if (next->op != IR_NEXT || next->aux != loop || d->next_count[loop] != 1)
        return;
    for (uint32_t k = 0; k < body->arg_count; k++) {
        ir_ref arg = body->args + k, v = decode_root(d, ir_operand(f, next, k));
        if (!v || ir_is_const(v) || f->values.at[v].def != IR_DEF_INST || d->preset[v])
            continue;
        ir_inst_id maker = f->values.at[v].owner;
        const ir_inst *m = ir_at(f, maker);
        bool is_lane_op = lane_find((ir_op)m->op, (ir_type)m->type, (ir_type)m->aux, d->fast);
        if (is_lane_op && m->parent == ir_at(f, loop)->regions &&
            d->live.lives[arg].last_use <= d->live.start[maker] &&
            ir_type_size(ir_type_of(f, v)) == ir_type_size(ir_type_of(f, arg)))
            d->preset[v] = d->slot[arg] + 1;
        if (d->until && d->preset[v] == d->slot[arg] + 1)
            d->until[arg] = d->live.start[maker];
    }
}

static void decode_control(decoder *d, ir_inst_id id, uint32_t depth)
{
    static const uint8_t op_of[] = {CODE_BLOCK, CODE_IF, CODE_LOOP, CODE_SWITCH};
    const ir_func *f = d->f;
    const ir_inst *i = ir_at(f, id);
    d->depth[id] = depth;
    if (i->op == IR_LOOP) {
        const ir_region *body = ir_region_at(f, i->regions);
        slots_for(d, body->args, body->arg_count);
        for (uint32_t k = 0; d->same_slot && k < i->result_count; k++)
            if (d->same_slot[i->result + k])
                d->preset[i->result + k] = d->slot[d->same_slot[i->result + k]] + 1;
    }
    slots_for(d, i->result, i->result_count);
    if (i->op == IR_LOOP) {
        const ir_region *body = ir_region_at(f, i->regions);
        preset_next(d, id);
        // At the entry no other lane has a stake in the arguments' slots: plain moves.
        decode_moves(d, i, body->args, ir_operands(f, i), i->operand_count, MOVE_ALL, depth);
    }
    uint32_t at = d->code.len;
    code *c = decode_emit(d, (code_op)op_of[i->op - IR_BLOCKSCOPE], i);
    c->depth = (uint16_t)depth;
    if (i->op == IR_IF || i->op == IR_SWITCH) {
        c->a = decode_slot(d, ir_operand(f, i, 0));
        c->size = (uint8_t)ir_type_size(ir_type_of(f, ir_operand(f, i, 0)));
    }
    uint32_t targets = d->targets.len;
    if (i->op == IR_SWITCH) {
        d->code.at[at].b = d->cases.len;
        d->code.at[at].c = i->region_count - 1;
        for (uint32_t k = 0; k + 1 < i->region_count; k++)
            vec_push(d->a, &d->cases, i->cases[k]);
        for (uint32_t k = 0; k < i->region_count; k++)
            vec_push(d->a, &d->targets, 0);
        d->code.at[at].u.to.other = targets;
    }
    for (uint32_t k = 0; k < i->region_count; k++) {
        if (i->op == IR_SWITCH)
            d->targets.at[targets + k] = d->code.len;
        else if (i->op == IR_LOOP || k == 1)
            d->code.at[at].u.to.other = d->code.len;
        decode_region(d, i->regions + k, depth + 1);
    }
    d->code.at[at].u.to.end = d->code.len;
    free_dying(d, d->live.end[id] - 1);
    free_dying(d, d->live.end[id]);
}

static void decode_transfer(decoder *d, const ir_inst *i)
{
    const ir_inst *target = ir_at(d->f, i->aux);
    uint32_t depth = d->depth[i->aux];
    bool is_next = i->op == IR_NEXT;
    ir_ref first = is_next ? ir_region_at(d->f, target->regions)->args : target->result;
    decode_moves(d, i, first, ir_operands(d->f, i), i->operand_count,
                 is_next ? MOVE_NEXT : MOVE_EXIT, depth);
    decode_emit(d, is_next ? CODE_NEXT : CODE_EXIT, i)->depth = (uint16_t)depth;
}

static void decode_region(decoder *d, ir_region_id region, uint32_t depth)
{
    const ir_func *f = d->f;
    if (depth > d->p->frame_depth)
        d->p->frame_depth = depth;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        ir_op op = (ir_op)i->op;
        if (is_alias(op) || op == IR_NOP) {
        } else if (ir_is_control(op)) {
            decode_control(d, id, depth);
        } else if (op == IR_EXIT || op == IR_NEXT) {
            decode_transfer(d, i);
        } else if (decode_special(i) >= 0) {
            d->slot[i->result] = d->specials[decode_special(i)];
        } else if (op == IR_LOCAL && d->function) {
            slots_for(d, i->result, 1);
            decode_local(d, i);
        } else if (op == IR_LOCAL || op == IR_SHARED || op == IR_CONSTANT) {
            d->slot[i->result] = decode_address_slot(d, array_segment(d, i));
        } else {
            decode_nv_slots(d, i);
            slots_for(d, i->result, i->result_count);
            decode_nv_before(d, i);
            if (d->watch && d->watched[id]) {
                code *c = decode_emit(d, CODE_WATCH, i);
                c->align = (uint16_t)(d->watched[id] - 1);
                c->count = (uint8_t)i->operand_count;
            }
            decode_plain(d, i);
            decode_nv_after(d, i);
        }
        free_dying(d, d->live.start[id]);
    }
}

// --- functions

// What a decoder knows of one function alone.
static void open_func(decoder *d, const ir_func *f)
{
    d->f = f;
    d->depth = arena_array(d->scratch, uint32_t, f->insts.len);
    for (size_t k = 0; k < COUNT(d->free_slots); k++) {
        d->free_slots[k].len = 0;
        d->move_slot[k] = 0;
    }
    d->is_acc = d->feeds = d->is_heir = d->is_robbed = NULL;
    d->until = NULL;
    d->same_slot = NULL;
    if (d->watch)
        decode_watch(d);
    d->locals = ir_layout_locals(f, 16, d->scratch);
}

// Slots of the parameters and of what every warp has; the kernel must have the latter, too.
static void alloc_window(decoder *d, uint32_t *kernel_bytes)
{
    interp_program *p = d->p;
    interp_function *to = d->function;
    uint32_t *specials = arena_array(d->scratch, uint32_t, SPECIAL_COUNT);
    for (int s = 0; s < SPECIAL_COUNT; s++)
        specials[s] = NO_SLOT;
    for (ir_inst_id id = 1; id < d->f->insts.len; id++) {
        int s = decode_special(ir_at(d->f, id));
        if (s < 0 || specials[s] != NO_SLOT)
            continue;
        if (p->specials[s] == NO_SLOT && s >= SPECIAL_BLOCKDIM_X)
            p->specials[s] = uniform_new(d, 4);
        specials[s] = p->specials[s];
        if (s >= SPECIAL_BLOCKDIM_X)
            continue;
        if (p->specials[s] == NO_SLOT) {
            p->specials[s] = *kernel_bytes;
            *kernel_bytes += LANES * 4;
        }
        specials[s] = p->reg_bytes;
        p->reg_bytes += LANES * 4;
    }
    memcpy(to->specials, specials, sizeof to->specials);
    d->specials = specials;
    to->params = d->extra.len;
    to->param_count = d->f->params.len;
    for (uint32_t k = 0; k < d->f->params.len; k++) {
        ir_type type = (ir_type)d->f->params.at[k].type;
        uint32_t slot = slot_new(d, type);
        d->slot[d->f->first_param + k] = slot;
        vec_push(d->a, &d->extra, slot);
        vec_push(d->a, &d->extra, ir_type_size(type));
    }
    to->result = NO_SLOT;
    if (d->f->returns.len) {
        to->result = slot_new(d, (ir_type)d->f->returns.at[0]);
        to->result_bytes = ir_type_size((ir_type)d->f->returns.at[0]);
    }
    d->fixed_bytes = p->reg_bytes;
}

static void decode_function(decoder *d, uint32_t index)
{
    interp_program *p = d->p;
    const ir_func *f = d->wanted.at[index];
    uint32_t kernel_bytes = p->reg_bytes, kernel_depth = p->frame_depth;
    interp_function *to = d->function = &p->functions[index];
    p->reg_bytes = p->frame_depth = 0;
    to->name = str_format(d->a, "%s", f->name);
    to->start = d->code.len;
    open_func(d, f);
    uint32_t align = 16; // of all frames
    for (uint32_t k = 0; k < f->locals.len; k++)
        align = f->locals.at[k].align > align ? f->locals.at[k].align : align;
    to->local_bytes = (uint32_t)ir_round_up(d->locals.bytes, align);
    live_func(d);
    alloc_window(d, &kernel_bytes);
    decode_region(d, f->body, 0);
    decode_facts(d);
    to->reg_bytes = p->reg_bytes;
    to->frame_depth = p->frame_depth;
    p->reg_bytes = kernel_bytes;
    p->frame_depth = kernel_depth;
    p->local_bytes += (uint64_t)to->local_bytes * (f->is_bounded ? f->recursion_limit : 1);
}

// Every call on the way down has its frame, and a circle's limit bounds all of its functions.
static void decode_functions(decoder *d)
{
    interp_program *p = d->p;
    if (!d->wanted.len)
        return;
    p->functions = arena_array(d->a, interp_function, d->f->module->funcs.len);
    p->local_bytes = ir_round_up(p->local_bytes, 16);
    p->own_local_bytes = p->local_bytes;
    p->stack_segment = decode_segment(d, SEGMENT_LOCAL, "the stack", p->local_bytes, 0, 1);
    for (uint32_t k = 0; k < d->wanted.len; k++)
        decode_function(d, k);
    p->function_count = d->wanted.len;
    p->segments[p->stack_segment].size = p->local_bytes - p->own_local_bytes;
}

interp_program *interp_decode(arena *a, const ir_func *f)
{
    return interp_decode_watched(a, f, 0);
}

interp_program *interp_decode_watched(arena *a, const ir_func *f, unsigned watch)
{
    arena *scratch = a;
    interp_program *p = arena_new_of(a, interp_program);
    decoder d = {.a = a, .scratch = scratch, .f = f, .p = p, .fast = lane_has_fast()};
    for (size_t k = 0; k < COUNT(d.constants); k++)
        d.constants[k] = map_make(scratch);
    d.arrays = map_make(scratch);
    d.files = map_make(scratch);
    d.place_index = map_make(scratch);
    d.number = arena_array(scratch, uint32_t, f->module->funcs.len + 1);
    p->name = str_format(a, "%s", f->name);
    p->allows_early_return = f->allows_early_return;
    p->min_blocks = f->min_blocks;
    p->max_registers = f->max_registers;
    vec_push(a, &d.places, (place){.file = ""});
    d.watch = watch;
    p->granule = 8;
    open_func(&d, f);
    d.shared = ir_layout_shared(f, 16, scratch);
    p->local_bytes = p->own_local_bytes = d.locals.bytes;
    p->shared_bytes = d.shared.bytes;
    p->dynamic_at = ir_round_up(d.shared.behind, 64);
    live_func(&d);
    alloc_fixed(&d);
    decode_strings(&d);
    decode_region(&d, f->body, 0);
    decode_facts(&d);
    decode_functions(&d);
    p->code = d.code.at;
    p->code_len = d.code.len;
    p->info = d.info.at;
    p->extra = d.extra.at;
    p->cases = d.cases.at;
    p->targets = d.targets.at;
    p->places = d.places.at;
    p->spans = d.spans.at;
    return p;
}
