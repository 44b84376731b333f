// Initialisers: for variables as stores, for constant tables as bytes.
//
// After checking, a braced list is a list of (offset, value) in evaluation order; what no entry
// covers is zero. Start at lower_init and lower_const_data.
#include "front/lower.h"

// True when the entries write every byte (padding aside it need not be exact: false costs a few
// dead stores).
static bool covers_all(const ast_expr *list, const type *t)
{
    uint64_t bytes = 0, end = 0;
    for (uint32_t i = 0; i < list->inits.len; i++) {
        const init_entry *entry = &list->inits.at[i];
        if (entry->offset < end || entry->bits)
            return false;
        bytes += lower_size(entry->value->type);
        end = entry->offset + lower_size(entry->value->type);
    }
    return bytes == lower_size(t);
}

static const ast_expr *stripped(const ast_expr *e)
{
    while (e->kind == E_CONVERT && (e->convert == CONVERT_NOOP || e->convert == CONVERT_LOAD))
        e = e->a;
    return e;
}

static void string_init(lower *l, place to, str bytes)
{
    uint64_t room = lower_size(to.type);
    if (room > bytes.len)
        lower_zero(l, to);
    for (uint64_t i = 0; i < bytes.len && i < room; i++) {
        place at = {.base = to.base,
                    .offset = lower_offset(to.offset, i),
                    .type = type_scalar(TY_I8),
                    .hint = to.hint};
        lower_store(l, at, ir_constant(l->func, IR_I8, (uint8_t)bytes.at[i]));
    }
}

static void list_init(lower *l, place to, const ast_expr *list)
{
    if (!covers_all(list, to.type))
        lower_zero(l, to);
    for (uint32_t i = 0; i < list->inits.len; i++) {
        const init_entry *entry = &list->inits.at[i];
        const type *t = entry->bits ? entry->bits->type : entry->value->type;
        lower_init(l, lower_inside(l, to, entry->offset, t->unqualified, entry->bits),
                   entry->value);
    }
}

void lower_init(lower *l, place to, const ast_expr *init)
{
    const ast_expr *core = stripped(init);
    l->at.at = init->at;
    if (core->kind == E_INIT_LIST) {
        list_init(l, to, core);
    } else if (core->kind == E_STRING && to.type->kind == TY_ARRAY) {
        string_init(l, to, core->bytes);
    } else if (core->kind == E_COMPOUND && core->a->kind == E_INIT_LIST &&
               type_is_record(to.type) && core->a->inits.len == 0) {
        lower_zero(l, to);
    } else if (type_is_record(to.type)) {
        place from = lower_place(l, init);
        l->at.at = init->at;
        lower_copy(l, to, from);
    } else {
        ir_ref value = lower_operand(l, init);
        value = lower_convert(l, value, init->type, to.type);
        l->at.at = init->at;
        lower_store(l, to, value);
    }
}

// --- constant tables

static void put_bytes(uint8_t *out, uint64_t bits, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        out[i] = (uint8_t)(bits >> (8 * i));
}

static uint64_t const_bits(const type *t, const_value v)
{
    if (t->kind == TY_F32) {
        float narrow = v.is_float ? (float)v.real : (float)(int64_t)v.integer;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    if (t->kind == TY_F64) {
        uint64_t bits;
        memcpy(&bits, &v.real, sizeof bits);
        return bits;
    }
    if (t->kind == TY_BOOL)
        return v.integer != 0;
    return v.integer;
}

// Writes the bits of a constant into their unit at out.
static void put_bits(uint8_t *out, const field *f, uint64_t bits)
{
    for (uint32_t i = 0; i < (uint32_t)f->bits; i++) {
        uint32_t at = f->bit + i;
        uint8_t one = (uint8_t)(1 << at % 8);
        out[at / 8] = (uint8_t)(bits >> i & 1 ? out[at / 8] | one : out[at / 8] & ~one);
    }
}

// Writes the constant `init` of an object of type `t` at out.
static void const_bytes(lower *l, const type *t, const ast_expr *init, uint8_t *out)
{
    const ast_expr *core = stripped(init);
    if (core->kind == E_COMPOUND)
        core = core->a;
    if (core->kind == E_INIT_LIST) {
        memset(out, 0, lower_size(t));
        for (uint32_t i = 0; i < core->inits.len; i++) {
            const init_entry *entry = &core->inits.at[i];
            const_value v;
            if (entry->bits && const_eval(l->f, entry->value, &v))
                put_bits(out + entry->offset, entry->bits, const_bits(entry->bits->type, v));
            else
                const_bytes(l, entry->value->type, entry->value, out + entry->offset);
        }
        return;
    }
    if (core->kind == E_STRING && t->kind == TY_ARRAY) {
        uint64_t len = core->bytes.len < t->size ? core->bytes.len : t->size;
        memcpy(out, core->bytes.at, len);
        memset(out + len, 0, t->size - len); // a text before it may have been longer
        return;
    }
    const_value v;
    if (!const_eval_static(l->f, init, &v))
        bug("a constant table has an element that is not constant");
    put_bytes(out, const_bits(t, v), lower_size(t));
}

uint32_t lower_const_data(lower *l, ast_decl *d)
{
    if (d->lower_index)
        return d->lower_index - 1;
    ir_data data = {.name = d->name,
                    .size = lower_size(d->type),
                    .align = d->align > d->type->align ? d->align : d->type->align,
                    .elem = (uint8_t)lower_leaf_type(d->type),
                    .row = lower_row_size(d->type),
                    .at = d->at};
    uint8_t *bytes = arena_alloc(l->f->in, data.size ? data.size : 1);
    if (d->init)
        const_bytes(l, d->type, d->init, bytes);
    data.bytes = bytes;
    vec_push(l->f->in, &l->module->data, data);
    d->lower_index = l->module->data.len;
    return d->lower_index - 1;
}

bool lower_const_scalar(lower *l, const ast_expr *e, ir_ref *out)
{
    const_value v;
    if (e->kind != E_NAME || !e->decl || !e->decl->is_const_data || !e->decl->init ||
        !(type_is_arith(e->decl->type) || is_function_pointer(e->decl->type)) ||
        !const_eval_static(l->f, e->decl->init, &v))
        return false;
    *out = ir_constant(l->func, type_ir(e->decl->type), const_bits(e->decl->type, v));
    return true;
}
