// Instructions as bytes: prefixes, opcode, operands, displacement. General registers take REX
// forms, mask registers VEX, vectors EVEX, always; that is a byte or two more than the shortest
// form and one case less each. Jumps have 32 bits. Start reading at x86_vec.
#include "back/x86/encode.h"

#include <string.h>

enum { JUMP = 0xe9 };

typedef struct ins_row {
    uint8_t prefix, map, w, opcode, bytes;
} ins_row;

static const ins_row rows[X86_INS_COUNT] = {
#define V(name, prefix, map, w, opcode, bytes) {prefix, map, w, opcode, bytes},
#include "back/x86/encode.def"
#undef V
};

void x86_byte(x86_code *c, uint8_t byte)
{
    vec_push(c->a, &c->bytes, byte);
}

static void put32(x86_code *c, uint32_t value)
{
    for (int k = 0; k < 32; k += 8)
        x86_byte(c, (uint8_t)(value >> k));
}

// --- the pool
static uint64_t hash_of(const uint8_t *bytes, uint32_t len, uint32_t align)
{
    uint64_t hash = 1469598103934665603u ^ len ^ (uint64_t)align << 32;
    for (uint32_t k = 0; k < len; k++)
        hash = (hash ^ bytes[k]) * 1099511628211u;
    return hash;
}

x86_mem x86_pool(x86_code *c, const void *bytes, uint32_t len, uint32_t align)
{
    uint64_t *found = map_at(&c->pool_index, hash_of(bytes, len, align)); // place + 1
    uint32_t at = (uint32_t)*found - 1;
    if (!*found || at + len > c->pool.len || memcmp(c->pool.at + at, bytes, len)) {
        while (c->pool.len % align)
            vec_push(c->a, &c->pool, 0);
        at = c->pool.len;
        *found = at + 1;
        vec_reserve(c->a, &c->pool, at + len);
        memcpy(c->pool.at + at, bytes, len);
        c->pool.len += len;
    }
    return (x86_mem){.is_pool = true, .disp = (int32_t)at};
}

// --- labels
uint32_t x86_label(x86_code *c)
{
    vec_push(c->a, &c->labels, UINT32_MAX);
    return c->labels.len - 1;
}

// A jump to what follows it is taken back, unless another label marks its end.
void x86_bind(x86_code *c, uint32_t label)
{
    const x86_fixup *last = c->jumps.len ? &vec_last(&c->jumps) : NULL;
    if (last && last->to == label && last->end == c->bytes.len && c->last_bound != c->bytes.len &&
        c->bytes.at[last->at - 1] == JUMP) {
        c->bytes.len -= 5;
        c->jumps.len--;
    }
    c->labels.at[label] = c->last_bound = c->bytes.len;
}

static void jump_to(x86_code *c, uint32_t label)
{
    put32(c, 0);
    vec_push(c->a, &c->jumps, (x86_fixup){c->bytes.len - 4, c->bytes.len, label});
}

void x86_jump(x86_code *c, uint32_t label)
{
    x86_byte(c, JUMP);
    jump_to(c, label);
}

void x86_jump_if(x86_code *c, x86_when when, uint32_t label)
{
    x86_byte(c, 0x0f);
    x86_byte(c, (uint8_t)(0x80 + when));
    jump_to(c, label);
}

static void patch(x86_code *c, const x86_fixup *f, uint32_t target)
{
    uint32_t distance = target - f->end;
    memcpy(c->bytes.at + f->at, &distance, sizeof distance);
}

void x86_link(x86_code *c)
{
    while (c->bytes.len % 64)
        x86_byte(c, 0xcc);
    uint32_t pool = c->bytes.len;
    for (uint32_t k = 0; k < c->jumps.len; k++)
        patch(c, &c->jumps.at[k], c->labels.at[c->jumps.at[k].to]);
    for (uint32_t k = 0; k < c->pooled.len; k++)
        patch(c, &c->pooled.at[k], pool + c->pooled.at[k].to);
    for (uint32_t k = 0; k < c->pool.len; k++)
        x86_byte(c, c->pool.at[k]);
}

// --- operands
static void put_mod(x86_code *c, uint8_t mod, uint8_t reg, uint8_t rm)
{
    x86_byte(c, (uint8_t)(mod << 6 | (reg & 7) << 3 | (rm & 7)));
}

// `unit`: the bytes a short displacement counts in; 0: long ones only.
static void put_mem(x86_code *c, uint8_t reg, x86_mem m, uint32_t unit)
{
    if (m.is_pool) {
        put_mod(c, 0, reg, 5);
        put32(c, 0);
        vec_push(c->a, &c->pooled, (x86_fixup){c->bytes.len - 4, 0, (uint32_t)m.disp});
        return;
    }
    bool has_sib = m.has_index || !m.has_base || (m.base & 7) == RSP;
    int32_t units = unit ? m.disp / (int32_t)unit : 0;
    bool is_short =
        unit && m.has_base && m.disp % (int32_t)unit == 0 && units >= -128 && units <= 127;
    uint8_t mod = !m.has_base ? 0 : is_short ? 1 : 2;
    put_mod(c, mod, reg, has_sib ? 4 : m.base);
    if (has_sib)
        x86_byte(c, (uint8_t)(m.scale << 6 | (m.has_index ? m.index & 7 : 4) << 3 |
                              (m.has_base ? m.base & 7 : 5)));
    if (is_short)
        x86_byte(c, (uint8_t)units);
    else
        put32(c, (uint32_t)m.disp);
}

// The instruction ends here: distances to the pool count from its end.
static void finish(x86_code *c, uint32_t pooled_before)
{
    if (c->pooled.len > pooled_before)
        vec_last(&c->pooled).end = c->bytes.len;
}

// --- general registers
static void put_rex(x86_code *c, bool wide, uint8_t reg, uint8_t index, uint8_t base)
{
    x86_byte(c, (uint8_t)(0x40 | (wide ? 8 : 0) | (reg >> 3 & 1) << 2 | (index >> 3 & 1) << 1 |
                          (base >> 3 & 1)));
}

// One or two bytes of opcode (0x0f..), operands register and register.
static void put_rr(x86_code *c, bool wide, uint32_t opcode, uint8_t reg, uint8_t rm)
{
    put_rex(c, wide, reg, 0, rm);
    if (opcode > 0xff)
        x86_byte(c, (uint8_t)(opcode >> 8));
    x86_byte(c, (uint8_t)opcode);
    put_mod(c, 3, reg, rm);
}

static void put_rm(x86_code *c, bool wide, uint32_t opcode, uint8_t reg, x86_mem m)
{
    uint32_t before = c->pooled.len;
    put_rex(c, wide, reg, m.has_index ? m.index : 0, m.has_base ? m.base : 0);
    if (opcode > 0xff)
        x86_byte(c, (uint8_t)(opcode >> 8));
    x86_byte(c, (uint8_t)opcode);
    put_mem(c, reg, m, 1);
    finish(c, before);
}

void x86_mov(x86_code *c, bool wide, uint8_t to, uint8_t from)
{
    if (to != from || !wide)
        put_rr(c, wide, 0x8b, to, from);
}

void x86_mov_imm(x86_code *c, uint8_t to, uint64_t value)
{
    if (!value) {
        put_rr(c, false, 0x33, to, to);
    } else if (value <= UINT32_MAX) {
        put_rex(c, false, 0, 0, to);
        x86_byte(c, (uint8_t)(0xb8 | (to & 7)));
        put32(c, (uint32_t)value);
    } else if (value >= (uint64_t)0 - 0x80000000u) {
        put_rr(c, true, 0xc7, 0, to);
        put32(c, (uint32_t)value);
    } else {
        put_rex(c, true, 0, 0, to);
        x86_byte(c, (uint8_t)(0xb8 | (to & 7)));
        put32(c, (uint32_t)value);
        put32(c, (uint32_t)(value >> 32));
    }
}

void x86_load(x86_code *c, uint32_t size, uint8_t to, x86_mem from)
{
    put_rm(c, size == 8, size == 1 ? 0x0fb6 : size == 2 ? 0x0fb7 : 0x8b, to, from);
}

void x86_store(x86_code *c, uint32_t size, x86_mem to, uint8_t from)
{
    if (size == 2)
        x86_byte(c, 0x66);
    put_rm(c, size == 8, size == 1 ? 0x88 : 0x89, from, to);
}

void x86_store_imm(x86_code *c, bool wide, x86_mem to, int32_t value)
{
    put_rm(c, wide, 0xc7, 0, to);
    put32(c, (uint32_t)value);
}

void x86_lea(x86_code *c, uint8_t to, x86_mem from)
{
    put_rm(c, true, 0x8d, to, from);
}

void x86_alu_reg(x86_code *c, x86_alu op, bool wide, uint8_t to, uint8_t from)
{
    put_rr(c, wide, (uint32_t)op * 8 + 3, to, from);
}

void x86_alu_mem(x86_code *c, x86_alu op, bool wide, uint8_t to, x86_mem from)
{
    put_rm(c, wide, (uint32_t)op * 8 + 3, to, from);
}

void x86_alu_to_mem(x86_code *c, x86_alu op, bool wide, x86_mem to, uint8_t from)
{
    put_rm(c, wide, (uint32_t)op * 8 + 1, from, to);
}

static bool is_byte(int32_t value)
{
    return value >= -128 && value <= 127;
}

static void put_imm(x86_code *c, int32_t value)
{
    if (is_byte(value))
        x86_byte(c, (uint8_t)value);
    else
        put32(c, (uint32_t)value);
}

void x86_alu_imm(x86_code *c, x86_alu op, bool wide, uint8_t to, int32_t value)
{
    put_rr(c, wide, is_byte(value) ? 0x83 : 0x81, (uint8_t)op, to);
    put_imm(c, value);
}

void x86_alu_mem_imm(x86_code *c, x86_alu op, bool wide, x86_mem to, int32_t value)
{
    put_rm(c, wide, is_byte(value) ? 0x83 : 0x81, (uint8_t)op, to);
    put_imm(c, value);
}

void x86_test(x86_code *c, bool wide, uint8_t a, uint8_t b)
{
    put_rr(c, wide, 0x85, a, b);
}

void x86_mul(x86_code *c, bool wide, uint8_t to, uint8_t by)
{
    put_rr(c, wide, 0x0faf, to, by);
}

void x86_neg(x86_code *c, bool wide, uint8_t reg)
{
    put_rr(c, wide, 0xf7, 3, reg);
}

void x86_not(x86_code *c, bool wide, uint8_t reg)
{
    put_rr(c, wide, 0xf7, 2, reg);
}

void x86_shift_cl(x86_code *c, x86_shift op, bool wide, uint8_t reg)
{
    put_rr(c, wide, 0xd3, (uint8_t)op, reg);
}

void x86_shift_imm(x86_code *c, x86_shift op, bool wide, uint8_t reg, uint8_t count)
{
    put_rr(c, wide, 0xc1, (uint8_t)op, reg);
    x86_byte(c, count);
}

void x86_set(x86_code *c, x86_when when, uint8_t reg)
{
    put_rr(c, false, 0x0f90 + (uint32_t)when, 0, reg);
    put_rr(c, false, 0x0fb6, reg, reg);
}

void x86_cmov(x86_code *c, x86_when when, bool wide, uint8_t to, uint8_t from)
{
    put_rr(c, wide, 0x0f40 + (uint32_t)when, to, from);
}

void x86_count(x86_code *c, uint8_t opcode, bool wide, uint8_t to, uint8_t from)
{
    x86_byte(c, 0xf3);
    put_rr(c, wide, 0x0f00u | opcode, to, from);
}

void x86_extend(x86_code *c, uint32_t from_size, bool wide, uint8_t to, uint8_t from)
{
    put_rr(c, wide, from_size == 1 ? 0x0fbe : from_size == 2 ? 0x0fbf : 0x63, to, from);
}

void x86_push(x86_code *c, uint8_t reg)
{
    put_rex(c, false, 0, 0, reg);
    x86_byte(c, (uint8_t)(0x50 | (reg & 7)));
}

void x86_pop(x86_code *c, uint8_t reg)
{
    put_rex(c, false, 0, 0, reg);
    x86_byte(c, (uint8_t)(0x58 | (reg & 7)));
}

void x86_call_reg(x86_code *c, uint8_t reg)
{
    put_rr(c, false, 0xff, 2, reg);
}

void x86_call_mem(x86_code *c, x86_mem at)
{
    put_rm(c, false, 0xff, 2, at);
}

// --- mask registers
typedef struct vex {
    uint8_t prefix, map, w, length, opcode;
} vex;

static void put_vex(x86_code *c, vex v, uint8_t reg, uint8_t second, uint8_t rm)
{
    x86_byte(c, 0xc4);
    x86_byte(c, (uint8_t)((~(reg >> 3) & 1) << 7 | 1 << 6 | (~(rm >> 3) & 1) << 5 | v.map));
    x86_byte(c, (uint8_t)(v.w << 7 | (~second & 15) << 3 | v.length << 2 | v.prefix));
    x86_byte(c, v.opcode);
}

static void vex_rr(x86_code *c, vex v, uint8_t reg, uint8_t second, uint8_t rm)
{
    put_vex(c, v, reg, second, rm);
    put_mod(c, 3, reg, rm);
}

void x86_k_from(x86_code *c, uint8_t k, uint8_t reg)
{
    vex_rr(c, (vex){3, 1, 0, 0, 0x92}, k, 0, reg);
}

void x86_k_to(x86_code *c, uint8_t reg, uint8_t k)
{
    vex_rr(c, (vex){3, 1, 0, 0, 0x93}, reg, 0, k);
}

void x86_k_mov(x86_code *c, uint8_t to, uint8_t from)
{
    vex_rr(c, (vex){1, 1, 1, 0, 0x90}, to, 0, from);
}

void x86_k_load(x86_code *c, uint8_t k, x86_mem from)
{
    uint32_t before = c->pooled.len;
    put_vex(c, (vex){1, 1, 1, 0, 0x90}, k, 0, from.has_base ? from.base : 0);
    put_mem(c, k, from, 1);
    finish(c, before);
}

void x86_k_shift_right(x86_code *c, uint8_t to, uint8_t from, uint8_t count)
{
    vex_rr(c, (vex){1, 3, 0, 0, 0x31}, to, 0, from);
    x86_byte(c, count);
}

void x86_k_unpack(x86_code *c, uint32_t bits, uint8_t to, uint8_t high, uint8_t low)
{
    vex_rr(c, (vex){bits == 8, 1, 0, 1, 0x4b}, to, high, low);
}

void x86_k_and(x86_code *c, uint8_t to, uint8_t a, uint8_t b)
{
    vex_rr(c, (vex){1, 1, 1, 1, 0x41}, to, a, b);
}

void x86_k_or(x86_code *c, uint8_t to, uint8_t a, uint8_t b)
{
    vex_rr(c, (vex){1, 1, 1, 1, 0x45}, to, a, b);
}

void x86_andn(x86_code *c, uint8_t to, uint8_t not_this, uint8_t and_this)
{
    vex_rr(c, (vex){0, 2, 0, 0, 0xf2}, to, not_this, and_this);
}

void x86_pdep(x86_code *c, uint8_t to, uint8_t bits, uint8_t places)
{
    vex_rr(c, (vex){3, 2, 0, 0, 0xf5}, to, bits, places);
}

void x86_blsr(x86_code *c, uint8_t to, uint8_t from)
{
    vex_rr(c, (vex){0, 2, 0, 0, 0xf3}, 1, to, from);
}

// --- vectors
typedef struct evex { // the bits that registers give
    uint8_t reg, second, x, b;
    bool no_second_high; // V' belongs to the index of a gather
    uint8_t index_high;
} evex;

static void put_evex(x86_code *c, const ins_row *r, evex e, bool is_broadcast, x86_opt o)
{
    static const uint8_t lengths[] = {2, 1, 0};
    uint8_t high = e.no_second_high ? e.index_high : e.second >> 4;
    bool w = r->w || o.wide;
    x86_byte(c, 0x62);
    x86_byte(c, (uint8_t)((~(e.reg >> 3) & 1) << 7 | (~e.x & 1) << 6 | (~e.b & 1) << 5 |
                          (~(e.reg >> 4) & 1) << 4 | r->map));
    x86_byte(c, (uint8_t)((w ? 0x80 : 0) | (~e.second & 15) << 3 | 4 | r->prefix));
    x86_byte(c, (uint8_t)((o.zero ? 0x80 : 0) | lengths[o.length] << 5 | (is_broadcast ? 16 : 0) |
                          (~high & 1) << 3 | o.k));
    x86_byte(c, r->opcode);
}

void x86_vec(x86_code *c, x86_ins ins, uint8_t reg, uint8_t second, x86_src last, x86_opt opt)
{
    const ins_row *r = &rows[ins];
    uint32_t before = c->pooled.len;
    if (last.is_mem) {
        const x86_mem *m = &last.mem;
        evex e = {.reg = reg,
                  .second = second,
                  .x = m->has_index ? m->index >> 3 : 0,
                  .b = m->has_base ? m->base >> 3 : 0};
        uint32_t unit = last.is_broadcast              ? (r->w || opt.wide ? 8 : 4)
                        : opt.length && r->bytes >= 16 ? 0
                                                       : r->bytes;
        put_evex(c, r, e, last.is_broadcast, opt);
        put_mem(c, reg, *m, unit);
    } else {
        evex e = {.reg = reg, .second = second, .x = last.reg >> 4, .b = last.reg >> 3};
        put_evex(c, r, e, false, opt);
        put_mod(c, 3, reg, last.reg);
    }
    if (opt.has_imm)
        x86_byte(c, opt.imm);
    finish(c, before);
}

void x86_vec_indexed(x86_code *c, x86_ins ins, uint8_t reg, x86_mem mem, uint8_t vector, uint8_t k)
{
    evex e = {.reg = reg,
              .x = vector >> 3,
              .b = mem.has_base ? mem.base >> 3 : 0,
              .no_second_high = true,
              .index_high = vector >> 4};
    mem.has_index = true;
    mem.index = vector & 7;
    put_evex(c, &rows[ins], e, false, (x86_opt){.k = k});
    put_mem(c, reg, mem, 0);
}
