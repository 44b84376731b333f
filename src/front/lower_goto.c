// A block with labels to structured control: a goto forward leaves a block scope that ends at its
// label, a goto back begins another round of a loop that starts there. check_goto.c has said where
// these parts begin and end. Where they cross, every goto begins another round of the whole block,
// which skips what stands before the label. Start reading at lower_labelled_block.
#include "front/check.h"
#include "front/lower.h"

typedef struct part { // statements [from, to) of the block
    ast_label *label;
    uint32_t from, to;
    bool is_loop, is_open;
} part;

typedef vec(part) parts;

static void lower_range(lower *l, const ast_stmt *s, parts *all, uint32_t from, uint32_t to);

// The largest part that starts at statement `at` and was not begun.
static part *next_part(parts *all, uint32_t at)
{
    part *found = NULL;
    for (uint32_t i = 0; i < all->len; i++) {
        part *p = &all->at[i];
        if (!p->is_open && p->from == at && (!found || p->to > found->to))
            found = p;
    }
    return found;
}

// Variables whose declaration is jumped over are 0.
static void clear_skipped(lower *l, const ast_stmt *s, const part *p)
{
    for (uint32_t i = p->from; i < p->to; i++) {
        const ast_stmt *item = s->body.at[i];
        for (uint32_t k = 0; item->kind == S_DECL && k < item->decls.len; k++) {
            ast_decl *d = item->decls.at[k];
            if (d->kind == DECL_VAR && !d->is_shared && !d->is_const_data && !d->is_extern &&
                !d->is_per_thread && type_is_scalar(d->type))
                lower_zero(
                    l, (place){.base = lower_slot(l, d)->pointer, .type = d->type->unqualified});
        }
    }
}

// loop { block { … exit loop } next loop }: what jumps back leaves the block
typedef struct rounds {
    jump loop, again;
    ir_region_id outer, inside;
} rounds;

static rounds begin_rounds(lower *l)
{
    rounds r = {.outer = l->at.region};
    r.loop.inst = ir_control(&l->at, IR_LOOP, NULL, 0, 1, NULL, 0);
    lower_enter(l, ir_at(l->func, r.loop.inst)->regions);
    r.inside = l->at.region;
    r.again.inst = ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0);
    lower_enter(l, ir_at(l->func, r.again.inst)->regions);
    return r;
}

static void end_rounds(lower *l, rounds *r, span at)
{
    if (!l->is_dead)
        lower_leave(l, &r->loop, NULL, 0);
    lower_resume(l, r->inside, r->again.is_used, at);
    if (!l->is_dead)
        ir_next(&l->at, r->loop.inst, NULL, 0);
    lower_resume(l, r->outer, r->loop.is_used, at);
}

static void lower_part(lower *l, const ast_stmt *s, parts *all, part *p)
{
    ir_region_id outer = l->at.region;
    span at = s->body.at[p->from]->at;
    p->is_open = true;
    l->at.at = at;
    if (!p->is_loop) {
        clear_skipped(l, s, p);
        jump ahead = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
        lower_enter(l, ir_at(l->func, ahead.inst)->regions);
        p->label->ahead = &ahead;
        lower_range(l, s, all, p->from, p->to);
        p->label->ahead = NULL;
        if (!l->is_dead)
            lower_leave(l, &ahead, NULL, 0);
        lower_resume(l, outer, ahead.is_used, at);
        return;
    }
    rounds r = begin_rounds(l);
    p->label->again = &r.again;
    lower_range(l, s, all, p->from, p->to);
    p->label->again = NULL;
    end_rounds(l, &r, at);
}

static void lower_range(lower *l, const ast_stmt *s, parts *all, uint32_t from, uint32_t to)
{
    while (from < to && !l->is_dead) {
        part *p = next_part(all, from);
        if (p) {
            lower_part(l, s, all, p);
            from = p->to;
        } else {
            lower_stmt(l, s->body.at[from++]);
        }
    }
}

// --- jumps that cross

// if (*entry <= number) {statements [from, to)}
static void lower_section(lower *l, const ast_stmt *s, place entry, uint32_t number, uint32_t from,
                          uint32_t to)
{
    ir_ref limit = ir_i32(l->func, (int32_t)number + 1);
    ir_ref is_due = ir_bin(&l->at, IR_ULT, IR_I32, lower_load(l, entry), limit);
    jump after = {ir_control(&l->at, IR_IF, &is_due, 1, 2, NULL, 0), false};
    ir_region_id outer = l->at.region;
    lower_enter(l, ir_at(l->func, after.inst)->regions);
    for (; from < to && !l->is_dead; from++) {
        ast_stmt *item = check_unlabelled(s->body.at[from]);
        bool is_inner = l->needs_memory;                   // of a statement expression
        l->needs_memory |= (item && item->kind == S_DECL); // it may be used in other sections
        if (item)
            lower_stmt(l, item);
        l->needs_memory = is_inner;
    }
    if (!l->is_dead)
        lower_leave(l, &after, NULL, 0);
    lower_enter(l, ir_at(l->func, after.inst)->regions + 1);
    lower_leave(l, &after, NULL, 0);
    lower_resume(l, outer, true, s->at);
}

// entry = 0; rounds of all sections
static void lower_rounds(lower *l, const ast_stmt *s)
{
    uint32_t count = s->labels.len, from = 0;
    place entry = lower_temp(l, type_scalar(TY_U32), s->at);
    clear_skipped(l, s, &(part){.to = s->body.len});
    lower_store(l, entry, ir_i32(l->func, 0));
    rounds r = begin_rounds(l);
    for (uint32_t i = 0; i < count; i++) {
        s->labels.at[i]->again = &r.again;
        s->labels.at[i]->entry = entry.base;
        s->labels.at[i]->number = i + 1;
    }
    for (uint32_t i = 0; i <= count; i++) { // labels are in the order of the statements
        uint32_t to = i < count ? s->labels.at[i]->item : s->body.len;
        lower_section(l, s, entry, i, from, to);
        from = to;
    }
    for (uint32_t i = 0; i < count; i++)
        s->labels.at[i]->again = NULL;
    end_rounds(l, &r, s->at);
}

// --- labels beside the cases of a switch

static bool is_labelled(const ast_stmt *s)
{
    return s->kind == S_CASE || s->kind == S_DEFAULT || s->kind == S_LABEL;
}

// switch (value) {entry = number of the section}; without a case for the value it leaves to `end`
static void lower_entries(lower *l, const ast_stmt *body, ir_ref value, place entry, jump *end)
{
    bool is_wide = ir_type_of(l->func, value) == IR_I64;
    uint32_t cases = 0, k = 0, otherwise = 0;
    for (uint32_t i = 0; i < body->body.len; i++)
        for (const ast_stmt *s = body->body.at[i]; s && is_labelled(s); s = s->yes)
            cases += s->kind == S_CASE;
    jump self = {ir_control(&l->at, IR_SWITCH, &value, 1, cases + 1, NULL, 0), false};
    ir_region_id outer = l->at.region, first = ir_at(l->func, self.inst)->regions;
    for (uint32_t i = 0; i < body->body.len; i++)
        for (const ast_stmt *s = body->body.at[i]; s && is_labelled(s); s = s->yes) {
            otherwise = s->kind == S_DEFAULT ? i + 1 : otherwise;
            if (s->kind != S_CASE)
                continue;
            ir_at(l->func, self.inst)->cases[k] = is_wide ? s->value : (int32_t)(uint32_t)s->value;
            lower_enter(l, first + k++);
            lower_store(l, entry, ir_i32(l->func, (int32_t)i + 1));
            lower_leave(l, &self, NULL, 0);
        }
    lower_enter(l, first + cases);
    if (otherwise)
        lower_store(l, entry, ir_i32(l->func, (int32_t)otherwise));
    lower_leave(l, otherwise ? &self : end, NULL, 0);
    lower_resume(l, outer, self.is_used, l->at.at);
}

// A section begins at every label, and has the number of its first statement.
void lower_labelled_switch(lower *l, const ast_stmt *s, ir_ref value)
{
    const ast_stmt *body = s->yes;
    place entry = lower_temp(l, type_scalar(TY_U32), s->at);
    clear_skipped(l, body, &(part){.to = body->body.len});
    jump end = {ir_control(&l->at, IR_BLOCKSCOPE, NULL, 0, 1, NULL, 0), false};
    jump *outer_break = l->break_to;
    ir_region_id outer = l->at.region;
    lower_enter(l, ir_at(l->func, end.inst)->regions);
    lower_entries(l, body, value, entry, &end);
    rounds r = begin_rounds(l);
    for (uint32_t i = 0; i < body->labels.len; i++) {
        body->labels.at[i]->again = &r.again;
        body->labels.at[i]->entry = entry.base;
        body->labels.at[i]->number = body->labels.at[i]->item + 1;
    }
    l->break_to = &end;
    for (uint32_t from = 0, to; from < body->body.len && !l->is_dead; from = to) {
        to = from + 1;
        while (to < body->body.len && !is_labelled(body->body.at[to]))
            to++;
        if (is_labelled(body->body.at[from])) // what stands before the first is never reached
            lower_section(l, body, entry, from + 1, from, to);
    }
    l->break_to = outer_break;
    for (uint32_t i = 0; i < body->labels.len; i++)
        body->labels.at[i]->again = NULL;
    end_rounds(l, &r, s->at);
    if (!l->is_dead)
        lower_leave(l, &end, NULL, 0);
    lower_resume(l, outer, end.is_used, s->at);
}

void lower_labelled_block(lower *l, const ast_stmt *s)
{
    parts all = {0};
    if (s->has_crossing_jumps) {
        lower_rounds(l, s);
        return;
    }
    for (uint32_t i = 0; i < s->labels.len; i++) {
        ast_label *label = s->labels.at[i];
        if (label->is_met_forward)
            vec_push(l->f->in, &all, (part){label, label->first, label->item, false, false});
        if (label->is_met_backward)
            vec_push(l->f->in, &all, (part){label, label->item, label->last + 1, true, false});
    }
    lower_range(l, s, &all, 0, s->body.len);
}

void lower_goto(lower *l, const ast_stmt *s)
{
    if (s->label->number) {
        place entry = {.base = s->label->entry, .type = type_scalar(TY_U32)};
        lower_store(l, entry, ir_i32(l->func, (int32_t)s->label->number));
    }
    lower_leave(l, s->label->ahead ? s->label->ahead : s->label->again, NULL, 0);
}
