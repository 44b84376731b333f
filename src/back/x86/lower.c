// Operations on 32 lanes: a table for those that are one instruction a part, functions for those
// that take a few, and for all others a call that evaluates them lane by lane. Start reading at
// x86_emit_lanes.
#include "back/x86/x86.h"

typedef struct lane_row { // X86_INS_COUNT: there is none
    uint16_t op;
    uint16_t i4, i8, f4, f8;
} lane_row;

enum { NO = X86_INS_COUNT };

// clang-format off
static const lane_row binary[] = {
    {IR_ADD,    X86_VPADDD,  X86_VPADDQ,  NO,          NO},
    {IR_PTRADD, NO,          X86_VPADDQ,  NO,          NO},
    {IR_SUB,    X86_VPSUBD,  X86_VPSUBQ,  NO,          NO},
    {IR_MUL,    X86_VPMULLD, X86_VPMULLQ, NO,          NO},
    {IR_AND,    X86_VPANDD,  X86_VPANDQ,  NO,          NO},
    {IR_OR,     X86_VPORD,   X86_VPORQ,   NO,          NO},
    {IR_XOR,    X86_VPXORD,  X86_VPXORQ,  NO,          NO},
    {IR_SMIN,   X86_VPMINSD, X86_VPMINSQ, NO,          NO},
    {IR_SMAX,   X86_VPMAXSD, X86_VPMAXSQ, NO,          NO},
    {IR_UMIN,   X86_VPMINUD, X86_VPMINUQ, NO,          NO},
    {IR_UMAX,   X86_VPMAXUD, X86_VPMAXUQ, NO,          NO},
    {IR_FADD,   NO,          NO,          X86_VADDPS,  X86_VADDPD},
    {IR_FSUB,   NO,          NO,          X86_VSUBPS,  X86_VSUBPD},
    {IR_FMUL,   NO,          NO,          X86_VMULPS,  X86_VMULPD},
    {IR_FDIV,   NO,          NO,          X86_VDIVPS,  X86_VDIVPD},
    {IR_SHL,    X86_VPSLLVD, X86_VPSLLVQ, NO,          NO},
    {IR_LSHR,   X86_VPSRLVD, X86_VPSRLVQ, NO,          NO},
    {IR_ASHR,   X86_VPSRAVD, X86_VPSRAVQ, NO,          NO},
};
static const lane_row compared[] = { // the predicate is in predicates
    {IR_IEQ,    X86_VPCMPD,  X86_VPCMPQ,  NO,          NO},
    {IR_INE,    X86_VPCMPD,  X86_VPCMPQ,  NO,          NO},
    {IR_SLT,    X86_VPCMPD,  X86_VPCMPQ,  NO,          NO},
    {IR_SLE,    X86_VPCMPD,  X86_VPCMPQ,  NO,          NO},
    {IR_ULT,    X86_VPCMPUD, X86_VPCMPUQ, NO,          NO},
    {IR_ULE,    X86_VPCMPUD, X86_VPCMPUQ, NO,          NO},
    {IR_FEQ,    NO,          NO,          X86_VCMPPS,  X86_VCMPPD},
    {IR_FNE,    NO,          NO,          X86_VCMPPS,  X86_VCMPPD},
    {IR_FLT,    NO,          NO,          X86_VCMPPS,  X86_VCMPPD},
    {IR_FLE,    NO,          NO,          X86_VCMPPS,  X86_VCMPPD},
};
static const uint8_t predicates[] = {0, 4, 1, 2, 1, 2, 0, 4, 17, 18};
// clang-format on

static const lane_row *find_row(const lane_row *rows, size_t count, uint32_t op)
{
    for (size_t k = 0; k < count; k++)
        if (rows[k].op == op)
            return &rows[k];
    return NULL;
}

static x86_ins pick(const lane_row *r, ir_type t)
{
    return (x86_ins)(t == IR_F32 ? r->f4 : t == IR_F64 ? r->f8 : ctext_is_wide(t) ? r->i8 : r->i4);
}

// --- one instruction a part
// The register of part 0 serves for all: a broadcast.
static bool is_spread(const x86_gen *g, ir_ref r)
{
    return cpu_shape(&g->c, r).held == HELD_ONE;
}

static bool is_commutative(uint32_t op)
{
    return op == IR_ADD || op == IR_MUL || op == IR_AND || op == IR_OR || op == IR_XOR ||
           (op >= IR_SMIN && op <= IR_UMAX);
}

static void emit_binary(x86_gen *g, const ir_inst *i, x86_ins ins)
{
    ir_ref a = ir_operand(g->f, i, 0), b = ir_operand(g->f, i, 1), r = i->result;
    if (is_commutative(i->op) && ir_is_const(a)) {
        ir_ref t = a;
        a = b;
        b = t;
    }
    uint8_t first = 0;
    x86_src second = {0};
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[r].class); k++) {
        uint8_t to = x86_to(g, r, k, VS0);
        if (!k || !is_spread(g, a))
            first = x86_part_reg(g, a, k, VS1);
        if (!k || !is_spread(g, b))
            second = x86_part(g, b, k, VS2);
        x86_vec(g->code, ins, to, first, second, (x86_opt){0});
        x86_put(g, r, k, to);
    }
}

static void emit_unary(x86_gen *g, const ir_inst *i, x86_ins ins, x86_opt opt)
{
    ir_ref a = ir_operand(g->f, i, 0), r = i->result;
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[r].class); k++) {
        uint8_t to = x86_to(g, r, k, VS0);
        x86_vec(g->code, ins, to, 0, x86_part(g, a, k, VS1), opt);
        x86_put(g, r, k, to);
    }
}

// The counts are taken modulo the width; those of 64 bits are widened first.
static void emit_shift(x86_gen *g, const ir_inst *i, x86_ins ins)
{
    ir_ref a = ir_operand(g->f, i, 0), b = ir_operand(g->f, i, 1), r = i->result;
    bool wide = x86_is_wide(g, r);
    uint64_t bits = 0;
    bool is_const = ir_const_bits(g->f, b, &bits);
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[r].class); k++) {
        uint8_t to = x86_to(g, r, k, VS0), first = x86_part_reg(g, a, k, VS1);
        x86_src count;
        if (is_const) {
            count = x86_number(g, wide, bits & (wide ? 63 : 31));
        } else {
            uint8_t by = x86_part_reg(g, b, wide ? k / 2 : k, VS2);
            if (wide && k % 2)
                x86_vec(g->code, X86_VEXTRACT, by, 0, x86_of_reg(VS2),
                        (x86_opt){.has_imm = true, .imm = 1});
            if (wide)
                x86_vec(g->code, X86_VPMOVZXDQ, VS2, 0, x86_of_reg(k % 2 ? VS2 : by), (x86_opt){0});
            x86_vec(g->code, wide ? X86_VPANDQ : X86_VPANDD, VS2, wide ? VS2 : by,
                    x86_number(g, wide, wide ? 63 : 31), (x86_opt){0});
            count = x86_of_reg(VS2);
        }
        x86_vec(g->code, ins, to, first, count, (x86_opt){0});
        x86_put(g, r, k, to);
    }
}

// --- comparisons
// The parts' truths of K_A … become 32 bits of a register.
void x86_gather_bits(x86_gen *g, bool wide, uint8_t to, x86_truths *part, void *user)
{
    x86_code *c = g->code;
    part(g, user, 0, K_A);
    part(g, user, 1, K_B);
    x86_k_unpack(c, wide ? 8 : 16, K_A, K_B, K_A);
    if (wide) {
        part(g, user, 2, K_B);
        part(g, user, 3, K_C);
        x86_k_unpack(c, 8, K_B, K_C, K_B);
        x86_k_unpack(c, 16, K_A, K_B, K_A);
    }
    x86_k_to(c, to, K_A);
}

typedef struct comparison {
    x86_ins ins;
    ir_ref a, b;
    uint8_t predicate;
} comparison;

static void compare_part(x86_gen *g, void *user, uint32_t part, uint8_t k)
{
    const comparison *x = user;
    uint8_t first = x86_part_reg(g, x->a, part, VS0);
    x86_vec(g->code, x->ins, k, first, x86_part(g, x->b, part, VS1),
            (x86_opt){.has_imm = true, .imm = x->predicate});
}

// How many of the first lanes as a number, and as bits.
static void emit_guard(x86_gen *g, const ir_inst *i)
{
    x86_code *c = g->code;
    ir_ref index = ir_operand(g->f, i, 0);
    x86_word_into(g, ir_operand(g->f, i, 1), RAX);
    uint8_t first = x86_word(g, index, RCX);
    x86_mov_imm(c, RDX, 0);
    x86_alu_reg(c, ALU_SUB, x86_is_wide(g, index), RAX, first);
    x86_cmov(c, i->op == IR_ULT ? WHEN_BELOW : WHEN_LESS, true, RAX, RDX);
    x86_mov_imm(c, RDX, 32);
    x86_alu_reg(c, ALU_CMP, true, RAX, RDX);
    x86_cmov(c, WHEN_ABOVE, true, RAX, RDX);
    x86_mov(c, true, RCX, RAX);
    x86_mov_imm(c, RAX, 1);
    x86_shift_cl(c, SHIFT_LEFT, true, RAX);
    x86_alu_imm(c, ALU_SUB, true, RAX, 1);
    x86_put_word(g, i->result, RAX);
}

static void emit_compare(x86_gen *g, const ir_inst *i, const lane_row *row)
{
    ir_ref a = ir_operand(g->f, i, 0), b = ir_operand(g->f, i, 1);
    ir_type t = ir_type_of(g->f, a);
    if (t == IR_I1) { // equal or not
        x86_mov(g->code, false, RAX, x86_mask_word(g, a, RAX));
        x86_alu_reg(g->code, ALU_XOR, false, RAX, x86_mask_word(g, b, RCX));
        if (i->op == IR_IEQ)
            x86_not(g->code, false, RAX);
    } else {
        comparison x = {pick(row, t), a, b, predicates[row - compared]};
        x86_gather_bits(g, ctext_is_wide(t), RAX, compare_part, &x);
    }
    x86_put_word(g, i->result, RAX);
}

// --- truths
static void emit_logic(x86_gen *g, const ir_inst *i)
{
    static const x86_alu ops[] = {
        [IR_AND - IR_AND] = ALU_AND, [IR_OR - IR_AND] = ALU_OR, [IR_XOR - IR_AND] = ALU_XOR};
    x86_mov(g->code, false, RAX, x86_mask_word(g, ir_operand(g->f, i, 0), RAX));
    x86_alu_reg(g->code, ops[i->op - IR_AND], false, RAX,
                x86_mask_word(g, ir_operand(g->f, i, 1), RCX));
    x86_put_word(g, i->result, RAX);
}

static void emit_select(x86_gen *g, const ir_inst *i)
{
    ir_ref c = ir_operand(g->f, i, 0), yes = ir_operand(g->f, i, 1), no = ir_operand(g->f, i, 2);
    ir_ref r = i->result;
    if (g->places[r].class == CLASS_MASK) {
        uint8_t which = x86_mask_word(g, c, RCX);
        x86_andn(g->code, RAX, which, x86_mask_word(g, no, RAX));
        x86_mov(g->code, false, RDX, x86_mask_word(g, yes, RDX));
        x86_alu_reg(g->code, ALU_AND, false, RDX, which);
        x86_alu_reg(g->code, ALU_OR, false, RAX, RDX);
        x86_put_word(g, r, RAX);
        return;
    }
    bool wide = x86_is_wide(g, r);
    uint8_t which = x86_mask_word(g, c, RCX);
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[r].class); k++) {
        uint8_t to = x86_to(g, r, k, VS0), other = x86_part_reg(g, no, k, VS1);
        x86_k_of(g, which, k * (wide ? 8 : 16), K_A);
        x86_vec(g->code, wide ? X86_VPBLENDMQ : X86_VPBLENDMD, to, other, x86_part(g, yes, k, VS2),
                (x86_opt){.k = K_A});
        x86_put(g, r, k, to);
    }
}

// --- floats
static void emit_fma(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0), b = ir_operand(g->f, i, 1), c = ir_operand(g->f, i, 2);
    ir_ref r = i->result;
    bool wide = x86_is_wide(g, r);
    x86_ins into_sum = wide ? X86_VFMADD231PD : X86_VFMADD231PS;
    x86_ins into_factor = wide ? X86_VFMADD213PD : X86_VFMADD213PS;
    uint8_t ra = 0;
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[r].class); k++) {
        uint8_t to = x86_to(g, r, k, VS0);
        if (!k || !is_spread(g, a))
            ra = x86_part_reg(g, a, k, VS1);
        x86_src sc = x86_part(g, c, k, VS3);
        if (to == ra && (sc.is_mem || sc.reg != to)) {
            x86_vec(g->code, into_factor, to, x86_part_reg(g, b, k, VS2), sc, (x86_opt){0});
        } else {
            x86_src sb = x86_part(g, b, k, VS2);
            if (!sb.is_mem && sb.reg == to && (sc.is_mem || sc.reg != to)) {
                x86_vec(g->code, into_factor, to, ra, sc, (x86_opt){0});
            } else {
                uint8_t rc = x86_part_reg(g, c, k, VS3);
                if (rc != to)
                    x86_vec(g->code, X86_VMOVDQU32, to, 0, x86_of_reg(rc), (x86_opt){0});
                x86_vec(g->code, into_sum, to, ra, sb, (x86_opt){0});
            }
        }
        x86_put(g, r, k, to);
    }
}

// A NaN gives the other one; of two zeros the negative (positive) one.
static void emit_extreme(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0), b = ir_operand(g->f, i, 1), r = i->result;
    bool wide = x86_is_wide(g, r), is_min = i->op == IR_FMIN;
    x86_ins op = is_min ? (wide ? X86_VMINPD : X86_VMINPS) : wide ? X86_VMAXPD : X86_VMAXPS;
    x86_ins both = is_min ? (wide ? X86_VPORQ : X86_VPORD) : wide ? X86_VPANDQ : X86_VPANDD;
    x86_ins compare = wide ? X86_VCMPPD : X86_VCMPPS;
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[r].class); k++) {
        uint8_t x = x86_part_reg(g, a, k, VS1), y = x86_part_reg(g, b, k, VS2);
        x86_vec(g->code, compare, K_A, x, x86_of_reg(y), (x86_opt){.has_imm = true, .imm = 0});
        x86_vec(g->code, compare, K_B, y, x86_of_reg(y), (x86_opt){.has_imm = true, .imm = 3});
        x86_vec(g->code, op, VS0, x, x86_of_reg(y), (x86_opt){0});
        x86_vec(g->code, both, VS0, x, x86_of_reg(y), (x86_opt){.k = K_A});
        x86_vec(g->code, wide ? X86_VMOVDQU64 : X86_VMOVDQU32, VS0, 0, x86_of_reg(x),
                (x86_opt){.k = K_B});
        x86_put(g, r, k, VS0);
    }
}

static void emit_sign(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0), r = i->result;
    bool wide = x86_is_wide(g, r);
    uint64_t sign = wide ? (uint64_t)1 << 63 : 0x80000000u;
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[r].class); k++) {
        uint8_t x = x86_part_reg(g, a, k, VS1), to = x86_to(g, r, k, VS0);
        if (i->op == IR_FNEG) {
            x86_vec(g->code, wide ? X86_VPXORQ : X86_VPXORD, to, x, x86_number(g, wide, sign),
                    (x86_opt){0});
        } else if (i->op == IR_FABS) {
            x86_vec(g->code, wide ? X86_VPANDQ : X86_VPANDD, to, x, x86_number(g, wide, sign - 1),
                    (x86_opt){0});
        } else {
            x86_src from = x86_number(g, wide, sign);
            from.is_broadcast = false;
            x86_vec(g->code, wide ? X86_VBROADCASTSD : X86_VBROADCASTSS, VS0, 0, from,
                    (x86_opt){0});
            uint8_t y = x86_part_reg(g, ir_operand(g->f, i, 1), k, VS2);
            // the sign's bit of y, the others of x
            x86_vec(g->code, wide ? X86_VPTERNLOGQ : X86_VPTERNLOGD, VS0, y, x86_of_reg(x),
                    (x86_opt){.has_imm = true, .imm = 0xca});
            to = VS0;
        }
        x86_put(g, r, k, to);
    }
}

// --- division of 32-bit integers: in doubles it is exact
static void emit_division(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0), b = ir_operand(g->f, i, 1), r = i->result;
    bool is_signed = i->op == IR_SDIV || i->op == IR_SREM;
    bool is_rest = i->op == IR_SREM || i->op == IR_UREM;
    x86_ins widen = is_signed ? X86_VCVTDQ2PD : X86_VCVTUDQ2PD;
    x86_ins narrow = is_signed ? X86_VCVTTPD2DQ : X86_VCVTTPD2UDQ;
    x86_opt high = {.has_imm = true, .imm = 1};
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t x = x86_part_reg(g, a, k, VS0), y = x86_part_reg(g, b, k, VS1);
        x86_vec(g->code, X86_VEXTRACT, x, 0, x86_of_reg(VS2), high);
        x86_vec(g->code, X86_VEXTRACT, y, 0, x86_of_reg(VS3), high);
        x86_vec(g->code, widen, VS2, 0, x86_of_reg(VS2), (x86_opt){0});
        x86_vec(g->code, widen, VS3, 0, x86_of_reg(VS3), (x86_opt){0});
        x86_vec(g->code, X86_VDIVPD, VS2, VS2, x86_of_reg(VS3), (x86_opt){0});
        x86_vec(g->code, narrow, VS2, 0, x86_of_reg(VS2), (x86_opt){0});
        // the lower half goes through the buffers: all four scratch registers are in use
        x86_vec(g->code, X86_VMOVDQU32_S, VS2, 0, x86_of_mem(x86_frame(g->buffers + 32)),
                (x86_opt){.length = 1});
        x86_vec(g->code, widen, VS2, 0, x86_of_reg(x), (x86_opt){0});
        x86_vec(g->code, widen, VS3, 0, x86_of_reg(y), (x86_opt){0});
        x86_vec(g->code, X86_VDIVPD, VS2, VS2, x86_of_reg(VS3), (x86_opt){0});
        x86_vec(g->code, narrow, VS2, 0, x86_of_reg(VS2), (x86_opt){0});
        x86_vec(g->code, X86_VINSERT, VS2, VS2, x86_of_mem(x86_frame(g->buffers + 32)), high);
        // x / 0 is 0
        x86_vec(g->code, X86_VPTESTMD, K_A, y, x86_of_reg(y), (x86_opt){0});
        x86_vec(g->code, X86_VMOVDQU32, VS2, 0, x86_of_reg(VS2), (x86_opt){.k = K_A, .zero = true});
        if (is_rest) {
            x86_vec(g->code, X86_VPMULLD, VS2, VS2, x86_of_reg(y), (x86_opt){0});
            x86_vec(g->code, X86_VPSUBD, VS2, x, x86_of_reg(VS2), (x86_opt){0});
        }
        x86_put(g, r, k, VS2);
    }
}

// The upper half of 32-bit products: even lanes, odd lanes, together again.
static void emit_high_product(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0), b = ir_operand(g->f, i, 1), r = i->result;
    x86_ins op = i->op == IR_UMULHI ? X86_VPMULUDQ : X86_VPMULDQ;
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t x = x86_part_reg(g, a, k, VS0), y = x86_part_reg(g, b, k, VS1);
        x86_vec(g->code, op, VS2, x, x86_of_reg(y), (x86_opt){0});
        x86_vec(g->code, X86_VPSRLVQ, VS2, VS2, x86_number(g, true, 32), (x86_opt){0});
        x86_vec(g->code, X86_VPSRLVQ, VS3, x, x86_number(g, true, 32), (x86_opt){0});
        x86_vec(g->code, X86_VPSRLVQ, VS1, y, x86_number(g, true, 32), (x86_opt){0});
        x86_vec(g->code, op, VS3, VS3, x86_of_reg(VS1), (x86_opt){0});
        x86_mov_imm(g->code, RAX, 0xaaaa);
        x86_k_from(g->code, K_A, RAX);
        x86_vec(g->code, X86_VMOVDQU32, VS2, 0, x86_of_reg(VS3), (x86_opt){.k = K_A});
        x86_put(g, r, k, VS2);
    }
}

bool x86_emit_lanes(x86_gen *g, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    bool wide = ctext_is_wide(t);
    if (t == IR_I1 && i->op >= IR_AND && i->op <= IR_XOR) {
        emit_logic(g, i);
        return true;
    }
    const lane_row *row = find_row(compared, COUNT(compared), i->op);
    if (row && cpu_is_guard(&g->c, i)) {
        emit_guard(g, i);
        return true;
    }
    if (row) {
        emit_compare(g, i, row);
        return true;
    }
    row = find_row(binary, COUNT(binary), i->op);
    if (row && pick(row, t) != X86_INS_COUNT) {
        if (i->op >= IR_SHL && i->op <= IR_ASHR)
            emit_shift(g, i, pick(row, t));
        else
            emit_binary(g, i, pick(row, t));
        return true;
    }
    switch (i->op) {
    case IR_SELECT: emit_select(g, i); return true;
    case IR_FFMA: emit_fma(g, i); return true;
    case IR_FMIN:
    case IR_FMAX: emit_extreme(g, i); return true;
    case IR_FNEG:
    case IR_FABS:
    case IR_FCOPYSIGN: emit_sign(g, i); return true;
    case IR_FSQRT: emit_unary(g, i, wide ? X86_VSQRTPD : X86_VSQRTPS, (x86_opt){0}); return true;
    case IR_FFLOOR:
    case IR_FCEIL:
    case IR_FTRUNC:
    case IR_FRINT: {
        static const uint8_t how[] = {9, 10, 11, 8};
        emit_unary(g, i, wide ? X86_VRNDSCALEPD : X86_VRNDSCALEPS,
                   (x86_opt){.has_imm = true, .imm = how[i->op - IR_FFLOOR]});
        return true;
    }
    case IR_SDIV:
    case IR_UDIV:
    case IR_SREM:
    case IR_UREM:
        if (wide)
            return false;
        emit_division(g, i);
        return true;
    case IR_UMULHI:
    case IR_SMULHI:
        if (wide)
            return false;
        emit_high_product(g, i);
        return true;
    default: return false;
    }
}
