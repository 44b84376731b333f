// Which stores may go past the caches: whole rows into what a parameter points to, when the kernel
// never reads through that parameter. A launch whose results are larger than the caches lets them
// (x: streams of a warp); there they save the read of every line that is written, and leave the
// caches to others. Such stores become visible late, in any order: the device waits for them when a
// thread has done its share, and a kernel that may talk to other threads before has none. Start
// reading at cpu_find_streams.
#include "back/cpu/cpu.h"

// Other threads may be told of a store before the kernel ends.
static bool is_talk(const ir_inst *i)
{
    return i->op == IR_ATOMIC || i->op == IR_CAS || i->op == IR_ATOMLOAD || i->op == IR_ATOMSTORE ||
           i->op == IR_FENCE || i->op == IR_HOST ||
           ((i->op == IR_LOAD || i->op == IR_STORE) && i->hint == IR_HINT_VOLATILE);
}

// The parameter that an address starts from; the function's parameter count: another, or unknown.
static uint32_t param_of(const ir_func *f, ir_ref r)
{
    ir_inst_id def;
    while ((def = ir_def_of(f, r)) && ir_at(f, def)->op == IR_PTRADD)
        r = ir_operand(f, ir_at(f, def), 0);
    bool is_param = !ir_is_const(r) && r >= f->first_param && r - f->first_param < f->params.len;
    return is_param ? r - f->first_param : f->params.len;
}

void cpu_find_streams(cpu_emitter *e)
{
    const ir_func *f = e->t.f;
    bool *streams = arena_array(e->t.a, bool, f->params.len + 1);
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        if (ir_at(f, id)->op == IR_STORE)
            streams[param_of(f, ir_operand(f, ir_at(f, id), 0))] = true;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (is_talk(i))
            return;
        if (i->op == IR_LOAD)
            streams[param_of(f, ir_operand(f, i, 0))] = false;
    }
    for (uint32_t k = 0; k < f->params.len; k++)
        if (streams[k])
            e->streams = streams;
    streams[f->params.len] = false;
}

bool cpu_may_stream(const cpu_emitter *e, const ir_inst *store)
{
    return e->streams && e->streams[param_of(e->t.f, ir_operand(e->t.f, store, 0))];
}
