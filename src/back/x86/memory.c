// Loads and stores: one access when all lanes mean the same address, vectors when they
// stand side by side, gathers and scatters otherwise; narrow cells and local arrays that differ
// from lane to lane by calls. Only active lanes touch memory. Start reading at x86_emit_memory.
#include "back/x86/x86.h"

#include <stddef.h>

// --- where it goes
static const ir_inst *def_inst(const x86_gen *g, ir_ref r)
{
    ir_inst_id id = ir_def_of(g->f, r);
    return id ? ir_at(g->f, id) : NULL;
}

// The 32-bit index behind a byte offset, when it may be taken as a signed number.
static bool find_index(const x86_gen *g, ir_ref offset, x86_access *x)
{
    const ir_inst *i = def_inst(g, offset);
    uint64_t by = 0;
    x->scale = 0;
    if (i && i->op == IR_SHL && ir_const_bits(g->f, ir_operand(g->f, i, 1), &by) && by <= 3) {
        x->scale = (uint8_t)by;
        i = def_inst(g, ir_operand(g->f, i, 0));
    }
    if (!i || (i->op != IR_ZEXT && i->op != IR_SEXT) || i->aux != IR_I32)
        return false;
    x->index = ir_operand(g->f, i, 0);
    return i->op == IR_SEXT || range_of(g->f, g->c.ranges, x->index).lo >= 0;
}

static bool find_indexed(const x86_gen *g, x86_access *x)
{
    ir_ref at = x->pointer;
    x86_access found = *x;
    for (; found.more_count < COUNT(found.more);) {
        const ir_inst *i = def_inst(g, at);
        if (!i || i->op != IR_PTRADD)
            return false;
        ir_ref base = ir_operand(g->f, i, 0), offset = ir_operand(g->f, i, 1);
        if (cpu_shape(&g->c, base).held == HELD_ONE) {
            found.pointer = base;
            found.kind = ACCESS_INDEXED;
            if (!find_index(g, offset, &found))
                return false;
            *x = found;
            return true;
        }
        if (cpu_shape(&g->c, offset).held != HELD_ONE)
            return false;
        found.more[found.more_count++] = offset;
        at = base;
    }
    return false;
}

x86_access x86_find_access(const x86_gen *g, const ir_inst *i, uint32_t index)
{
    x86_access x = {.pointer = ir_operand(g->f, i, 0), .size = ir_type_size((ir_type)i->type)};
    ir_type t = ir_type_of(g->f, x.pointer);
    shape s = cpu_shape(&g->c, x.pointer);
    x.offset = i->imm + (int64_t)index * x.size;
    x.step = s.step;
    if (t == IR_PTR_LOCAL)
        x.kind = s.held == HELD_ONE && x.size >= 4 ? ACCESS_LOCAL_ROW : ACCESS_LOCAL;
    else if (t == IR_PTR_GEN && g->c.has_tagged)
        x.kind = ACCESS_TAGGED;
    else if (s.held == HELD_ONE)
        x.kind = ACCESS_ONE;
    else if (s.held == HELD_ROW)
        x.kind = s.step == (int64_t)x.size ? ACCESS_ROW : ACCESS_STRIDE;
    else {
        x.kind = ACCESS_LANES;
        if (x.size == 4)
            find_indexed(g, &x);
    }
    return x;
}

// --- addresses
static x86_mem displaced(x86_gen *g, uint8_t reg, int64_t offset)
{
    if (offset >= INT32_MIN + 1024 && offset <= INT32_MAX - 1024)
        return x86_at(reg, (int32_t)offset);
    x86_mov_imm(g->code, RDX, (uint64_t)offset);
    if (reg != RAX)
        x86_mov(g->code, true, RAX, reg);
    x86_alu_reg(g->code, ALU_ADD, true, RAX, RDX);
    return x86_at(RAX, 0);
}

// Of lane 0 or of all lanes: in its own register or in RAX.
static x86_mem base_of(x86_gen *g, const x86_access *x)
{
    uint8_t reg = x86_word(g, x->pointer, RAX);
    for (uint32_t k = 0; k < x->more_count; k++) {
        if (reg != RAX)
            x86_mov(g->code, true, RAX, reg);
        reg = RAX;
        x86_alu_reg(g->code, ALU_ADD, true, RAX, x86_word(g, x->more[k], RDX));
    }
    return displaced(g, reg, x->offset);
}

static x86_mem local_row(x86_gen *g, const x86_access *x)
{
    x86_word_into(g, x->pointer, RAX);
    x86_shift_imm(g->code, SHIFT_LEFT, true, RAX, 5);
    x86_alu_mem(g->code, ALU_ADD, true, RAX, x86_at(RBX, offsetof(x86_warp, local)));
    return displaced(g, RAX, x->offset * 32);
}

static x86_mem moved(x86_mem m, int32_t by)
{
    m.disp += by;
    return m;
}

// All lanes' addresses into the first buffer.
void x86_keep_addresses(x86_gen *g, const x86_access *x, ir_ref pointer)
{
    for (uint32_t k = 0; k < 4; k++) {
        uint8_t reg = x86_part_reg(g, pointer, k, VS0);
        if (x->offset)
            x86_vec(g->code, X86_VPADDQ, VS0, reg, x86_number(g, true, (uint64_t)x->offset),
                    (x86_opt){0});
        x86_vec(g->code, X86_VMOVDQU64_S, x->offset ? VS0 : reg, 0,
                x86_of_mem(x86_frame(g->buffers + 64 * (int32_t)k)), (x86_opt){0});
    }
}

x86_info x86_memory_info(const x86_access *x, const ir_inst *i)
{
    return (x86_info){.op = i->op,
                      .type = i->type,
                      .aux = i->aux,
                      .count = (uint8_t)i->operand_count,
                      .cell = (uint8_t)x->size,
                      .out = i->type == IR_I1 ? 0
                             : x->size == 8   ? 8
                                              : 4,
                      .lanes = 32,
                      .size = {8,
                               i->type == IR_I1 ? 0
                               : x->size == 8   ? 8
                                                : 4,
                               i->type == IR_I1 ? 0
                               : x->size == 8   ? 8
                                                : 4},
                      .is_tagged = x->kind == ACCESS_TAGGED,
                      .is_local = x->kind == ACCESS_LOCAL || x->kind == ACCESS_LOCAL_ROW};
}

// A mask register with the active lanes from `bit` on that an instruction may use up.
static uint8_t used_mask(x86_gen *g, uint32_t bit)
{
    uint8_t k = x86_k(g, bit);
    if (k) {
        x86_k_mov(g->code, K_A, k);
    } else {
        x86_mov_imm(g->code, RDX, UINT32_MAX);
        x86_k_from(g->code, K_A, RDX);
    }
    return K_A;
}

static bool has_short_steps(const x86_access *x)
{
    return x->step > -((int64_t)1 << 25) && x->step < (int64_t)1 << 25;
}

typedef struct row_access {
    const ir_inst *i;
    const x86_access *x;
    ir_ref r; // the result, or the value that is stored
    x86_mem m;
} row_access;

// The code of `emit` twice: without masks where all lanes are active, as the processor does not
// fetch ahead of masked loads, and masked stores are slow.
static void emit_row(x86_gen *g, void (*emit)(x86_gen *, const row_access *), row_access a)
{
    int32_t mask = g->mask;
    if (mask >= 0) {
        uint32_t some = x86_label(g->code), join = x86_label(g->code);
        bool k_is_loaded = g->k_is_loaded, k8_is_loaded = g->k8_is_loaded;
        x86_alu_mem_imm(g->code, ALU_CMP, false, x86_frame(mask), -1);
        x86_jump_if(g->code, WHEN_NOT_ZERO, some);
        g->mask = -1;
        emit(g, &a);
        g->mask = mask;
        x86_jump(g->code, join);
        x86_bind(g->code, some);
        emit(g, &a);
        x86_bind(g->code, join);
        g->k_is_loaded = k_is_loaded;
        g->k8_is_loaded = k8_is_loaded;
        return;
    }
    emit(g, &a);
}

// --- loads
static void bits_of_bytes(x86_gen *g, ir_ref r) // VS0 and VS1: cells of i1
{
    x86_vec(g->code, X86_VPTESTMD, K_A, VS0, x86_of_reg(VS0), (x86_opt){0});
    x86_vec(g->code, X86_VPTESTMD, K_B, VS1, x86_of_reg(VS1), (x86_opt){0});
    x86_k_unpack(g->code, 16, K_A, K_B, K_A);
    x86_k_to(g->code, RAX, K_A);
    x86_put_word(g, r, RAX);
}

static void load_one(x86_gen *g, const x86_access *x, ir_ref r, ir_type t)
{
    const x86_place *p = &g->places[r];
    x86_mem m = base_of(g, x);
    if (p->class == CLASS_REAL) {
        uint8_t to = x86_to(g, r, 0, VS0);
        x86_vec(g->code, t == IR_F64 ? X86_VMOVSD : X86_VMOVSS, to, 0, x86_of_mem(m),
                (x86_opt){.length = 2});
        x86_put(g, r, 0, to);
        return;
    }
    if (p->class >= CLASS_V4 && x->size >= 4) {
        for (uint32_t k = 0; k < x86_parts((x86_class)p->class); k++) {
            uint8_t to = x86_to(g, r, k, VS0);
            x86_vec(g->code, x->size == 8 ? X86_VBROADCASTSD : X86_VBROADCASTSS, to, 0,
                    x86_of_mem(m), (x86_opt){0});
            x86_put(g, r, k, to);
        }
        return;
    }
    x86_load(g->code, x->size, RAX, m);
    if (t == IR_I1) {
        x86_test(g->code, false, RAX, RAX);
        x86_set(g->code, WHEN_NOT_ZERO, RAX);
    }
    if (p->class == CLASS_MASK)
        x86_neg(g->code, false, RAX);
    if (p->class < CLASS_V4) {
        x86_put_word(g, r, RAX);
        return;
    }
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t to = x86_to(g, r, k, VS0);
        x86_vec(g->code, X86_VPBROADCASTD, to, 0, x86_of_reg(RAX), (x86_opt){0});
        x86_put(g, r, k, to);
    }
}

static void load_row(x86_gen *g, const row_access *a)
{
    const x86_access *x = a->x;
    ir_ref r = a->r;
    ir_type t = (ir_type)a->i->type;
    uint32_t parts = x->size == 8 ? 4 : 2, lanes = 32 / parts;
    x86_ins ins = x->size == 8   ? X86_VMOVDQU64
                  : x->size == 4 ? X86_VMOVDQU32
                  : x->size == 2 ? X86_VPMOVZXWD
                                 : X86_VPMOVZXBD;
    for (uint32_t k = 0; k < parts; k++) {
        uint8_t mask = x86_k(g, k * lanes);
        uint8_t to = t == IR_I1 ? (uint8_t)(VS0 + k) : x86_to(g, r, k, VS0);
        x86_vec(g->code, ins, to, 0, x86_of_mem(moved(a->m, (int32_t)(k * lanes * x->size))),
                (x86_opt){.k = mask, .zero = mask != 0});
        if (t != IR_I1)
            x86_put(g, r, k, to);
    }
    if (t == IR_I1)
        bits_of_bytes(g, r);
}

static void load_stride(x86_gen *g, const x86_access *x, ir_ref r)
{
    x86_mem m = base_of(g, x);
    bool wide = x->size == 8;
    for (uint32_t k = 0; k < (wide ? 4u : 2u); k++) {
        uint8_t mask = used_mask(g, k * (wide ? 8 : 16));
        x86_vec(g->code, X86_VMOVDQU32, VS1, 0, x86_steps(g, wide, x->step, k), (x86_opt){0});
        x86_vec(g->code, X86_VPXORD, VS0, VS0, x86_of_reg(VS0), (x86_opt){0});
        x86_vec_indexed(g->code, wide ? X86_VPGATHERQQ : X86_VPGATHERDD, VS0, m, VS1, mask);
        x86_put(g, r, k, VS0);
    }
}

// True at `label`'s place: the 16 indices in `index` count up by one.
static void jump_unless_side_by_side(x86_gen *g, uint8_t index, uint32_t label)
{
    x86_vec(g->code, X86_VBROADCASTSS, VS1, 0, x86_of_reg(index), (x86_opt){0});
    x86_vec(g->code, X86_VPADDD, VS1, VS1, x86_steps(g, false, 1, 0), (x86_opt){0});
    x86_vec(g->code, X86_VPCMPD, K_B, index, x86_of_reg(VS1), (x86_opt){.has_imm = true, .imm = 4});
    x86_k_to(g->code, RDX, K_B);
    x86_alu_imm(g->code, ALU_AND, false, RDX, 0xffff);
    x86_jump_if(g->code, WHEN_NOT_ZERO, label);
    x86_vec(g->code, X86_VMOVD_S, index, 0, x86_of_reg(RDX), (x86_opt){.length = 2});
    x86_extend(g->code, 4, true, RDX, RDX);
}

static x86_mem indexed(x86_mem m, uint8_t scale)
{
    m.index = RDX;
    m.has_index = true;
    m.scale = scale;
    return m;
}

// One index a lane; lanes that stand side by side are usual, and cheap to find out.
static void load_indexed(x86_gen *g, const row_access *a)
{
    const x86_access *x = a->x;
    x86_mem m = a->m;
    m.scale = x->scale;
    x86_k(g, 0);
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t index = x86_part_reg(g, x->index, k, VS2);
        uint32_t apart = x86_label(g->code), join = x86_label(g->code);
        uint8_t mask = x86_k(g, k * 16);
        if (x->scale == 2) {
            jump_unless_side_by_side(g, index, apart);
            x86_vec(g->code, X86_VMOVDQU32, VS0, 0, x86_of_mem(indexed(m, 2)),
                    (x86_opt){.k = mask, .zero = mask != 0});
            x86_jump(g->code, join);
        }
        x86_bind(g->code, apart);
        mask = used_mask(g, k * 16);
        x86_vec(g->code, X86_VPXORD, VS0, VS0, x86_of_reg(VS0), (x86_opt){0});
        x86_vec_indexed(g->code, X86_VPGATHERDD, VS0, m, index, mask);
        x86_bind(g->code, join);
        x86_put(g, a->r, k, VS0);
    }
}

// Addresses in the first buffer would need a call; here they stay in vectors.
static uint8_t address_part(x86_gen *g, const x86_access *x, uint32_t part)
{
    uint8_t reg = x86_part_reg(g, x->pointer, part, VS2);
    if (x->offset >= INT32_MIN && x->offset <= INT32_MAX)
        return reg;
    x86_vec(g->code, X86_VPADDQ, VS2, reg, x86_number(g, true, (uint64_t)x->offset), (x86_opt){0});
    return VS2;
}

static x86_mem only_offset(const x86_access *x)
{
    bool fits = x->offset >= INT32_MIN && x->offset <= INT32_MAX;
    return (x86_mem){.disp = fits ? (int32_t)x->offset : 0};
}

static void load_lanes(x86_gen *g, const x86_access *x, ir_ref r)
{
    bool wide = x->size == 8;
    for (uint32_t k = 0; k < 4; k++) {
        uint8_t address = address_part(g, x, k), mask = used_mask(g, k * 8);
        uint8_t to = wide || k % 2 ? VS1 : VS0;
        x86_vec(g->code, X86_VPXORD, to, to, x86_of_reg(to), (x86_opt){0});
        x86_vec_indexed(g->code, wide ? X86_VPGATHERQQ : X86_VPGATHERQD, to, only_offset(x),
                        address, mask);
        if (!wide && k % 2)
            x86_vec(g->code, X86_VINSERT, VS0, VS0, x86_of_reg(VS1),
                    (x86_opt){.has_imm = true, .imm = 1});
        if (wide)
            x86_put(g, r, k, VS1);
        else if (k % 2)
            x86_put(g, r, k / 2, VS0);
    }
}

static void load_local_row(x86_gen *g, const x86_access *x, ir_ref r)
{
    x86_mem m = local_row(g, x);
    if (x->size == 4) {
        for (uint32_t k = 0; k < 2; k++) {
            uint8_t to = x86_to(g, r, k, VS0);
            x86_vec(g->code, X86_VMOVDQU32, to, 0, x86_of_mem(moved(m, 64 * (int32_t)k)),
                    (x86_opt){0});
            x86_put(g, r, k, to);
        }
        return;
    }
    for (uint32_t k = 0; k < 4; k++) {
        x86_vec(g->code, X86_VPMOVZXDQ, VS0, 0, x86_of_mem(moved(m, 32 * (int32_t)k)),
                (x86_opt){0});
        x86_vec(g->code, X86_VPMOVZXDQ, VS1, 0, x86_of_mem(moved(m, 128 + 32 * (int32_t)k)),
                (x86_opt){0});
        x86_vec(g->code, X86_VPSLLVQ, VS1, VS1, x86_number(g, true, 32), (x86_opt){0});
        x86_vec(g->code, X86_VPORQ, VS0, VS0, x86_of_reg(VS1), (x86_opt){0});
        x86_put(g, r, k, VS0);
    }
}

// By a call; a value held once is then the first active lane's.
static void load_by_call(x86_gen *g, const x86_access *x, const ir_inst *i, ir_ref r)
{
    x86_info info = x86_memory_info(x, i);
    const x86_place *p = &g->places[r];
    x86_keep_addresses(g, x, ir_operand(g->f, i, 0));
    x86_call_helper(g, x86_help_load, &info);
    if (p->class >= CLASS_MASK && p->class != CLASS_REAL) {
        x86_load_lanes(g, r, g->buffers);
        return;
    }
    x86_active(g, RCX);
    x86_count(g->code, 0xbc, false, RCX, RCX);
    x86_mem m = x86_frame(g->buffers);
    if (info.out) {
        m.index = RCX;
        m.has_index = true;
        m.scale = info.out == 8 ? 3 : 2;
    }
    x86_load(g->code, info.out == 8 ? 8 : 4, RAX, m);
    if (!info.out) {
        x86_shift_cl(g->code, SHIFT_RIGHT, false, RAX);
        x86_alu_imm(g->code, ALU_AND, false, RAX, 1);
    }
    x86_put_word(g, r, RAX);
}

static bool is_called(const x86_gen *g, const x86_access *x, ir_ref value)
{
    bool is_one = !value || (!ir_is_const(value) && (g->places[value].class == CLASS_WORD ||
                                                     g->places[value].class == CLASS_REAL));
    switch (x->kind) {
    case ACCESS_ONE:
    case ACCESS_ROW: return false;
    case ACCESS_STRIDE: return x->size < 4 || !has_short_steps(x);
    case ACCESS_INDEXED: return false;
    case ACCESS_LANES: return x->size < 4;
    case ACCESS_LOCAL_ROW: return is_one;
    case ACCESS_LOCAL:
    case ACCESS_TAGGED: break;
    }
    return true;
}

// Two words a lane and nothing between the lanes.
static bool is_pair(const x86_gen *g, const ir_inst *i, uint32_t count)
{
    x86_access x = x86_find_access(g, i, 0);
    return count == 2 && x.kind == ACCESS_STRIDE && x.size == 4 && x.step == 8;
}

// Mask registers K_A and K_B: the active lanes of a part twice each, for its two vectors.
static uint8_t doubled_mask(x86_gen *g, uint32_t part)
{
    if (g->mask < 0)
        return 0;
    x86_active(g, RDX);
    if (part)
        x86_shift_imm(g->code, SHIFT_RIGHT, false, RDX, 16);
    x86_mov_imm(g->code, RCX, 0x55555555u);
    x86_pdep(g->code, RCX, RDX, RCX);
    x86_mov(g->code, false, RDX, RCX);
    x86_alu_reg(g->code, ALU_ADD, false, RDX, RCX);
    x86_alu_reg(g->code, ALU_OR, false, RCX, RDX);
    x86_k_from(g->code, K_A, RCX);
    x86_k_shift_right(g->code, K_B, K_A, 16);
    return K_A;
}

// Lane n comes from word n * step + from of the first vector and the second.
static x86_src pool_words(x86_gen *g, bool deals, uint32_t from)
{
    uint32_t v[16];
    for (uint32_t k = 0; k < 16; k++)
        v[k] = deals ? k * 2 + from : k / 2 + from * 8 + (k % 2) * 16;
    return x86_of_mem(x86_pool(g->code, v, sizeof v, 64));
}

static void load_pair(x86_gen *g, const row_access *a)
{
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t mask = doubled_mask(g, k);
        x86_vec(g->code, X86_VMOVDQU32, VS0, 0, x86_of_mem(moved(a->m, 128 * (int32_t)k)),
                (x86_opt){.k = mask, .zero = mask != 0});
        x86_vec(g->code, X86_VMOVDQU32, VS1, 0, x86_of_mem(moved(a->m, 128 * (int32_t)k + 64)),
                (x86_opt){.k = mask ? K_B : 0, .zero = mask != 0});
        for (uint32_t n = 0; n < 2; n++) {
            x86_vec(g->code, X86_VMOVDQU32, VS2, 0, pool_words(g, true, n), (x86_opt){0});
            x86_vec(g->code, X86_VPERMI2D, VS2, VS0, x86_of_reg(VS1), (x86_opt){0});
            x86_put(g, a->i->result + n, k, VS2);
        }
    }
}

static void emit_load(x86_gen *g, const ir_inst *i)
{
    if (is_pair(g, i, i->result_count)) {
        x86_access x = x86_find_access(g, i, 0);
        emit_row(g, load_pair, (row_access){i, &x, i->result, base_of(g, &x)});
        return;
    }
    for (uint32_t k = 0; k < i->result_count; k++) {
        ir_ref r = i->result + k;
        ir_type t = (ir_type)i->type;
        x86_access x = x86_find_access(g, i, k);
        if (g->places[r].class == CLASS_NONE)
            continue;
        g->has_results = k > 0;
        if (is_called(g, &x, r))
            load_by_call(g, &x, i, r);
        else if (x.kind == ACCESS_ONE)
            load_one(g, &x, r, t);
        else if (x.kind == ACCESS_ROW)
            emit_row(g, load_row, (row_access){i, &x, r, base_of(g, &x)});
        else if (x.kind == ACCESS_STRIDE)
            load_stride(g, &x, r);
        else if (x.kind == ACCESS_INDEXED)
            emit_row(g, load_indexed, (row_access){i, &x, r, base_of(g, &x)});
        else if (x.kind == ACCESS_LANES)
            load_lanes(g, &x, r);
        else
            load_local_row(g, &x, r);
        g->has_results = false;
    }
}

// --- stores
// A part of a value as it lies in memory: truths are 0 and 1.
static uint8_t stored_part(x86_gen *g, ir_ref value, uint32_t part, uint8_t scratch)
{
    if (ir_type_of(g->f, value) != IR_I1)
        return x86_part_reg(g, value, part, scratch);
    x86_src one = x86_number(g, false, 1);
    one.is_broadcast = false;
    x86_k_of(g, x86_mask_word(g, value, RDX), part * 16, K_A);
    x86_vec(g->code, X86_VBROADCASTSS, scratch, 0, one, (x86_opt){.k = K_A, .zero = true});
    return scratch;
}

// The last active lane's value stays.
static void store_one(x86_gen *g, const x86_access *x, ir_ref value)
{
    shape s = cpu_shape(&g->c, value);
    if (s.held == HELD_ONE) {
        x86_word_into(g, value, RCX);
    } else {
        x86_active(g, RCX);
        x86_count(g->code, 0xbd, false, RCX, RCX);
        x86_alu_imm(g->code, ALU_XOR, false, RCX, 31);
        x86_lane_to(g, value, RCX, RDX);
        x86_mov(g->code, true, RCX, RDX);
    }
    x86_mem m = base_of(g, x);
    x86_store(g->code, x->size, m, RCX);
}

// Past the caches, when the launch wants that and whole lines are written; VMOVNTDQ has no mask.
static uint32_t stream_row(x86_gen *g, const row_access *a)
{
    const x86_access *x = a->x;
    uint32_t near = x86_label(g->code), join = x86_label(g->code);
    x86_alu_mem_imm(g->code, ALU_CMP, false, x86_at(RBX, offsetof(x86_warp, streams)), 0);
    x86_jump_if(g->code, WHEN_ZERO, near);
    x86_lea(g->code, RDX, a->m);
    x86_alu_imm(g->code, ALU_AND, false, RDX, 63);
    x86_jump_if(g->code, WHEN_NOT_ZERO, near);
    for (uint32_t k = 0; k < x->size / 2; k++)
        x86_vec(g->code, X86_VMOVNTDQ, stored_part(g, a->r, k, VS0), 0,
                x86_of_mem(moved(a->m, 64 * (int32_t)k)), (x86_opt){0});
    x86_jump(g->code, join);
    x86_bind(g->code, near);
    return join;
}

static void store_row(x86_gen *g, const row_access *a)
{
    const x86_access *x = a->x;
    bool streams = g->mask < 0 && x->size >= 4 && cpu_may_stream(&g->c, a->i);
    uint32_t join = streams ? stream_row(g, a) : 0;
    uint32_t parts = x->size == 8 ? 4 : 2, lanes = 32 / parts;
    x86_ins ins = x->size == 8   ? X86_VMOVDQU64_S
                  : x->size == 4 ? X86_VMOVDQU32_S
                  : x->size == 2 ? X86_VPMOVDW
                                 : X86_VPMOVDB;
    for (uint32_t k = 0; k < parts; k++)
        x86_vec(g->code, ins, stored_part(g, a->r, k, VS0), 0,
                x86_of_mem(moved(a->m, (int32_t)(k * lanes * x->size))),
                (x86_opt){.k = x86_k(g, k * lanes)});
    if (streams)
        x86_bind(g->code, join);
}

static void store_stride(x86_gen *g, const x86_access *x, ir_ref value)
{
    x86_mem m = base_of(g, x);
    bool wide = x->size == 8;
    for (uint32_t k = 0; k < (wide ? 4u : 2u); k++) {
        uint8_t from = stored_part(g, value, k, VS0), mask = used_mask(g, k * (wide ? 8 : 16));
        x86_vec(g->code, X86_VMOVDQU32, VS1, 0, x86_steps(g, wide, x->step, k), (x86_opt){0});
        x86_vec_indexed(g->code, wide ? X86_VPSCATTERQQ : X86_VPSCATTERDD, from, m, VS1, mask);
    }
}

static void store_indexed(x86_gen *g, const row_access *a)
{
    const x86_access *x = a->x;
    x86_mem m = a->m;
    m.scale = x->scale;
    x86_k(g, 0);
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t index = x86_part_reg(g, x->index, k, VS2), from = stored_part(g, a->r, k, VS0);
        uint32_t apart = x86_label(g->code), join = x86_label(g->code);
        uint8_t mask = x86_k(g, k * 16);
        if (x->scale == 2) {
            jump_unless_side_by_side(g, index, apart);
            x86_vec(g->code, X86_VMOVDQU32_S, from, 0, x86_of_mem(indexed(m, 2)),
                    (x86_opt){.k = mask});
            x86_jump(g->code, join);
        }
        x86_bind(g->code, apart);
        mask = used_mask(g, k * 16);
        x86_vec_indexed(g->code, X86_VPSCATTERDD, from, m, index, mask);
        x86_bind(g->code, join);
    }
}

static void store_lanes(x86_gen *g, const x86_access *x, ir_ref value)
{
    bool wide = x->size == 8;
    for (uint32_t k = 0; k < 4; k++) {
        uint8_t from = stored_part(g, value, wide ? k : k / 2, VS0);
        if (!wide && k % 2) {
            x86_vec(g->code, X86_VEXTRACT, from, 0, x86_of_reg(VS1),
                    (x86_opt){.has_imm = true, .imm = 1});
            from = VS1;
        }
        uint8_t address = address_part(g, x, k), mask = used_mask(g, k * 8);
        x86_vec_indexed(g->code, wide ? X86_VPSCATTERQQ : X86_VPSCATTERQD, from, only_offset(x),
                        address, mask);
    }
}

static void store_local_row(x86_gen *g, const x86_access *x, ir_ref value)
{
    x86_mem m = local_row(g, x);
    if (x->size == 4) {
        for (uint32_t k = 0; k < 2; k++)
            x86_vec(g->code, X86_VMOVDQU32_S, stored_part(g, value, k, VS0), 0,
                    x86_of_mem(moved(m, 64 * (int32_t)k)), (x86_opt){.k = x86_k(g, 16 * k)});
        return;
    }
    for (uint32_t k = 0; k < 4; k++) {
        uint8_t from = stored_part(g, value, k, VS0), mask = x86_k(g, 8 * k);
        x86_vec(g->code, X86_VPMOVQD, from, 0, x86_of_mem(moved(m, 32 * (int32_t)k)),
                (x86_opt){.k = mask});
        x86_vec(g->code, X86_VPSRLVQ, VS1, from, x86_number(g, true, 32), (x86_opt){0});
        x86_vec(g->code, X86_VPMOVQD, VS1, 0, x86_of_mem(moved(m, 128 + 32 * (int32_t)k)),
                (x86_opt){.k = mask});
    }
}

static void store_by_call(x86_gen *g, const x86_access *x, const ir_inst *i, ir_ref value)
{
    x86_info info = x86_memory_info(x, i);
    x86_keep_lanes(g, value, g->buffers + X86_BUFFER);
    x86_keep_addresses(g, x, ir_operand(g->f, i, 0));
    x86_call_helper(g, x86_help_store, &info);
}

static void store_pair(x86_gen *g, const row_access *access)
{
    const ir_inst *i = access->i;
    for (uint32_t k = 0; k < 2; k++) {
        uint8_t mask = doubled_mask(g, k);
        uint8_t a = x86_part_reg(g, ir_operand(g->f, i, 1), k, VS0);
        uint8_t b = x86_part_reg(g, ir_operand(g->f, i, 2), k, VS1);
        for (uint32_t n = 0; n < 2; n++) {
            x86_vec(g->code, X86_VMOVDQU32, VS2, 0, pool_words(g, false, n), (x86_opt){0});
            x86_vec(g->code, X86_VPERMI2D, VS2, a, x86_of_reg(b), (x86_opt){0});
            x86_vec(g->code, X86_VMOVDQU32_S, VS2, 0,
                    x86_of_mem(moved(access->m, 128 * (int32_t)k + 64 * (int32_t)n)),
                    (x86_opt){.k = mask && n ? K_B : mask});
        }
    }
}

static void emit_store(x86_gen *g, const ir_inst *i)
{
    if (is_pair(g, i, i->operand_count - 1)) {
        x86_access x = x86_find_access(g, i, 0);
        emit_row(g, store_pair, (row_access){i, &x, IR_NONE, base_of(g, &x)});
        return;
    }
    for (uint32_t k = 0; k + 1 < i->operand_count; k++) {
        ir_ref value = ir_operand(g->f, i, k + 1);
        x86_access x = x86_find_access(g, i, k);
        if (x.kind != ACCESS_LOCAL_ROW && is_called(g, &x, value))
            store_by_call(g, &x, i, value);
        else if (x.kind == ACCESS_ONE)
            store_one(g, &x, value);
        else if (x.kind == ACCESS_ROW)
            emit_row(g, store_row, (row_access){i, &x, value, base_of(g, &x)});
        else if (x.kind == ACCESS_STRIDE)
            store_stride(g, &x, value);
        else if (x.kind == ACCESS_INDEXED)
            emit_row(g, store_indexed, (row_access){i, &x, value, base_of(g, &x)});
        else if (x.kind == ACCESS_LANES)
            store_lanes(g, &x, value);
        else
            store_local_row(g, &x, value);
    }
}

bool x86_memory_calls(const x86_gen *g, const ir_inst *i)
{
    if (i->op != IR_LOAD && i->op != IR_STORE)
        return !x86_is_inline_atomic(g, i);
    x86_access x = x86_find_access(g, i, 0);
    bool is_row = x.kind == ACCESS_LOCAL_ROW;
    return is_row ? i->op == IR_LOAD && cpu_shape(&g->c, i->result).held == HELD_ONE
                  : is_called(g, &x, IR_NONE);
}

void x86_emit_memory(x86_gen *g, const ir_inst *i)
{
    if (i->op == IR_LOAD)
        emit_load(g, i);
    else if (i->op == IR_STORE)
        emit_store(g, i);
    else
        x86_emit_atomic(g, i);
}
