// Structured control as jumps and masks, in the way of back/cpu/emit.c: where all active lanes go
// together it is a jump; where they may part, each side runs under a mask of its lanes and is
// skipped when no lane is active. Masks lie in the frame. A lane that leaves a control instruction
// waits in its `out`, or in `again` for the next round of a loop. Start reading at x86_emit_region.
#include "back/x86/x86.h"

#include <stddef.h>

static void set_mask(x86_gen *g, int32_t slot)
{
    g->mask = slot;
    x86_k_forget(g);
}

static void bind(x86_gen *g, uint32_t label)
{
    x86_bind(g->code, label);
    x86_k_forget(g);
}

static int32_t mask_slot(x86_gen *g)
{
    return x86_slot(g, 4, 4);
}

static void leave_region(x86_gen *g)
{
    x86_jump(g->code, g->region_end);
}

static void add_lanes(x86_gen *g, int32_t slot)
{
    x86_active(g, RAX);
    x86_alu_to_mem(g->code, ALU_OR, false, x86_frame(slot), RAX);
}

// --- terminators
static void emit_exit(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id), *x = ir_at(g->f, i->aux);
    control *c = &g->c.controls[i->aux];
    bool is_whole = cpu_is_first_exit(g->f, g->c.controls, id, i->aux);
    c->seen_exits++;
    x86_move *moves = arena_array(g->a, x86_move, i->operand_count + 1);
    for (uint32_t k = 0; k < i->operand_count; k++)
        moves[k] = (x86_move){x->result + k, ir_operand(g->f, i, k), is_whole || g->mask < 0};
    x86_moves(g, moves, i->operand_count);
    if (!c->is_split) {
        x86_jump(g->code, g->controls[i->aux].after);
        return;
    }
    if (c->leaks)
        add_lanes(g, g->controls[i->aux].out);
    leave_region(g);
}

static void emit_next(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id), *x = ir_at(g->f, i->aux);
    const control *c = &g->c.controls[i->aux];
    const x86_control *own = &g->controls[i->aux];
    ir_ref args = ir_region_at(g->f, x->regions)->args;
    bool is_whole = !c->is_split || c->nexts == 1 || g->mask < 0;
    x86_move *moves = arena_array(g->a, x86_move, i->operand_count + 1);
    for (uint32_t k = 0; k < i->operand_count; k++) {
        bool has_shadow = c->is_split && g->places[own->shadow + k].class != CLASS_NONE;
        moves[k] =
            (x86_move){has_shadow ? own->shadow + k : args + k, ir_operand(g->f, i, k), is_whole};
    }
    x86_moves(g, moves, i->operand_count);
    if (!c->is_split) {
        x86_jump(g->code, own->repeat);
        return;
    }
    add_lanes(g, own->again);
    leave_region(g);
}

static void emit_terminator(x86_gen *g, ir_inst_id id)
{
    switch ((ir_end_op)ir_at(g->f, id)->op) {
    case IR_UNREACHABLE: x86_emit_unreachable(g); break;
    case IR_RETURN:
        if (g->inside)
            leave_region(g);
        else
            x86_jump(g->code, g->done);
        break;
    case IR_EXIT: emit_exit(g, id); break;
    case IR_NEXT: emit_next(g, id); break;
    }
}

// --- control
// A region as a side of the split control `id`, for the lanes of `mask`.
static void emit_side(x86_gen *g, ir_inst_id id, ir_region_id region, int32_t mask)
{
    int32_t mask_before = g->mask;
    uint32_t end_before = g->region_end;
    ir_inst_id inside_before = g->inside;
    set_mask(g, mask);
    g->inside = id;
    g->region_end = x86_label(g->code);
    x86_emit_region(g, region);
    bind(g, g->region_end);
    set_mask(g, mask_before);
    g->inside = inside_before;
    g->region_end = end_before;
}

// With the mask it came with: a side of its own when the control is split.
static void emit_same(x86_gen *g, ir_inst_id id, ir_region_id region)
{
    if (g->c.controls[id].is_split)
        emit_side(g, id, region, g->mask);
    else
        x86_emit_region(g, region);
}

static bool is_empty(const x86_gen *g, ir_region_id region, ir_inst_id owner)
{
    const ir_inst *i = ir_at(g->f, ir_region_at(g->f, region)->first);
    return i->op == IR_EXIT && i->aux == owner && !i->operand_count;
}

// The side of lanes whose bits are in EAX, unless there are none.
static void emit_if_any(x86_gen *g, ir_inst_id id, ir_region_id region, int32_t slot)
{
    uint32_t skip = x86_label(g->code);
    x86_store(g->code, 4, x86_frame(slot), RAX);
    x86_test(g->code, false, RAX, RAX);
    x86_jump_if(g->code, WHEN_ZERO, skip);
    emit_side(g, id, region, slot);
    bind(g, skip);
}

static void emit_if(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    ir_ref c = ir_operand(g->f, i, 0);
    ir_region_id yes = i->regions, no = i->regions + 1;
    if (cpu_shape(&g->c, c).held == HELD_ONE) {
        uint32_t other = x86_label(g->code);
        uint8_t reg = x86_word(g, c, RAX);
        x86_test(g->code, false, reg, reg);
        x86_jump_if(g->code, WHEN_ZERO, other);
        emit_same(g, id, yes);
        x86_jump(g->code, g->controls[id].after);
        bind(g, other);
        emit_same(g, id, no);
        return;
    }
    bool leaks = g->c.controls[id].leaks;
    bool has_yes = leaks || !is_empty(g, yes, id), has_no = leaks || !is_empty(g, no, id);
    int32_t yes_mask = mask_slot(g), no_mask = mask_slot(g);
    uint8_t bits = x86_mask_word(g, c, RCX);
    if (has_no) { // first: what the other side does must not change the condition
        x86_active(g, RAX);
        x86_andn(g->code, RAX, bits, RAX);
        x86_store(g->code, 4, x86_frame(no_mask), RAX);
    }
    if (has_yes) {
        x86_active(g, RAX);
        x86_alu_reg(g->code, ALU_AND, false, RAX, bits);
        emit_if_any(g, id, yes, yes_mask);
    }
    if (has_no) {
        x86_load(g->code, 4, RAX, x86_frame(no_mask));
        emit_if_any(g, id, no, no_mask);
    }
}

static void emit_switch_one(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    ir_ref value = ir_operand(g->f, i, 0);
    for (uint32_t k = 0; k < i->region_count; k++) {
        uint32_t other = x86_label(g->code);
        if (k + 1 < i->region_count) {
            bool wide = x86_is_wide(g, value);
            x86_mov_imm(g->code, RDX,
                        wide ? (uint64_t)i->cases[k] : (uint32_t)(uint64_t)i->cases[k]);
            x86_alu_reg(g->code, ALU_CMP, wide, RDX, x86_word(g, value, RAX));
            x86_jump_if(g->code, WHEN_NOT_ZERO, other);
        }
        emit_same(g, id, i->regions + k);
        x86_jump(g->code, g->controls[id].after);
        bind(g, other);
    }
}

typedef struct switch_case {
    ir_ref value;
    uint64_t number;
} switch_case;

static void compare_case(x86_gen *g, void *user, uint32_t part, uint8_t k)
{
    const switch_case *s = user;
    bool wide = x86_is_wide(g, s->value);
    uint8_t x = x86_part_reg(g, s->value, part, VS0);
    x86_vec(g->code, wide ? X86_VPCMPQ : X86_VPCMPD, k, x,
            x86_number(g, wide, wide ? s->number : (uint32_t)s->number),
            (x86_opt){.has_imm = true, .imm = 0});
}

static void emit_switch(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    ir_ref value = ir_operand(g->f, i, 0);
    if (cpu_shape(&g->c, value).held == HELD_ONE) {
        emit_switch_one(g, id);
        return;
    }
    int32_t rest = mask_slot(g);
    x86_active(g, RAX);
    x86_store(g->code, 4, x86_frame(rest), RAX);
    for (uint32_t k = 0; k < i->region_count; k++) {
        if (k + 1 < i->region_count) {
            switch_case s = {value, (uint64_t)i->cases[k]};
            x86_gather_bits(g, x86_is_wide(g, value), RCX, compare_case, &s);
            x86_load(g->code, 4, RAX, x86_frame(rest));
            x86_andn(g->code, RDX, RCX, RAX);
            x86_store(g->code, 4, x86_frame(rest), RDX);
            x86_alu_reg(g->code, ALU_AND, false, RAX, RCX);
            emit_if_any(g, id, i->regions + k, mask_slot(g));
        } else {
            x86_load(g->code, 4, RAX, x86_frame(rest));
            emit_if_any(g, id, i->regions + k, rest);
        }
    }
}

// --- loops
static void emit_cancel(x86_gen *g, ir_inst_id id)
{
    x86_load(g->code, 8, RAX, x86_at(RBX, offsetof(x86_warp, cancel)));
    x86_alu_mem_imm(g->code, ALU_CMP, false, x86_at(RAX, 0), 0);
    x86_jump_if(g->code, WHEN_NOT_ZERO, g->done);
    if (!g->c.controls[id].spins)
        return;
    uint32_t skip = x86_label(g->code);
    x86_alu_mem_imm(g->code, ALU_ADD, false, x86_frame(g->spins), 1);
    x86_load(g->code, 4, RAX, x86_frame(g->spins));
    x86_alu_imm(g->code, ALU_AND, false, RAX, 63);
    x86_jump_if(g->code, WHEN_NOT_ZERO, skip);
    x86_step(g, g->live.start[id] + 1); // the loop's arguments live
    x86_before_call(g);
    x86_mov(g->code, true, RDI, RBX);
    x86_call_mem(g->code, x86_at(RBX, offsetof(x86_warp, yield)));
    x86_after_call(g);
    bind(g, skip);
}

static void start_loop(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    ir_ref args = ir_region_at(g->f, i->regions)->args;
    x86_move *moves = arena_array(g->a, x86_move, i->operand_count + 1);
    for (uint32_t k = 0; k < i->operand_count; k++)
        moves[k] = (x86_move){args + k, ir_operand(g->f, i, k), true};
    x86_moves(g, moves, i->operand_count);
}

static void emit_split_loop(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    const ir_region *body = ir_region_at(g->f, i->regions);
    x86_control *own = &g->controls[id];
    uint32_t leave = x86_label(g->code), count = 0;
    own->again = mask_slot(g);
    own->round = mask_slot(g);
    x86_active(g, RAX);
    x86_store(g->code, 4, x86_frame(own->round), RAX);
    bind(g, own->repeat);
    emit_cancel(g, id);
    x86_store_imm(g->code, false, x86_frame(own->again), 0);
    emit_side(g, id, i->regions, own->round);
    x86_load(g->code, 4, RAX, x86_frame(own->again));
    x86_test(g->code, false, RAX, RAX);
    x86_jump_if(g->code, WHEN_ZERO, leave);
    x86_store(g->code, 4, x86_frame(own->round), RAX);
    x86_move *moves = arena_array(g->a, x86_move, body->arg_count + 1);
    for (uint32_t k = 0; k < body->arg_count; k++)
        if (g->places[own->shadow + k].class != CLASS_NONE)
            moves[count++] = (x86_move){body->args + k, own->shadow + k, true};
    x86_moves(g, moves, count);
    x86_jump(g->code, own->repeat);
    bind(g, leave);
}

static void emit_loop(x86_gen *g, ir_inst_id id)
{
    start_loop(g, id);
    g->controls[id].repeat = x86_label(g->code);
    if (g->c.controls[id].is_split) {
        emit_split_loop(g, id);
        return;
    }
    bind(g, g->controls[id].repeat);
    emit_cancel(g, id);
    x86_emit_region(g, ir_at(g->f, id)->regions);
}

static void emit_control(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    const control *c = &g->c.controls[id];
    bool narrows = c->is_split && c->leaks;
    g->controls[id].after = x86_label(g->code);
    if (narrows) {
        g->controls[id].out = mask_slot(g);
        x86_store_imm(g->code, false, x86_frame(g->controls[id].out), 0);
    }
    switch ((ir_control_op)i->op) {
    case IR_IF: emit_if(g, id); break;
    case IR_SWITCH: emit_switch(g, id); break;
    case IR_LOOP: emit_loop(g, id); break;
    case IR_BLOCKSCOPE: emit_same(g, id, i->regions); break;
    }
    bind(g, g->controls[id].after);
    x86_step(g, g->live.end[id]);
    if (!narrows)
        return;
    set_mask(g, g->controls[id].out);
    // The lanes that are gone may be all there were.
    x86_alu_mem_imm(g->code, ALU_CMP, false, x86_frame(g->mask), 0);
    x86_jump_if(g->code, WHEN_ZERO, g->inside ? g->region_end : g->done);
}

void x86_emit_region(x86_gen *g, ir_region_id region)
{
    int32_t mask_before = g->mask;
    for (ir_inst_id id = ir_region_at(g->f, region)->first; id && !g->refusal;
         id = ir_at(g->f, id)->next) {
        const ir_inst *i = ir_at(g->f, id);
        x86_step(g, g->live.start[id]);
        if (ir_is_terminator(i->op))
            emit_terminator(g, id);
        else if (ir_is_control(i->op))
            emit_control(g, id);
        else
            x86_emit_plain(g, id);
    }
    set_mask(g, mask_before);
}
