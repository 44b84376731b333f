// Jumps of the SIMT generator: loops that lanes leave in different rounds, with values that all
// lanes of a round have; goto out of nests, back for another round, and to a function's tail. The
// oracle runs lane after lane, so both texts have the same jumps. A jump back counts down a fuel;
// what is declared before a label is not read behind it. Start reading at simt_jump.
#include "fuzz/simt_parts.h"

typedef struct search {       // a loop that lanes leave in different rounds
    const char *round, *last; // variables: the round's number, what the round has set
    const char *inner;        // the inner loop's counter; NULL: there is none
    uint32_t out, next;       // labels behind the loop and at the end of its body (0: none)
    simt_type type;           // of `last`
    bool may_break;           // `break` leaves a loop or a switch
} search;

static void name(char *to, size_t size, simt *g, const char *prefix)
{
    snprintf(to, size, "%s_%u", prefix, ++g->next_name);
}

static void add(simt *g, simt_type t, const char *text, bool is_constant)
{
    simt_var *v = &g->vars[g->var_count++];
    *v = (simt_var){.type = t, .is_constant = is_constant};
    snprintf(v->name, sizeof v->name, "%s", text);
}

// --- jumps to labels
static void jump_to(simt *g, simt_label to)
{
    uint32_t mark = ++g->next_mark;
    simt_line(g);
    simt_both(g, "if (");
    simt_test(g, 2);
    if (to.fuel)
        simt_both(g, " && f_%u-- > 0", to.fuel);
    simt_both(g, ") { ");
    if (!to.fuel) { // a function's tail
        simt_both(g, "r_%u = ", to.name);
        simt_value(g, g->result, 2);
        simt_both(g, "; ");
    }
    simt_both(g, "goto g_%u; }", to.name);
    simt_stop(g, mark);
}

static void label(simt *g, uint32_t name_of, uint32_t mark)
{
    simt_line(g);
    simt_both(g, "g_%u: ;", name_of);
    simt_stop(g, mark);
}

// Statements with labels between them; each may jump to all of these.
static void labelled_block(simt *g, int depth, bool in_loop)
{
    uint32_t visible = g->var_count, labels = g->label_count, mark = ++g->next_mark;
    uint32_t count = 1 + simt_below(g, 3), fuel = ++g->next_name, first = g->next_name + 1;
    if (labels + count > SIMT_MAX_LABELS)
        return;
    simt_line(g);
    simt_both(g, "{ i32 f_%u = %u;", fuel, 2 + simt_below(g, 4));
    simt_stop(g, mark);
    g->indent++;
    g->next_name += count;
    for (uint32_t i = 0; i < count; i++)
        g->labels[g->label_count++] = (simt_label){.name = first + i, .fuel = fuel};
    for (uint32_t i = 0; i <= count; i++) {
        bool is_block = i && simt_chance(g, 40); // the jumps back stand behind the label itself
        if (is_block) {
            simt_line(g);
            simt_both(g, "g_%u: {", first + i - 1);
            simt_stop(g, mark);
        } else if (i) {
            label(g, first + i - 1, mark);
        }
        g->indent += is_block;
        simt_statements(g, 1 + (int)simt_below(g, 2), depth - 1, in_loop);
        if (simt_chance(g, 70))
            jump_to(g, g->labels[labels + simt_below(g, count)]);
        g->var_count = visible; // may be skipped
        g->indent -= is_block;
        if (is_block) {
            simt_line(g);
            simt_both(g, "}\n");
        }
    }
    g->indent--;
    simt_line(g);
    simt_both(g, "}\n");
    g->label_count = labels;
}

// --- searches
// What all lanes of a round have.
static void round_value(simt *g, const search *s)
{
    uint32_t mark = ++g->next_mark;
    simt_line(g);
    simt_both(g, "%s %s (%s)(%s * %uu", s->last,
              s->type != ST_BOOL && simt_chance(g, 25) ? "+=" : "=", simt_type_name(s->type),
              s->round, 1 + simt_below(g, 9));
    if (s->inner)
        simt_both(g, " + %s * %uu", s->inner, 1 + simt_below(g, 5));
    if (g->lane_count && simt_chance(g, 30))
        simt_both(g, " + n");
    if (s->type == ST_BOOL)
        simt_both(g, " & 1u");
    simt_both(g, ");");
    simt_stop(g, mark);
}

// A condition that becomes true in another round for each lane.
static void comes_true(simt *g, const search *s)
{
    const char *counter = s->inner && simt_chance(g, 60) ? s->inner : s->round;
    uint32_t way = simt_below(g, 10), mask = simt_chance(g, 50) ? 3 : 7;
    if (way < 3) {
        simt_both(g, "%s == (", counter);
        simt_value(g, ST_U32, 2);
        simt_both(g, " & %uu)", mask);
    } else if (way < 6) {
        simt_both(g, "((");
        simt_value(g, ST_U32, 1);
        simt_both(g, " + %s * %uu) & %uu) == %uu", counter, 1 + 2 * simt_below(g, 3), mask,
                  simt_below(g, 4));
    } else if (way < 8 && g->lane_count) {
        simt_both(g, "%s >= (tx", counter);
        simt_oracle(g, "[L]");
        simt_both(g, " + %uu) %% %uu", simt_below(g, 9), 2 + simt_below(g, 6));
    } else {
        simt_test(g, 2);
    }
}

static void leave(simt *g, const search *s)
{
    uint32_t way = simt_below(g, 10);
    if (way < 4 && g->may_return) {
        simt_both(g, "return ");
        if (s->type == g->result && simt_chance(g, 60))
            simt_both(g, "%s", s->last);
        else if (simt_chance(g, 60))
            simt_both(g, "(%s)%s", simt_type_name(g->result), s->round);
        else
            simt_value(g, g->result, 1);
        simt_both(g, ";");
    } else if (way < 5 && s->next) {
        simt_both(g, "goto g_%u;", s->next);
    } else if (way < 8 || !s->may_break) {
        simt_both(g, "goto g_%u;", s->out);
    } else {
        simt_both(g, "break;");
    }
}

static void leave_if(simt *g, const search *s)
{
    uint32_t mark = ++g->next_mark;
    simt_line(g);
    simt_both(g, "if (");
    comes_true(g, s);
    simt_both(g, ") ");
    leave(g, s);
    simt_stop(g, mark);
}

// The middle of a round: leaves at once, from an inner loop, from a switch, from a branch.
static void round_body(simt *g, const search *outer, int depth)
{
    search s = *outer;
    char inner[16];
    uint32_t way = simt_below(g, 10), mark = ++g->next_mark, visible = g->var_count;
    if (way < 4) {
        leave_if(g, &s);
        return;
    }
    simt_line(g);
    if (way < 7) {
        name(inner, sizeof inner, g, "i");
        simt_both(g, "for (u32 %s = 0u; %s < %uu; %s++) {", inner, inner, 2 + simt_below(g, 3),
                  inner);
        add(g, ST_U32, inner, true);
        s.inner = inner;
        s.may_break = true;
    } else if (way < 8) {
        simt_both(g, "switch (%s & 3u) { case 1: %s {", s.round,
                  simt_chance(g, 50) ? "case 2:" : "default:");
        s.may_break = true;
    } else {
        simt_both(g, "if (");
        simt_test(g, 2);
        simt_both(g, ") {");
    }
    simt_stop(g, mark);
    g->indent++;
    if (simt_chance(g, 60))
        round_value(g, &s);
    simt_statements(g, (int)simt_below(g, 2), depth - 1, way < 7 || outer->may_break);
    leave_if(g, &s);
    g->indent--;
    g->var_count = visible;
    simt_line(g);
    simt_both(g, way == 7 ? "}}\n" : "}\n");
}

// There is one way out, so that only the rounds make what leaves differ.
static void one_exit(simt *g, const search *outer, uint32_t most, int depth)
{
    search s = *outer;
    uint32_t mark = ++g->next_mark, visible = g->var_count;
    char inner[16];
    if (simt_chance(g, 40)) {
        name(inner, sizeof inner, g, "i");
        s.inner = inner;
        s.may_break = false; // it would leave the inner loop alone
        simt_line(g);
        simt_both(g, "for (u32 %s = 0u; %s < %uu; %s++) {", inner, inner, 1 + simt_below(g, 3),
                  inner);
        simt_stop(g, mark);
        add(g, ST_U32, inner, true);
        g->indent++;
    }
    if (simt_chance(g, 70))
        round_value(g, &s);
    simt_statements(g, (int)simt_below(g, 2), depth - 1, false);
    simt_line(g);
    simt_both(g, "if (%s >= %uu || ", s.round, most);
    comes_true(g, &s);
    simt_both(g, ") ");
    leave(g, &s);
    simt_stop(g, mark);
    g->var_count = visible;
    if (!s.inner)
        return;
    g->indent--;
    simt_line(g);
    simt_both(g, "}\n");
}

static void rounds(simt *g, const search *s, int depth, uint32_t mark)
{
    if (simt_chance(g, 70))
        round_value(g, s);
    simt_statements(g, (int)simt_below(g, 2), depth - 1, s->may_break);
    round_body(g, s, depth);
    if (simt_chance(g, 40))
        round_body(g, s, depth);
    if (simt_chance(g, 30))
        round_value(g, s);
    if (s->next)
        label(g, s->next, mark);
}

// How the loop is written: a for, one without a condition, one with a single way out, a do, a label
// and a goto back.
enum { COUNTED, ENDLESS, ALONE, TESTED, BY_LABEL, WAYS };

static void open_rounds(simt *g, const search *s, uint32_t way, uint32_t most, uint32_t again,
                        uint32_t mark)
{
    simt_line(g);
    switch (way) {
    case COUNTED:
        if (simt_chance(g, 20))
            simt_kiln(g, "_Pragma(\"unroll%s\") ", simt_chance(g, 50) ? "" : " 2");
        simt_both(g, "for (; %s < %uu; %s++) {", s->round, most, s->round);
        break;
    case ENDLESS:
        simt_both(g, "for (;; %s++) { if (%s >= %uu) break;", s->round, s->round, most);
        break;
    case ALONE: simt_both(g, "for (;; %s++) {", s->round); break;
    case TESTED: simt_both(g, "do {"); break;
    default: simt_both(g, "g_%u: {", again);
    }
    simt_stop(g, mark);
    g->indent++;
}

// What has left the loop goes to variables of the lane, which decide later on.
static void keep(simt *g, const search *s)
{
    const struct {
        simt_type type;
        const char *text;
    } rows[] = {{ST_U32, s->round}, {s->type, s->last}};
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t mark = ++g->next_mark;
        const simt_var *v = simt_target(g, rows[i].type);
        if (!v || simt_chance(g, 25))
            continue;
        simt_line(g);
        simt_var_write(g, v);
        simt_both(g, " = %s;", rows[i].text);
        simt_stop(g, mark);
    }
}

static void search_of(simt *g, int depth)
{
    uint32_t visible = g->var_count, mark = ++g->next_mark,
             way = simt_chance(g, 35) ? ALONE : simt_below(g, WAYS);
    uint32_t most = 2 + simt_below(g, 7), again = ++g->next_name;
    char round[16], last[16];
    search s = {.round = round, .last = last, .may_break = way != BY_LABEL};
    if (g->var_count + 6 > SIMT_MAX_VARS)
        return;
    s.type = g->may_return && simt_chance(g, 60) ? g->result : simt_any_type(g);
    name(round, sizeof round, g, "c");
    name(last, sizeof last, g, "l");
    simt_line(g);
    simt_both(g, "u32 %s = 0u; %s %s = 0;", round, simt_type_name(s.type), last);
    simt_stop(g, mark);
    add(g, ST_U32, round, true);
    add(g, s.type, last, false);
    s.out = ++g->next_name;
    s.next = way != ALONE && simt_chance(g, 30) ? ++g->next_name : 0;
    open_rounds(g, &s, way, most, again, mark);
    uint32_t inside = g->var_count;
    if (way == ALONE)
        one_exit(g, &s, most, depth);
    else
        rounds(g, &s, depth, mark);
    g->var_count = inside;
    g->indent--;
    simt_line(g);
    simt_both(g, "}");
    if (way == TESTED)
        simt_both(g, " while (++%s < %uu);", round, most);
    simt_both(g, "\n");
    if (way == BY_LABEL) {
        simt_line(g);
        simt_both(g, "if (++%s < %uu) goto g_%u;", round, most, again);
        simt_stop(g, mark);
    }
    label(g, s.out, mark);
    g->var_count = visible;
    keep(g, &s);
}

void simt_jump(simt *g, int depth, bool in_loop)
{
    uint32_t way = simt_below(g, 10);
    if (g->label_count && way < 4)
        jump_to(g, g->labels[simt_below(g, g->label_count)]);
    else if (way < 7)
        search_of(g, depth);
    else
        labelled_block(g, depth, in_loop);
}

// --- the end of a function that all ways lead to
void simt_open_tail(simt *g, simt_type result)
{
    char text[16];
    g->result = result;
    g->may_return = true;
    if (!simt_chance(g, 30))
        return;
    name(text, sizeof text, g, "r");
    g->labels[g->label_count++] = (simt_label){.name = g->next_name};
    simt_line(g);
    simt_both(g, "%s %s = ", simt_type_name(result), text);
    simt_value(g, result, 1);
    simt_both(g, ";");
    simt_stop(g, 0);
    add(g, result, text, false);
    g->tail_vars = g->var_count;
}

uint32_t simt_close_tail(simt *g)
{
    uint32_t tail = g->label_count ? g->labels[0].name : 0;
    if (tail) {
        label(g, tail, 0);
        g->var_count = g->tail_vars;
    }
    g->label_count = 0;
    g->may_return = false;
    return tail;
}

// --- uniform loops that are left early, by all threads at once
void simt_leave_together(simt *g, bool is_block, uint32_t out)
{
    const char *vote = is_block ? "block_any" : "warp_any";
    uint32_t mark = ++g->next_mark;
    simt_line(g);
    simt_open_input(g, ST_BOOL);
    simt_kiln(g, "if (%s(", vote);
    simt_test(g, 2);
    simt_kiln(g, ")) ");
    simt_oracle(g, "; o_%s(o_in_bool, o_out_bool, L0, L1); if (o_out_bool[L0]) ", vote);
    if (out)
        simt_both(g, "goto g_%u;", out);
    else
        simt_both(g, "break;");
    simt_stop(g, mark);
}
