// Lists the places that talk to the host. Both the emitters and the runtime number sites by this walk.
#include "back/channel.h"

static bool is_site(const ir_inst *i)
{
    return i->op == IR_PRINT || i->op == IR_ASSERT || i->op == IR_TRAP;
}

bool channel_is_used(const ir_func *f)
{
    for (uint32_t k = 1; k < f->insts.len; k++)
        if (is_site(&f->insts.at[k]))
            return true;
    return false;
}

void channel_list_sites(const ir_module *m, arena *a, channel_sites *out)
{
    for (uint32_t n = 0; n < m->funcs.len; n++) {
        const ir_func *f = m->funcs.at[n];
        for (uint32_t k = 1; f->is_kernel && k < f->insts.len; k++) {
            const ir_inst *i = &f->insts.at[k];
            if (!is_site(i))
                continue;
            channel_site s = {.op = i->op, .kernel = f->name, .file = ""};
            if (i->op != IR_TRAP)
                s.text = m->strings.at[i->aux];
            if (m->sources && i->at.lo) {
                source_place place = source_find(m->sources, i->at.lo);
                s.file = place.file ? place.file->path : "";
                s.line = place.line;
                s.column = place.column;
            }
            if (i->op == IR_PRINT) {
                must(i->operand_count <= COUNT(s.arguments));
                s.argument_count = i->operand_count;
                for (uint32_t o = 0; o < i->operand_count; o++)
                    s.arguments[o] = (uint8_t)ir_type_of(f, ir_operand(f, i, o));
            }
            vec_push(a, out, s);
        }
    }
}
