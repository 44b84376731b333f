// printf: the format must be a literal; its conversions are matched with the arguments, which get
// C's default promotions. Labels point into the format where its spelling has no escapes.
// Start reading at check_printf.
#include "front/check.h"

typedef struct conversion {
    size_t lo, hi;    // offsets of "%…d" in the format
    size_t length_lo; // of the length letters
    char letter;
    unsigned long_count, half_count; // l, h
    bool has_other_length;           // z j t L
} conversion;

// Where bytes lo…hi of the format stand in the source, or the whole literal.
static span in_format(front *f, const ast_expr *format, size_t lo, size_t hi)
{
    str spelled = source_text(f->sources, format->at);
    bool plain = spelled.len == format->bytes.len + 2 && spelled.at[0] == '"' &&
                 !memcmp(spelled.at + 1, format->bytes.at, format->bytes.len);
    if (plain)
        return (span){format->at.lo + 1 + (uint32_t)lo, format->at.lo + 1 + (uint32_t)hi};
    // With escapes: still right when everything before hi is spelled as it is.
    if (spelled.len >= hi + 1 && spelled.at[0] == '"' &&
        !memcmp(spelled.at + 1, format->bytes.at, hi))
        return (span){format->at.lo + 1 + (uint32_t)lo, format->at.lo + 1 + (uint32_t)hi};
    return format->at;
}

static bool is_exact(const ast_expr *format, span s)
{
    return s.lo != format->at.lo || s.hi != format->at.hi;
}

static size_t read_conversion(str format, size_t at, conversion *c)
{
    *c = (conversion){.lo = at++};
    const char *s = format.at;
    while (at < format.len && strchr("-+ #0", s[at]) && s[at])
        at++;
    while (at < format.len && ((s[at] >= '0' && s[at] <= '9') || s[at] == '.'))
        at++;
    c->length_lo = at;
    for (; at < format.len && strchr("hlzjtL", s[at]) && s[at]; at++) {
        if (s[at] == 'l')
            c->long_count++;
        else if (s[at] == 'h')
            c->half_count++;
        else
            c->has_other_length = true;
    }
    if (at < format.len)
        c->letter = s[at++];
    c->hi = at;
    return at;
}

static const char *wanted_letter(const type *t)
{
    if (is_pointer(t))
        return "p";
    if (type_is_float(t))
        return "f";
    if (t->size == 8)
        return type_is_signed(t) ? "ld" : "lu";
    return type_is_signed(t) ? "d" : "u";
}

static bool type_matches(const conversion *c, const type *t)
{
    bool wide = c->long_count > 0 || c->has_other_length;
    switch (c->letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o': return type_is_integer(t) && (t->size == 8) == wide;
    case 'c': return type_is_integer(t) && t->size == 4 && !wide;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G': return type_is_float(t);
    case 'p': return is_pointer(t);
    }
    return false;
}

static const char *expected_text(const conversion *c)
{
    bool wide = c->long_count > 0 || c->has_other_length;
    switch (c->letter) {
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G': return "an f32 or f64";
    case 'p': return "a pointer";
    case 's': return "a string literal";
    case 'c': return "a character";
    }
    return wide ? "a 64-bit integer" : "an integer of at most 32 bits";
}

static ast_expr *check_printf_arg(front *f, const ast_expr *format, const conversion *c,
                                  ast_expr *arg)
{
    span place = in_format(f, format, c->lo, c->hi);
    if (is_poison(arg))
        return arg;
    if (c->letter == 's' && arg->kind == E_STRING)
        return arg;
    if (c->letter != 's' || arg->kind == E_STRING)
        arg = check_rvalue(f, arg);
    else if (arg->is_lvalue || arg->type->kind == TY_ARRAY)
        arg = check_rvalue(f, arg);
    if (is_poison(arg))
        return arg;
    if (type_is_integer(arg->type))
        arg = check_promote(f, arg);
    else if (arg->type->kind == TY_F32)
        arg = check_force(f, arg, type_scalar(TY_F64));
    if (c->letter != 's' && type_matches(c, arg->type))
        return arg;
    const type *shown = arg->type;
    if (arg->kind == E_CONVERT && arg->convert == CONVERT_FLOAT)
        shown = arg->a->type;
    diag *d = diag_raise(f->diags, K2047, arg->at, "'%%%c' prints %s, not '%s'", c->letter,
                         expected_text(c), T_OF(f, shown->unqualified));
    diag_label(d, arg->at, "this is '%s'", T_OF(f, shown->unqualified));
    if (is_exact(format, place))
        diag_label(d, place, "expects %s", expected_text(c));
    bool is_string = c->letter == 's' && shown->kind == TY_PTR && shown->base->size == 1;
    if (is_string)
        diag_note(d, "with #include <stdio.h> printf prints the string behind a pointer, too");
    else if (type_is_storage_float(shown))
        check_fix_around(f, d, arg, "widen it", "f32(", ")");
    else if (is_exact(format, place) && type_is_scalar(shown)) {
        const char *letters = wanted_letter(arg->type);
        bool hex = strchr("xXo", c->letter) && c->letter && type_is_integer(arg->type);
        span edit = in_format(f, format, c->length_lo, c->hi);
        if (hex)
            diag_fix(d, edit, "print what it is", "%s%c", arg->type->size == 8 ? "l" : "",
                     c->letter);
        else
            diag_fix(d, edit, "print what it is", "%s", letters);
    }
    return check_poison(f, arg);
}

static bool is_known(char letter)
{
    return letter && strchr("diuxXocfFeEgGps", letter);
}

// The builtin sends its arguments and a format that the compiler knows. What it does not know
// (another format, the text behind a pointer, a width that is an argument, %a), and what must give
// its length, the printf of <stdio.h> lays out on the device.
bool check_printf_is_text(const ast_expr *e)
{
    uint32_t next = 1;
    const ast_expr *format = e->args.len ? e->args.at[0] : NULL;
    if (!format || format->kind != E_STRING || !e->is_discarded)
        return format != NULL;
    str s = format->bytes;
    for (size_t i = 0; i < s.len;) {
        if (s.at[i] != '%' || (i + 1 < s.len && s.at[i + 1] == '%')) {
            i += s.at[i] == '%' ? 2 : 1;
            continue;
        }
        conversion c;
        i = read_conversion(s, i, &c);
        if (c.letter == '*' || c.letter == 'a' || c.letter == 'A')
            return true;
        if (c.letter == 's' && next < e->args.len && e->args.at[next]->kind != E_STRING)
            return true;
        next++;
    }
    return false;
}

static bool calls_same(const ast_expr *x, const ast_expr *y)
{
    return x->kind == E_CALL && y->kind == E_CALL && x->a->kind == E_NAME && y->a->kind == E_NAME &&
           x->a->name == y->a->name;
}

void check_discard(ast_expr *e)
{
    e->is_discarded = true;
    if (e->kind == E_COMMA)
        check_discard(e->b);
    if (e->kind == E_COND && calls_same(e->b, e->c)) // else the other side may be a number
        e->b->is_discarded = e->c->is_discarded = true;
}

void check_no_value(front *f, const ast_expr *e, const char *label)
{
    diag *d = diag_raise(f->diags, K2034, e->at, "this has no value");
    diag_label(d, e->at, "%s", label);
    if (e->kind == E_CALL && e->builtin && e->builtin->id == BI_printf)
        diag_note(d, "with '#include <stdio.h>' printf gives the number of its bytes, as in C");
}

ast_expr *check_printf(front *f, ast_expr *e)
{
    e->type = type_scalar(TY_VOID);
    e->is_checked = true;
    for (uint32_t i = 0; i < e->args.len; i++)
        e->args.at[i] = check_expr(f, e->args.at[i]);
    ast_expr *format = e->args.len ? e->args.at[0] : NULL;
    if (!format || format->kind != E_STRING) {
        if (format && is_poison(format))
            return check_poison(f, e);
        diag *d = diag_raise(f->diags, K2044, format ? format->at : e->at,
                             "printf needs a literal format");
        diag_label(d, format ? format->at : e->at,
                   "the device sends only the arguments: the text must be known when compiling");
        return check_poison(f, e);
    }
    uint32_t next = 1;
    bool is_bad = false;
    str s = format->bytes;
    for (size_t i = 0; i < s.len;) {
        if (s.at[i] != '%') {
            i++;
            continue;
        }
        if (i + 1 < s.len && s.at[i + 1] == '%') {
            i += 2;
            continue;
        }
        conversion c;
        i = read_conversion(s, i, &c);
        span place = in_format(f, format, c.lo, c.hi);
        if (!is_known(c.letter)) {
            diag *d = diag_raise(f->diags, K2045, place, "printf does not know '%.*s'",
                                 (int)(c.hi - c.lo), s.at + c.lo);
            diag_label(d, place, "known are d i u x X o c f F e E g G p s and %%%%");
            if (c.letter == '*')
                diag_note(d, "write the width into the format");
            return check_poison(f, e);
        }
        if (next >= e->args.len) {
            diag *d = diag_raise(f->diags, K2046, place, "printf has no argument for '%.*s'",
                                 (int)(c.hi - c.lo), s.at + c.lo);
            diag_label(d, place, "this is conversion %u, but there %s %u argument%s", next,
                       e->args.len == 2 ? "is" : "are", e->args.len - 1,
                       e->args.len == 2 ? "" : "s");
            return check_poison(f, e);
        }
        e->args.at[next] = check_printf_arg(f, format, &c, e->args.at[next]);
        is_bad |= is_poison(e->args.at[next]);
        next++;
    }
    if (next < e->args.len) {
        diag *d = diag_raise(f->diags, K2046, e->args.at[next]->at,
                             "printf has more arguments than conversions");
        diag_label(d, e->args.at[next]->at, "nothing in the format prints this");
        diag_label(d, format->at, "%u conversion%s here", next - 1, next == 2 ? "" : "s");
        return check_poison(f, e);
    }
    return is_bad ? check_poison(f, e) : e;
}
