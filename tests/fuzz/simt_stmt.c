// Statements and whole kernels of the SIMT generator.
//
// A kernel is a list of items. Between two collectives each lane runs alone, so the oracle runs
// such a part as a loop over the lanes L0 … L1; a collective is one call over the array of lanes.
// Uniform branches and loops contain items again. Start reading at simt_write.
//
// Invariant: a line that the shrinker may take away ends in a mark that the same statement has in
// the other text, so that both lose it. What has the mark 0 is needed.
#include "fuzz/simt_parts.h"

#include <stdlib.h>
#include <string.h>

const char simt_prelude[] =
    "#ifndef __KILN__\n"
    "#include \"fuzz/simt_oracle.h\" // first: it must not see what kernel.h makes of C's names\n"
    "#endif\n"
    "#include <kiln/kernel.h>\n"
    "#pragma kiln conversions(c)\n"
    "static u32 simt_bits32(f32 x) { return isnan(x) ? 0x7fc00000u : bits_f32(x); }\n"
    "static u64 simt_bits64(f64 x) { return isnan(x) ? 0x7ff8000000000000ull : bits_f64(x); }\n"
    "static bool simt_sign32(f32 x) { return !isnan(x) && signbit(x); }\n"
    "static bool simt_sign64(f64 x) { return !isnan(x) && signbit(x); }\n"
    "static f32 simt_copysign32(f32 x, f32 y) { return copysign(x, isnan(y) ? 1.0f : y); }\n"
    "static f64 simt_copysign64(f64 x, f64 y) { return copysign(x, isnan(y) ? 1.0 : y); }\n"
    "static i32 simt_unpack(u32 x, u32 k) { return unpack_i4(x, k & 7u); }\n"
    "static u32 simt_pack(u32 x, u32 k, i32 v) { return pack_i4(x, k & 7u, v); }\n";

enum { EXPR_BUDGET = 24, EXPR_DEPTH = 4 };

void simt_line(simt *g)
{
    simt_both(g, "%*s", 4 * g->indent, "");
}

void simt_stop(simt *g, uint32_t mark)
{
    simt_both(g, " //@%u\n", mark);
}

void simt_value(simt *g, simt_type t, int depth)
{
    g->budget = EXPR_BUDGET;
    simt_expr(g, t, depth);
}

void simt_test(simt *g, int depth)
{
    g->budget = EXPR_BUDGET;
    simt_condition(g, depth);
}

static simt_var *add_var(simt *g, simt_type t, const char *prefix)
{
    simt_var *v = &g->vars[g->var_count++];
    *v = (simt_var){.type = t};
    snprintf(v->name, sizeof v->name, "%s_%u", prefix, ++g->next_name);
    return v;
}

// --- what one lane does
static void assign(simt *g)
{
    static const char *const ops[] = {"+=", "-=", "*=", "&=", "|=", "^="};
    uint32_t mark = ++g->next_mark;
    simt_type t = simt_any_type(g);
    simt_var *v = simt_target(g, t);
    if (!v)
        return;
    simt_line(g);
    simt_var_write(g, v);
    if (t < ST_F32 && simt_chance(g, 6)) {
        simt_both(g, "%s;", simt_chance(g, 50) ? "++" : "--");
        simt_stop(g, mark);
        return;
    }
    if (t != ST_BOOL && simt_chance(g, 15))
        simt_both(g, " %s ", ops[simt_below(g, simt_is_float(t) ? 3 : 6)]);
    else
        simt_both(g, " = ");
    simt_value(g, t, EXPR_DEPTH);
    simt_both(g, ";");
    simt_stop(g, mark);
}

static void array_store(simt *g)
{
    uint32_t mark = ++g->next_mark;
    for (uint32_t i = 0; i < g->var_count; i++) {
        const simt_var *v = &g->vars[i];
        if (!v->length || simt_chance(g, 30))
            continue;
        simt_line(g);
        simt_var_write(g, v);
        simt_both(g, "[");
        simt_value(g, ST_U32, 2);
        simt_both(g, " & %uu] = ", v->length - 1);
        simt_value(g, v->type, EXPR_DEPTH - 1);
        simt_both(g, ";");
        simt_stop(g, mark);
        return;
    }
}

const simt_update simt_updates[SIMT_UPDATES] = {{"add", "+="}, {"sub", "-="}, {"min", "<"},
                                                {"max", ">"},  {"and", "&="}, {"or", "|="},
                                                {"xor", "^="}};

void simt_oracle_update(simt *g, const simt_update *u, const char *place)
{
    if (strchr(u->op, '='))
        simt_oracle(g, "%s %s X;", place, u->op);
    else
        simt_oracle(g, "if (X %s %s) %s = X;", u->op, place, place);
}

// Slot i of acc and acc32 has an operation of its own and is never read: any order gives the same.
static void global_atomic(simt *g)
{
    uint32_t mark = ++g->next_mark, slot = simt_below(g, SIMT_UPDATES);
    bool is_wide = simt_chance(g, 50);
    simt_type t = is_wide ? ST_U64 : ST_I32;
    char place[32];
    snprintf(place, sizeof place, "%s[%u]", is_wide ? "acc" : "acc32", slot);
    simt_line(g);
    simt_kiln(g, "atomic_%s(&%s, ", simt_updates[slot].name, place);
    simt_oracle(g, "{ %s X = ", simt_type_name(t));
    simt_value(g, t, 2);
    simt_kiln(g, ");");
    simt_oracle(g, "; ");
    simt_oracle_update(g, &simt_updates[slot], place);
    simt_oracle(g, " }");
    simt_stop(g, mark);
}

static void body(simt *g, int count, int depth, bool in_loop)
{
    uint32_t visible = g->var_count;
    g->indent++;
    simt_statements(g, count, depth, in_loop);
    g->indent--;
    g->var_count = visible;
    simt_line(g);
}

static void branch(simt *g, int depth, bool in_loop)
{
    uint32_t mark = ++g->next_mark;
    simt_line(g);
    simt_both(g, "if (");
    simt_test(g, 3);
    simt_both(g, ") {");
    simt_stop(g, mark);
    body(g, 1 + (int)simt_below(g, 3), depth - 1, in_loop);
    if (simt_chance(g, 40)) {
        simt_both(g, "} else {\n");
        body(g, 1 + (int)simt_below(g, 2), depth - 1, in_loop);
    }
    simt_both(g, "}\n");
}

static void counted_loop(simt *g, int depth, uint32_t mark, uint32_t limit)
{
    static const char *const hints[] = {"_Pragma(\"unroll\") ", "_Pragma(\"unroll 1\") ",
                                        "_Pragma(\"unroll 4\") "};
    bool is_fixed = simt_chance(g, 35);
    simt_var *i = add_var(g, ST_U32, "i");
    i->is_constant = true;
    simt_line(g);
    if (simt_chance(g, 30))
        simt_kiln(g, "%s", hints[simt_below(g, 3)]);
    simt_both(g, "for (u32 %s = 0u; %s < ", i->name, i->name);
    if (is_fixed) {
        simt_both(g, "%uu", 1 + simt_below(g, limit));
    } else {
        simt_both(g, "(");
        simt_value(g, ST_U32, 2);
        simt_both(g, " & %uu)", limit - 1);
    }
    simt_both(g, "; %s++) {", i->name);
    simt_stop(g, mark);
    body(g, 1 + (int)simt_below(g, 3), depth - 1, true);
    simt_both(g, "}\n");
}

static void open_loop(simt *g, int depth, uint32_t mark, uint32_t limit)
{
    bool is_do = simt_chance(g, 40);
    simt_var *i = add_var(g, ST_U32, "c");
    i->is_constant = true;
    simt_line(g);
    simt_both(g, "u32 %s = 0u;", i->name);
    simt_stop(g, mark);
    simt_line(g);
    if (is_do) {
        simt_both(g, "do {");
    } else {
        simt_both(g, "while (%s++ < %uu && ", i->name, limit);
        simt_test(g, 2);
        simt_both(g, ") {");
    }
    simt_stop(g, mark);
    body(g, 1 + (int)simt_below(g, 3), depth - 1, true);
    simt_both(g, "}");
    if (is_do) {
        simt_both(g, " while (%s++ < %uu && ", i->name, limit);
        simt_test(g, 2);
        simt_both(g, ");");
    }
    simt_both(g, "\n");
}

static void loop(simt *g, int depth)
{
    uint32_t visible = g->var_count, mark = ++g->next_mark, limit = 1u << (1 + simt_below(g, 3));
    if (g->var_count + 4 > SIMT_MAX_VARS)
        return;
    if (simt_chance(g, 70))
        counted_loop(g, depth, mark, limit);
    else
        open_loop(g, depth, mark, limit);
    g->var_count = visible;
}

static void selection(simt *g, int depth)
{
    uint32_t count = 2 + simt_below(g, 4), other = simt_below(g, 2 * count);
    uint32_t mark = ++g->next_mark;
    simt_line(g);
    simt_both(g, "switch (");
    simt_value(g, simt_int_type(g), 2);
    simt_both(g, " & %u) {", count < 4 ? 3 : 7);
    simt_stop(g, mark);
    for (uint32_t i = 0; i < count; i++) {
        simt_line(g);
        if (i == other)
            simt_both(g, "default: {");
        else
            simt_both(g, "case %u: {", i);
        simt_stop(g, ++g->next_mark);
        body(g, 1 + (int)simt_below(g, 2), depth - 1, false);
        simt_both(g, simt_chance(g, 70) ? "} break;\n" : "}\n");
    }
    simt_line(g);
    simt_both(g, "}\n");
}

static void local(simt *g)
{
    uint32_t mark = ++g->next_mark;
    if (g->var_count + 4 > SIMT_MAX_VARS)
        return;
    simt_type t = simt_any_type(g);
    simt_line(g);
    simt_both(g, "%s l_%u = ", simt_type_name(t), g->next_name + 1);
    simt_value(g, t, EXPR_DEPTH - 1);
    simt_both(g, ";");
    simt_stop(g, mark);
    add_var(g, t, "l");
}

static void leave_loop(simt *g)
{
    uint32_t mark = ++g->next_mark;
    simt_line(g);
    simt_both(g, "if (");
    simt_test(g, 2);
    if (g->may_return && simt_chance(g, 40)) {
        simt_both(g, ") return ");
        simt_value(g, g->result, 2);
        simt_both(g, ";");
    } else {
        simt_both(g, ") %s;", simt_chance(g, 50) ? "break" : "continue");
    }
    simt_stop(g, mark);
}

void simt_statements(simt *g, int count, int depth, bool in_loop)
{
    for (int s = 0; s < count; s++) {
        uint32_t n = simt_below(g, 100);
        if (depth > 0 && n < 12)
            branch(g, depth, in_loop);
        else if (depth > 0 && n >= 90)
            simt_jump(g, depth, in_loop);
        else if (depth > 0 && n < 22)
            loop(g, depth);
        else if (depth > 0 && n < 27)
            selection(g, depth);
        else if (n < 33)
            local(g);
        else if (n < 38)
            array_store(g);
        else if (n < 42 && g->lane_count)
            global_atomic(g);
        else if (n < 46 && in_loop)
            leave_loop(g);
        else
            assign(g);
    }
}

static void open_lanes(simt *g, uint32_t mark)
{
    simt_line(g);
    simt_oracle(g, SIMT_LANES);
    simt_both(g, "{");
    if (g->is_returned)
        simt_oracle(g, " if (done[L]) continue;");
    simt_stop(g, mark);
    g->indent++;
}

static void close_lanes(simt *g)
{
    g->indent--;
    simt_line(g);
    simt_both(g, "}\n");
}

static void lanes(simt *g)
{
    uint32_t visible = g->var_count;
    open_lanes(g, ++g->next_mark);
    simt_statements(g, 1 + (int)simt_below(g, 4), 3, false);
    close_lanes(g);
    g->var_count = visible;
}

// --- uniform control flow
static void items(simt *g, int count, int depth, bool is_block);

static void inner_items(simt *g, int depth, bool is_block)
{
    g->indent++;
    items(g, 1 + (int)simt_below(g, 3), depth - 1, is_block);
    g->indent--;
    simt_line(g);
}

static void uniform_branch(simt *g, int depth, bool is_block)
{
    uint32_t number = simt_below(g, 4), mark = ++g->next_mark;
    simt_line(g);
    switch (simt_below(g, is_block ? 3 : 2)) {
    case 0: simt_both(g, "if (n > %uu) {", number); break;
    case 1:
        simt_kiln(g, "if (block_x() != %uu) {", number);
        simt_oracle(g, "if (B != %uu) {", number);
        break;
    default:
        simt_open_input(g, ST_BOOL);
        simt_kiln(g, "if (block_any(");
        simt_test(g, 2);
        simt_kiln(g, ")) {");
        simt_oracle(g, "; o_block_any(o_in_bool, o_out_bool, L0, L1); if (o_out_bool[L0]) {");
    }
    simt_stop(g, mark);
    inner_items(g, depth, is_block);
    simt_both(g, "}\n");
}

static void uniform_loop(simt *g, int depth, bool is_block)
{
    if (g->var_count + 4 > SIMT_MAX_VARS)
        return;
    uint32_t visible = g->var_count, mark = ++g->next_mark;
    simt_var *i = add_var(g, ST_U32, "i");
    uint32_t out = g->together ? 0 : ++g->next_name;
    bool is_left_early = simt_chance(g, 40);
    i->is_constant = true;
    simt_line(g);
    simt_both(g, "u32 %s = 0u;", i->name);
    simt_stop(g, mark);
    simt_line(g);
    simt_both(g, "for (; %s < ", i->name);
    if (simt_chance(g, 50))
        simt_both(g, "n");
    else
        simt_both(g, "%uu", 1 + simt_below(g, 4));
    simt_both(g, "; %s++) {", i->name);
    simt_stop(g, mark);
    g->together = out ? out : g->together;
    inner_items(g, depth, is_block);
    if (is_left_early) {
        simt_both(g, "\n");
        g->indent++;
        simt_leave_together(g, is_block, simt_chance(g, 50) ? g->together : 0);
        items(g, (int)simt_below(g, 2), depth - 1, is_block);
        g->indent--;
        simt_line(g);
    }
    simt_both(g, "}\n");
    if (out) {
        simt_line(g);
        simt_both(g, "g_%u: ;", out);
        simt_stop(g, mark);
        g->together = 0;
    }
    const simt_var *v = simt_target(g, ST_U32);
    if (is_left_early && v) {
        open_lanes(g, mark);
        simt_line(g);
        simt_var_write(g, v);
        simt_both(g, " = %s;", i->name);
        simt_stop(g, mark);
        close_lanes(g);
    }
    g->var_count = visible;
}

// Whole warps go one way or the other; inside, warps may still work together.
static void warp_branch(simt *g, int depth)
{
    uint32_t name = ++g->next_name, mark = ++g->next_mark, together = g->together;
    simt_line(g);
    simt_open_input(g, ST_BOOL);
    simt_kiln(g, "if (warp_any(");
    simt_test(g, 2);
    simt_kiln(g, ")) {");
    simt_oracle(g,
                "; o_warp_any(o_in_bool, o_out_bool, L0, L1); { bool any_%u[NT]; "
                "memcpy(any_%u, o_out_bool, NT); const int from_%u = L0, to_%u = L1; "
                "for (int W = from_%u; W < to_%u; W += 32) { if (!any_%u[W]) continue; "
                "const int L0 = W, L1 = W + 32 < to_%u ? W + 32 : to_%u;",
                name, name, name, name, name, name, name, name, name);
    simt_stop(g, mark);
    g->together = 0; // other warps do not leave
    inner_items(g, depth, false);
    g->together = together;
    simt_kiln(g, "}\n");
    simt_oracle(g, "}}\n");
}

static void item(simt *g, int depth, bool is_block)
{
    uint32_t n = simt_below(g, 100);
    if (g->is_returned || n < 50)
        lanes(g);
    else if (n < 60)
        simt_shuffle(g);
    else if (n < 65)
        simt_vote(g, is_block);
    else if (n < 68)
        simt_match(g);
    else if (n < 79)
        simt_reduce(g, is_block);
    else if (n < 84 && is_block)
        simt_exchange(g);
    else if (n < 88 && is_block)
        simt_shared_atomic(g);
    else if (depth > 0 && n < 92)
        uniform_branch(g, depth, is_block);
    else if (depth > 0 && n < 96)
        uniform_loop(g, depth, is_block);
    else if (depth > 0)
        warp_branch(g, depth);
    else
        lanes(g);
}

static void items(simt *g, int count, int depth, bool is_block)
{
    for (int i = 0; i < count; i++)
        item(g, depth, is_block);
}

// --- the whole kernel
static void initial(simt *g, simt_type t)
{
    uint32_t a = simt_below(g, SIMT_WORDS), b = simt_below(g, SIMT_WORDS), n = simt_below(g, 10);
    const char *name = simt_type_name(t);
    if (n == 0) {
        simt_number(g, t);
        return;
    }
    if (n == 1) { // a special value in some lanes
        simt_both(g, "(w[%u] & 3u) == 0u ? ", b);
        simt_number(g, t);
        simt_both(g, " : ");
    }
    if (t == ST_BOOL) {
        simt_both(g, "(bool)(w[%u] & 1u)", a);
    } else if (simt_is_float(t) && n < 5) {
        simt_oracle(g, "o_");
        simt_both(g, "%s_from_bits(", name);
        if (t == ST_F64)
            simt_both(g, "(u64)w[%u] << 32 | ", b);
        simt_both(g, "w[%u])", a);
    } else if (simt_is_float(t)) {
        simt_both(g, "(%s)(i32)(w[%u] >> %uu) * (%s)%s", name, a, 4 * simt_below(g, 8), name,
                  n < 7 ? "-0.125" : "0.5");
    } else if (n < 4) {
        simt_both(g, "(%s)(w[%u] & %uu)", name, a, n < 3 ? 1 : 15);
    } else {
        simt_both(g, "(%s)((u64)w[%u] << 32 | w[%u])", name, a, b);
    }
}

static const struct {
    const char *name, *kiln, *oracle;
} places[] = {{"tx", "thread_x()", "(u32)L"},
              {"ln", "lane()", "(u32)L % 32"},
              {"wp", "warp()", "(u32)L / 32"},
              {"gx", "global_x()", "B * NT + (u32)L"}};

static void make_variables(simt *g)
{
    uint32_t count = ST_COUNT + 3 + simt_below(g, 6);
    for (uint32_t i = 0; i < count; i++)
        add_var(g, i < ST_COUNT ? (simt_type)i : simt_any_type(g), "v")->is_lane = true;
    g->lane_count = count;
    for (uint32_t i = 0; i < 4; i++) {
        simt_var *v = &g->vars[g->var_count++];
        *v = (simt_var){.type = ST_U32, .is_lane = true, .is_constant = true};
        snprintf(v->name, sizeof v->name, "%s", places[i].name);
    }
    for (uint32_t i = 0; i < 2; i++) {
        simt_var *v = add_var(g, simt_any_type(g), "a");
        v->length = 4u << simt_below(g, 3);
        v->is_lane = true;
    }
    g->vars[g->var_count++] = (simt_var){.name = "n", .type = ST_U32, .is_constant = true};
}

static void declare(simt *g)
{
    make_variables(g);
    uint32_t count = g->var_count - 1; // without n, a parameter
    simt_kiln(g, "    const u32 *w = m + %uu * global_x(); //@0\n", SIMT_WORDS);
    simt_oracle(g, "static bool done[NT]; memset(done, 0, sizeof done); //@0\n");
    for (uint32_t i = 0; i < count; i++) {
        const simt_var *v = &g->vars[i];
        simt_oracle(g, "static %s %s[NT]", simt_type_name(v->type), v->name);
        if (v->length)
            simt_oracle(g, "[%u]; memset(%s, 0, sizeof %s)", v->length, v->name, v->name);
        simt_oracle(g, "; //@%s\n", v->name);
    }
    simt_oracle(g, SIMT_LANES "{ const u32 *w = m + %uu * (B * NT + (u32)L); //@0\n", SIMT_WORDS);
    for (uint32_t i = 0; i < count; i++) {
        const simt_var *v = &g->vars[i];
        simt_kiln(g, "    %s ", simt_type_name(v->type));
        if (v->length) {
            simt_kiln(g, "%s[%u] = {0}; //@%s\n", v->name, v->length, v->name);
            continue;
        }
        simt_var_write(g, v);
        simt_both(g, " = ");
        if (v->is_constant) {
            simt_kiln(g, "%s", places[i - g->lane_count].kiln);
            simt_oracle(g, "%s", places[i - g->lane_count].oracle);
        } else {
            initial(g, v->type);
        }
        simt_both(g, "; //@%s\n", v->name);
    }
    simt_oracle(g, "}\n");
}

// Every variable goes out alone, so that a wrong result names it.
static void results(simt *g)
{
    for (uint32_t i = 0; i < g->lane_count; i++) {
        const simt_var *v = &g->vars[i];
        const char *bits = v->type == ST_F32 ? "32(" : v->type == ST_F64 ? "64(" : NULL;
        simt_line(g);
        simt_both(g, "out[(u64)gx");
        simt_oracle(g, "[L]");
        simt_both(g, " * %uu + %uu] = (u64)", g->lane_count, i);
        if (bits) {
            simt_kiln(g, "simt_bits%s", bits);
            simt_oracle(g, "o_bits_f%s", bits);
        }
        simt_var_write(g, v);
        simt_both(g, "%s; //@%s\n", bits ? ")" : "", v->name);
    }
}

static void leave_early(simt *g)
{
    uint32_t mark = ++g->next_mark, visible = g->var_count;
    simt_var *round = simt_chance(g, 40) ? add_var(g, ST_U32, "c") : NULL; // from inside a loop
    open_lanes(g, mark);
    simt_line(g);
    if (round) {
        round->is_constant = true;
        simt_both(g, "for (u32 %s = 0u; %s < %uu; %s++) {", round->name, round->name,
                  2 + simt_below(g, 5), round->name);
        simt_stop(g, mark);
        simt_statements(g, (int)simt_below(g, 2), 1, true);
        simt_line(g);
    }
    simt_both(g, "if (");
    simt_test(g, 2);
    if (round) {
        simt_both(g, " && %s == (gx", round->name);
        simt_oracle(g, "[L]");
        simt_both(g, " & 3u)");
    }
    simt_both(g, ") {");
    simt_stop(g, mark);
    g->indent++;
    results(g);
    simt_line(g);
    simt_kiln(g, "return;");
    simt_oracle(g, round ? "done[L] = 1; break;" : "done[L] = 1;");
    simt_stop(g, mark);
    g->indent--;
    simt_line(g);
    simt_both(g, round ? "}}\n" : "}\n");
    close_lanes(g);
    g->var_count = visible;
    g->is_returned = true;
}

static void helper(simt *g)
{
    simt_helper *h = &g->helpers[g->helper_count];
    uint32_t mark = ++g->next_mark;
    int count = 1 + (int)simt_below(g, 3);
    h->result = simt_any_type(g);
    simt_both(g, "static %s ", simt_type_name(h->result));
    simt_oracle(g, "o_");
    simt_both(g, "fn_%u_%u(", g->helper_count, g->number);
    g->var_count = 0;
    for (int i = 0; i < 3; i++) {
        h->params[i] = i ? simt_any_type(g) : h->result;
        simt_var *v = add_var(g, h->params[i], "p");
        simt_both(g, "%s%s %s", i ? ", " : "", simt_type_name(v->type), v->name);
    }
    simt_both(g, ") {");
    simt_stop(g, mark);
    g->indent = 1;
    simt_open_tail(g, h->result);
    for (int i = 0; i < count; i++) {
        simt_statements(g, 1, 2, false);
        if (simt_chance(g, 40)) {
            mark = ++g->next_mark;
            simt_line(g);
            simt_both(g, "if (");
            simt_test(g, 2);
            simt_both(g, ") return ");
            simt_value(g, h->result, 2);
            simt_both(g, ";");
            simt_stop(g, mark);
        }
    }
    uint32_t tail = simt_close_tail(g);
    simt_line(g);
    simt_both(g, "return ");
    if (tail && simt_chance(g, 70))
        simt_both(g, "r_%u", tail);
    else
        simt_value(g, h->result, 3);
    simt_both(g, ";");
    simt_stop(g, 0);
    simt_both(g, "}\n");
    g->helper_count++; // only now: no recursion
}

static void whole(simt *g, uint32_t most_helpers, uint32_t least, uint32_t range)
{
    static const uint32_t sizes[] = {1, 5, 31, 32, 32, 33, 40, 64, 64, 96, 128, 128};
    g->threads = sizes[simt_below(g, 12)];
    g->grid = 1 + simt_below(g, 3);
    uint32_t helpers = simt_below(g, most_helpers + 1);
    for (uint32_t i = 0; i < helpers; i++)
        helper(g);
    g->var_count = g->next_name = 0;
    simt_kiln(g,
              "kernel block(%u) void fuzz_%u(const u32 *m, u64 *out, u64 *acc, i32 *acc32, u32 n) "
              "//@0\n{\n",
              g->threads, g->number);
    simt_oracle(g,
                "void oracle_%u(const u32 *m, u64 *out, u64 *acc, i32 *acc32, u32 n) { //@0\n"
                "enum { NT = %u }; for (u32 B = 0; B < %u; B++) { const int L0 = 0, L1 = NT; "
                "//@0\n",
                g->number, g->threads, g->grid);
    g->indent = 1;
    declare(g);
    items(g, (int)(least + simt_below(g, range)), 2, true);
    if (simt_chance(g, 25)) {
        leave_early(g);
        items(g, 1 + (int)simt_below(g, 2), 0, true);
    }
    open_lanes(g, 0);
    results(g);
    close_lanes(g);
    simt_kiln(g, "}\n");
    simt_oracle(g, "}\n}\n");
}

static bool write_one(uint64_t seed, unsigned number, FILE *out, bool is_short)
{
    simt g = {.random = seed * 0x9e3779b97f4a7c15u + 1, .number = number};
    char *kiln = NULL, *oracle = NULL;
    size_t kiln_size = 0, oracle_size = 0;
    g.kiln = open_memstream(&kiln, &kiln_size);
    g.oracle = open_memstream(&oracle, &oracle_size);
    bool is_made = g.kiln && g.oracle;
    if (is_made && is_short)
        whole(&g, 1, 2, 3);
    else if (is_made)
        whole(&g, 3, 5, 10);
    is_made &= !g.kiln || fclose(g.kiln) == 0;
    is_made &= !g.oracle || fclose(g.oracle) == 0;
    if (is_made) {
        uint32_t threads = g.threads * g.grid;
        fprintf(out,
                "// out[thread * %u + i - 1] is v_i\n"
                "//! run fuzz_%u grid=%u block=%u oracle=oracle_%u (u32[%u]:bits, u64[%u], "
                "u64[8]:bits, i32[8]:bits, u32=3)\n%s#ifndef __KILN__\n%s#endif\n",
                g.lane_count, number, g.grid, g.threads, number, SIMT_WORDS * threads,
                threads * g.lane_count, kiln, oracle);
    }
    free(kiln);
    free(oracle);
    return is_made;
}

bool simt_write(uint64_t seed, unsigned number, FILE *out)
{
    return write_one(seed, number, out, false);
}

bool simt_write_short(uint64_t seed, unsigned number, FILE *out)
{
    return write_one(seed, number, out, true);
}
