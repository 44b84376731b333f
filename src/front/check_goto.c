// goto and its labels, made plain for lowering. A label stands directly in a block { … }, beside
// the cases where it is the body of a switch, and every goto to it within that block. What jumps
// forward leaves a part of the block that ends at the label; what jumps back begins another round
// of a part that starts there. Where such parts cross, lowering has another way. Start reading at
// check_gotos.
#include "front/check.h"

typedef struct around { // the blocks around a statement, innermost first
    const struct around *outer;
    ast_stmt *block;
    uint32_t item; // which of the block's statements
} around;

static void complain(front *f, diag_code code, span at, const char *name, const char *why,
                     span other)
{
    diag *d = diag_raise(f->diags, code, at, "'%s' %s", name,
                         code == K1011 ? "cannot be jumped to from here" : "cannot stand here");
    diag_label(d, at, "%s", why);
    if (other.lo)
        diag_label(d, other, "the label");
    diag_note(d, "use a loop with break or continue, a flag, or a function with return");
}

// --- where labels stand

static void place_label(front *f, const ast_stmt *s, ast_stmt *block, uint32_t item,
                        bool has_inner_cases)
{
    ast_label *label = s->label;
    if (has_inner_cases)
        complain(f, K1012, s->at, label->name,
                 "its block has labels of a switch inside of inner statements", (span){0, 0});
    else if (!block)
        complain(f, K1012, s->at, label->name, "a label stands directly in a block { … }",
                 (span){0, 0});
    label->block = has_inner_cases ? NULL : block;
    label->item = label->first = item;
    label->last = item;
    if (block)
        vec_push(f->in, &block->labels, label);
}

static void place_labels(front *f, ast_stmt *s, ast_stmt *block, uint32_t item);

// The body of a switch: its labels and those of gotos may stand before one statement.
static void place_switch_labels(front *f, ast_stmt *block)
{
    bool has_inner_cases = false;
    for (uint32_t i = 0; i < block->body.len; i++)
        has_inner_cases |= check_has_label(check_unlabelled(block->body.at[i]));
    for (uint32_t i = 0; i < block->body.len; i++) {
        for (ast_stmt *s = block->body.at[i]; s && s != check_unlabelled(s); s = s->yes)
            if (s->kind == S_LABEL)
                place_label(f, s, block, i, has_inner_cases);
        place_labels(f, check_unlabelled(block->body.at[i]), block, i);
    }
}

static void place_labels(front *f, ast_stmt *s, ast_stmt *block, uint32_t item)
{
    for (; s && s->kind == S_LABEL; s = s->yes)
        place_label(f, s, block, item, block && check_has_label(block));
    if (!s)
        return;
    for (uint32_t i = 0; i < s->body.len; i++)
        place_labels(f, s->body.at[i], s, i);
    if (s->kind == S_SWITCH && s->yes && s->yes->kind == S_BLOCK) {
        place_switch_labels(f, s->yes);
        return;
    }
    place_labels(f, s->yes, NULL, 0);
    place_labels(f, s->no, NULL, 0);
}

// --- what jumps to them

static void place_goto(front *f, ast_stmt *s, const around *in)
{
    ast_label *label = s->label;
    if (!label->at.lo) {
        diag *d = diag_raise(f->diags, K1011, s->at, "there is no label '%s'", label->name);
        diag_label(d, s->at, "nothing to jump to in this function");
        return;
    }
    while (in && in->block != label->block)
        in = in->outer;
    if (!in) {
        if (label->block) // else it was reported
            complain(f, K1011, s->at, label->name, "this would jump into a block", label->at);
        return;
    }
    if (in->item < label->item) {
        label->is_met_forward = true;
        label->first = in->item < label->first ? in->item : label->first;
    } else {
        label->is_met_backward = true;
        label->last = in->item > label->last ? in->item : label->last;
    }
}

static void place_gotos(front *f, ast_stmt *s, const around *in)
{
    for (; s; s = s->no) {
        if (s->kind == S_GOTO)
            place_goto(f, s, in);
        for (uint32_t i = 0; i < s->body.len; i++)
            place_gotos(f, s->body.at[i], &(around){in, s, i});
        place_gotos(f, s->yes, in);
    }
}

// --- the parts of a block: [first, item) before a label, [item, last] after it

// Enlarges the parts of `a` and `b` so that one lies in the other. True when something changed.
static bool nest_two(ast_label *a, ast_label *b)
{
    bool has_changed = false;
    if (a->is_met_forward && b->is_met_forward && a->first < b->first && b->first < a->item &&
        a->item < b->item) {
        b->first = a->first;
        has_changed = true;
    }
    if (a->is_met_backward && b->is_met_backward && a->item < b->item && b->item <= a->last &&
        a->last < b->last) {
        a->last = b->last;
        has_changed = true;
    }
    // a round of `a` in which the part before `b` begins, and which it leaves
    if (a->is_met_backward && b->is_met_forward && a->item < b->first && b->first <= a->last &&
        a->last + 1 < b->item) {
        b->first = a->item;
        has_changed = true;
    }
    return has_changed;
}

static bool do_cross(const ast_label *loop, const ast_label *part)
{
    return loop->is_met_backward && part->is_met_forward && part->first < loop->item &&
           loop->item < part->item && part->item <= loop->last;
}

static void nest_parts(ast_stmt *s)
{
    for (; s; s = s->no) {
        uint32_t n = s->labels.len;
        for (bool has_changed = n > 0; has_changed;) {
            has_changed = false;
            for (uint32_t i = 0; i < n * n; i++)
                has_changed |= nest_two(s->labels.at[i / n], s->labels.at[i % n]);
        }
        for (uint32_t i = 0; i < n * n; i++)
            s->has_crossing_jumps |= do_cross(s->labels.at[i / n], s->labels.at[i % n]);
        for (uint32_t i = 0; i < s->body.len; i++)
            nest_parts(s->body.at[i]);
        nest_parts(s->yes);
    }
}

void check_gotos(front *f, ast_decl *func)
{
    uint32_t errors = f->diags->error_count;
    place_labels(f, func->body, NULL, 0);
    place_gotos(f, func->body, NULL);
    if (errors == f->diags->error_count)
        nest_parts(func->body);
}
