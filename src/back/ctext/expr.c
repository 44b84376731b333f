// Operations without effects on values that are held once, as C expressions. Names of functions are
// the IR's with the type behind (add_u32, fadd_f32); a dialect's prelude defines them, and the
// fixed-width integers (int8_t … uint64_t). Start reading at ctext_pure.
#include "back/ctext/ctext.h"

static const char *suffix(ir_type t)
{
    return t == IR_F32 ? "f32" : t == IR_F64 ? "f64" : ctext_is_wide(t) ? "u64" : "u32";
}

static const char *int_name(ir_type t)
{
    return t == IR_I8 ? "u8" : t == IR_I16 ? "u16" : t == IR_I32 ? "u32" : "u64";
}

uint32_t ctext_low_mask(ir_type t)
{
    return t == IR_I1 ? 1 : t == IR_I8 ? 0xff : t == IR_I16 ? 0xffff : 0xffffffffu;
}

// --- conversions
static const char *extended(ctext *t, ir_type to, ir_type from, const char *x)
{
    const char *type = ctext_is_wide(to) ? "uint64_t" : "uint32_t";
    if (from == IR_I1)
        return str_format(t->a, "(((%s)0 - %s) & 0x%llx%s)", type, x,
                          ctext_is_wide(to) ? ~0ull : (unsigned long long)ctext_low_mask(to),
                          t->words->wide);
    const char *narrow = from == IR_I8    ? "int8_t"
                         : from == IR_I16 ? "int16_t"
                         : from == IR_I32 ? "int32_t"
                                          : "int64_t";
    const char *wide = str_format(t->a, "(%s)(int64_t)(%s)%s", type, narrow, x);
    return to == IR_I16 ? str_format(t->a, "(%s & 0xffffu)", wide) : wide;
}

const char *ctext_bitcast(ctext *t, ir_type to, ir_type from, const char *x)
{
    if (to == from)
        return x;
    const char *function = to == IR_F32     ? "f32_bits"
                           : to == IR_F64   ? "f64_bits"
                           : from == IR_F32 ? "bits_f32"
                           : from == IR_F64 ? "bits_f64"
                                            : "";
    return str_format(t->a, "%s(%s)", function, x);
}

static const char *conversion(ctext *t, const ir_inst *i)
{
    ir_ref a = ir_operand(t->f, i, 0);
    ir_type to = (ir_type)i->type, from = ir_type_of(t->f, a);
    const char *x = ctext_scalar(t, a);
    switch (i->op) {
    case IR_TRUNC: return str_format(t->a, "((uint32_t)%s & 0x%xu)", x, ctext_low_mask(to));
    case IR_ZEXT: return str_format(t->a, ctext_is_wide(to) ? "(uint64_t)%s" : "%s", x);
    case IR_SEXT: return extended(t, to, from, x);
    case IR_SITOF:
    case IR_UITOF:
        return str_format(t->a, "%s_%s_%s(%s)", ctext_op(t, (ir_op)i->op), suffix(from), suffix(to),
                          x);
    case IR_FTOSI:
    case IR_FTOUI:
        return str_format(t->a, "%s_%s_%s(%s)", ctext_op(t, (ir_op)i->op), suffix(from),
                          int_name(to), x);
    case IR_FEXT:
        return to == IR_F64 ? str_format(t->a, "(double)%s", x)
                            : str_format(t->a, "%s_f32(%s)", ir_type_name(from), x);
    case IR_FNARROW:
        return to == IR_F32 ? str_format(t->a, "(float)%s", x)
                            : str_format(t->a, "f32_%s(%s)", ir_type_name(to), x);
    case IR_BITCAST: return ctext_bitcast(t, to, from, x);
    default: return x;
    }
}

// --- the rest
static const char *call(ctext *t, const ir_inst *i)
{
    bool is_packed = i->op >= IR_HADD2 && i->op <= IR_HMAX2;
    const char *name = i->op == IR_PTRADD ? "add" : ctext_op(t, (ir_op)i->op);
    const char *args = "", *tail = suffix(i->op == IR_PTRADD ? IR_I64 : (ir_type)i->type);
    if (is_packed)
        tail = ir_type_name((ir_type)i->aux);
    for (uint32_t k = 0; k < i->operand_count; k++)
        args = str_format(t->a, "%s%s%s", args, k ? ", " : "",
                          ctext_scalar(t, ir_operand(t->f, i, k)));
    return str_format(t->a, "%s_%s(%s)", name, tail, args);
}

const char *ctext_pure(ctext *t, const ir_inst *i)
{
    const char *safe = t->folds ? ctext_safe(t, i) : NULL;
    if (safe)
        return safe;
    if (i->op >= IR_TRUNC && i->op < IR_PTRCAST)
        return conversion(t, i);
    if (i->op == IR_SELECT)
        return str_format(t->a, "%s ? %s : %s", ctext_scalar(t, ir_operand(t->f, i, 0)),
                          ctext_scalar(t, ir_operand(t->f, i, 1)),
                          ctext_scalar(t, ir_operand(t->f, i, 2)));
    return call(t, i);
}
