// Values into registers and back into their places; the active lanes in mask registers; values
// kept over calls. A value held once for the warp becomes lanes by a broadcast, a row by adding a
// constant vector. Start reading at x86_part.
#include "back/x86/x86.h"

static bool is_lanes(const x86_gen *g, ir_ref r)
{
    return cpu_shape(&g->c, x86_like(g, r)).held == HELD_LANES;
}

// --- the active lanes
void x86_active(x86_gen *g, uint8_t reg)
{
    if (g->mask >= 0)
        x86_load(g->code, 4, reg, x86_frame(g->mask));
    else
        x86_mov_imm(g->code, reg, UINT32_MAX);
}

void x86_k_forget(x86_gen *g)
{
    g->k_is_loaded = g->k8_is_loaded = false;
}

uint8_t x86_k(x86_gen *g, uint32_t bit)
{
    if (g->mask < 0)
        return 0;
    if (!g->k_is_loaded) {
        x86_k_load(g->code, K_MASK, x86_frame(g->mask));
        x86_k_shift_right(g->code, K_HIGH, K_MASK, 16);
        g->k_is_loaded = true;
    }
    if (bit & 8 && !g->k8_is_loaded) {
        x86_k_shift_right(g->code, K_8, K_MASK, 8);
        x86_k_shift_right(g->code, K_24, K_MASK, 24);
        g->k8_is_loaded = true;
    }
    static const uint8_t ks[] = {K_MASK, K_8, K_HIGH, K_24};
    return ks[bit / 8];
}

void x86_k_of(x86_gen *g, uint8_t reg, uint32_t bit, uint8_t k)
{
    x86_k_from(g->code, k, reg);
    if (bit)
        x86_k_shift_right(g->code, k, k, (uint8_t)bit);
}

// --- scalars
void x86_lane_to(x86_gen *g, ir_ref r, uint8_t lane_reg, uint8_t to)
{
    const x86_place *p = ir_is_const(r) ? NULL : &g->places[r];
    uint32_t size = x86_is_wide(g, r) ? 8 : 4;
    if (x86_type(g, r) == IR_I1) {
        x86_mov(g->code, false, RCX, lane_reg);
        x86_mov(g->code, false, to, x86_mask_word(g, r, to));
        x86_shift_cl(g->code, SHIFT_RIGHT, false, to);
        x86_alu_imm(g->code, ALU_AND, false, to, 1);
        return;
    }
    int32_t slot = g->buffers + X86_BUFFERS * X86_BUFFER;
    if (p && p->class >= CLASS_V4 && !p->in_reg)
        slot = p->slot;
    else
        x86_keep_lanes(g, r, slot);
    x86_mem m = x86_frame(slot);
    m.index = lane_reg;
    m.has_index = true;
    m.scale = size == 8 ? 3 : 2;
    x86_load(g->code, size, to, m);
}

// The value of the first active lane; all are promised to be equal.
static void promised(x86_gen *g, ir_ref r, uint8_t to)
{
    x86_active(g, RCX);
    x86_count(g->code, 0xbc, false, RCX, RCX);
    x86_lane_to(g, r, RCX, to);
}

uint8_t x86_word(x86_gen *g, ir_ref r, uint8_t scratch)
{
    uint64_t bits;
    if (ir_const_bits(g->f, r, &bits)) {
        x86_mov_imm(g->code, scratch, bits);
        return scratch;
    }
    const x86_place *p = &g->places[r];
    if (is_lanes(g, r)) {
        promised(g, r, scratch);
        return scratch;
    }
    if (p->class == CLASS_REAL) {
        bool wide = x86_is_wide(g, r);
        if (p->in_reg)
            x86_vec(g->code, wide ? X86_VMOVQ_S : X86_VMOVD_S, p->reg[0], 0, x86_of_reg(scratch),
                    (x86_opt){.length = 2});
        else
            x86_load(g->code, wide ? 8 : 4, scratch, x86_frame(p->slot));
        return scratch;
    }
    if (p->in_reg)
        return p->reg[0];
    x86_load(g->code, 8, scratch, x86_frame(p->slot));
    return scratch;
}

void x86_word_into(x86_gen *g, ir_ref r, uint8_t reg)
{
    uint8_t in = x86_word(g, r, reg);
    if (in != reg)
        x86_mov(g->code, true, reg, in);
}

x86_src x86_real_src(x86_gen *g, ir_ref r)
{
    uint64_t bits;
    bool wide = x86_is_wide(g, r);
    if (ir_const_bits(g->f, r, &bits))
        return x86_of_mem(x86_pool(g->code, &bits, wide ? 8 : 4, wide ? 8 : 4));
    const x86_place *p = &g->places[r];
    if (p->class == CLASS_REAL)
        return p->in_reg ? x86_of_reg(p->reg[0]) : x86_of_mem(x86_frame(p->slot));
    promised(g, r, RAX);
    x86_vec(g->code, wide ? X86_VMOVQ : X86_VMOVD, VS3, 0, x86_of_reg(RAX), (x86_opt){.length = 2});
    return x86_of_reg(VS3);
}

uint8_t x86_real(x86_gen *g, ir_ref r, uint8_t scratch)
{
    x86_src s = x86_real_src(g, r);
    if (!s.is_mem)
        return s.reg;
    x86_vec(g->code, x86_is_wide(g, r) ? X86_VMOVSD : X86_VMOVSS, scratch, 0, s,
            (x86_opt){.length = 2});
    return scratch;
}

uint8_t x86_mask_word(x86_gen *g, ir_ref r, uint8_t scratch)
{
    uint64_t bits;
    if (ir_const_bits(g->f, r, &bits)) {
        x86_mov_imm(g->code, scratch, bits & 1 ? UINT32_MAX : 0);
        return scratch;
    }
    const x86_place *p = &g->places[r];
    if (p->class == CLASS_WORD) { // 0 or 1
        x86_mov(g->code, false, scratch, x86_word(g, r, scratch));
        x86_neg(g->code, false, scratch);
        return scratch;
    }
    if (p->in_reg)
        return p->reg[0];
    x86_load(g->code, 4, scratch, x86_frame(p->slot));
    return scratch;
}

// --- lanes
x86_src x86_number(x86_gen *g, bool wide, uint64_t bits)
{
    x86_src s = x86_of_mem(x86_pool(g->code, &bits, wide ? 8 : 4, wide ? 8 : 4));
    s.is_broadcast = true;
    return s;
}

x86_src x86_steps(x86_gen *g, bool wide, int64_t step, uint32_t part)
{
    union {
        uint32_t u4[16];
        uint64_t u8[8];
    } v;
    for (uint32_t k = 0; wide && k < 8; k++)
        v.u8[k] = (uint64_t)step * (part * 8 + k);
    for (uint32_t k = 0; !wide && k < 16; k++)
        v.u4[k] = (uint32_t)step * (part * 16 + k);
    return x86_of_mem(x86_pool(g->code, &v, sizeof v, 64));
}

x86_src x86_part(x86_gen *g, ir_ref r, uint32_t part, uint8_t scratch)
{
    bool wide = x86_is_wide(g, r);
    uint64_t bits;
    if (ir_const_bits(g->f, r, &bits))
        return x86_number(g, wide, bits);
    const x86_place *p = &g->places[r];
    if (is_lanes(g, r))
        return p->in_reg ? x86_of_reg(p->reg[part])
                         : x86_of_mem(x86_frame(p->slot + 64 * (int32_t)part));
    shape s = cpu_shape(&g->c, x86_like(g, r));
    if (p->in_reg) {
        x86_ins from_word = wide ? X86_VPBROADCASTQ : X86_VPBROADCASTD;
        x86_ins from_real = wide ? X86_VBROADCASTSD : X86_VBROADCASTSS;
        x86_vec(g->code, p->class == CLASS_REAL ? from_real : from_word, scratch, 0,
                x86_of_reg(p->reg[0]), (x86_opt){0});
    } else if (s.held == HELD_ONE) {
        x86_src from = x86_of_mem(x86_frame(p->slot));
        from.is_broadcast = true;
        return from;
    } else {
        x86_vec(g->code, wide ? X86_VBROADCASTSD : X86_VBROADCASTSS, scratch, 0,
                x86_of_mem(x86_frame(p->slot)), (x86_opt){0});
    }
    if (s.held == HELD_ROW)
        x86_vec(g->code, wide ? X86_VPADDQ : X86_VPADDD, scratch, scratch,
                x86_steps(g, wide, s.step, part), (x86_opt){0});
    return x86_of_reg(scratch);
}

uint8_t x86_part_reg(x86_gen *g, ir_ref r, uint32_t part, uint8_t scratch)
{
    x86_src s = x86_part(g, r, part, scratch);
    bool wide = x86_is_wide(g, r);
    if (!s.is_mem)
        return s.reg;
    if (s.is_broadcast) {
        s.is_broadcast = false;
        x86_vec(g->code, wide ? X86_VBROADCASTSD : X86_VBROADCASTSS, scratch, 0, s, (x86_opt){0});
    } else {
        x86_vec(g->code, X86_VMOVDQU32, scratch, 0, s, (x86_opt){0});
    }
    return scratch;
}

// --- results
uint8_t x86_to(const x86_gen *g, ir_ref r, uint32_t part, uint8_t scratch)
{
    return g->places[r].in_reg ? g->places[r].reg[part] : scratch;
}

void x86_put(x86_gen *g, ir_ref r, uint32_t part, uint8_t reg)
{
    const x86_place *p = &g->places[r];
    if (p->class == CLASS_NONE)
        return;
    if (p->class == CLASS_REAL) {
        bool wide = x86_is_wide(g, r);
        if (!p->in_reg)
            x86_vec(g->code, wide ? X86_VMOVSD_S : X86_VMOVSS_S, reg, 0,
                    x86_of_mem(x86_frame(p->slot)), (x86_opt){.length = 2});
        else if (p->reg[0] != reg)
            x86_vec(g->code, X86_VMOVDQU32, p->reg[0], 0, x86_of_reg(reg), (x86_opt){.length = 2});
        return;
    }
    if (!p->in_reg)
        x86_vec(g->code, X86_VMOVDQU32_S, reg, 0,
                x86_of_mem(x86_frame(p->slot + 64 * (int32_t)part)), (x86_opt){0});
    else if (p->reg[part] != reg)
        x86_vec(g->code, X86_VMOVDQU32, p->reg[part], 0, x86_of_reg(reg), (x86_opt){0});
}

void x86_put_word(x86_gen *g, ir_ref r, uint8_t reg)
{
    const x86_place *p = &g->places[r];
    if (p->class == CLASS_NONE)
        return;
    if (p->class == CLASS_REAL) { // its bits
        bool wide = x86_is_wide(g, r);
        if (p->in_reg)
            x86_vec(g->code, wide ? X86_VMOVQ : X86_VMOVD, p->reg[0], 0, x86_of_reg(reg),
                    (x86_opt){.length = 2});
        else
            x86_store(g->code, 8, x86_frame(p->slot), reg);
    } else if (!p->in_reg) {
        x86_store(g->code, 8, x86_frame(p->slot), reg);
    } else if (p->reg[0] != reg) {
        x86_mov(g->code, true, p->reg[0], reg);
    }
}

void x86_keep_lanes(x86_gen *g, ir_ref r, int32_t slot)
{
    ir_type t = x86_type(g, r);
    if (t == IR_I1) {
        x86_store(g->code, 4, x86_frame(slot), x86_mask_word(g, r, RAX));
        return;
    }
    for (uint32_t k = 0; k < (ctext_is_wide(t) ? 4u : 2u); k++)
        x86_vec(g->code, X86_VMOVDQU32_S, x86_part_reg(g, r, k, VS0), 0,
                x86_of_mem(x86_frame(slot + 64 * (int32_t)k)), (x86_opt){0});
}

void x86_load_lanes(x86_gen *g, ir_ref r, int32_t slot)
{
    const x86_place *p = &g->places[r];
    if (p->class == CLASS_NONE)
        return;
    if (p->class == CLASS_MASK) {
        x86_load(g->code, 4, RAX, x86_frame(slot));
        x86_put_word(g, r, RAX);
        return;
    }
    for (uint32_t k = 0; k < x86_parts((x86_class)p->class); k++) {
        uint8_t to = x86_to(g, r, k, VS0);
        x86_vec(g->code, X86_VMOVDQU32, to, 0, x86_of_mem(x86_frame(slot + 64 * (int32_t)k)),
                (x86_opt){0});
        x86_put(g, r, k, to);
    }
}

// --- calls
void x86_step(x86_gen *g, uint32_t position)
{
    uint32_t kept = 0;
    g->here = position;
    for (; g->next_start < g->by_start.len &&
           g->lives[g->by_start.at[g->next_start]].from <= position;
         g->next_start++)
        if (g->places[g->by_start.at[g->next_start]].in_reg)
            vec_push(g->a, &g->active, g->by_start.at[g->next_start]);
    for (uint32_t k = 0; k < g->active.len; k++)
        if (g->lives[g->active.at[k]].to >= position)
            g->active.at[kept++] = g->active.at[k];
    g->active.len = kept;
}

// Values in registers that a call loses, to their slots or from there.
static void move_kept(x86_gen *g, bool back)
{
    static const uint32_t kept = 1u << RBP | 1u << R12 | 1u << R13 | 1u << R14 | 1u << R15;
    for (uint32_t k = 0; k < g->active.len; k++) {
        ir_ref r = g->active.at[k];
        x86_place *p = &g->places[r];
        bool is_word = p->class == CLASS_WORD || p->class == CLASS_MASK;
        if (!p->in_reg || g->lives[r].from >= g->here + g->has_results ||
            g->lives[r].to < g->here || (is_word && kept >> p->reg[0] & 1))
            continue;
        if (p->slot < 0)
            p->slot = x86_slot(g, p->class >= CLASS_V4 ? 256 : 8, p->class >= CLASS_V4 ? 64 : 8);
        for (uint32_t n = 0; n < x86_parts((x86_class)p->class); n++) {
            x86_mem m = x86_frame(p->slot + 64 * (int32_t)n);
            if (is_word && back)
                x86_load(g->code, 8, p->reg[0], m);
            else if (is_word)
                x86_store(g->code, 8, m, p->reg[0]);
            else if (p->class == CLASS_REAL)
                x86_vec(g->code, back ? X86_VMOVSD : X86_VMOVSD_S, p->reg[0], 0, x86_of_mem(m),
                        (x86_opt){.length = 2});
            else
                x86_vec(g->code, back ? X86_VMOVDQU32 : X86_VMOVDQU32_S, p->reg[n], 0,
                        x86_of_mem(m), (x86_opt){0});
        }
    }
}

void x86_before_call(x86_gen *g)
{
    move_kept(g, false);
    x86_byte(g->code, 0xc5); // vzeroupper
    x86_byte(g->code, 0xf8);
    x86_byte(g->code, 0x77);
}

void x86_after_call(x86_gen *g)
{
    move_kept(g, true);
    x86_k_forget(g);
}

void x86_call_helper(x86_gen *g, x86_helper *helper, const x86_info *info)
{
    uint64_t address = 0;
    memcpy(&address, &helper, sizeof helper);
    x86_before_call(g);
    x86_mov(g->code, true, RDI, RBX);
    x86_lea(g->code, RSI, x86_frame(g->buffers));
    x86_lea(g->code, RDX, x86_pool(g->code, info, sizeof *info, 8));
    x86_active(g, RCX);
    x86_mov_imm(g->code, RAX, address);
    x86_call_reg(g->code, RAX);
    x86_after_call(g);
}
