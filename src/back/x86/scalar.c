// Operations on values that are held once for the warp, and on lane 0 of rows: integers in general
// registers, floats in the lowest lane of a vector. What is not here goes through ir_eval. Start
// reading at x86_emit_scalar.
#include "back/x86/x86.h"

// --- integers
static bool fits_int32(uint64_t bits, bool wide)
{
    return wide ? (int64_t)bits >= INT32_MIN && (int64_t)bits <= INT32_MAX : true;
}

// Where the result may be made: in its own register, unless an operand that is read later is there.
static uint8_t target_of(const x86_gen *g, const ir_inst *i, ir_ref later)
{
    const x86_place *p = &g->places[i->result],
                    *other = ir_is_const(later) ? NULL : &g->places[later];
    bool is_taken = other && other->in_reg && other->reg[0] == p->reg[0];
    return p->in_reg && p->class == CLASS_WORD && !is_taken ? p->reg[0] : RAX;
}

static void alu_with(x86_gen *g, x86_alu op, bool wide, uint8_t to, ir_ref b)
{
    uint64_t bits;
    if (ir_const_bits(g->f, b, &bits) && fits_int32(bits, wide))
        x86_alu_imm(g->code, op, wide, to, (int32_t)(uint32_t)bits);
    else
        x86_alu_reg(g->code, op, wide, to, x86_word(g, b, RDX));
}

static void emit_alu(x86_gen *g, const ir_inst *i, x86_alu op, bool wide)
{
    ir_ref b = ir_operand(g->f, i, 1);
    uint8_t to = target_of(g, i, b);
    x86_word_into(g, ir_operand(g->f, i, 0), to);
    alu_with(g, op, wide, to, b);
    x86_put_word(g, i->result, to);
}

static void emit_shift(x86_gen *g, const ir_inst *i, bool wide)
{
    static const x86_shift ops[] = {SHIFT_LEFT, SHIFT_RIGHT, SHIFT_SIGNED};
    uint64_t bits;
    ir_ref b = ir_operand(g->f, i, 1);
    bool is_const = ir_const_bits(g->f, b, &bits);
    if (!is_const)
        x86_word_into(g, b, RCX);
    x86_word_into(g, ir_operand(g->f, i, 0), RAX);
    if (is_const)
        x86_shift_imm(g->code, ops[i->op - IR_SHL], wide, RAX, (uint8_t)(bits & (wide ? 63 : 31)));
    else
        x86_shift_cl(g->code, ops[i->op - IR_SHL], wide, RAX);
    x86_put_word(g, i->result, RAX);
}

static void emit_compare(x86_gen *g, const ir_inst *i)
{
    static const x86_when whens[] = {WHEN_ZERO,        WHEN_NOT_ZERO, WHEN_LESS,
                                     WHEN_NOT_GREATER, WHEN_BELOW,    WHEN_NOT_ABOVE};
    ir_ref a = ir_operand(g->f, i, 0);
    x86_word_into(g, a, RAX);
    alu_with(g, ALU_CMP, x86_is_wide(g, a), RAX, ir_operand(g->f, i, 1));
    x86_set(g->code, whens[i->op - IR_IEQ], RAX);
    x86_put_word(g, i->result, RAX);
}

static void emit_extreme(x86_gen *g, const ir_inst *i, bool wide)
{
    static const x86_when whens[] = {WHEN_LESS, WHEN_GREATER, WHEN_BELOW, WHEN_ABOVE};
    x86_word_into(g, ir_operand(g->f, i, 0), RAX);
    x86_word_into(g, ir_operand(g->f, i, 1), RDX);
    x86_alu_reg(g->code, ALU_CMP, wide, RDX, RAX);
    x86_cmov(g->code, whens[i->op - IR_SMIN], wide, RAX, RDX);
    x86_put_word(g, i->result, RAX);
}

static bool emit_int(x86_gen *g, const ir_inst *i)
{
    bool wide = ctext_is_wide((ir_type)i->type);
    switch (i->op) {
    case IR_ADD: emit_alu(g, i, ALU_ADD, wide); return true;
    case IR_PTRADD: emit_alu(g, i, ALU_ADD, true); return true;
    case IR_SUB: emit_alu(g, i, ALU_SUB, wide); return true;
    case IR_AND: emit_alu(g, i, ALU_AND, wide); return true;
    case IR_OR: emit_alu(g, i, ALU_OR, wide); return true;
    case IR_XOR: emit_alu(g, i, ALU_XOR, wide); return true;
    case IR_MUL:
        x86_word_into(g, ir_operand(g->f, i, 0), RAX);
        x86_mul(g->code, wide, RAX, x86_word(g, ir_operand(g->f, i, 1), RDX));
        x86_put_word(g, i->result, RAX);
        return true;
    case IR_SHL:
    case IR_LSHR:
    case IR_ASHR: emit_shift(g, i, wide); return true;
    case IR_IEQ:
    case IR_INE:
    case IR_SLT:
    case IR_SLE:
    case IR_ULT:
    case IR_ULE: emit_compare(g, i); return true;
    case IR_SMIN:
    case IR_SMAX:
    case IR_UMIN:
    case IR_UMAX: emit_extreme(g, i, wide); return true;
    default: return false;
    }
}

// --- floats
typedef struct float_row {
    uint16_t op, single, twice;
} float_row;

static const float_row binary[] = {
    {IR_FADD, X86_VADDSS, X86_VADDSD},
    {IR_FSUB, X86_VSUBSS, X86_VSUBSD},
    {IR_FMUL, X86_VMULSS, X86_VMULSD},
    {IR_FDIV, X86_VDIVSS, X86_VDIVSD},
};

static const x86_opt scalar = {.length = 2};

static bool emit_float(x86_gen *g, const ir_inst *i)
{
    ir_ref r = i->result, a = ir_operand(g->f, i, 0);
    bool wide = i->type == IR_F64;
    uint8_t to = x86_to(g, r, 0, VS0);
    for (size_t k = 0; k < COUNT(binary); k++)
        if (binary[k].op == i->op) {
            uint8_t x = x86_real(g, a, VS1);
            x86_vec(g->code, (x86_ins)(wide ? binary[k].twice : binary[k].single), to, x,
                    x86_real_src(g, ir_operand(g->f, i, 1)), scalar);
            x86_put(g, r, 0, to);
            return true;
        }
    switch (i->op) {
    case IR_FSQRT: {
        uint8_t x = x86_real(g, a, VS1);
        x86_vec(g->code, wide ? X86_VSQRTSD : X86_VSQRTSS, to, x, x86_of_reg(x), scalar);
        break;
    }
    case IR_FFLOOR:
    case IR_FCEIL:
    case IR_FTRUNC:
    case IR_FRINT: {
        static const uint8_t how[] = {9, 10, 11, 8};
        uint8_t x = x86_real(g, a, VS1);
        x86_vec(g->code, wide ? X86_VRNDSCALESD : X86_VRNDSCALESS, to, x, x86_of_reg(x),
                (x86_opt){.length = 2, .has_imm = true, .imm = how[i->op - IR_FFLOOR]});
        break;
    }
    case IR_FFMA: {
        uint8_t x = x86_real(g, a, VS1), y = x86_real(g, ir_operand(g->f, i, 1), VS2);
        uint8_t z = x86_real(g, ir_operand(g->f, i, 2), VS0);
        if (z != VS0)
            x86_vec(g->code, X86_VMOVDQU32, VS0, 0, x86_of_reg(z), scalar);
        x86_vec(g->code, wide ? X86_VFMADD231SD : X86_VFMADD231SS, VS0, x, x86_of_reg(y), scalar);
        to = VS0;
        break;
    }
    default: return false;
    }
    x86_put(g, r, 0, to);
    return true;
}

static void emit_float_compare(x86_gen *g, const ir_inst *i)
{
    static const uint8_t predicates[] = {0, 4, 17, 18};
    ir_ref a = ir_operand(g->f, i, 0);
    uint8_t x = x86_real(g, a, VS1);
    x86_vec(g->code, x86_is_wide(g, a) ? X86_VCMPSD : X86_VCMPSS, K_A, x,
            x86_real_src(g, ir_operand(g->f, i, 1)),
            (x86_opt){.length = 2, .has_imm = true, .imm = predicates[i->op - IR_FEQ]});
    x86_k_to(g->code, RAX, K_A);
    x86_alu_imm(g->code, ALU_AND, false, RAX, 1);
    x86_put_word(g, i->result, RAX);
}

// --- others
static void emit_select(x86_gen *g, const ir_inst *i)
{
    x86_word_into(g, ir_operand(g->f, i, 2), RAX);
    x86_word_into(g, ir_operand(g->f, i, 1), RDX);
    uint8_t c = x86_word(g, ir_operand(g->f, i, 0), RCX);
    x86_test(g->code, false, c, c);
    x86_cmov(g->code, WHEN_NOT_ZERO, true, RAX, RDX);
    x86_put_word(g, i->result, RAX);
}

static void emit_sign(x86_gen *g, const ir_inst *i)
{
    bool wide = i->type == IR_F64;
    uint64_t sign = wide ? (uint64_t)1 << 63 : 0x80000000u;
    x86_word_into(g, ir_operand(g->f, i, 0), RAX);
    x86_mov_imm(g->code, RDX, i->op == IR_FNEG ? sign : sign - 1);
    x86_alu_reg(g->code, i->op == IR_FNEG ? ALU_XOR : ALU_AND, wide, RAX, RDX);
    if (i->op == IR_FCOPYSIGN) {
        x86_word_into(g, ir_operand(g->f, i, 1), RCX);
        x86_mov_imm(g->code, RDX, sign);
        x86_alu_reg(g->code, ALU_AND, wide, RCX, RDX);
        x86_alu_reg(g->code, ALU_OR, wide, RAX, RCX);
    }
    x86_put_word(g, i->result, RAX);
}

bool x86_emit_scalar(x86_gen *g, const ir_inst *i)
{
    if (emit_int(g, i))
        return true;
    if ((i->type == IR_F32 || i->type == IR_F64) && i->op >= IR_FADD && i->op <= IR_FRINT) {
        if (i->op == IR_FNEG || i->op == IR_FABS || i->op == IR_FCOPYSIGN) {
            emit_sign(g, i);
            return true;
        }
        return emit_float(g, i);
    }
    if (i->op >= IR_FEQ && i->op <= IR_FLE) {
        emit_float_compare(g, i);
        return true;
    }
    if (i->op == IR_SELECT) {
        emit_select(g, i);
        return true;
    }
    return false;
}
