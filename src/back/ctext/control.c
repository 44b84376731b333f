// Control of one thread as C control: if and else, loops, and where a transfer goes on. With goto a
// transfer jumps behind its control (after) or to its beginning (again). Without, control must be
// plain (pass exits): then it is the end of a branch, break or continue, a block is a loop that
// runs once. Start reading at threads_emit_region.
#include "back/ctext/threads.h"

// --- moving values
void threads_declare(threads *e, const char *prefix, ir_ref first, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++)
        ctext_put(&e->t, "%s %sv%u = 0;", ctext_type(&e->t, ir_type_of(e->t.f, first + k)), prefix,
                  first + k);
}

void threads_move_all(threads *e, const char *prefix, ir_ref to, const ir_inst *i)
{
    for (uint32_t k = 0; k < i->operand_count; k++)
        ctext_put(&e->t, "%sv%u = %s;", prefix, to + k,
                  ctext_scalar(&e->t, ir_operand(e->t.f, i, k)));
}

void threads_assign_next(threads *e, const ir_inst *loop)
{
    const ir_region *body = ir_region_at(e->t.f, loop->regions);
    for (uint32_t k = 0; k < body->arg_count; k++)
        ctext_put(&e->t, "v%u = nv%u;", body->args + k, body->args + k);
}

// --- leaving
// All threads that are here leave together, and all of the block are here.
static bool is_common(const threads *e)
{
    return e->is_whole && !(e->is_plain && e->controls[e->plain].is_split);
}

static void emit_jump(threads *e, const ir_inst *i)
{
    const ir_inst *x = ir_at(e->t.f, i->aux);
    if (i->op == IR_NEXT)
        threads_assign_next(e, x);
    if (!e->has_breaks)
        ctext_put(&e->t, i->op == IR_NEXT ? "goto again%u;" : "goto after%u;", i->aux);
    else if (i->op == IR_NEXT)
        ctext_put(&e->t, "continue;");
    else if (x->op == IR_LOOP || x->op == IR_BLOCKSCOPE)
        ctext_put(&e->t, "break;");
}

static void emit_terminator(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    if (i->op == IR_RETURN || i->op == IR_UNREACHABLE) {
        ctext_put(&e->t, "%s", is_common(e) ? "return;" : threads_end(e));
        return;
    }
    const ir_inst *x = ir_at(e->t.f, i->aux);
    bool is_next = i->op == IR_NEXT, is_masked = e->controls[i->aux].is_masked;
    bool is_guarded = is_masked && !e->is_plain && !e->is_whole;
    if (is_guarded)
        ctext_put(&e->t, "if (act) {");
    threads_move_all(e, is_next ? "n" : "",
                     is_next ? ir_region_at(e->t.f, x->regions)->args : x->result, i);
    if (!is_masked) {
        emit_jump(e, i);
        return;
    }
    ctext_put(&e->t, is_next ? "again%u = 1; act = 0;" : "out%u = 1; act = 0;", i->aux);
    if (is_common(e))
        ctext_put(&e->t, is_next ? "goto turn%u;" : "goto end%u;", i->aux);
    else if (e->is_plain)
        ctext_put(&e->t, "goto gone%u;", e->plain);
    if (is_guarded)
        ctext_put(&e->t, "}");
}

// --- control that C does
void threads_emit_within(threads *e, ir_region_id region)
{
    e->t.depth++;
    threads_emit_region(e, region);
    e->t.depth--;
}

const char *threads_case(threads *e, const ir_inst *i, uint32_t k)
{
    ir_ref value = ir_operand(e->t.f, i, 0);
    ir_type type = ir_type_of(e->t.f, value);
    uint64_t bits = ctext_is_wide(type) ? (uint64_t)i->cases[k] : (uint32_t)i->cases[k];
    return str_format(e->t.a, "%s == %s", ctext_scalar(&e->t, value),
                      ctext_literal(&e->t, ctext_is_wide(type) ? IR_I64 : IR_I32, bits));
}

static void emit_branches(threads *e, const ir_inst *i)
{
    for (uint32_t k = 0; k < i->region_count; k++) {
        if (i->op == IR_IF)
            ctext_put(&e->t, k ? "} else {" : "if (%s) {",
                      ctext_scalar(&e->t, ir_operand(e->t.f, i, 0)));
        else if (k + 1 < i->region_count)
            ctext_put(&e->t, "%sif (%s) {", k ? "} else " : "", threads_case(e, i, k));
        else
            ctext_put(&e->t, k ? "} else {" : "{");
        threads_emit_within(e, i->regions + k);
    }
    ctext_put(&e->t, "}");
}

static void emit_open(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    if (i->op == IR_IF || i->op == IR_SWITCH) {
        emit_branches(e, i);
    } else if (i->op == IR_LOOP) {
        threads_move_all(e, "", ir_region_at(e->t.f, i->regions)->args, i);
        if (e->has_breaks)
            ctext_put(&e->t, "for (;;) {");
        else
            ctext_put(&e->t, "again%u: {", id);
        threads_emit_within(e, i->regions);
        ctext_put(&e->t, "}");
    } else {
        ctext_put(&e->t, e->has_breaks ? "do {" : "{");
        threads_emit_within(e, i->regions);
        ctext_put(&e->t, e->has_breaks ? "} while (0);" : "}");
    }
    if (!e->has_breaks)
        ctext_put(&e->t, "after%u:;", id);
}

// A control without collectives, where all threads are together.
static void emit_apart(threads *e, ir_inst_id id)
{
    e->plain = id;
    e->is_plain = true;
    if (!e->is_whole)
        ctext_put(&e->t, "if (act) {");
    emit_open(e, id);
    if (!e->is_whole)
        ctext_put(&e->t, "}");
    ctext_put(&e->t, "gone%u:;", id);
    e->is_plain = false;
    if (e->controls[id].leaks && e->controls[id].is_split)
        e->is_whole = false;
}

static void emit_control(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    thread_control *c = &e->controls[id];
    if (!e->is_together)
        threads_declare(e, "", i->result, i->result_count);
    if (!e->is_together && i->op == IR_LOOP) {
        const ir_region *body = ir_region_at(e->t.f, i->regions);
        threads_declare(e, "", body->args, body->arg_count);
        threads_declare(e, "n", body->args, body->arg_count);
    }
    if (e->is_plain) {
        emit_open(e, id);
    } else if (!c->is_together) {
        emit_apart(e, id);
    } else {
        c->is_masked = c->is_split || !e->is_whole;
        if (c->is_masked)
            threads_emit_masked(e, id);
        else
            emit_open(e, id);
    }
}

void threads_emit_region(threads *e, ir_region_id region)
{
    for (ir_inst_id id = ir_region_at(e->t.f, region)->first; id; id = ir_at(e->t.f, id)->next) {
        const ir_inst *i = ir_at(e->t.f, id);
        if (ir_is_terminator((ir_op)i->op))
            emit_terminator(e, id);
        else if (ir_is_control((ir_op)i->op))
            emit_control(e, id);
        else
            threads_emit_plain(e, id);
    }
}
