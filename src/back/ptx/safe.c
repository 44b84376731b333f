// Instructions that the assembler folds wrongly when they are written the obvious way, written so
// that it cannot. docs/assembler.md has the list: pattern, wrong result, and what is done here.
//
// Most of it goes wrong where a value is known in a branch because it was compared, so these
// functions look for that first: what is not in danger is written the short way. Each function
// returns false when it has written nothing.
#include "back/ptx/ptx.h"

// --- not and xor

static const char *bits_of(const ir_inst *i)
{
    return i->type == IR_I64 ? "64" : i->type == IR_I32 ? "32" : "16";
}

bool ptx_xor(ptx *p, const ir_inst *i)
{
    ir_ref a = ir_operand(p->f, i, 0), b = ir_operand(p->f, i, 1);
    uint64_t bits = 0, all = i->type == IR_I32 ? UINT32_MAX : i->type == IR_I8 ? 255 : 65535;
    const char *d = ptx_def(p, i->result);
    if (a == b) {
        ptx_line(p, "mov.b%s %s, 0", bits_of(i), d);
    } else if (i->type == IR_I64) {
        return false;
    } else if (ir_const_bits(p->f, b, &bits) && (bits & all) == all) {
        if (!folds_near(p->folds, a) && !(p->folds[i->result] & FOLDS_ADDED))
            return false;
        ptx_line(p, "sub.s%s %s, -1, %s", bits_of(i), d, ptx_op(p, a));
    } else if (folds_xor(p->f, p->folds, i)) {
        // What is in both taken from what is in any: the assembler has no rule for that.
        const char *any = ptx_temp(p, RC_R), *both = ptx_temp(p, RC_R);
        ptx_line(p, "or.b32 %s, %s, %s", any, ptx_reg(p, a), ptx_reg(p, b));
        ptx_line(p, "and.b32 %s, %s, %s", both, ptx_reg(p, a), ptx_reg(p, b));
        ptx_line(p, "sub.s32 %s, %s, %s", d, any, both);
    } else {
        return false;
    }
    return true;
}

// --- values that must not be looked through

// A copy that the assembler takes for a new value. For an operand only: the assembler itself dies
// of such a copy that is compared with zero.
static const char *opaque(ptx *p, const char *value)
{
    const char *t = ptx_temp(p, RC_R);
    ptx_line(p, "lop3.b32 %s, %s, 0, 0, 0xF0", t, value);
    return t;
}

bool ptx_extreme(ptx *p, const ir_inst *i, const char *name, char kind)
{
    ir_ref a = ir_operand(p->f, i, 0), b = ir_operand(p->f, i, 1);
    bool is_signed = kind == 's' && i->type == IR_I32;
    uint64_t bits;
    if (kind == 'u' && ir_const_bits(p->f, b, &bits) && bits == 0) { // it was not folded
        ptx_line(p, "mov.b%s %s, %s", bits_of(i), ptx_def(p, i->result),
                 i->op == IR_UMIN ? "0" : ptx_op(p, a));
        return true;
    }
    bool hides_a = is_signed && folds_negation(p->f, p->folds, a),
         hides_b = is_signed && folds_negation(p->f, p->folds, b);
    if (!hides_a && !hides_b)
        return false;
    const char *x = hides_a ? opaque(p, ptx_op(p, a)) : ptx_op(p, a),
               *y = hides_b ? opaque(p, ptx_op(p, b)) : ptx_op(p, b);
    ptx_line(p, "%s.s32 %s, %s, %s", name, ptx_def(p, i->result), x, y);
    return true;
}

// Bytes that copy a sign (8 and more in the selector) are made from bytes that do not.
bool ptx_permute(ptx *p, const ir_inst *i)
{
    uint64_t bits;
    if (!ir_const_bits(p->f, ir_operand(p->f, i, 2), &bits) || !(bits & 0x8888))
        return false;
    uint32_t copies = 0; // 1 in every byte that shall be a sign
    for (int k = 0; k < 4; k++)
        copies |= (uint32_t)(bits >> (4 * k + 3) & 1) << 8 * k;
    const char *raw = ptx_temp(p, RC_R), *high = ptx_temp(p, RC_R), *signs = ptx_temp(p, RC_R),
               *filled = ptx_temp(p, RC_R), *rest = ptx_temp(p, RC_R);
    ptx_line(p, "prmt.b32 %s, %s, %s, %u", raw, ptx_reg(p, ir_operand(p->f, i, 0)),
             ptx_reg(p, ir_operand(p->f, i, 1)), (uint32_t)bits & 0x7777);
    ptx_line(p, "shr.u32 %s, %s, 7", high, raw);
    ptx_line(p, "and.b32 %s, %s, %d", signs, high, (int32_t)copies);
    ptx_line(p, "mul.lo.s32 %s, %s, 255", filled, signs);
    ptx_line(p, "and.b32 %s, %s, %d", rest, raw, (int32_t) ~(copies * 255));
    ptx_line(p, "or.b32 %s, %s, %s", ptx_def(p, i->result), filled, rest);
    return true;
}

static const char *opaque64(ptx *p, const char *value)
{
    const char *low = ptx_temp(p, RC_R), *high = ptx_temp(p, RC_R), *hidden = ptx_temp(p, RC_RD);
    ptx_line(p, "mov.b64 {%s, %s}, %s", low, high, value);
    ptx_line(p, "mov.b64 %s, {%s, %s}", hidden, opaque(p, low), high);
    return hidden;
}

// A sum or difference of x << k and x >> (64 - k) with signs: taken for a rotation, which has none.
bool ptx_rotated(ptx *p, const ir_inst *i)
{
    if (!folds_rotation(p->f, i))
        return false;
    const char *hidden = opaque64(p, ptx_reg(p, ir_operand(p->f, i, 1)));
    ptx_line(p, "%s.s64 %s, %s, %s", i->op == IR_ADD ? "add" : "sub", ptx_def(p, i->result),
             ptx_reg(p, ir_operand(p->f, i, 0)), hidden);
    return true;
}

// x * c where the low half of x is known: with x added to it, the high half of x is not multiplied.
bool ptx_multiply_half_known(ptx *p, const ir_inst *i)
{
    uint32_t which = folds_half_known(p->f, i);
    if (!which)
        return false;
    const char *hidden = opaque64(p, ptx_reg(p, ir_operand(p->f, i, which - 1)));
    ptx_line(p, "mul.lo.s64 %s, %s, %s", ptx_def(p, i->result), hidden,
             ptx_op(p, ir_operand(p->f, i, 2 - which)));
    return true;
}

// The bits of a truth value as a float: in a branch that knows it, the assembler converts them as
// if they were the number.
bool ptx_truth_bits(ptx *p, const ir_inst *i)
{
    if (!folds_truth_bits(p->f, i))
        return false;
    ptx_line(p, "mov.b32 %s, %s", ptx_def(p, i->result),
             opaque(p, ptx_reg(p, ir_operand(p->f, i, 0))));
    return true;
}

// An i8 as an i16. Where the byte is known, cvt.s16.s8 leaves the sign in the upper half of the
// register, and a cvt.u32.u16 after it is lost.
bool ptx_extend_byte(ptx *p, const ir_inst *i)
{
    if (i->type != IR_I16 || !folds_extended_byte(p->folds, i))
        return false;
    const char *wide = ptx_temp(p, RC_R);
    ptx_line(p, "cvt.s32.s8 %s, %s", wide, ptx_reg(p, ir_operand(p->f, i, 0)));
    ptx_line(p, "cvt.u16.u32 %s, %s", ptx_def(p, i->result), wide);
    return true;
}

// An i16 as a pair of halves, of which the upper one is 0. Where halves are operands, the upper
// half of cvt.u32.u16 is taken for the lower one.
bool ptx_extend_half(ptx *p, const ir_inst *i)
{
    if (!folds_half_pair(p->folds, i))
        return false;
    bool is_wide = i->type == IR_I64;
    const char *zero = ptx_temp(p, RC_H), *d = ptx_def(p, i->result),
               *pair = is_wide ? ptx_temp(p, RC_R) : d;
    ptx_line(p, "mov.b16 %s, 0", zero);
    ptx_line(p, "mov.b32 %s, {%s, %s}", pair, ptx_reg(p, ir_operand(p->f, i, 0)), zero);
    if (is_wide)
        ptx_line(p, "cvt.u64.u32 %s, %s", d, pair);
    return true;
}

// --- choices and comparisons

bool ptx_select_bits(ptx *p, const ir_inst *i)
{
    ir_ref yes = ir_operand(p->f, i, 1), no = ir_operand(p->f, i, 2);
    if (i->type != IR_F32 || !(folds_minus_zero(p->f, yes) || folds_minus_zero(p->f, no)))
        return false;
    const char *in[2];
    for (int k = 0; k < 2; k++) {
        uint64_t bits;
        in[k] = ptx_temp(p, RC_R);
        if (ir_const_bits(p->f, k ? no : yes, &bits))
            ptx_line(p, "mov.b32 %s, %d", in[k], (int32_t)(uint32_t)bits);
        else
            ptx_line(p, "mov.b32 %s, %s", in[k], ptx_reg(p, k ? no : yes));
    }
    const char *chosen = ptx_temp(p, RC_R);
    ptx_line(p, "selp.b32 %s, %s, %s, %s", chosen, in[0], in[1],
             ptx_reg(p, ir_operand(p->f, i, 0)));
    ptx_line(p, "mov.b32 %s, %s", ptx_def(p, i->result), chosen);
    return true;
}

// The larger of x and a zero that the assembler would take for saturation.
bool ptx_above_zero(ptx *p, const ir_inst *i)
{
    uint32_t which = folds_saturation(p->f, i);
    if (!which)
        return false;
    ir_ref x = ir_operand(p->f, i, which - 1);
    bool is_wide = i->type == IR_F64,
         is_minus = folds_minus_zero(p->f, ir_operand(p->f, i, 2 - which));
    reg_class class = is_wide ? RC_RD : RC_R;
    const char *is_below = ptx_temp(p, RC_PRED), *bits = ptx_temp(p, class),
               *larger = ptx_temp(p, class), *n = is_wide ? "64" : "32";
    if (!is_minus && !is_wide) { // a choice of zero and bits becomes a maximum again
        const char *hidden = ptx_temp(p, RC_F);
        ptx_line(p, "mov.b32 %s, %s", bits, ptx_reg(p, x));
        ptx_line(p, "mov.b32 %s, %s", hidden, opaque(p, bits));
        ptx_line(p, "max.f32 %s, %s, 0f00000000", ptx_def(p, i->result), hidden);
        return true;
    }
    // Of two zeros +0.0 is the larger.
    ptx_line(p, "setp.%s.f%s %s, %s, %s", is_minus ? "ltu" : "leu", n, is_below, ptx_reg(p, x),
             is_wide ? "0d8000000000000000" : "0f80000000");
    ptx_line(p, "mov.b%s %s, %s", n, bits, ptx_reg(p, x));
    ptx_line(p, "selp.b%s %s, %s, %s, %s", n, larger,
             !is_minus ? "0"
             : is_wide ? "-9223372036854775808"
                       : "-2147483648",
             bits, is_below);
    ptx_line(p, "mov.b%s %s, %s", n, ptx_def(p, i->result), larger);
    return true;
}

bool ptx_ordered(ptx *p, const ir_inst *i)
{
    if (!folds_ordered(p->f, i, p->m->is_plain))
        return false;
    const char *not = ptx_temp(p, RC_PRED);
    ptx_line(p, "setp.%s.f32 %s, %s, %s", i->op == IR_FLT ? "geu" : "gtu", not,
             ptx_reg(p, ir_operand(p->f, i, 0)), ptx_op(p, ir_operand(p->f, i, 1)));
    ptx_line(p, "not.pred %s, %s", ptx_def(p, i->result), not );
    return true;
}

// x < 0 and 0 <= x of unsigned numbers: decided here, because the assembler takes the sign of a
// mask for it.
bool ptx_known_unsigned(ptx *p, const ir_inst *i)
{
    uint64_t bits;
    ir_ref bound = ir_operand(p->f, i, i->op == IR_ULT ? 1 : 0);
    if (!ir_const_bits(p->f, bound, &bits) || bits != 0)
        return false;
    ptx_line(p, "mov.pred %s, %s", ptx_def(p, i->result), i->op == IR_ULT ? "0" : "-1");
    return true;
}
