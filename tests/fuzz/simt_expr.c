// Random expressions of the SIMT generator, written to both texts at once.
//
// Invariant: what simt_expr writes has exactly the type asked for in both languages; a NaN's bits
// are never looked at. Start reading at simt_expr.
#include "fuzz/simt_parts.h"

#include <stdarg.h>
#include <string.h>

uint32_t simt_below(simt *g, uint32_t n)
{
    g->random += 0x9e3779b97f4a7c15u;
    uint64_t z = g->random;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 33) % n;
}

bool simt_chance(simt *g, uint32_t percent)
{
    return simt_below(g, 100) < percent;
}

#define WRITE(to)                                                                                  \
    va_list arguments;                                                                             \
    va_start(arguments, format);                                                                   \
    vfprintf(to, format, arguments);                                                               \
    va_end(arguments)

void simt_kiln(simt *g, const char *format, ...)
{
    WRITE(g->kiln);
}

void simt_oracle(simt *g, const char *format, ...)
{
    WRITE(g->oracle);
}

void simt_both(simt *g, const char *format, ...)
{
    va_list again;
    va_start(again, format);
    vfprintf(g->oracle, format, again);
    va_end(again);
    WRITE(g->kiln);
}

const char *simt_type_name(simt_type t)
{
    static const char *const names[] = {"i8",  "u8",  "i16", "u16", "i32", "u32",
                                        "i64", "u64", "f32", "f64", "bool"};
    return names[t];
}

bool simt_is_float(simt_type t)
{
    return t == ST_F32 || t == ST_F64;
}

bool simt_is_narrow(simt_type t)
{
    return t < ST_I32;
}

static bool is_signed(simt_type t)
{
    return t < ST_F32 && t % 2 == 0;
}

simt_type simt_any_type(simt *g)
{
    return (simt_type)simt_below(g, ST_COUNT);
}

simt_type simt_int_type(simt *g)
{
    return (simt_type)simt_below(g, ST_F32);
}

simt_type simt_wide_type(simt *g)
{
    return (simt_type)(ST_I32 + simt_below(g, 4));
}

// The type in which C computes with T.
static simt_type promoted(simt_type t)
{
    return simt_is_narrow(t) || t == ST_BOOL ? ST_I32 : t;
}

void simt_var_write(simt *g, const simt_var *v)
{
    simt_both(g, "%s", v->name);
    if (v->is_lane)
        simt_oracle(g, "[L]");
}

simt_var *simt_target(simt *g, simt_type t)
{
    uint32_t start = simt_below(g, g->var_count);
    for (uint32_t i = 0; i < g->var_count; i++) {
        simt_var *v = &g->vars[(start + i) % g->var_count];
        if (v->type == t && !v->length && !v->is_constant)
            return v;
    }
    return NULL;
}

void simt_number(simt *g, simt_type t)
{
    static const char *const ints[] = {"0",
                                       "1",
                                       "2",
                                       "3",
                                       "5",
                                       "7",
                                       "8",
                                       "10",
                                       "31",
                                       "32",
                                       "63",
                                       "64",
                                       "100",
                                       "127",
                                       "128",
                                       "255",
                                       "256",
                                       "1000",
                                       "32767",
                                       "32768",
                                       "65535",
                                       "65536",
                                       "0xff00",
                                       "0xaaaaaaaa",
                                       "0x7fffffff",
                                       "0x80000000",
                                       "0xffffffff",
                                       "0x100000000",
                                       "0x7fffffffffffffff",
                                       "0x8000000000000000",
                                       "0xffffffffffffffff",
                                       "0x123456789abcdef"};
    static const char *const floats[] = {"0.0",   "-0.0", "1.0",     "-1.0", "0.5",       "-2.5e-3",
                                         "3.25",  "0.1",  "1e10",    "1e30", "1e-30",     "1e-42",
                                         "255.5", "2.5",  "65504.0", "-3.0", "16777217.0"};
    if (t == ST_BOOL)
        simt_both(g, "(bool)%u", simt_below(g, 2));
    else if (simt_is_float(t))
        simt_both(g, "(%s)(%s)", simt_type_name(t), floats[simt_below(g, 17)]);
    else
        simt_both(g, "(%s)%sull", simt_type_name(t), ints[simt_below(g, 32)]);
}

// Opens a conversion to T of something that has the type `from`; two parentheses are to be closed.
static void open_convert(simt *g, simt_type to, simt_type from)
{
    if (simt_is_float(from) && !simt_is_float(to) && to != ST_BOOL) {
        simt_kiln(g, "((%s)(", simt_type_name(to));
        simt_oracle(g, "(o_to_%s(", simt_type_name(to));
    } else {
        simt_both(g, "((%s)(", simt_type_name(to));
    }
}

static void variable(simt *g, simt_type t)
{
    uint32_t start = simt_below(g, g->var_count);
    const simt_var *other = &g->vars[start];
    for (uint32_t i = 0; i < g->var_count; i++) {
        const simt_var *v = &g->vars[(start + i) % g->var_count];
        if (!v->length)
            other = v;
        if (v->type != t)
            continue;
        simt_var_write(g, v);
        if (v->length) {
            simt_both(g, "[");
            simt_expr(g, ST_U32, 0);
            simt_both(g, " & %uu]", v->length - 1);
        }
        return;
    }
    open_convert(g, t, other->type);
    simt_var_write(g, other);
    simt_both(g, "))");
}

static void leaf(simt *g, simt_type t)
{
    if (simt_chance(g, 75))
        variable(g, t);
    else
        simt_number(g, t);
}

// --- calls: one row a builtin and type
typedef struct call {
    const char *kiln, *oracle;
    simt_type result, args[3];
    int count;
} call;

#define SAME(k, o, T, n)                                                                           \
    {                                                                                              \
        k, o, T, {T, T, T}, n                                                                      \
    }
#define WIDE(k, n)                                                                                 \
    SAME(k, "o_" k "_i32", ST_I32, n), SAME(k, "o_" k "_u32", ST_U32, n),                          \
        SAME(k, "o_" k "_i64", ST_I64, n), SAME(k, "o_" k "_u64", ST_U64, n)
#define FLOATS(k, n) SAME(k, "o_" k "_f32", ST_F32, n), SAME(k, "o_" k "_f64", ST_F64, n)
#define COUNTS(k)                                                                                  \
    {k, "o_" k "_u32", ST_U32, {ST_U32}, 1},                                                       \
    {                                                                                              \
        k, "o_" k "_u64", ST_U32, {ST_U64}, 1                                                      \
    }
#define TURNS(k)                                                                                   \
    {k, "o_" k "_u32", ST_U32, {ST_U32, ST_U32}, 2},                                               \
    {                                                                                              \
        k, "o_" k "_u64", ST_U64, {ST_U64, ST_U32}, 2                                              \
    }
#define CLASS(k)                                                                                   \
    {k, "o_" k "_f32", ST_BOOL, {ST_F32}, 1},                                                      \
    {                                                                                              \
        k, "o_" k "_f64", ST_BOOL, {ST_F64}, 1                                                     \
    }

static const call calls[] = {
    WIDE("min", 2),
    WIDE("max", 2),
    WIDE("clamp", 3),
    WIDE("mul_high", 2),
    SAME("abs", "o_abs_i32", ST_I32, 1),
    SAME("abs", "o_abs_i64", ST_I64, 1),
    COUNTS("popcount"),
    COUNTS("leading_zeros"),
    COUNTS("trailing_zeros"),
    SAME("reverse_bits", "o_reverse_bits_u32", ST_U32, 1),
    SAME("reverse_bits", "o_reverse_bits_u64", ST_U64, 1),
    TURNS("rotate_left"),
    TURNS("rotate_right"),
    {"funnel_left", "o_funnel_left_u32", ST_U32, {ST_U32, ST_U32, ST_U32}, 3},
    {"funnel_left", "o_funnel_left_u64", ST_U64, {ST_U64, ST_U64, ST_U32}, 3},
    {"permute_bytes", "o_permute_bytes", ST_U32, {ST_U32, ST_U32, ST_U32}, 3},
    {"dot4_i8", "o_dot4_i8", ST_I32, {ST_U32, ST_U32, ST_I32}, 3},
    {"dot4_u8", "o_dot4_u8", ST_U32, {ST_U32, ST_U32, ST_U32}, 3},
    {"simt_unpack", "o_unpack_i4", ST_I32, {ST_U32, ST_U32}, 2},
    {"simt_pack", "o_pack_i4", ST_U32, {ST_U32, ST_U32, ST_I32}, 3},
    {"simt_bits32", "o_bits_f32", ST_U32, {ST_F32}, 1},
    {"simt_bits64", "o_bits_f64", ST_U64, {ST_F64}, 1},
    {"f32_from_bits", "o_f32_from_bits", ST_F32, {ST_U32}, 1},
    {"f64_from_bits", "o_f64_from_bits", ST_F64, {ST_U64}, 1},
    FLOATS("min", 2),
    FLOATS("max", 2),
    FLOATS("clamp", 3),
    FLOATS("abs", 1),
    FLOATS("fma", 3),
    FLOATS("sqrt", 1),
    FLOATS("floor", 1),
    FLOATS("ceil", 1),
    FLOATS("trunc", 1),
    FLOATS("rint", 1),
    FLOATS("round", 1),
    FLOATS("fmod", 2),
    FLOATS("remainder", 2),
    SAME("fabs", "o_abs_f32", ST_F32, 1),
    SAME("fabs", "o_abs_f64", ST_F64, 1),
    SAME("fmin", "o_min_f32", ST_F32, 2),
    SAME("fmin", "o_min_f64", ST_F64, 2),
    SAME("fmax", "o_max_f32", ST_F32, 2),
    SAME("fmax", "o_max_f64", ST_F64, 2),
    SAME("simt_copysign32", "o_copysign_f32", ST_F32, 2),
    SAME("simt_copysign64", "o_copysign_f64", ST_F64, 2),
    CLASS("isnan"),
    CLASS("isinf"),
    CLASS("isfinite"),
    {"simt_sign32", "o_sign_f32", ST_BOOL, {ST_F32}, 1},
    {"simt_sign64", "o_sign_f64", ST_BOOL, {ST_F64}, 1},
};
enum { CALL_COUNT = sizeof calls / sizeof *calls };

// A builtin by name and type, opened; the caller writes the arguments.
static void open_call(simt *g, const char *name, simt_type t)
{
    simt_kiln(g, "%s(", name);
    simt_oracle(g, "o_%s_%s(", name, simt_type_name(t));
}

static bool builtin_call(simt *g, simt_type t, int depth)
{
    uint32_t start = simt_below(g, CALL_COUNT);
    for (uint32_t i = 0; i < CALL_COUNT; i++) {
        const call *c = &calls[(start + i) % CALL_COUNT];
        if (c->result != t)
            continue;
        simt_kiln(g, "%s(", c->kiln);
        simt_oracle(g, "%s(", c->oracle);
        for (int a = 0; a < c->count; a++) {
            simt_both(g, a ? ", " : "");
            simt_expr(g, c->args[a], depth - 1);
        }
        simt_both(g, ")");
        return true;
    }
    return false;
}

static bool helper_call(simt *g, simt_type t, int depth)
{
    for (uint32_t i = 0; i < g->helper_count; i++) {
        if (g->helpers[i].result != t)
            continue;
        simt_oracle(g, "o_");
        simt_both(g, "fn_%u_%u(", i, g->number);
        for (int a = 0; a < 3; a++) {
            simt_both(g, a ? ", " : "");
            simt_expr(g, g->helpers[i].params[a], depth - 1);
        }
        simt_both(g, ")");
        return true;
    }
    return false;
}

// --- conversions
static void convert(simt *g, simt_type to, simt_type from, int depth)
{
    open_convert(g, to, from);
    simt_expr(g, from, depth - 1);
    simt_both(g, "))");
}

// --- conditions
void simt_condition(simt *g, int depth)
{
    static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
    simt_type t = simt_any_type(g);
    switch (depth <= 0 ? 6 : simt_below(g, 10)) {
    case 0:
    case 1:
        simt_both(g, "(");
        simt_condition(g, depth - 1);
        simt_both(g, simt_chance(g, 50) ? " && " : " || ");
        simt_condition(g, depth - 1);
        simt_both(g, ")");
        return;
    case 2:
        simt_both(g, "(!");
        simt_condition(g, depth - 1);
        simt_both(g, ")");
        return;
    case 3: simt_expr(g, ST_BOOL, depth - 1); return;
    case 4:
        simt_both(g, "((");
        t = simt_int_type(g);
        simt_expr(g, t, depth - 1);
        simt_both(g, " & 1) != 0)");
        return;
    case 5: // a chain of predicates
        simt_both(g, "(");
        simt_condition(g, depth - 1);
        simt_both(g, simt_chance(g, 50) ? " == " : " != ");
        simt_condition(g, depth - 1);
        simt_both(g, ")");
        return;
    default:
        simt_both(g, "(");
        simt_expr(g, t, depth - 1);
        simt_both(g, " %s ", compare[simt_below(g, 6)]);
        if (simt_chance(g, 25))
            simt_number(g, t);
        else
            simt_expr(g, t, depth - 1);
        simt_both(g, ")");
    }
}

static void choice(simt *g, simt_type t, int depth)
{
    simt_both(g, "((%s)(", simt_type_name(t));
    simt_condition(g, depth - 1);
    bool is_constant = simt_chance(g, 30);
    for (int i = 0; i < 2; i++) {
        simt_both(g, i ? " : " : " ? ");
        if (is_constant)
            simt_number(g, t);
        else
            simt_expr(g, t, depth - 1);
    }
    simt_both(g, "))");
}

// --- operators
static void binary(simt *g, simt_type t, const char *op, int depth)
{
    simt_both(g, "(%s)(", simt_type_name(t));
    simt_expr(g, t, depth - 1);
    simt_both(g, " %s ", op);
    simt_expr(g, t, depth - 1);
    simt_both(g, ")");
}

// Division, remainder and shifts, which C leaves open in part.
static void defined_op(simt *g, simt_type t, const char *op, const char *name, bool is_shift,
                       int depth)
{
    simt_both(g, "(%s)", simt_type_name(t));
    simt_kiln(g, "(");
    simt_oracle(g, "o_%s_%s(", name, simt_type_name(promoted(t)));
    simt_expr(g, t, depth - 1);
    simt_kiln(g, " %s ", op);
    simt_oracle(g, ", ");
    simt_type right = is_shift ? ST_U32 : t;
    if (simt_chance(g, 35))
        simt_number(g, right);
    else
        simt_expr(g, right, depth - 1);
    simt_both(g, ")");
}

static void integer_op(simt *g, simt_type t, int depth)
{
    static const char *const plain[] = {"+", "-", "*", "&", "|", "^"};
    uint32_t n = simt_below(g, 14);
    if (n < 8) {
        binary(g, t, plain[n % 6], depth);
    } else if (n < 9) {
        defined_op(g, t, "/", "div", false, depth);
    } else if (n < 10) {
        defined_op(g, t, "%", "mod", false, depth);
    } else if (n < 11) {
        defined_op(g, t, "<<", "shl", true, depth);
    } else if (n < 12) {
        defined_op(g, t, ">>", "shr", true, depth);
    } else {
        simt_both(g, "(%s)(%s", simt_type_name(t), n == 12 ? "~" : "-");
        simt_expr(g, t, depth - 1);
        simt_both(g, ")");
    }
}

// --- idioms: what an assembler folds into one instruction, or into a wrong one
static void negated(simt *g, simt_type t)
{
    simt_both(g, "(%s)(-", simt_type_name(t));
    leaf(g, t);
    simt_both(g, ")");
}

// The same variable twice: max(x, abs(x)), a | ~a, x & -x.
static const simt_var *twice(simt *g, simt_type t)
{
    uint32_t start = simt_below(g, g->var_count);
    for (uint32_t i = 0; i < g->var_count; i++) {
        const simt_var *v = &g->vars[(start + i) % g->var_count];
        if (v->type == t && !v->length)
            return v;
    }
    return NULL;
}

static bool has_min(simt_type t)
{
    return t >= ST_I32 && t != ST_BOOL;
}

static bool has_abs(simt_type t)
{
    return t == ST_I32 || t == ST_I64 || simt_is_float(t);
}

static void idiom_min(simt *g, simt_type t, int depth)
{
    const simt_var *v = twice(g, t);
    open_call(g, simt_chance(g, 50) ? "min" : "max", t);
    if (v && simt_chance(g, 50)) {
        simt_var_write(g, v);
        simt_both(g, ", ");
        if (has_abs(t) && simt_chance(g, 60)) {
            open_call(g, "abs", t);
            simt_var_write(g, v);
            simt_both(g, ")");
        } else {
            simt_both(g, "(%s)(-", simt_type_name(t));
            simt_var_write(g, v);
            simt_both(g, ")");
        }
    } else if (simt_chance(g, 50)) {
        negated(g, t);
        simt_both(g, ", ");
        negated(g, t);
    } else { // three of them
        open_call(g, simt_chance(g, 50) ? "min" : "max", t);
        simt_expr(g, t, depth - 2);
        simt_both(g, ", ");
        leaf(g, t);
        simt_both(g, "), ");
        if (has_abs(t) && simt_chance(g, 40)) {
            open_call(g, "abs", t);
            leaf(g, t);
            simt_both(g, ")");
        } else {
            leaf(g, t);
        }
    }
    simt_both(g, ")");
}

static void idiom_bits(simt *g, simt_type t, int depth)
{
    static const char *const ops[] = {"|", "&", "^", "+", "-"};
    const char *name = simt_type_name(t);
    const simt_var *v = twice(g, t);
    if (!v) {
        leaf(g, t);
        return;
    }
    uint32_t width = 8u << t / 2;
    switch (simt_below(g, 7)) {
    case 0: // (u8)(a | (u8)~a)
        simt_both(g, "(%s)(", name);
        simt_var_write(g, v);
        simt_both(g, " %s (%s)(%s", ops[simt_below(g, 5)], name, simt_chance(g, 60) ? "~" : "-");
        simt_var_write(g, v);
        simt_both(g, "))");
        break;
    case 1: // a field of bits
        simt_both(g, "(%s)((", name);
        simt_expr(g, t, depth - 2);
        simt_both(g, " >> %uu) & (%s)0x%xull)", simt_below(g, width), name,
                  (1u << simt_below(g, 17)) - 1);
        break;
    case 2: { // a field put into another word
        unsigned mask = simt_below(g, 0x10000) << simt_below(g, 12);
        simt_both(g, "(%s)((", name);
        leaf(g, t);
        simt_both(g, " & (%s)0x%xull) | (", name, mask);
        leaf(g, t);
        simt_both(g, " & (%s)~0x%xull))", name, mask);
        break;
    }
    case 3: { // a shift of two words
        uint32_t n = 1 + simt_below(g, width - 1);
        simt_both(g, "(%s)((", name);
        leaf(g, t);
        simt_both(g, " << %uu) %s (", n, simt_chance(g, 80) ? "|" : "+");
        leaf(g, t);
        simt_both(g, " >> %uu))", width - n);
        break;
    }
    case 4: // three operands
        simt_both(g, "(%s)((", name);
        leaf(g, t);
        simt_both(g, " %s ", ops[simt_below(g, 5)]);
        leaf(g, t);
        simt_both(g, ") %s ", ops[simt_below(g, 5)]);
        simt_expr(g, t, depth - 2);
        simt_both(g, ")");
        break;
    case 5: // multiply and add
        simt_both(g, "(%s)(", name);
        leaf(g, t);
        simt_both(g, " * ");
        leaf(g, t);
        simt_both(g, " %s ", simt_chance(g, 50) ? "+" : "-");
        leaf(g, t);
        simt_both(g, ")");
        break;
    default: // a sum that saturates
        if (width > 32) {
            leaf(g, t);
            break;
        }
        simt_both(g, "(%s)", name);
        open_call(g, "clamp", ST_I64);
        simt_both(g, "(i64)(");
        convert(g, ST_I64, t, depth - 2);
        simt_both(g, " %s ", simt_chance(g, 50) ? "+" : "-");
        convert(g, ST_I64, t, depth - 2);
        if (is_signed(t))
            simt_both(g, "), (i64)-%llu, (i64)%llu)", 1ull << (width - 1),
                      (1ull << (width - 1)) - 1);
        else
            simt_both(g, "), (i64)0, (i64)%llu)", (1ull << width) - 1);
    }
}

// Through narrower types and back; the upper half of a product; negated minima of dot products.
static void idiom_chain(simt *g, simt_type t, int depth)
{
    simt_type narrow = (simt_type)simt_below(g, 4);
    switch (simt_below(g, 4)) {
    case 0:
        simt_both(g, "((%s)((%s)(", simt_type_name(t), simt_type_name(narrow));
        if (simt_chance(g, 50)) { // a byte of a word
            leaf(g, ST_U32);
            simt_both(g, " >> %uu)))", 8 * simt_below(g, 4));
        } else {
            simt_expr(g, simt_int_type(g), depth - 2);
            simt_both(g, ")))");
        }
        break;
    case 1:
        simt_both(g, "((%s)(((", simt_type_name(t));
        convert(g, simt_chance(g, 50) ? ST_I64 : ST_U64, simt_wide_type(g), depth - 2);
        simt_both(g, ") * ");
        convert(g, simt_chance(g, 50) ? ST_I64 : ST_U64, simt_wide_type(g), depth - 2);
        simt_both(g, ") >> %uu))", simt_chance(g, 50) ? 32 : simt_below(g, 64));
        break;
    case 2:
        simt_both(g, "((%s)", simt_type_name(t));
        simt_kiln(g, "dot4_i8(");
        simt_oracle(g, "o_dot4_i8(");
        idiom_min(g, ST_U32, depth - 1);
        simt_both(g, ", ");
        simt_expr(g, ST_U32, depth - 2);
        simt_both(g, ", ");
        leaf(g, ST_I32);
        simt_both(g, "))");
        break;
    default:
        simt_both(g, "((%s)((", simt_type_name(t));
        simt_condition(g, depth - 1);
        simt_both(g, ") %s (", simt_chance(g, 50) ? "+" : "&");
        simt_condition(g, depth - 1);
        simt_both(g, ")))");
    }
}

static void idiom_float(simt *g, simt_type t, int depth)
{
    switch (simt_below(g, 4)) {
    case 0: // by a choice of two constants
        simt_both(g, "(");
        simt_expr(g, t, depth - 1);
        simt_both(g, simt_chance(g, 70) ? " / " : " * ");
        simt_both(g, "(");
        simt_condition(g, depth - 1);
        for (int i = 0; i < 2; i++) {
            static const char *const units[] = {"-0.0", "0.0", "-1.0", "1.0"};
            simt_both(g, i ? " : " : " ? ");
            if (simt_chance(g, 50))
                simt_both(g, "(%s)(%s)", simt_type_name(t), units[simt_below(g, 4)]);
            else
                simt_number(g, t);
        }
        simt_both(g, "))");
        break;
    case 1: // a product and a sum that must not become one
        simt_both(g, "(");
        leaf(g, t);
        simt_both(g, " * ");
        leaf(g, t);
        simt_both(g, simt_chance(g, 50) ? " + " : " - ");
        leaf(g, t);
        simt_both(g, ")");
        break;
    case 2:
        simt_both(g, "(-");
        idiom_min(g, t, depth - 1);
        simt_both(g, ")");
        break;
    default: idiom_min(g, t, depth);
    }
}

// What NVIDIA's assembler has folded wrongly (docs/assembler.md), beside the above: extremes of a
// NOT or written as a choice, what becomes of a value that a branch knows, chosen signs of zero.
static void idiom_fold(simt *g, simt_type t, int depth)
{
    static const char *const known[7] = {"0", "1", "5", "128", "255", "-1", "-32768"};
    const char *name = simt_type_name(t);
    const simt_var *v = twice(g, t);
    uint32_t kind = simt_below(g, 4);
    if (!v) {
        leaf(g, t);
    } else if (simt_is_float(t) && kind == 0) { // saturated, from -0.0 on
        open_call(g, "min", t);
        simt_both(g, "(%s)(1.0), ", name);
        open_call(g, "max", t);
        simt_expr(g, t, depth - 2);
        simt_both(g, ", (%s)(-0.0)))", name);
    } else if (simt_is_float(t) && kind == 1) { // a comparison that only a NaN does not pass
        simt_both(g, "((");
        open_call(g, "abs", t);
        simt_var_write(g, v);
        simt_both(g, ") %s (%s)(%s)) ? ", simt_chance(g, 50) ? ">=" : ">", name,
                  simt_chance(g, 50) ? "-0.0" : "-1.0");
        leaf(g, t);
        simt_both(g, " : ");
        leaf(g, t);
        simt_both(g, ")");
    } else if (simt_is_float(t)) { // a choice of zeros that is negated or divides
        simt_both(g, kind == 2 ? "(-(" : "((%s)(1.0) / (-(", name);
        simt_condition(g, depth - 1);
        simt_both(g, " ? (%s)(0.0) : (%s)(1.0)%s", name, name, kind == 2 ? "))" : ")))");
    } else if (kind == 0) { // min(-x, ~y - z)
        open_call(g, simt_chance(g, 70) ? "min" : "max", t);
        negated(g, t);
        simt_both(g, ", (%s)((%s)(~", name, name);
        simt_var_write(g, v);
        simt_both(g, ") - ");
        leaf(g, t);
        simt_both(g, "))");
    } else if (kind == 1) { // x < -x ? x : -x
        bool is_less = simt_chance(g, 50);
        for (int k = 0; k < 4; k++) {
            static const char *const behind[2][4] = {{" > ", " ? ", " : ", ")"},
                                                     {" < ", " ? ", " : ", ")"}};
            simt_both(g, k == 0 ? "(" : "");
            if (k % 2)
                simt_both(g, "(%s)(-", name);
            simt_var_write(g, v);
            simt_both(g, "%s%s", k % 2 ? ")" : "", behind[is_less][k]);
        }
    } else { // x == 5 ? ~x : y, and the like
        simt_both(g, "(");
        simt_var_write(g, v);
        simt_both(g, " == (%s)%s ? (%s)(", name, known[simt_below(g, 7)], name);
        simt_both(g, kind == 2 ? "~" : "");
        simt_var_write(g, v);
        if (kind == 3) {
            simt_both(g, " ^ (%s)(", name);
            simt_condition(g, depth - 1);
            simt_both(g, " ? -1 : 0)");
        }
        simt_both(g, ") : ");
        leaf(g, t);
        simt_both(g, ")");
    }
}

static void idiom(simt *g, simt_type t, int depth)
{
    if (has_min(t) && simt_chance(g, 20))
        idiom_fold(g, t, depth);
    else if (simt_is_float(t))
        idiom_float(g, t, depth);
    else if (has_min(t) && simt_chance(g, 35))
        idiom_min(g, t, depth);
    else if (simt_chance(g, 70))
        idiom_bits(g, t, depth);
    else
        idiom_chain(g, t, depth);
}

static void float_op(simt *g, simt_type t, int depth)
{
    static const char *const ops[] = {"+", "-", "*", "/"};
    if (simt_chance(g, 15)) {
        simt_both(g, "(-");
        simt_expr(g, t, depth - 1);
        simt_both(g, ")");
        return;
    }
    simt_both(g, "(");
    simt_expr(g, t, depth - 1);
    simt_both(g, " %s ", ops[simt_below(g, 4)]);
    simt_expr(g, t, depth - 1);
    simt_both(g, ")");
}

void simt_expr(simt *g, simt_type t, int depth)
{
    if (depth <= 0 || --g->budget < 0) {
        leaf(g, t);
        return;
    }
    uint32_t n = simt_below(g, 100);
    if (t == ST_BOOL && n < 70) {
        simt_both(g, "(bool)");
        simt_condition(g, depth);
    } else if (n < 12) {
        leaf(g, t);
    } else if (n < 24) {
        convert(g, t, simt_any_type(g), depth);
    } else if (n < 32) {
        choice(g, t, depth);
    } else if (n < 50 && t != ST_BOOL) {
        idiom(g, t, depth);
    } else if (n < 66 && builtin_call(g, t, depth)) {
        return;
    } else if (n < 70 && helper_call(g, t, depth)) {
        return;
    } else if (t == ST_BOOL) {
        simt_both(g, "(bool)");
        simt_condition(g, depth);
    } else if (simt_is_float(t)) {
        float_op(g, t, depth);
    } else {
        integer_op(g, t, depth);
    }
}
