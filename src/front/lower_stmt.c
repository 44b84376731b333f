// Statements to structured control. lower.h shows the shapes.
//
// Invariant: when l->is_dead is set, the cursor's region has its terminator and nothing is added to
// it; a control instruction that nothing leaves is followed by `unreachable`. Start at lower_stmt.
#include "front/lower.h"

void lower_leave(lower *l, jump *to, const ir_ref *values, uint32_t count)
{
    ir_exit(&l->at, to->inst, values, count);
    to->is_used = true;
    l->is_dead = true;
}

void lower_resume(lower *l, ir_region_id outer, bool is_left, span at)
{
    l->at.region = outer;
    l->at.at = at;
    l->is_dead = !is_left;
    if (!is_left)
        ir_add(&l->at, IR_UNREACHABLE, IR_VOID, NULL, 0, NULL, 0);
}

void lower_enter(lower *l, ir_region_id region)
{
    l->at.region = region;
    l->is_dead = false;
}

// --- what a statement holds, seen without lowering it

unsigned lower_jumps_in(const ast_stmt *s, unsigned wanted)
{
    unsigned found = 0;
    if (!s || !wanted)
        return 0;
    switch ((stmt_kind)s->kind) {
    case S_BREAK: return wanted & LOWER_BREAK;
    case S_CONTINUE: return wanted & LOWER_CONTINUE;
    case S_BLOCK:
        for (uint32_t i = 0; i < s->body.len; i++)
            found |= lower_jumps_in(s->body.at[i], wanted);
        return found;
    case S_IF:
        for (; s && s->kind == S_IF; s = s->no)
            found |= lower_jumps_in(s->yes, wanted);
        return found | lower_jumps_in(s, wanted);
    case S_SWITCH: return lower_jumps_in(s->yes, wanted & LOWER_CONTINUE);
    case S_CASE:
    case S_LABEL:
    case S_DEFAULT: return lower_jumps_in(s->yes, wanted);
    case S_EMPTY:
    case S_EXPR:
    case S_DECL:
    case S_WHILE:
    case S_DO:
    case S_FOR:
    case S_GOTO:
    case S_RETURN: return 0;
    }
    return 0;
}

// --- if and loops

enum { CHAIN = 24 }; // else-ifs above this many are not nested in each other

static bool is_long_chain(const ast_stmt *s)
{
    uint32_t links = 0;
    for (; s && s->kind == S_IF && links <= CHAIN; s = s->no)
        links++;
    return links > CHAIN;
}

// block { if c0 {yes; exit block} {exit if}; if c1 … ; no; exit block }: a target's compiler may
// not like a thousand levels.
static void lower_long_chain(lower *l, const ast_stmt *s)
{
    jump end = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
    ir_region_id outer = l->at.region;
    span at = s->at;
    lower_enter(l, ir_at(l->func, end.inst)->regions);
    for (; s && s->kind == S_IF && !l->is_dead; s = s->no) {
        ir_ref c = lower_truth(l, s->expr);
        l->at.at = s->at;
        jump link = {ir_control(&l->at, IR_IF, &c, 1, 2, NULL, 0), false};
        ir_region_id inside = l->at.region;
        lower_enter(l, ir_at(l->func, link.inst)->regions);
        lower_stmt(l, s->yes);
        if (!l->is_dead)
            lower_leave(l, &end, NULL, 0);
        lower_enter(l, ir_at(l->func, link.inst)->regions + 1);
        lower_leave(l, &link, NULL, 0);
        lower_resume(l, inside, true, s->at);
    }
    if (s)
        lower_stmt(l, s);
    if (!l->is_dead)
        lower_leave(l, &end, NULL, 0);
    lower_resume(l, outer, end.is_used, at);
}

static void lower_if(lower *l, const ast_stmt *s)
{
    bool known;
    if (is_long_chain(s)) {
        lower_long_chain(l, s);
        return;
    }
    if (lower_is_constant(l, s->expr, &known)) {
        const ast_stmt *taken = known ? s->yes : s->no;
        if (taken)
            lower_stmt(l, taken);
        return;
    }
    ir_ref c = lower_truth(l, s->expr);
    l->at.at = s->at;
    jump after = {ir_control(&l->at, IR_IF, &c, 1, 2, NULL, 0), false};
    ir_region_id outer = l->at.region;
    for (uint32_t i = 0; i < 2; i++) {
        const ast_stmt *side = i ? s->no : s->yes;
        lower_enter(l, ir_at(l->func, after.inst)->regions + i);
        if (side)
            lower_stmt(l, side);
        l->at.at = s->at;
        if (!l->is_dead)
            lower_leave(l, &after, NULL, 0);
    }
    lower_resume(l, outer, after.is_used, s->at);
}

// A loop's body; `continue` leaves a block around it.
static void lower_body(lower *l, const ast_stmt *s)
{
    jump *outer_continue = l->continue_to;
    if (lower_jumps_in(s, LOWER_CONTINUE)) {
        jump block = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
        ir_region_id outer = l->at.region;
        lower_enter(l, ir_at(l->func, block.inst)->regions);
        l->continue_to = &block;
        lower_stmt(l, s);
        if (!l->is_dead)
            lower_leave(l, &block, NULL, 0);
        lower_resume(l, outer, block.is_used, s->at);
    } else {
        l->continue_to = NULL;
        lower_stmt(l, s);
    }
    l->continue_to = outer_continue;
}

// if (c) {exit if} {exit loop}
static void leave_unless(lower *l, const ast_expr *condition, jump *loop)
{
    ir_ref c = lower_truth(l, condition);
    l->at.at = condition->at;
    jump test = {ir_control(&l->at, IR_IF, &c, 1, 2, NULL, 0), false};
    ir_region_id outer = l->at.region;
    lower_enter(l, ir_at(l->func, test.inst)->regions);
    lower_leave(l, &test, NULL, 0);
    lower_enter(l, ir_at(l->func, test.inst)->regions + 1);
    lower_leave(l, loop, NULL, 0);
    lower_enter(l, outer);
}

// while and for
static void lower_while(lower *l, const ast_stmt *s)
{
    bool known = true, is_constant = !s->expr || lower_is_constant(l, s->expr, &known);
    if (is_constant && !known)
        return;
    l->at.at = s->at;
    jump loop = {ir_control(&l->at, IR_LOOP, NULL, 0, 1, NULL, 0), false};
    ir_at(l->func, loop.inst)->unroll = s->unroll;
    ir_region_id outer = l->at.region;
    jump *outer_break = l->break_to;
    lower_enter(l, ir_at(l->func, loop.inst)->regions);
    if (!is_constant)
        leave_unless(l, s->expr, &loop);
    l->break_to = &loop;
    lower_body(l, s->yes);
    l->break_to = outer_break;
    if (!l->is_dead && s->step)
        lower_effect(l, s->step);
    l->at.at = s->at;
    if (!l->is_dead)
        ir_next(&l->at, loop.inst, NULL, 0);
    lower_resume(l, outer, loop.is_used, s->at);
}

static void lower_for(lower *l, const ast_stmt *s)
{
    if (s->init)
        lower_stmt(l, s->init);
    lower_while(l, s);
}

// do … while (0) with a `break` or `continue`: a block that they leave
static void lower_once(lower *l, const ast_stmt *s)
{
    jump block = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
    ir_region_id outer = l->at.region;
    jump *outer_break = l->break_to, *outer_continue = l->continue_to;
    lower_enter(l, ir_at(l->func, block.inst)->regions);
    l->break_to = l->continue_to = &block;
    lower_stmt(l, s->yes);
    l->break_to = outer_break;
    l->continue_to = outer_continue;
    if (!l->is_dead)
        lower_leave(l, &block, NULL, 0);
    lower_resume(l, outer, block.is_used, s->at);
}

static void lower_do(lower *l, const ast_stmt *s)
{
    bool known, is_constant = lower_is_constant(l, s->expr, &known);
    l->at.at = s->at;
    if (is_constant && !known) {
        if (lower_jumps_in(s->yes, LOWER_BREAK | LOWER_CONTINUE))
            lower_once(l, s);
        else
            lower_stmt(l, s->yes);
        return;
    }
    jump loop = {ir_control(&l->at, IR_LOOP, NULL, 0, 1, NULL, 0), false};
    ir_at(l->func, loop.inst)->unroll = s->unroll;
    ir_region_id outer = l->at.region;
    jump *outer_break = l->break_to;
    lower_enter(l, ir_at(l->func, loop.inst)->regions);
    l->break_to = &loop;
    lower_body(l, s->yes);
    l->break_to = outer_break;
    if (!l->is_dead && is_constant) {
        ir_next(&l->at, loop.inst, NULL, 0);
    } else if (!l->is_dead) {
        ir_ref c = lower_truth(l, s->expr);
        l->at.at = s->expr->at;
        ir_inst_id test = ir_control(&l->at, IR_IF, &c, 1, 2, NULL, 0);
        ir_region_id inside = l->at.region;
        lower_enter(l, ir_at(l->func, test)->regions);
        ir_next(&l->at, loop.inst, NULL, 0);
        lower_enter(l, ir_at(l->func, test)->regions + 1);
        lower_leave(l, &loop, NULL, 0);
        lower_resume(l, inside, false, s->at);
    }
    lower_resume(l, outer, loop.is_used, s->at);
}

// --- the rest

// A scalar that keeps its first value is that value.
static bool is_value(const lower *l, const ast_decl *d)
{
    return d->init && !l->needs_memory && !l->decl->has_labels && !d->is_assigned &&
           !d->is_address_taken && !(d->type->quals & QUAL_VOLATILE) && d->type->kind != TY_ARRAY &&
           !type_is_record(d->type) && !d->lower_data;
}

static void bind_value(lower *l, ast_decl *d)
{
    var_slot *slot = arena_new_of(l->f->in, var_slot);
    ir_ref v = lower_convert(l, lower_value(l, d->init), d->init->type, d->type);
    slot->value = v;
    d->lower_data = slot;
    if (!ir_is_const(v) && !l->func->values.at[v].name)
        l->func->values.at[v].name = d->name;
}

static void lower_decl(lower *l, ast_decl *d)
{
    if (d->kind != DECL_VAR || d->is_shared || d->is_const_data || d->is_extern || d->is_per_thread)
        return;
    l->at.at = d->at;
    if (is_value(l, d)) {
        bind_value(l, d);
        return;
    }
    place p = {.base = lower_slot(l, d)->pointer, .type = d->type->unqualified};
    if (d->type->quals & QUAL_VOLATILE)
        p.hint = IR_HINT_VOLATILE;
    if (d->init)
        lower_init(l, p, d->init);
    else if (!l->f->options->keeps_unset)
        lower_zero_small(l, p);
}

static void lower_return(lower *l, const ast_stmt *s)
{
    if (s->expr && l->result_pointer) {
        lower_init(l, (place){.base = l->result_pointer, .type = s->expr->type->unqualified},
                   s->expr);
        l->at.at = s->at;
        ir_return(&l->at, NULL, 0);
    } else if (s->expr && s->expr->type->kind != TY_VOID) {
        ir_ref v = lower_operand(l, s->expr);
        l->at.at = s->at;
        ir_return(&l->at, &v, 1);
    } else {
        if (s->expr)
            lower_effect(l, s->expr);
        l->at.at = s->at;
        ir_return(&l->at, NULL, 0);
    }
    l->is_dead = true;
}

static bool is_unreachable_call(const ast_expr *e)
{
    return e->kind == E_CALL && e->builtin && e->builtin->id == BI_unreachable;
}

static void lower_expr_stmt(lower *l, const ast_stmt *s)
{
    if (is_unreachable_call(s->expr)) {
        l->at.at = s->at;
        ir_add(&l->at, IR_UNREACHABLE, IR_VOID, NULL, 0, NULL, 0);
        l->is_dead = true;
        return;
    }
    lower_effect(l, s->expr);
}

void lower_stmt(lower *l, const ast_stmt *s)
{
    if (l->is_dead)
        return;
    l->at.at = s->at;
    switch ((stmt_kind)s->kind) {
    case S_EMPTY: return;
    case S_EXPR: lower_expr_stmt(l, s); return;
    case S_DECL:
        for (uint32_t i = 0; i < s->decls.len; i++)
            lower_decl(l, s->decls.at[i]);
        return;
    case S_BLOCK:
        if (s->labels.len)
            lower_labelled_block(l, s);
        for (uint32_t i = 0; i < s->body.len && !s->labels.len; i++)
            lower_stmt(l, s->body.at[i]);
        return;
    case S_IF: lower_if(l, s); return;
    case S_WHILE: lower_while(l, s); return;
    case S_DO: lower_do(l, s); return;
    case S_FOR: lower_for(l, s); return;
    case S_SWITCH: lower_switch(l, s); return;
    case S_CASE:
    case S_DEFAULT: bug("a label outside of every switch"); // lower_switch.c takes them apart
    case S_BREAK: lower_leave(l, l->break_to, NULL, 0); return;
    case S_CONTINUE: lower_leave(l, l->continue_to, NULL, 0); return;
    case S_RETURN: lower_return(l, s); return;
    case S_LABEL: lower_stmt(l, s->yes); return;
    case S_GOTO: lower_goto(l, s); return;
    }
}

// May it end the thread's way, by `return` or by a loop that has no end?
static bool may_end(const ast_stmt *s)
{
    for (; s; s = s->no) {
        bool is_loop = s->kind == S_WHILE || s->kind == S_FOR || s->kind == S_DO;
        bool is_endless = is_loop && (!s->expr || s->expr->is_const);
        bool is_end = s->kind == S_EXPR && is_unreachable_call(s->expr);
        if (s->kind == S_RETURN || is_endless || is_end || may_end(s->yes))
            return true;
        for (uint32_t i = 0; i < s->body.len; i++)
            if (may_end(s->body.at[i]))
                return true;
    }
    return false;
}

// The rest of the expression goes on where the statements end. Those that may not reach it stand in
// a region of their own: by a condition that is known now no thread may.
void lower_inner_block(lower *l, const ast_expr *e)
{
    if (!may_end(e->block)) {
        lower_stmt(l, e->block);
        return;
    }
    l->at.at = e->at;
    jump end = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
    ir_region_id outer = l->at.region;
    bool needs_memory = l->needs_memory;
    lower_enter(l, ir_at(l->func, end.inst)->regions);
    l->needs_memory = true; // the value behind the statements may name their variables
    lower_stmt(l, e->block);
    l->needs_memory = needs_memory;
    if (!l->is_dead)
        lower_leave(l, &end, NULL, 0);
    lower_resume(l, outer, true, e->at);
}
