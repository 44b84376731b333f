// Which values share a register. The accumulator of a wgmma is updated in place and may not be
// moved while it is under way: its operand, its result, and what loops and branches make of them
// are one physical register. Two values share one only when neither is alive where the other is
// made; what cannot share is moved, as everywhere else. Start at ptx_coalesce.
#include "back/ptx/ptx.h"
#include "ir/live.h"
#include "ir/nv.h"

typedef struct coalescer {
    const ir_func *f;
    ir_live live;
    ir_ref *root, *next; // per value: its class, and the next member of the class
    bool *is_acc;        // per root: the class holds an accumulator
} coalescer;

static ir_ref root_of(const coalescer *t, ir_ref v)
{
    while (t->root[v] != v)
        v = t->root[v];
    return v;
}

static bool meet(const coalescer *t, ir_ref a, ir_ref b)
{
    for (ir_ref x = a; x; x = t->next[x])
        for (ir_ref y = b; y; y = t->next[y])
            if (ir_live_at(&t->live, x, ir_point_of(&t->live, y)) ||
                ir_live_at(&t->live, y, ir_point_of(&t->live, x)))
                return true;
    return false;
}

static bool coalesce(coalescer *t, ir_ref a, ir_ref b, bool is_acc)
{
    if (ir_is_const(a) || ir_is_const(b))
        return false;
    a = root_of(t, a);
    b = root_of(t, b);
    if (a == b || ir_type_of(t->f, a) != ir_type_of(t->f, b))
        return false;
    if (!is_acc && !t->is_acc[a] && !t->is_acc[b])
        return false;
    if (meet(t, a, b))
        return false;
    ir_ref last = a;
    while (t->next[last])
        last = t->next[last];
    t->next[last] = b;
    t->root[b] = a;
    t->is_acc[a] = true;
    return true;
}

static bool is_wgmma(const ir_inst *i)
{
    return i->op == IR_NV && i->aux == NV_WGMMA;
}

static bool coalesce_list(coalescer *t, ir_ref first, const ir_inst *i)
{
    bool changed = false;
    for (uint32_t k = 0; k < i->operand_count; k++)
        changed |= coalesce(t, first + k, ir_operand(t->f, i, k), false);
    return changed;
}

static bool coalesce_control(coalescer *t, const ir_inst *i)
{
    const ir_func *f = t->f;
    switch (i->op) {
    case IR_NEXT: return coalesce_list(t, ir_region_at(f, ir_at(f, i->aux)->regions)->args, i);
    case IR_EXIT: return coalesce_list(t, ir_at(f, i->aux)->result, i);
    case IR_LOOP: return coalesce_list(t, ir_region_at(f, i->regions)->args, i);
    default: return false;
    }
}

ir_ref *ptx_coalesce(const ir_func *f, arena *scratch)
{
    bool has_any = false;
    for (uint32_t k = 1; k < f->insts.len && !has_any; k++)
        has_any = is_wgmma(&f->insts.at[k]);
    if (!has_any)
        return NULL;
    coalescer t = {.f = f,
                   .live = ir_live_number(f, scratch),
                   .root = arena_array(scratch, ir_ref, f->values.len),
                   .next = arena_array(scratch, ir_ref, f->values.len),
                   .is_acc = arena_array(scratch, bool, f->values.len)};
    for (uint32_t v = 0; v < f->values.len; v++)
        t.root[v] = v;
    ir_live_uses(&t.live);
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        if (!is_wgmma(i))
            continue;
        bool is_started = i->operand_count > i->result_count;
        for (uint32_t n = 0; n < i->result_count; n++) {
            t.is_acc[root_of(&t, i->result + n)] = true;
            if (is_started)
                coalesce(&t, i->result + n, ir_operand(f, i, n), true);
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < f->insts.len; k++)
            changed |= coalesce_control(&t, &f->insts.at[k]);
    }
    for (uint32_t v = 1; v < f->values.len; v++)
        t.root[v] = root_of(&t, v);
    return t.root;
}
