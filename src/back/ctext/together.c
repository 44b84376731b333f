// Operations among threads where the device has no warps of 32 lanes. Such an operation needs all
// threads of the block at one place, and so does every barrier. A control instruction with one
// inside that threads may enter, leave or repeat apart is masked: all threads go through all of it,
// `act` says whether a thread is meant, and one that leaves waits (`out`, `again`) with `act` at 0
// until it is. Control without collectives inside stays plain C (control.c). Start reading at
// threads_find_together, then threads_emit_masked.
#include "back/ctext/threads.h"

static ir_inst_id owner_of(const ir_func *f, ir_inst_id id)
{
    return ir_region_at(f, ir_at(f, id)->parent)->owner;
}

// --- what goes together, what may part
bool threads_is_collective(uint16_t op)
{
    return op == IR_BARRIER || op == IR_WARPSYNC || op == IR_SHUFFLE || op == IR_BALLOT ||
           op == IR_ACTIVE || op == IR_MATCH;
}

static void find_collectives(threads *e)
{
    const ir_func *f = e->t.f;
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        uint16_t op = ir_at(f, id)->op;
        if (!threads_is_collective(op))
            continue;
        e->has_boxes |= op != IR_BARRIER && op != IR_WARPSYNC;
        for (ir_inst_id x = owner_of(f, id); x; x = owner_of(f, x))
            e->controls[x].is_together = true;
        e->is_together = e->controls[0].is_together = true;
    }
}

// A branch that threads may take apart; for a compiler that makes loops of the block's threads also
// one with a barrier inside: PoCL copies all that follows such a branch for each of its sides.
static bool is_parting(const threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    if (i->op != IR_IF && i->op != IR_SWITCH)
        return false;
    ir_ref condition = ir_operand(e->t.f, i, 0);
    return (e->has_loops && e->controls[id].is_together) ||
           (!ir_is_const(condition) && e->uniform.value[condition] < UNIFORM_BLOCK);
}

// A control is split when a transfer out of it, or to its next round, happens within another split
// one. A thread that fails an assert returns by itself.
static void find_splits(threads *e)
{
    const ir_func *f = e->t.f;
    for (ir_inst_id id = 1; id < f->insts.len; id++)
        e->controls[id].is_split = is_parting(e, id);
    for (bool changed = true; changed;) {
        changed = false;
        for (ir_inst_id id = 1; id < f->insts.len; id++) {
            const ir_inst *i = ir_at(f, id);
            bool ends = i->op == IR_RETURN || i->op == IR_UNREACHABLE || threads_may_end(i->op);
            if (i->op != IR_EXIT && i->op != IR_NEXT && !ends)
                continue;
            ir_inst_id left = ends ? 0 : i->aux;
            bool is_parted = threads_may_end(i->op);
            for (ir_inst_id x = owner_of(f, id);; x = owner_of(f, x)) {
                thread_control *c = &e->controls[x];
                if (x != left)
                    c->leaks = true;
                if (is_parted && !c->is_split)
                    changed = c->is_split = true;
                is_parted |= c->is_split;
                if (x == left)
                    break;
            }
        }
    }
}

void threads_find_together(threads *e)
{
    if (!e->has_lanes)
        find_collectives(e);
    if (!e->is_together)
        return;
    e->uniform = uniform_compute(e->t.f, e->t.a);
    find_splits(e);
    e->controls[0].is_masked = e->controls[0].is_split;
}

// --- control that all threads go through
static void emit_masked_branches(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    ctext_put(&e->t, "%s rest%u = act;", e->t.words->word, id);
    if (i->op == IR_IF)
        ctext_put(&e->t, "%s yes%u = %s;", e->t.words->word, id,
                  ctext_scalar(&e->t, ir_operand(e->t.f, i, 0)));
    for (uint32_t k = 0; k < i->region_count; k++) {
        e->is_whole = false;
        if (k + 1 == i->region_count)
            ctext_put(&e->t, "act = rest%u;", id);
        else if (i->op == IR_IF)
            ctext_put(&e->t, "act = rest%u & yes%u; rest%u &= !yes%u;", id, id, id, id);
        else
            ctext_put(&e->t, "act = rest%u & (%s); rest%u &= !(%s);", id, threads_case(e, i, k), id,
                      threads_case(e, i, k));
        threads_emit_within(e, i->regions + k);
    }
}

static void emit_masked_loop(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    threads_move_all(e, "", ir_region_at(e->t.f, i->regions)->args, i);
    ctext_put(&e->t, "%s round%u = act, again%u;", e->t.words->word, id, id);
    ctext_put(&e->t, "do {");
    e->t.depth++;
    ctext_put(&e->t, "act = round%u; again%u = 0;", id, id);
    e->is_whole = false;
    threads_emit_region(e, i->regions);
    ctext_put(&e->t, "turn%u:;", id);
    threads_assign_next(e, i);
    ctext_put(&e->t, "round%u = again%u;", id, id);
    e->t.depth--;
    ctext_put(&e->t, "} while (any_of_block(&word, again%u));", id);
}

void threads_emit_masked(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    bool was_whole = e->is_whole;
    ctext_put(&e->t, "{");
    e->t.depth++;
    ctext_put(&e->t, "%s out%u = 0;", e->t.words->word, id);
    if (i->op == IR_IF || i->op == IR_SWITCH)
        emit_masked_branches(e, id);
    else if (i->op == IR_LOOP)
        emit_masked_loop(e, id);
    else
        threads_emit_region(e, i->regions);
    ctext_put(&e->t, "end%u:;", id);
    ctext_put(&e->t, "act = out%u;", id);
    e->t.depth--;
    ctext_put(&e->t, "}");
    e->is_whole = was_whole && !e->controls[id].leaks;
}

// Where threads go masked, what one of them knows must outlive the braces.
void threads_declare_all(threads *e)
{
    const ir_func *f = e->t.f;
    const ctext_words *w = e->t.words;
    const char *block = e->dialect->spaces[SPACE_SHARED].qualifier;
    ctext_put(&e->t, "%s act = 1;", w->word);
    ctext_put(&e->t, "%s%s word;", block, w->word);
    if (e->has_boxes) {
        uint64_t size = (uint64_t)f->block[0] * f->block[1] * f->block[2];
        ctext_put(&e->t, "enum { BOXES = %u };", size ? (unsigned)size : 1024u);
        ctext_put(&e->t, "%s%s box[2 * BOXES];", block, w->wide_word);
        ctext_put(&e->t, "%s%s flag[2 * BOXES];", block, w->byte);
        ctext_put(&e->t, "%s turn = 0;", w->word);
    }
    for (ir_inst_id id = 1; id < f->insts.len; id++) {
        const ir_inst *i = ir_at(f, id);
        if (i->op == IR_NOP)
            continue;
        threads_declare(e, "", i->result, i->result_count);
        if (i->op == IR_LOOP) {
            const ir_region *body = ir_region_at(f, i->regions);
            threads_declare(e, "", body->args, body->arg_count);
            threads_declare(e, "n", body->args, body->arg_count);
        }
    }
}
