// One instruction that is no control and no memory access, as a statement. Collectives are calls
// where the device has warps of 32 lanes; elsewhere all threads of the block come together, and
// those that are active say so. Start reading at threads_emit_plain.
#include "back/channel.h"
#include "back/ctext/threads.h"

void threads_set(threads *e, ir_ref r, const char *value)
{
    if (e->is_together)
        ctext_put(&e->t, "v%u = %s;", r, value);
    else
        ctext_put(&e->t, "%s v%u = %s;", ctext_type(&e->t, ir_type_of(e->t.f, r)), r, value);
}

bool threads_may_end(uint16_t op)
{
    return op == IR_ASSERT || op == IR_BOUNDS || op == IR_TRAP || op == IR_HOST;
}

const char *threads_end(threads *e)
{
    if (!e->controls[0].is_masked)
        return "return;";
    return e->is_plain ? str_format(e->t.a, "act = 0; goto gone%u;", e->plain) : "act = 0;";
}

// --- between threads
// The row of boxes of the next operation, and which threads take part.
static const char *boxes(threads *e)
{
    ctext_put(&e->t, "turn ^= 1;");
    return e->is_whole ? "box + turn * BOXES, 0, 1u"
                       : "box + turn * BOXES, flag + turn * BOXES, act";
}

static const char *shuffled(threads *e, const ir_inst *i)
{
    ir_type t = (ir_type)i->type;
    const char *value = ctext_bits(&e->t, ir_operand(e->t.f, i, 0));
    const char *by = ctext_scalar(&e->t, ir_operand(e->t.f, i, 1));
    const char *width = ctext_scalar(&e->t, ir_operand(e->t.f, i, 2)), *bits;
    if (e->is_library)
        return ctext_scalar(&e->t, ir_operand(e->t.f, i, 0));
    if (e->has_lanes)
        bits = str_format(e->t.a, "shuffle_%d(%u, %s, %s, %s)", ctext_is_wide(t) ? 64 : 32, i->aux,
                          value, by, width);
    else
        bits = str_format(e->t.a, "(%s)shuffle_box(%s, %u, %s, %s, %s)",
                          ctext_is_wide(t) ? e->t.words->wide_word : e->t.words->word, boxes(e),
                          i->aux, value, by, width);
    return t == IR_F32 || t == IR_F64 ? str_format(e->t.a, "%s_bits(%s)", ir_type_name(t), bits)
                                      : bits;
}

static const char *voted(threads *e, const ir_inst *i)
{
    if (e->is_library)
        return i->op == IR_BALLOT ? ctext_bits(&e->t, ir_operand(e->t.f, i, 0)) : "1u";
    if (i->op == IR_ACTIVE)
        return e->has_lanes ? "active_lanes()"
                            : str_format(e->t.a, "match_box(%s, 0, 0)", boxes(e));
    ir_ref a = ir_operand(e->t.f, i, 0);
    const char *x = ctext_bits(&e->t, a);
    if (!e->has_lanes)
        return str_format(e->t.a, "match_box(%s, %s, %s)", boxes(e), x,
                          i->op == IR_BALLOT ? "1" : x);
    return i->op == IR_BALLOT ? str_format(e->t.a, "ballot(%s)", x)
                              : str_format(e->t.a, "match_%d(%s)",
                                           ctext_is_wide(ir_type_of(e->t.f, a)) ? 64 : 32, x);
}

static const char *of_axis(threads *e, const char *function, const ir_inst *i)
{
    return str_format(e->t.a, "%s(%d)", function, (int)i->imm);
}

static const char *geometry(threads *e, const ir_inst *i)
{
    const ctext_dialect *d = e->dialect;
    const uint32_t *block = e->t.f->block;
    switch (i->op) {
    case IR_THREAD: return block[0] && block[i->imm] == 1 ? "0u" : of_axis(e, d->thread, i);
    case IR_BLOCK: return of_axis(e, d->block, i);
    case IR_BLOCKDIM:
        return block[0] ? str_format(e->t.a, "%uu", block[i->imm]) : of_axis(e, d->block_size, i);
    case IR_GRIDDIM: return of_axis(e, d->grid_size, i);
    case IR_CLUSTER: return d->cluster[i->imm & 3];
    case IR_LANE: return e->is_library ? "0u" : "(rank & 31)";
    case IR_WARP: return e->is_library ? "(thread_rank() >> 5)" : "(rank >> 5)";
    default: return "dynamic_bytes";
    }
}

// --- talking
static void emit_print(threads *e, const ir_inst *i, uint32_t site)
{
    const char *global = e->dialect->spaces[SPACE_GLOBAL].qualifier;
    ctext_put(&e->t, "{ %s%s *line = line_of(channel, %u, %u);", global, e->t.words->byte, site,
              i->operand_count);
    for (uint32_t k = 0; k < i->operand_count; k++)
        ctext_put(&e->t, "  if (line) *(%s%s *)(line + %u) = %s;", global, e->t.words->wide_word,
                  32 + 8 * k, ctext_bits(&e->t, ir_operand(e->t.f, i, k)));
    ctext_put(&e->t, "}");
}

static void emit_channel(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    uint32_t site = e->t.sites[id] - 1;
    bool is_guarded = e->is_together && !e->is_plain && !e->is_whole;
    if (is_guarded)
        ctext_put(&e->t, "if (act) {");
    if (i->op == IR_PRINT) {
        emit_print(e, i, site);
    } else if (i->op == IR_HOST && e->calls_host) {
        threads_emit_host(e, i, site);
    } else if (i->op == IR_HOST) { // the launch is refused: nobody gets here
        for (uint32_t k = 0; k < i->result_count; k++)
            threads_set(e, i->result + k,
                        ctext_literal(&e->t, ir_type_of(e->t.f, i->result + k), 0));
    } else {
        const char *unless =
            i->op == IR_TRAP
                ? ""
                : str_format(e->t.a, "if (!%s) ", ctext_scalar(&e->t, ir_operand(e->t.f, i, 0)));
        const char *a = "0", *b = "0";
        if (i->op == IR_BOUNDS) {
            a = ctext_scalar(&e->t, ir_operand(e->t.f, i, 1));
            b = ctext_scalar(&e->t, ir_operand(e->t.f, i, 2));
        }
        ctext_put(&e->t, "%s{ fault(channel, %u, %s, %s); %s }", unless, site, a, b,
                  threads_end(e));
    }
    if (is_guarded)
        ctext_put(&e->t, "}");
    if (threads_may_end(i->op) && !e->is_plain)
        e->is_whole = false;
}

static bool emit_effect(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    switch (i->op) {
    case IR_BARRIER: ctext_put(&e->t, "BLOCK_BARRIER();"); return true;
    case IR_WARPSYNC:
        if (e->is_library)
            return true;
        ctext_put(&e->t, e->has_lanes ? "WARP_BARRIER();" : "BLOCK_BARRIER();");
        return true;
    case IR_PREFETCH:
    case IR_ASSUME: return true;
    case IR_FENCE: ctext_put(&e->t, "FENCE();"); return true;
    case IR_SLEEP:
        ctext_put(&e->t, "NAP(%s);", ctext_scalar(&e->t, ir_operand(e->t.f, i, 0)));
        return true;
    case IR_PRINT:
    case IR_HOST:
    case IR_ASSERT:
    case IR_BOUNDS:
    case IR_TRAP: emit_channel(e, id); return true;
    default: return false;
    }
}

static const char *value_of(threads *e, const ir_inst *i)
{
    switch (i->op) {
    case IR_LOCAL: return ctext_literal(&e->t, IR_I64, e->t.locals.at[i->aux]);
    case IR_SHARED: return ctext_literal(&e->t, IR_I64, e->t.shared.at[i->aux]);
    case IR_CONSTANT: return ctext_literal(&e->t, IR_I64, e->data_at[i->aux]);
    case IR_THREAD:
    case IR_BLOCK:
    case IR_BLOCKDIM:
    case IR_GRIDDIM:
    case IR_LANE:
    case IR_WARP:
    case IR_CLUSTER:
    case IR_DYNSHARED: return geometry(e, i);
    case IR_SHADDR:
        return str_format(e->t.a, "(%s)%s", e->t.words->word,
                          ctext_scalar(&e->t, ir_operand(e->t.f, i, 0)));
    case IR_SHUFFLE: return shuffled(e, i);
    case IR_BALLOT:
    case IR_ACTIVE:
    case IR_MATCH: return voted(e, i);
    case IR_UNIFORM: return ctext_scalar(&e->t, ir_operand(e->t.f, i, 0));
    case IR_PTRCAST: return threads_pointer_cast(e, i);
    case IR_CLOCK: return "time_now(0)";
    case IR_NANOTIME: return "time_now(1)";
    default: return ctext_pure(&e->t, i);
    }
}

void threads_emit_plain(threads *e, ir_inst_id id)
{
    const ir_inst *i = ir_at(e->t.f, id);
    if (ctext_is_memory(i->op)) {
        threads_emit_memory(e, i);
        return;
    }
    if (emit_effect(e, id))
        return;
    if (i->op == IR_CALL)
        bug("kernel '%s' still has a call: the inline pass must run before the printer",
            e->t.f->name);
    threads_set(e, i->result, value_of(e, i));
}
