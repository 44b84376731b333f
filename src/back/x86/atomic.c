// Atomics: by a call, lane by lane; but a sum whose old value is not used is a short loop over
// the active lanes. Start reading at x86_emit_atomic.
#include "back/x86/x86.h"

// The usual one: a 32-bit sum in shared or global memory.
bool x86_is_inline_atomic(const x86_gen *g, const ir_inst *i)
{
    ir_type t = ir_type_of(g->f, ir_operand(g->f, i, 0));
    bool is_local = t == IR_PTR_LOCAL || (t == IR_PTR_GEN && g->c.has_tagged);
    return i->op == IR_ATOMIC && i->aux == IR_AT_ADD && i->type == IR_I32 && !is_local &&
           !g->lives[i->result].is_needed;
}

static x86_mem lane_of(x86_gen *g, uint32_t buffer, uint8_t scale)
{
    x86_mem m = x86_frame(g->buffers + (int32_t)buffer * X86_BUFFER);
    m.index = RCX;
    m.has_index = true;
    m.scale = scale;
    return m;
}

static void emit_add(x86_gen *g, const ir_inst *i)
{
    x86_access x = x86_find_access(g, i, 0);
    uint32_t loop = x86_label(g->code);
    x.pointer = ir_operand(g->f, i, 0);
    x86_keep_lanes(g, ir_operand(g->f, i, 1), g->buffers + X86_BUFFER);
    x86_keep_addresses(g, &x, x.pointer);
    x86_active(g, RDX);
    x86_bind(g->code, loop);
    x86_count(g->code, 0xbc, false, RCX, RDX);
    x86_load(g->code, 8, RAX, lane_of(g, 0, 3));
    x86_load(g->code, 4, RCX, lane_of(g, 1, 2));
    // The warps of a block run on one host thread: no other thread sees its shared memory.
    if (ir_type_of(g->f, x.pointer) != IR_PTR_SHARED)
        x86_byte(g->code, 0xf0); // lock
    x86_alu_to_mem(g->code, ALU_ADD, false, x86_at(RAX, 0), RCX);
    x86_blsr(g->code, RDX, RDX);
    x86_jump_if(g->code, WHEN_NOT_ZERO, loop);
}

void x86_emit_atomic(x86_gen *g, const ir_inst *i)
{
    if (x86_is_inline_atomic(g, i)) {
        emit_add(g, i);
        return;
    }
    x86_access x = x86_find_access(g, i, 0);
    x.pointer = ir_operand(g->f, i, 0);
    x.kind = x.kind == ACCESS_LOCAL_ROW ? ACCESS_LOCAL : x.kind;
    x86_info info = x86_memory_info(&x, i);
    // The warps of a block run on one host thread: no other thread sees its shared memory.
    info.is_plain = ir_type_of(g->f, x.pointer) == IR_PTR_SHARED || info.is_local;
    if ((info.is_local || info.is_tagged) && x.size == 8)
        x86_refuse(g, "an atomic operation of 8 bytes on a local array");
    for (uint32_t k = 1; k < i->operand_count; k++)
        x86_keep_lanes(g, ir_operand(g->f, i, k), g->buffers + (int32_t)k * X86_BUFFER);
    x86_keep_addresses(g, &x, x.pointer);
    x86_call_helper(g, x86_help_atomic, &info);
    if (!i->result_count || g->places[i->result].class == CLASS_NONE)
        return;
    if (g->places[i->result].class < CLASS_V4) // atomics give each lane its own
        x86_refuse(g, "an atomic operation whose result is held once");
    else
        x86_load_lanes(g, i->result, g->buffers);
}
