// memcpy, memmove and memset of a constant number of bytes: accesses as wide as the pointers' types
// are aligned, all loads before all stores. Other calls go to lib/memory.h. Start at
// lower_known_bytes.
#include "front/lower.h"

enum { MAX_ACCESSES = 64 };

// The argument without its conversion to void *.
static const ast_expr *as_given(const ast_expr *e)
{
    while (e->kind == E_CONVERT && e->convert == CONVERT_NOOP && !e->cast_type &&
           e->a->type->kind == TY_PTR)
        e = e->a;
    return e;
}

static uint32_t align_behind(const ast_expr *pointer)
{
    const type *to = pointer->type->base;
    return to->kind == TY_VOID || to->kind == TY_FUNC || type_is_incomplete(to) ? 1
                                                                                : type_align(to);
}

static const type *bytes_type(lower *l, uint64_t count, uint32_t align)
{
    uint64_t size = align > 8 ? 8 : align;
    while (count % size)
        size /= 2;
    type_kind k = size == 8 ? TY_U64 : size == 4 ? TY_U32 : size == 2 ? TY_U16 : TY_U8;
    return count / size > MAX_ACCESSES ? NULL
                                       : type_array(l->f->in, type_scalar(k), count / size, false);
}

static void set_bytes(lower *l, place to, uint64_t byte)
{
    uint64_t each = lower_size(to.type->base);
    for (uint64_t i = 0; i < to.type->len; i++) {
        place at = {.base = to.base,
                    .offset = lower_offset(to.offset, i * each),
                    .type = to.type->base,
                    .hint = to.hint};
        uint64_t pattern = (byte & 255) * UINT64_C(0x0101010101010101);
        lower_store(l, at, ir_constant(l->func, type_ir(at.type), pattern));
    }
}

bool lower_known_bytes(lower *l, const ast_expr *e, ir_ref *pointer)
{
    bool copies = e->builtin->id == BI_memcpy || e->builtin->id == BI_memmove;
    const_value n, byte = {0};
    if ((!copies && e->builtin->id != BI_memset) || !const_eval(l->f, e->args.at[2], &n) ||
        !n.integer || n.integer > 8 * MAX_ACCESSES)
        return false;
    if (!copies && !const_eval(l->f, e->args.at[1], &byte))
        return false;
    const ast_expr *to = as_given(e->args.at[0]);
    const ast_expr *from = copies ? as_given(e->args.at[1]) : NULL;
    uint32_t align = align_behind(to);
    if (from && align_behind(from) < align)
        align = align_behind(from);
    const type *t = bytes_type(l, n.integer, align);
    if (!t)
        return false;
    place target = lower_pointee(l, to);
    target.type = t;
    if (copies) {
        place source = lower_pointee(l, from);
        source.type = t;
        l->at.at = e->at;
        lower_copy(l, target, source);
    } else {
        l->at.at = e->at;
        set_bytes(l, target, byte.integer);
    }
    *pointer = lower_address(l, target);
    return true;
}
