// The algebra of folding: rules that give the same bits for every input. Each rule function looks
// at one instruction and answers with a replacement value, or 0; `reshape` changes the instruction
// itself. Nothing here is true only "mathematically": x + 0.0f and x * 0.0f stay.
#include "ir/eval.h"
#include "pass/fold.h"

#include <math.h>

typedef struct view { // an instruction, unpacked
    ir_op op;
    ir_type t;
    ir_ref a, b, c;
    uint64_t ka, kb; // constants' bits
    bool is_ka, is_kb;
} view;

static uint32_t width_of(ir_type t)
{
    return t == IR_I1 ? 1 : ir_type_size(t) * 8;
}

static uint64_t ones(ir_type t)
{
    return width_of(t) >= 64 ? UINT64_MAX : ((uint64_t)1 << width_of(t)) - 1;
}

static uint64_t sign_bit(ir_type t)
{
    return (uint64_t)1 << (width_of(t) - 1);
}

static bool is_power_of_two(uint64_t v)
{
    return v && !(v & (v - 1));
}

static int32_t log2_of(uint64_t v)
{
    return 63 - __builtin_clzll(v);
}

// The defining instruction of `r` when it has operation `op`.
static const ir_inst *def_as(const folder *fo, ir_ref r, ir_op op)
{
    ir_inst_id def = ir_def_of(fo->f, r);
    return def && ir_at(fo->f, def)->op == op ? ir_at(fo->f, def) : NULL;
}

static ir_ref operand_of(const folder *fo, const ir_inst *i, uint32_t k)
{
    return fold_resolve(fo, ir_operand(fo->f, i, k));
}

static void look(const folder *fo, ir_inst_id id, view *v)
{
    const ir_inst *i = ir_at(fo->f, id);
    v->op = (ir_op)i->op;
    v->t = (ir_type)i->type;
    v->a = i->operand_count > 0 ? ir_operand(fo->f, i, 0) : 0;
    v->b = i->operand_count > 1 ? ir_operand(fo->f, i, 1) : 0;
    v->c = i->operand_count > 2 ? ir_operand(fo->f, i, 2) : 0;
    v->ka = v->kb = 0;
    v->is_ka = ir_const_bits(fo->f, v->a, &v->ka);
    v->is_kb = ir_const_bits(fo->f, v->b, &v->kb);
}

static void reshape(folder *fo, ir_inst_id id, ir_op op, ir_ref a, ir_ref b)
{
    ir_ref operands[] = {a, b};
    ir_set_operands(fo->f, id, operands, b ? 2 : 1);
    ir_at(fo->f, id)->op = (uint16_t)op;
    fo->did_change = true;
}

static bool is_commutative(ir_op op)
{
    switch (op) {
    case IR_ADD:
    case IR_MUL:
    case IR_SMULHI:
    case IR_UMULHI:
    case IR_AND:
    case IR_OR:
    case IR_XOR:
    case IR_SMIN:
    case IR_SMAX:
    case IR_UMIN:
    case IR_UMAX:
    case IR_FADD:
    case IR_FMUL:
    case IR_IEQ:
    case IR_INE:
    case IR_FEQ:
    case IR_FNE: return true;
    default: return false;
    }
}

static ir_ref evaluate(folder *fo, const ir_inst *i)
{
    uint64_t in[3] = {0}, out;
    if (!i->operand_count || i->operand_count > 3 || i->result_count != 1)
        return 0;
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (!ir_const_bits(fo->f, ir_operand(fo->f, i, k), &in[k]))
            return 0;
    if (!ir_eval((ir_op)i->op, (ir_type)i->type, i->aux, in, &out))
        return 0;
    return ir_constant(fo->f, ir_type_of(fo->f, i->result), out);
}

// --- integers

static ir_ref zero_of(folder *fo, const view *v)
{
    return ir_constant(fo->f, v->t, 0);
}

// x op c, where c is a constant on the right.
static ir_ref int_with_constant(folder *fo, const view *v)
{
    bool is_zero = !v->kb, is_one = v->kb == 1, is_ones = v->kb == ones(v->t);
    switch (v->op) {
    case IR_ADD:
    case IR_SUB:
    case IR_XOR: return is_zero ? v->a : 0;
    case IR_OR: return is_zero ? v->a : is_ones ? v->b : 0;
    case IR_AND: return is_zero ? v->b : is_ones ? v->a : 0;
    case IR_MUL: return is_zero ? v->b : is_one ? v->a : 0;
    case IR_SDIV: return is_zero ? zero_of(fo, v) : is_one ? v->a : 0;
    case IR_UDIV: return is_zero ? zero_of(fo, v) : is_one ? v->a : 0;
    case IR_SREM: return is_zero ? v->a : is_one || is_ones ? zero_of(fo, v) : 0;
    case IR_UREM: return is_zero ? v->a : is_one ? zero_of(fo, v) : 0;
    case IR_UMULHI: return is_zero || is_one ? zero_of(fo, v) : 0;
    case IR_SMULHI: return is_zero ? zero_of(fo, v) : 0;
    case IR_SHL:
    case IR_LSHR:
    case IR_ASHR: return v->kb % width_of(v->t) ? 0 : v->a;
    case IR_UMIN: return is_zero ? v->b : is_ones ? v->a : 0;
    case IR_UMAX: return is_zero ? v->a : is_ones ? v->b : 0;
    case IR_SMIN: return v->kb == sign_bit(v->t) ? v->b : v->kb == sign_bit(v->t) - 1 ? v->a : 0;
    case IR_SMAX: return v->kb == sign_bit(v->t) ? v->a : v->kb == sign_bit(v->t) - 1 ? v->b : 0;
    case IR_ULT: return is_zero ? ir_bool(fo->f, false) : 0;
    case IR_ULE: return is_ones ? ir_bool(fo->f, true) : 0;
    case IR_SLT: return v->kb == sign_bit(v->t) ? ir_bool(fo->f, false) : 0;
    case IR_SLE: return v->kb == sign_bit(v->t) - 1 ? ir_bool(fo->f, true) : 0;
    default: return 0;
    }
}

// c op x.
static ir_ref constant_with_int(folder *fo, const view *v)
{
    switch (v->op) {
    case IR_SHL:
    case IR_LSHR:
    case IR_SDIV:
    case IR_UDIV:
    case IR_SREM:
    case IR_UREM: return v->ka ? 0 : v->a;
    case IR_ASHR: return !v->ka || v->ka == ones(v->t) ? v->a : 0;
    case IR_ULE: return v->ka ? 0 : ir_bool(fo->f, true);
    case IR_ULT: return v->ka == ones(v->t) ? ir_bool(fo->f, false) : 0;
    case IR_SLE: return v->ka == sign_bit(v->t) ? ir_bool(fo->f, true) : 0;
    case IR_SLT: return v->ka == sign_bit(v->t) - 1 ? ir_bool(fo->f, false) : 0;
    default: return 0;
    }
}

// x op x.
static ir_ref with_itself(folder *fo, const view *v)
{
    switch (v->op) {
    case IR_SUB:
    case IR_XOR: return ir_constant(fo->f, v->t, 0);
    case IR_AND:
    case IR_OR:
    case IR_SMIN:
    case IR_SMAX:
    case IR_UMIN:
    case IR_UMAX:
    case IR_FMIN:
    case IR_FMAX: return v->a;
    case IR_IEQ:
    case IR_SLE:
    case IR_ULE: return ir_bool(fo->f, true);
    case IR_INE:
    case IR_SLT:
    case IR_ULT: return ir_bool(fo->f, false);
    default: return 0;
    }
}

// (x op c1) op c2 -> x op (c1 op c2): integers wrap, so it is exact.
static bool regroup(folder *fo, ir_inst_id id, const view *v)
{
    bool is_chain =
        v->op == IR_ADD || v->op == IR_MUL || v->op == IR_AND || v->op == IR_OR || v->op == IR_XOR;
    if (!is_chain)
        return false;
    const ir_inst *inner = def_as(fo, v->a, v->op);
    uint64_t k1, joined;
    if (!inner || !ir_const_bits(fo->f, operand_of(fo, inner, 1), &k1))
        return false;
    uint64_t in[3] = {k1, v->kb, 0};
    if (!ir_eval(v->op, v->t, 0, in, &joined))
        return false;
    ir_ref x = operand_of(fo, inner, 0);
    reshape(fo, id, v->op, x, ir_constant(fo->f, v->t, joined));
    return true;
}

static bool regroup_shift(folder *fo, ir_inst_id id, const view *v)
{
    const ir_inst *inner = def_as(fo, v->a, v->op);
    uint64_t k1;
    uint32_t width = width_of(v->t);
    if (!inner || !ir_const_bits(fo->f, operand_of(fo, inner, 1), &k1))
        return false;
    uint64_t sum = k1 % width + v->kb % width;
    if (sum >= width)
        return false;
    reshape(fo, id, v->op, operand_of(fo, inner, 0), ir_i32(fo->f, (int32_t)sum));
    return true;
}

// Signed division by 2^k rounds toward zero: add 2^k - 1 to negative numbers first.
static ir_ref divide_by_power(folder *fo, ir_inst_id id, const view *v)
{
    ir_func *f = fo->f;
    int32_t k = log2_of(v->kb), width = (int32_t)width_of(v->t);
    if (v->kb == sign_bit(v->t))
        return 0;
    ir_cursor c = ir_before(f, id);
    ir_ref sign = ir_bin(&c, IR_ASHR, v->t, v->a, ir_i32(f, width - 1));
    ir_ref bias = ir_bin(&c, IR_LSHR, v->t, sign, ir_i32(f, width - k));
    ir_ref sum = ir_bin(&c, IR_ADD, v->t, v->a, bias);
    if (v->op == IR_SDIV)
        return ir_bin(&c, IR_ASHR, v->t, sum, ir_i32(f, k));
    ir_ref whole = ir_bin(&c, IR_AND, v->t, sum, ir_constant(f, v->t, ones(v->t) << k));
    return ir_bin(&c, IR_SUB, v->t, v->a, whole);
}

static ir_ref int_power_rules(folder *fo, ir_inst_id id, const view *v)
{
    if (!is_power_of_two(v->kb) || v->kb == 1)
        return 0;
    ir_ref shift = ir_i32(fo->f, log2_of(v->kb));
    switch (v->op) {
    case IR_MUL: reshape(fo, id, IR_SHL, v->a, shift); return 0;
    case IR_UDIV: reshape(fo, id, IR_LSHR, v->a, shift); return 0;
    case IR_UREM: reshape(fo, id, IR_AND, v->a, ir_constant(fo->f, v->t, v->kb - 1)); return 0;
    case IR_SDIV:
    case IR_SREM: return divide_by_power(fo, id, v);
    default: return 0;
    }
}

// The i32 whose lower half `r` is, above it zeros; 0: it is no such half.
static ir_ref lower_half(const folder *fo, ir_ref r)
{
    const ir_inst *wide = def_as(fo, r, IR_ZEXT);
    const ir_inst *half = wide ? def_as(fo, operand_of(fo, wide, 0), IR_TRUNC) : NULL;
    if (!half || wide->type != IR_I32 || half->type != IR_I16)
        return 0;
    ir_ref whole = operand_of(fo, half, 0);
    return ir_type_of(fo->f, whole) == IR_I32 ? whole : 0;
}

// The x of (x op 16), where op is a shift; 0: it is none.
static ir_ref shifted_by_half(const folder *fo, ir_ref r, ir_op op)
{
    const ir_inst *i = def_as(fo, r, op);
    uint64_t by;
    return i && i->type == IR_I32 && ir_const_bits(fo->f, operand_of(fo, i, 1), &by) && by == 16
               ? operand_of(fo, i, 0)
               : 0;
}

// Two halves of one word that are put together again, as a pair of f16 is on its way to the next
// instruction on pairs.
static ir_ref joined_halves(const folder *fo, ir_ref low, ir_ref high)
{
    ir_ref whole = lower_half(fo, low), upper = shifted_by_half(fo, high, IR_SHL);
    upper = upper ? lower_half(fo, upper) : 0;
    return whole && upper && shifted_by_half(fo, upper, IR_LSHR) == whole ? whole : 0;
}

static ir_ref int_rules(folder *fo, ir_inst_id id, const view *v)
{
    if (v->is_ka && !v->is_kb)
        return constant_with_int(fo, v);
    if (!v->is_kb && v->op == IR_OR && v->t == IR_I32) {
        ir_ref whole = joined_halves(fo, v->a, v->b);
        return whole ? whole : joined_halves(fo, v->b, v->a);
    }
    if (!v->is_kb)
        return 0;
    ir_ref simple = int_with_constant(fo, v);
    if (simple)
        return simple;
    if (v->op == IR_SUB) {
        reshape(fo, id, IR_ADD, v->a, ir_constant(fo->f, v->t, 0 - v->kb));
        return 0;
    }
    if (v->op == IR_SHL || v->op == IR_LSHR) {
        if (v->kb >= width_of(v->t))
            reshape(fo, id, v->op, v->a, ir_i32(fo->f, (int32_t)(v->kb % width_of(v->t))));
        else
            regroup_shift(fo, id, v);
        return 0;
    }
    if (regroup(fo, id, v))
        return 0;
    return int_power_rules(fo, id, v);
}

// --- truth values and comparisons

static ir_ref invert(folder *fo, ir_inst_id id, ir_ref condition)
{
    ir_cursor c = ir_before(fo->f, id);
    return ir_bin(&c, IR_XOR, IR_I1, condition, ir_bool(fo->f, true));
}

// not (a < b) -> b <= a. Floats only for equality: with a NaN every order is false.
static bool invert_compare(folder *fo, ir_inst_id id, ir_ref condition)
{
    ir_inst_id def = ir_def_of(fo->f, condition);
    if (!def)
        return false;
    const ir_inst *i = ir_at(fo->f, def);
    ir_op op;
    bool is_swapped = false;
    switch (i->op) {
    case IR_IEQ: op = IR_INE; break;
    case IR_INE: op = IR_IEQ; break;
    case IR_FEQ: op = IR_FNE; break;
    case IR_FNE: op = IR_FEQ; break;
    case IR_SLT: op = IR_SLE, is_swapped = true; break;
    case IR_SLE: op = IR_SLT, is_swapped = true; break;
    case IR_ULT: op = IR_ULE, is_swapped = true; break;
    case IR_ULE: op = IR_ULT, is_swapped = true; break;
    default: return false;
    }
    ir_ref a = operand_of(fo, i, 0), b = operand_of(fo, i, 1);
    uint8_t type = i->type;
    reshape(fo, id, op, is_swapped ? b : a, is_swapped ? a : b);
    ir_at(fo->f, id)->type = type;
    return true;
}

// The operand of a `not` (xor with true).
static ir_ref negated(const folder *fo, ir_ref r)
{
    const ir_inst *i = def_as(fo, r, IR_XOR);
    uint64_t bits;
    return i && i->type == IR_I1 && ir_const_bits(fo->f, operand_of(fo, i, 1), &bits) && bits
               ? operand_of(fo, i, 0)
               : 0;
}

// The i1 behind `r` when r is 1 for true and 0 for false (zext i1, or select c, 1, 0).
static ir_ref as_truth(const folder *fo, ir_ref r)
{
    const ir_inst *i = def_as(fo, r, IR_ZEXT);
    if (i && i->aux == IR_I1)
        return operand_of(fo, i, 0);
    i = def_as(fo, r, IR_SELECT);
    uint64_t yes, no;
    if (i && ir_is_int((ir_type)i->type) && ir_const_bits(fo->f, operand_of(fo, i, 1), &yes) &&
        ir_const_bits(fo->f, operand_of(fo, i, 2), &no) && yes == 1 && no == 0)
        return operand_of(fo, i, 0);
    return 0;
}

static ir_ref equality_rules(folder *fo, ir_inst_id id, const view *v)
{
    if (!v->is_kb)
        return 0;
    bool is_equal = v->op == IR_IEQ;
    ir_ref truth = v->t == IR_I1 ? v->a : as_truth(fo, v->a);
    if (truth) {
        if (v->kb > 1)
            return ir_bool(fo->f, !is_equal);
        return (v->kb == 1) == is_equal ? truth : invert(fo, id, truth);
    }
    uint64_t k1;
    const ir_inst *i = def_as(fo, v->a, IR_ADD);
    if (i && ir_const_bits(fo->f, operand_of(fo, i, 1), &k1)) {
        reshape(fo, id, v->op, operand_of(fo, i, 0), ir_constant(fo->f, v->t, v->kb - k1));
        return 0;
    }
    i = def_as(fo, v->a, IR_ZEXT);
    if (i && (i->aux == IR_I32) && v->t == IR_I64) {
        if (v->kb > UINT32_MAX)
            return ir_bool(fo->f, !is_equal);
        reshape(fo, id, v->op, operand_of(fo, i, 0), ir_constant(fo->f, IR_I32, v->kb));
        ir_at(fo->f, id)->type = IR_I32;
    }
    return 0;
}

static ir_ref truth_rules(folder *fo, ir_inst_id id, const view *v)
{
    if (v->op == IR_XOR && v->is_kb && v->kb) {
        ir_ref inner = negated(fo, v->a);
        if (inner)
            return inner;
        invert_compare(fo, id, v->a);
    }
    return 0;
}

static ir_ref select_rules(folder *fo, ir_inst_id id, const view *v)
{
    ir_func *f = fo->f;
    uint64_t yes, no;
    if (v->is_ka)
        return v->ka ? v->b : v->c;
    if (v->b == v->c)
        return v->b;
    ir_ref inner = negated(fo, v->a);
    if (inner) {
        ir_ref swapped[] = {inner, v->c, v->b};
        ir_set_operands(f, id, swapped, 3);
        fo->did_change = true;
        return 0;
    }
    if (!ir_const_bits(f, v->b, &yes) || !ir_const_bits(f, v->c, &no) || !ir_is_int(v->t))
        return 0;
    if (v->t == IR_I1)
        return yes ? v->a : invert(fo, id, v->a);
    if (yes == 1 && no == 0) {
        ir_cursor c = ir_before(f, id);
        return ir_convert(&c, IR_ZEXT, v->t, v->a);
    }
    return 0;
}

// --- floats

static double as_real(ir_type t, uint64_t bits)
{
    double v;
    if (t == IR_F64) {
        memcpy(&v, &bits, sizeof v);
        return v;
    }
    uint32_t low = (uint32_t)bits;
    float single;
    memcpy(&single, &low, sizeof single);
    return (double)single;
}

// x / 2^k -> x * 2^-k when the reciprocal is a normal number: both round the same real number.
static ir_ref divide_real(folder *fo, ir_inst_id id, const view *v)
{
    uint32_t mantissa_bits = v->t == IR_F32 ? 23 : 52, bias = v->t == IR_F32 ? 127 : 1023;
    uint64_t exponent = v->kb >> mantissa_bits & (2 * bias + 1);
    if (v->kb & (((uint64_t)1 << mantissa_bits) - 1) || exponent == 0 || exponent >= 2 * bias)
        return 0;
    uint64_t reciprocal = (v->kb & sign_bit(v->t)) | (uint64_t)(2 * bias - exponent)
                                                         << mantissa_bits;
    reshape(fo, id, IR_FMUL, v->a, ir_constant(fo->f, v->t, reciprocal));
    return 0;
}

// Sums and products with a NaN are one; which one is open. A compiler behind Kiln that gets to fold
// them may not know (docs/assembler.md).
static bool has_nan(const folder *fo, const view *v)
{
    uint64_t c = 0;
    bool is_kc = v->op == IR_FFMA && ir_const_bits(fo->f, v->c, &c);
    bool takes_nan = v->op == IR_FADD || v->op == IR_FSUB || v->op == IR_FMUL || v->op == IR_FDIV ||
                     v->op == IR_FFMA;
    return takes_nan &&
           ((v->is_ka && isnan(as_real(v->t, v->ka))) ||
            (v->is_kb && isnan(as_real(v->t, v->kb))) || (is_kc && isnan(as_real(v->t, c))));
}

static ir_ref float_rules(folder *fo, ir_inst_id id, const view *v)
{
    const ir_inst *i;
    if (has_nan(fo, v))
        return ir_constant(fo->f, v->t, v->t == IR_F32 ? 0x7fc00000u : 0x7ff8000000000000u);
    switch (v->op) {
    case IR_FMUL: return v->is_kb && as_real(v->t, v->kb) == 1 ? v->a : 0;
    case IR_FDIV:
        if (!v->is_kb)
            return 0;
        return as_real(v->t, v->kb) == 1 ? v->a : divide_real(fo, id, v);
    case IR_FSUB: return v->is_kb && v->kb == 0 ? v->a : 0;
    case IR_FADD: return v->is_kb && v->kb == sign_bit(v->t) ? v->a : 0;
    case IR_FNEG: i = def_as(fo, v->a, IR_FNEG); return i ? operand_of(fo, i, 0) : 0;
    case IR_FABS:
        if (def_as(fo, v->a, IR_FABS))
            return v->a;
        i = def_as(fo, v->a, IR_FNEG);
        if (i)
            reshape(fo, id, IR_FABS, operand_of(fo, i, 0), 0);
        return 0;
    case IR_FFLOOR:
    case IR_FCEIL:
    case IR_FTRUNC:
    case IR_FRINT: {
        ir_inst_id def = ir_def_of(fo->f, v->a);
        ir_op op = def ? (ir_op)ir_at(fo->f, def)->op : IR_NOP;
        return op >= IR_FFLOOR && op <= IR_FRINT ? v->a : 0;
    }
    default: return 0;
    }
}

// --- conversions

static ir_ref recast(folder *fo, ir_inst_id id, ir_op op, ir_ref from)
{
    ir_type type = ir_type_of(fo->f, from);
    reshape(fo, id, op, from, 0);
    ir_at(fo->f, id)->aux = type;
    return 0;
}

static ir_ref trunc_rules(folder *fo, ir_inst_id id, const view *v, const ir_inst *inner)
{
    ir_ref x = operand_of(fo, inner, 0);
    ir_type from = (ir_type)inner->aux;
    if (inner->op == IR_TRUNC)
        return recast(fo, id, IR_TRUNC, x);
    if (inner->op != IR_ZEXT && inner->op != IR_SEXT)
        return 0;
    if (from == v->t)
        return x;
    return recast(fo, id, width_of(from) > width_of(v->t) ? IR_TRUNC : (ir_op)inner->op, x);
}

// A truth value as a number is a choice of two: no conversion is needed.
static ir_ref truth_to_float(folder *fo, ir_inst_id id, const view *v)
{
    ir_inst_id def = ir_def_of(fo->f, v->a);
    const ir_inst *inner = ir_at(fo->f, def);
    bool is_extended = def && (inner->op == IR_ZEXT || inner->op == IR_SEXT) && inner->aux == IR_I1;
    if ((v->t != IR_F32 && v->t != IR_F64) || !is_extended)
        return 0;
    if (inner->op == IR_SEXT && v->op == IR_UITOF)
        return 0;
    uint64_t one = v->t == IR_F32 ? 0x3f800000u : 0x3ff0000000000000u;
    if (inner->op == IR_SEXT)
        one |= sign_bit(v->t);
    ir_ref condition = operand_of(fo, inner, 0);
    ir_cursor c = ir_before(fo->f, id);
    return ir_select(&c, condition, ir_constant(fo->f, v->t, one), ir_constant(fo->f, v->t, 0));
}

static ir_ref convert_rules(folder *fo, ir_inst_id id, const view *v)
{
    if (v->op == IR_UITOF || v->op == IR_SITOF)
        return truth_to_float(fo, id, v);
    ir_inst_id def = ir_def_of(fo->f, v->a);
    if (!def)
        return 0;
    const ir_inst *inner = ir_at(fo->f, def);
    if (inner->op < IR_TRUNC || inner->op > IR_PTRCAST)
        return 0;
    ir_ref x = operand_of(fo, inner, 0);
    ir_type from = (ir_type)inner->aux;
    switch (v->op) {
    case IR_TRUNC: return trunc_rules(fo, id, v, inner);
    case IR_ZEXT: return inner->op == IR_ZEXT ? recast(fo, id, IR_ZEXT, x) : 0;
    case IR_SEXT:
        if (inner->op == IR_ZEXT || inner->op == IR_SEXT)
            return recast(fo, id, (ir_op)inner->op, x);
        return 0;
    case IR_FNARROW: // an infinite f8e5 would saturate
        return inner->op == IR_FEXT && from == v->t && from != IR_F8E5 ? x : 0;
    case IR_BITCAST:
        if (inner->op != IR_BITCAST)
            return 0;
        return from == v->t ? x : recast(fo, id, IR_BITCAST, x);
    case IR_PTRTOINT: return inner->op == IR_INTTOPTR ? x : 0;
    case IR_INTTOPTR: return inner->op == IR_PTRTOINT && from == IR_PTR_GEN ? x : 0;
    case IR_PTRCAST: return inner->op == IR_PTRCAST && from == v->t ? x : 0;
    default: return 0;
    }
}

// --- memory

static ir_ref ptradd_rules(folder *fo, ir_inst_id id, const view *v)
{
    uint64_t k1;
    if (!v->is_kb)
        return 0;
    if (!v->kb)
        return v->a;
    const ir_inst *inner = def_as(fo, v->a, IR_PTRADD);
    if (inner && ir_const_bits(fo->f, operand_of(fo, inner, 1), &k1))
        reshape(fo, id, IR_PTRADD, operand_of(fo, inner, 0),
                ir_constant(fo->f, IR_I64, k1 + v->kb));
    return 0;
}

static bool load_data(const folder *fo, const ir_inst *i, uint64_t *bits)
{
    const ir_inst *base = def_as(fo, ir_operand(fo->f, i, 0), IR_CONSTANT);
    uint32_t size = ir_type_size((ir_type)i->type);
    if (!base || i->result_count != 1 || ir_is_ptr((ir_type)i->type))
        return false;
    const ir_data *data = &fo->f->module->data.at[base->aux];
    if (i->imm < 0 || (uint64_t)i->imm > data->size || size > data->size - (uint64_t)i->imm)
        return false;
    *bits = 0;
    for (uint32_t k = 0; k < size; k++)
        *bits |= (uint64_t)data->bytes[(uint64_t)i->imm + k] << (8 * k);
    return true;
}

// A constant part of the address moves into the access; a table read at a known place is a number.
static ir_ref memory_rules(folder *fo, ir_inst_id id)
{
    ir_inst *i = ir_at(fo->f, id);
    uint64_t bits;
    const ir_inst *add = def_as(fo, ir_operand(fo->f, i, 0), IR_PTRADD);
    int64_t sum;
    if (add && ir_const_bits(fo->f, operand_of(fo, add, 1), &bits) &&
        !__builtin_add_overflow(i->imm, (int64_t)bits, &sum)) {
        i->imm = sum;
        ir_operands(fo->f, i)[0] = operand_of(fo, add, 0);
        fo->did_change = true;
    }
    if (i->op == IR_LOAD && i->hint != IR_HINT_VOLATILE && load_data(fo, i, &bits))
        return ir_constant(fo->f, (ir_type)i->type, bits);
    return 0;
}

ir_ref fold_rules(folder *fo, ir_inst_id id)
{
    ir_inst *i = ir_at(fo->f, id);
    if (i->op == IR_LOAD || i->op == IR_STORE || (i->op >= IR_ATOMIC && i->op <= IR_ATOMSTORE))
        return memory_rules(fo, id);
    if (ir_op_effect((ir_op)i->op) != IR_FX_PURE || !i->operand_count)
        return 0;
    ir_ref known = evaluate(fo, i);
    if (known)
        return known;
    view v;
    look(fo, id, &v);
    if (v.is_ka && !v.is_kb && is_commutative(v.op)) {
        reshape(fo, id, v.op, v.b, v.a);
        look(fo, id, &v);
    }
    if (v.b && v.a == v.b && i->operand_count == 2) {
        ir_ref same = with_itself(fo, &v);
        if (same)
            return same;
    }
    if (v.op == IR_SELECT)
        return select_rules(fo, id, &v);
    if (v.op == IR_PTRADD)
        return ptradd_rules(fo, id, &v);
    if (v.op >= IR_TRUNC && v.op <= IR_PTRCAST)
        return convert_rules(fo, id, &v);
    if (v.op >= IR_FADD && v.op <= IR_FRINT)
        return float_rules(fo, id, &v);
    ir_ref r = 0;
    if (v.op <= IR_UMAX || (v.op >= IR_SLT && v.op <= IR_ULE))
        r = int_rules(fo, id, &v);
    if (!r && (v.op == IR_IEQ || v.op == IR_INE))
        r = equality_rules(fo, id, &v);
    if (!r && v.t == IR_I1)
        r = truth_rules(fo, id, &v);
    return r;
}
