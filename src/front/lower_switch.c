// switch to structured control.
//
// Labels at the top level of the body make groups of statements, which stand in the regions of an
// IR switch or behind the blocks that it leaves (split_cases … lower_chain). Labels inside inner
// statements, as in Duff's device, cannot be jumped to: the switch sets a variable `wanted` to the
// label's number, and the body runs from its start with every statement guarded by `wanted == 0`;
// the label itself sets it to 0 (lower_scattered). Invariant: a body that is left by its end has
// met its label. Start at lower_switch.
#include "front/check.h"
#include "front/lower.h"

// True when control surely does not run off the end of `s`; false is always safe.
static bool never_ends(const ast_stmt *s)
{
    if (s->kind == S_BREAK || s->kind == S_CONTINUE || s->kind == S_RETURN || s->kind == S_GOTO)
        return true;
    if (s->kind == S_BLOCK)
        return s->body.len && never_ends(s->body.at[s->body.len - 1]);
    for (; s && s->kind == S_IF; s = s->no)
        if (!never_ends(s->yes) || (s->no && s->no->kind != S_IF))
            return s->no && never_ends(s->yes) && never_ends(s->no);
    return false;
}

// --- labels at the top level of the body

typedef struct case_group { // statements between two runs of labels
    vec(const ast_stmt *) labels, body;
    bool is_entered; // from the group before it
    bool is_direct;  // stands in a region of the switch, else after `before`
    jump before;     // the block whose end is this group's start
} case_group;

typedef vec(case_group) case_groups;

// Splits the body of a switch whose labels all stand at its top level.
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
        bool is_inner = l->needs_memory; // of a statement expression
        l->needs_memory |= g->body.at[i]->kind == S_DECL;
        lower_stmt(l, g->body.at[i]);
        l->needs_memory = is_inner;
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
    lower_enter(l, region);
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
    lower_resume(l, outer, self.is_used, s->at);
}

// Groups that share a body or fall into the next one: each follows a block that its labels leave.
// block end { block B1 { block B0 { switch … } body 0; exit B1 } body 1; exit end }
static void lower_chain(lower *l, const ast_stmt *s, ir_ref value, case_groups *groups)
{
    jump end = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
    jump *outer_break = l->break_to;
    ir_region_id outer = l->at.region;
    ir_region_id *around = arena_array(l->f->in, ir_region_id, groups->len);
    lower_enter(l, ir_at(l->func, end.inst)->regions);
    for (uint32_t i = groups->len; i-- > 0;) {
        case_group *g = &groups->at[i];
        if (g->is_direct)
            continue;
        around[i] = l->at.region;
        g->before = (jump){ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
        lower_enter(l, ir_at(l->func, g->before.inst)->regions);
    }
    lower_dispatch(l, s, value, groups, &end);
    l->break_to = &end;
    for (uint32_t i = 0; i < groups->len; i++) {
        case_group *g = &groups->at[i];
        if (g->is_direct)
            continue;
        lower_resume(l, around[i], g->before.is_used, s->at);
        lower_group(l, g);
        if (!l->is_dead && i + 1 < groups->len && groups->at[i + 1].is_entered)
            lower_leave(l, &groups->at[i + 1].before, NULL, 0);
        else if (!l->is_dead)
            lower_leave(l, &end, NULL, 0);
    }
    l->break_to = outer_break;
    lower_resume(l, outer, end.is_used, s->at);
}

// --- labels anywhere

typedef struct scattered {
    ir_ref wanted;                // pointer to the number of the label to go to; 0: it was met
    vec(const ast_stmt *) labels; // number - 1 -> label, in source order
} scattered;

static void collect_labels(lower *l, const ast_stmt *s, scattered *c)
{
    for (; s && s->kind != S_SWITCH; s = s->no) {
        if (s->kind == S_CASE || s->kind == S_DEFAULT)
            vec_push(l->f->in, &c->labels, s);
        collect_labels(l, s->yes, c);
        for (uint32_t i = 0; i < s->body.len; i++)
            collect_labels(l, s->body.at[i], c);
    }
}

static ir_ref load_wanted(lower *l, const scattered *c)
{
    return lower_load(l, (place){.base = c->wanted, .type = type_scalar(TY_I32)});
}

static void store_wanted(lower *l, const scattered *c, uint32_t number)
{
    place p = {.base = c->wanted, .type = type_scalar(TY_I32)};
    lower_store(l, p, ir_i32(l->func, (int32_t)number));
}

static ir_ref is_wanted(lower *l, const scattered *c, uint32_t number)
{
    return ir_bin(&l->at, IR_IEQ, IR_I32, load_wanted(l, c), ir_i32(l->func, (int32_t)number));
}

// Is the wanted label inside `s`? Its labels have consecutive numbers.
static ir_ref is_inside(lower *l, const scattered *c, const ast_stmt *s)
{
    scattered inner = {0};
    collect_labels(l, s, &inner);
    if (!inner.labels.len)
        return ir_bool(l->func, false);
    uint32_t first = 0;
    while (c->labels.at[first] != inner.labels.at[0])
        first++;
    ir_ref from =
        ir_bin(&l->at, IR_SUB, IR_I32, load_wanted(l, c), ir_i32(l->func, (int32_t)(first + 1)));
    return ir_bin(&l->at, IR_ULT, IR_I32, from, ir_i32(l->func, (int32_t)inner.labels.len));
}

// wanted == 0 ? condition : is the label inside `s`? Without a condition: true.
static ir_ref goes_into(lower *l, const scattered *c, const ast_expr *condition, const ast_stmt *s)
{
    ir_ref is_met = is_wanted(l, c, 0);
    uint8_t result = IR_I1;
    ir_inst_id branch = ir_control(&l->at, IR_IF, &is_met, 1, 2, &result, 1);
    ir_region_id outer = l->at.region, first = ir_at(l->func, branch)->regions;
    l->at.region = first;
    ir_ref value = condition ? lower_truth(l, condition) : ir_bool(l->func, true);
    ir_exit(&l->at, branch, &value, 1);
    l->at.region = first + 1;
    value = is_inside(l, c, s);
    ir_exit(&l->at, branch, &value, 1);
    l->at.region = outer;
    return ir_at(l->func, branch)->result;
}

static void lower_guarded(lower *l, const scattered *c, const ast_stmt *s);

// Statements without labels, all under one guard. What they declare is visible behind it.
static void lower_plain(lower *l, const scattered *c, const ast_stmt *const *list, uint32_t count)
{
    if (l->is_dead || !count)
        return;
    ir_ref is_met = is_wanted(l, c, 0);
    jump after = {ir_control(&l->at, IR_IF, &is_met, 1, 2, NULL, 0), false};
    ir_region_id outer = l->at.region, first = ir_at(l->func, after.inst)->regions;
    lower_enter(l, first);
    for (uint32_t i = 0; i < count; i++) {
        bool is_inner = l->needs_memory; // of a statement expression
        l->needs_memory |= list[i]->kind == S_DECL;
        lower_stmt(l, list[i]);
        l->needs_memory = is_inner;
    }
    if (!l->is_dead)
        lower_leave(l, &after, NULL, 0);
    lower_enter(l, first + 1);
    lower_leave(l, &after, NULL, 0);
    lower_resume(l, outer, true, l->at.at);
}

static void guarded_block(lower *l, const scattered *c, const ast_stmt *s)
{
    for (uint32_t i = 0; i < s->body.len;) {
        uint32_t from = i;
        while (i < s->body.len && !check_has_label(s->body.at[i]))
            i++;
        lower_plain(l, c, (const ast_stmt *const *)s->body.at + from, i - from);
        if (i < s->body.len)
            lower_guarded(l, c, s->body.at[i++]);
    }
}

static void guarded_label(lower *l, const scattered *c, const ast_stmt *s)
{
    uint32_t number = 1;
    while (c->labels.at[number - 1] != s)
        number++;
    ir_ref is_here = is_wanted(l, c, number);
    ir_inst_id branch = ir_control(&l->at, IR_IF, &is_here, 1, 2, NULL, 0);
    ir_region_id outer = l->at.region;
    l->at.region = ir_at(l->func, branch)->regions;
    store_wanted(l, c, 0);
    ir_exit(&l->at, branch, NULL, 0);
    l->at.region = ir_at(l->func, branch)->regions + 1;
    ir_exit(&l->at, branch, NULL, 0);
    l->at.region = outer;
    lower_guarded(l, c, s->yes);
}

static void guarded_if(lower *l, const scattered *c, const ast_stmt *s)
{
    ir_ref yes = goes_into(l, c, s->expr, s->yes);
    jump after = {ir_control(&l->at, IR_IF, &yes, 1, 2, NULL, 0), false};
    ir_region_id outer = l->at.region;
    for (uint32_t i = 0; i < 2; i++) {
        lower_enter(l, ir_at(l->func, after.inst)->regions + i);
        lower_guarded(l, c, i ? s->no : s->yes);
        if (!l->is_dead)
            lower_leave(l, &after, NULL, 0);
    }
    lower_resume(l, outer, after.is_used, s->at);
}

// A loop's body; `continue` leaves a block around it.
static void guarded_body(lower *l, const scattered *c, const ast_stmt *s)
{
    jump *outer_continue = l->continue_to;
    jump block = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
    ir_region_id outer = l->at.region;
    lower_enter(l, ir_at(l->func, block.inst)->regions);
    l->continue_to = &block;
    lower_guarded(l, c, s);
    if (!l->is_dead)
        lower_leave(l, &block, NULL, 0);
    lower_resume(l, outer, block.is_used, s->at);
    l->continue_to = outer_continue;
}

// if (c) {go} {exit loop}: `go` stays in the loop, or starts its next round.
static void loop_test(lower *l, ir_ref condition, jump *loop, bool is_at_end)
{
    jump test = {ir_control(&l->at, IR_IF, &condition, 1, 2, NULL, 0), false};
    ir_region_id outer = l->at.region;
    lower_enter(l, ir_at(l->func, test.inst)->regions);
    if (is_at_end)
        ir_next(&l->at, loop->inst, NULL, 0);
    else
        lower_leave(l, &test, NULL, 0);
    lower_enter(l, ir_at(l->func, test.inst)->regions + 1);
    lower_leave(l, loop, NULL, 0);
    lower_resume(l, outer, !is_at_end, l->at.at);
}

static void guarded_loop(lower *l, const scattered *c, const ast_stmt *s)
{
    if (s->init)
        lower_plain(l, c, (const ast_stmt *const *)&s->init, 1);
    // do: entered as if its condition were true
    bool is_do = s->kind == S_DO;
    jump skip = {0};
    ir_region_id outer = l->at.region;
    if (is_do) {
        ir_ref enters = goes_into(l, c, NULL, s->yes);
        skip.inst = ir_control(&l->at, IR_IF, &enters, 1, 2, NULL, 0);
        lower_enter(l, ir_at(l->func, skip.inst)->regions + 1);
        lower_leave(l, &skip, NULL, 0);
        lower_enter(l, ir_at(l->func, skip.inst)->regions);
    }
    ir_region_id around = l->at.region;
    jump loop = {ir_control(&l->at, IR_LOOP, NULL, 0, 1, NULL, 0), false};
    ir_at(l->func, loop.inst)->unroll = s->unroll;
    jump *outer_break = l->break_to;
    lower_enter(l, ir_at(l->func, loop.inst)->regions);
    if (!is_do)
        loop_test(l, goes_into(l, c, s->expr, s->yes), &loop, false);
    l->break_to = &loop;
    guarded_body(l, c, s->yes);
    l->break_to = outer_break;
    if (!l->is_dead && s->step)
        lower_effect(l, s->step);
    l->at.at = s->at;
    if (!l->is_dead && is_do)
        loop_test(l, lower_truth(l, s->expr), &loop, true);
    else if (!l->is_dead)
        ir_next(&l->at, loop.inst, NULL, 0);
    lower_resume(l, around, loop.is_used, s->at);
    if (!is_do)
        return;
    if (!l->is_dead)
        lower_leave(l, &skip, NULL, 0);
    lower_resume(l, outer, true, s->at);
}

static void lower_guarded(lower *l, const scattered *c, const ast_stmt *s)
{
    if (!s || l->is_dead)
        return;
    l->at.at = s->at;
    if (!check_has_label(s))
        lower_plain(l, c, &s, 1);
    else if (s->kind == S_CASE || s->kind == S_DEFAULT)
        guarded_label(l, c, s);
    else if (s->kind == S_BLOCK)
        guarded_block(l, c, s);
    else if (s->kind == S_IF)
        guarded_if(l, c, s);
    else
        guarded_loop(l, c, s);
}

// The switch that sets `wanted`; without a label for the value it leaves to `end`.
static void dispatch_scattered(lower *l, const scattered *c, const ast_stmt *s, ir_ref value,
                               jump *end)
{
    bool is_wide = ir_type_of(l->func, value) == IR_I64;
    uint32_t cases = 0, k = 0, otherwise = 0;
    for (uint32_t i = 0; i < c->labels.len; i++)
        cases += c->labels.at[i]->kind == S_CASE;
    jump self = {ir_control(&l->at, IR_SWITCH, &value, 1, cases + 1, NULL, 0), false};
    ir_region_id outer = l->at.region, first = ir_at(l->func, self.inst)->regions;
    for (uint32_t i = 0; i < c->labels.len; i++) {
        if (c->labels.at[i]->kind == S_DEFAULT) {
            otherwise = i + 1;
            continue;
        }
        int64_t v = c->labels.at[i]->value;
        ir_at(l->func, self.inst)->cases[k] = is_wide ? v : (int32_t)(uint32_t)v;
        lower_enter(l, first + k++);
        store_wanted(l, c, i + 1);
        lower_leave(l, &self, NULL, 0);
    }
    lower_enter(l, first + cases);
    if (otherwise)
        store_wanted(l, c, otherwise);
    lower_leave(l, otherwise ? &self : end, NULL, 0);
    lower_resume(l, outer, self.is_used, s->at);
}

static void lower_scattered(lower *l, const ast_stmt *s, ir_ref value)
{
    scattered c = {.wanted = lower_local(l, "label", type_scalar(TY_I32), 0, s->at)};
    collect_labels(l, s->yes, &c);
    jump end = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
    ir_region_id outer = l->at.region;
    jump *outer_break = l->break_to;
    lower_enter(l, ir_at(l->func, end.inst)->regions);
    dispatch_scattered(l, &c, s, value, &end);
    l->break_to = &end;
    lower_guarded(l, &c, s->yes);
    l->break_to = outer_break;
    if (!l->is_dead)
        lower_leave(l, &end, NULL, 0);
    lower_resume(l, outer, end.is_used, s->at);
}

// --- entry

static bool has_scattered_labels(const case_groups *groups, const ast_stmt *s)
{
    bool is_block = s->yes->kind == S_BLOCK;
    for (uint32_t i = 0; is_block && i < s->yes->body.len; i++) { // those before the first label
        const ast_stmt *item = s->yes->body.at[i];
        if (item->kind == S_CASE || item->kind == S_DEFAULT)
            break;
        if (check_has_label(item))
            return true;
    }
    if (!is_block && !groups->len)
        return check_has_label(s->yes);
    for (uint32_t i = 0; i < groups->len; i++) {
        for (uint32_t k = 0; k < groups->at[i].body.len; k++) {
            if (check_has_label(groups->at[i].body.at[k]))
                return true;
        }
    }
    return false;
}

void lower_switch(lower *l, const ast_stmt *s)
{
    case_groups groups = {0};
    bool is_direct = true;
    split_cases(l, s, &groups);
    ir_ref value = lower_value(l, s->expr);
    if (ir_type_size(ir_type_of(l->func, value)) < 4)
        value = lower_convert(l, value, s->expr->type, type_scalar(TY_I32));
    l->at.at = s->at;
    if (s->yes->kind == S_BLOCK && s->yes->labels.len) {
        lower_labelled_switch(l, s, value);
        return;
    }
    if (has_scattered_labels(&groups, s)) {
        lower_scattered(l, s, value);
        return;
    }
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
