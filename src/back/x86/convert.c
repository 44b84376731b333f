// Conversions: of one number in general registers, of lanes by the vector instructions for it,
// with what lies outside a range mended as C text would. The rarer ones go through ir_eval. Start
// reading at x86_emit_conversion.
#include "back/x86/x86.h"

static uint32_t low_mask(ir_type t)
{
    return t == IR_I1 ? 1 : t == IR_I8 ? 0xff : t == IR_I16 ? 0xffff : UINT32_MAX;
}

// --- one number
static void sign_extended(x86_gen *g, ir_type to, ir_type from)
{
    if (from == IR_I1)
        x86_neg(g->code, true, RAX);
    else if (from != IR_I64)
        x86_extend(g->code, ir_type_size(from), true, RAX, RAX);
    if (to == IR_I32)
        x86_mov(g->code, false, RAX, RAX);
    else if (to != IR_I64)
        x86_alu_imm(g->code, ALU_AND, false, RAX, (int32_t)low_mask(to));
}

static void emit_from_int(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0);
    bool is_unsigned = i->op == IR_UITOF, to_wide = i->type == IR_F64;
    x86_ins ins = is_unsigned ? (to_wide ? X86_VCVTUSI2SD : X86_VCVTUSI2SS)
                  : to_wide   ? X86_VCVTSI2SD
                              : X86_VCVTSI2SS;
    uint8_t from = x86_word(g, a, RAX);
    x86_vec(g->code, X86_VPXORD, VS0, VS0, x86_of_reg(VS0), (x86_opt){.length = 2});
    x86_vec(g->code, ins, VS0, VS0, x86_of_reg(from),
            (x86_opt){.length = 2, .wide = x86_is_wide(g, a)});
    x86_put(g, i->result, 0, VS0);
}

static bool convert_one(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0);
    ir_type to = (ir_type)i->type, from = ir_type_of(g->f, a);
    switch (i->op) {
    case IR_SITOF:
    case IR_UITOF: emit_from_int(g, i); return true;
    case IR_FEXT:
    case IR_FNARROW: {
        if (from != IR_F32 && from != IR_F64)
            return false;
        if (to != IR_F32 && to != IR_F64)
            return false;
        uint8_t x = x86_real(g, a, VS1);
        x86_vec(g->code, to == IR_F64 ? X86_VCVTSS2SD : X86_VCVTSD2SS, VS0, x, x86_of_reg(x),
                (x86_opt){.length = 2});
        x86_put(g, i->result, 0, VS0);
        return true;
    }
    case IR_FTOSI:
    case IR_FTOUI: return false;
    default: break;
    }
    const x86_place *p = &g->places[i->result];
    bool is_plain = (i->op == IR_ZEXT && from != IR_I64) || (i->op == IR_TRUNC && to == IR_I32);
    if (is_plain && p->in_reg && p->class == CLASS_WORD) {
        x86_mov(g->code, false, p->reg[0], x86_word(g, a, p->reg[0]));
        return true;
    }
    x86_word_into(g, a, RAX);
    switch (i->op) {
    case IR_TRUNC:
        if (to == IR_I32)
            x86_mov(g->code, false, RAX, RAX);
        else
            x86_alu_imm(g->code, ALU_AND, false, RAX, (int32_t)low_mask(to));
        break;
    case IR_ZEXT:
        if (from != IR_I64)
            x86_mov(g->code, false, RAX, RAX);
        break;
    case IR_SEXT: sign_extended(g, to, from); break;
    case IR_PTRCAST:
        if (from == IR_PTR_LOCAL || to == IR_PTR_LOCAL) {
            bool sets = from == IR_PTR_LOCAL;
            uint64_t top = (uint64_t)1 << 63;
            x86_mov_imm(g->code, RDX, sets ? top : ~top);
            x86_alu_reg(g->code, sets ? ALU_OR : ALU_AND, true, RAX, RDX);
        }
        break;
    default: break;
    }
    x86_put_word(g, i->result, RAX);
    return true;
}

// --- lanes
// Part `part` of eight-byte lanes from half a part of four-byte ones.
void x86_widen(x86_gen *g, ir_ref a, uint32_t part, x86_ins ins, uint8_t to)
{
    uint8_t from = x86_part_reg(g, a, part / 2, VS1);
    if (part % 2) {
        x86_vec(g->code, X86_VEXTRACT, from, 0, x86_of_reg(VS2),
                (x86_opt){.has_imm = true, .imm = 1});
        from = VS2;
    }
    x86_vec(g->code, ins, to, 0, x86_of_reg(from), (x86_opt){0});
}

static void emit_widened(x86_gen *g, const ir_inst *i, x86_ins ins)
{
    for (uint32_t k = 0; k < 4; k++) {
        uint8_t to = x86_to(g, i->result, k, VS0);
        x86_widen(g, ir_operand(g->f, i, 0), k, ins, to);
        x86_put(g, i->result, k, to);
    }
}

// Two parts of eight-byte lanes become one of four-byte ones. VPMOVQD has its source in front.
static void narrow(x86_gen *g, ir_ref a, uint32_t part, x86_ins ins, uint8_t to)
{
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t from = x86_part_reg(g, a, part * 2 + k, VS1), half = k ? VS2 : to;
        if (ins == X86_VPMOVQD)
            x86_vec(g->code, ins, from, 0, x86_of_reg(half), (x86_opt){0});
        else
            x86_vec(g->code, ins, half, 0, x86_of_reg(from), (x86_opt){0});
    }
    x86_vec(g->code, X86_VINSERT, to, to, x86_of_reg(VS2), (x86_opt){.has_imm = true, .imm = 1});
}

static void emit_narrowed(x86_gen *g, const ir_inst *i, x86_ins ins, uint32_t keep)
{
    for (uint32_t k = 0; k < 2; k++) {
        narrow(g, ir_operand(g->f, i, 0), k, ins, VS0);
        if (keep != UINT32_MAX)
            x86_vec(g->code, X86_VPANDD, VS0, VS0, x86_number(g, false, keep), (x86_opt){0});
        x86_put(g, i->result, k, VS0);
    }
}

static void emit_each(x86_gen *g, const ir_inst *i, x86_ins ins)
{
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[i->result].class); k++) {
        uint8_t to = x86_to(g, i->result, k, VS0);
        x86_vec(g->code, ins, to, 0, x86_part(g, ir_operand(g->f, i, 0), k, VS1), (x86_opt){0});
        x86_put(g, i->result, k, to);
    }
}

static void emit_copy(x86_gen *g, const ir_inst *i)
{
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[i->result].class); k++) {
        uint8_t to = x86_to(g, i->result, k, VS0);
        x86_put(g, i->result, k, x86_part_reg(g, ir_operand(g->f, i, 0), k, to));
    }
}

static void emit_number(x86_gen *g, const ir_inst *i, x86_ins ins, uint64_t bits)
{
    bool wide = x86_is_wide(g, i->result);
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[i->result].class); k++) {
        uint8_t to = x86_to(g, i->result, k, VS0);
        x86_vec(g->code, ins, to, x86_part_reg(g, ir_operand(g->f, i, 0), k, VS1),
                x86_number(g, wide, bits), (x86_opt){0});
        x86_put(g, i->result, k, to);
    }
}

// Truths become 0 and 1, or 0 and all ones of the type.
static void emit_from_truth(x86_gen *g, const ir_inst *i)
{
    ir_type to = (ir_type)i->type;
    bool wide = ctext_is_wide(to);
    uint64_t yes = i->op == IR_ZEXT ? 1 : wide ? UINT64_MAX : low_mask(to);
    uint8_t which = x86_mask_word(g, ir_operand(g->f, i, 0), RCX);
    for (uint32_t k = 0; k < x86_parts((x86_class)g->places[i->result].class); k++) {
        uint8_t reg = x86_to(g, i->result, k, VS0);
        x86_src from = x86_number(g, wide, yes);
        from.is_broadcast = false;
        x86_k_of(g, which, k * (wide ? 8 : 16), K_A);
        x86_vec(g->code, wide ? X86_VBROADCASTSD : X86_VBROADCASTSS, reg, 0, from,
                (x86_opt){.k = K_A, .zero = true});
        x86_put(g, i->result, k, reg);
    }
}

static void test_part(x86_gen *g, void *operand, uint32_t part, uint8_t k)
{
    ir_ref a = *(const ir_ref *)operand;
    bool wide = x86_is_wide(g, a);
    uint8_t x = x86_part_reg(g, a, part, VS0);
    x86_vec(g->code, wide ? X86_VPTESTMQ : X86_VPTESTMD, k, x, x86_number(g, wide, 1),
            (x86_opt){0});
}

static void emit_to_truth(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0);
    x86_gather_bits(g, x86_is_wide(g, a), RAX, test_part, &a);
    x86_put_word(g, i->result, RAX);
}

static void emit_signed(x86_gen *g, const ir_inst *i, ir_type to, ir_type from)
{
    if (from == IR_I32) {
        emit_widened(g, i, X86_VPMOVSXDQ);
        return;
    }
    uint32_t count = from == IR_I8 ? 24 : 16;
    bool wide = ctext_is_wide(to);
    for (uint32_t k = 0; k < (wide ? 4u : 2u); k++) {
        uint8_t x = x86_part_reg(g, ir_operand(g->f, i, 0), wide ? k / 2 : k, VS1);
        x86_vec(g->code, X86_VPSLLVD, VS0, x, x86_number(g, false, count), (x86_opt){0});
        x86_vec(g->code, X86_VPSRAVD, VS0, VS0, x86_number(g, false, count), (x86_opt){0});
        if (wide && k % 2)
            x86_vec(g->code, X86_VEXTRACT, VS0, 0, x86_of_reg(VS0),
                    (x86_opt){.has_imm = true, .imm = 1});
        if (wide)
            x86_vec(g->code, X86_VPMOVSXDQ, VS0, 0, x86_of_reg(VS0), (x86_opt){0});
        else if (to != IR_I32)
            x86_vec(g->code, X86_VPANDD, VS0, VS0, x86_number(g, false, low_mask(to)),
                    (x86_opt){0});
        x86_put(g, i->result, k, VS0);
    }
}

// f32 to 32 bits. What is too large, or no number, is mended.
static void emit_to_int(x86_gen *g, const ir_inst *i)
{
    ir_ref a = ir_operand(g->f, i, 0);
    bool is_signed = i->op == IR_FTOSI;
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t x = x86_part_reg(g, a, k, VS1);
        x86_opt not_less = {.has_imm = true, .imm = 13}, less = {.has_imm = true, .imm = 17};
        x86_opt number = {.has_imm = true, .imm = 7};
        x86_vec(g->code, X86_VCMPPS, K_A, x,
                x86_number(g, false, is_signed ? 0x4f000000u : 0x4f800000u), not_less);
        if (is_signed) { // below the range it gives the lowest number by itself
            x86_vec(g->code, X86_VCMPPS, K_B, x, x86_of_reg(x), number);
        } else { // above 0
            x86_vec(g->code, X86_VPXORD, VS2, VS2, x86_of_reg(VS2), (x86_opt){0});
            x86_vec(g->code, X86_VCMPPS, K_B, VS2, x86_of_reg(x), less);
        }
        x86_vec(g->code, is_signed ? X86_VCVTTPS2DQ : X86_VCVTTPS2UDQ, VS0, 0, x86_of_reg(x),
                (x86_opt){.k = K_B, .zero = true});
        x86_src most = x86_number(g, false, is_signed ? 0x7fffffffu : UINT32_MAX);
        most.is_broadcast = false;
        x86_vec(g->code, X86_VBROADCASTSS, VS0, 0, most, (x86_opt){.k = K_A});
        x86_put(g, i->result, k, VS0);
    }
}

// f16 in 32-bit lanes to f32 and back.
static void emit_half(x86_gen *g, const ir_inst *i)
{
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t x = x86_part_reg(g, ir_operand(g->f, i, 0), k, VS1);
        if (i->op == IR_FEXT) {
            x86_vec(g->code, X86_VPMOVDW, x, 0, x86_of_reg(VS0), (x86_opt){0});
            x86_vec(g->code, X86_VCVTPH2PS, VS0, 0, x86_of_reg(VS0), (x86_opt){0});
        } else {
            x86_vec(g->code, X86_VCVTPS2PH, x, 0, x86_of_reg(VS0),
                    (x86_opt){.has_imm = true, .imm = 0});
            x86_vec(g->code, X86_VPMOVZXWD, VS0, 0, x86_of_reg(VS0), (x86_opt){0});
        }
        x86_put(g, i->result, k, VS0);
    }
}

static bool emit_float_from(x86_gen *g, const ir_inst *i, ir_type to, ir_type from)
{
    bool is_unsigned = i->op == IR_UITOF;
    if (to == IR_F32 && from == IR_I32)
        emit_each(g, i, is_unsigned ? X86_VCVTUDQ2PS : X86_VCVTDQ2PS);
    else if (to == IR_F64 && from == IR_I32)
        emit_widened(g, i, is_unsigned ? X86_VCVTUDQ2PD : X86_VCVTDQ2PD);
    else if (to == IR_F64 && from == IR_I64)
        emit_each(g, i, is_unsigned ? X86_VCVTUQQ2PD : X86_VCVTQQ2PD);
    else if (to == IR_F32 && from == IR_I64)
        emit_narrowed(g, i, is_unsigned ? X86_VCVTUQQ2PS : X86_VCVTQQ2PS, UINT32_MAX);
    else
        return false;
    return true;
}

static void emit_truncated(x86_gen *g, const ir_inst *i, ir_type to, ir_type from)
{
    if (to == IR_I1)
        emit_to_truth(g, i);
    else if (from == IR_I64)
        emit_narrowed(g, i, X86_VPMOVQD, low_mask(to));
    else
        emit_number(g, i, X86_VPANDD, low_mask(to));
}

static bool convert_lanes(x86_gen *g, const ir_inst *i)
{
    ir_type to = (ir_type)i->type, from = ir_type_of(g->f, ir_operand(g->f, i, 0));
    uint64_t top = (uint64_t)1 << 63;
    if (from == IR_I1 && (i->op == IR_ZEXT || i->op == IR_SEXT)) {
        emit_from_truth(g, i);
        return true;
    }
    switch ((ir_convert_op)i->op) {
    case IR_TRUNC: emit_truncated(g, i, to, from); return true;
    case IR_ZEXT:
        if (ctext_is_wide(to) && !ctext_is_wide(from))
            emit_widened(g, i, X86_VPMOVZXDQ);
        else
            emit_copy(g, i);
        return true;
    case IR_SEXT: emit_signed(g, i, to, from); return true;
    case IR_SITOF:
    case IR_UITOF: return emit_float_from(g, i, to, from);
    case IR_FTOSI:
    case IR_FTOUI:
        if (from != IR_F32 || to != IR_I32)
            return false;
        emit_to_int(g, i);
        return true;
    case IR_FEXT:
    case IR_FNARROW:
        if (to == IR_F64)
            emit_widened(g, i, X86_VCVTPS2PD);
        else if (from == IR_F64 && to == IR_F32)
            emit_narrowed(g, i, X86_VCVTPD2PS, UINT32_MAX);
        else if (from == IR_F16 || to == IR_F16)
            emit_half(g, i);
        else
            return false;
        return true;
    case IR_PTRCAST:
        if (from == IR_PTR_LOCAL && to == IR_PTR_GEN)
            emit_number(g, i, X86_VPORQ, top);
        else if (from == IR_PTR_GEN && to == IR_PTR_LOCAL)
            emit_number(g, i, X86_VPANDQ, ~top);
        else
            emit_copy(g, i);
        return true;
    case IR_BITCAST:
    case IR_PTRTOINT:
    case IR_INTTOPTR: break;
    }
    emit_copy(g, i); // the same bits
    return true;
}

bool x86_emit_conversion(x86_gen *g, const ir_inst *i)
{
    return g->places[i->result].class >= CLASS_MASK && g->places[i->result].class != CLASS_REAL
               ? convert_lanes(g, i)
               : convert_one(g, i);
}
