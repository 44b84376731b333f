// The rows of nv.def as data, and the shape of the matrix instructions.
//
// A matrix instruction multiplies A (M x K) and B (K x N) and adds the product to an accumulator
// held in registers. Its imm is an nv_shape packed by nv_pack. Fragments (which lane holds which
// element) are those of the PTX manual:
//   mma    M 16, N 8;  accumulator 4 words (2 when it is f16), a 4 or 2 words, b 2 or 1 words
//   wgmma  M 64 (16 rows per warp), N a multiple of 8 up to 256; accumulator N/2 words (N/4 when it
//   is f16); A and B are descriptors
//          of shared memory, or A four words
// Accumulator words are f32, or i32 for integers and for pairs of f16.
#ifndef KILN_IR_NV_H
#define KILN_IR_NV_H

#include "ir/ir.h"

typedef enum nv_op {
#define NV(e, name, operands, results, imm, copy, group, sm) NV_##e,
#include "ir/nv.def"
#undef NV
    NV_COUNT
} nv_op;

typedef enum nv_group { NV_LANE, NV_WARP, NV_WARPGROUP } nv_group;
typedef enum nv_imm { NV_IMM_NONE, NV_IMM_NUMBER, NV_IMM_SHAPE } nv_imm;
// clang-format off
typedef enum nv_copy { NV_COPY_NONE, NV_COPY_LOAD, NV_COPY_SEND, NV_COPY_STORE, NV_COPY_ADD } nv_copy;
// clang-format on

typedef struct nv_row {
    const char *name, *operands, *results;
    nv_imm imm;
    nv_copy copy;
    nv_group group;
    int sm; // 900: sm_90a only
} nv_row;

// clang-format off
typedef enum nv_elem { NV_F16, NV_BF16, NV_TF32, NV_E4M3, NV_E5M2, NV_S8, NV_U8, NV_F32, NV_S32, NV_ELEM_COUNT } nv_elem;
// clang-format on

typedef struct nv_shape {
    uint32_t n, k;
    nv_elem a, b, d;       // d: NV_F32, NV_F16 or NV_S32
    bool from_words;       // wgmma: A comes from registers
    bool a_is_mn, b_is_mn; // wgmma, 16-bit types: the operand is stored M- or N-contiguous
} nv_shape;

const nv_row *nv_row_at(nv_op op);
const nv_row *nv_row_of(const ir_inst *i); // of an IR_NV instruction
int nv_find(str name);                     // -1 when there is none
const char *nv_elem_name(nv_elem e);       // "bf16"
int nv_elem_find(str name);

// Does it wait at an mbarrier?
static inline bool nv_is_wait(nv_op op)
{
    return op == NV_MBAR_WAIT || op == NV_MBAR_WAIT_CLUSTER;
}

int64_t nv_pack(nv_shape s);
nv_shape nv_unpack(int64_t imm);
// "n256.k16.f32.bf16.bf16", then ".regs", ".amn", ".bmn" where they hold.
void nv_shape_text(nv_shape s, text *out);
bool nv_shape_read(str word, nv_shape *out);
uint32_t nv_elem_bytes(nv_elem e);
uint32_t nv_acc_words(nv_op op, nv_shape s); // registers of the accumulator
uint32_t nv_a_words(nv_op op, nv_shape s);   // mma, and wgmma from registers
uint32_t nv_b_words(nv_op op, nv_shape s);   // mma
ir_type nv_acc_type(nv_shape s);
// NULL when the hardware has that shape, else what is wrong with it.
const char *nv_shape_mistake(nv_op op, nv_shape s);

// NULL when operands and results of an IR_NV instruction are as its row says.
const char *nv_mistake(const ir_func *f, const ir_inst *i);
// True when it writes memory that plain loads can see.
bool nv_writes_global(nv_op op);
// The first nv instruction of a kernel, or 0: devices without them refuse it.
ir_inst_id nv_first(const ir_func *f);
bool nv_has_wgmma(const ir_func *f);

#endif
