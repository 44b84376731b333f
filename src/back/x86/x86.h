// What the files of the x86 backend share: where every value is, the state of the generator, and
// what the code calls. Shapes of values and of control are those of back/cpu.
//
// Registers. rbx is the warp, rsp the frame; rax, rcx, rdx and the last four vectors are for the
// use within one instruction; k1 to k4 keep the active lanes, k5 to k7 are for one instruction. All
// others hold values. A value has its place for its whole life: registers or a slot of the frame.
#ifndef KILN_BACK_X86_H
#define KILN_BACK_X86_H

#include "back/cpu/cpu.h"
#include "back/x86/encode.h"
#include "back/x86/make.h"
#include "ir/live.h"

enum { VS0 = 28, VS1, VS2, VS3, VECTORS = 28 };        // scratch vectors; those for values
enum { K_MASK = 1, K_HIGH, K_8, K_24, K_A, K_B, K_C }; // active lanes from 0, 16, 8, 24; scratch

typedef enum x86_class {
    CLASS_NONE,
    CLASS_WORD, // one number in a general register
    CLASS_MASK, // i1 of 32 lanes, in a general register
    CLASS_REAL, // one float in a vector register
    CLASS_V4,   // 32 lanes of 32 bits: two vectors
    CLASS_V8    // 32 lanes of 64 bits: four
} x86_class;

typedef struct x86_place {
    uint8_t class;  // x86_class
    bool in_reg;    // else in its slot
    uint8_t reg[4]; // one a part
    int32_t slot;   // offset in the frame; -1: none
} x86_place;

typedef struct x86_life { // of a value: positions of instructions, in reading order
    uint32_t from, to;    // with all rounds of the loops it lives through
    uint32_t last_use;    // the last one to name it
    float weight;         // how much it is used, loops counted
    ir_ref same;          // 0, or the value whose place it shares
    bool is_needed;
} x86_life;

typedef struct x86_access { // where a load or store goes
    enum {
        ACCESS_ONE,
        ACCESS_ROW,     // lanes side by side
        ACCESS_STRIDE,  // a constant step between them
        ACCESS_INDEXED, // one base and a 32-bit index a lane
        ACCESS_LANES,   // an address a lane
        ACCESS_LOCAL,   // in local arrays
        ACCESS_LOCAL_ROW,
        ACCESS_TAGGED // there or anywhere
    } kind;
    ir_ref pointer; // or the base
    ir_ref more[4]; // scalars to be added to the base
    uint32_t more_count;
    ir_ref index;
    uint8_t scale; // log2
    int64_t step, offset;
    uint32_t size;
} x86_access;

typedef struct x86_control { // slots of masks
    int32_t mask[2], out, again, round, rest;
    uint32_t after, repeat; // labels
    ir_ref shadow;          // first of the values for the next round's arguments; 0: none
    ir_inst_id next;        // the only one of a loop
} x86_control;

typedef struct x86_cell {     // a register or a slot, while moves are made
    uint32_t readers, writer; // moves that still read it; the one that writes it, + 1
} x86_cell;

typedef struct x86_gen {
    cpu_emitter c;
    arena *a;
    x86_code *code;
    const ir_func *f;
    uint32_t value_count; // the function's and the shadows
    x86_place *places;    // by value
    x86_life *lives;
    ir_live live;
    x86_control *controls;
    ir_ref *shadow_of;     // by value above the function's: the argument
    vec(ir_inst_id) calls; // instructions that call, in order
    ir_ref *hints;         // by value: one whose place it should share
    vec(ir_ref) by_start;  // values with a place, by `from`
    uint32_t next_start;
    vec(ir_ref) active;      // those that live here, in registers
    vec(x86_cell) cells;     // moves.c
    vec(int32_t) move_slots; // for sources that step aside; free
    // the frame
    int32_t frame;
    int32_t buffers, spare;   // arguments of calls; a word
    int32_t list, list_bytes; // arguments of print
    // where the generator is
    uint32_t here;
    bool has_results; // of the instruction here: a call keeps them, too
    int32_t mask;     // slot of the active lanes; -1: all 32
    uint32_t region_end;
    ir_inst_id inside;
    bool k_is_loaded, k8_is_loaded; // K_MASK and K_HIGH; K_8 and K_24
    uint32_t done;
    int32_t spins;
    const char *refusal; // why there is no code; NULL: fine
} x86_gen;

// --- plan.c: needs, lives and places
void x86_plan(x86_gen *g);
void x86_give_places(x86_gen *g); // places.c
void x86_refuse(x86_gen *g, const char *why);
int32_t x86_slot(x86_gen *g, int32_t bytes, int32_t align); // for good
bool x86_may_call(const x86_gen *g, ir_inst_id id);
bool x86_is_elementwise(const ir_inst *i);
uint32_t x86_parts(x86_class class);
x86_class x86_class_of(const x86_gen *g, ir_ref r);

// --- value.c: values into registers and back
static inline x86_mem x86_frame(int32_t slot)
{
    return x86_at(RSP, slot);
}
// The value whose type and shape `r` has: itself, or the argument it is the shadow of.
static inline ir_ref x86_like(const x86_gen *g, ir_ref r)
{
    return ir_is_const(r) || r < g->f->values.len ? r : g->shadow_of[r - g->f->values.len];
}
static inline ir_type x86_type(const x86_gen *g, ir_ref r)
{
    return ir_type_of(g->f, x86_like(g, r));
}
static inline bool x86_is_wide(const x86_gen *g, ir_ref r)
{
    return ctext_is_wide(x86_type(g, r));
}
uint8_t x86_word(x86_gen *g, ir_ref r, uint8_t scratch); // of ONE, or lane 0 of a ROW
void x86_word_into(x86_gen *g, ir_ref r, uint8_t reg);
uint8_t x86_real(x86_gen *g, ir_ref r, uint8_t scratch);      // float of ONE, as a vector register
x86_src x86_real_src(x86_gen *g, ir_ref r);                   // the same, or memory
uint8_t x86_mask_word(x86_gen *g, ir_ref r, uint8_t scratch); // i1 as 32 bits
// A part of the lanes: a register, memory, or a broadcast from memory. `scratch` may be used.
x86_src x86_part(x86_gen *g, ir_ref r, uint32_t part, uint8_t scratch);
uint8_t x86_part_reg(x86_gen *g, ir_ref r, uint32_t part, uint8_t scratch);
x86_src x86_number(x86_gen *g, bool wide, uint64_t bits); // in all lanes, from the pool
x86_src x86_steps(x86_gen *g, bool wide, int64_t step, uint32_t part); // 0, step, … of a row's part
// Where a result goes: its register, or `scratch` and then into its slot by x86_put_….
uint8_t x86_to(const x86_gen *g, ir_ref r, uint32_t part, uint8_t scratch);
void x86_put(x86_gen *g, ir_ref r, uint32_t part, uint8_t reg);
void x86_put_word(x86_gen *g, ir_ref r, uint8_t reg);
void x86_active(x86_gen *g, uint8_t reg); // the active lanes as bits
uint8_t x86_k(x86_gen *g,
              uint32_t bit); // the mask register with the active lanes from bit 0 8 16 24; 0: all
void x86_k_forget(x86_gen *g);
void x86_k_of(x86_gen *g, uint8_t reg, uint32_t bit, uint8_t k); // lanes of a word from `bit` on
void x86_keep_lanes(x86_gen *g, ir_ref r, int32_t slot); // all parts (or the bits) to memory
void x86_load_lanes(x86_gen *g, ir_ref r, int32_t slot);
void x86_lane_to(x86_gen *g, ir_ref r, uint8_t lane_reg, uint8_t to); // one lane's bits
// The position moves to an instruction: values begin and end.
void x86_step(x86_gen *g, uint32_t position);
void x86_before_call(x86_gen *g);
void x86_after_call(x86_gen *g);
void x86_call_helper(x86_gen *g, x86_helper *helper, const x86_info *info);

typedef struct x86_move {
    ir_ref to, from;
    bool is_whole; // lanes that are off may get anything
} x86_move;
void x86_moves(x86_gen *g, x86_move *list, uint32_t count); // all at once (moves.c)

// The truths of all parts of a comparison as 32 bits; `part` makes those of one.
typedef void x86_truths(x86_gen *g, void *user, uint32_t part, uint8_t k);
void x86_gather_bits(x86_gen *g, bool wide, uint8_t to, x86_truths *part, void *user);
// Eight-byte lanes of half a part of four-byte ones.
void x86_widen(x86_gen *g, ir_ref a, uint32_t part, x86_ins ins, uint8_t to);

// --- lower.c, scalar.c, convert.c, warp.c, memory.c, atomic.c
void x86_emit_plain(x86_gen *g, ir_inst_id id);
bool x86_emit_scalar(x86_gen *g, const ir_inst *i);
bool x86_emit_lanes(x86_gen *g, const ir_inst *i);
bool x86_emit_conversion(x86_gen *g, const ir_inst *i);
void x86_emit_general(x86_gen *g, const ir_inst *i); // by ir_eval, lane by lane
void x86_emit_memory(x86_gen *g, const ir_inst *i);
void x86_emit_unreachable(x86_gen *g);
void x86_emit_atomic(x86_gen *g, const ir_inst *i);
bool x86_is_inline_atomic(const x86_gen *g, const ir_inst *i);
void x86_keep_addresses(x86_gen *g, const x86_access *x, ir_ref pointer);
x86_info x86_memory_info(const x86_access *x, const ir_inst *i);
bool x86_memory_calls(const x86_gen *g, const ir_inst *i);
x86_access x86_find_access(const x86_gen *g, const ir_inst *i, uint32_t index);

// --- control.c
void x86_emit_region(x86_gen *g, ir_region_id region);

#endif
