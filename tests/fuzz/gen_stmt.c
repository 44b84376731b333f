// Statements, helper functions and whole random kernels. There are two contexts: `divergent`
// statements may do anything a single thread can, `uniform` ones are reached by every thread of the
// block and may hold barriers, warp operations and reductions. Start reading at gen_mixed.
#include "fuzz/gen_parts.h"

#include <string.h>

void gen_line(gen *g)
{
    for (int i = 0; i < g->indent; i++)
        gen_write(g, "    ");
}

static void open_block(gen *g)
{
    gen_write(g, " {\n");
    g->indent++;
}

static void close_block(gen *g)
{
    g->indent--;
    gen_line(g);
    gen_write(g, "}\n");
}

gen_var *gen_declare(gen *g, gen_type t, uint32_t length)
{
    if (g->var_count == GEN_MAX_VARS)
        g->var_count--;
    gen_var *v = &g->vars[g->var_count++];
    *v = (gen_var){.type = t, .length = length, .is_local = true};
    snprintf(v->text, sizeof v->text, "v%u", g->next_name++);
    return v;
}

// --- variables
static void new_variable(gen *g, int depth)
{
    gen_type t = gen_any_type(g);
    gen_line(g);
    gen_write(g, "%s v%u = ", gen_type_name(t), g->next_name);
    gen_expr(g, t, depth);
    gen_write(g, ";\n");
    gen_declare(g, t, 0);
}

static void new_array(gen *g)
{
    gen_type t = gen_any_type(g);
    uint32_t length = 2u << gen_below(g, 3);
    gen_line(g);
    gen_write(g, "%s v%u[%u] = {", gen_type_name(t), g->next_name, length);
    for (uint32_t i = 0; i < length; i++) {
        if (i)
            gen_write(g, ", ");
        gen_expr(g, t, gen_chance(g, 30) ? 1 : 0);
    }
    gen_write(g, "};\n");
    gen_declare(g, t, length);
}

// A struct or union of integers (a float's NaN has no fixed bits), or a nested struct.
static void new_record(gen *g)
{
    uint32_t name = g->next_name++;
    if (gen_chance(g, 30)) {
        gen_line(g);
        gen_write(g, "union { u64 l; u32 w[2]; u16 h[4]; u8 b[8]; i8 s[8]; } v%u = {", name);
        if (gen_chance(g, 50)) {
            gen_write(g, ".l = ");
            gen_expr(g, GT_U64, 2);
        } else { // in pieces, and read as a whole perhaps
            gen_write(g, ".w = {");
            gen_expr(g, GT_U32, 1);
            gen_write(g, ", ");
            gen_expr(g, GT_U32, 1);
            gen_write(g, "}");
        }
        gen_write(g, "};\n");
        static const struct {
            const char *member;
            gen_type type;
            uint32_t length;
        } members[] = {
            {"l", GT_U64, 0}, {"w", GT_U32, 2}, {"h", GT_U16, 4}, {"b", GT_U8, 8}, {"s", GT_I8, 8}};
        for (uint32_t i = 0; i < 5; i++) {
            gen_var *v = gen_declare(g, members[i].type, members[i].length);
            snprintf(v->text, sizeof v->text, "v%u.%s", name, members[i].member);
        }
        return;
    }
    gen_type a = gen_any_type(g), b = gen_any_type(g), c = gen_any_type(g);
    gen_line(g);
    gen_write(g, "struct { %s a; struct { %s b; %s c[4]; } in; } v%u = {", gen_type_name(a),
              gen_type_name(b), gen_type_name(c), name);
    gen_expr(g, a, 1);
    gen_write(g, ", {");
    gen_expr(g, b, 1);
    gen_write(g, ", {[2] = ");
    gen_expr(g, c, 1);
    gen_write(g, "}}};\n");
    snprintf(gen_declare(g, a, 0)->text, 40, "v%u.a", name);
    snprintf(gen_declare(g, b, 0)->text, 40, "v%u.in.b", name);
    snprintf(gen_declare(g, c, 4)->text, 40, "v%u.in.c", name);
}

static void new_pointer(gen *g)
{
    uint32_t at = gen_below(g, g->var_count);
    gen_var v = g->vars[at];
    if (v.is_constant || !v.is_local)
        return;
    uint32_t name = g->next_name++;
    gen_line(g);
    gen_write(g, "%s *v%u = ", gen_type_name(v.type), name);
    if (v.length) {
        const gen_var *o = &g->vars[gen_below(g, g->var_count)];
        if (o->length && o->type == v.type && o->is_local && !o->is_constant && gen_chance(g, 60)) {
            gen_condition(g, 1);
            gen_write(g, " ? &%s[", o->text);
            gen_index(g, o->length, 1);
            gen_write(g, "] : ");
        }
        gen_write(g, "&%s[", v.text);
        gen_index(g, v.length, 1);
        gen_write(g, "]");
    } else {
        uint32_t other = gen_below(g, g->var_count);
        const gen_var *o = &g->vars[other];
        bool choose = o->type == v.type && !o->length && o->is_local && !o->is_constant;
        if (choose) {
            gen_condition(g, 1);
            gen_write(g, " ? &%s : ", o->text);
        }
        gen_write(g, "&%s", v.text);
    }
    gen_write(g, ";\n");
    gen_var *p = gen_declare(g, v.type, 0);
    snprintf(p->text, sizeof p->text, "(*v%u)", name);
    p->is_local = false;
}

// --- assignments
static const gen_var *target(gen *g)
{
    for (int i = 0; i < 20; i++) {
        const gen_var *v = &g->vars[gen_below(g, g->var_count)];
        if (!v->is_constant)
            return v;
    }
    return NULL;
}

static void assign(gen *g, int depth)
{
    static const char *const ints[] = {"+=", "-=", "*=", "&=", "|=", "^=", "=", "="};
    static const char *const floats[] = {"+=", "-=", "*=", "/=", "=", "=", "=", "="};
    const gen_var *v = target(g);
    if (!v)
        return;
    gen_type t = v->type;
    char text[40];
    memcpy(text, v->text, sizeof text);
    uint32_t length = v->length, k = gen_below(g, 8);
    gen_line(g);
    if (!length && gen_chance(g, 15) && t != GT_BOOL) {
        const char *step = k & 2 ? "++" : "--";
        gen_write(g, "%s%s%s;\n", k & 1 ? "" : step, text, k & 1 ? step : "");
        return;
    }
    gen_write(g, "%s", text);
    if (length) {
        gen_write(g, "[");
        gen_index(g, length, 2);
        gen_write(g, "]");
    }
    gen_write(g, " %s ", t == GT_BOOL ? "=" : t == GT_F32 || t == GT_F64 ? floats[k] : ints[k]);
    gen_expr(g, t, depth);
    gen_write(g, ";\n");
}

// --- control flow
static void block_of(gen *g, int depth, bool in_loop, uint32_t most)
{
    uint32_t before = g->var_count;
    open_block(g);
    for (uint32_t i = 0, n = 1 + gen_below(g, most); i < n && g->budget; i++)
        gen_divergent(g, depth, in_loop);
    close_block(g);
    g->var_count = before;
}

static void if_else(gen *g, int depth, bool in_loop)
{
    gen_line(g);
    gen_write(g, "if (");
    gen_condition(g, 3);
    gen_write(g, ")");
    block_of(g, depth - 1, in_loop, 3);
    if (gen_chance(g, 50)) {
        gen_line(g);
        gen_write(g, "else");
        block_of(g, depth - 1, in_loop, 3);
    }
}

static void counted_loop(gen *g, int depth)
{
    static const gen_type counters[] = {GT_U32, GT_U32, GT_I32, GT_U8, GT_I16, GT_I64, GT_U64};
    gen_type t = counters[gen_below(g, 7)];
    uint32_t before = g->var_count, name = g->next_name, step = 1 + gen_below(g, 3);
    const char *type = gen_type_name(t);
    gen_line(g);
    if (gen_chance(g, 25)) { // downwards; an unsigned counter stops at 0 because its steps fit
        gen_write(g, "for (%s v%u = %u; v%u > 0", type, name, step * (1 + gen_below(g, 4)), name);
    } else {
        gen_write(g, "for (%s v%u = 0; v%u < ", type, name, name);
        if (gen_chance(g, 50)) {
            gen_write(g, "%u", 1 + gen_below(g, 6));
        } else {
            gen_write(g, "((");
            gen_expr(g, GT_I32, 2);
            gen_write(g, ") & 7)");
        }
        name |= 0x80000000u;
    }
    if (gen_chance(g, 25)) {
        gen_write(g, " && ");
        gen_condition(g, 2);
    }
    bool is_up = name >> 31;
    name &= 0x7fffffffu;
    if (step == 1)
        gen_write(g, "; v%u%s)", name, is_up ? "++" : "--");
    else
        gen_write(g, "; v%u %s= %u)", name, is_up ? "+" : "-", step);
    gen_declare(g, t, 0)->is_constant = true;
    block_of(g, depth - 1, true, 4);
    g->var_count = before;
}

// A pointer walks over an input.
static void walk(gen *g)
{
    if (!g->in_kernel)
        return;
    static const struct {
        const char *name;
        gen_type type;
    } inputs[] = {{"a0", GT_I32}, {"a1", GT_U8}, {"a2", GT_U64}, {"a3", GT_F32}, {"a4", GT_F64}};
    uint32_t k = gen_below(g, 5), name = g->next_name++, sum = g->next_name;
    const char *type = gen_type_name(inputs[k].type);
    gen_line(g);
    gen_write(g, "const %s *v%u = %s + (", type, name, inputs[k].name);
    gen_index(g, 32, 2);
    gen_write(g, ");\n");
    gen_line(g);
    gen_write(g, "%s v%u = 0;\n", type, sum);
    gen_declare(g, inputs[k].type, 0);
    gen_line(g);
    gen_write(g, "for (const %s *v%u = v%u + (", type, g->next_name, name);
    gen_index(g, 16, 2);
    gen_write(g, "); v%u < v%u;) { v%u %s *v%u++; }\n", name, g->next_name, sum,
              gen_chance(g, 50) ? "+=" : "-=", name);
    g->next_name++;
}

static void tested_loop(gen *g, int depth)
{
    uint32_t before = g->var_count, name = g->next_name, most = 1 + gen_below(g, 6);
    bool is_do = gen_chance(g, 50);
    gen_line(g);
    gen_write(g, "u32 v%u = 0;\n", name);
    gen_declare(g, GT_U32, 0)->is_constant = true;
    gen_line(g);
    if (is_do) {
        gen_write(g, "do");
    } else {
        gen_write(g, "while (v%u++ < %u && ", name, most);
        gen_condition(g, 2);
        gen_write(g, ")");
    }
    block_of(g, depth - 1, true, 4);
    if (is_do) {
        gen_line(g);
        gen_write(g, "while (v%u++ < %u && ", name, most);
        gen_condition(g, 2);
        gen_write(g, ");\n");
    }
    g->var_count = before;
}

// Labels in any order, default anywhere or nowhere, falling through, values of every width.
static void switch_of(gen *g, int depth, bool in_loop)
{
    const gen_label_set *set = &gen_labels[gen_below(g, GEN_LABEL_SETS)];
    uint32_t n = 1 + gen_below(g, GEN_LABELS), middle = gen_below(g, n + 2);
    gen_line(g);
    gen_write(g, "switch ((%s)((", gen_type_name(set->type));
    gen_expr(g, gen_chance(g, 70) ? GT_U32 : GT_I64, 2);
    gen_write(g, gen_chance(g, 60) ? ") & 7))" : gen_chance(g, 50) ? ") & 7) - 4)" : ")))");
    open_block(g);
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t before = g->var_count;
        if (i == n && i != middle)
            break;
        gen_line(g);
        if (i == middle)
            gen_write(g, i == n ? "default:" : "default: ");
        if (i < n)
            gen_write(g, "case %s:", set->text[i]);
        if (i + 1 < n && gen_chance(g, 25))
            gen_write(g, " case %s:", set->text[++i]);
        open_block(g);
        for (uint32_t k = 0; k < 2 && g->budget; k++)
            gen_divergent(g, depth - 1, in_loop);
        close_block(g);
        g->var_count = before;
        if (gen_chance(g, 70)) {
            gen_line(g);
            gen_write(g, in_loop && gen_chance(g, 15) ? "    continue;\n" : "    break;\n");
        }
    }
    close_block(g);
}

static void leave_loop(gen *g)
{
    gen_line(g);
    gen_write(g, "if (");
    gen_condition(g, 2);
    if (g->may_return && gen_chance(g, 40)) {
        gen_write(g, ") { return ");
        gen_expr(g, g->result, 2);
        gen_write(g, "; }\n");
        return;
    }
    gen_write(g, ") { %s; }\n", gen_chance(g, 50) ? "break" : "continue");
}

// A loop of constant bound over a whole array: what unrolling and register promotion live on.
static void array_loop(gen *g)
{
    for (int tries = 0; tries < 10; tries++) {
        gen_var v = g->vars[gen_below(g, g->var_count)];
        if (!v.length || v.is_constant)
            continue;
        uint32_t before = g->var_count, name = g->next_name;
        if (gen_chance(g, 30))
            gen_write(g, "#pragma unroll%s\n", gen_chance(g, 50) ? "" : " 2");
        gen_line(g);
        gen_write(g, "for (u32 v%u = 0; v%u < %u; v%u++)", name, name, v.length, name);
        gen_declare(g, GT_U32, 0)->is_constant = true;
        open_block(g);
        gen_line(g);
        gen_write(g, "%s[v%u] = ", v.text, name);
        gen_expr(g, v.type, 3);
        gen_write(g, ";\n");
        close_block(g);
        g->var_count = before;
        return;
    }
}

// Four words at once, in this thread's own part of the scratch buffer.
static void wide_access(gen *g)
{
    if (!g->in_kernel)
        return;
    uint32_t at = gen_below(g, 2) * 4, name = g->next_name++;
    gen_line(g);
    gen_write(g, "u32x4 v%u = *(const u32x4 *)(mine + %u);\n", name, at);
    static const char members[] = "xyzw";
    for (uint32_t i = 0; i < 4; i++)
        snprintf(gen_declare(g, GT_U32, 0)->text, 40, "v%u.%c", name, members[i]);
    gen_line(g);
    gen_write(g, "v%u.%c = ", name, members[gen_below(g, 4)]);
    gen_expr(g, GT_U32, 2);
    gen_write(g, ";\n");
    gen_line(g);
    gen_write(g, "*(u32x4 *)(mine + %u) = ", 4 - at);
    if (gen_chance(g, 50)) {
        gen_write(g, "v%u;\n", name);
        return;
    }
    gen_write(g, "(u32x4){");
    for (uint32_t i = 0; i < 4; i++) {
        if (i)
            gen_write(g, ", ");
        gen_expr(g, GT_U32, 1);
    }
    gen_write(g, "};\n");
}

// Through a narrow float and back, or through the bytes of a word.
static void storage(gen *g)
{
    static const char *const names[] = {"f16", "bf16", "f8e4", "f8e5"};
    const char *h = names[gen_below(g, 4)];
    gen_line(g);
    if (gen_chance(g, 60)) {
        gen_write(g, "f32 v%u = f32(to_%s(", g->next_name, h);
        gen_expr(g, GT_F32, 3);
        gen_write(g, "));\n");
        gen_declare(g, GT_F32, 0);
        return;
    }
    uint32_t name = g->next_name++;
    gen_write(g, "u64 v%u = ", name);
    gen_expr(g, GT_U64, 2);
    gen_write(g, ";\n");
    gen_line(g);
    gen_write(g, "%s *v%u = (%s *)&v%u;\n", "u8", g->next_name, "u8", name);
    gen_declare(g, GT_U8, 8);
    g->vars[g->var_count - 1].is_local = false;
    snprintf(gen_declare(g, GT_U64, 0)->text, 40, "v%u", name);
}

// A struct passed and returned by value, copied whole.
static void whole_struct(gen *g)
{
    if (!g->in_kernel)
        return;
    uint32_t name = g->next_name++;
    gen_line(g);
    gen_write(g, "s_%u v%u = {", g->number, name);
    gen_expr(g, GT_I32, 2);
    gen_write(g, ", {");
    gen_expr(g, GT_U8, 1);
    gen_write(g, ", ");
    gen_expr(g, GT_U8, 1);
    gen_write(g, "}, ");
    gen_expr(g, GT_F64, 2);
    gen_write(g, ", ");
    gen_expr(g, GT_I64, 2);
    gen_write(g, "};\n");
    snprintf(gen_declare(g, GT_I32, 0)->text, 40, "v%u.a", name);
    snprintf(gen_declare(g, GT_U8, 4)->text, 40, "v%u.b", name);
    snprintf(gen_declare(g, GT_F64, 0)->text, 40, "v%u.c", name);
    snprintf(gen_declare(g, GT_I64, 0)->text, 40, "v%u.d", name);
    gen_line(g);
    if (gen_chance(g, 50)) {
        gen_write(g, "v%u = t_%u(v%u, ", name, g->number, name);
        gen_expr(g, GT_I32, 2);
        gen_write(g, ");\n");
    } else {
        gen_write(g, "if (");
        gen_condition(g, 2);
        gen_write(g, ") { v%u = (s_%u){.d = ", name, g->number);
        gen_expr(g, GT_I64, 1);
        gen_write(g, "}; }\n");
    }
}

// A truth value from a branch, as it is or the other way round.
static void flag(gen *g)
{
    uint32_t name = g->next_name++;
    bool is_not = gen_chance(g, 70);
    gen_line(g);
    gen_write(g, "bool v%u; if (", name);
    gen_condition(g, 2);
    gen_write(g, ") { v%u = %s; } else { v%u = %s; }\n", name, is_not ? "false" : "true", name,
              is_not ? "true" : "false");
    snprintf(gen_declare(g, GT_BOOL, 0)->text, 40, "v%u", name);
}

void gen_divergent(gen *g, int depth, bool in_loop)
{
    if (g->budget)
        g->budget--;
    uint32_t k = gen_below(g, 100);
    if (depth > 0 && gen_chance(g, 12))
        gen_jump(g, depth, in_loop);
    else if (depth <= 0 || k < 45)
        assign(g, 3);
    else if (k < 55)
        new_variable(g, 3);
    else if (k < 59)
        new_array(g);
    else if (k < 62)
        new_record(g);
    else if (k < 65)
        new_pointer(g);
    else if (k < 67)
        array_loop(g);
    else if (k < 68)
        walk(g);
    else if (k < 70)
        wide_access(g);
    else if (k < 72)
        storage(g);
    else if (k < 73)
        whole_struct(g);
    else if (k < 75)
        flag(g);
    else if (k < 80)
        if_else(g, depth, in_loop);
    else if (k < 86)
        counted_loop(g, depth);
    else if (k < 91)
        tested_loop(g, depth);
    else if (k < 96)
        switch_of(g, depth, in_loop);
    else if (in_loop)
        leave_loop(g);
    else
        assign(g, 4);
}

// --- what all threads do together
static void through_shared(gen *g)
{
    gen_type t = gen_any_type(g);
    uint32_t name = g->next_name++;
    gen_line(g);
    gen_write(g, "shared %s v%u[%u];\n", gen_type_name(t), name, g->block);
    gen_line(g);
    gen_write(g, "barrier();\n");
    gen_line(g);
    gen_write(g, "v%u[thread_x()] = ", name);
    gen_expr(g, t, 3);
    gen_write(g, ";\n");
    gen_line(g);
    gen_write(g, "barrier();\n");
    gen_line(g);
    gen_write(g, "%s v%u = v%u[(", gen_type_name(t), g->next_name, name);
    gen_expr(g, gen_chance(g, 30) ? GT_U64 : GT_U32, 2); // the whole of a wide index counts
    gen_write(g, ") %% %u];\n", g->block);
    gen_declare(g, t, 0);
}

static void through_atomics(gen *g)
{
    static const char *const names[] = {"add", "min", "max", "and", "or", "xor"};
    static const gen_type types[] = {GT_I32, GT_U32, GT_I64, GT_U64};
    gen_type t = types[gen_below(g, 4)];
    uint32_t name = g->next_name++;
    gen_line(g);
    gen_write(g, "shared %s v%u[4];\n", gen_type_name(t), name);
    gen_line(g);
    gen_write(g, "barrier();\n");
    gen_line(g);
    gen_write(g, "if (thread_x() < 4) { v%u[thread_x()] = (%s)block_x(); }\n", name,
              gen_type_name(t));
    gen_line(g);
    gen_write(g, "barrier();\n");
    gen_line(g);
    if (gen_chance(g, 50)) {
        gen_write(g, "if (");
        gen_condition(g, 2);
        gen_write(g, ") ");
    }
    gen_write(g, "{ atomic_%s(&v%u[", names[gen_below(g, 6)], name);
    gen_index(g, 4, 2);
    gen_write(g, "], ");
    gen_expr(g, t, 2);
    gen_write(g, "); }\n");
    gen_line(g);
    gen_write(g, "barrier();\n");
    gen_line(g);
    gen_write(g, "%s v%u = v%u[", gen_type_name(t), g->next_name, name);
    gen_index(g, 4, 2);
    gen_write(g, "];\n");
    gen_declare(g, t, 0);
}

static void exchange(gen *g, uint32_t k)
{
    static const char *const shuffles[] = {"shuffle", "shuffle_up", "shuffle_down", "shuffle_xor"};
    static const char *const folds[] = {"warp_sum",      "warp_min",      "warp_max",
                                        "block_sum",     "block_min",     "block_max",
                                        "warp_scan_sum", "block_scan_sum"};
    gen_type t = gen_any_type(g);
    if (k < 5) {
        gen_line(g);
        gen_write(g, "%s v%u = ", gen_type_name(t), g->next_name);
        gen_write(g, "%s((%s)(", shuffles[gen_below(g, 4)], gen_type_name(t));
        gen_expr(g, t, 3);
        gen_write(g, "), ");
        gen_expr(g, GT_U32, 2);
    } else if (k < 8) {
        t = t < GT_I32 || t == GT_BOOL ? GT_I32 : t;
        gen_line(g);
        gen_write(g, "%s v%u = ", gen_type_name(t), g->next_name);
        gen_write(g, "%s(", folds[gen_below(g, 8)]);
        gen_expr(g, t, 3);
    } else {
        t = GT_U32;
        gen_line(g);
        gen_write(g, "%s v%u = warp_ballot(", gen_type_name(t), g->next_name);
        gen_condition(g, 3);
    }
    gen_write(g, ");\n");
    gen_declare(g, t, 0);
}

static void lanes_of_a_warp(gen *g) // allowed where whole warps branch
{
    exchange(g, gen_below(g, 5));
}

static void across_lanes(gen *g)
{
    exchange(g, gen_below(g, 10));
}

static void uniform(gen *g, int depth)
{
    uint32_t k = gen_below(g, 100), before = g->var_count;
    if (g->budget)
        g->budget--;
    if (k < 45 || depth <= 0 || (g->is_alone && k < 82)) {
        gen_divergent(g, 3, false);
    } else if (k < 58) {
        through_shared(g);
    } else if (k < 64) {
        through_atomics(g);
    } else if (k < 67) {
        gen_line(g);
        gen_write(g, "if (warp() == %u)", gen_below(g, 2));
        open_block(g);
        lanes_of_a_warp(g);
        assign(g, 3);
        close_block(g);
        g->var_count = before;
    } else if (k < 82) {
        across_lanes(g);
    } else {
        static const char *const conditions[] = {"block_x() == 1", "p0 > 3", "(p1 & 2) != 0",
                                                 "p0 < (i32)p1"};
        gen_line(g);
        if (k < 91) {
            gen_write(g, "if (%s)", conditions[gen_below(g, 4)]);
        } else {
            uint32_t name = g->next_name;
            gen_write(g, "for (u32 v%u = 0; v%u < ", name, name);
            if (gen_chance(g, 50))
                gen_write(g, "%u", 1 + gen_below(g, 3));
            else
                gen_write(g, "p1 %% 4");
            gen_write(g, "; v%u++)", name);
            gen_declare(g, GT_U32, 0)->is_constant = true;
        }
        open_block(g);
        for (uint32_t i = 0, n = 1 + gen_below(g, 3); i < n && g->budget; i++)
            uniform(g, depth - 1);
        close_block(g);
        g->var_count = before;
    }
}

// --- whole programs
static void helper(gen *g)
{
    gen_helper h = {.result = gen_any_type(g), .param_count = 1 + gen_below(g, GEN_MAX_PARAMS)};
    g->var_count = 0;
    g->indent = 1;
    gen_write(g, "static %s h%u_%u(", gen_type_name(h.result), g->helper_count, g->number);
    for (uint32_t i = 0; i < h.param_count; i++) {
        h.params[i] = gen_any_type(g);
        gen_write(g, "%s%s v%u", i ? ", " : "", gen_type_name(h.params[i]), g->next_name);
        gen_declare(g, h.params[i], 0);
    }
    gen_write(g, ")\n{\n");
    gen_open_tail(g, h.result);
    g->budget = gen_below(g, 6);
    while (g->budget) {
        gen_divergent(g, 2, false);
        if (gen_chance(g, 25)) {
            gen_line(g);
            gen_write(g, "if (");
            gen_condition(g, 2);
            gen_write(g, ") { return ");
            gen_expr(g, h.result, 2);
            gen_write(g, "; }\n");
        }
    }
    gen_close_tail(g);
    gen_last_return(g);
    g->helpers[g->helper_count++] = h;
}

static void input(gen *g, const char *text, gen_type t, uint32_t length, bool is_constant)
{
    gen_var *v = gen_declare(g, t, length);
    snprintf(v->text, sizeof v->text, "%s", text);
    v->is_constant = is_constant;
    v->is_local = false;
}

// Whatever the variables hold in the end goes to the outputs.
static void results(gen *g)
{
    uint32_t whole = 0, single = 0, real = 0;
    for (uint32_t i = 0; i < g->var_count; i++) {
        const gen_var *v = &g->vars[i];
        char index[16] = "";
        if (v->is_constant || strncmp(v->text, "mine", 4) == 0)
            continue;
        if (v->length)
            snprintf(index, sizeof index, "[%u]", gen_below(g, v->length));
        gen_line(g);
        if (v->type == GT_F32)
            gen_write(g, "singles[id * 4 + %u] = %s%s;\n", single++ & 3, v->text, index);
        else if (v->type == GT_F64)
            gen_write(g, "reals[id * 4 + %u] = %s%s;\n", real++ & 3, v->text, index);
        else
            gen_write(g, "whole[id * 16 + %u] ^= (u64)%s%s + %u;\n", whole++ & 15, v->text, index,
                      i);
    }
}

static bool mixed(uint64_t seed, unsigned number, FILE *out, uint32_t least, uint32_t range,
                  bool is_alone)
{
    static const uint32_t blocks[] = {32, 64, 40, 33, 16, 96, 7};
    gen state = {.out = out,
                 .random = seed * 0x2545f4914f6cdd1du + 1,
                 .number = number,
                 .next_name = 1,
                 .is_alone = is_alone},
        *g = &state;
    g->block = blocks[gen_below(g, 7)];
    uint32_t threads = 2 * g->block;
    char mark[24] = "", table[16];
    if (gen_chance(g, 60))
        snprintf(mark, sizeof mark, " block(%u)", g->block);
    snprintf(table, sizeof table, "k_%u", number);
    gen_write(g, "typedef struct { i32 a; u8 b[4]; f64 c; i64 d; } s_%u;\n", number);
    gen_write(g, "static s_%u t_%u(s_%u s, i32 n)\n{\n    s.a += n;\n    s.b[n & 3] ^= (u8)n;\n",
              number, number, number);
    gen_write(g, "    s.c = s.c * 0.5 + n;\n    s.d = s.d * 3 - s.a;\n    return s;\n}\n\n");
    gen_write(g, "static const i16 k_%u[8] = {%d, %d, %d, 4, 5, -600, %d, 8};\n\n", number,
              (int)gen_below(g, 60000) - 30000, (int)gen_below(g, 100), -(int)gen_below(g, 9),
              (int)gen_below(g, 4));
    for (uint32_t i = 0, n = gen_below(g, 3); i < n; i++)
        helper(g);
    g->in_kernel = true;
    gen_write(g,
              "//! run fuzz_%u grid=2 block=%u (i32[64]:edge, u8[64]:bits, u64[64]:bits, "
              "f32[64]:rand, f64[64]:rand, "
              "i32=%u, u32=%u, u32[%u]:bits, u64[%u], f32[%u], f64[%u])\n",
              number, g->block, gen_below(g, 8), gen_below(g, 16), threads * 8, threads * 16,
              threads * 4, threads * 4);
    gen_write(g,
              "kernel%s void fuzz_%u(const i32 *a0, const u8 *a1, const u64 *a2, const f32 *a3, "
              "const f64 *a4, i32 p0, "
              "u32 p1, u32 *scratch, u64 *whole, f32 *singles, f64 *reals)\n{\n",
              mark, number);
    g->var_count = 0;
    g->indent = 1;
    gen_line(g);
    gen_write(g, "u32 id = global_x(), *mine = scratch + id * 8;\n");
    input(g, "a0", GT_I32, 64, true);
    input(g, "a1", GT_U8, 64, true);
    input(g, "a2", GT_U64, 64, true);
    input(g, "a3", GT_F32, 64, true);
    input(g, "a4", GT_F64, 64, true);
    input(g, "p0", GT_I32, 0, true);
    input(g, "p1", GT_U32, 0, true);
    input(g, "id", GT_U32, 0, true);
    input(g, "thread_x()", GT_U32, 0, true);
    input(g, table, GT_I16, 8, true);
    input(g, "mine", GT_U32, 8, false);
    g->vars[g->var_count - 1].is_local = true;
    gen_line(g);
    gen_write(g, "i32 v%u = a0[id & 63];\n", g->next_name);
    gen_declare(g, GT_I32, 0);
    gen_line(g);
    gen_write(g, "u64 v%u = a2[id & 63];\n", g->next_name);
    gen_declare(g, GT_U64, 0);
    gen_line(g);
    gen_write(g, "f32 v%u = a3[id & 63];\n", g->next_name);
    gen_declare(g, GT_F32, 0);
    g->budget = least + gen_below(g, range);
    while (g->budget)
        uniform(g, 2);
    results(g);
    gen_write(g, "}\n\n");
    return true;
}

bool gen_mixed(uint64_t seed, unsigned number, FILE *out)
{
    return mixed(seed, number, out, 6, 20, false);
}

bool gen_mixed_short(uint64_t seed, unsigned number, FILE *out)
{
    return mixed(seed, number, out, 2, 5, false);
}

bool gen_mixed_alone(uint64_t seed, unsigned number, FILE *out)
{
    return mixed(seed, number, out, 2, 5, true);
}
