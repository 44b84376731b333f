// The lanes model of C-like text (back/ctext): a function runs a warp of 32 lanes. How every value
// is held, and the state of the printer.
#ifndef KILN_BACK_CPU_H
#define KILN_BACK_CPU_H

#include "back/ctext/ctext.h"
#include "pass/pass.h"

// How a value is held in the C text.
typedef enum held {
    HELD_NOT_YET, // while shapes are being found
    HELD_ONE,     // the same in all active lanes: a scalar
    HELD_ROW,     // a scalar for lane 0, and a constant step from lane to lane
    HELD_LANES    // a vector, or a mask for i1
} held;

typedef struct shape {
    uint8_t held;      // of each value
    int64_t step;      // HELD_ROW
    uint64_t multiple; // HELD_ROW: a power of two that divides lane 0's value
} shape;

typedef struct control { // of each control instruction
    bool is_split;       // its lanes may leave it at different times or places
    bool leaks;          // some lane may leave for further out: after it fewer lanes may be active
    bool spins;          // a loop that may wait for another warp
    uint32_t exits, nexts;
    uint32_t seen_exits; // while printing
} control;

typedef struct cpu_emitter {
    ctext t; // the first
    uniform_facts uniform;
    uint32_t *align;
    range *ranges;
    shape *shapes;     // by value
    control *controls; // by instruction
    bool has_rows;     // thread.x counts along the lanes
    bool has_tagged;   // local arrays are reached through generic pointers
    bool *streams;     // by parameter: stores may go past the caches; NULL: none
    bool has_whole_warps;
    bool is_unsupported; // something in it has no C form
    // where the printer is
    const char *mask;    // the active lanes' variable; NULL: all 32
    uint32_t region_end; // number of the label where lanes go that have left
    uint32_t label_count;
    ir_inst_id inside; // the innermost split control
} cpu_emitter;

// --- shape.c
void cpu_find_shapes(cpu_emitter *e);
// `i` is true in the first lanes only: those of an index, one more from lane to lane, below a
// limit.
bool cpu_is_guard(const cpu_emitter *e, const ir_inst *i);
// --- stream.c
void cpu_find_streams(cpu_emitter *e);
bool cpu_may_stream(const cpu_emitter *e, const ir_inst *store);
// --- inst.c
extern const ctext_words cpu_words;
const char *cpu_lanes(cpu_emitter *e, ir_ref r); // as a vector (a mask for i1)
// Of a HELD_ONE value, or lane 0 of a HELD_ROW.
static inline const char *cpu_scalar(cpu_emitter *e, ir_ref r)
{
    return ctext_scalar(&e->t, r);
}
shape cpu_shape(const cpu_emitter *e, ir_ref r);
const char *cpu_type(const cpu_emitter *e, ir_ref r); // of the variable
const char *cpu_mask(cpu_emitter *e);                 // an M expression
const char *cpu_bits(cpu_emitter *e);                 // the active lanes as bits
void cpu_emit_plain(cpu_emitter *e, ir_inst_id id);
// --- emit.c; back/x86 asks the same questions
enum { CPU_SHARED_ALIGN = 64 }; // of every shared array: a vector's
void cpu_lay_out(cpu_emitter *e);
bool cpu_needs_fibers(const cpu_emitter *e);
bool cpu_is_first_exit(const ir_func *f, const control *controls, ir_inst_id id, ir_inst_id left);
// --- prelude.c
// Adds the text that `code` needs in front of it.
void cpu_add_prelude(const text *code, arena *scratch, text *out);
// --- access.c
void cpu_emit_memory(cpu_emitter *e, const ir_inst *i);

#endif
