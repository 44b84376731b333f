// Checks the rule of collectives: a barrier needs all threads of its block, a shuffle, vote or warp
// barrier all threads of its warp. Reports each collective that some threads may not reach, with
// both ends labelled. Where early returns are allowed, one that only threads which have returned
// miss is a warning. Changes nothing. Start reading at pass_converge.
#include "ir/nv.h"
#include "pass/pass.h"
#include "pass/passes.h"

typedef struct checker {
    const ir_func *f;
    pass_ctx *ctx;
    uniform_facts facts, alive; // `alive`: among threads that have not returned
    bool allows_early_return;
    source_map *sources;
    vec(span) block_spans; // a library call that fails as a block collective is reported once
} checker;

static bool is_user_span(const checker *c, span at)
{
    if (!at.lo || !c->sources)
        return at.lo != 0;
    const source_file *file = source_file_at(c->sources, at.lo);
    return file && !file->is_builtin;
}

// The instruction's place, or that of the nearest construct around it which the user wrote.
static span user_span(const checker *c, ir_inst_id id)
{
    const ir_func *f = c->f;
    span at = ir_at(f, id)->at;
    while (id && !is_user_span(c, ir_at(f, id)->at))
        id = ir_region_at(f, ir_at(f, id)->parent)->owner;
    return id ? ir_at(f, id)->at : is_user_span(c, at) ? at : f->at;
}

// The word at the start of the user's text there: "barrier", "block_sum", "return".
static const char *word_at(const checker *c, span at, const char *otherwise)
{
    if (!c->sources || !at.lo)
        return otherwise;
    str s = source_text(c->sources, at);
    size_t len = 0;
    while (len < s.len && (s.at[len] == '_' || (s.at[len] >= '0' && s.at[len] <= '9') ||
                           ((s.at[len] | 32) >= 'a' && (s.at[len] | 32) <= 'z')))
        len++;
    return len ? str_dup(c->ctx->diags->in, (str){s.at, len}) : otherwise;
}

static bool is_within(const ir_func *f, ir_inst_id inst, ir_inst_id control)
{
    while (inst && inst != control)
        inst = ir_region_at(f, ir_at(f, inst)->parent)->owner;
    return inst == control;
}

static const char *reason_of(const checker *c, ir_inst_id because)
{
    static const char *const axis[] = {"thread_x()", "thread_y()", "thread_z()"};
    arena *a = c->ctx->diags->in;
    if (!because)
        return "the condition can differ between threads";
    const ir_inst *i = ir_at(c->f, because);
    switch (i->op) {
    case IR_THREAD: return str_format(a, "%s differs between threads", axis[i->imm]);
    case IR_LANE: return "lane() differs between threads";
    case IR_WARP: return "warp() differs between warps";
    case IR_LOAD: return "each thread loads its own value";
    case IR_ATOMIC:
    case IR_CAS:
    case IR_ATOMLOAD: return "an atomic gives each thread another value";
    case IR_SHUFFLE: return "the shuffle gives lanes different values";
    case IR_MATCH: return "warp_match() gives lanes different masks";
    case IR_BALLOT: return "the vote differs between warps";
    case IR_CLOCK:
    case IR_NANOTIME: return "the time differs between threads";
    default: return "the condition can differ between threads";
    }
}

// Where the threads part: the condition's own place, else its control instruction's.
static span condition_span(const checker *c, ir_inst_id control)
{
    ir_inst_id def = ir_def_of(c->f, ir_operand(c->f, ir_at(c->f, control), 0));
    if (def && is_user_span(c, ir_at(c->f, def)->at))
        return ir_at(c->f, def)->at;
    return user_span(c, control);
}

static bool is_reported(const checker *c, span at)
{
    for (uint32_t k = 0; k < c->block_spans.len; k++)
        if (c->block_spans.at[k].lo == at.lo && c->block_spans.at[k].hi == at.hi)
            return true;
    return false;
}

static void report(checker *c, ir_inst_id id, bool is_block)
{
    const ir_func *f = c->f;
    const char *group = is_block ? "block" : "warp";
    span at = user_span(c, id);
    if (at.lo && is_reported(c, at))
        return;
    if (is_block)
        vec_push(c->ctx->scratch, &c->block_spans, at);
    ir_inst_id control = c->facts.flow_because[id], via = c->facts.flow_via[id];
    const char *name = word_at(c, at, is_block ? "barrier" : ir_op_name(ir_at(f, id)->op));
    // OpenCL's barriers wait for threads that have returned.
    bool is_fine =
        c->allows_early_return && c->alive.flow[id] >= (is_block ? UNIFORM_BLOCK : UNIFORM_WARP);
    diag *d = diag_raise(c->ctx->diags,
                         is_fine    ? K3104
                         : is_block ? K3101
                                    : K3102,
                         at, "'%s' is not reached by every thread of the %s", name, group);
    bool is_rounds = via && ir_at(f, via)->op == IR_EXIT &&
                     ir_at(f, ir_at(f, via)->aux)->op == IR_LOOP &&
                     is_within(f, id, ir_at(f, via)->aux);
    bool is_return = via && ir_at(f, via)->op == IR_RETURN;
    diag_label(d, at, is_fine ? "threads that %s do not arrive" : "threads that %s never arrive",
               is_rounds   ? "have left the loop"
               : is_return ? "have returned"
               : via       ? "have left early"
                           : "skip the branch");
    ir_ref condition = ir_operand(f, ir_at(f, control), 0);
    ir_inst_id because = ir_is_const(condition) ? 0 : c->facts.because[condition];
    span where = condition_span(c, control);
    diag_label(d, where, "threads may disagree here: %s", reason_of(c, because));
    if (because) {
        span root = user_span(c, because);
        if (root.lo && (root.lo < where.lo || root.hi > where.hi))
            diag_label(d, root, "the difference comes from here");
    }
    if (via) {
        span leave = user_span(c, via);
        const char *word = word_at(c, leave, "leave");
        bool is_jump =
            !strcmp(word, "return") || !strcmp(word, "break") || !strcmp(word, "continue");
        if (is_jump)
            diag_label(d, leave, "some threads leave here");
    }
    if (is_fine)
        diag_note(d, is_block
                         ? "threads that have returned count as arrived; OpenCL refuses this"
                         : "lanes that have returned have no value to give; OpenCL refuses this");
    else
        diag_note(d, is_block
                         ? "a block collective waits for all threads of the block: move it out of "
                           "the branch, and guard only the work around it"
                         : "a warp collective needs all lanes of the warp: move it out of the "
                           "branch, and let lanes without work contribute a neutral value");
}

static void check_region(checker *c, ir_region_id region, bool is_block)
{
    const ir_func *f = c->f;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        bool is_warp_op = i->op == IR_SHUFFLE || i->op == IR_BALLOT || i->op == IR_MATCH ||
                          i->op == IR_WARPSYNC ||
                          (i->op == IR_NV && nv_row_of(i)->group != NV_LANE);
        if (is_block && i->op == IR_BARRIER && c->facts.flow[id] < UNIFORM_BLOCK)
            report(c, id, true);
        else if (!is_block && is_warp_op && c->facts.flow[id] < UNIFORM_WARP)
            report(c, id, false);
        for (uint32_t k = 0; k < i->region_count; k++)
            check_region(c, i->regions + k, is_block);
    }
}

static bool has_collective(const ir_func *f)
{
    for (uint32_t k = 1; k < f->insts.len; k++) {
        ir_op op = f->insts.at[k].op;
        bool is_collective =
            op != IR_NOP && op != IR_ACTIVE && op != IR_CALL && ir_op_effect(op) == IR_FX_CONV;
        if (is_collective || op == IR_NV)
            return true;
    }
    return false;
}

bool pass_converge(ir_func *f, pass_ctx *ctx)
{
    if (!ctx->diags || !has_collective(f))
        return false;
    checker c = {.f = f, .ctx = ctx, .sources = f->module->sources};
    c.facts = uniform_compute(f, ctx->scratch);
    c.allows_early_return =
        f->allows_early_return && !(ctx->target && ctx->target->barriers_wait_for_all);
    if (c.allows_early_return)
        c.alive = uniform_compute_alive(f, ctx->scratch);
    check_region(&c, f->body, true);
    check_region(&c, f->body, false);
    return false;
}
