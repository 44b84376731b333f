// Constant expressions: folds a checked tree to one number, by the rules that hold at run time
// (docs/design/0001 "Arithmetic"). Gives no diagnostics: false means "not a constant".
// Invariant: an integer result is wrapped to its node's type, an f32 result is rounded to f32.
// Start reading at const_eval.
#include <math.h>
#include <stdlib.h>

#include "front/check.h"

static const_value of_int(const type *t, uint64_t v)
{
    return (const_value){.integer = check_wrap_int(t, v)};
}

static const_value of_float(const type *t, double v)
{
    return (const_value){.is_float = true, .real = t->kind == TY_F32 ? (double)(float)v : v};
}

// Truncates and saturates at the range of t; NaN gives 0.
static uint64_t float_to_int(const type *t, double v)
{
    unsigned bits = check_bits(t);
    if (v != v)
        return 0;
    if (type_is_signed(t)) {
        int64_t top = (int64_t)(UINT64_MAX >> (65 - bits));
        double limit = (double)(1ull << (bits - 1));
        if (v >= limit)
            return (uint64_t)top;
        if (v < -limit)
            return (uint64_t)(-top - 1);
        return (uint64_t)(int64_t)v;
    }
    uint64_t top = UINT64_MAX >> (64 - bits);
    if (v <= 0)
        return 0;
    return v >= (double)(1ull << (bits - 1)) * 2.0 ? top : (uint64_t)v;
}

static bool convert(const ast_expr *e, const const_value *v, const_value *out)
{
    const type *to = e->type, *from = e->a->type;
    switch ((convert_kind)e->convert) {
    case CONVERT_NOOP:
        *out = *v;
        return is_function_pointer(to) || (!is_pointer(to) && to->kind != TY_VOID);
    case CONVERT_TO_BOOL:
        *out = (const_value){.integer = v->is_float ? v->real != 0.0 : v->integer != 0};
        return true;
    case CONVERT_INT: *out = of_int(to, v->integer); return true;
    case CONVERT_INT_FLOAT: {
        bool is_signed = type_is_signed(from);
        out->is_float = true; // one rounding, straight to the target's width
        if (to->kind == TY_F32)
            out->real = (double)(is_signed ? (float)(int64_t)v->integer : (float)v->integer);
        else
            out->real = is_signed ? (double)(int64_t)v->integer : (double)v->integer;
        return true;
    }
    case CONVERT_FLOAT_INT: *out = (const_value){.integer = float_to_int(to, v->real)}; return true;
    case CONVERT_FLOAT: *out = of_float(to, v->real); return true;
    case CONVERT_LOAD:
    case CONVERT_DECAY:
    case CONVERT_PTR_INT: break;
    case CONVERT_INT_PTR: *out = *v; return is_function_pointer(to);
    }
    return false;
}

static bool unary(const ast_expr *e, const const_value *v, const_value *out)
{
    switch (e->op) {
    case TOK_PLUS: *out = *v; return true;
    case TOK_MINUS:
        *out = v->is_float ? of_float(e->type, -v->real) : of_int(e->type, 0 - v->integer);
        return true;
    case TOK_TILDE: *out = of_int(e->type, ~v->integer); return true;
    case TOK_NOT: *out = (const_value){.integer = !v->integer}; return true;
    }
    return false;
}

static bool binary_float(const ast_expr *e, double a, double b, const_value *out)
{
    const type *t = e->a->type; // both operands have it; a comparison's own type is i32
    // f32 operations in f64 and then rounded are the same bits: 53 >= 2 * 24 + 2.
    switch (e->op) {
    case TOK_PLUS: *out = of_float(t, a + b); return true;
    case TOK_MINUS: *out = of_float(t, a - b); return true;
    case TOK_STAR: *out = of_float(t, a * b); return true;
    case TOK_SLASH: *out = of_float(t, a / b); return true;
    case TOK_LT: *out = (const_value){.integer = a < b}; return true;
    case TOK_GT: *out = (const_value){.integer = a > b}; return true;
    case TOK_LE: *out = (const_value){.integer = a <= b}; return true;
    case TOK_GE: *out = (const_value){.integer = a >= b}; return true;
    case TOK_EQ: *out = (const_value){.integer = a == b}; return true;
    case TOK_NE: *out = (const_value){.integer = a != b}; return true;
    }
    return false;
}

static uint64_t divide(const type *t, uint64_t a, uint64_t b, bool want_remainder)
{
    if (!b)
        return want_remainder ? a : 0;
    if (!type_is_signed(t))
        return want_remainder ? a % b : a / b;
    if ((int64_t)b == -1)
        return want_remainder ? 0 : 0 - a;
    return (uint64_t)(want_remainder ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static bool binary_int(const ast_expr *e, uint64_t a, uint64_t b, const_value *out)
{
    const type *t = e->a->type;
    bool is_signed = type_is_signed(t);
    unsigned bits = check_bits(t), count = (unsigned)b & (bits - 1);
    bool is_out = e->shifts == SHIFT_CLAMP && (uint32_t)b >= bits;
    if (is_out)
        count = bits - 1;
    bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    uint64_t v;
    switch (e->op) {
    case TOK_PLUS: v = a + b; break;
    case TOK_MINUS: v = a - b; break;
    case TOK_STAR: v = a * b; break;
    case TOK_SLASH: v = divide(t, a, b, false); break;
    case TOK_PERCENT: v = divide(t, a, b, true); break;
    case TOK_AMP: v = a & b; break;
    case TOK_PIPE: v = a | b; break;
    case TOK_CARET: v = a ^ b; break;
    case TOK_SHL: v = is_out ? 0 : a << count; break;
    case TOK_SHR:
        v = is_out && !is_signed ? 0 : a >> count;
        if (is_signed && (int64_t)a < 0 && count)
            v |= ~(UINT64_MAX >> count);
        break;
    case TOK_LT: v = less; break;
    case TOK_GE: v = !less; break;
    case TOK_GT: v = !less && a != b; break;
    case TOK_LE: v = less || a == b; break;
    case TOK_EQ: v = a == b; break;
    case TOK_NE: v = a != b; break;
    default: return false;
    }
    *out = of_int(e->type, v);
    return true;
}

static bool logical(front *f, const ast_expr *e, const_value *out)
{
    const_value v;
    if (!const_eval(f, e->a, &v))
        return false;
    bool left = v.integer != 0, decides = e->op == TOK_OROR;
    if (left != decides) {
        if (!const_eval(f, e->b, &v))
            return false;
        left = v.integer != 0;
    }
    *out = (const_value){.integer = left};
    return true;
}

// --- target_…()

// target_is_NAME() asks for the family NAME; all else is a capability.
static uint64_t target_condition(const front *f, const builtin *b)
{
    static const char is[] = "target_is_";
    const struct target *t = front_target(f->options);
    if (b->id == BI_target_sm)
        return t->caps.sm;
    if (b->id == BI_target_has_wgmma)
        return t->caps.has_wgmma;
    must(!strncmp(b->name, is, sizeof is - 1));
    return !strcmp(b->name + sizeof is - 1, t->family);
}

// --- addresses that are numbers: offsetof as programs write it, (size_t)&((t *)0)->member

static bool const_place(front *f, const ast_expr *e, uint64_t *out);

static bool moved(front *f, const ast_expr *pointer, const ast_expr *by, bool is_minus,
                  uint64_t *out)
{
    const_value v;
    const type *t = pointer->type->base;
    if (!const_address(f, pointer, out) || !const_eval(f, by, &v) || type_is_incomplete(t))
        return false;
    uint64_t bytes = v.integer * type_size(t);
    *out += is_minus ? 0 - bytes : bytes;
    return true;
}

bool const_address(front *f, const ast_expr *e, uint64_t *out)
{
    const_value v;
    if (!is_pointer(e->type) || is_function_pointer(e->type))
        return false;
    if (e->kind == E_UNARY)
        return e->op == TOK_AMP && const_place(f, e->a, out);
    if (e->kind == E_BINARY && (e->op == TOK_PLUS || e->op == TOK_MINUS))
        return moved(f, e->a, e->b, e->op == TOK_MINUS, out);
    if (e->kind != E_CONVERT)
        return false;
    switch (e->convert) {
    case CONVERT_NOOP: return const_address(f, e->a, out);
    case CONVERT_DECAY: return e->a->type->kind == TY_ARRAY && const_place(f, e->a, out);
    case CONVERT_INT_PTR:
        if (!const_eval(f, e->a, &v))
            return false;
        *out = v.integer;
        return true;
    default: return false;
    }
}

static bool const_place(front *f, const ast_expr *e, uint64_t *out)
{
    switch (e->kind) {
    case E_INDEX: return moved(f, e->a, e->b, false, out);
    case E_UNARY: return e->op == TOK_STAR && const_address(f, e->a, out);
    case E_MEMBER:
        if (e->bits || !(e->is_arrow ? const_address(f, e->a, out) : const_place(f, e->a, out)))
            return false;
        *out += e->field_offset;
        return true;
    default: return false;
    }
}

static bool difference(front *f, const ast_expr *e, const_value *out)
{
    uint64_t a, b, size = type_size(e->a->type->base);
    if (e->op != TOK_MINUS || !const_address(f, e->a, &a) || !const_address(f, e->b, &b))
        return false;
    *out =
        (const_value){.integer = size > 1 ? (uint64_t)((int64_t)(a - b) / (int64_t)size) : a - b};
    return true;
}

bool const_eval(front *f, const ast_expr *e, const_value *out)
{
    const_value a, b;
    if (!e->is_const)
        return false;
    switch ((expr_kind)e->kind) {
    case E_INT: *out = (const_value){.integer = e->integer}; return true;
    case E_FLOAT: *out = (const_value){.is_float = true, .real = e->real}; return true;
    case E_CONVERT:
        if (e->convert == CONVERT_DECAY) { // of a function: others are no constants
            *out = (const_value){.integer = function_token(e->a->decl)};
            return true;
        }
        if (e->convert == CONVERT_PTR_INT) {
            *out = (const_value){0};
            return const_address(f, e->a, &out->integer);
        }
        return const_eval(f, e->a, &a) && (*out = a, convert(e, &a, out));
    case E_UNARY: return const_eval(f, e->a, &a) && unary(e, &a, out);
    case E_BINARY:
        if (e->op == TOK_ANDAND || e->op == TOK_OROR)
            return logical(f, e, out);
        if (is_pointer(e->a->type))
            return difference(f, e, out);
        if (!const_eval(f, e->a, &a) || !const_eval(f, e->b, &b))
            return false;
        return a.is_float ? binary_float(e, a.real, b.real, out)
                          : binary_int(e, a.integer, b.integer, out);
    case E_COND: return const_eval(f, e->a, &a) && const_eval(f, a.integer ? e->b : e->c, out);
    case E_CALL:
        if (!e->builtin || e->builtin->kind != BK_CONST)
            return false;
        *out = (const_value){.integer = target_condition(f, e->builtin)};
        return true;
    case E_POISON:
    case E_STRING:
    case E_NAME:
    case E_INCDEC:
    case E_ASSIGN:
    case E_COMMA:
    case E_INDEX:
    case E_MEMBER:
    case E_CAST:
    case E_SIZEOF:
    case E_ALIGNOF:
    case E_COMPOUND:
    case E_INIT_LIST:
    case E_GENERIC:
    case E_STMT:
    case E_KIND_COUNT: break;
    }
    return false;
}

// f32_from_bits and f64_from_bits of a constant: INFINITY, NAN and HUGE_VAL are such calls. A NaN
// with bits of its own would lose them on the way through a double.
static bool from_bits(front *f, const ast_expr *e, const_value *out)
{
    const_value v;
    bool is_narrow = e->builtin && e->builtin->id == BI_f32_from_bits;
    if (!e->builtin || (!is_narrow && e->builtin->id != BI_f64_from_bits) ||
        !const_eval(f, e->args.at[0], &v))
        return false;
    float narrow;
    double wide;
    uint32_t low = (uint32_t)v.integer;
    memcpy(&narrow, &low, sizeof narrow);
    memcpy(&wide, &v.integer, sizeof wide);
    *out = (const_value){.is_float = true, .real = is_narrow ? (double)narrow : wide};
    return out->real == out->real || v.integer == (is_narrow ? 0x7fc00000u : 0x7ff8000000000000u);
}

// GNU's __builtin_inf() and its kin, as lib/gnu.h has them: a NaN keeps no payload there.
static bool gnu_number(front *f, const ast_expr *e, const_value *out)
{
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"k_gnu_inf", (double)INFINITY},      {"k_gnu_inff", (double)INFINITY},
                {"k_gnu_huge_val", (double)INFINITY}, {"k_gnu_huge_valf", (double)INFINITY},
                {"k_gnu_nan", (double)NAN},           {"k_gnu_nanf", (double)NAN}};
    for (size_t i = 0; e->callee_decl && i < COUNT(rows); i++) {
        const char *name = name_cstr(f->names, rows[i].name);
        if (e->callee_decl->name != name || e->callee_decl != parse_library_func(f, "gnu.h", name))
            continue;
        const ast_expr *payload = e->args.len ? e->args.at[0] : NULL;
        while (payload && payload->kind == E_CONVERT)
            payload = payload->a;
        *out = (const_value){.is_float = true, .real = rows[i].value};
        return !payload || payload->kind == E_STRING;
    }
    return false;
}

bool const_eval_static(front *f, const ast_expr *e, const_value *out)
{
    const_value a;
    if (const_eval(f, e, out))
        return true;
    if (e->kind == E_CALL)
        return from_bits(f, e, out) || gnu_number(f, e, out);
    if (e->kind == E_UNARY && (e->op == TOK_PLUS || e->op == TOK_MINUS))
        return const_eval_static(f, e->a, &a) && unary(e, &a, out);
    return e->kind == E_CONVERT && (e->convert == CONVERT_NOOP || e->convert == CONVERT_FLOAT) &&
           const_eval_static(f, e->a, &a) && convert(e, &a, out);
}
