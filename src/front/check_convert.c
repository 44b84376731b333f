// Conversions: a checked value of one type becomes a value of another, or a diagnostic that shows
// the cast. The table is docs/design/0001 "Conversions". Every implicit change of representation
// ends as one E_CONVERT node made here; literals are rewritten in place instead.
// Start reading at check_convert.
#include <math.h>

#include "front/check.h"

// --- nodes

ast_expr *check_new(front *f, expr_kind kind, span at, const type *t)
{
    ast_expr *e = arena_new_of(f->in, ast_expr);
    e->kind = (uint8_t)kind;
    e->at = at;
    e->type = t;
    e->is_checked = true;
    return e;
}

ast_expr *check_poison(front *f, ast_expr *e)
{
    (void)f;
    e->kind = E_POISON;
    e->type = type_scalar(TY_POISON);
    e->is_checked = true;
    e->is_lvalue = false;
    e->is_const = false;
    return e;
}

ast_expr *check_int(front *f, span at, const type *t, uint64_t value)
{
    ast_expr *e = check_new(f, E_INT, at, t);
    e->integer = value;
    e->is_const = true;
    return e;
}

ast_expr *check_wrap(front *f, ast_expr *e, convert_kind how, const type *to)
{
    ast_expr *w = check_new(f, E_CONVERT, e->at, to);
    w->convert = (uint8_t)how;
    w->a = e;
    w->is_parenthesised = e->is_parenthesised;
    w->is_const = e->is_const && how != CONVERT_LOAD && how != CONVERT_DECAY;
    return w;
}

static const ast_expr *as_written(const ast_expr *e)
{
    while (e->kind == E_CONVERT && !e->cast_type)
        e = e->a;
    return e;
}

static bool binds_loosely(front *f, const ast_expr *e)
{
    e = as_written(e);
    if (e->kind != E_BINARY && e->kind != E_ASSIGN && e->kind != E_COND && e->kind != E_COMMA)
        return false;
    str spelled = source_text(f->sources, e->at);
    return !(e->is_parenthesised && spelled.len && spelled.at[0] == '(');
}

void check_fix_around(front *f, diag *d, const ast_expr *e, const char *title, const char *before,
                      const char *after)
{
    span at = e->at;
    if (!at.lo || !diag_fix_place(f->diags, &at))
        return;
    size_t len = strlen(before);
    bool parens = len && before[len - 1] == ')' && binds_loosely(f, e);
    diag_fix(d, span_before(at), title, "%s%s", before, parens ? "(" : "");
    if (parens || *after)
        diag_fix_more(d, span_after(at), "%s%s", parens ? ")" : "", after);
}

// --- numbers

unsigned check_bits(const type *t)
{
    return t->kind == TY_BOOL ? 1 : (unsigned)(t->size * 8);
}

uint64_t check_wrap_int(const type *t, uint64_t value)
{
    switch ((type_kind)t->kind) {
    case TY_BOOL: return value != 0;
    case TY_I8: return (uint64_t)(int64_t)(int8_t)value;
    case TY_U8: return (uint8_t)value;
    case TY_I16: return (uint64_t)(int64_t)(int16_t)value;
    case TY_U16: return (uint16_t)value;
    case TY_I32: return (uint64_t)(int64_t)(int32_t)value;
    case TY_U32: return (uint32_t)value;
    case TY_I64:
    case TY_U64:
    case TY_PTR:
    case TY_POISON:
    case TY_VOID:
    case TY_F16:
    case TY_BF16:
    case TY_F8E4:
    case TY_F8E5:
    case TY_F32:
    case TY_F64:
    case TY_TENSOR_MAP:
    case TY_ARRAY:
    case TY_STRUCT:
    case TY_UNION:
    case TY_FUNC:
    case TY_KIND_COUNT: break;
    }
    return value;
}

const type *check_promoted_type(const type *t)
{
    if (type_is_integer(t) && (t->kind == TY_BOOL || t->size < 4))
        return type_scalar(TY_I32);
    return t->is_enum ? type_scalar((type_kind)t->kind) : t->unqualified;
}

const type *check_bits_type(const field *f)
{
    if (f->bits > 32 || type_size(f->type) < 4)
        return f->type->unqualified;
    return type_scalar(f->bits == 32 && !type_is_signed(f->type) ? TY_U32 : TY_I32);
}

const type *check_usual_type(const type *a, const type *b)
{
    if (a->kind == TY_F64 || b->kind == TY_F64)
        return type_scalar(TY_F64);
    if (a->kind == TY_F32 || b->kind == TY_F32)
        return type_scalar(TY_F32);
    a = check_promoted_type(a);
    b = check_promoted_type(b);
    if (a->size != b->size)
        return a->size > b->size ? a : b;
    return type_is_signed(a) ? b : a;
}

bool check_keeps_values(const type *from, const type *to)
{
    if (from->kind == to->kind)
        return true;
    if (type_is_integer(from)) {
        unsigned bits = check_bits(from);
        if (to->kind == TY_F32)
            return bits <= 16;
        if (to->kind == TY_F64)
            return bits <= 32;
        return type_is_integer(to) && check_bits(to) >= bits;
    }
    return from->kind == TY_F32 && to->kind == TY_F64;
}

static bool is_truth_value(const ast_expr *e)
{
    if (e->kind == E_UNARY)
        return e->op == TOK_NOT;
    if (e->kind != E_BINARY)
        return false;
    switch (e->op) {
    case TOK_LT:
    case TOK_GT:
    case TOK_LE:
    case TOK_GE:
    case TOK_EQ:
    case TOK_NE:
    case TOK_ANDAND:
    case TOK_OROR: return true;
    }
    return false;
}

const field *check_bits_field(const ast_expr *e)
{
    if ((e->kind == E_ASSIGN || e->kind == E_INCDEC) && e->a)
        e = e->a;
    return e->kind == E_MEMBER ? e->bits : NULL;
}

// The bit-field that e reads, through implicit conversions.
static const field *bits_of(const ast_expr *e)
{
    while (e->kind == E_CONVERT && !e->cast_type &&
           (e->convert == CONVERT_LOAD || e->convert == CONVERT_INT))
        e = e->a;
    return check_bits_field(e);
}

bool check_is_unsigned_bits(const ast_expr *e)
{
    const field *bits = bits_of(e);
    return bits && !type_is_signed(bits->type);
}

// Is every value that e can have exact in `to`, though not every value of its type? Constants,
// 0 and 1 from comparisons, the arms of ?:, and what C only promoted.
bool check_fits(front *f, const ast_expr *e, const type *to)
{
    const_value v;
    const field *bits = bits_of(e);
    if (bits && type_is_arith(to))
        return (unsigned)bits->bits <= (to->kind == TY_F32   ? 24
                                        : to->kind == TY_F64 ? 53
                                                             : check_bits(to));
    if (is_truth_value(e))
        return true;
    if (e->kind == E_COND && !e->is_const)
        return (check_keeps_values(e->b->type, to) || check_fits(f, e->b, to)) &&
               (check_keeps_values(e->c->type, to) || check_fits(f, e->c, to));
    if (e->kind == E_CONVERT && e->convert == CONVERT_INT && !e->cast_type && !e->is_const)
        return check_bits(e->a->type) < check_bits(e->type) && check_keeps_values(e->a->type, to) &&
               (!type_is_signed(e->a->type) || type_is_signed(e->type));
    if (!e->is_const || !const_eval(f, e, &v))
        return false;
    if (v.is_float) {
        if (to->kind == TY_F64)
            return true;
        if (to->kind == TY_F32)
            return v.real != v.real || (double)(float)v.real == v.real;
        return false; // 2.0 as an integer is written 2
    }
    if (type_is_float(to)) {
        double d = type_is_signed(e->type) ? (double)(int64_t)v.integer : (double)v.integer;
        double limit = to->kind == TY_F32 ? 16777216.0 : 9007199254740992.0;
        // Beyond the limit only some integers are exact; those are the ones that come back.
        if (fabs(d) > limit)
            return fabs(d) < 9.0e18 && (to->kind == TY_F64 || (double)(float)d == d) &&
                   (uint64_t)(int64_t)d == v.integer;
        return true;
    }
    if (!type_is_integer(to))
        return false;
    if (check_wrap_int(to, v.integer) != v.integer)
        return false;
    // 64-bit patterns mean different numbers when exactly one side is signed.
    bool source_negative = type_is_signed(e->type) && (int64_t)v.integer < 0;
    bool target_negative = type_is_signed(to) && (int64_t)v.integer < 0;
    return source_negative == target_negative;
}

static ast_expr *force_literal(ast_expr *e, const type *to)
{
    if (e->kind == E_INT && type_is_integer(to)) {
        e->integer = check_wrap_int(to, e->integer);
    } else if (e->kind == E_INT && type_is_float(to)) {
        bool is_signed = type_is_signed(e->type);
        uint64_t v = e->integer;
        double d;
        if (to->kind == TY_F32)
            d = (double)(is_signed ? (float)(int64_t)v : (float)v);
        else
            d = is_signed ? (double)(int64_t)v : (double)v;
        e->kind = E_FLOAT;
        e->real = d;
    } else if (e->kind == E_FLOAT && type_is_float(to)) {
        if (to->kind == TY_F32)
            e->real = (double)(float)e->real;
    } else {
        return NULL;
    }
    e->type = to;
    return e;
}

ast_expr *check_force(front *f, ast_expr *e, const type *to)
{
    const type *from = e->type;
    to = to->unqualified;
    if (from->kind == TY_POISON)
        return e;
    if (from->kind == to->kind && from->kind != TY_PTR)
        return e;
    if (to->kind == TY_BOOL)
        return check_wrap(f, e, CONVERT_TO_BOOL, to);
    if (force_literal(e, to))
        return e;
    if (is_pointer(from) && is_pointer(to))
        return type_same(from, to, false) ? e : check_wrap(f, e, CONVERT_NOOP, to);
    if (is_pointer(from)) {
        uint64_t address;
        e = check_wrap(f, e, CONVERT_PTR_INT, type_scalar(TY_U64));
        e->is_const = const_address(f, e->a, &address);
        return to->kind == TY_U64 ? e : check_wrap(f, e, CONVERT_INT, to);
    }
    if (is_pointer(to)) {
        if (from->kind != TY_U64 && from->kind != TY_I64)
            e = check_force(f, e, type_scalar(type_is_signed(from) ? TY_I64 : TY_U64));
        return check_wrap(f, e, CONVERT_INT_PTR, to);
    }
    bool from_float = type_is_float(from), to_float = type_is_float(to);
    convert_kind how = from_float ? (to_float ? CONVERT_FLOAT : CONVERT_FLOAT_INT)
                                  : (to_float ? CONVERT_INT_FLOAT : CONVERT_INT);
    return check_wrap(f, e, how, to);
}

ast_expr *check_promote(front *f, ast_expr *e)
{
    if (!type_is_integer(e->type))
        return e;
    const type *to = check_promoted_type(e->type);
    return check_force(f, e, to);
}

// --- the messages

// Puts an f behind every f64 literal below e; false when the f64-ness has another source.
static bool collect_f64_literals(front *f, const ast_expr *e, diag *d, unsigned *count, bool apply)
{
    if (!e || e->type->kind != TY_F64)
        return true;
    switch ((expr_kind)e->kind) {
    case E_FLOAT: {
        str spelled = source_text(f->sources, e->at);
        if (!spelled.len ||
            !(spelled.at[0] == '.' || (spelled.at[0] >= '0' && spelled.at[0] <= '9')))
            return false;
        if (spelled.len > 1 && (spelled.at[1] == 'x' || spelled.at[1] == 'X'))
            return false;
        if (memchr(spelled.at, '.', spelled.len) == NULL &&
            memchr(spelled.at, 'e', spelled.len) == NULL &&
            memchr(spelled.at, 'E', spelled.len) == NULL)
            return true; // an integer literal that was adapted: it adapts to f32 just as well
        char last = spelled.at[spelled.len - 1];
        if (last != '.' && (last < '0' || last > '9'))
            return false;
        if (apply && (*count)++ == 0)
            diag_fix(d, span_after(e->at), "make it an f32 literal", "f");
        else if (apply)
            diag_fix_more(d, span_after(e->at), "f");
        else
            ++*count;
        return true;
    }
    case E_CONVERT:
        if (e->cast_type)
            return false;
        if (e->convert == CONVERT_FLOAT || e->convert == CONVERT_INT_FLOAT)
            return e->convert == CONVERT_FLOAT || check_bits(e->a->type) <= 16;
        return e->convert == CONVERT_NOOP && collect_f64_literals(f, e->a, d, count, apply);
    case E_UNARY: return collect_f64_literals(f, e->a, d, count, apply);
    case E_BINARY:
        return collect_f64_literals(f, e->a, d, count, apply) &&
               collect_f64_literals(f, e->b, d, count, apply);
    case E_COND:
        return collect_f64_literals(f, e->b, d, count, apply) &&
               collect_f64_literals(f, e->c, d, count, apply);
    case E_CALL:
        if (!e->builtin || !e->builtin_type || e->builtin_type->kind != TY_F64)
            return false;
        for (uint32_t i = 0; i < e->args.len; i++)
            if (!collect_f64_literals(f, e->args.at[i], d, count, apply))
                return false;
        return true;
    case E_POISON:
    case E_INT:
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

static const char *const_text(front *f, const ast_expr *e, const const_value *v)
{
    if (v->is_float)
        return str_format(f->in, "%.9g", v->real);
    if (type_is_signed(e->type))
        return str_format(f->in, "%lld", (long long)v->integer);
    return str_format(f->in, "%llu", (unsigned long long)v->integer);
}

const char *check_range_text(front *f, const type *t)
{
    unsigned bits = check_bits(t);
    if (type_is_float(t))
        return str_format(f->in, "%s holds every integer up to 2^%d only", T_OF(f, t),
                          t->kind == TY_F32 ? 24 : 53);
    if (type_is_signed(t)) {
        int64_t top = (int64_t)(UINT64_MAX >> (65 - bits));
        return str_format(f->in, "%s holds %lld to %lld", T_OF(f, t), (long long)(-top - 1),
                          (long long)top);
    }
    return str_format(f->in, "%s holds 0 to %llu", T_OF(f, t),
                      (unsigned long long)(UINT64_MAX >> (64 - bits)));
}

static diag *lossy_number(front *f, ast_expr *e, const type *to, const char *place)
{
    const type *from = e->type;
    const char *source = T_OF(f, from->unqualified), *target = T_OF(f, to->unqualified);
    char *cast = str_format(f->in, "(%s)", target);
    const_value v;
    diag *d;
    if (e->is_const && const_eval(f, e, &v) && !v.is_float) {
        d = diag_raise(f->diags, K2008, e->at, "the constant %s does not fit '%s'",
                       const_text(f, e, &v), target);
        diag_label(d, e->at, "%s%s", place, check_range_text(f, to));
        check_fix_around(f, d, e, "say that the changed value is meant", cast, "");
    } else if (type_is_float(from) && type_is_float(to)) {
        d = diag_raise(f->diags, K2006, e->at, "'f64' does not convert silently to 'f32'");
        diag_label(d, e->at, "%sdigits beyond the 24 bits of an f32 would be lost", place);
        unsigned count = 0;
        if (collect_f64_literals(f, e, d, &count, false) && count) {
            count = 0;
            collect_f64_literals(f, e, d, &count, true);
        } else {
            check_fix_around(f, d, e, "convert explicitly", cast, "");
        }
    } else if (type_is_float(from)) {
        d = diag_raise(f->diags, K2005, e->at, "'%s' does not convert silently to '%s'", source,
                       target);
        diag_label(d, e->at, "%sthe fraction would be cut off", place);
        check_fix_around(f, d, e, "convert explicitly", cast, "");
    } else if (type_is_float(to)) {
        d = diag_raise(f->diags, K2004, e->at, "'%s' does not convert silently to '%s'", source,
                       target);
        diag_label(d, e->at, "%sintegers above 2^%d would be rounded", place,
                   to->kind == TY_F32 ? 24 : 53);
        check_fix_around(f, d, e, "convert explicitly", cast, "");
    } else {
        d = diag_raise(f->diags, K2007, e->at, "'%s' does not convert silently to '%s'", source,
                       target);
        diag_label(d, e->at, "%s%s: other values would wrap", place, check_range_text(f, to));
        check_fix_around(f, d, e, "convert explicitly", cast, "");
    }
    return d;
}

void check_bits_fit(front *f, const ast_expr *e, const field *bits)
{
    const_value v;
    if (!e->is_const || !check_is_strict(f) || !const_eval(f, e, &v) || v.is_float ||
        bits->bits >= 64)
        return;
    bool is_signed = type_is_signed(bits->type);
    int64_t value = (int64_t)v.integer, top = (int64_t)1 << (bits->bits - is_signed);
    int64_t low = is_signed ? -top : 0;
    if (value >= low && value < top)
        return;
    diag *d = diag_raise(f->diags, K2008, e->at, "the constant %s does not fit %d bit%s",
                         const_text(f, e, &v), bits->bits, bits->bits == 1 ? "" : "s");
    diag_label(d, e->at, "'%s' holds %lld to %lld", bits->name, (long long)low,
               (long long)(top - 1));
    diag_label(d, bits->at, "declared here");
}

static void storage_message(front *f, ast_expr *e, const type *to, const char *place)
{
    diag *d;
    if (type_is_storage_float(e->type)) {
        d = diag_raise(f->diags, K2015, e->at, "'%s' does not convert silently to '%s'",
                       T_OF(f, e->type->unqualified), T_OF(f, to->unqualified));
        diag_label(d, e->at, "%s%s is a storage type: widen it with f32()", place,
                   T_OF(f, e->type->unqualified));
        if (type_is_float(to))
            check_fix_around(f, d, e, "widen it", "f32(", ")");
        else if (type_is_storage_float(to))
            check_fix_around(f, d, e, "go through f32",
                             str_format(f->in, "to_%s(f32(", T_OF(f, to->unqualified)), "))");
        return;
    }
    const char *name = T_OF(f, to->unqualified);
    d = diag_raise(f->diags, K2015, e->at, "'%s' does not convert silently to '%s'",
                   T_OF(f, e->type->unqualified), name);
    diag_label(d, e->at, "%s%s is a storage type: narrow with to_%s()", place, name, name);
    bool fits = e->type->kind == TY_F32 || check_fits(f, e, type_scalar(TY_F32));
    check_fix_around(f, d, e, "narrow it", str_format(f->in, "to_%s(%s", name, fits ? "" : "(f32)"),
                     ")");
}

// --- pointers

bool check_pointee_same(const type *a, const type *b)
{
    while (a->kind == TY_ARRAY && b->kind == TY_ARRAY) {
        if (a->len != b->len && !a->is_incomplete && !b->is_incomplete)
            return false;
        a = a->base;
        b = b->base;
    }
    return a->is_low == b->is_low && type_same(a->unqualified, b->unqualified, false);
}

// As above, and under C's rules integers of the same size that differ in sign: compilers of C take
// an unsigned char * for a char *.
bool check_pointee_fits(const front *f, const type *a, const type *b)
{
    return check_pointee_same(a, b) ||
           (f->lax_conversions && type_is_integer(a) && type_is_integer(b) && a->kind != TY_BOOL &&
            b->kind != TY_BOOL && type_def(a)->size == type_def(b)->size);
}

unsigned check_deep_quals(const type *t)
{
    unsigned quals = t->quals;
    while (t->kind == TY_ARRAY) {
        t = t->base;
        quals |= t->quals;
    }
    return quals & (QUAL_CONST | QUAL_VOLATILE);
}

static const type *natural(const type *t)
{
    while (t->kind == TY_ARRAY)
        t = t->base;
    return t->unqualified;
}

static ast_expr *packed_pointer(front *f, ast_expr *e, const type *source, const char *place)
{
    diag *d = diag_raise(f->diags, K2010, e->at, "this points into a packed struct");
    diag_label(d, e->at, "%s'%s' is aligned to %u here, elsewhere to %u", place,
               T_OF(f, natural(source)), type_align(source), type_align(natural(source)));
    diag_note(d, "a GPU reads through pointers only where the type is aligned: copy the member, or "
                 "pass a pointer to the struct");
    return check_poison(f, e);
}

static ast_expr *convert_pointer(front *f, ast_expr *e, const type *to, const char *place)
{
    const type *from = e->type;
    if (!is_pointer(from)) {
        const_value v;
        if (type_is_integer(from) && e->is_const && const_eval(f, e, &v) && v.integer == 0)
            return check_force(f, e, to);
        if (!type_is_integer(from)) {
            diag *d = diag_raise(f->diags, K2009, e->at, "'%s' does not convert to '%s'",
                                 T_OF(f, from), T_OF(f, to));
            diag_label(d, e->at, "%sthis is '%s'", place, T_OF(f, from));
            return check_poison(f, e);
        }
        diag *d = diag_raise(f->diags, K2012, e->at, "an integer is not a pointer");
        diag_label(d, e->at, "%sthis is '%s', wanted is '%s'", place, T_OF(f, from), T_OF(f, to));
        diag_note(d, "only the constant 0 becomes a pointer without a cast");
        return check_poison(f, e);
    }
    if (is_function_pointer(to) && !is_function_pointer(from) && check_is_null_pointer(f, e))
        return check_force(f, check_int(f, e->at, type_scalar(TY_I32), 0), to);
    if (check_map_cast(f, from, to, e->at) || check_mixes_functions(f, from, to, e->at))
        return check_poison(f, e);
    const type *source = from->base, *target = to->base;
    bool same = source->kind == TY_VOID || target->kind == TY_VOID || source->kind == TY_POISON ||
                target->kind == TY_POISON || check_pointee_fits(f, source, target);
    if (!same && source->is_low && !target->is_low &&
        check_pointee_same(natural(source), natural(target)))
        return packed_pointer(f, e, source, place);
    if (!same) {
        diag *d = diag_raise(f->diags, K2010, e->at, "'%s' is not '%s'", T_OF(f, from->unqualified),
                             T_OF(f, to->unqualified));
        diag_label(d, e->at, "%sthis points to '%s', wanted is a pointer to '%s'", place,
                   T_OF(f, source), T_OF(f, target));
        check_fix_around(f, d, e, "cast the pointer if the bytes are meant",
                         str_format(f->in, "(%s)", T_OF(f, to->unqualified)), "");
        return check_force(f, e, to);
    }
    unsigned lost = check_deep_quals(source) & ~check_deep_quals(target);
    if (lost) {
        diag *d = diag_raise(f->diags, K2011, e->at, "this conversion drops '%s'",
                             lost & QUAL_CONST ? "const" : "volatile");
        diag_label(d, e->at, "%sthis is '%s', wanted is '%s'", place, T_OF(f, from->unqualified),
                   T_OF(f, to->unqualified));
        diag_note(d, "make the target a pointer to %s too, or cast if writing is really meant",
                  lost & QUAL_CONST ? "const" : "volatile");
    }
    return check_force(f, e, to);
}

// --- the entry points

bool check_is_null(front *f, const ast_expr *e)
{
    const_value v;
    return type_is_integer(e->type) && e->is_const && const_eval(f, e, &v) && v.integer == 0;
}

ast_expr *check_convert(front *f, ast_expr *e, const type *to, const char *what)
{
    const type *from = e->type;
    if (from->kind == TY_POISON || to->kind == TY_POISON)
        return e;
    const char *place = what ? str_format(f->in, "%s: ", what) : "";
    if (to->kind == TY_VOID) {
        if (from->kind == TY_VOID)
            return e;
        diag *d = diag_raise(f->diags, K2402, e->at, "a void function returns no value");
        diag_label(d, e->at, "this is '%s'", T_OF(f, from));
        return check_poison(f, e);
    }
    if (from->kind == TY_VOID) {
        check_no_value(
            f, e, str_format(f->in, "%swanted is '%s', this gives nothing", place, T_OF(f, to)));
        return check_poison(f, e);
    }
    if (type_is_arith(from) && type_is_arith(to)) {
        if (to->kind != TY_BOOL && check_is_strict(f) && !check_keeps_values(from, to) &&
            !check_fits(f, e, to))
            lossy_number(f, e, to, place);
        return check_force(f, e, to);
    }
    if (is_pointer(to))
        return convert_pointer(f, e, to, place);
    if (is_pointer(from) && to->kind == TY_BOOL)
        return check_force(f, e, to);
    if (type_same(from, to, true))
        return e;
    if ((type_is_storage_float(from) && (type_is_arith(to) || type_is_storage_float(to))) ||
        (type_is_storage_float(to) && type_is_arith(from))) {
        storage_message(f, e, to, place);
        return check_poison(f, e);
    }
    if (is_pointer(from) && type_is_integer(to)) {
        diag *d = diag_raise(f->diags, K2012, e->at, "a pointer is not an integer");
        diag_label(d, e->at, "%sthis is '%s', wanted is '%s'", place, T_OF(f, from), T_OF(f, to));
        check_fix_around(f, d, e, "convert explicitly", str_format(f->in, "(%s)", T_OF(f, to)), "");
        return check_poison(f, e);
    }
    diag *d = diag_raise(f->diags, K2009, e->at, "'%s' does not convert to '%s'",
                         T_OF(f, from->unqualified), T_OF(f, to->unqualified));
    diag_label(d, e->at, "%sthis is '%s'", place, T_OF(f, from->unqualified));
    return check_poison(f, e);
}

static ast_expr *convert_operand(front *f, ast_expr *e, const type *to, const ast_expr *other)
{
    if (check_is_strict(f) && !check_keeps_values(e->type, to) && !check_fits(f, e, to)) {
        diag *d = lossy_number(f, e, to, "");
        diag_label(d, other->at, "because this is '%s'", T_OF(f, other->type->unqualified));
    }
    return check_force(f, e, to);
}

const type *check_usual(front *f, ast_expr **a, ast_expr **b)
{
    const type *t = check_usual_type((*a)->type, (*b)->type);
    ast_expr *x = *a, *y = *b;
    *a = convert_operand(f, x, t, y);
    *b = convert_operand(f, y, t, x);
    return t;
}

ast_expr *check_to_bool(front *f, ast_expr *e)
{
    if (is_poison(e))
        return e;
    if (!type_is_scalar(e->type)) {
        diag *d = diag_raise(f->diags, K2035, e->at, "'%s' cannot be a condition",
                             T_OF(f, e->type->unqualified));
        diag_label(d, e->at, "a condition is a number or a pointer");
        if (type_is_storage_float(e->type))
            check_fix_around(f, d, e, "widen it", "f32(", ")");
        return check_poison(f, e);
    }
    return check_force(f, e, type_scalar(TY_BOOL));
}

ast_expr *check_explicit_cast(front *f, ast_expr *e)
{
    const type *to = e->cast_type;
    if (to->kind == TY_VOID)
        check_discard(e->a);
    ast_expr *a = check_expr(f, e->a);
    if (to->kind == TY_VOID && a->type->kind == TY_TENSOR_MAP) // "(void)map;": there is no value
        a = check_int(f, a->at, type_scalar(TY_I32), 0);
    a = check_rvalue(f, a);
    if (is_poison(a) || to->kind == TY_POISON)
        return check_poison(f, e);
    const type *from = a->type;
    to = to->unqualified;
    e->is_lvalue = false;
    if (!check_is_null(f, a) && check_map_cast(f, from, to, e->at))
        return check_poison(f, e);
    if (is_function_pointer(to) && check_is_null_pointer(f, a))
        a = check_int(f, a->at, type_scalar(TY_I32), 0);
    else if (type_is_scalar(from) && type_is_scalar(to) && to->kind != TY_BOOL &&
             check_mixes_functions(f, from, to, e->at))
        return check_poison(f, e);
    from = a->type;
    bool possible = to->kind == TY_VOID || (type_is_scalar(from) && type_is_scalar(to));
    if (possible &&
        ((is_pointer(from) && type_is_float(to)) || (type_is_float(from) && is_pointer(to))))
        possible = false;
    if (!possible && type_same(from, to, true) && to->kind != TY_ARRAY) {
        a->is_parenthesised = e->is_parenthesised;
        return a; // a cast of a struct or storage float to its own type
    }
    if (!possible) {
        diag *d = diag_raise(f->diags, K2013, e->at, "'%s' cannot be cast to '%s'", T_OF(f, from),
                             T_OF(f, to));
        diag_label(d, a->at, "this is '%s'", T_OF(f, from));
        if (type_is_storage_float(from) && type_is_float(to))
            diag_fix(d, e->at, "widen it", to->kind == TY_F32 ? "f32(%.*s)" : "(f64)f32(%.*s)",
                     (int)source_text(f->sources, a->at).len, source_text(f->sources, a->at).at);
        else if (type_is_storage_float(to) && type_is_arith(from))
            diag_fix(d, e->at, "narrow it",
                     from->kind == TY_F32 ? "to_%s(%.*s)" : "to_%s((f32)(%.*s))", T_OF(f, to),
                     (int)source_text(f->sources, a->at).len, source_text(f->sources, a->at).at);
        return check_poison(f, e);
    }
    ast_expr *result =
        to->kind == TY_VOID ? check_wrap(f, a, CONVERT_NOOP, to) : check_force(f, a, to);
    bool is_literal = result->kind == E_INT || result->kind == E_FLOAT;
    if (result == a && !is_literal)
        result = check_wrap(f, a, CONVERT_NOOP, to);
    if (is_literal)
        result->type = to;
    result->at = e->at;
    result->cast_type = to;
    result->is_parenthesised = e->is_parenthesised;
    return result;
}
