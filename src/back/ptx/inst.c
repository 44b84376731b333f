// Arithmetic, comparisons and conversions as PTX. Every rounding is written out (.rn), nothing is
// contracted: mul and add stay two instructions, fma is one. Where PTX's own rule differs from the
// IR's (division by zero, NaN to a 64-bit integer, narrow saturation) the fix is emitted beside it.
#include "back/ptx/ptx.h"

static const char *bits_of(ir_type t)
{
    return t == IR_I64 || ir_is_ptr(t) ? "64" : t == IR_I32 ? "32" : "16";
}

// "add", 's', "32": add.s32
static void binary(ptx *p, const ir_inst *i, const char *name, char kind, const char *bits)
{
    ptx_line(p, "%s.%c%s %s, %s, %s", name, kind, bits, ptx_def(p, i->result),
             ptx_op(p, ir_operand(p->f, i, 0)), ptx_op(p, ir_operand(p->f, i, 1)));
}

static void integer(ptx *p, const ir_inst *i, const char *name, char kind)
{
    binary(p, i, name, kind, bits_of((ir_type)i->type));
}

static void floating(ptx *p, const ir_inst *i, const char *name)
{
    const char *bits = i->type == IR_F64 ? "64" : "32";
    if (i->operand_count == 2)
        binary(p, i, name, 'f', bits);
    else
        ptx_line(p, "%s.f%s %s, %s", name, bits, ptx_def(p, i->result),
                 ptx_reg(p, ir_operand(p->f, i, 0)));
}

static void subtract(ptx *p, const ir_inst *i)
{
    if (ir_operand(p->f, i, 0) == ir_operand(p->f, i, 1)) // it was not folded
        ptx_line(p, "mov.b%s %s, 0", bits_of((ir_type)i->type), ptx_def(p, i->result));
    else
        integer(p, i, "sub", 's');
}

static void extreme(ptx *p, const ir_inst *i, const char *name, char kind)
{
    if (!ptx_extreme(p, i, name, kind))
        integer(p, i, name, kind);
}

static void logic(ptx *p, const ir_inst *i, const char *name)
{
    if (i->type == IR_I1) {
        uint64_t bits;
        ir_ref b = ir_operand(p->f, i, 1);
        if (i->op == IR_XOR && ir_const_bits(p->f, b, &bits)) {
            ptx_line(p, "%s %s, %s", bits ? "not.pred" : "mov.pred", ptx_def(p, i->result),
                     ptx_reg(p, ir_operand(p->f, i, 0)));
            return;
        }
        ptx_line(p, "%s.pred %s, %s, %s", name, ptx_def(p, i->result),
                 ptx_reg(p, ir_operand(p->f, i, 0)), ptx_reg(p, b));
        return;
    }
    if (i->op != IR_XOR || !ptx_xor(p, i))
        binary(p, i, name, 'b', bits_of((ir_type)i->type));
}

// Shift counts are modulo the width; PTX clamps.
static void shift(ptx *p, const ir_inst *i, const char *name)
{
    uint64_t count;
    uint32_t mask = i->type == IR_I64 ? 63 : 31;
    ir_ref amount = ir_operand(p->f, i, 1);
    if (ir_const_bits(p->f, amount, &count)) {
        ptx_line(p, "%s%s %s, %s, %u", name, bits_of((ir_type)i->type), ptx_def(p, i->result),
                 ptx_op(p, ir_operand(p->f, i, 0)), (uint32_t)count & mask);
        return;
    }
    ir_ref shifted = ir_operand(p->f, i, 0);
    if (i->op == IR_SHL && i->type == IR_I32 &&
        !ir_is_const(shifted)) { // safer than masking, and as fast
        ptx_line(p, "shf.l.wrap.b32 %s, 0, %s, %s", ptx_def(p, i->result), ptx_reg(p, shifted),
                 ptx_reg(p, amount));
        return;
    }
    const char *masked = ptx_temp(p, RC_R);
    ptx_line(p, "and.b32 %s, %s, %u", masked, ptx_reg(p, amount), mask);
    ptx_line(p, "%s%s %s, %s, %s", name, bits_of((ir_type)i->type), ptx_def(p, i->result),
             ptx_op(p, ir_operand(p->f, i, 0)), masked);
}

static bool multiply_wide(ptx *p, const ir_inst *i)
{
    wide_product w;
    if (!ptx_is_wide_product(p->f, i, &w))
        return false;
    const char *d = ptx_def(p, i->result), *a = ptx_reg(p, w.a);
    if (w.b)
        ptx_line(p, "mul.wide.%c32 %s, %s, %s", w.kind, d, a, ptx_reg(p, w.b));
    else
        ptx_line(p, "mul.wide.%c32 %s, %s, %llu", w.kind, d, a, (unsigned long long)w.factor);
    return true;
}

// x/0 = 0, x%0 = x, MIN/-1 = MIN, MIN%-1 = 0. A constant divisor other than 0 and -1 needs no care.
static void divide(ptx *p, const ir_inst *i)
{
    bool is_signed = i->op == IR_SDIV || i->op == IR_SREM,
         is_rem = i->op == IR_SREM || i->op == IR_UREM;
    const char *bits = bits_of((ir_type)i->type), *name = is_rem ? "rem" : "div";
    reg_class rc = ptx_class((ir_type)i->type);
    ir_ref a = ir_operand(p->f, i, 0), b = ir_operand(p->f, i, 1);
    uint64_t value;
    char kind = is_signed ? 's' : 'u';
    uint64_t minus_one = i->type == IR_I64 ? UINT64_MAX : UINT32_MAX;
    if (ir_const_bits(p->f, b, &value) && value != 0 && value != minus_one) {
        integer(p, i, name, kind);
        return;
    }
    const char *zero = ptx_temp(p, RC_PRED), *safe = ptx_temp(p, rc), *raw = ptx_temp(p, rc),
               *x = ptx_reg(p, a), *y = ptx_reg(p, b);
    ptx_line(p, "setp.eq.s%s %s, %s, 0", bits, zero, y);
    ptx_line(p, "selp.b%s %s, 1, %s, %s", bits, safe, y, zero);
    if (is_signed) {
        const char *negative = ptx_temp(p, RC_PRED), *again = ptx_temp(p, rc),
                   *negated = ptx_temp(p, rc);
        ptx_line(p, "setp.eq.s%s %s, %s, -1", bits, negative, y);
        ptx_line(p, "selp.b%s %s, 1, %s, %s", bits, again, safe, negative);
        ptx_line(p, "%s.s%s %s, %s, %s", name, bits, raw, x, again);
        if (!is_rem) {
            const char *fixed = ptx_temp(p, rc);
            ptx_line(p, "neg.s%s %s, %s", bits, negated, x);
            ptx_line(p, "selp.b%s %s, %s, %s, %s", bits, fixed, negated, raw, negative);
            raw = fixed;
        }
    } else {
        ptx_line(p, "%s.u%s %s, %s, %s", name, bits, raw, x, safe);
    }
    ptx_line(p, "selp.b%s %s, %s, %s, %s", bits, ptx_def(p, i->result), is_rem ? x : "0", raw,
             zero);
}

static void compare(ptx *p, const ir_inst *i, const char *relation, char kind)
{
    ir_ref a = ir_operand(p->f, i, 0), b = ir_operand(p->f, i, 1);
    if (i->type == IR_I1) {
        const char *x = ptx_temp(p, RC_PRED);
        ptx_line(p, "xor.pred %s, %s, %s", x, ptx_reg(p, a), ptx_reg(p, b));
        ptx_line(p, "%s %s, %s", i->op == IR_INE ? "mov.pred" : "not.pred", ptx_def(p, i->result),
                 x);
        return;
    }
    const char *bits = kind == 'f'                ? (i->type == IR_F64 ? "64" : "32")
                       : i->type == IR_PTR_SHARED ? "32"
                                                  : bits_of((ir_type)i->type);
    if (i->type == IR_I8) { // only the low byte counts
        const char *x = ptx_temp(p, RC_R), *y = ptx_temp(p, RC_R);
        ptx_line(p, "cvt.u32.u8 %s, %s", x, ptx_reg(p, a));
        ptx_line(p, "cvt.u32.u8 %s, %s", y, ptx_reg(p, b));
        ptx_line(p, "setp.%s.u32 %s, %s, %s", relation, ptx_def(p, i->result), x, y);
        return;
    }
    ptx_line(p, "setp.%s.%c%s %s, %s, %s", relation, kind, bits, ptx_def(p, i->result),
             ptx_reg(p, a), ptx_op(p, b));
}

static void select_value(ptx *p, const ir_inst *i)
{
    const char *c = ptx_reg(p, ir_operand(p->f, i, 0)), *d = ptx_def(p, i->result);
    ir_ref yes = ir_operand(p->f, i, 1), no = ir_operand(p->f, i, 2);
    if (i->type == IR_I1) {
        const char *a = ptx_temp(p, RC_PRED), *b = ptx_temp(p, RC_PRED), *n = ptx_temp(p, RC_PRED);
        ptx_line(p, "and.pred %s, %s, %s", a, c, ptx_reg(p, yes));
        ptx_line(p, "not.pred %s, %s", n, c);
        ptx_line(p, "and.pred %s, %s, %s", b, n, ptx_reg(p, no));
        ptx_line(p, "or.pred %s, %s, %s", d, a, b);
        return;
    }
    static const char *const suffix[RC_COUNT] = {"", "b16", "b32", "b64", "f32", "f64"};
    ptx_line(p, "selp.%s %s, %s, %s, %s", suffix[ptx_class((ir_type)i->type)], d, ptx_op(p, yes),
             ptx_op(p, no), c);
}

static void extend(ptx *p, const ir_inst *i)
{
    ir_type from = (ir_type)i->aux, to = (ir_type)i->type;
    const char *a = ptx_reg(p, ir_operand(p->f, i, 0)), *d = ptx_def(p, i->result);
    if (from == IR_I1) {
        ptx_line(p, "selp.%s %s, %s, 0, %s",
                 to == IR_I64   ? "b64"
                 : to == IR_I32 ? "b32"
                                : "b16",
                 d, i->op == IR_SEXT ? "-1" : "1", a);
        return;
    }
    char kind = i->op == IR_SEXT ? 's' : 'u';
    int from_bits = from == IR_I8 ? 8 : from == IR_I16 ? 16 : 32;
    ptx_line(p, "cvt.%c%s.%c%d %s, %s", kind, bits_of(to), kind, from_bits, d, a);
}

static void truncate(ptx *p, const ir_inst *i)
{
    ir_type from = (ir_type)i->aux, to = (ir_type)i->type;
    const char *a = ptx_reg(p, ir_operand(p->f, i, 0)), *d = ptx_def(p, i->result);
    if (to == IR_I1) {
        const char *low = ptx_temp(p, from == IR_I64 ? RC_RD : from == IR_I32 ? RC_R : RC_H);
        ptx_line(p, "and.b%s %s, %s, 1", bits_of(from), low, a);
        ptx_line(p, "setp.ne.%c%s %s, %s, 0", from == IR_I64 || from == IR_I32 ? 's' : 'u',
                 bits_of(from), d, low);
    } else if (from == IR_I16) {
        ptx_line(p, "mov.b16 %s, %s", d, a);
    } else {
        ptx_line(p, "cvt.u%s.u%s %s, %s", bits_of(to), bits_of(from), d, a);
    }
}

static void float_to_int(ptx *p, const ir_inst *i)
{
    bool is_signed = i->op == IR_FTOSI;
    ir_type to = (ir_type)i->type;
    const char *from = i->aux == IR_F64 ? "f64" : "f32", *a = ptx_reg(p, ir_operand(p->f, i, 0)),
               *d = ptx_def(p, i->result);
    char kind = is_signed ? 's' : 'u';
    if (to == IR_I8 || to == IR_I16) {
        const char *wide = ptx_temp(p, RC_R), *high = ptx_temp(p, RC_R), *low = ptx_temp(p, RC_R);
        int bits = to == IR_I8 ? 8 : 16;
        int max = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1,
            min = is_signed ? -(1 << (bits - 1)) : 0;
        const char *clean = a;
        if (i->aux == IR_F64) { // NaN would give the smallest integer
            const char *nan = ptx_temp(p, RC_PRED);
            clean = ptx_temp(p, RC_FD);
            ptx_line(p, "setp.nan.f64 %s, %s, %s", nan, a, a);
            ptx_line(p, "selp.f64 %s, 0d0000000000000000, %s, %s", clean, a, nan);
        }
        ptx_line(p, "cvt.rzi.%c32.%s %s, %s", kind, from, wide, clean);
        ptx_line(p, "min.%c32 %s, %s, %d", kind, high, wide, max);
        ptx_line(p, "max.%c32 %s, %s, %d", kind, low, high, min);
        ptx_line(p, "cvt.u16.u32 %s, %s", d, low);
        return;
    }
    if (i->aux == IR_F64 || to == IR_I64) {
        const char *raw = ptx_temp(p, to == IR_I64 ? RC_RD : RC_R), *nan = ptx_temp(p, RC_PRED);
        ptx_line(p, "cvt.rzi.%c%s.%s %s, %s", kind, bits_of(to), from, raw, a);
        ptx_line(p, "setp.nan.%s %s, %s, %s", from, nan, a, a);
        ptx_line(p, "selp.b%s %s, 0, %s, %s", bits_of(to), d, raw, nan);
        return;
    }
    ptx_line(p, "cvt.rzi.%c%s.%s %s, %s", kind, bits_of(to), from, d, a);
}

static void bit_cast(ptx *p, const ir_inst *i)
{
    reg_class rc = ptx_class((ir_type)i->type);
    ptx_line(p, "mov.%s %s, %s",
             rc == RC_R || rc == RC_F ? "b32"
             : rc == RC_H             ? "b16"
                                      : "b64",
             ptx_def(p, i->result), ptx_reg(p, ir_operand(p->f, i, 0)));
}

static void cast_pointer(ptx *p, const ir_inst *i)
{
    ir_type from = (ir_type)i->aux, to = (ir_type)i->type;
    const char *a = ptx_reg(p, ir_operand(p->f, i, 0)), *d = ptx_def(p, i->result);
    if (i->op == IR_PTRTOINT || i->op == IR_INTTOPTR) {
        if (from == IR_PTR_SHARED) {
            const char *wide = ptx_temp(p, RC_RD);
            ptx_line(p, "cvt.u64.u32 %s, %s", wide, a);
            ptx_line(p, "cvta.shared.u64 %s, %s", d, wide);
        } else if (from == IR_PTR_LOCAL || from == IR_PTR_CONST || from == IR_PTR_PARAM) {
            ptx_line(p, "cvta%s.u64 %s, %s", ptx_space(from), d, a);
        } else {
            ptx_line(p, "mov.b64 %s, %s", d, a);
        }
    } else if (from == IR_PTR_PARAM && to != IR_PTR_PARAM) {
        ptx_needs(p, 77);
        ptx_line(p, "cvta.param.u64 %s, %s", d, a);
    } else if (from == IR_PTR_SHARED && to != IR_PTR_SHARED) {
        const char *wide = ptx_temp(p, RC_RD);
        ptx_line(p, "cvt.u64.u32 %s, %s", wide, a);
        ptx_line(p, "cvta.shared.u64 %s, %s", d, wide);
    } else if (to == IR_PTR_SHARED && from != IR_PTR_SHARED) {
        const char *wide = ptx_temp(p, RC_RD);
        ptx_line(p, "cvta.to.shared.u64 %s, %s", wide, a);
        ptx_line(p, "cvt.u32.u64 %s, %s", d, wide);
    } else if (to == IR_PTR_GEN && from != IR_PTR_GEN) {
        ptx_line(p, "cvta%s.u64 %s, %s", ptx_space(from), d, a);
    } else if (from == IR_PTR_GEN && to != IR_PTR_GEN) {
        ptx_line(p, "cvta.to%s.u64 %s, %s", ptx_space(to), d, a);
    } else {
        ptx_line(p, "mov.b64 %s, %s", d, a);
    }
}

static void bit_count(ptx *p, const ir_inst *i)
{
    const char *bits = bits_of((ir_type)i->type), *a = ptx_reg(p, ir_operand(p->f, i, 0)),
               *d = ptx_def(p, i->result);
    if (i->op == IR_CTZ) {
        const char *reversed = ptx_temp(p, ptx_class((ir_type)i->type));
        ptx_line(p, "brev.b%s %s, %s", bits, reversed, a);
        a = reversed;
    }
    const char *count = i->type == IR_I64 ? ptx_temp(p, RC_R) : d;
    ptx_line(p, "%s.b%s %s, %s", i->op == IR_POPC ? "popc" : "clz", bits, count, a);
    if (i->type == IR_I64)
        ptx_line(p, "cvt.u64.u32 %s, %s", d, count);
}

static void funnel(ptx *p, const ir_inst *i)
{
    const char *hi = ptx_reg(p, ir_operand(p->f, i, 0)), *lo = ptx_reg(p, ir_operand(p->f, i, 1)),
               *n = ptx_reg(p, ir_operand(p->f, i, 2)), *d = ptx_def(p, i->result);
    if (i->type == IR_I32) {
        ptx_line(p, "shf.l.wrap.b32 %s, %s, %s, %s", d, lo, hi, n);
        return;
    }
    const char *count = ptx_temp(p, RC_R), *rest = ptx_temp(p, RC_R), *up = ptx_temp(p, RC_RD),
               *down = ptx_temp(p, RC_RD);
    ptx_line(p, "and.b32 %s, %s, 63", count, n);
    ptx_line(p, "sub.u32 %s, 64, %s", rest, count); // 64 clamps the right shift to zero
    ptx_line(p, "shl.b64 %s, %s, %s", up, hi, count);
    ptx_line(p, "shr.u64 %s, %s, %s", down, lo, rest);
    ptx_line(p, "or.b64 %s, %s, %s", d, up, down);
}

static void three(ptx *p, const ir_inst *i, const char *name)
{
    ptx_line(p, "%s %s, %s, %s, %s", name, ptx_def(p, i->result),
             ptx_reg(p, ir_operand(p->f, i, 0)), ptx_reg(p, ir_operand(p->f, i, 1)),
             ptx_op(p, ir_operand(p->f, i, 2)));
}

static void copysign_value(ptx *p, const ir_inst *i)
{
    ptx_line(p, "copysign.%s %s, %s, %s", i->type == IR_F64 ? "f64" : "f32", ptx_def(p, i->result),
             ptx_reg(p, ir_operand(p->f, i, 1)), ptx_reg(p, ir_operand(p->f, i, 0)));
}

static void round_to(ptx *p, const ir_inst *i, const char *mode)
{
    const char *type = i->type == IR_F64 ? "f64" : "f32";
    ptx_line(p, "cvt.%s.%s.%s %s, %s", mode, type, type, ptx_def(p, i->result),
             ptx_reg(p, ir_operand(p->f, i, 0)));
}

static void int_to_float(ptx *p, const ir_inst *i)
{
    ptx_line(p, "cvt.rn.%s.%c%s %s, %s", i->type == IR_F64 ? "f64" : "f32",
             i->op == IR_SITOF ? 's' : 'u', bits_of((ir_type)i->aux), ptx_def(p, i->result),
             ptx_reg(p, ir_operand(p->f, i, 0)));
}

// --- by family: a row that is missing does not compile
// clang-format off

static void int_inst(ptx *p, const ir_inst *i)
{
    switch ((ir_int_op)i->op) {
    case IR_ADD: if (!ptx_rotated(p, i)) integer(p, i, "add", 's'); break;
    case IR_SUB: if (!ptx_rotated(p, i)) subtract(p, i); break;
    case IR_MUL:
        if (!multiply_wide(p, i) && !ptx_multiply_half_known(p, i))
            integer(p, i, "mul.lo", 's');
        break;
    case IR_SMULHI: integer(p, i, "mul.hi", 's'); break;
    case IR_UMULHI: integer(p, i, "mul.hi", 'u'); break;
    case IR_SDIV: case IR_UDIV: case IR_SREM: case IR_UREM: divide(p, i); break;
    case IR_AND: logic(p, i, "and"); break;
    case IR_OR: logic(p, i, "or"); break;
    case IR_XOR: logic(p, i, "xor"); break;
    case IR_SHL: if (!multiply_wide(p, i)) shift(p, i, "shl.b"); break;
    case IR_LSHR: shift(p, i, "shr.u"); break;
    case IR_ASHR: shift(p, i, "shr.s"); break;
    case IR_SMIN: extreme(p, i, "min", 's'); break;
    case IR_SMAX: extreme(p, i, "max", 's'); break;
    case IR_UMIN: extreme(p, i, "min", 'u'); break;
    case IR_UMAX: extreme(p, i, "max", 'u'); break;
    case IR_POPC: case IR_CLZ: case IR_CTZ: bit_count(p, i); break;
    case IR_BREV: ptx_line(p, "brev.b%s %s, %s", bits_of((ir_type)i->type), ptx_def(p, i->result), ptx_reg(p, ir_operand(p->f, i, 0))); break;
    case IR_FSHL: funnel(p, i); break;
    case IR_PRMT: if (!ptx_permute(p, i)) three(p, i, "prmt.b32"); break;
    case IR_DP4A_S: three(p, i, "dp4a.s32.s32"); break;
    case IR_DP4A_U: three(p, i, "dp4a.u32.u32"); break;
    }
}

static void float_inst(ptx *p, const ir_inst *i)
{
    switch ((ir_float_op)i->op) {
    case IR_FADD: floating(p, i, "add.rn"); break;
    case IR_FSUB: floating(p, i, "sub.rn"); break;
    case IR_FMUL: floating(p, i, "mul.rn"); break;
    case IR_FDIV: floating(p, i, "div.rn"); break;
    case IR_FFMA: three(p, i, i->type == IR_F64 ? "fma.rn.f64" : "fma.rn.f32"); break;
    case IR_FSQRT: floating(p, i, "sqrt.rn"); break;
    case IR_FNEG: floating(p, i, "neg"); break;
    case IR_FABS: floating(p, i, "abs"); break;
    case IR_FCOPYSIGN: copysign_value(p, i); break;
    case IR_FMIN: floating(p, i, "min"); break;
    case IR_FMAX: if (!ptx_above_zero(p, i)) floating(p, i, "max"); break;
    case IR_FFLOOR: round_to(p, i, "rmi"); break;
    case IR_FCEIL: round_to(p, i, "rpi"); break;
    case IR_FTRUNC: round_to(p, i, "rzi"); break;
    case IR_FRINT: round_to(p, i, "rni"); break;
    }
}

static void fast_inst(ptx *p, const ir_inst *i)
{
    switch ((ir_fast_op)i->op) {
    case IR_FAST_EXP2: floating(p, i, "ex2.approx.ftz"); break;
    case IR_FAST_LOG2: floating(p, i, "lg2.approx"); break;
    case IR_FAST_SIN: floating(p, i, "sin.approx"); break;
    case IR_FAST_COS: floating(p, i, "cos.approx"); break;
    case IR_FAST_TANH: ptx_needs(p, 70); floating(p, i, "tanh.approx"); break;
    case IR_FAST_RCP: floating(p, i, "rcp.approx.ftz"); break;
    case IR_FAST_RSQRT: floating(p, i, "rsqrt.approx"); break;
    case IR_FAST_SQRT: floating(p, i, "sqrt.approx"); break;
    case IR_FAST_DIV: floating(p, i, "div.approx"); break;
    }
}

static void compare_inst(ptx *p, const ir_inst *i)
{
    switch ((ir_compare_op)i->op) {
    case IR_IEQ: compare(p, i, "eq", i->type == IR_I16 || i->type == IR_I8 ? 'u' : 's'); break;
    case IR_INE: compare(p, i, "ne", i->type == IR_I16 || i->type == IR_I8 ? 'u' : 's'); break;
    case IR_SLT: compare(p, i, "lt", 's'); break;
    case IR_SLE: compare(p, i, "le", 's'); break;
    case IR_ULT: if (!ptx_known_unsigned(p, i)) compare(p, i, "lt", 'u'); break;
    case IR_ULE: if (!ptx_known_unsigned(p, i)) compare(p, i, "le", 'u'); break;
    case IR_FEQ: compare(p, i, "eq", 'f'); break;
    case IR_FNE: compare(p, i, "neu", 'f'); break;
    case IR_FLT: if (!ptx_ordered(p, i)) compare(p, i, "lt", 'f'); break;
    case IR_FLE: if (!ptx_ordered(p, i)) compare(p, i, "le", 'f'); break;
    }
}

static void convert_inst(ptx *p, const ir_inst *i)
{
    switch ((ir_convert_op)i->op) {
    case IR_TRUNC: truncate(p, i); break;
    case IR_ZEXT: if (!ptx_extend_half(p, i)) extend(p, i); break;
    case IR_SEXT: if (!ptx_extend_byte(p, i)) extend(p, i); break;
    case IR_SITOF: case IR_UITOF: int_to_float(p, i); break;
    case IR_FTOSI: case IR_FTOUI: float_to_int(p, i); break;
    case IR_FEXT: case IR_FNARROW: ptx_narrow(p, i); break;
    case IR_BITCAST: if (!ptx_truth_bits(p, i)) bit_cast(p, i); break;
    case IR_PTRTOINT: case IR_INTTOPTR: case IR_PTRCAST: cast_pointer(p, i); break;
    }
}
// clang-format on

void ptx_inst(ptx *p, const ir_inst *i)
{
    switch (ir_op_family(i->op)) {
    case IR_FAM_INT: int_inst(p, i); break;
    case IR_FAM_FLOAT: float_inst(p, i); break;
    case IR_FAM_FAST: fast_inst(p, i); break;
    case IR_FAM_COMPARE: compare_inst(p, i); break;
    case IR_FAM_CONVERT: convert_inst(p, i); break;
    case IR_FAM_PACKED: ptx_packed(p, i); break;
    case IR_FAM_SELECT:
        if (!ptx_select_bits(p, i))
            select_value(p, i);
        break;
    case IR_FAM_MEMORY: ptx_memory(p, i); break;
    case IR_FAM_GEOMETRY: ptx_geometry(p, i); break;
    case IR_FAM_GROUP: ptx_group(p, i); break;
    case IR_FAM_WORLD: ptx_world(p, i); break;
    case IR_FAM_NVIDIA: ptx_nvidia(p, i); break;
    case IR_FAM_CALL: ptx_call(p, i); break;
    case IR_FAM_CONTROL:
    case IR_FAM_END:
    case IR_FAM_NONE:
    case IR_FAM_COUNT: bug("ptx: '%s' is not plain", ir_op_name(i->op));
    }
}
