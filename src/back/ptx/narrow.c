// Narrow floats as PTX: conversions and packed pairs. Older targets lack some of the instructions;
// there the same rounding is done with integers (8-bit floats before sm_89, bf16 before sm_80).
#include "back/ptx/ptx.h"

// e5m2 is the upper half of an f16. e4m3: exponent and mantissa moved to f32's place, then scaled,
// which also normalises.
static void widen_f8_by_hand(ptx *p, const ir_inst *i, const char *d, const char *a)
{
    if (i->aux == IR_F8E5) {
        const char *half = ptx_temp(p, RC_H);
        ptx_line(p, "shl.b16 %s, %s, 8", half, a);
        ptx_line(p, "cvt.f32.f16 %s, %s", d, half);
        return;
    }
    const char *u = ptx_temp(p, RC_R), *magnitude = ptx_temp(p, RC_R), *moved = ptx_temp(p, RC_R),
               *sign = ptx_temp(p, RC_R), *sign2 = ptx_temp(p, RC_R), *bits = ptx_temp(p, RC_R),
               *joined = ptx_temp(p, RC_R), *raw = ptx_temp(p, RC_F), *scaled = ptx_temp(p, RC_F),
               *value = ptx_temp(p, RC_F), *nan = ptx_temp(p, RC_PRED);
    ptx_line(p, "cvt.u32.u8 %s, %s", u, a);
    ptx_line(p, "and.b32 %s, %s, 127", magnitude, u);
    ptx_line(p, "shl.b32 %s, %s, 20", moved, magnitude);
    ptx_line(p, "mov.b32 %s, %s", raw, moved);
    ptx_line(p, "mul.rn.f32 %s, %s, 0f7B800000", scaled, raw); // 2^120
    ptx_line(p, "and.b32 %s, %s, 128", sign, u);
    ptx_line(p, "shl.b32 %s, %s, 24", sign2, sign);
    ptx_line(p, "mov.b32 %s, %s", bits, scaled);
    ptx_line(p, "or.b32 %s, %s, %s", joined, bits, sign2);
    ptx_line(p, "mov.b32 %s, %s", value, joined);
    ptx_line(p, "setp.eq.u32 %s, %s, 127", nan, magnitude);
    ptx_line(p, "selp.f32 %s, 0f7FFFFFFF, %s, %s", d, value, nan);
}

static void widen(ptx *p, const ir_inst *i)
{
    const char *a = ptx_reg(p, ir_operand(p->f, i, 0)), *d = ptx_def(p, i->result);
    if (i->aux == IR_F32) {
        ptx_line(p, "cvt.f64.f32 %s, %s", d, a);
    } else if (i->aux == IR_F16) {
        ptx_line(p, "cvt.f32.f16 %s, %s", d, a);
    } else if (i->aux == IR_BF16) {
        const char *zero = ptx_temp(p, RC_H);
        ptx_line(p, "mov.b16 %s, 0", zero);
        ptx_line(p, "mov.b32 %s, {%s, %s}", d, zero, a);
    } else if (p->t->sm < 89) {
        widen_f8_by_hand(p, i, d, a);
    } else {
        ptx_needs(p, 81);
        const char *pair = ptx_temp(p, RC_R), *half = ptx_temp(p, RC_H), *rest = ptx_temp(p, RC_H);
        ptx_line(p, "cvt.rn.f16x2.%s %s, %s", i->aux == IR_F8E4 ? "e4m3x2" : "e5m2x2", pair, a);
        ptx_line(p, "mov.b32 {%s, %s}, %s", half, rest, pair);
        ptx_line(p, "cvt.f32.f16 %s, %s", d, half);
    }
}

// f32 to bf16: round to nearest even in integers; a NaN stays one.
static void bf16_by_hand(ptx *p, const char *d, const char *a)
{
    const char *u = ptx_temp(p, RC_R), *odd = ptx_temp(p, RC_R), *sum = ptx_temp(p, RC_R),
               *sum2 = ptx_temp(p, RC_R), *high = ptx_temp(p, RC_R), *picked = ptx_temp(p, RC_R),
               *nan = ptx_temp(p, RC_PRED);
    ptx_line(p, "mov.b32 %s, %s", u, a);
    ptx_line(p, "bfe.u32 %s, %s, 16, 1", odd, u);
    ptx_line(p, "add.u32 %s, %s, 32767", sum, u);
    ptx_line(p, "add.u32 %s, %s, %s", sum2, sum, odd);
    ptx_line(p, "shr.u32 %s, %s, 16", high, sum2);
    ptx_line(p, "setp.nan.f32 %s, %s, %s", nan, a, a);
    ptx_line(p, "selp.b32 %s, 32767, %s, %s", picked, high, nan);
    ptx_line(p, "cvt.u16.u32 %s, %s", d, picked);
}

// f32 to an 8-bit float, saturating. Normal results: add half a unit (to even) and cut. Subnormal
// ones: adding a power of two whose last bit is the smallest step rounds to it.
static void f8_by_hand(ptx *p, const ir_inst *i, const char *d, const char *a)
{
    bool is_e4 = i->type == IR_F8E4;
    int shift = is_e4 ? 20 : 21;
    const char *largest = is_e4 ? "0f43E00000" : "0f47600000",
               *smallest_normal = is_e4 ? "0f3C800000" : "0f38800000",
               *magic = is_e4 ? "0f46800000" : "0f43000000";
    uint32_t magic_bits = is_e4 ? 0x46800000u : 0x43000000u, bias = is_e4 ? 120u << 3 : 112u << 2;
    const char *magnitude = ptx_temp(p, RC_F), *clamped = ptx_temp(p, RC_F), *u = ptx_temp(p, RC_R),
               *odd = ptx_temp(p, RC_R), *sum = ptx_temp(p, RC_R), *sum2 = ptx_temp(p, RC_R),
               *cut = ptx_temp(p, RC_R), *normal = ptx_temp(p, RC_R), *stepped = ptx_temp(p, RC_F),
               *step_bits = ptx_temp(p, RC_R), *small = ptx_temp(p, RC_R),
               *is_small = ptx_temp(p, RC_PRED), *chosen = ptx_temp(p, RC_R),
               *nan = ptx_temp(p, RC_PRED), *value = ptx_temp(p, RC_R), *all = ptx_temp(p, RC_R),
               *sign = ptx_temp(p, RC_R), *sign2 = ptx_temp(p, RC_R), *out = ptx_temp(p, RC_R);
    ptx_line(p, "abs.f32 %s, %s", magnitude, a);
    ptx_line(p, "min.f32 %s, %s, %s", clamped, magnitude, largest);
    ptx_line(p, "mov.b32 %s, %s", u, clamped);
    ptx_line(p, "bfe.u32 %s, %s, %d, 1", odd, u, shift);
    ptx_line(p, "add.u32 %s, %s, %u", sum, u, (1u << (shift - 1)) - 1);
    ptx_line(p, "add.u32 %s, %s, %s", sum2, sum, odd);
    ptx_line(p, "shr.u32 %s, %s, %d", cut, sum2, shift);
    ptx_line(p, "sub.u32 %s, %s, %u", normal, cut, bias);
    ptx_line(p, "add.rn.f32 %s, %s, %s", stepped, clamped, magic);
    ptx_line(p, "mov.b32 %s, %s", step_bits, stepped);
    ptx_line(p, "sub.u32 %s, %s, %u", small, step_bits, magic_bits);
    ptx_line(p, "setp.lt.f32 %s, %s, %s", is_small, clamped, smallest_normal);
    ptx_line(p, "selp.b32 %s, %s, %s, %s", chosen, small, normal, is_small);
    ptx_line(p, "setp.nan.f32 %s, %s, %s", nan, a, a);
    ptx_line(p, "selp.b32 %s, 127, %s, %s", value, chosen, nan);
    ptx_line(p, "mov.b32 %s, %s", all, a);
    ptx_line(p, "shr.u32 %s, %s, 24", sign, all);
    ptx_line(p, "and.b32 %s, %s, 128", sign2, sign);
    ptx_line(p, "or.b32 %s, %s, %s", out, value, sign2);
    ptx_line(p, "cvt.u16.u32 %s, %s", d, out);
}

void ptx_narrow(ptx *p, const ir_inst *i)
{
    if (i->op == IR_FEXT) {
        widen(p, i);
        return;
    }
    const char *a = ptx_reg(p, ir_operand(p->f, i, 0)), *d = ptx_def(p, i->result);
    if (i->type == IR_F32)
        ptx_line(p, "cvt.rn.f32.f64 %s, %s", d, a);
    else if (i->type == IR_F16)
        ptx_line(p, "cvt.rn.f16.f32 %s, %s", d, a);
    else if (i->type == IR_BF16 && p->t->sm >= 80)
        ptx_line(p, "cvt.rn.bf16.f32 %s, %s", d, a);
    else if (i->type == IR_BF16)
        bf16_by_hand(p, d, a);
    else if (p->t->sm < 89)
        f8_by_hand(p, i, d, a);
    else {
        ptx_needs(p, 81);
        ptx_line(p, "cvt.rn.satfinite.%s.f32 %s, 0f00000000, %s",
                 i->type == IR_F8E4 ? "e4m3x2" : "e5m2x2", d, a);
    }
}

// One lane of a pair as f32, and back.
static const char *lane_as_f32(ptx *p, const char *pair, bool is_bf16, bool is_high)
{
    const char *f = ptx_temp(p, RC_F);
    if (is_bf16) {
        const char *moved = ptx_temp(p, RC_R);
        ptx_line(p, is_high ? "and.b32 %s, %s, -65536" : "shl.b32 %s, %s, 16", moved, pair);
        ptx_line(p, "mov.b32 %s, %s", f, moved);
    } else {
        const char *lo = ptx_temp(p, RC_H), *hi = ptx_temp(p, RC_H);
        ptx_line(p, "mov.b32 {%s, %s}, %s", lo, hi, pair);
        ptx_line(p, "cvt.f32.f16 %s, %s", f, is_high ? hi : lo);
    }
    return f;
}

// Through f32: exact for minimum and maximum; a sum or product of two 16-bit floats rounds once,
// because f32 has more than twice their digits.
static void pair_by_hand(ptx *p, const ir_inst *i, const char *d, const char *a, const char *b)
{
    static const char *const names[] = {"add.rn", "sub.rn", "mul.rn", "", "min", "max"};
    bool is_bf16 = i->aux == IR_BF16;
    const char *halves[2];
    for (int k = 0; k < 2; k++) {
        const char *x = lane_as_f32(p, a, is_bf16, k), *y = lane_as_f32(p, b, is_bf16, k),
                   *r = ptx_temp(p, RC_F);
        halves[k] = ptx_temp(p, RC_H);
        ptx_line(p, "%s.f32 %s, %s, %s", names[i->op - IR_HADD2], r, x, y);
        if (is_bf16)
            bf16_by_hand(p, halves[k], r);
        else
            ptx_line(p, "cvt.rn.f16.f32 %s, %s", halves[k], r);
    }
    ptx_line(p, "mov.b32 %s, {%s, %s}", d, halves[0], halves[1]);
}

// a * b + c of f32 numbers with 8 digits, as f32 rounded to odd: what is cut off leaves its mark in
// the last bit, so that rounding the result to bf16 is the only rounding. In f64 the product is
// exact, and the sum is when both ways of rounding it agree.
static const char *fma_to_odd(ptx *p, const char *const in[3])
{
    const char *wide[3],
        *below = ptx_temp(p, RC_FD), *above = ptx_temp(p, RC_FD), *cut = ptx_temp(p, RC_FD),
        *back = ptx_temp(p, RC_FD), *f = ptx_temp(p, RC_F), *odd_f = ptx_temp(p, RC_F),
        *bits = ptx_temp(p, RC_R), *odd = ptx_temp(p, RC_R), *picked = ptx_temp(p, RC_R),
        *in_sum = ptx_temp(p, RC_PRED), *in_f32 = ptx_temp(p, RC_PRED),
        *lost = ptx_temp(p, RC_PRED);
    for (int k = 0; k < 3; k++) {
        wide[k] = ptx_temp(p, RC_FD);
        ptx_line(p, "cvt.f64.f32 %s, %s", wide[k], in[k]);
    }
    ptx_line(p, "fma.rm.f64 %s, %s, %s, %s", below, wide[0], wide[1], wide[2]);
    ptx_line(p, "fma.rp.f64 %s, %s, %s, %s", above, wide[0], wide[1], wide[2]);
    ptx_line(p, "fma.rz.f64 %s, %s, %s, %s", cut, wide[0], wide[1], wide[2]);
    ptx_line(p, "cvt.rz.f32.f64 %s, %s", f, cut);
    ptx_line(p, "cvt.f64.f32 %s, %s", back, f);
    ptx_line(p, "setp.ne.f64 %s, %s, %s", in_sum, below, above);
    ptx_line(p, "setp.ne.f64 %s, %s, %s", in_f32, back, cut);
    ptx_line(p, "or.pred %s, %s, %s", lost, in_sum, in_f32);
    ptx_line(p, "mov.b32 %s, %s", bits, f);
    ptx_line(p, "or.b32 %s, %s, 1", odd, bits);
    ptx_line(p, "selp.b32 %s, %s, %s, %s", picked, odd, bits, lost);
    ptx_line(p, "mov.b32 %s, %s", odd_f, picked);
    return odd_f;
}

static void bf16_fma_by_hand(ptx *p, const char *d, const char *const pairs[3])
{
    const char *halves[2];
    for (int k = 0; k < 2; k++) {
        const char *in[3];
        for (int n = 0; n < 3; n++)
            in[n] = lane_as_f32(p, pairs[n], true, k);
        halves[k] = ptx_temp(p, RC_H);
        bf16_by_hand(p, halves[k], fma_to_odd(p, in));
    }
    ptx_line(p, "mov.b32 %s, {%s, %s}", d, halves[0], halves[1]);
}

// Before sm_90 bf16 has only fma: a+b = fma(a, 1, b), a-b = fma(b, -1, a), a*b = fma(a, b, -0),
// with the same single rounding.
void ptx_packed(ptx *p, const ir_inst *i)
{
    const char *a = ptx_reg(p, ir_operand(p->f, i, 0)), *b = ptx_reg(p, ir_operand(p->f, i, 1)),
               *d = ptx_def(p, i->result);
    bool is_bf16 = i->aux == IR_BF16;
    const char *type = is_bf16 ? "bf16x2" : "f16x2";
    if (i->op == IR_HFMA2) {
        const char *c = ptx_reg(p, ir_operand(p->f, i, 2));
        if (is_bf16 && p->t->sm < 80)
            bf16_fma_by_hand(p, d, (const char *const[]){a, b, c});
        else
            ptx_line(p, "fma.rn.%s %s, %s, %s, %s", type, d, a, b, c);
    } else if (p->t->sm < 80 && (is_bf16 || i->op == IR_HMIN2 || i->op == IR_HMAX2)) {
        pair_by_hand(p, i, d, a, b);
    } else if (i->op == IR_HMIN2 || i->op == IR_HMAX2) {
        ptx_line(p, "%s.%s %s, %s, %s", i->op == IR_HMIN2 ? "min" : "max", type, d, a, b);
    } else if (!is_bf16) {
        ptx_line(p, "%s.rn.f16x2 %s, %s, %s",
                 i->op == IR_HADD2   ? "add"
                 : i->op == IR_HSUB2 ? "sub"
                                     : "mul",
                 d, a, b);
    } else {
        const char *constant = ptx_temp(p, RC_R);
        ptx_line(p, "mov.b32 %s, %s", constant,
                 i->op == IR_HMUL2   ? "0x80008000"
                 : i->op == IR_HSUB2 ? "0xbf80bf80"
                                     : "0x3f803f80");
        if (i->op == IR_HMUL2)
            ptx_line(p, "fma.rn.bf16x2 %s, %s, %s, %s", d, a, b, constant);
        else if (i->op == IR_HSUB2)
            ptx_line(p, "fma.rn.bf16x2 %s, %s, %s, %s", d, b, constant, a);
        else
            ptx_line(p, "fma.rn.bf16x2 %s, %s, %s, %s", d, a, constant, b);
    }
}
