// NVIDIA's machine code, run on the host: the output of ptxas is taken apart by nvdisasm and played
// instruction by instruction, warp by warp. What the assembler folds wrongly is seen without a GPU.
// Invariant: nothing is skipped. An opcode, a modifier or an operand that is not known here is an
// error that names it.
#ifndef KILN_TESTS_SASS_H
#define KILN_TESTS_SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SASS_REG_ZERO = 255, // reads as zero
    SASS_UREG_ZERO = 63,
    SASS_ALWAYS = 7, // always true
    SASS_LANES = 32,
    SASS_TEXT = 0x10000,        // where code begins: no valid address is 0
    SASS_SHARED_AT = 0x400,     // a block's own shared memory begins behind the system's
    SASS_SHARED_HIGH = 0x71000, // upper half of generic addresses of shared memory
    SASS_LOCAL_HIGH = 0x72000,  // and of a thread's stack
    SASS_PARAMETERS = 0x210,    // in constant bank 0
    SASS_BANKS = 5,
};

typedef enum sass_kind {
    SASS_REG,
    SASS_UREG,
    SASS_PRED,    // P0, PT, UP0, UPT
    SASS_BARRIER, // B0
    SASS_NUMBER,  // 0x10 or 1.5
    SASS_BANK,    // c[0x0][R2+0x210]
    SASS_MEMORY,  // [R2+UR4+0x10], desc[UR4][R2.64+0x10]
    SASS_LABEL,   // `(.L_x_1)
    SASS_SPECIAL, // SR_TID.X, PR
} sass_kind;

typedef struct sass_operand {
    sass_kind kind;
    bool is_negative, is_absolute, is_inverted; // -x |x| ~x !x
    bool is_uniform;                            // of a predicate
    bool is_decimal;                            // a number that was no 0x…: bits of a float
    bool is_wide;                               // .64: a pair of registers is the address
    uint8_t part;                               // 1 + n: .H0_H0, .H1_H1; 3 + n: .B0 to .B3
    uint8_t scale;                              // of an address: .X4, .X8, .X16
    int index;                                  // register, predicate, barrier, bank
    int base, ubase;                            // registers of an address, or -1
    int64_t value;                              // number, offset, address of a label
    char name[24];                              // of a special register
} sass_operand;

// What may stand behind an opcode, after dots
// clang-format off
#define SASS_MODS(M) \
    M(EX) M(X) M(U32) M(S32) M(U64) M(S64) M(U16) M(S16) M(U8) M(S8) M(F16) M(F32) M(F64) \
    M(BF16) M(64) M(128) M(32) M(HI) M(W) M(L) M(R) M(WIDE) M(MOV) M(SHL) M(IADD) M(LUT) M(SX32) \
    M(AND) M(OR) M(XOR) M(LT) M(LE) M(GT) M(GE) M(EQ) M(NE) M(LTU) M(LEU) M(GTU) M(GEU) M(EQU) \
    M(NEU) M(NUM) M(NAN) M(MIN) M(MAX) M(FTZ) M(SAT) M(RN) M(RM) M(RP) M(RZ) M(TRUNC) M(FLOOR) \
    M(CEIL) M(NTZ) M(RCP) M(RCP64H) M(RSQ) M(RSQ64H) M(SQRT) M(EX2) M(LG2) M(SIN) M(COS) M(TANH) \
    M(E) M(STRONG) M(GPU) M(SYS) M(CTA) M(SM) M(CONSTANT) M(LU) M(EF) M(EL) M(NA) M(ADD) M(INC) \
    M(DEC) M(EXCH) M(CAS) M(CAST) M(SPIN) M(POPC) M(ANY) M(ALL) M(UP) M(DOWN) M(BFLY) M(IDX) \
    M(SYNC) M(DEFER_BLOCKING) M(RED) M(ARV) M(SUM) M(PACK_AB) M(MMA) M(BF16_V2) M(4A) M(REL) \
    M(ABS) M(NOINC) M(NODEC) M(CLEAR) M(COLLECTIVE) M(DIV) M(TRAP) M(SC) M(IVALL) M(PF2) M(PF1) \
    M(BF) M(S) M(SH) M(RELU) M(U) M(RESULT) M(PAND) M(WEAK) M(PRIVATE) M(E5M2) M(E4M3) \
    M(UNPACK_B) M(SATFINITE) M(PACK_AB_MERGE_C) M(2A) M(LO)
// clang-format on

typedef enum sass_mod {
#define M(name) SASS_##name,
    SASS_MODS(M)
#undef M
        SASS_MOD_COUNT,
} sass_mod;

typedef struct sass_row sass_row;
typedef struct sass_inst {
    const sass_row *row;
    uint64_t mods[3];
    uint32_t mod_count;
    uint16_t mod_order[8]; // F2F and PRMT tell source and result by their order
    bool is_uniform;       // of the uniform pipe: once for a warp
    bool is_flow;          // lanes may go to several places, or wait
    int8_t guard;          // predicate, or -1
    bool guard_is_not, guard_is_uniform;
    uint8_t operand_count;
    sass_operand operands[12];
    uint32_t address;
    char text[120];
} sass_inst;

typedef struct sass_section {
    char name[200];
    uint32_t at, bytes; // of code
    uint8_t *data;      // of constants and variables
} sass_section;

typedef struct sass_program {
    sass_inst *insts;
    uint32_t inst_count;
    sass_section *sections;
    uint32_t section_count;
    struct sass_symbol {
        char name[200];
        uint32_t section;
        uint64_t value, bytes;
    } * symbols;
    uint32_t symbol_count;
} sass_program;

struct sass_block;
struct sass_warp;

typedef enum sass_state {
    SASS_READY,
    SASS_AT_BSYNC,    // waits for the lanes of a barrier register
    SASS_AT_WARPSYNC, // for the lanes of a mask
    SASS_AT_BAR,      // for the block
    SASS_EXITED,
} sass_state;

typedef struct sass_lane {
    uint32_t r[256];
    bool p[8];
    struct sass_warp *warp;
    uint32_t index; // in the warp
    uint32_t thread[3];
    uint32_t pc;
    sass_state state;
    uint32_t group;      // lanes of one number stand at one place and go on together
    uint32_t waits_for;  // register of the barrier, or mask
    uint32_t joined[16]; // barrier registers: lanes that meet
    char *stack;
} sass_lane;

typedef struct sass_warp {
    sass_lane lanes[SASS_LANES];
    uint32_t ur[64];
    bool up[8];
    uint32_t alive; // lanes that are in the block and have not exited
    struct sass_block *block;
    uint32_t groups;      // numbers of groups that are taken
    uint32_t group;       // the one that goes on, until its lanes part or wait
    uint32_t branches;    // that it has taken since
    bool yields;          // another may go on first
    const sass_inst *now; // what is played, for messages
    uint32_t turn;        // lane that is asked first then
} sass_warp;

typedef struct sass_launch {
    const sass_program *program;
    uint32_t grid[3], threads[3];
    uint32_t shared_bytes, stack_bytes;
    const uint8_t *banks[SASS_BANKS];
    uint32_t bank_bytes[SASS_BANKS];
    uint32_t entry;
    uint64_t steps; // instructions so far
    bool is_traced; // every one is told on the standard error
    char error[400];
} sass_launch;

typedef struct sass_block {
    sass_launch *launch;
    sass_warp *warps;
    uint32_t warp_count, thread_count;
    uint32_t at[3];
    uint8_t *shared;
    uint32_t bar_result;
} sass_block;

// One lane, or the first lane of the group where the pipe is uniform.
typedef void sass_lane_fn(sass_lane *l, const sass_inst *i);
// All lanes of a group at once: what they give each other, and where they go.
typedef void sass_group_fn(sass_warp *w, uint32_t mask, const sass_inst *i);

struct sass_row {
    const char *name;
    sass_lane_fn *lane;
    sass_group_fn *group;
    const char *mods; // those that it may have
};

// program.c: NULL and a message where something is not known
sass_program *sass_assemble(const char *ptx, size_t bytes, int level, char *error, size_t size);
void sass_free(sass_program *program);
const sass_section *sass_find(const sass_program *program, const char *name);
// Of PTX: sizes and alignments of an entry's parameters, size | alignment << 16, ending with 0.
bool sass_param_sizes(const char *ptx, const char *kernel, uint32_t *sizes, uint32_t room);

// run.c
bool sass_run(sass_program *program, const char *kernel, const uint32_t *grid,
              const uint32_t *threads, uint32_t shared_bytes, uint32_t stack_bytes, void **params,
              const uint32_t *param_bytes, char *error, size_t size);
void sass_fail(sass_warp *w, const sass_inst *i, const char *what);

// the tables of opcodes; each ends with a row without a name
extern const sass_row sass_integer_rows[], sass_float_rows[], sass_memory_rows[], sass_flow_rows[],
    sass_warp_rows[];
const sass_row *sass_row_named(const char *name, sass_inst *i);

// operand.c: what an operand reads and writes
uint64_t sass_bank(sass_lane *l, const sass_operand *o, uint32_t bytes);
uint32_t sass_raw(sass_lane *l, const sass_operand *o);
uint32_t sass_i32(sass_lane *l, const sass_operand *o);
uint64_t sass_i64(sass_lane *l, const sass_operand *o);
uint32_t sass_f32(sass_lane *l, const sass_operand *o);
uint64_t sass_f64(sass_lane *l, const sass_operand *o);
bool sass_p(sass_lane *l, const sass_operand *o);
void sass_set(sass_lane *l, const sass_operand *o, uint32_t value);
void sass_set64(sass_lane *l, const sass_operand *o, uint64_t value);
void sass_set_p(sass_lane *l, const sass_operand *o, bool value);

static inline bool sass_has(const sass_inst *i, sass_mod mod)
{
    return i->mods[mod / 64] >> (mod % 64) & 1;
}
static inline float sass_float(uint32_t bits)
{
    union {
        uint32_t u;
        float f;
    } x = {bits};
    return x.f;
}
static inline uint32_t sass_float_bits(float f)
{
    union {
        float f;
        uint32_t u;
    } x = {f};
    return x.u;
}
static inline double sass_double(uint64_t bits)
{
    union {
        uint64_t u;
        double f;
    } x = {bits};
    return x.f;
}
static inline uint64_t sass_double_bits(double f)
{
    union {
        double f;
        uint64_t u;
    } x = {f};
    return x.u;
}

#endif
