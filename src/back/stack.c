// How much stack a kernel's calls may take on a GPU, per thread. The assembler knows the frame of
// each function but not how deep a recursion goes; the limit of every circle is in the IR, and a
// frame is estimated from what is alive across the calls. The estimate errs to the large side.
// Start at stack_bytes.
#include "back/back.h"
#include "ir/layout.h"
#include "ir/live.h"

enum { FRAME_OVERHEAD = 96, FRAME_ALIGN = 16 }; // return address, saved registers, channel

static uint64_t alive_bytes(const ir_func *f, arena *a)
{
    uint64_t most = 0, params = 0;
    ir_live live = ir_live_number(f, a);
    ir_live_uses(&live);
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        if (f->insts.at[id].op != IR_CALL)
            continue;
        ir_refs alive = {0};
        ir_live_list(&live, ir_point_behind(&live, id), a, &alive);
        uint64_t bytes = 0;
        for (uint32_t k = 0; k < alive.len; k++)
            bytes += ir_type_size(ir_type_of(f, alive.at[k])) > 4 ? 8 : 4;
        most = bytes > most ? bytes : most;
    }
    for (uint32_t k = 0; k < f->params.len; k++)
        params += 8;
    return most + params;
}

static uint64_t frame_bytes(const ir_func *f, arena *a)
{
    uint64_t locals = ir_layout_locals(f, FRAME_ALIGN, a).bytes, alive = alive_bytes(f, a);
    return ir_round_up(locals + alive + alive / 2 + FRAME_OVERHEAD, FRAME_ALIGN);
}

static void add_callees(const ir_func *f, bool *seen, uint64_t *total, arena *a)
{
    const ir_module *m = f->module;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = &f->insts.at[id];
        if (i->op != IR_CALL || seen[i->aux])
            continue;
        const ir_func *callee = m->funcs.at[i->aux];
        seen[i->aux] = true;
        *total += frame_bytes(callee, a) * (callee->is_bounded ? callee->recursion_limit : 1);
        add_callees(callee, seen, total, a);
    }
}

uint64_t stack_bytes(const ir_func *kernel, arena *scratch)
{
    arena_mark mark = arena_save(scratch);
    uint64_t total = 0;
    if (ir_has_calls(kernel)) {
        bool *seen = arena_array(scratch, bool, kernel->module->funcs.len + 1);
        total = frame_bytes(kernel, scratch);
        add_callees(kernel, seen, &total, scratch);
    }
    arena_restore(scratch, mark);
    return total;
}
