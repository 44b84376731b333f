// Random kernels about calls: functions that call themselves, each other and what a table of
// pointers says, marked noinline or not, with arrays of their own and of their callers. Every call
// hands down a smaller `fuel`, and one is made by a statement of its own, so that the order of
// effects is C's. Start reading at gen_calls.
#include "fuzz/gen_parts.h"

#include <string.h>

enum { MOST_FUNCTIONS = 5, KINDS = 2, TABLE = 4, BOX = 4, MOST_CALLS = 2 };

typedef struct kind { // of functions: their type
    gen_type result, params[2];
    uint32_t members[MOST_FUNCTIONS], count;
} kind;

typedef struct program {
    gen *g;
    kind kinds[KINDS];
    uint32_t kind_of[MOST_FUNCTIONS], count;
    uint32_t calls; // left to the function that is written
} program;

static void head(const program *p, uint32_t function)
{
    const kind *k = &p->kinds[p->kind_of[function]];
    gen_write(p->g, "static %s f%u_%u(u32 fuel, %s a, %s b, u32 *box)", gen_type_name(k->result),
              function, p->g->number, gen_type_name(k->params[0]), gen_type_name(k->params[1]));
}

static gen_var *named(gen *g, const char *name, gen_type t, uint32_t length)
{
    gen_var *v = gen_declare(g, t, length);
    snprintf(v->text, sizeof v->text, "%s", name);
    return v;
}

// `fuel` and `box` are texts: what is left for the callee, and the array it works on.
static void callee(program *p, uint32_t which)
{
    gen *g = p->g;
    const kind *k = &p->kinds[which];
    uint32_t way = gen_below(g, 10);
    if (way < 4) {
        gen_write(g, "f%u_%u", k->members[gen_below(g, k->count)], g->number);
    } else if (way < 7) {
        gen_write(g, "t%u_%u[", which, g->number);
        gen_index(g, TABLE, 2);
        gen_write(g, "]");
    } else {
        gen_write(g, "(");
        gen_condition(g, 2);
        gen_write(g, " ? f%u_%u : %sf%u_%u)", k->members[gen_below(g, k->count)], g->number,
                  gen_chance(g, 50) ? "&" : "", k->members[gen_below(g, k->count)], g->number);
    }
}

// A variable that holds what a call returns.
static void call(program *p, const char *fuel, const char *box)
{
    gen *g = p->g;
    uint32_t which = gen_below(g, KINDS);
    if (!p->kinds[which].count)
        which = !which;
    const kind *k = &p->kinds[which];
    uint32_t name = g->next_name;
    gen_line(g);
    gen_write(g, "%s v%u = ", gen_type_name(k->result), name);
    callee(p, which);
    gen_write(g, "(%s, ", fuel);
    gen_expr(g, k->params[0], 2);
    gen_write(g, ", ");
    gen_expr(g, k->params[1], 2);
    gen_write(g, ", %s);\n", box);
    gen_declare(g, k->result, 0);
}

// A call where there is fuel, which may be in a loop of two rounds.
static void deeper(program *p)
{
    gen *g = p->g;
    bool loops = gen_chance(g, 30);
    uint32_t before = g->var_count, counter = g->next_name++;
    gen_line(g);
    if (loops)
        gen_write(g, "for (u32 v%u = 0; v%u < 2 && fuel > 0; v%u++) {\n", counter, counter,
                  counter);
    else
        gen_write(g, "if (fuel > 0) {\n");
    g->indent++;
    if (gen_chance(g, 40)) {
        gen_line(g);
        gen_write(g, "if (");
        gen_condition(g, 2);
        gen_write(g, loops ? ") %s;\n" : ") { box[1] += 3; }\n",
                  gen_chance(g, 50) ? "continue" : "break");
    }
    call(p, "fuel - 1", gen_chance(g, 50) ? "own" : "box");
    gen_divergent(g, 1, false);
    gen_line(g);
    gen_write(g, "box[%u] += (u32)%s;\n", gen_below(g, BOX), "fuel");
    gen_line(g);
    gen_write(g, "own[%u] ^= (u32)(i64)(", gen_below(g, BOX));
    gen_expr(g, GT_I64, 2);
    gen_write(g, ");\n");
    g->indent--;
    gen_line(g);
    gen_write(g, "}\n");
    g->var_count = before;
    p->calls--;
}

static void body(program *p, uint32_t function)
{
    gen *g = p->g;
    const kind *k = &p->kinds[p->kind_of[function]];
    gen_write(g, "%s", gen_chance(g, 50) ? "noinline " : "");
    head(p, function);
    gen_write(g, "\n{\n");
    g->var_count = 0;
    g->indent = 1;
    named(g, "fuel", GT_U32, 0)->is_constant = true;
    named(g, "a", k->params[0], 0);
    named(g, "b", k->params[1], 0);
    named(g, "box", GT_U32, BOX)->is_local = false;
    gen_line(g);
    gen_write(g, "u32 own[%u] = {fuel, box[0], 7, (u32)%u};\n", BOX, gen_below(g, 1000));
    named(g, "own", GT_U32, BOX);
    gen_open_tail(g, k->result);
    p->calls = 1 + gen_below(g, MOST_CALLS);
    g->budget = 1 + gen_below(g, 5);
    while (g->budget || p->calls) {
        if (p->calls && gen_chance(g, 50))
            deeper(p);
        else
            gen_divergent(g, 2, false);
        if (gen_chance(g, 20)) {
            gen_line(g);
            gen_write(g, "if (");
            gen_condition(g, 2);
            gen_write(g, ") { return ");
            gen_expr(g, k->result, 2);
            gen_write(g, "; }\n");
        }
    }
    gen_close_tail(g);
    gen_line(g);
    gen_write(g, "box[own[1] & 3] += own[2] + own[3];\n");
    gen_last_return(g);
}

static void tables(program *p)
{
    gen *g = p->g;
    for (uint32_t n = 0; n < KINDS; n++) {
        const kind *k = &p->kinds[n];
        gen_write(g, "typedef %s p%u_%u(u32, %s, %s, u32 *);\n", gen_type_name(k->result), n,
                  g->number, gen_type_name(k->params[0]), gen_type_name(k->params[1]));
        if (!k->count)
            continue;
        gen_write(g, "static p%u_%u *const t%u_%u[%u] = {", n, g->number, n, g->number, TABLE);
        for (uint32_t i = 0; i < TABLE; i++)
            gen_write(g, "%sf%u_%u", i ? ", " : "", k->members[gen_below(g, k->count)], g->number);
        gen_write(g, "};\n");
    }
    gen_write(g, "\n");
}

static void put_result(gen *g, uint32_t index, const gen_var *v)
{
    gen_line(g);
    if (v->type == GT_F32)
        gen_write(g, "singles[id * 4 + %u] = %s;\n", index & 3, v->text);
    else if (v->type == GT_F64)
        gen_write(g, "reals[id * 4 + %u] = %s;\n", index & 3, v->text);
    else
        gen_write(g, "whole[id * 8 + %u] = (u64)%s;\n", index & 3, v->text);
}

static void kernel_of(program *p)
{
    gen *g = p->g;
    uint32_t threads = 2 * g->block;
    gen_write(g,
              "//! run fuzz_%u grid=2 block=%u (i32[64]:edge, f64[64]:rand, u64[%u], f32[%u], "
              "f64[%u])\n",
              g->number, g->block, threads * 8, threads * 4, threads * 4);
    gen_write(g,
              "kernel void fuzz_%u(const i32 *a0, const f64 *a4, u64 *whole, f32 *singles, f64 "
              "*reals)\n{\n",
              g->number);
    g->var_count = 0;
    g->indent = 1;
    gen_write(g,
              "    u32 id = global_x();\n    i32 x = a0[id & 63];\n    f64 y = a4[id & 63];\n"
              "    u32 own[%u] = {id, 1, 2, 3};\n",
              BOX);
    named(g, "a0", GT_I32, 64)->is_constant = true;
    named(g, "a4", GT_F64, 64)->is_constant = true;
    named(g, "id", GT_U32, 0)->is_constant = true;
    named(g, "x", GT_I32, 0);
    named(g, "y", GT_F64, 0);
    named(g, "own", GT_U32, BOX);
    g->budget = 2 + gen_below(g, 4);
    for (uint32_t n = 1 + gen_below(g, 3), made = 0; made < n; made++) {
        bool is_divergent = gen_chance(g, 40);
        uint32_t before = g->var_count;
        char fuel[40];
        snprintf(fuel, sizeof fuel, "%s %% %u", gen_chance(g, 60) ? "id" : "own[0]",
                 2 + gen_below(g, 3));
        gen_divergent(g, 2, false);
        if (is_divergent) {
            gen_line(g);
            gen_write(g, "if (");
            gen_condition(g, 2);
            gen_write(g, ") {\n");
            g->indent++;
        }
        call(p, fuel, "own");
        put_result(g, made, &g->vars[g->var_count - 1]);
        if (is_divergent) {
            g->indent--;
            gen_line(g);
            gen_write(g, "}\n");
            g->var_count = before;
        }
    }
    for (uint32_t k = 0; k < BOX; k++)
        gen_write(g, "    whole[id * 8 + %u] = own[%u];\n", 4 + k, k);
    gen_write(g, "}\n\n");
}

bool gen_calls(uint64_t seed, unsigned number, FILE *out)
{
    static const uint32_t blocks[] = {32, 64, 40, 33, 16, 7};
    gen state = {.out = out,
                 .random = seed * 0x2545f4914f6cdd1du + 3,
                 .number = number,
                 .next_name = 1},
        *g = &state;
    program p = {.g = g, .count = 1 + gen_below(g, MOST_FUNCTIONS)};
    g->block = blocks[gen_below(g, 6)];
    for (uint32_t n = 0; n < KINDS; n++)
        p.kinds[n] =
            (kind){.result = gen_any_type(g), .params = {gen_any_type(g), gen_any_type(g)}};
    for (uint32_t i = 0; i < p.count; i++) {
        p.kind_of[i] = gen_below(g, KINDS);
        kind *k = &p.kinds[p.kind_of[i]];
        k->members[k->count++] = i;
        head(&p, i);
        gen_write(g, ";\n");
    }
    tables(&p);
    for (uint32_t i = 0; i < p.count; i++)
        body(&p, i);
    kernel_of(&p);
    return true;
}
