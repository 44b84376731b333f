// Collectives and shared memory of the SIMT generator: an item each, see simt_stmt.c.
#include "fuzz/simt_parts.h"

#include <string.h>

// --- collectives: o_in is computed by each lane, then one call, then o_out goes to a variable; in
// the oracle all of it in one line
void simt_open_input(simt *g, simt_type t)
{
    simt_oracle(g, SIMT_LANES "o_in_%s[L] = ", simt_type_name(t));
}

static void take_output(simt *g, const simt_var *v, simt_type t)
{
    simt_oracle(g, " " SIMT_LANES "%s[L] = o_out_%s[L];", v->name, simt_type_name(t));
}

void simt_shuffle(simt *g)
{
    static const char *const names[] = {"shuffle", "shuffle_up", "shuffle_down", "shuffle_xor"};
    uint32_t mark = ++g->next_mark, width = simt_chance(g, 40) ? 1u << simt_below(g, 6) : 0;
    simt_type t = simt_any_type(g);
    const simt_var *v = simt_target(g, t);
    const char *name = names[simt_below(g, 4)], *type = simt_type_name(t);
    if (!v)
        return;
    simt_line(g);
    simt_open_input(g, t);
    simt_kiln(g, "%s = %s%s(", v->name, name, width ? "_in" : "");
    simt_value(g, t, 3);
    simt_oracle(g, "; " SIMT_LANES "o_index[L] = ");
    simt_kiln(g, ", ");
    if (simt_chance(g, 30)) {
        simt_both(g, "%uu", simt_below(g, width ? width : 32));
    } else {
        simt_both(g, "(");
        simt_value(g, ST_U32, 2);
        simt_both(g, " & %uu)", width ? width - 1 : 31);
    }
    if (width)
        simt_kiln(g, ", %uu", width);
    simt_kiln(g, ");");
    simt_oracle(g, "; o_%s_%s(o_in_%s, o_out_%s, %u, L0, L1);", name, type, type, type,
                width ? width : 32);
    take_output(g, v, t);
    simt_stop(g, mark);
}

void simt_vote(simt *g, bool is_block)
{
    static const struct {
        const char *name;
        simt_type result;
    } votes[] = {{"warp_ballot", ST_U32}, {"warp_any", ST_BOOL},  {"warp_all", ST_BOOL},
                 {"block_count", ST_U32}, {"block_any", ST_BOOL}, {"block_all", ST_BOOL}};
    uint32_t mark = ++g->next_mark, n = simt_below(g, is_block ? 6 : 3);
    const simt_var *v = simt_target(g, votes[n].result);
    if (!v)
        return;
    simt_line(g);
    simt_open_input(g, ST_BOOL);
    simt_kiln(g, "%s = %s(", v->name, votes[n].name);
    simt_test(g, 3);
    simt_kiln(g, ");");
    simt_oracle(g, "; o_%s(o_in_bool, o_out_%s, L0, L1);", votes[n].name,
                simt_type_name(votes[n].result));
    take_output(g, v, votes[n].result);
    simt_stop(g, mark);
}

void simt_match(simt *g)
{
    uint32_t mark = ++g->next_mark;
    simt_type t = simt_wide_type(g);
    const simt_var *v = simt_target(g, ST_U32);
    const char *type = simt_type_name(t);
    if (!v)
        return;
    simt_line(g);
    simt_open_input(g, t);
    simt_kiln(g, "%s = warp_match(", v->name);
    simt_both(g, "(%s)(", type);
    simt_value(g, t, 2);
    simt_both(g, " & 3)");
    simt_kiln(g, ");");
    simt_oracle(g, "; o_warp_match_%s(o_in_%s, o_out_u32, L0, L1);", type, type);
    take_output(g, v, ST_U32);
    simt_stop(g, mark);
}

// Sums of floats in a scan have no order that is promised: those are of whole numbers.
void simt_reduce(simt *g, bool is_block)
{
    enum { SCAN_SUM = 3, SCAN_SUM_BEFORE = 6 };
    static const char *const names[] = {
        "sum", "min", "max", "scan_sum", "scan_min", "scan_max", "scan_sum_before",
        "and", "or",  "xor"};
    simt_type t = (simt_type)(ST_I32 + simt_below(g, 6));
    uint32_t mark = ++g->next_mark, n = simt_below(g, t == ST_U32 || t == ST_U64 ? 10 : 7);
    const simt_var *v = simt_target(g, t);
    const char *group = is_block && simt_chance(g, 50) ? "block" : "warp";
    const char *type = simt_type_name(t);
    if (!v)
        return;
    simt_line(g);
    simt_open_input(g, t);
    simt_kiln(g, "%s = %s_%s(", v->name, group, names[n]);
    if (simt_is_float(t) && (n == SCAN_SUM || n == SCAN_SUM_BEFORE)) {
        simt_both(g, "(%s)", type);
        simt_value(g, ST_I8, 3);
    } else {
        simt_value(g, t, 3);
    }
    simt_kiln(g, ");");
    simt_oracle(g, "; o_%s_%s_%s(o_in_%s, o_out_%s, L0, L1);", group, names[n], type, type, type);
    take_output(g, v, t);
    simt_stop(g, mark);
}

// --- shared memory
static void shared_array(simt *g, simt_type t, uint32_t k, uint32_t length, uint32_t mark)
{
    simt_line(g);
    simt_kiln(g, "shared %s s_%u[%u];", simt_type_name(t), k, length);
    simt_oracle(g, "static %s s_%u[%u];", simt_type_name(t), k, length);
    simt_stop(g, mark);
}

static void barrier(simt *g, uint32_t mark)
{
    simt_kiln(g, "%*sbarrier(); //@%u\n", 4 * g->indent, "", mark);
}

void simt_exchange(simt *g)
{
    simt_type t = simt_any_type(g);
    const simt_var *v = simt_target(g, t);
    uint32_t mark = ++g->next_mark, k = g->shared_count++;
    if (!v)
        return;
    shared_array(g, t, k, g->threads, mark);
    simt_line(g);
    simt_kiln(g, "s_%u[tx] = ", k);
    simt_oracle(g, SIMT_LANES "s_%u[L] = ", k);
    simt_value(g, t, 3);
    simt_both(g, ";");
    simt_stop(g, mark);
    barrier(g, mark);
    simt_line(g);
    simt_oracle(g, SIMT_LANES);
    simt_var_write(g, v);
    simt_both(g, " = s_%u[", k);
    simt_value(g, simt_below(g, 3) ? ST_U32 : ST_U64, 2);
    simt_both(g, " %% %uu];", g->threads);
    simt_stop(g, mark);
    barrier(g, mark);
}

void simt_shared_atomic(simt *g)
{
    simt_type t = simt_wide_type(g);
    const simt_var *v = simt_target(g, t);
    uint32_t mark = ++g->next_mark, k = g->shared_count++;
    const simt_update *u = &simt_updates[simt_below(g, SIMT_UPDATES)];
    char place[32];
    if (!v)
        return;
    shared_array(g, t, k, 8, mark);
    simt_line(g);
    simt_kiln(g, "for (u32 i = tx; i < 8u; i += %uu) ", g->threads);
    simt_oracle(g, "for (u32 i = 0; i < 8; i++) ");
    simt_both(g, "s_%u[i] = ", k);
    simt_number(g, t);
    simt_both(g, ";");
    simt_stop(g, mark);
    barrier(g, mark);
    simt_line(g);
    simt_oracle(g, SIMT_LANES);
    simt_both(g, "if (");
    simt_test(g, 2);
    simt_kiln(g, ") atomic_%s(&s_%u[", u->name, k);
    simt_oracle(g, ") { u32 at = ");
    simt_value(g, ST_U32, 2);
    simt_kiln(g, " & 7u], ");
    simt_oracle(g, " & 7; %s X = ", simt_type_name(t));
    simt_value(g, t, 3);
    simt_kiln(g, ");");
    simt_oracle(g, "; ");
    snprintf(place, sizeof place, "s_%u[at]", k);
    simt_oracle_update(g, u, place);
    simt_oracle(g, " }");
    simt_stop(g, mark);
    barrier(g, mark);
    simt_line(g);
    simt_oracle(g, SIMT_LANES);
    simt_var_write(g, v);
    simt_both(g, " = s_%u[", k);
    simt_value(g, ST_U32, 2);
    simt_both(g, " & 7u];");
    simt_stop(g, mark);
    barrier(g, mark);
}
