// Calls become the callee's body, unless it stays a function (calls.c). A callee whose only
// `return` is its last instruction is spliced in place of the call; any other becomes a `block`,
// and its returns exit that block. The callee's locals are added to the caller's, fresh for every
// call site. Whoever calls itself stays, so going over the growing instruction array meets every
// call and ends.
#include "pass/passes.h"

typedef struct replacement {
    ir_ref old, with;
} replacement;

typedef struct inliner {
    ir_func *f;
    arena *scratch;
    vec(replacement) replaced;
} inliner;

static bool has_single_return(const ir_func *callee)
{
    uint32_t returns = 0;
    for (uint32_t i = 1; i < callee->insts.len; i++)
        returns += ir_at(callee, i)->op == IR_RETURN && ir_at(callee, i)->parent;
    ir_inst_id last = ir_region_at(callee, callee->body)->last;
    return returns == 1 && ir_at(callee, last)->op == IR_RETURN;
}

static void replace_results(inliner *in, ir_inst_id call, const ir_ref *with)
{
    const ir_inst *i = ir_at(in->f, call);
    for (uint32_t k = 0; k < i->result_count; k++)
        vec_push(in->scratch, &in->replaced, (replacement){i->result + k, with[k]});
}

// Instructions from `first` on are the copy: their locals now are the caller's.
static void move_locals(inliner *in, const ir_func *callee, uint32_t first, ir_inst_id block)
{
    ir_func *f = in->f;
    uint32_t base = f->locals.len;
    for (uint32_t k = 0; k < callee->locals.len; k++)
        vec_push(f->module->in, &f->locals, callee->locals.at[k]);
    for (uint32_t i = first; i < f->insts.len; i++) {
        ir_inst *inst = ir_at(f, i);
        if (inst->op == IR_LOCAL)
            inst->aux += base;
        if (inst->op == IR_RETURN && block) {
            inst->op = IR_EXIT;
            inst->aux = block;
        }
    }
}

static void inline_spliced(inliner *in, ir_inst_id call, const ir_func *callee, map *values)
{
    ir_func *f = in->f;
    ir_cursor c = ir_before(f, call);
    uint32_t first = f->insts.len;
    ir_clone_region(&c, callee, callee->body, values, NULL);
    move_locals(in, callee, first, 0);
    ir_inst_id ret = ir_at(f, call)->prev;
    replace_results(in, call, ir_operands(f, ir_at(f, ret)));
    ir_remove(f, ret);
}

static void inline_block(inliner *in, ir_inst_id call, const ir_func *callee, map *values)
{
    ir_func *f = in->f;
    ir_cursor c = ir_before(f, call);
    ir_inst_id block =
        ir_control(&c, IR_BLOCKSCOPE, NULL, 0, 1, callee->returns.at, callee->returns.len);
    uint32_t first = f->insts.len;
    ir_cursor inside = ir_at_end(f, ir_at(f, block)->regions, c.at);
    ir_clone_region(&inside, callee, callee->body, values, NULL);
    move_locals(in, callee, first, block);
    ir_ref *results = arena_array(in->scratch, ir_ref, callee->returns.len);
    for (uint32_t k = 0; k < callee->returns.len; k++)
        results[k] = ir_at(f, block)->result + k;
    replace_results(in, call, results);
}

// Messages speak of the user's text: what comes from Kiln's own library stands at the call, and so
// does all of a dispatcher.
static void place_at_call(ir_func *f, uint32_t first, span call, bool is_all)
{
    const source_map *sources = f->module->sources;
    for (uint32_t i = first; sources && i < f->insts.len; i++) {
        ir_inst *inst = ir_at(f, i);
        const source_file *file = inst->at.lo ? source_file_at(sources, inst->at.lo) : NULL;
        if (!file || file->is_builtin || is_all)
            inst->at = call;
    }
}

static void inline_call(inliner *in, ir_inst_id call)
{
    ir_func *f = in->f;
    uint32_t first = f->insts.len;
    span at = ir_at(f, call)->at;
    const ir_func *callee = f->module->funcs.at[ir_at(f, call)->aux];
    map values = map_make(in->scratch);
    for (uint32_t k = 0; k < callee->params.len; k++)
        *map_at(&values, callee->first_param + k) = ir_operand(f, ir_at(f, call), k);
    if (has_single_return(callee))
        inline_spliced(in, call, callee, &values);
    else
        inline_block(in, call, callee, &values);
    place_at_call(f, first, at, callee->is_dispatcher);
    ir_remove(f, call);
}

bool pass_inline(ir_func *f, pass_ctx *ctx)
{
    inliner in = {.f = f, .scratch = ctx->scratch};
    bool did_change = false;
    for (uint32_t i = 1; i < f->insts.len; i++) {
        if (ir_at(f, i)->op != IR_CALL || !ir_at(f, i)->parent ||
            f->module->funcs.at[ir_at(f, i)->aux]->is_kept)
            continue;
        if (f->insts.len > PASS_INST_LIMIT) {
            if (!ctx->diags)
                bug("'%s' is too large after inlining", f->name);
            diag *d = diag_raise(ctx->diags, K4004, f->at,
                                 "'%s' is too large: more than %d instructions after its calls "
                                 "are inlined",
                                 f->name, PASS_INST_LIMIT);
            diag_label(d, ir_at(f, i)->at, "this call is where the limit is passed");
            diag_note(d, "every call is a copy of the function; call it from fewer places, or in "
                         "a loop");
            return did_change;
        }
        inline_call(&in, i);
        did_change = true;
    }
    if (in.replaced.len) {
        ir_ref *with = arena_array(ctx->scratch, ir_ref, f->values.len);
        for (uint32_t k = 0; k < in.replaced.len; k++)
            with[in.replaced.at[k].old] = in.replaced.at[k].with;
        ir_rename(f, with);
    }
    return did_change;
}
