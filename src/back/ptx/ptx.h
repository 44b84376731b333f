// The PTX emitter's own state. emit.c walks the structure, inst.c prints plain instructions,
// memory.c loads, stores and atomics, shared.c shared arrays, warp.c what threads do together,
// safe.c what the assembler would fold wrongly,
// channel.c and host.c what goes to the host, library.c the functions for that.
#ifndef KILN_PTX_H
#define KILN_PTX_H

#include "back/back.h"
#include "back/channel.h"
#include "back/folds.h"
#include "ir/layout.h"
#include "pass/pass.h"

typedef enum reg_class { RC_PRED, RC_H, RC_R, RC_RD, RC_F, RC_FD, RC_COUNT } reg_class;

typedef struct float_pair { // an OR that puts two narrowed floats into one word
    ir_ref low, high;       // f32
    uint8_t type;           // IR_F16 or IR_BF16; 0: it is no such thing
} float_pair;

typedef struct ptx_placed { // a function of the library that is copied to its calls
    const char *name;
    text body;
    uint32_t registers[RC_COUNT];
} ptx_placed;

typedef struct ptx {
    const ir_module *m;
    const ir_func *f;
    const target *t;
    const ptx_options *options;
    diags *ds;
    arena *scratch;
    text *out;         // the module
    const char *label; // of the current kernel or function
    text body;         // the instructions of the current kernel; registers are declared before it
    uint32_t *reg;     // per value: register number within its class, 0: none yet
    char (*reg_name)[16];    // per value: the register's name, once it has one
    const char **const_text; // per constant: as an immediate, NULL: not asked for yet
    ir_ref *coalesced;       // per value: the one whose register it shares; NULL: each has its own
    uint32_t next_reg[RC_COUNT];
    uint32_t next_label;
    struct ptx_frame { // per instruction: the labels of a control instruction
        uint32_t end_label, loop_label;
    } * frame;
    bool is_shared_joined; // the static shared arrays of a kernel are one, `$static_KERNEL`
    ir_layout shared;      // in that one
    ir_layout locals;
    uint32_t *site;    // per instruction: 1 + its number among the module's channel sites
    bool *is_readonly; // per parameter: a buffer that is only read
    bool *is_narrow;   // per instruction: 64-bit, but only its low half is needed
    bool *is_packed;   // per instruction: part of a float_pair
    float_pair *pair;  // per instruction
    uint8_t *folds;    // per value: folds.h
    uniform_facts uniform;
    vec(const source_file *) files; // of .loc, by number - 1
    uint32_t last_line, last_file;
    int version;       // of PTX: the target's own, raised by what the kernels use
    const char *guard; // a predicate that every line carries, or NULL
    const char *lanes; // the mask of what a warp does together: "-1", or a register
    bool is_library;   // the functions of m->library are emitted
    vec(ptx_placed) placed;
    bool has_table;       // code calls the host: channel_header.calls is in constant memory, too
    bool has_ring;        // some of its calls carry large objects through dynamic shared memory
    bool calls_host;      // the kernel or function does, and has a frame for it
    bool has_frame_words; // the same, in registers: for what is placed at its calls
    bool keeps_helpers;   // the text has $helpers (call.c)
    bool moves_registers; // the kernel has registers_more or registers_less
    bool failed;
} ptx;

// A printable operand: an immediate, or the register's name.
const char *ptx_op(ptx *p, ir_ref r);
// Always a register (constants are moved into a fresh one first).
const char *ptx_reg(ptx *p, ir_ref r);
// The register of a result or argument.
const char *ptx_def(ptx *p, ir_ref r);
extern const char *const ptx_prefixes[RC_COUNT], *const ptx_register_types[RC_COUNT];
// A fresh register of a class.
const char *ptx_temp(ptx *p, reg_class c);
extern const uint8_t ptx_classes[IR_TYPE_COUNT]; // reg_class
static inline reg_class ptx_class(ir_type t)
{
    must(t != IR_VOID && t < IR_TYPE_COUNT);
    return (reg_class)ptx_classes[t];
}
// The text uses something that PTX has since `version`.
void ptx_needs(ptx *p, int version);
// One line of code: "\tTEXT;\n".
void ptx_line(ptx *p, const char *format, ...) PRINTF_LIKE(2, 3);
// The target lacks something: a diagnostic at the instruction.
void ptx_lacks(ptx *p, const ir_inst *i, int sm, const char *feature);
// The IR's name as a PTX identifier.
const char *ptx_name(ptx *p, const char *name);
const char *ptx_data_name(ptx *p, uint32_t index); // of a constant array
const char *ptx_space(ir_type pointer);            // ".global", ".shared", "" for generic

// "bra.uni" when all lanes of a warp that come there agree on the condition (IR_NONE: there is
// none).
const char *ptx_branch(const ptx *p, ir_ref condition);
// The low 32 bits of an i64.
const char *ptx_low(ptx *p, ir_ref r);
// A 64-bit product of two 32-bit numbers, or of one and a constant (then b is IR_NONE): one
// instruction.
typedef struct wide_product {
    ir_ref a, b;
    uint64_t factor;
    char kind; // 's' or 'u'
} wide_product;
bool ptx_is_wide_product(const ir_func *f, const ir_inst *i, wide_product *out);
void ptx_find_facts(ptx *p); // facts.c
// What the assembler would fold wrongly, written another way (safe.c). False: there is nothing to
// avoid, and nothing was written.
bool ptx_xor(ptx *p, const ir_inst *i);
bool ptx_extreme(ptx *p, const ir_inst *i, const char *name, char kind); // min and max of integers
bool ptx_permute(ptx *p, const ir_inst *i);                              // PRMT
bool ptx_select_bits(ptx *p, const ir_inst *i);
bool ptx_truth_bits(ptx *p, const ir_inst *i);
bool ptx_extend_byte(ptx *p, const ir_inst *i);
bool ptx_extend_half(ptx *p, const ir_inst *i);
bool ptx_ordered(ptx *p, const ir_inst *i);
bool ptx_rotated(ptx *p, const ir_inst *i);
bool ptx_multiply_half_known(ptx *p, const ir_inst *i);
bool ptx_above_zero(ptx *p, const ir_inst *i);
bool ptx_known_unsigned(ptx *p, const ir_inst *i);
void ptx_inst(ptx *p, const ir_inst *i);     // inst.c: all but control
void ptx_memory(ptx *p, const ir_inst *i);   // memory.c
void ptx_geometry(ptx *p, const ir_inst *i); // warp.c
void ptx_group(ptx *p, const ir_inst *i);    // warp.c
void ptx_world(ptx *p, const ir_inst *i);    // warp.c
void ptx_narrow(ptx *p, const ir_inst *i);   // narrow.c: FEXT, FNARROW
void ptx_packed(ptx *p, const ir_inst *i);   // narrow.c: pairs
void ptx_channel(ptx *p, const ir_inst *i);  // channel.c: PRINT, ASSERT, TRAP, BOUNDS
const char *ptx_load_channel(ptx *p);        // channel.c: the header's address
// Records a fault and ends the thread; `values` (or NULL) are the two numbers of channel_fault.
void ptx_fault(ptx *p, uint32_t site, const char *const *values);
void ptx_host(ptx *p, const ir_inst *i, uint32_t site);  // host.c: HOST
const char *ptx_host_frame(ptx *p);                      // host.c: the name of the frame
bool ptx_carries(const ptx *p, const ir_func *f);        // host.c: it may use the ring
void ptx_start_ring(ptx *p);                             // host.c: at such a kernel's beginning
void ptx_declare_ring(ptx *p);                           // host.c: for the module
void ptx_print(ptx *p, const ir_inst *i, uint32_t site); // host.c
// library.c: a function of m->library that is copied to its calls is kept for them.
bool ptx_keep_placed(ptx *p);
bool ptx_is_placed(const ptx *p, const char *function);
void ptx_call_library(ptx *p, const char *function, const char *const values[4]);
void ptx_nvidia(ptx *p, const ir_inst *i); // nv.c
void ptx_call(ptx *p, const ir_inst *i);   // call.c
void ptx_return(ptx *p, const ir_inst *i); // call.c: of a function
const char *ptx_label_of(ptx *p, const ir_func *f);
void ptx_function_head(ptx *p, const ir_func *f, const char *end); // its declaration
void ptx_function_params(ptx *p);
void ptx_keep_helpers(ptx *p,
                      bool has_functions); // call.c: after the functions, before the kernels
void ptx_reach_helpers(ptx *p);            // call.c: at the start of a kernel
void ptx_declare_shared(ptx *p);           // shared.c: the arrays of the module
void ptx_place_shared(ptx *p);             // shared.c: those of the current kernel
// Writes `values` to the registers of first, first + 1, … as if all at once.
void ptx_parallel_move(ptx *p, ir_ref first, const ir_ref *values, uint32_t count);
// Per value: the value whose register it shares. NULL when no two have to. (coalesce.c)
ir_ref *ptx_coalesce(const ir_func *f, arena *scratch);

#endif
