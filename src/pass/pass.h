// Passes: small rewrites of one function, listed in pipeline.c. A pass returns true when it changed
// something. Facts (uniform, range, align) are computed on demand and thrown away after a change.
#ifndef KILN_PASS_H
#define KILN_PASS_H

#include "base/diag.h"
#include "ir/ir.h"
#include "ir/target.h"

typedef struct pass_ctx {
    arena *scratch;              // restored after each pass
    diags *diags;                // remarks and GPU-rule errors; may be NULL (IR read from text)
    const struct target *target; // NULL: any
    int level; // 0, 2, or 1 for kiln check: every access to shared and global memory stays
    bool wants_remarks;
    bool checks_bounds;          // pass bounds runs
    bool wants_plain_exits;      // pass exits runs: the target has no goto
    const struct pass_row *rows; // what runs; NULL: pass_list. Tests put wrong passes in
} pass_ctx;

typedef bool pass_fn(ir_func *f, pass_ctx *ctx);

typedef struct pass_row {
    const char *name; // as --stage NAME and tests/ir name it
    pass_fn *run;
    uint8_t levels;   // bit 0: at level 0, bit 1: at level 2, bit 2: at level 1
    const char *does; // one line for the docs
} pass_row;

extern const pass_row pass_list[]; // ends with a NULL name
// Runs the list on every kernel of `m` (and on the device functions that stay: calls.c). Calls
// `after` (may be NULL) after each pass with the row; verifies between passes when `verify` is set.
// Stops on errors in ctx->diags.
bool pass_run_all(ir_module *m, pass_ctx *ctx, bool verify,
                  void (*after)(void *user, const pass_row *row, ir_module *m), void *user);
const pass_row *pass_find(const char *name);
// A transfer that a target without goto cannot do (see exits.c), or 0: pass exits leaves none.
ir_inst_id exits_find_far(const ir_func *f);

// --- facts
typedef enum uniformity { UNIFORM_NOT, UNIFORM_WARP, UNIFORM_BLOCK } uniformity;
typedef struct uniform_facts {
    uint8_t *value;      // per value: uniformity
    ir_inst_id *because; // per value: for a divergent one, the instruction to blame (0: a parameter
                         // or none)
    // Per instruction: how far the threads that reach it are all threads; the control instruction
    // that splits them, and the early exit (`exit`, `next`, `return`) that does, or 0.
    uint8_t *flow;
    ir_inst_id *flow_because, *flow_via;
} uniform_facts;
uniform_facts uniform_compute(const ir_func *f, arena *a);
// The same, but `flow` is about the threads that have not returned.
uniform_facts uniform_compute_alive(const ir_func *f, arena *a);
// Is every warp of a block a part of one row, thread_y() and thread_z() the same in it? Without a
// block size, a kernel that never asks for these is one for rows.
bool uniform_has_whole_rows(const ir_func *f);

typedef struct range { // of an integer value, as signed 64-bit numbers (i32 sign-extended); full
                       // range when unknown
    int64_t lo, hi;
} range;
range *range_compute(const ir_func *f, arena *a); // per value
uint32_t *
align_compute(const ir_func *f,
              arena *a); // per value: a power of two that divides it (pointers: the address)
range range_of(const ir_func *f, const range *facts, ir_ref r);
// The same with, per value, whether its operation was exact: bit 0 as signed, bit 1 as unsigned
// numbers (add, sub, mul, shl that do not wrap).
enum { RANGE_EXACT_SIGNED = 1, RANGE_EXACT_UNSIGNED = 2 };
typedef struct range_facts {
    range *value;
    uint8_t *exact;
} range_facts;
range_facts range_compute_exact(const ir_func *f, arena *a);

#endif
