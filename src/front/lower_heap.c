// heap_arena(): a kernel that allocates memory has one hidden parameter behind its own, the heap.
// Lowering leaves a call of no function wherever it is asked for. When all functions are there,
// those that need the heap, by themselves or through others, get it as a last parameter, and their
// calls hand it on. Nobody else sees such a call, and a kernel that does not allocate stays as it
// is. Start at lower_heap_params.
#include "front/lower.h"

#define NO_FUNCTION UINT32_MAX

ir_ref lower_heap_arena(lower *l)
{
    static const uint8_t result = IR_PTR_GEN;
    ir_inst_id id = ir_add(&l->at, IR_CALL, IR_VOID, NULL, 0, &result, 1);
    ir_at(l->func, id)->aux = NO_FUNCTION;
    return ir_at(l->func, id)->result;
}

static bool is_call(const ir_inst *i)
{
    return i->op == IR_CALL && i->parent;
}

static bool calls_any(const ir_func *f, const bool *uses)
{
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (is_call(i) && (i->aux == NO_FUNCTION || uses[i->aux]))
            return true;
    }
    return false;
}

// Parameters' values are consecutive, so all of them move to the end of the values.
static void add_param(ir_func *f)
{
    arena *in = f->module->in;
    uint32_t old = f->values.len, count = f->params.len;
    ir_ref *with = arena_array(in, ir_ref, old + count + 1);
    for (uint32_t k = 0; k < count; k++) {
        with[f->first_param + k] = f->values.len;
        vec_push(in, &f->values, f->values.at[f->first_param + k]);
    }
    f->first_param = old;
    ir_param_add(f, (ir_param){.name = "heap",
                               .kind = IR_PARAM_POINTER,
                               .type = f->is_kernel ? IR_PTR_GLOBAL : IR_PTR_GEN,
                               .elem = IR_I8,
                               .elem_unsigned = true,
                               .is_hidden = true,
                               .size = 8,
                               .align = 8,
                               .elem_size = 1,
                               .elem_align = 1,
                               .c_type = "u8 *",
                               .at = f->at});
    ir_rename(f, with);
}

// The heap as a value of `f` that all of its instructions see.
static ir_ref heap_of(ir_func *f)
{
    ir_ref heap = f->first_param + f->params.len - 1;
    if (!f->is_kernel)
        return heap;
    ir_cursor c = ir_before(f, ir_region_at(f, f->body)->first);
    c.at = f->at;
    return ir_convert(&c, IR_PTRCAST, IR_PTR_GEN, heap);
}

static void hand_on(ir_func *f, const bool *uses)
{
    ir_ref heap = heap_of(f);
    uint32_t count = f->insts.len;
    ir_ref *with = arena_array(f->module->in, ir_ref, f->values.len + 1);
    for (ir_inst_id id = 1; id < count; id++) {
        const ir_inst *i = ir_at(f, id);
        if (!is_call(i))
            continue;
        uint32_t n = i->operand_count;
        if (i->aux == NO_FUNCTION) {
            with[i->result] = heap;
            ir_remove(f, id);
        } else if (uses[i->aux]) {
            ir_ref *operands = arena_array(f->module->in, ir_ref, n + 1);
            if (n)
                memcpy(operands, ir_operands(f, i), n * sizeof *operands);
            operands[n] = heap;
            ir_set_operands(f, id, operands, n + 1);
        }
    }
    ir_rename(f, with);
}

void lower_heap_params(ir_module *m)
{
    bool *uses = arena_array(m->in, bool, m->funcs.len + 1);
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t k = 0; k < m->funcs.len; k++)
            if (!uses[k] && calls_any(m->funcs.at[k], uses))
                uses[k] = is_new = true;
    }
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (uses[k])
            add_param(m->funcs.at[k]);
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (uses[k])
            hand_on(m->funcs.at[k], uses);
}
