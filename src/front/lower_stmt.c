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

// Goes on after a control instruction in region `outer`; dead when nothing leaves it.
static void resume(lower *l, ir_region_id outer, bool is_left, span at)
{
    l->at.region = outer;
    l->at.at = at;
    l->is_dead = !is_left;
    if (!is_left)
        ir_add(&l->at, IR_UNREACHABLE, IR_VOID, NULL, 0, NULL, 0);
}

static void enter(lower *l, ir_region_id region)
{
    l->at.region = region;
    l->is_dead = false;
}

// --- what a statement holds, seen without lowering it

enum { HAS_BREAK = 1, HAS_CONTINUE = 2 };

// Which of `wanted` stand in `s` and leave what is around it.
static unsigned jumps_in(const ast_stmt *s, unsigned wanted)
{
    unsigned found = 0;
    if (!s || !wanted)
        return 0;
    switch ((stmt_kind)s->kind) {
    case S_BREAK: return wanted & HAS_BREAK;
    case S_CONTINUE: return wanted & HAS_CONTINUE;
    case S_BLOCK:
        for (uint32_t i = 0; i < s->body.len; i++)
            found |= jumps_in(s->body.at[i], wanted);
        return found;
    case S_IF: return jumps_in(s->yes, wanted) | jumps_in(s->no, wanted);
    case S_SWITCH: return jumps_in(s->yes, wanted & HAS_CONTINUE);
    case S_CASE:
    case S_DEFAULT: return jumps_in(s->yes, wanted);
    case S_EMPTY:
    case S_EXPR:
    case S_DECL:
    case S_WHILE:
    case S_DO:
    case S_FOR:
    case S_RETURN: return 0;
    }
    return 0;
}

// True when control surely does not run off the end of `s`; false is always safe.
static bool never_ends(const ast_stmt *s)
{
    if (s->kind == S_BREAK || s->kind == S_CONTINUE || s->kind == S_RETURN)
        return true;
    if (s->kind == S_BLOCK)
        return s->body.len && never_ends(s->body.at[s->body.len - 1]);
    if (s->kind == S_IF)
        return s->no && never_ends(s->yes) && never_ends(s->no);
    return false;
}

// --- if and loops

static void lower_if(lower *l, const ast_stmt *s)
{
    bool known;
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
        enter(l, ir_at(l->func, after.inst)->regions + i);
        if (side)
            lower_stmt(l, side);
        l->at.at = s->at;
        if (!l->is_dead)
            lower_leave(l, &after, NULL, 0);
    }
    resume(l, outer, after.is_used, s->at);
}

// A loop's body; `continue` leaves a block around it.
static void lower_body(lower *l, const ast_stmt *s)
{
    jump *outer_continue = l->continue_to;
    if (jumps_in(s, HAS_CONTINUE)) {
        jump block = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
        ir_region_id outer = l->at.region;
        enter(l, ir_at(l->func, block.inst)->regions);
        l->continue_to = &block;
        lower_stmt(l, s);
        if (!l->is_dead)
            lower_leave(l, &block, NULL, 0);
        resume(l, outer, block.is_used, s->at);
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
    enter(l, ir_at(l->func, test.inst)->regions);
    lower_leave(l, &test, NULL, 0);
    enter(l, ir_at(l->func, test.inst)->regions + 1);
    lower_leave(l, loop, NULL, 0);
    enter(l, outer);
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
    enter(l, ir_at(l->func, loop.inst)->regions);
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
    resume(l, outer, loop.is_used, s->at);
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
    enter(l, ir_at(l->func, block.inst)->regions);
    l->break_to = l->continue_to = &block;
    lower_stmt(l, s->yes);
    l->break_to = outer_break;
    l->continue_to = outer_continue;
    if (!l->is_dead)
        lower_leave(l, &block, NULL, 0);
    resume(l, outer, block.is_used, s->at);
}

static void lower_do(lower *l, const ast_stmt *s)
{
    bool known, is_constant = lower_is_constant(l, s->expr, &known);
    l->at.at = s->at;
    if (is_constant && !known) {
        if (jumps_in(s->yes, HAS_BREAK | HAS_CONTINUE))
            lower_once(l, s);
        else
            lower_stmt(l, s->yes);
        return;
    }
    jump loop = {ir_control(&l->at, IR_LOOP, NULL, 0, 1, NULL, 0), false};
    ir_at(l->func, loop.inst)->unroll = s->unroll;
    ir_region_id outer = l->at.region;
    jump *outer_break = l->break_to;
    enter(l, ir_at(l->func, loop.inst)->regions);
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
        enter(l, ir_at(l->func, test)->regions);
        ir_next(&l->at, loop.inst, NULL, 0);
        enter(l, ir_at(l->func, test)->regions + 1);
        lower_leave(l, &loop, NULL, 0);
        resume(l, inside, false, s->at);
    }
    resume(l, outer, loop.is_used, s->at);
}

// --- switch

typedef struct case_group { // statements between two runs of labels
    vec(const ast_stmt *) labels, body;
    bool is_entered; // from the group before it
    bool is_direct;  // stands in a region of the switch, else after `before`
    jump before;     // the block whose end is this group's start
} case_group;

typedef vec(case_group) case_groups;

// Splits the body of a switch; the parser lets labels stand nowhere else.
static void split_cases(lower *l, const ast_stmt *s, case_groups *groups)
{
    const ast_stmt *alone[] = {s->yes};
    bool is_block = s->yes->kind == S_BLOCK;
    uint32_t count = is_block ? s->yes->body.len : 1;
    for (uint32_t i = 0; i < count; i++) {
        const ast_stmt *item = is_block ? s->yes->body.at[i] : alone[0];
        while (item && (item->kind == S_CASE || item->kind == S_DEFAULT)) {
            if (!groups->len || vec_last(groups).body.len)
                vec_push(l->f->in, groups, (case_group){0});
            vec_push(l->f->in, &vec_last(groups).labels, item);
            item = item->yes;
        }
        if (item && groups->len)
            vec_push(l->f->in, &vec_last(groups).body, item);
    }
}

static void mark_groups(case_groups *groups)
{
    for (uint32_t i = 0; i < groups->len; i++) {
        case_group *g = &groups->at[i];
        bool falls = i + 1 < groups->len;
        if (g->body.len && never_ends(g->body.at[g->body.len - 1]))
            falls = false;
        g->is_direct = !g->is_entered && !falls && g->labels.len == 1;
        if (falls)
            groups->at[i + 1].is_entered = true;
    }
}

// What a group declares is visible in the groups behind it, whose regions are elsewhere.
static void lower_group(lower *l, const case_group *g)
{
    for (uint32_t i = 0; i < g->body.len; i++) {
        l->needs_memory = g->body.at[i]->kind == S_DECL;
        lower_stmt(l, g->body.at[i]);
        l->needs_memory = false;
    }
}

static uint32_t count_cases(const case_groups *groups)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < groups->len; i++) {
        for (uint32_t k = 0; k < groups->at[i].labels.len; k++)
            n += groups->at[i].labels.at[k]->kind == S_CASE;
    }
    return n;
}

static void lower_region(lower *l, ir_region_id region, case_group *g, jump *end)
{
    enter(l, region);
    if (g && !g->is_direct) {
        lower_leave(l, &g->before, NULL, 0);
        return;
    }
    if (g)
        lower_group(l, g);
    if (!l->is_dead)
        lower_leave(l, end, NULL, 0);
}

// The switch itself. `end` is where the direct groups go; NULL: out of the switch.
static void lower_dispatch(lower *l, const ast_stmt *s, ir_ref value, case_groups *groups,
                           jump *end)
{
    bool is_wide = ir_type_of(l->func, value) == IR_I64;
    uint32_t n = count_cases(groups), k = 0;
    l->at.at = s->at;
    jump self = {ir_control(&l->at, IR_SWITCH, &value, 1, n + 1, NULL, 0), false};
    jump *outer_break = l->break_to;
    ir_region_id outer = l->at.region, first = ir_at(l->func, self.inst)->regions;
    case_group *otherwise = NULL;
    l->break_to = end ? end : &self;
    for (uint32_t i = 0; i < groups->len; i++) {
        case_group *g = &groups->at[i];
        for (uint32_t j = 0; j < g->labels.len; j++) {
            if (g->labels.at[j]->kind == S_DEFAULT) {
                otherwise = g;
                continue;
            }
            int64_t v = g->labels.at[j]->value;
            ir_at(l->func, self.inst)->cases[k] = is_wide ? v : (int32_t)(uint32_t)v;
            lower_region(l, first + k++, g, l->break_to);
        }
    }
    lower_region(l, first + n, otherwise, l->break_to);
    l->break_to = outer_break;
    resume(l, outer, self.is_used, s->at);
}

// Groups that share a body or fall into the next one: each follows a block that its labels leave.
// block end { block B1 { block B0 { switch … } body 0; exit B1 } body 1; exit end }
static void lower_chain(lower *l, const ast_stmt *s, ir_ref value, case_groups *groups)
{
    jump end = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
    jump *outer_break = l->break_to;
    ir_region_id outer = l->at.region;
    ir_region_id *around = arena_array(l->f->in, ir_region_id, groups->len);
    enter(l, ir_at(l->func, end.inst)->regions);
    for (uint32_t i = groups->len; i-- > 0;) {
        case_group *g = &groups->at[i];
        if (g->is_direct)
            continue;
        around[i] = l->at.region;
        g->before = (jump){ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
        enter(l, ir_at(l->func, g->before.inst)->regions);
    }
    lower_dispatch(l, s, value, groups, &end);
    l->break_to = &end;
    for (uint32_t i = 0; i < groups->len; i++) {
        case_group *g = &groups->at[i];
        if (g->is_direct)
            continue;
        resume(l, around[i], g->before.is_used, s->at);
        lower_group(l, g);
        if (!l->is_dead && i + 1 < groups->len && groups->at[i + 1].is_entered)
            lower_leave(l, &groups->at[i + 1].before, NULL, 0);
        else if (!l->is_dead)
            lower_leave(l, &end, NULL, 0);
    }
    l->break_to = outer_break;
    resume(l, outer, end.is_used, s->at);
}

static void lower_switch(lower *l, const ast_stmt *s)
{
    case_groups groups = {0};
    bool is_direct = true;
    split_cases(l, s, &groups);
    ir_ref value = lower_value(l, s->expr);
    if (ir_type_size(ir_type_of(l->func, value)) < 4)
        value = lower_convert(l, value, s->expr->type, type_scalar(TY_I32));
    l->at.at = s->at;
    if (!groups.len)
        return;
    mark_groups(&groups);
    for (uint32_t i = 0; i < groups.len; i++)
        is_direct = is_direct && groups.at[i].is_direct;
    if (is_direct)
        lower_dispatch(l, s, value, &groups, NULL);
    else
        lower_chain(l, s, value, &groups);
}

// --- the rest

// A scalar that keeps its first value is that value.
static bool is_value(const lower *l, const ast_decl *d)
{
    return d->init && !l->needs_memory && !d->is_assigned && !d->is_address_taken &&
           !(d->type->quals & QUAL_VOLATILE) && d->type->kind != TY_ARRAY &&
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
    if (d->kind != DECL_VAR || d->is_shared || d->is_const_data || d->is_extern)
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
        for (uint32_t i = 0; i < s->body.len; i++)
            lower_stmt(l, s->body.at[i]);
        return;
    case S_IF: lower_if(l, s); return;
    case S_WHILE: lower_while(l, s); return;
    case S_DO: lower_do(l, s); return;
    case S_FOR: lower_for(l, s); return;
    case S_SWITCH: lower_switch(l, s); return;
    case S_CASE:
    case S_DEFAULT: bug("a label outside of every switch");
    case S_BREAK: lower_leave(l, l->break_to, NULL, 0); return;
    case S_CONTINUE: lower_leave(l, l->continue_to, NULL, 0); return;
    case S_RETURN: lower_return(l, s); return;
    }
}
