// THE list of passes, in the order they run, and the loop that runs it. To add a pass: one file,
// one row here, one test in tests/ir. Names may repeat; showing a stage shows its last run.
#include "ir/nv.h"
#include "pass/passes.h"

static bool pass_compact(ir_func *f, pass_ctx *ctx)
{
    ir_compact(f, ctx->scratch);
    return true;
}

static bool pass_unroll_more(ir_func *f, pass_ctx *ctx)
{
    return pass_unroll_asked(f, ctx) && (pass_fold(f, ctx), true);
}

enum {
    PLAIN = 1,
    FULL = 2,
    CHECK = 4,
    BOTH = PLAIN | FULL,
    ALL = BOTH | CHECK
}; // bits of pass_row.levels

// clang-format off
const pass_row pass_list[] = {
    {"inline",   pass_inline,    ALL, "calls become the callee's body, but for functions that stay"},
    {"compact",  pass_compact,   ALL, "drops removed instructions and numbers the rest in reading order"},
    {"set2reg",  pass_set2reg, CHECK, "local scalars that are set before they are read become values"},
    {"compact",  pass_compact, CHECK, "again"},
    {"geometry", pass_geometry, FULL, "block(...) makes sizes and some indices constants"},
    {"sroa",     pass_sroa,     FULL, "splits local structs and arrays into scalars"},
    {"mem2reg",  pass_mem2reg,  FULL, "local scalars become values"},
    {"fold",     pass_fold,     FULL, "constants, exact algebra, known branches"},
    {"sroa",     pass_sroa,     FULL, "again: pointers to locals went through variables"},
    {"mem2reg",  pass_mem2reg,  FULL, "again"},
    {"dce",      pass_dce,      FULL, "removes what has no effect and no use"},
    {"compact",  pass_compact,  FULL, "again"},
    {"converge", pass_converge,  ALL, "checks collectives against divergent control flow; changes nothing"},
    {"device",   pass_device,    ALL, "refuses what the device lacks; changes nothing"},
    {"space",    pass_space,    FULL, "finds the address space behind generic pointers"},
    {"bounds",   pass_bounds,   BOTH, "checks indices against the lengths of arrays; only when asked for"},
    {"fold",     pass_fold,     FULL, "again"},
    {"cse",      pass_cse,      FULL, "computes the same thing once; loads what was just stored or loaded"},
    {"licm",     pass_licm,     FULL, "moves what does not change out of loops"},
    {"unroll",   pass_unroll,   FULL, "counted loops become straight code"},
    {"fold",     pass_fold,     FULL, "again: counters are constants now"},
    {"unroll",   pass_unroll_more, FULL, "again: counts that the counters of outer loops decide; folds what it unrolled"},
    {"sroa",     pass_sroa,     FULL, "again: array indices are constants now"},
    {"mem2reg",  pass_mem2reg,  FULL, "again"},
    {"space",    pass_space,    FULL, "again: pointers that stood in arrays"},
    {"compact",  pass_compact,  FULL, "again"},
    {"fold",     pass_fold,     FULL, "again"},
    {"cse",      pass_cse,      FULL, "again"},
    {"dce",      pass_dce,      FULL, "again"},
    {"compact",  pass_compact,  FULL, "again"},
    {"strength", pass_strength, FULL, "cheaper arithmetic, induction variables"},
    {"ifconv",   pass_ifconv,   FULL, "small branches become selects"},
    {"licm",     pass_licm,     FULL, "again"},
    {"cse",      pass_cse,      FULL, "again"},
    {"addr",     pass_addr,     FULL, "constant parts of addresses move into the access"},
    {"fold",     pass_fold,     FULL, "again"},
    {"cse",      pass_cse,      FULL, "again: accesses share their pointers now"},
    {"dce",      pass_dce,      FULL, "again"},
    {"vector",   pass_vector,   FULL, "neighbouring loads and stores become wide ones"},
    {"dce",      pass_dce,      FULL, "again"},
    {"remark",   pass_remark,   FULL, "reports what costs time; changes nothing"},
    {"exits",    pass_exits,    BOTH, "control leaves one level at a time; only for targets without goto"},
    {"compact",  pass_compact,  FULL, "again"},
    {NULL, NULL, 0, NULL},
};
// clang-format on

const pass_row *pass_find(const char *name)
{
    for (const pass_row *row = pass_list; row->name; row++)
        if (!strcmp(row->name, name))
            return row;
    return NULL;
}

#define COPY_VEC(a, v)                                                                             \
    do {                                                                                           \
        (v)->at = arena_copy((a), (v)->at, (v)->len * sizeof *(v)->at);                            \
        (v)->cap = (v)->len;                                                                       \
    } while (0)

// A copy in `scratch` that passes can change freely. Everything refers by index, so arrays do.
static ir_func *scratch_copy(const ir_func *f, arena *scratch)
{
    ir_module *m = arena_copy(scratch, f->module, sizeof *m);
    ir_func *copy = arena_copy(scratch, f, sizeof *copy);
    m->in = scratch;
    copy->module = m;
    COPY_VEC(scratch, &copy->params);
    COPY_VEC(scratch, &copy->returns);
    COPY_VEC(scratch, &copy->locals);
    COPY_VEC(scratch, &copy->values);
    COPY_VEC(scratch, &copy->consts);
    COPY_VEC(scratch, &copy->insts);
    COPY_VEC(scratch, &copy->regions);
    COPY_VEC(scratch, &copy->operands);
    copy->const_index = map_make(scratch);
    for (uint32_t k = 0; k < f->const_index.len; k++)
        *map_at(&copy->const_index, f->const_index.entries[k].key) =
            f->const_index.entries[k].value;
    return copy;
}

// Without optimisation the rules about collectives are still checked, on what they would be asked
// about with it: a copy, so that the IR stays as lowered.
static void check_copy(const ir_func *f, pass_ctx *ctx)
{
    static pass_fn *const before[] = {pass_geometry, pass_sroa,    pass_mem2reg, pass_fold,
                                      pass_sroa,     pass_mem2reg, pass_dce,     pass_compact};
    ir_func *copy = scratch_copy(f, ctx->scratch);
    for (size_t k = 0; k < COUNT(before); k++)
        before[k](copy, ctx);
    pass_converge(copy, ctx);
}

static bool has_errors(const pass_ctx *ctx)
{
    return ctx->diags && ctx->diags->error_count;
}

static void run_row(ir_module *m, const pass_row *row, pass_ctx *ctx, bool verify)
{
    for (uint32_t k = 0; k < m->funcs.len; k++) {
        ir_func *f = m->funcs.at[k];
        if (!f->is_kernel && !f->is_kept)
            continue;
        arena_mark mark = arena_save(ctx->scratch);
        if (row->run == pass_converge && ctx->level < 2)
            check_copy(f, ctx);
        else
            row->run(f, ctx);
        const char *wrong = verify && !has_errors(ctx) ? ir_verify(f, ctx->scratch) : NULL;
        if (wrong)
            bug("after pass '%s': %s", row->name, wrong);
        arena_restore(ctx->scratch, mark);
    }
}

// kiln check looks at code as it is written, but wgmma's accumulators must be registers.
static bool needs_registers(const ir_module *m)
{
    for (uint32_t k = 0; k < m->funcs.len; k++)
        if (nv_has_wgmma(m->funcs.at[k]))
            return true;
    return false;
}

static bool run_rows(ir_module *m, pass_ctx *ctx, bool verify,
                     void (*after)(void *user, const pass_row *row, ir_module *m), void *user)
{
    if (ctx->level == 1 && needs_registers(m))
        ctx->level = 2;
    calls_decide(m, ctx);
    if (has_errors(ctx))
        return false;
    uint8_t level = ctx->level == 1 ? CHECK : ctx->level ? FULL : PLAIN;
    for (const pass_row *row = ctx->rows ? ctx->rows : pass_list; row->name; row++) {
        if (!(row->levels & level) || (row->run == pass_remark && !ctx->diags) ||
            (row->run == pass_bounds && !ctx->checks_bounds) ||
            (row->run == pass_exits && !ctx->wants_plain_exits))
            continue;
        run_row(m, row, ctx, verify);
        if (has_errors(ctx))
            return false;
        if (row->run == pass_inline)
            calls_drop_unused(m, ctx->scratch);
        if (after)
            after(user, row, m);
    }
    return true;
}

bool pass_run_all(ir_module *m, pass_ctx *ctx, bool verify,
                  void (*after)(void *user, const pass_row *row, ir_module *m), void *user)
{
    if (ctx->scratch != m->in)
        return run_rows(m, ctx, verify, after, user);
    // Scratch must not be the arena that the IR grows in: it is restored after each pass. The frame
    // is only here to free the arena on the way out.
    pass_ctx own = *ctx;
    arena *scratch = own.scratch = arena_new();
    if (!scratch)
        bug_out_of_memory();
    bug_frame frame;
    if (bug_enter(&frame)) {
        arena_free(scratch);
        if (frame.kind == BUG_NO_MEMORY)
            bug_out_of_memory();
        bug("%s", frame.text);
    }
    arena_alloc(scratch, 1); // so that restoring keeps the first chunk
    bool is_done = run_rows(m, &own, verify, after, user);
    bug_leave(&frame);
    arena_free(scratch);
    return is_done;
}
