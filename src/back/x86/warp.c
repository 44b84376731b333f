// Operations that know about lanes, warps and the world: geometry, shuffles, votes, barriers,
// print, assert. Also the way of all operations that have no instruction here, by a call. Start
// reading at x86_emit_plain.
#include "back/x86/x86.h"

#include <stddef.h>

#define OF_WARP(field) x86_at(RBX, (int32_t)offsetof(x86_warp, field))

static bool is_lanes(const x86_gen *g, ir_ref r)
{
    return g->places[r].class >= CLASS_MASK && g->places[r].class != CLASS_REAL;
}

// --- results
// A word that is the same in all lanes.
static void put_same(x86_gen *g, ir_ref r, uint8_t reg)
{
    const x86_place *p = &g->places[r];
    if (p->class < CLASS_V4) {
        x86_put_word(g, r, reg);
        return;
    }
    bool wide = p->class == CLASS_V8;
    for (uint32_t k = 0; k < x86_parts((x86_class)p->class); k++) {
        uint8_t to = x86_to(g, r, k, VS0);
        x86_vec(g->code, wide ? X86_VPBROADCASTQ : X86_VPBROADCASTD, to, 0, x86_of_reg(reg),
                (x86_opt){0});
        x86_put(g, r, k, to);
    }
}

static uint8_t lane_bytes(ir_type t)
{
    return t == IR_I1 ? 0 : ctext_is_wide(t) ? 8 : 4;
}

// --- by ir_eval
void x86_emit_general(x86_gen *g, const ir_inst *i)
{
    bool lanes = is_lanes(g, i->result);
    bool is_fast = i->op >= IR_FAST_EXP2 && i->op <= IR_FAST_DIV;
    x86_info info = {.op = i->op,
                     .type = i->type,
                     .aux = i->aux,
                     .count = (uint8_t)i->operand_count,
                     .lanes = lanes ? 32 : 1,
                     .out = lanes ? lane_bytes(ir_type_of(g->f, i->result)) : 8};
    if (i->operand_count > 3 || i->result_count != 1) {
        x86_refuse(g, "an operation of many operands");
        return;
    }
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(g->f, i, k);
        int32_t at = g->buffers + (int32_t)k * X86_BUFFER;
        info.size[k] = lanes ? lane_bytes(ir_type_of(g->f, r)) : 8;
        if (lanes)
            x86_keep_lanes(g, r, at);
        else
            x86_store(g->code, 8, x86_frame(at), x86_word(g, r, RAX));
    }
    x86_call_helper(g, is_fast ? x86_help_fast : x86_help_eval, &info);
    if (lanes) {
        x86_load_lanes(g, i->result, g->buffers);
    } else {
        x86_load(g->code, 8, RAX, x86_frame(g->buffers));
        x86_put_word(g, i->result, RAX);
    }
}

// --- geometry
static void emit_thread(x86_gen *g, const ir_inst *i)
{
    uint32_t axis = (uint32_t)i->imm;
    if (g->f->block[0] && g->f->block[axis] == 1) {
        x86_mov_imm(g->code, RAX, 0);
        put_same(g, i->result, RAX);
        return;
    }
    x86_load(g->code, 8, RAX, x86_at(RBX, (int32_t)(offsetof(x86_warp, thread) + 8 * axis)));
    if (!is_lanes(g, i->result)) {
        x86_load(g->code, 4, RAX, x86_at(RAX, 0));
        x86_put_word(g, i->result, RAX);
        return;
    }
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t to = x86_to(g, i->result, k, VS0);
        x86_vec(g->code, X86_VMOVDQU32, to, 0, x86_of_mem(x86_at(RAX, 64 * (int32_t)k)),
                (x86_opt){0});
        x86_put(g, i->result, k, to);
    }
}

static void emit_lane(x86_gen *g, const ir_inst *i)
{
    if (!is_lanes(g, i->result)) {
        x86_mov_imm(g->code, RAX, 0);
        x86_put_word(g, i->result, RAX);
        return;
    }
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t numbers[16];
        for (uint32_t n = 0; n < 16; n++)
            numbers[n] = k * 16 + n;
        x86_vec(g->code, X86_VMOVDQU32, VS0, 0,
                x86_of_mem(x86_pool(g->code, numbers, sizeof numbers, 64)), (x86_opt){0});
        x86_put(g, i->result, k, VS0);
    }
}

static void emit_field(x86_gen *g, const ir_inst *i, size_t offset)
{
    x86_load(g->code, 4, RAX, x86_at(RBX, (int32_t)offset));
    put_same(g, i->result, RAX);
}

static void emit_blockdim(x86_gen *g, const ir_inst *i)
{
    size_t axis = (size_t)i->imm;
    if (!g->f->block[0]) {
        emit_field(g, i, offsetof(x86_warp, block_dim) + 4 * axis);
        return;
    }
    x86_mov_imm(g->code, RAX, g->f->block[axis]);
    put_same(g, i->result, RAX);
}

static void emit_shared(x86_gen *g, const ir_inst *i)
{
    const ir_module *m = g->f->module;
    if (m->shared.at[i->aux].is_dynamic) {
        x86_load(g->code, 8, RAX, OF_WARP(dynamic));
    } else {
        x86_load(g->code, 8, RAX, OF_WARP(shared));
        if (g->c.t.shared.at[i->aux])
            x86_alu_imm(g->code, ALU_ADD, true, RAX, (int32_t)g->c.t.shared.at[i->aux]);
    }
    put_same(g, i->result, RAX);
}

static void emit_constant(x86_gen *g, const ir_inst *i)
{
    static const uint8_t nothing[16];
    const ir_data *d = &g->f->module->data.at[i->aux];
    uint32_t align = d->align > 16 ? d->align : 16;
    if (align > 64 || d->size > 1 << 20) {
        x86_refuse(g, "a large constant array");
        return;
    }
    x86_lea(
        g->code, RAX,
        x86_pool(g->code, d->size ? d->bytes : nothing, d->size ? (uint32_t)d->size : 1, align));
    put_same(g, i->result, RAX);
}

// --- between lanes
static void shuffle_by_call(x86_gen *g, const ir_inst *i)
{
    uint8_t size = lane_bytes(ir_type_of(g->f, ir_operand(g->f, i, 0)));
    x86_info info = {
        .op = i->op, .aux = i->aux, .count = 3, .lanes = 32, .size = {size, 4, 4}, .out = size};
    for (uint32_t k = 0; k < 3; k++)
        x86_keep_lanes(g, ir_operand(g->f, i, k), g->buffers + (int32_t)k * X86_BUFFER);
    x86_call_helper(g, x86_help_shuffle, &info);
    x86_load_lanes(g, i->result, g->buffers);
}

// With a constant distance and all lanes there: one permutation a part.
static void shuffle_fast(x86_gen *g, const ir_inst *i, uint32_t by, uint32_t width)
{
    ir_ref value = ir_operand(g->f, i, 0);
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t from[16];
        for (uint32_t n = 0; n < 16; n++)
            from[n] = x86_lane_from((ir_shuffle)i->aux, k * 16 + n, by, width);
        uint8_t low = x86_part_reg(g, value, 0, VS1), high = x86_part_reg(g, value, 1, VS2);
        x86_vec(g->code, X86_VMOVDQU32, VS0, 0,
                x86_of_mem(x86_pool(g->code, from, sizeof from, 64)), (x86_opt){0});
        x86_vec(g->code, X86_VPERMI2D, VS0, low, x86_of_reg(high), (x86_opt){0});
        x86_put(g, i->result, k, VS0);
    }
}

static bool is_fast_shuffle(const x86_gen *g, const ir_inst *i, uint64_t *by, uint64_t *width)
{
    ir_type t = ir_type_of(g->f, ir_operand(g->f, i, 0));
    return t != IR_I1 && !ctext_is_wide(t) && ir_const_bits(g->f, ir_operand(g->f, i, 1), by) &&
           ir_const_bits(g->f, ir_operand(g->f, i, 2), width);
}

static void emit_shuffle(x86_gen *g, const ir_inst *i)
{
    ir_ref value = ir_operand(g->f, i, 0);
    uint64_t by, width;
    if (!is_lanes(g, i->result)) {
        if (cpu_shape(&g->c, value).held == HELD_ONE) {
            x86_word_into(g, value, RAX);
        } else {
            x86_word_into(g, ir_operand(g->f, i, 1), RCX);
            x86_alu_imm(g->code, ALU_AND, false, RCX, 31);
            x86_lane_to(g, value, RCX, RAX);
        }
        x86_put_word(g, i->result, RAX);
        return;
    }
    if (!is_fast_shuffle(g, i, &by, &width)) {
        shuffle_by_call(g, i);
        return;
    }
    uint32_t some = x86_label(g->code), join = x86_label(g->code);
    if (g->mask >= 0) {
        x86_alu_mem_imm(g->code, ALU_CMP, false, x86_frame(g->mask), -1);
        x86_jump_if(g->code, WHEN_NOT_ZERO, some);
    }
    shuffle_fast(g, i, (uint32_t)by, (uint32_t)width);
    if (g->mask >= 0)
        x86_jump(g->code, join);
    x86_bind(g->code, some);
    if (g->mask >= 0)
        shuffle_by_call(g, i);
    x86_bind(g->code, join);
    x86_k_forget(g);
}

static void emit_ballot(x86_gen *g, const ir_inst *i)
{
    x86_active(g, RAX);
    if (i->op == IR_BALLOT)
        x86_alu_reg(g->code, ALU_AND, false, RAX, x86_mask_word(g, ir_operand(g->f, i, 0), RCX));
    put_same(g, i->result, RAX);
}

static void emit_match(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0);
    x86_info info = {
        .op = i->op, .count = 1, .lanes = 32, .size = {lane_bytes(ir_type_of(g->f, a))}, .out = 4};
    x86_keep_lanes(g, a, g->buffers);
    x86_call_helper(g, x86_help_match, &info);
    if (is_lanes(g, i->result)) {
        x86_load_lanes(g, i->result, g->buffers);
        return;
    }
    x86_active(g, RCX);
    x86_count(g->code, 0xbc, false, RCX, RCX);
    x86_mem m = x86_frame(g->buffers);
    m.index = RCX;
    m.has_index = true;
    m.scale = 2;
    x86_load(g->code, 4, RAX, m);
    x86_put_word(g, i->result, RAX);
}

static void emit_uniform(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0);
    if (!is_lanes(g, i->result)) {
        x86_put_word(g, i->result, x86_word(g, a, RAX));
        return;
    }
    if (g->places[i->result].class == CLASS_MASK) {
        x86_put_word(g, i->result, x86_mask_word(g, a, RAX));
        return;
    }
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[i->result].class); k++)
        x86_put(g, i->result, k, x86_part_reg(g, a, k, x86_to(g, i->result, k, VS0)));
}

// --- the world
static void call_back(x86_gen *g, x86_mem at)
{
    x86_mov(g->code, true, RDI, RBX);
    x86_call_mem(g->code, at);
}

static void emit_barrier(x86_gen *g, ir_inst_id id)
{
    x86_before_call(g);
    x86_mov_imm(g->code, RSI, id);
    call_back(g, OF_WARP(barrier));
    x86_after_call(g);
}

static void emit_time(x86_gen *g, const ir_inst *i)
{
    x86_before_call(g);
    x86_mov_imm(g->code, RSI, i->op == IR_NANOTIME);
    call_back(g, OF_WARP(time));
    x86_store(g->code, 8, x86_frame(g->spare), RAX);
    x86_after_call(g);
    x86_load(g->code, 8, RAX, x86_frame(g->spare));
    put_same(g, i->result, RAX);
}

// The lanes are in ECX; the warp ends.
static void emit_fault(x86_gen *g, uint32_t kind, uint32_t site)
{
    x86_byte(g->code, 0xc5); // vzeroupper
    x86_byte(g->code, 0xf8);
    x86_byte(g->code, 0x77);
    x86_mov_imm(g->code, RSI, kind);
    x86_mov_imm(g->code, RDX, site);
    call_back(g, OF_WARP(fault));
    x86_jump(g->code, g->done);
}

void x86_emit_unreachable(x86_gen *g)
{
    x86_active(g, RCX);
    emit_fault(g, 3, 0);
}

// Lanes that are active and for which `fine` is false, into ECX; jumps when there are none.
static void find_bad(x86_gen *g, ir_ref fine, uint32_t label)
{
    uint8_t good = x86_mask_word(g, fine, RDX);
    x86_active(g, RCX);
    x86_andn(g->code, RCX, good, RCX);
    x86_test(g->code, false, RCX, RCX);
    x86_jump_if(g->code, WHEN_ZERO, label);
}

static void emit_assert(x86_gen *g, ir_inst_id id)
{
    uint32_t label = x86_label(g->code);
    find_bad(g, ir_operand(g->f, ir_at(g->f, id), 0), label);
    emit_fault(g, 1, g->c.t.sites[id] - 1);
    x86_bind(g->code, label);
}

static void emit_bounds(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    uint32_t label = x86_label(g->code);
    find_bad(g, ir_operand(g->f, i, 0), label);
    x86_store(g->code, 8, x86_frame(g->spare), RCX);
    for (uint32_t k = 0; k < 2; k++) {
        x86_load(g->code, 4, RCX, x86_frame(g->spare));
        x86_count(g->code, 0xbc, false, RCX, RCX);
        x86_lane_to(g, ir_operand(g->f, i, k + 1), RCX, RAX);
        x86_store(g->code, 8, x86_at(RBX, (int32_t)(offsetof(x86_warp, values) + 8 * k)), RAX);
    }
    x86_load(g->code, 4, RCX, x86_frame(g->spare));
    emit_fault(g, 4, g->c.t.sites[id] - 1);
    x86_bind(g->code, label);
}

static void emit_print(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    int32_t bytes = (int32_t)(i->operand_count ? i->operand_count : 1) * 256;
    if (g->list_bytes < bytes) {
        g->list = x86_slot(g, bytes, 64);
        g->list_bytes = bytes;
    }
    for (uint32_t k = 0; k < i->operand_count; k++) {
        ir_ref r = ir_operand(g->f, i, k);
        ir_type t = ir_type_of(g->f, r);
        if (t == IR_I1)
            x86_refuse(g, "a truth is printed");
        for (uint32_t n = 0; t != IR_I1 && n < 4; n++) {
            uint8_t from = VS0;
            if (ctext_is_wide(t))
                from = x86_part_reg(g, r, n, VS0);
            else
                x86_widen(g, r, n, X86_VPMOVZXDQ, VS0);
            x86_vec(g->code, X86_VMOVDQU64_S, from, 0,
                    x86_of_mem(x86_frame(g->list + (int32_t)(256 * k + 64 * n))), (x86_opt){0});
        }
    }
    x86_before_call(g);
    x86_mov_imm(g->code, RSI, g->c.t.sites[id] - 1);
    x86_active(g, RDX);
    x86_lea(g->code, RCX, x86_frame(g->list));
    call_back(g, OF_WARP(print));
    x86_after_call(g);
}

static void emit_world(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    switch ((ir_world_op)i->op) {
    case IR_PRINT: emit_print(g, id); break;
    case IR_HOST: x86_refuse(g, "it calls the host"); break;
    case IR_ASSERT: emit_assert(g, id); break;
    case IR_BOUNDS: emit_bounds(g, id); break;
    case IR_TRAP:
        x86_active(g, RCX);
        emit_fault(g, 2, g->c.t.sites[id] - 1);
        break;
    case IR_ASSUME: break;
    case IR_CLOCK:
    case IR_NANOTIME: emit_time(g, i); break;
    case IR_SLEEP:
        x86_before_call(g);
        call_back(g, OF_WARP(yield));
        x86_after_call(g);
        break;
    }
}

static void emit_geometry(x86_gen *g, const ir_inst *i)
{
    switch ((ir_geometry_op)i->op) {
    case IR_THREAD: emit_thread(g, i); break;
    case IR_BLOCK: emit_field(g, i, offsetof(x86_warp, block) + 4 * (size_t)i->imm); break;
    case IR_BLOCKDIM: emit_blockdim(g, i); break;
    case IR_GRIDDIM: emit_field(g, i, offsetof(x86_warp, grid_dim) + 4 * (size_t)i->imm); break;
    case IR_LANE: emit_lane(g, i); break;
    case IR_WARP: emit_field(g, i, offsetof(x86_warp, warp)); break;
    case IR_DYNSHARED: emit_field(g, i, offsetof(x86_warp, dynamic_bytes)); break;
    }
}

static void emit_group(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    switch ((ir_group_op)i->op) {
    case IR_BARRIER: emit_barrier(g, id); break;
    case IR_WARPSYNC: break;
    case IR_SHUFFLE: emit_shuffle(g, i); break;
    case IR_BALLOT:
    case IR_ACTIVE: emit_ballot(g, i); break;
    case IR_MATCH: emit_match(g, i); break;
    case IR_UNIFORM: emit_uniform(g, i); break;
    }
}

// --- any of them
static bool is_memory(const ir_inst *i)
{
    return i->op >= IR_LOAD && i->op <= IR_ATOMSTORE && i->op != IR_LOCAL && i->op != IR_SHARED &&
           i->op != IR_CONSTANT;
}

static bool is_wide_call(uint32_t op)
{
    return op == IR_SDIV || op == IR_UDIV || op == IR_SREM || op == IR_UREM || op == IR_SMULHI ||
           op == IR_UMULHI;
}

// A guess that only decides what is kept where.
bool x86_may_call(const x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    if (is_memory(i))
        return x86_memory_calls(g, i);
    uint64_t by, width;
    ir_type from = i->operand_count ? ir_type_of(g->f, ir_operand(g->f, i, 0)) : IR_VOID;
    bool is_small =
        (from >= IR_BF16 && from <= IR_F8E5) || (i->type >= IR_BF16 && i->type <= IR_F8E5);
    switch (i->op) {
    case IR_BARRIER:
    case IR_SLEEP:
    case IR_PRINT:
    case IR_HOST:
    case IR_MATCH:
    case IR_CLOCK:
    case IR_NANOTIME: return true;
    case IR_SHUFFLE: return !is_fast_shuffle(g, i, &by, &width);
    case IR_FEXT:
    case IR_FNARROW: return is_small;
    case IR_FTOSI:
    case IR_FTOUI: return from != IR_F32 || i->type != IR_I32;
    default: break;
    }
    return (i->op >= IR_POPC && i->op <= IR_DP4A_U) ||
           (i->op >= IR_FAST_EXP2 && i->op <= IR_FAST_DIV) ||
           (i->op >= IR_HADD2 && i->op <= IR_HMAX2) ||
           (is_wide_call(i->op) && ctext_is_wide((ir_type)i->type));
}

static void emit_arithmetic(x86_gen *g, const ir_inst *i)
{
    if (!(is_lanes(g, i->result) ? x86_emit_lanes(g, i) : x86_emit_scalar(g, i)))
        x86_emit_general(g, i);
}

static void emit_memory(x86_gen *g, const ir_inst *i)
{
    switch ((ir_memory_op)i->op) {
    case IR_PTRADD: emit_arithmetic(g, i); break;
    case IR_LOAD:
    case IR_STORE:
    case IR_ATOMIC:
    case IR_CAS:
    case IR_ATOMLOAD:
    case IR_ATOMSTORE: x86_emit_memory(g, i); break;
    case IR_LOCAL:
        x86_mov_imm(g->code, RAX, g->c.t.locals.at[i->aux]);
        put_same(g, i->result, RAX);
        break;
    case IR_SHARED: emit_shared(g, i); break;
    case IR_CONSTANT: emit_constant(g, i); break;
    case IR_FENCE:
        x86_byte(g->code, 0x0f); // mfence
        x86_byte(g->code, 0xae);
        x86_byte(g->code, 0xf0);
        break;
    case IR_PREFETCH: break;
    }
}

void x86_emit_plain(x86_gen *g, ir_inst_id id)
{
    const ir_inst *i = ir_at(g->f, id);
    bool is_dropped = i->result_count > 0;
    for (uint32_t k = 0; k < i->result_count; k++)
        is_dropped &= g->places[i->result + k].class == CLASS_NONE;
    ir_effect effect = ir_op_effect(i->op);
    if (is_dropped && (effect == IR_FX_PURE || effect == IR_FX_READ))
        return;
    switch (ir_op_family(i->op)) {
    case IR_FAM_INT:
    case IR_FAM_FLOAT:
    case IR_FAM_FAST:
    case IR_FAM_COMPARE:
    case IR_FAM_SELECT:
    case IR_FAM_PACKED: emit_arithmetic(g, i); break;
    case IR_FAM_CONVERT:
        if (!x86_emit_conversion(g, i))
            x86_emit_general(g, i);
        break;
    case IR_FAM_MEMORY: emit_memory(g, i); break;
    case IR_FAM_GEOMETRY: emit_geometry(g, i); break;
    case IR_FAM_GROUP: emit_group(g, id); break;
    case IR_FAM_WORLD: emit_world(g, id); break;
    case IR_FAM_NVIDIA:
    case IR_FAM_CALL:
    case IR_FAM_CONTROL:
    case IR_FAM_END:
    case IR_FAM_NONE:
    case IR_FAM_COUNT: x86_refuse(g, ir_op_name(i->op)); break;
    }
}
