// A kernel's arrays -> an offset for each one it uses. Start at ir_layout_shared.
#include "ir/layout.h"

enum { USUAL_ALIGN = 16 }; // of a list's entry that does not say

static ir_layout layout_new(const ir_func *f, ir_op op, uint32_t count, uint32_t least, arena *a)
{
    ir_layout l = {.used = arena_array(a, bool, count + 1),
                   .at = arena_array(a, uint64_t, count + 1),
                   .align = least};
    for (ir_inst_id id = 1; count && id < f->insts.len; id++)
        if (ir_at(f, id)->op == op)
            l.used[ir_at(f, id)->aux] = true;
    return l;
}

static uint32_t widened(ir_layout *l, uint32_t align, uint32_t least)
{
    if (!align)
        align = USUAL_ALIGN;
    if (align < least)
        align = least;
    if (l->align < align)
        l->align = align;
    return align;
}

static void place(ir_layout *l, uint32_t k, uint64_t size, uint32_t align)
{
    l->at[k] = ir_round_up(l->bytes, align);
    l->bytes = l->at[k] + (size ? size : 1); // no two arrays have one address
}

ir_layout ir_layout_shared(const ir_func *f, uint32_t least, arena *a)
{
    const ir_module *m = f->module;
    ir_layout l = layout_new(f, IR_SHARED, m->shared.len, least, a);
    uint32_t dynamic = USUAL_ALIGN > least ? USUAL_ALIGN : least;
    for (uint32_t k = 0; k < m->shared.len; k++) {
        const ir_shared *s = &m->shared.at[k];
        if (!l.used[k])
            continue;
        uint32_t align = widened(&l, s->align, least);
        if (!s->is_dynamic)
            place(&l, k, s->size, align);
        else if (align > dynamic)
            dynamic = align;
    }
    l.behind = ir_round_up(l.bytes, dynamic);
    for (uint32_t k = 0; k < m->shared.len; k++)
        if (l.used[k] && m->shared.at[k].is_dynamic)
            l.at[k] = l.behind;
    return l;
}

ir_layout ir_layout_locals(const ir_func *f, uint32_t least, arena *a)
{
    ir_layout l = layout_new(f, IR_LOCAL, f->locals.len, least, a);
    for (uint32_t k = 0; k < f->locals.len; k++)
        if (l.used[k])
            place(&l, k, f->locals.at[k].size, widened(&l, f->locals.at[k].align, least));
    l.behind = ir_round_up(l.bytes, USUAL_ALIGN);
    return l;
}
