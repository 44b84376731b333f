// See folds.h. Start reading at folds_find.
#include "back/folds.h"

bool folds_near(const uint8_t *known, ir_ref r)
{
    return !ir_is_const(r) && (known[r] & FOLDS_NEAR);
}

static bool is_compared(const uint8_t *known, ir_ref r)
{
    return !ir_is_const(r) && (known[r] & FOLDS_COMPARED);
}

// --- patterns

// All ones or nothing, from a comparison: in a branch it may turn out to be -1.
static bool may_be_mask(const ir_func *f, ir_ref r)
{
    ir_inst_id def = ir_def_of(f, r);
    const ir_inst *i = ir_at(f, def);
    return def && (i->op == IR_SELECT || (i->op == IR_SEXT && i->aux == IR_I1));
}

bool folds_xor(const ir_func *f, const uint8_t *known, const ir_inst *i)
{
    ir_ref a = ir_operand(f, i, 0), b = ir_operand(f, i, 1);
    return i->type == IR_I32 && !ir_is_const(b) &&
           (is_compared(known, a) || is_compared(known, b) ||
            (folds_near(known, a) && may_be_mask(f, b)) ||
            (folds_near(known, b) && may_be_mask(f, a)));
}

bool folds_minus_zero(const ir_func *f, ir_ref r)
{
    uint64_t bits;
    ir_inst_id def = ir_def_of(f, r);
    if (def && ir_at(f, def)->op == IR_FNEG)
        return ir_const_bits(f, ir_operand(f, ir_at(f, def), 0), &bits) && bits == 0;
    if (ir_type_of(f, r) == IR_F64)
        return ir_const_bits(f, r, &bits) && bits == (uint64_t)1 << 63;
    return ir_const_bits(f, r, &bits) && (uint32_t)bits == 0x80000000u;
}

static bool is_float(const ir_func *f, ir_ref r, uint32_t single, uint64_t wide)
{
    uint64_t bits;
    return ir_const_bits(f, r, &bits) &&
           (ir_type_of(f, r) == IR_F64 ? bits == wide : (uint32_t)bits == single);
}

uint32_t folds_saturation(const ir_func *f, const ir_inst *i)
{
    if (i->op != IR_FMAX || (i->type != IR_F32 && i->type != IR_F64))
        return 0;
    for (uint32_t k = 0; k < 2; k++) {
        ir_ref zero = ir_operand(f, i, k), x = ir_operand(f, i, 1 - k);
        if (folds_minus_zero(f, zero))
            return 2 - k;
        ir_inst_id def = ir_def_of(f, x);
        const ir_inst *least = ir_at(f, def);
        if (!is_float(f, zero, 0, 0) || !def || least->op != IR_FMIN)
            continue;
        for (uint32_t n = 0; n < 2; n++)
            if (is_float(f, ir_operand(f, least, n), 0x3f800000u, 0x3ff0000000000000u))
                return 2 - k;
    }
    return 0;
}

bool folds_ordered(const ir_func *f, const ir_inst *i, bool is_plain)
{
    uint64_t bits;
    if (i->type != IR_F32 || is_plain)
        return i->type == IR_F32;
    if (ir_const_bits(f, ir_operand(f, i, 0), &bits))
        return (uint32_t)bits == 0 || (uint32_t)bits >> 31;
    ir_inst_id def = ir_def_of(f, ir_operand(f, i, 0));
    return ir_const_bits(f, ir_operand(f, i, 1), &bits) &&
           ((uint32_t)bits == 0x80000000u || !((uint32_t)bits >> 31)) && def &&
           ir_at(f, def)->op == IR_FNEG;
}

// The shift by a constant that an operand is, maybe behind negations; NULL: it is none.
static const ir_inst *shift_of(const ir_func *f, ir_ref r, uint64_t *count, bool *is_negated)
{
    for (uint32_t depth = 0; depth < 4; depth++) {
        uint64_t bits;
        ir_inst_id def = ir_def_of(f, r);
        const ir_inst *i = ir_at(f, def);
        if (!def || i->operand_count != 2)
            return NULL;
        ir_ref a = ir_operand(f, i, 0), b = ir_operand(f, i, 1);
        bool is_shift = i->op == IR_SHL || i->op == IR_LSHR || i->op == IR_ASHR;
        if (is_shift)
            return ir_const_bits(f, b, count) ? i : NULL;
        bool is_sub = i->op == IR_SUB && ir_const_bits(f, a, &bits) && bits == 0,
             is_mul = i->op == IR_MUL && ir_const_bits(f, b, &bits) && bits == UINT64_MAX;
        if (!is_sub && !is_mul)
            return NULL;
        *is_negated = true;
        r = is_sub ? b : a;
    }
    return NULL;
}

bool folds_rotation(const ir_func *f, const ir_inst *i)
{
    const ir_inst *shifts[2];
    uint64_t counts[2];
    bool has_sign = i->op == IR_SUB;
    if ((i->op != IR_ADD && i->op != IR_SUB) || i->type != IR_I64)
        return false;
    for (uint32_t k = 0; k < 2; k++) {
        shifts[k] = shift_of(f, ir_operand(f, i, k), &counts[k], &has_sign);
        if (!shifts[k])
            return false;
        has_sign |= shifts[k]->op == IR_ASHR;
    }
    return has_sign && (shifts[0]->op == IR_SHL) != (shifts[1]->op == IR_SHL) &&
           !((counts[0] + counts[1]) & 63);
}

static uint32_t low_zeros(uint64_t bits)
{
    return bits ? (uint32_t)__builtin_ctzll(bits) : 64;
}

static uint32_t at_most(uint32_t a, uint32_t most)
{
    return a < most ? a : most;
}

// A value as factor * base + a constant. base 0: it is constant.
typedef struct multiple {
    ir_ref base;
    uint64_t factor;
} multiple;

static multiple multiple_of(const ir_func *f, ir_ref r, uint32_t *budget)
{
    const multiple itself = {r, 1};
    uint64_t bits = 0;
    if (ir_is_const(r))
        return (multiple){0, 0};
    ir_inst_id def = ir_def_of(f, r);
    const ir_inst *i = ir_at(f, def);
    if (!def || !*budget || i->operand_count != 2 || i->type != IR_I64)
        return itself;
    --*budget;
    ir_ref a = ir_operand(f, i, 0), b = ir_operand(f, i, 1);
    bool has_bits = ir_const_bits(f, b, &bits);
    if (i->op == IR_ADD || i->op == IR_SUB) {
        multiple x = multiple_of(f, a, budget), y = multiple_of(f, b, budget);
        if (x.base && y.base && x.base != y.base)
            return itself;
        uint64_t factor = i->op == IR_ADD ? x.factor + y.factor : x.factor - y.factor;
        return (multiple){x.base ? x.base : y.base, factor};
    }
    if (!has_bits || (i->op != IR_MUL && i->op != IR_SHL))
        return itself;
    multiple x = multiple_of(f, a, budget);
    return (multiple){x.base, i->op == IR_MUL ? x.factor * bits : x.factor << (bits & 63)};
}

// How many low bits of a value may be found to be known. What takes too long to find out may be.
static uint32_t low_known(const ir_func *f, ir_ref r, uint32_t *budget)
{
    uint64_t bits = 0;
    multiple m = multiple_of(f, r, budget);
    if (!m.base || !*budget)
        return 64;
    if (m.base != r)
        return at_most(low_zeros(m.factor) + low_known(f, m.base, budget), 64);
    ir_inst_id def = ir_def_of(f, r);
    if (!def)
        return 0;
    --*budget;
    const ir_inst *i = ir_at(f, def);
    ir_ref a = ir_operand(f, i, 0), b = i->operand_count > 1 ? ir_operand(f, i, 1) : a;
    bool has_bits = i->operand_count > 1 && ir_const_bits(f, b, &bits);
    uint32_t known = 0;
    switch (i->op) {
    case IR_AND:
    case IR_OR: {
        uint32_t own = has_bits ? low_zeros(i->op == IR_AND ? bits : ~bits) : 0;
        known = low_known(f, a, budget);
        known = has_bits || !known ? known : at_most(low_known(f, b, budget), known);
        return known > own ? known : own;
    }
    case IR_ADD:
    case IR_SUB:
    case IR_MUL:
    case IR_XOR:
        known = low_known(f, a, budget);
        return known ? at_most(low_known(f, b, budget), known) : 0;
    case IR_SELECT:
        known = low_known(f, b, budget);
        return known ? at_most(low_known(f, ir_operand(f, i, 2), budget), known) : 0;
    case IR_SHL: return has_bits ? at_most(low_known(f, a, budget) + (bits & 63), 64) : 0;
    case IR_LSHR:
    case IR_ASHR:
        known = has_bits ? low_known(f, a, budget) : 0;
        return known >= 64 ? 64 : known > (bits & 63) ? known - (uint32_t)(bits & 63) : 0;
    case IR_ZEXT:
    case IR_SEXT:
        known = low_known(f, a, budget);
        return known >= 8 * ir_type_size((ir_type)i->aux) ? 64 : known;
    case IR_SHUFFLE:
    case IR_TRUNC: return low_known(f, a, budget);
    default: return 0;
    }
}

uint32_t folds_half_known(const ir_func *f, const ir_inst *i)
{
    enum { HALF = 32, VISITS = 64 };
    uint32_t budget = VISITS;
    if (i->op != IR_MUL || i->type != IR_I64)
        return 0;
    for (uint32_t k = 0; k < 2; k++) {
        ir_ref x = ir_operand(f, i, k), c = ir_operand(f, i, 1 - k);
        if (ir_is_const(c) && !ir_is_const(x))
            return low_known(f, x, &budget) >= HALF ? k + 1 : 0;
    }
    return 0;
}

// A sum of numbers that the assembler alone finds to be known, as one with a shuffled constant.
static bool is_sum_known_late(const ir_func *f, ir_ref r)
{
    enum { WIDTH = 32, VISITS = 64 };
    uint32_t budget = VISITS;
    ir_inst_id def = ir_def_of(f, r);
    ir_op op = def ? (ir_op)ir_at(f, def)->op : IR_NOP;
    return (op == IR_ADD || op == IR_SUB || op == IR_TRUNC) && low_known(f, r, &budget) >= WIDTH &&
           budget;
}

bool folds_negation(const ir_func *f, const uint8_t *known, ir_ref r)
{
    ir_inst_id def = ir_def_of(f, r);
    const ir_inst *i = ir_at(f, def);
    ir_op op = def ? (ir_op)i->op : IR_NOP;
    if (is_sum_known_late(f, r))
        return true;
    if (op == IR_DP4A_S || op == IR_DP4A_U || op == IR_PRMT || op == IR_FSHL)
        return true;
    if (op != IR_SUB && op != IR_MUL)
        return op == IR_SELECT;
    for (uint32_t k = 0; k < (op == IR_SUB ? 1u : 2u); k++) {
        ir_ref o = ir_operand(f, i, k);
        uint64_t bits;
        bool is_constant = ir_const_bits(f, o, &bits);
        if (is_constant ? (uint32_t)bits == (op == IR_SUB ? 0 : UINT32_MAX) : folds_near(known, o))
            return true;
    }
    return false;
}

// Is it 0 or 1, and may the assembler find that out?
static bool may_be_truth(const ir_func *f, ir_ref r, uint32_t depth)
{
    uint64_t bits = 0;
    if (ir_const_bits(f, r, &bits))
        return bits <= 1;
    ir_inst_id def = ir_def_of(f, r);
    if (!def || !depth)
        return false;
    const ir_inst *i = ir_at(f, def);
    ir_ref a = ir_operand(f, i, 0), b = i->operand_count > 1 ? ir_operand(f, i, 1) : a;
    switch (i->op) {
    case IR_ZEXT: return i->aux == IR_I1 || may_be_truth(f, a, depth - 1);
    case IR_SEXT:
    case IR_TRUNC: return may_be_truth(f, a, depth - 1);
    case IR_AND: return may_be_truth(f, a, depth - 1) || may_be_truth(f, b, depth - 1);
    case IR_OR:
    case IR_XOR:
    case IR_MUL: return may_be_truth(f, a, depth - 1) && may_be_truth(f, b, depth - 1);
    case IR_LSHR: return ir_is_const(b); // of the highest bit, or of a value of few bits
    case IR_SELECT:
        return may_be_truth(f, b, depth - 1) && may_be_truth(f, ir_operand(f, i, 2), depth - 1);
    default: return false;
    }
}

bool folds_truth_bits(const ir_func *f, const ir_inst *i)
{
    ir_ref from = ir_operand(f, i, 0);
    return i->type == IR_F32 && !ir_is_const(from) && may_be_truth(f, from, 6);
}

bool folds_half_pair(const uint8_t *known, const ir_inst *i)
{
    return i->op == IR_ZEXT && i->aux == IR_I16 && (known[i->result] & FOLDS_PAIRED);
}

bool folds_extended_byte(const uint8_t *known, const ir_inst *i)
{
    return i->op == IR_SEXT && i->aux == IR_I8 &&
           (i->type == IR_I16 || (known[i->result] & FOLDS_HALVED));
}

// --- facts

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

// Users mostly come after what they use: a walk back and one forth through those that keep
// knowledge, until nothing is new.
static void spread_near(const ir_func *f, uint8_t *known, const ir_inst_id *keepers, uint32_t count)
{
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t step = 0; step < 2 * count; step++) {
            uint32_t k = step < count ? count - 1 - step : step - count;
            const ir_inst *i = ir_at(f, keepers[k]);
            ir_ref from = ir_operand(f, i, 0);
            if (!((known[from] ^ known[i->result]) & FOLDS_NEAR))
                continue;
            known[from] |= FOLDS_NEAR;
            known[i->result] |= FOLDS_NEAR;
            is_new = true;
        }
    }
}

// The value that has the bits of operand k, or may have them; 0: there is none.
static ir_ref copy_of(const ir_func *f, const ir_inst *i, uint32_t k)
{
    uint64_t bits;
    switch (i->op) {
    case IR_SELECT: return k ? i->result : 0;
    case IR_ZEXT:
    case IR_TRUNC: return i->result;
    case IR_AND: return !k && ir_const_bits(f, ir_operand(f, i, 1), &bits) ? i->result : 0;
    case IR_EXIT: return ir_at(f, i->aux)->result + k;
    case IR_NEXT: return ir_region_at(f, ir_at(f, i->aux)->regions)->args + k;
    case IR_LOOP: return ir_region_at(f, i->regions)->args + k;
    default: return 0;
    }
}

static void spread_paired(const ir_func *f, uint8_t *known)
{
    for (bool is_new = true; is_new;) {
        is_new = false;
        for (uint32_t n = f->insts.len; n-- > 1;) {
            const ir_inst *i = &f->insts.at[n];
            for (uint32_t k = 0; k < i->operand_count; k++) {
                ir_ref from = ir_operand(f, i, k), to = copy_of(f, i, k);
                if (!to || ir_is_const(from) || !(known[to] & ~known[from] & FOLDS_PAIRED))
                    continue;
                known[from] |= FOLDS_PAIRED;
                is_new = true;
            }
        }
    }
}

// x >> 16 and the like: a half of a pair.
static bool is_half_taken(const ir_func *f, const ir_inst *i)
{
    uint64_t count;
    return ir_const_bits(f, ir_operand(f, i, 1), &count) && count && count % 16 == 0;
}

// What an operation says about its operands.
static const uint8_t facts[IR_OP_COUNT] = {
    [IR_IEQ] = FOLDS_COMPARED | FOLDS_NEAR,
    [IR_INE] = FOLDS_COMPARED | FOLDS_NEAR,
    [IR_SLT] = FOLDS_COMPARED | FOLDS_NEAR,
    [IR_SLE] = FOLDS_COMPARED | FOLDS_NEAR,
    [IR_ULT] = FOLDS_COMPARED | FOLDS_NEAR,
    [IR_ULE] = FOLDS_COMPARED | FOLDS_NEAR,
    [IR_SWITCH] = FOLDS_COMPARED | FOLDS_NEAR,
    [IR_ADD] = FOLDS_ADDED,
    [IR_SUB] = FOLDS_ADDED,
    [IR_TRUNC] = FOLDS_HALVED,
    [IR_LSHR] = FOLDS_PAIRED,
    [IR_HADD2] = FOLDS_PAIRED,
    [IR_HSUB2] = FOLDS_PAIRED,
    [IR_HMUL2] = FOLDS_PAIRED,
    [IR_HFMA2] = FOLDS_PAIRED,
    [IR_HMIN2] = FOLDS_PAIRED,
    [IR_HMAX2] = FOLDS_PAIRED,
};

uint8_t *folds_find(const ir_func *f, arena *a)
{
    uint8_t *known = arena_array(a, uint8_t, f->values.len);
    ir_inst_id *keepers = arena_room(a, f->insts.len * sizeof *keepers);
    uint32_t count = 0;
    bool has_pairs = false;
    for (uint32_t k = 1; k < f->insts.len; k++) {
        const ir_inst *i = &f->insts.at[k];
        uint8_t fact = i->op == IR_TRUNC && i->type != IR_I16 ? 0 : facts[i->op];
        if (i->op == IR_LSHR && !is_half_taken(f, i))
            fact = 0;
        has_pairs |= fact & FOLDS_PAIRED;
        for (uint32_t n = 0; fact && n < i->operand_count; n++)
            if (!ir_is_const(ir_operand(f, i, n)))
                known[ir_operand(f, i, n)] |= fact;
        if (i->result && keeps_knowledge(f, i) && !ir_is_const(ir_operand(f, i, 0)))
            keepers[count++] = k;
    }
    spread_near(f, known, keepers, count);
    if (has_pairs)
        spread_paired(f, known);
    return known;
}
