// Operations that NVIDIA's assembler folds wrongly when they are written the obvious way
// (docs/assembler.md), as calls that hide from the device's compiler what they are: it would make
// the obvious instruction of them again. What these calls are is up to the dialect's prelude.
// Start reading at ctext_safe.
#include "back/ctext/ctext.h"
#include "back/folds.h"

static const char *one(ctext *t, const char *name, ir_ref a)
{
    return str_format(t->a, "%s(%s)", name, ctext_scalar(t, a));
}

static const char *two(ctext *t, const char *name, ir_ref a, ir_ref b)
{
    return str_format(t->a, "%s(%s, %s)", name, ctext_scalar(t, a), ctext_scalar(t, b));
}

static bool is_constant(const ctext *t, ir_ref r, uint64_t value)
{
    uint64_t bits;
    return ir_const_bits(t->f, r, &bits) && bits == value;
}

// Takes a compiler the choice for a minimum or maximum? Then an operand that is a negation is in
// danger.
static bool is_like_extreme(const ctext *t, const ir_inst *i)
{
    ir_inst_id def = ir_def_of(t->f, ir_operand(t->f, i, 0));
    const ir_inst *c = ir_at(t->f, def);
    if (i->type != IR_I32 || !def || c->op < IR_SLT || c->op > IR_ULE)
        return false;
    bool shares = false;
    for (uint32_t k = 0; k < 4; k++)
        shares |= ir_operand(t->f, c, k & 1) == ir_operand(t->f, i, 1 + (k >> 1));
    return shares && (folds_negation(t->f, t->folds, ir_operand(t->f, i, 1)) ||
                      folds_negation(t->f, t->folds, ir_operand(t->f, i, 2)));
}

// As an integer: a constant is never a float that the compiler could choose.
static const char *bits_of(ctext *t, ir_ref r)
{
    uint64_t bits;
    return ir_const_bits(t->f, r, &bits) ? ctext_literal(t, IR_I32, (uint32_t)bits)
                                         : ctext_bits(t, r);
}

// A zero and a one, of either sign: the compiler takes signs and factors that come later into the
// choice, which then has a -0.0.
static bool is_zero_and_one(const ctext *t, ir_ref a, ir_ref b)
{
    uint64_t x, y;
    if (!ir_const_bits(t->f, a, &x) || !ir_const_bits(t->f, b, &y))
        return false;
    uint32_t one = 0x7f000000u, first = (uint32_t)x << 1, second = (uint32_t)y << 1;
    return (first == 0 && second == one) || (first == one && second == 0);
}

static const char *choice(ctext *t, const ir_inst *i)
{
    ir_ref yes = ir_operand(t->f, i, 1), no = ir_operand(t->f, i, 2);
    bool is_zero = i->type == IR_F32 && (folds_minus_zero(t->f, yes) ||
                                         folds_minus_zero(t->f, no) || is_zero_and_one(t, yes, no));
    if (!is_zero && !is_like_extreme(t, i))
        return NULL;
    const char *chosen =
        str_format(t->a, "pick_u32(%s, %s, %s)", ctext_scalar(t, ir_operand(t->f, i, 0)),
                   bits_of(t, yes), bits_of(t, no));
    return is_zero ? str_format(t->a, "f32_bits(%s)", chosen) : chosen;
}

// A truth value or a choice that becomes a float: to the compiler it is a choice of floats.
static const char *converted(ctext *t, const ir_inst *i)
{
    ir_ref a = ir_operand(t->f, i, 0);
    ir_inst_id def = ir_def_of(t->f, a);
    const ir_inst *from = ir_at(t->f, def);
    bool is_choice = def && (from->op == IR_SELECT ||
                             ((from->op == IR_ZEXT || from->op == IR_SEXT) && from->aux == IR_I1));
    if (i->type != IR_F32 || ctext_is_wide(ir_type_of(t->f, a)) || !is_choice)
        return NULL;
    return str_format(t->a, "%s_u32_f32(hide_u32(%s))", ctext_op(t, (ir_op)i->op),
                      ctext_scalar(t, a));
}

static const char *extended(ctext *t, const ir_inst *i)
{
    const char *x = ctext_scalar(t, ir_operand(t->f, i, 0));
    if (i->aux == IR_I1)
        return i->type == IR_I32 ? str_format(t->a, "pick_u32(%s, 0xffffffffu, 0u)", x) : NULL;
    if (!folds_extended_byte(t->folds, i))
        return NULL;
    return str_format(t->a,
                      i->type == IR_I16   ? "(extend_byte(%s) & 0xffffu)"
                      : i->type == IR_I32 ? "extend_byte(%s)"
                                          : "(uint64_t)(int64_t)(int32_t)extend_byte(%s)",
                      x);
}

static const char *above_zero(ctext *t, const ir_inst *i)
{
    static const char *const names[2][2] = {{"above_zero", "above_zero_f64"},
                                            {"above_minus_zero", "above_minus_zero_f64"}};
    uint32_t which = folds_saturation(t->f, i);
    if (!which)
        return NULL;
    bool is_minus = folds_minus_zero(t->f, ir_operand(t->f, i, 2 - which));
    return one(t, names[is_minus][i->type == IR_F64], ir_operand(t->f, i, which - 1));
}

const char *ctext_safe(ctext *t, const ir_inst *i)
{
    ir_ref a = i->operand_count ? ir_operand(t->f, i, 0) : IR_NONE,
           b = i->operand_count > 1 ? ir_operand(t->f, i, 1) : IR_NONE;
    ir_type type = (ir_type)i->type;
    bool is_word = type == IR_I32;
    uint32_t all = ctext_low_mask(type);
    switch (i->op) {
    case IR_XOR:
        if (!ctext_is_wide(type) && type != IR_I1 && is_constant(t, b, all))
            return str_format(t->a, "not_u32(%s, 0x%xu)", ctext_scalar(t, a), all);
        return folds_xor(t->f, t->folds, i) ? two(t, "xor_known_u32", a, b) : NULL;
    case IR_SUB:
        if (folds_rotation(t->f, i))
            return two(t, "sub_rotated_u64", a, b);
        if (is_word && is_constant(t, a, all))
            return str_format(t->a, "not_u32(%s, 0x%xu)", ctext_scalar(t, b), all);
        return is_word && is_constant(t, a, 0) ? one(t, "neg_u32", b) : NULL;
    case IR_MUL: return is_word && is_constant(t, b, all) ? one(t, "neg_u32", a) : NULL;
    case IR_SMIN: return is_word && ir_is_const(b) ? two(t, "smin_const_u32", a, b) : NULL;
    case IR_SMAX: return is_word && ir_is_const(b) ? two(t, "smax_const_u32", a, b) : NULL;
    case IR_SHL:
        return is_word && !ir_is_const(a) && !ir_is_const(b) ? two(t, "shl_wrap_u32", a, b) : NULL;
    case IR_ADD: return folds_rotation(t->f, i) ? two(t, "add_rotated_u64", a, b) : NULL;
    case IR_SEXT: return extended(t, i);
    case IR_BITCAST:
        return folds_truth_bits(t->f, i)
                   ? str_format(t->a, "f32_bits(hide_u32(%s))", ctext_scalar(t, a))
                   : NULL;
    case IR_SITOF:
    case IR_UITOF: return converted(t, i);
    case IR_FNEG: return type == IR_F32 ? one(t, "negated_f32", a) : NULL;
    case IR_FMAX: return above_zero(t, i);
    case IR_FLT: return folds_ordered(t->f, i, false) ? two(t, "flt_ordered", a, b) : NULL;
    case IR_FLE: return folds_ordered(t->f, i, false) ? two(t, "fle_ordered", a, b) : NULL;
    case IR_SELECT: return choice(t, i);
    default: return NULL;
    }
}
