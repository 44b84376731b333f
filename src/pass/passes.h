// Every pass by name, for pipeline.c's list. Each file opens with what its pass does.
#ifndef KILN_PASSES_H
#define KILN_PASSES_H

#include "pass/pass.h"

pass_fn pass_inline, pass_geometry, pass_sroa, pass_mem2reg, pass_fold, pass_cse, pass_dce;
pass_fn pass_converge, pass_space, pass_licm, pass_unroll, pass_strength, pass_ifconv, pass_vector;
pass_fn pass_unroll_asked, pass_set2reg, pass_addr, pass_remark, pass_bounds, pass_device,
    pass_exits;

// constant.c: false when the function stores to constant memory; a diagnostic says where (ds may be
// NULL).
bool constant_check(const ir_func *f, diags *ds);

// Instructions of a function after inlining: more are refused (K4004).
enum { PASS_INST_LIMIT = 1000000 };

// calls.c: which functions stay (ir_func.is_kept), before anything is inlined; recursion gets its
// limit.
void calls_decide(ir_module *m, pass_ctx *ctx);
// Drops the functions that nothing calls any more.
void calls_drop_unused(ir_module *m, arena *scratch);

#endif
