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

static bool is_compared(const ptx *p, ir_ref r)
{
    return !ir_is_const(r) && (p->value_facts[r] & PTX_COMPARED);
}

// May a branch know it? The assembler finds (x & 1) and x to be the same where x is 0 or 1.
static bool is_near(const ptx *p, ir_ref r)
{
    return !ir_is_const(r) && (p->value_facts[r] & PTX_NEAR);
}

// All ones or nothing, from a comparison: in a branch it may turn out to be -1.
static bool may_be_mask(const ptx *p, ir_ref r)
{
    ir_inst_id def = ir_def_of(p->f, r);
    const ir_inst *i = ir_at(p->f, def);
    return def && (i->op == IR_SELECT || (i->op == IR_SEXT && i->aux == IR_I1));
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
        if (!is_near(p, a) && !(p->value_facts[i->result] & PTX_ADDED))
            return false;
        ptx_line(p, "sub.s%s %s, -1, %s", bits_of(i), d, ptx_op(p, a));
    } else if (i->type == IR_I32 && !ir_is_const(b) &&
               (is_compared(p, a) || is_compared(p, b) || (is_near(p, a) && may_be_mask(p, b)) ||
                (is_near(p, b) && may_be_mask(p, a)))) {
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

// A negation, or what the assembler may find to be one: 0 - x, x * -1, a - x or a * x where `a` is
// compared with something, so that its value is known in a branch; and what may turn out to be a
// copy of a negation.
static bool may_negate(const ptx *p, ir_ref r)
{
    ir_inst_id def = ir_def_of(p->f, r);
    const ir_inst *i = ir_at(p->f, def);
    ir_op op = def ? (ir_op)i->op : IR_NOP;
    if (op == IR_DP4A_S || op == IR_DP4A_U || op == IR_PRMT || op == IR_FSHL)
        return true;
    if (op != IR_SUB && op != IR_MUL)
        return op == IR_SELECT;
    for (uint32_t k = 0; k < (op == IR_SUB ? 1u : 2u); k++) {
        ir_ref o = ir_operand(p->f, i, k);
        uint64_t bits;
        bool is_constant = ir_const_bits(p->f, o, &bits);
        if (is_constant ? (uint32_t)bits == (op == IR_SUB ? 0 : UINT32_MAX) : is_near(p, o))
            return true;
    }
    return false;
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
    bool hides_a = is_signed && may_negate(p, a), hides_b = is_signed && may_negate(p, b);
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

// (x << k) + (x >> (64 - k)) with the sign: taken for a rotation, which has none.
bool ptx_add_rotated(ptx *p, const ir_inst *i)
{
    ir_ref parts[2] = {ir_operand(p->f, i, 0), ir_operand(p->f, i, 1)};
    const ir_inst *defs[2];
    uint64_t counts[2];
    for (int k = 0; k < 2; k++) {
        ir_inst_id def = ir_def_of(p->f, parts[k]);
        defs[k] = ir_at(p->f, def);
        if (!def || i->type != IR_I64 || (defs[k]->op != IR_SHL && defs[k]->op != IR_ASHR) ||
            !ir_const_bits(p->f, ir_operand(p->f, defs[k], 1), &counts[k]))
            return false;
    }
    int right = defs[1]->op == IR_ASHR;
    if (defs[0]->op == defs[1]->op || ((counts[0] + counts[1]) & 63))
        return false;
    const char *low = ptx_temp(p, RC_R), *high = ptx_temp(p, RC_R), *hidden = ptx_temp(p, RC_RD);
    ptx_line(p, "mov.b64 {%s, %s}, %s", low, high, ptx_reg(p, parts[right]));
    ptx_line(p, "mov.b64 %s, {%s, %s}", hidden, opaque(p, low), high);
    ptx_line(p, "add.s64 %s, %s, %s", ptx_def(p, i->result), ptx_reg(p, parts[!right]), hidden);
    return true;
}

// The bits of a truth value as a float: in a branch that knows it, the assembler converts them as
// if they were the number.
bool ptx_truth_bits(ptx *p, const ir_inst *i)
{
    ir_inst_id def = ir_def_of(p->f, ir_operand(p->f, i, 0));
    const ir_inst *wide = ir_at(p->f, def);
    if (i->type != IR_F32 || !def || wide->op != IR_ZEXT || wide->aux != IR_I1)
        return false;
    ptx_line(p, "mov.b32 %s, %s", ptx_def(p, i->result),
             opaque(p, ptx_reg(p, ir_operand(p->f, i, 0))));
    return true;
}

// --- choices and comparisons

// Also a zero that is negated, which is a constant only after optimisation.
static bool is_minus_zero(const ir_func *f, ir_ref r)
{
    uint64_t bits;
    ir_inst_id def = ir_def_of(f, r);
    if (def && ir_at(f, def)->op == IR_FNEG)
        return ir_const_bits(f, ir_operand(f, ir_at(f, def), 0), &bits) && bits == 0;
    return ir_const_bits(f, r, &bits) && (uint32_t)bits == 0x80000000u;
}

bool ptx_select_bits(ptx *p, const ir_inst *i)
{
    ir_ref yes = ir_operand(p->f, i, 1), no = ir_operand(p->f, i, 2);
    if (i->type != IR_F32 || !(is_minus_zero(p->f, yes) || is_minus_zero(p->f, no)))
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

// The larger of x and -0.0. Below an upper bound of 1 the assembler would take it for saturation,
// which gives +0.0.
bool ptx_above_minus_zero(ptx *p, const ir_inst *i)
{
    ir_ref x = ir_operand(p->f, i, 0);
    if (i->type != IR_F32 || !is_minus_zero(p->f, ir_operand(p->f, i, 1)))
        return false;
    const char *is_below = ptx_temp(p, RC_PRED), *bits = ptx_temp(p, RC_R),
               *larger = ptx_temp(p, RC_R);
    ptx_line(p, "setp.ltu.f32 %s, %s, 0f80000000", is_below, ptx_reg(p, x));
    ptx_line(p, "mov.b32 %s, %s", bits, ptx_reg(p, x));
    ptx_line(p, "selp.b32 %s, -2147483648, %s, %s", larger, bits, is_below);
    ptx_line(p, "mov.b32 %s, %s", ptx_def(p, i->result), larger);
    return true;
}

// c < x and c <= x with a constant c <= 0, and -x < c and -x <= c with a constant c >= 0: where x
// is a magnitude or a square the assembler takes these for true, whether x is a NaN or not.
static bool may_ignore_nan(const ptx *p, const ir_inst *i)
{
    const ir_func *f = p->f;
    uint64_t bits;
    if (i->type != IR_F32 || p->m->is_plain)
        return i->type == IR_F32;
    if (ir_const_bits(f, ir_operand(f, i, 0), &bits))
        return (uint32_t)bits == 0 || (uint32_t)bits >> 31;
    ir_inst_id def = ir_def_of(f, ir_operand(f, i, 0));
    return ir_const_bits(f, ir_operand(f, i, 1), &bits) &&
           ((uint32_t)bits == 0x80000000u || !((uint32_t)bits >> 31)) && def &&
           ir_at(f, def)->op == IR_FNEG;
}

bool ptx_ordered(ptx *p, const ir_inst *i)
{
    if (!may_ignore_nan(p, i))
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

// Does knowing the result tell the operand, or the other way round?
static bool keeps_knowledge(const ir_func *f, const ir_inst *i)
{
    switch (i->op) {
    case IR_AND:
    case IR_OR:
    case IR_XOR:
    case IR_ADD:
    case IR_SUB:
    case IR_SHL:
    case IR_LSHR:
    case IR_ASHR: return ir_is_const(ir_operand(f, i, 1));
    case IR_ZEXT:
    case IR_SEXT:
    case IR_TRUNC: return true;
    default: return false;
    }
}

// Users mostly come after what they use: a walk back and one forth, until nothing is new.
static void spread_near(ptx *p)
{
    const ir_func *f = p->f;
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t step = 0; step < 2 * f->insts.len; step++) {
            uint32_t k = step < f->insts.len ? f->insts.len - 1 - step : step - f->insts.len;
            const ir_inst *i = &f->insts.at[k];
            if (!k || i->op == IR_NOP || !i->result || !keeps_knowledge(f, i))
                continue;
            ir_ref from = ir_operand(f, i, 0);
            if (ir_is_const(from) ||
                !((p->value_facts[from] ^ p->value_facts[i->result]) & PTX_NEAR))
                continue;
            p->value_facts[from] |= PTX_NEAR;
            p->value_facts[i->result] |= PTX_NEAR;
            is_new = true;
        }
    }
}

void ptx_find_values(ptx *p)
{
    const ir_func *f = p->f;
    p->value_facts = arena_array(p->scratch, uint8_t, f->values.len);
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        bool compares = (i->op >= IR_IEQ && i->op <= IR_ULE) || i->op == IR_SWITCH;
        uint8_t fact = compares                             ? PTX_COMPARED | PTX_NEAR
                       : i->op == IR_ADD || i->op == IR_SUB ? PTX_ADDED
                                                            : 0;
        for (uint32_t n = 0; fact && n < i->operand_count; n++)
            if (!ir_is_const(ir_operand(f, i, n)))
                p->value_facts[ir_operand(f, i, n)] |= fact;
    }
    spread_near(p);
}
