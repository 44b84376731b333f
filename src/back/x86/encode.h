// Bytes of x86-64 instructions: general registers, vectors of 512 bits (EVEX), mask registers
// (VEX), jumps to labels, and a pool of constants behind the code. Knows nothing about kernels.
#ifndef KILN_BACK_X86_ENCODE_H
#define KILN_BACK_X86_ENCODE_H

#include "base/map.h"
#include "base/vec.h"

// clang-format off
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
typedef enum x86_ins {
#define V(name, prefix, map, w, opcode, bytes) X86_##name,
#include "back/x86/encode.def"
#undef V
    X86_INS_COUNT
} x86_ins;

// The /r or /n numbers of the eight ALU operations.
typedef enum x86_alu { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP } x86_alu;
typedef enum x86_shift { SHIFT_LEFT = 4, SHIFT_RIGHT = 5, SHIFT_SIGNED = 7 } x86_shift;
typedef enum x86_when { WHEN_BELOW = 2, WHEN_NOT_BELOW, WHEN_ZERO, WHEN_NOT_ZERO, WHEN_NOT_ABOVE, WHEN_ABOVE,
                        WHEN_LESS = 12, WHEN_NOT_LESS, WHEN_NOT_GREATER, WHEN_GREATER } x86_when;
// clang-format on

typedef struct x86_mem { // [base + index << scale + disp], or a place in the pool
    uint8_t base, index, scale;
    bool has_base, has_index, is_pool;
    int32_t disp;
} x86_mem;

typedef struct x86_src { // the last operand of a vector instruction
    bool is_mem, is_broadcast;
    uint8_t reg;
    x86_mem mem;
} x86_src;

typedef struct x86_fixup {
    uint32_t at, end; // the 32 bits, and the end of their instruction
    uint32_t to;      // a label, or a place in the pool
} x86_fixup;

typedef struct x86_code {
    arena *a;
    vec(uint8_t) bytes;
    vec(uint8_t) pool;
    map pool_index;       // by a hash of the bytes: where they are in the pool, + 1
    vec(uint32_t) labels; // where they are; UINT32_MAX: not yet
    vec(x86_fixup) jumps, pooled;
    uint32_t last_bound; // where the last label is
} x86_code;

// --- operands
static inline x86_mem x86_at(uint8_t base, int32_t disp)
{
    return (x86_mem){.base = base, .has_base = true, .disp = disp};
}
static inline x86_src x86_of_reg(uint8_t reg)
{
    return (x86_src){.reg = reg};
}
static inline x86_src x86_of_mem(x86_mem m)
{
    return (x86_src){.is_mem = true, .mem = m};
}
// Puts bytes into the pool, or finds them there. `align` is a power of two up to 64.
x86_mem x86_pool(x86_code *c, const void *bytes, uint32_t len, uint32_t align);

// --- labels
uint32_t x86_label(x86_code *c);
void x86_bind(x86_code *c, uint32_t label);
void x86_jump(x86_code *c, uint32_t label);
void x86_jump_if(x86_code *c, x86_when when, uint32_t label);
// The pool goes behind the code; every label must be bound.
void x86_link(x86_code *c);

// --- general registers; `wide`: 64 bits
void x86_mov(x86_code *c, bool wide, uint8_t to, uint8_t from);
void x86_mov_imm(x86_code *c, uint8_t to, uint64_t value);
void x86_load(x86_code *c, uint32_t size, uint8_t to, x86_mem from); // zero-extends
void x86_store(x86_code *c, uint32_t size, x86_mem to, uint8_t from);
void x86_store_imm(x86_code *c, bool wide, x86_mem to, int32_t value);
void x86_lea(x86_code *c, uint8_t to, x86_mem from);
void x86_alu_reg(x86_code *c, x86_alu op, bool wide, uint8_t to, uint8_t from);
void x86_alu_mem(x86_code *c, x86_alu op, bool wide, uint8_t to, x86_mem from);
void x86_alu_imm(x86_code *c, x86_alu op, bool wide, uint8_t to, int32_t value);
void x86_alu_mem_imm(x86_code *c, x86_alu op, bool wide, x86_mem to, int32_t value);
void x86_alu_to_mem(x86_code *c, x86_alu op, bool wide, x86_mem to, uint8_t from);
void x86_test(x86_code *c, bool wide, uint8_t a, uint8_t b);
void x86_mul(x86_code *c, bool wide, uint8_t to, uint8_t by);
void x86_neg(x86_code *c, bool wide, uint8_t reg);
void x86_not(x86_code *c, bool wide, uint8_t reg);
void x86_shift_cl(x86_code *c, x86_shift op, bool wide, uint8_t reg);
void x86_shift_imm(x86_code *c, x86_shift op, bool wide, uint8_t reg, uint8_t count);
void x86_set(x86_code *c, x86_when when, uint8_t reg); // 0 or 1 in all 32 bits; not RSP to RDI
void x86_cmov(x86_code *c, x86_when when, bool wide, uint8_t to, uint8_t from);
// opcode after F3 0F (tzcnt, lzcnt, popcnt)
void x86_count(x86_code *c, uint8_t opcode, bool wide, uint8_t to, uint8_t from);
void x86_extend(x86_code *c, uint32_t from_size, bool wide, uint8_t to, uint8_t from); // signed
void x86_push(x86_code *c, uint8_t reg);
void x86_pop(x86_code *c, uint8_t reg);
void x86_call_reg(x86_code *c, uint8_t reg);
void x86_call_mem(x86_code *c, x86_mem at);
void x86_byte(x86_code *c, uint8_t byte);

// --- vectors
typedef struct x86_opt { // of one vector instruction; zero is usual
    uint8_t k;           // mask register; 0: none
    bool zero;           // lanes that are off become 0
    uint8_t length;      // 0: 512 bits, 1: 256, 2: 128
    bool has_imm;
    uint8_t imm;
    bool wide; // W 1 in spite of the table
} x86_opt;
void x86_vec(x86_code *c, x86_ins ins, uint8_t reg, uint8_t second, x86_src last, x86_opt opt);
// Gathers and scatters: `vector` is the index of mem; k is used up.
void x86_vec_indexed(x86_code *c, x86_ins ins, uint8_t reg, x86_mem mem, uint8_t vector, uint8_t k);

// --- mask registers, 32 bits
void x86_k_from(x86_code *c, uint8_t k, uint8_t reg);
void x86_k_to(x86_code *c, uint8_t reg, uint8_t k);
void x86_k_load(x86_code *c, uint8_t k, x86_mem from);
void x86_k_shift_right(x86_code *c, uint8_t to, uint8_t from, uint8_t count);
void x86_k_unpack(x86_code *c, uint32_t bits, uint8_t to, uint8_t high, uint8_t low); // 8 or 16
void x86_k_and(x86_code *c, uint8_t to, uint8_t a, uint8_t b);
void x86_k_or(x86_code *c, uint8_t to, uint8_t a, uint8_t b);
void x86_k_mov(x86_code *c, uint8_t to, uint8_t from);
void x86_andn(x86_code *c, uint8_t to, uint8_t not_this, uint8_t and_this);
void x86_pdep(x86_code *c, uint8_t to, uint8_t bits, uint8_t places);
void x86_blsr(x86_code *c, uint8_t to, uint8_t from); // without its lowest bit

#endif
