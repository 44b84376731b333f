// Alias analysis by base object (contract in alias.h): a pointer is followed through additions and
// casts to the parameter or array it comes from. Start reading at alias_base_of.
#include "pass/alias.h"

alias_base alias_base_of(const ir_func *f, ir_ref pointer)
{
    alias_base b = {.space = ir_type_of(f, pointer), .is_offset_known = true};
    for (;;) {
        ir_type t = ir_type_of(f, pointer);
        if (b.space == IR_PTR_GEN)
            b.space = t;
        if (!ir_is_const(pointer) && f->values.at[pointer].def == IR_DEF_PARAM) {
            b.kind = ALIAS_PARAM;
            b.index = f->values.at[pointer].index;
            return b;
        }
        ir_inst_id def = ir_def_of(f, pointer);
        if (!def)
            break;
        const ir_inst *i = ir_at(f, def);
        b.index = i->aux;
        if (i->op == IR_LOCAL || i->op == IR_SHARED || i->op == IR_CONSTANT) {
            b.kind = i->op == IR_LOCAL    ? ALIAS_LOCAL
                     : i->op == IR_SHARED ? ALIAS_SHARED
                                          : ALIAS_CONSTANT;
            return b;
        }
        if (i->op == IR_PTRADD) {
            uint64_t bits = 0;
            b.is_offset_known &= ir_const_bits(f, ir_operand(f, i, 1), &bits);
            b.offset = (int64_t)((uint64_t)b.offset + bits);
        } else if (i->op != IR_PTRCAST && i->op != IR_UNIFORM) {
            break;
        }
        pointer = ir_operand(f, i, 0);
    }
    return (alias_base){.space = b.space};
}

static bool is_restrict(const ir_func *f, const alias_base *b)
{
    return b->kind == ALIAS_PARAM && f->params.at[b->index].is_restrict;
}

bool alias_may_meet(const ir_func *f, const alias_base *a, const alias_base *b)
{
    if (a->space != b->space && a->space != IR_PTR_GEN && b->space != IR_PTR_GEN)
        return false;
    if (a->kind == ALIAS_UNKNOWN || b->kind == ALIAS_UNKNOWN)
        return true;
    if (a->kind != b->kind)
        return false;
    if (a->index == b->index)
        return true;
    if (a->kind == ALIAS_PARAM)
        return !is_restrict(f, a) && !is_restrict(f, b);
    if (a->kind == ALIAS_SHARED)
        return f->module->shared.at[a->index].is_dynamic &&
               f->module->shared.at[b->index].is_dynamic;
    return false;
}

bool alias_is_readonly(const ir_func *f, const alias_base *b)
{
    return b->space == IR_PTR_CONST || b->space == IR_PTR_PARAM ||
           (is_restrict(f, b) && f->params.at[b->index].is_const);
}

bool alias_may_write(const ir_func *f, const ir_inst *i, const alias_base *b)
{
    ir_effect effect = ir_op_effect(i->op);
    if (alias_is_readonly(f, b))
        return false;
    if (i->op == IR_STORE || i->op == IR_ATOMIC || i->op == IR_CAS || i->op == IR_ATOMSTORE) {
        alias_base at = alias_base_of(f, ir_operand(f, i, 0));
        bool is_ordered = i->op != IR_STORE && i->order != IR_RELAXED;
        return alias_may_meet(f, &at, b) || (is_ordered && b->space != IR_PTR_LOCAL);
    }
    // A thread that waits with a volatile load must then see what the other thread wrote.
    if (i->op == IR_LOAD && i->hint == IR_HINT_VOLATILE)
        return b->space != IR_PTR_LOCAL;
    if (effect == IR_FX_PURE || effect == IR_FX_READ || effect == IR_FX_CTRL)
        return false;
    bool is_quiet = i->op == IR_SHUFFLE || i->op == IR_BALLOT || i->op == IR_ACTIVE ||
                    i->op == IR_MATCH || i->op == IR_ASSUME || i->op == IR_PREFETCH ||
                    i->op == IR_CLOCK || i->op == IR_NANOTIME || i->op == IR_PRINT ||
                    i->op == IR_ASSERT || i->op == IR_BOUNDS || i->op == IR_TRAP;
    return !is_quiet && (i->op == IR_CALL || i->op == IR_HOST || b->space != IR_PTR_LOCAL);
}
