// Jumps of the random kernels: values that leave a loop from inside it, goto forward out of nests,
// goto back for another round, labels that are jumped over and into, a tail that all of a function
// ends in. In a search every round has one value for all threads, but they leave in different
// rounds. A jump back counts down a `fuel`; what is declared before a label is not read behind it.
// Start reading at gen_jump.
#include "fuzz/gen_parts.h"

typedef struct search {   // a loop that threads leave in different rounds
    uint32_t round, last; // variables: the round's number, what the round has set
    uint32_t inner;       // the inner loop's counter; 0: there is none
    uint32_t out, next;   // labels behind the loop and at the end of its body (0: none)
    gen_type type;        // of `last`
    bool may_break;       // `break` leaves the search itself
} search;

// --- jumps to labels
static void jump_to(gen *g, const gen_label *to)
{
    gen_line(g);
    gen_write(g, "if (");
    gen_condition(g, 2);
    if (to->fuel)
        gen_write(g, " && v%u-- > 0", to->fuel);
    gen_write(g, ") { ");
    if (to->result) {
        gen_write(g, "v%u = ", to->result);
        gen_expr(g, g->result, 2);
        gen_write(g, "; ");
    }
    gen_write(g, "goto l%u; }\n", to->name);
}

// Where there are too many, nothing jumps there.
static void push_label(gen *g, gen_label label)
{
    if (g->label_count < GEN_MAX_LABELS)
        g->labels[g->label_count++] = label;
}

// The labels before part i of a block, or of the body of a switch with that many parts.
static void part_labels(gen *g, uint32_t i, uint32_t first, uint32_t parts, bool is_switch)
{
    bool is_before = gen_chance(g, 50);
    if (i && (!is_switch || is_before))
        gen_write(g, "l%u: ", first + i - 1);
    if (is_switch)
        gen_write(g, "case %u: ", i);
    if (is_switch && i + 1 == parts && gen_chance(g, 50))
        gen_write(g, "default: ");
    if (i && is_switch && !is_before)
        gen_write(g, "l%u: ", first + i - 1);
}

// Statements with labels between them; each may jump to all of these. As the body of a switch it
// begins at one of them.
static void labelled_block(gen *g, int depth, bool in_loop)
{
    bool is_switch = gen_chance(g, 40);
    uint32_t before = g->var_count, labels = g->label_count, count = 1 + gen_below(g, 3);
    uint32_t fuel = g->next_name++, first = g->next_name;
    gen_line(g);
    gen_write(g, "{\n");
    g->indent++;
    gen_line(g);
    gen_write(g, "i32 v%u = %u;\n", fuel, 2 + gen_below(g, 4));
    g->next_name += count;
    if (is_switch) {
        gen_line(g);
        gen_write(g, "switch ((u32)(");
        gen_expr(g, GT_U32, 2);
        gen_write(g, ") & 3u) {\n");
    }
    for (uint32_t i = 0; i < count; i++)
        push_label(g, (gen_label){.name = first + i, .fuel = fuel});
    for (uint32_t i = 0; i <= count; i++) {
        bool is_block = gen_chance(g, 40);
        gen_line(g);
        part_labels(g, i, first, count + 1, is_switch);
        gen_write(g, is_block ? "{\n" : ";\n");
        g->indent += is_block;
        for (uint32_t n = 1 + gen_below(g, 2); n && g->budget; n--)
            gen_divergent(g, depth - 1, in_loop && !is_switch);
        if (g->label_count > labels && gen_chance(g, 70))
            jump_to(g, &g->labels[labels + gen_below(g, g->label_count - labels)]);
        g->indent -= is_block;
        if (is_block) {
            gen_line(g);
            gen_write(g, "}\n");
        }
        if (is_switch && gen_chance(g, 30)) {
            gen_line(g);
            gen_write(g, "break;\n");
        }
        g->var_count = before; // may be skipped
    }
    if (is_switch) {
        gen_line(g);
        gen_write(g, "}\n");
    }
    g->indent--;
    gen_line(g);
    gen_write(g, "}\n");
    g->label_count = labels;
}

// --- searches
// What all threads of a round have.
static void round_value(gen *g, const search *s)
{
    const char *type = gen_type_name(s->type);
    bool adds = s->type != GT_BOOL && gen_chance(g, 25);
    gen_line(g);
    gen_write(g, "v%u %s (%s)((u32)v%u * %uu", s->last, adds ? "+=" : "=", type, s->round,
              1 + gen_below(g, 9));
    if (s->inner)
        gen_write(g, " + v%u * %uu", s->inner, 1 + gen_below(g, 5));
    if (g->in_kernel && gen_chance(g, 30))
        gen_write(g, " + p1");
    gen_write(g, s->type == GT_BOOL ? " & 1u);\n" : " + %uu);\n", gen_below(g, 5));
}

// A condition that becomes true in another round for each thread.
static void comes_true(gen *g, const search *s)
{
    uint32_t counter = s->inner && gen_chance(g, 60) ? s->inner : s->round, way = gen_below(g, 10);
    if (way < 4) {
        gen_write(g, "(u32)v%u == ((", counter);
        gen_expr(g, GT_U32, 2);
        gen_write(g, ") & %uu)", gen_chance(g, 50) ? 3 : 7);
    } else if (way < 8) {
        gen_write(g, "(((");
        gen_expr(g, GT_U32, 1);
        gen_write(g, ") + (u32)v%u * %uu) & %uu) == %uu", counter, 1 + 2 * gen_below(g, 3),
                  gen_chance(g, 50) ? 3 : 7, gen_below(g, 4));
    } else {
        gen_condition(g, 2);
    }
}

static void last_as(gen *g, const search *s, gen_type t)
{
    char text[16];
    snprintf(text, sizeof text, "v%u", s->last);
    gen_as(g, t, s->type, text);
}

static void leave(gen *g, const search *s)
{
    uint32_t way = gen_below(g, 10);
    if (way < 4 && g->may_return) {
        gen_write(g, "return ");
        if (gen_chance(g, 40))
            gen_write(g, "(%s)v%u", gen_type_name(g->result), s->round);
        else if (gen_chance(g, 50))
            last_as(g, s, g->result);
        else
            gen_expr(g, g->result, 1);
    } else if (way < 5 && s->next) {
        gen_write(g, "goto l%u", s->next);
    } else if (way < 8 || !s->may_break) {
        gen_write(g, "goto l%u", s->out);
    } else {
        gen_write(g, "break");
    }
}

static void leave_if(gen *g, const search *s)
{
    gen_line(g);
    gen_write(g, "if (");
    comes_true(g, s);
    gen_write(g, ") { ");
    leave(g, s);
    gen_write(g, "; }\n");
}

// The middle of a round: leaves at once, from an inner loop, from a switch, from a branch.
static void round_body(gen *g, const search *outer, int depth)
{
    search s = *outer;
    uint32_t way = gen_below(g, 10), inner = g->next_name;
    if (way < 4) {
        leave_if(g, &s);
        return;
    }
    gen_line(g);
    if (way < 7) {
        g->next_name++;
        gen_write(g, "for (u32 v%u = 0; v%u < %u; v%u++) {\n", inner, inner, 2 + gen_below(g, 3),
                  inner);
        s.inner = inner;
        s.may_break = true;
    } else if (way < 8) {
        gen_write(g, "switch ((u32)v%u & 3u) {\n", s.round);
        gen_line(g);
        gen_write(g, gen_chance(g, 50) ? "case 1: case 2: {\n" : "default: {\n");
        s.may_break = true;
    } else {
        gen_write(g, "if (");
        gen_condition(g, 2);
        gen_write(g, ") {\n");
    }
    g->indent++;
    uint32_t before = g->var_count;
    if (gen_chance(g, 60))
        round_value(g, &s);
    if (g->budget && gen_chance(g, 30))
        gen_divergent(g, depth - 1, way < 7 || outer->may_break);
    leave_if(g, &s);
    g->var_count = before;
    g->indent--;
    gen_line(g);
    gen_write(g, way == 7 ? "}}\n" : "}\n");
}

// There is one way out, so that only the rounds make what leaves differ.
static void one_exit(gen *g, const search *outer, uint32_t most, int depth)
{
    search s = *outer;
    uint32_t before = g->var_count;
    if (gen_chance(g, 40)) {
        s.inner = g->next_name++;
        s.may_break = false; // it would leave the inner loop alone
        gen_line(g);
        gen_write(g, "for (u32 v%u = 0; v%u < %u; v%u++) {\n", s.inner, s.inner,
                  1 + gen_below(g, 3), s.inner);
        g->indent++;
    }
    if (gen_chance(g, 70))
        round_value(g, &s);
    if (g->budget && gen_chance(g, 30))
        gen_divergent(g, depth - 1, false);
    gen_line(g);
    gen_write(g, "if (v%u >= %u || ", s.round, most);
    comes_true(g, &s);
    gen_write(g, ") { ");
    leave(g, &s);
    gen_write(g, "; }\n");
    g->var_count = before;
    if (!s.inner)
        return;
    g->indent--;
    gen_line(g);
    gen_write(g, "}\n");
}

// How the loop is written: a for, one without a condition, one with a single way out, a do, a label
// and a goto back.
enum { COUNTED, ENDLESS, ALONE, TESTED, BY_LABEL, WAYS };

static void open_rounds(gen *g, const search *s, uint32_t way, uint32_t most, uint32_t label)
{
    gen_line(g);
    if (way == COUNTED) {
        if (gen_chance(g, 20))
            gen_write(g, "_Pragma(\"unroll%s\") ", gen_chance(g, 50) ? "" : " 2");
        gen_write(g, "for (v%u = 0; v%u < %u; v%u++) {\n", s->round, s->round, most, s->round);
    } else if (way == ENDLESS || way == ALONE) {
        gen_write(g, "for (v%u = 0;; v%u++) {\n", s->round, s->round);
    } else {
        gen_write(g, way == TESTED ? "do {\n" : "l%u: {\n", label);
    }
    g->indent++;
    if (way == ENDLESS) { // before anything can begin the next round
        gen_line(g);
        gen_write(g, "if (v%u >= %u) { ", s->round, most);
        leave(g, &(search){.round = s->round,
                           .last = s->last,
                           .out = s->out,
                           .type = s->type,
                           .may_break = true});
        gen_write(g, "; }\n");
    }
}

static void close_rounds(gen *g, const search *s, uint32_t way, uint32_t most, uint32_t label)
{
    g->indent--;
    gen_line(g);
    gen_write(g, "}\n");
    if (way != TESTED && way != BY_LABEL)
        return;
    gen_line(g);
    if (way == TESTED)
        gen_write(g, "while (++v%u < %u);\n", s->round, most);
    else
        gen_write(g, "if (++v%u < %u) { goto l%u; }\n", s->round, most, label);
}

// What has left the loop decides: an index, a condition.
static void use(gen *g, const search *s, int depth, bool in_loop)
{
    if (g->in_kernel) {
        gen_line(g);
        gen_write(g, gen_chance(g, 50) ? "mine[v%u & 7]" : "mine[(id + v%u) & 7]", s->round);
        gen_write(g, " ^= ");
        last_as(g, s, GT_U32);
        gen_write(g, ";\n");
    }
    if (g->budget && gen_chance(g, 40)) {
        uint32_t before = g->var_count;
        gen_line(g);
        gen_write(g, "if (v%u > %u) {\n", s->round, gen_below(g, 4));
        g->indent++;
        gen_divergent(g, depth - 1, in_loop);
        g->indent--;
        gen_line(g);
        gen_write(g, "}\n");
        g->var_count = before;
    }
}

static void rounds(gen *g, const search *s, int depth)
{
    if (gen_chance(g, 70))
        round_value(g, s);
    if (g->budget && gen_chance(g, 30))
        gen_divergent(g, depth - 1, s->may_break);
    round_body(g, s, depth);
    if (gen_chance(g, 40))
        round_body(g, s, depth);
    if (gen_chance(g, 30))
        round_value(g, s);
    if (s->next) {
        gen_line(g);
        gen_write(g, "l%u: ;\n", s->next);
    }
}

static void search_of(gen *g, int depth, bool in_loop)
{
    static const gen_type counters[] = {GT_U32, GT_U32, GT_I32, GT_U8, GT_I64};
    gen_type counter = counters[gen_below(g, 5)];
    uint32_t way = gen_chance(g, 35) ? ALONE : gen_below(g, WAYS), most = 2 + gen_below(g, 7);
    search s = {.type = gen_any_type(g), .may_break = way != BY_LABEL};
    s.round = g->next_name;
    gen_line(g);
    gen_write(g, "%s v%u = 0;\n", gen_type_name(counter), s.round);
    gen_declare(g, counter, 0)->is_constant = true; // while it counts
    uint32_t at = g->var_count - 1;
    s.last = g->next_name;
    gen_line(g);
    gen_write(g, "%s v%u = 0;\n", gen_type_name(s.type), s.last);
    gen_declare(g, s.type, 0);
    uint32_t before = g->var_count, again = g->next_name++;
    s.out = g->next_name++;
    s.next = way != ALONE && gen_chance(g, 30) ? g->next_name++ : 0;
    open_rounds(g, &s, way, most, again);
    if (way == ALONE)
        one_exit(g, &s, most, depth);
    else
        rounds(g, &s, depth);
    g->var_count = before;
    close_rounds(g, &s, way, most, again);
    gen_line(g);
    gen_write(g, "l%u: ;\n", s.out);
    g->vars[at].is_constant = false;
    use(g, &s, depth, in_loop);
}

void gen_jump(gen *g, int depth, bool in_loop)
{
    uint32_t way = gen_below(g, 10);
    if (g->label_count && way < 4)
        jump_to(g, &g->labels[gen_below(g, g->label_count)]);
    else if (way < 7)
        search_of(g, depth, in_loop);
    else
        labelled_block(g, depth, in_loop);
}

// --- the end of a function that all ways lead to
void gen_open_tail(gen *g, gen_type result)
{
    g->result = result;
    g->may_return = true;
    g->label_count = 0;
    if (!gen_chance(g, 30))
        return;
    uint32_t name = g->next_name;
    gen_line(g);
    gen_write(g, "%s v%u = ", gen_type_name(result), name);
    gen_expr(g, result, 1);
    gen_write(g, ";\n");
    gen_declare(g, result, 0);
    push_label(g, (gen_label){.name = g->next_name++, .result = name, .visible = g->var_count});
}

void gen_close_tail(gen *g)
{
    if (g->label_count) {
        gen_line(g);
        gen_write(g, "l%u: ;\n", g->labels[0].name);
        g->var_count = g->labels[0].visible;
    }
    g->may_return = false;
}

void gen_last_return(gen *g)
{
    gen_line(g);
    gen_write(g, "return ");
    if (g->label_count && gen_chance(g, 70))
        gen_write(g, "v%u", g->labels[0].result);
    else
        gen_expr(g, g->result, 3);
    gen_write(g, ";\n}\n\n");
    g->label_count = 0;
}
