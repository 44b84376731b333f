// Writes random kernels whose meaning is fixed on the host as well: no value is read before it is
// set, no effect is unsequenced, no index leaves its array, threads meet only across barriers, and
// what C leaves open goes through open.h. Loops have small bounds. An expression is written for a
// wanted type, with casts wherever Kiln asks for one. Start reading at gen_mixed; gen_stmt.c
// writes the statements.
#include "fuzz/gen_parts.h"

#include <stdarg.h>
#include <string.h>

static const char *const type_names[] = {"i8",  "u8",  "i16", "u16", "i32", "u32",
                                         "i64", "u64", "f32", "f64", "bool"};

const gen_label_set gen_labels[GEN_LABEL_SETS] = {
    {GT_U8, {"0", "1", "2", "3", "5", "7"}},
    {GT_I8, {"-1", "0", "1", "-128", "127", "3"}},
    {GT_U32, {"0", "4000000000", "2147483648", "1", "2", "6"}},
    {GT_U64, {"0x100000000", "0", "1", "0xffffffffffffffff", "2", "3"}},
    {GT_I64, {"-1", "-9223372036854775807", "0", "1", "4294967296", "2"}}};

const char *gen_type_name(gen_type t)
{
    return type_names[t];
}

uint32_t gen_below(gen *g, uint32_t n)
{
    uint64_t z = g->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 16) % n;
}

bool gen_chance(gen *g, uint32_t percent)
{
    return gen_below(g, 100) < percent;
}

void gen_write(gen *g, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(g->out, format, args);
    va_end(args);
}

static bool is_float(gen_type t)
{
    return t == GT_F32 || t == GT_F64;
}

static gen_type promoted(gen_type t)
{
    return t < GT_I32 || t == GT_BOOL ? GT_I32 : t;
}

static gen_type common(gen_type a, gen_type b)
{
    a = promoted(a);
    b = promoted(b);
    return a > b ? a : b; // I32 < U32 < I64 < U64 < F32 < F64, as C ranks them here
}

gen_type gen_any_type(gen *g)
{
    static const uint8_t weights[] = {GT_I8,  GT_U8,  GT_I16, GT_U16, GT_I32, GT_I32,
                                      GT_I32, GT_U32, GT_U32, GT_U32, GT_I64, GT_I64,
                                      GT_U64, GT_U64, GT_F32, GT_F32, GT_F64, GT_BOOL};
    return (gen_type)weights[gen_below(g, sizeof weights)];
}

gen_type gen_int_type(gen *g)
{
    return (gen_type)gen_below(g, GT_F32);
}

static gen_type wide_int_type(gen *g)
{
    return (gen_type)(GT_I32 + gen_below(g, 4));
}

// --- leaves
static void literal(gen *g, gen_type t)
{
    static const char *const floats[] = {"0.0",   "1.0",  "0.5",   "2.25",   "-1.5", "3.0", "0.1",
                                         "100.0", "1e10", "1e-20", "-7.125", "1e30", "-0.0"};
    static const uint32_t words[] = {0,  1,   2,   3,   5,   7,   8,    15,    31,    32,
                                     63, 100, 127, 128, 255, 256, 1000, 32767, 65535, 65536};
    const char *f = floats[gen_below(g, sizeof floats / sizeof *floats)];
    uint32_t w = gen_chance(g, 75) ? words[gen_below(g, 20)] : gen_below(g, 0x7fffffff);
    bool negative = gen_chance(g, 30);
    switch (t) {
    case GT_F32: gen_write(g, "(%sf)", f); break;
    case GT_F64: gen_write(g, "(%s)", f); break;
    case GT_BOOL: gen_write(g, "%s", negative ? "true" : "false"); break;
    case GT_U32: gen_write(g, "0x%xu", negative ? ~w : w); break;
    case GT_I32: gen_write(g, "(%s%u)", negative ? "-" : "", w); break;
    case GT_I64:
        gen_write(g, "(%s%lldll)", negative ? "-" : "",
                  (long long)w << (gen_chance(g, 20) ? 31 : 0));
        break;
    case GT_U64:
        gen_write(g, "0x%llxull", negative ? ~(unsigned long long)w : (unsigned long long)w << 7);
        break;
    case GT_I8:
    case GT_I16:
    case GT_U8:
    case GT_U16:
        gen_write(g, "(%s)%s%u", type_names[t], negative && t != GT_U8 && t != GT_U16 ? "-" : "",
                  w & 127);
        break;
    case GT_COUNT: break;
    }
}

void gen_as(gen *g, gen_type to, gen_type from, const char *text)
{
    bool saturates = is_float(from) && !is_float(to) && to != GT_BOOL;
    gen_write(g, saturates ? "TO(" : "(");
    gen_write(g, "%s%s%s%s", type_names[to], saturates ? ", " : ")", text, saturates ? ")" : "");
}

static bool variable(gen *g, gen_type t)
{
    uint32_t fits[GEN_MAX_VARS], others[GEN_MAX_VARS], n = 0, other_count = 0;
    for (uint32_t i = 0; i < g->var_count; i++) {
        if (g->vars[i].length)
            continue;
        if (g->vars[i].type == t)
            fits[n++] = i;
        else
            others[other_count++] = i;
    }
    if (n && gen_chance(g, 80)) {
        uint32_t last = gen_chance(g, 20) ? 1 : n; // what was made just now, often
        gen_write(g, "%s", g->vars[fits[n - 1 - gen_below(g, last)]].text);
        return true;
    }
    if (!other_count || gen_chance(g, 20))
        return false;
    const gen_var *v = &g->vars[others[gen_below(g, other_count)]];
    gen_as(g, t, v->type, v->text);
    return true;
}

// An index that stays below `length`, a power of two.
void gen_index(gen *g, uint32_t length, int depth)
{
    gen_write(g, "(");
    gen_expr(g, gen_chance(g, 60) ? GT_U32 : GT_I32, depth);
    gen_write(g, ") & %u", length - 1);
}

static bool element(gen *g, gen_type t, int depth)
{
    uint32_t fits[GEN_MAX_VARS], n = 0;
    for (uint32_t i = 0; i < g->var_count; i++)
        if (g->vars[i].type == t && g->vars[i].length)
            fits[n++] = i;
    if (!n)
        return false;
    const gen_var *v = &g->vars[fits[gen_below(g, n)]];
    gen_write(g, "%s[", v->text);
    gen_index(g, v->length, depth - 1);
    gen_write(g, "]");
    return true;
}

// --- conversions: `from` was chosen freely, `to` is wanted
static void converted(gen *g, gen_type from, gen_type to, int depth)
{
    if (from == to) {
        gen_expr(g, to, depth);
        return;
    }
    if (is_float(from) && !is_float(to) && to != GT_BOOL)
        gen_write(g, "TO(%s, ", type_names[to]);
    else
        gen_write(g, "(%s)(", type_names[to]);
    gen_expr(g, from, depth);
    gen_write(g, ")");
}

// --- operators
static void int_binary(gen *g, gen_type t, int depth)
{
    static const char *const plain[] = {"+", "-", "*", "&", "|", "^", "+", "-", "*"};
    static const char *const open[] = {"DIV", "REM", "SHL", "SHR"};
    static const char *const ends[] = {"0",  "1",  "2",  "8",  "31", "32",
                                       "63", "-1", "-2", "-8", "127"};
    uint32_t k = gen_below(g, 13);
    gen_type a = gen_int_type(g), b = gen_int_type(g), r = common(a, b);
    if (k >= 11)
        r = promoted(a);
    if (r != t)
        gen_write(g, "(%s)", type_names[t]);
    if (k < 9)
        gen_write(g, "(");
    else
        gen_write(g, "%s(%s, ", open[k - 9], type_names[r]);
    gen_expr(g, a, depth - 1);
    if (k < 9)
        gen_write(g, " %s ", plain[k]);
    else
        gen_write(g, ", ");
    if (gen_chance(g, 15)) // what rules about constants look for
        gen_write(g, "(%s)%s", type_names[b], ends[gen_below(g, sizeof ends / sizeof *ends)]);
    else
        gen_expr(g, b, depth - 1);
    gen_write(g, ")");
}

static void float_binary(gen *g, gen_type t, int depth)
{
    static const char *const names[] = {"+", "-", "*", "/"};
    gen_write(g, "(");
    gen_expr(g, t, depth - 1);
    gen_write(g, " %s ", names[gen_below(g, 4)]);
    gen_expr(g, t, depth - 1);
    gen_write(g, ")");
}

static void condition(gen *g, int depth)
{
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    static const char *const logic[] = {"&&", "||"};
    uint32_t k = gen_below(g, 10);
    if (depth > 1 && k < 2) {
        gen_write(g, "(");
        condition(g, depth - 1);
        gen_write(g, " %s ", logic[k]);
        condition(g, depth - 1);
        gen_write(g, ")");
    } else if (k == 2) {
        gen_write(g, "!");
        condition(g, depth - 1);
    } else if (k == 3 && depth > 0 && gen_chance(g, 30)) {
        bool yes = gen_chance(g, 50);
        gen_write(g, "(");
        condition(g, depth - 1);
        gen_write(g, " ? %s : %s)", yes ? "true" : "false", yes ? "false" : "true");
    } else if (k == 3) {
        gen_write(g, "(bool)(");
        gen_expr(g, gen_any_type(g), depth - 1);
        gen_write(g, ")");
    } else {
        gen_type a = gen_any_type(g), b = gen_any_type(g);
        if (is_float(a) != is_float(b))
            b = a; // an integer beside a float wants a cast
        gen_write(g, "(");
        gen_expr(g, a, depth - 1);
        gen_write(g, " %s ", compare[gen_below(g, 6)]);
        gen_expr(g, b, depth - 1);
        gen_write(g, ")");
    }
}

void gen_condition(gen *g, int depth)
{
    condition(g, depth);
}

static void int_builtin(gen *g, gen_type t, int depth)
{
    static const struct {
        const char *format;
        uint8_t args, result; // result: GT_COUNT is the argument's type
        bool is_unsigned;
    } calls[] = {{"min", 2, GT_COUNT, false},         {"max", 2, GT_COUNT, false},
                 {"clamp", 3, GT_COUNT, false},       {"mul_high", 2, GT_COUNT, false},
                 {"popcount", 1, GT_U32, true},       {"leading_zeros", 1, GT_U32, true},
                 {"trailing_zeros", 1, GT_U32, true}, {"reverse_bits", 1, GT_COUNT, true},
                 {"rotate_left", 9, GT_COUNT, true},  {"rotate_right", 9, GT_COUNT, true}};
    uint32_t k = gen_below(g, sizeof calls / sizeof *calls);
    gen_type a = calls[k].is_unsigned ? (gen_chance(g, 50) ? GT_U32 : GT_U64) : wide_int_type(g);
    gen_type r = calls[k].result == GT_COUNT ? a : (gen_type)calls[k].result;
    if (r != t)
        gen_write(g, "(%s)", type_names[t]);
    gen_write(g, "%s(", calls[k].format);
    gen_expr(g, a, depth - 1);
    for (uint32_t i = 1; i < calls[k].args && calls[k].args != 9; i++) {
        gen_write(g, ", ");
        gen_expr(g, a, depth - 2);
    }
    if (calls[k].args == 9) {
        gen_write(g, ", ");
        gen_expr(g, GT_U32, depth - 2);
    }
    gen_write(g, ")");
}

static void float_builtin(gen *g, gen_type t, int depth)
{
    static const struct {
        const char *name;
        uint8_t args;
    } calls[] = {{"fma", 3},  {"sqrt", 1}, {"floor", 1}, {"ceil", 1}, {"trunc", 1}, {"rint", 1},
                 {"fabs", 1}, {"min", 2},  {"max", 2},   {"fmin", 2}, {"fmax", 2},  {"clamp", 3}};
    uint32_t k = gen_below(g, sizeof calls / sizeof *calls);
    gen_write(g, "%s(", calls[k].name);
    for (uint32_t i = 0; i < calls[k].args; i++) {
        if (i)
            gen_write(g, ", ");
        gen_expr(g, t, depth - 1);
    }
    gen_write(g, ")");
}

static void unary(gen *g, gen_type t, int depth)
{
    if (is_float(t)) {
        gen_write(g, "(-");
        gen_expr(g, t, depth - 1);
        gen_write(g, ")");
        return;
    }
    static const char *const ops[] = {"-", "~", "!", "+"};
    uint32_t k = gen_below(g, 4);
    gen_type a = gen_int_type(g), r = k == 2 ? GT_I32 : promoted(a);
    if (r != t)
        gen_write(g, "(%s)", type_names[t]);
    gen_write(g, "(%s", ops[k]);
    gen_expr(g, a, depth - 1);
    gen_write(g, ")");
}

static bool helper_call(gen *g, gen_type t, int depth)
{
    for (uint32_t i = 0; i < g->helper_count; i++) {
        const gen_helper *h = &g->helpers[i];
        if (h->result != t || gen_chance(g, 30))
            continue;
        gen_write(g, "h%u_%u(", i, g->number);
        for (uint32_t k = 0; k < h->param_count; k++) {
            if (k)
                gen_write(g, ", ");
            gen_expr(g, h->params[k], depth - 1);
        }
        gen_write(g, ")");
        return true;
    }
    return false;
}

void gen_expr(gen *g, gen_type t, int depth)
{
    uint32_t k = gen_below(g, 100);
    if (depth <= 0 || k < 12) {
        if (k % 4 && variable(g, t))
            return;
        literal(g, t);
    } else if (k < 25) {
        if (!variable(g, t))
            literal(g, t);
    } else if (k < 35) {
        if (!element(g, t, depth))
            converted(g, gen_any_type(g), t, depth - 1);
    } else if (k < 42) {
        converted(g, gen_any_type(g), t, depth - 1);
    } else if (k < 48) {
        gen_write(g, "(");
        condition(g, depth - 1);
        gen_write(g, " ? ");
        gen_expr(g, t, depth - 1);
        gen_write(g, " : ");
        gen_expr(g, t, depth - 1);
        gen_write(g, ")");
    } else if (k < 53) {
        if (helper_call(g, t, depth))
            return;
        if (t == GT_BOOL)
            condition(g, depth - 1);
        else
            unary(g, t, depth);
    } else if (t == GT_BOOL) {
        condition(g, depth - 1);
    } else if (k < 60) {
        unary(g, t, depth);
    } else if (k < 70) {
        if (is_float(t))
            float_builtin(g, t, depth);
        else
            int_builtin(g, t, depth);
    } else if (is_float(t)) {
        float_binary(g, t, depth);
    } else {
        int_binary(g, t, depth);
    }
}
