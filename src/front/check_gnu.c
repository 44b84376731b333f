// GNU's __builtin_ functions. Those with rules of their own about types and constants are checked
// here; others become the function that does the same: one of lib/gnu.h, a builtin of Kiln, or one
// of C's library whose header is included. Macros of pp_predef.c have the rest.
// Start reading at check_gnu_call.
#include "front/check.h"
#include "front/parse.h"

static const char prefix[] = "__builtin_";

static ast_expr *wrong_count(front *f, ast_expr *e, uint32_t wanted)
{
    diag *d = diag_raise(f->diags, K2027, e->at, "'%s' takes %u argument%s, not %u", e->a->name,
                         wanted, wanted == 1 ? "" : "s", e->args.len);
    diag_label(d, e->a->at, "called here");
    return check_poison(f, e);
}

// 1 for what is known when compiling.
static ast_expr *constant_p(front *f, ast_expr *e)
{
    const_value v;
    if (e->args.len != 1)
        return wrong_count(f, e, 1);
    f->unevaluated++;
    ast_expr *of = check_rvalue(f, check_expr(f, e->args.at[0]));
    f->unevaluated--;
    if (is_poison(of))
        return check_poison(f, e);
    bool is_text = of->kind == E_CONVERT && of->convert == CONVERT_DECAY && of->a->kind == E_STRING;
    bool is_known = is_text || (of->is_const && const_eval(f, of, &v));
    return check_int(f, e->at, type_scalar(TY_I32), is_known);
}

static ast_expr *choose_expr(front *f, ast_expr *e)
{
    int64_t which = 0;
    if (e->args.len != 3)
        return wrong_count(f, e, 3);
    if (!check_const_int(f, e->args.at[0], &which, "the condition of __builtin_choose_expr"))
        return check_poison(f, e);
    return check_expr(f, e->args.at[which ? 1 : 2]);
}

static ast_expr *cast_to(front *f, ast_expr *e, const type *t)
{
    ast_expr *cast = arena_new_of(f->in, ast_expr);
    cast->kind = E_CAST;
    cast->at = e->at;
    cast->a = e;
    cast->cast_type = t;
    cast->height = (uint16_t)(e->height + 1);
    return check_expr(f, cast);
}

// Nothing is fetched; what its arguments do is done.
static ast_expr *prefetch(front *f, ast_expr *e)
{
    if (!e->args.len || e->args.len > 3)
        return wrong_count(f, e, e->args.len ? 3 : 1);
    ast_expr *all = NULL;
    for (uint32_t i = 0; i < e->args.len; i++) {
        ast_expr *arg = cast_to(f, e->args.at[i], type_scalar(TY_VOID));
        if (is_poison(arg))
            return check_poison(f, e);
        if (!check_has_effects(arg))
            continue;
        if (all) {
            ast_expr *both = check_new(f, E_COMMA, e->at, type_scalar(TY_VOID));
            both->a = all;
            both->b = arg;
            arg = both;
        }
        all = arg;
    }
    ast_expr *zero = check_int(f, e->at, type_scalar(TY_I32), 0);
    return all ? all : cast_to(f, zero, type_scalar(TY_VOID));
}

// --- bits

static unsigned count_bits(uint64_t x)
{
    unsigned count = 0;
    for (; x; x &= x - 1)
        count++;
    return count;
}

static uint64_t reversed_bytes(uint64_t x, unsigned bits)
{
    uint64_t out = 0;
    for (unsigned i = 0; i < bits; i += 8)
        out = out << 8 | (x >> i & 0xff);
    return out;
}

// What lib/gnu.h computes of a constant with so many bits; false: `name` is another function.
static bool fold_bits(const char *name, uint64_t x, unsigned bits, uint64_t *out)
{
    static const char *const names[] = {"popcount", "parity", "clz", "ctz", "ffs", "clrsb"};
    uint64_t all = UINT64_MAX >> (64 - bits), top = UINT64_C(1) << (bits - 1);
    x &= all;
    if (!strncmp(name, "bswap", 5)) {
        *out = reversed_bytes(x, bits);
        return true;
    }
    unsigned below = count_bits(~x & (x - 1) & all); // zeros below the lowest one
    unsigned above = 0;
    for (uint64_t sought = x & top ? ~x & all : x; above < bits && !(sought & top >> above);)
        above++; // copies of the highest bit
    uint64_t values[] = {count_bits(x), count_bits(x) & 1, x & top ? 0 : above,
                         below,         x ? below + 1 : 0, above - 1};
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t len = strlen(names[i]);
        if (!strncmp(name, names[i], len) && (!name[len] || name[len] == 'l')) {
            *out = values[i];
            return true;
        }
    }
    return false;
}

// A function of lib/gnu.h: its numbers convert as C has it, whatever `conversions` says. Bits of a
// constant are a constant.
static ast_expr *check_library(front *f, ast_expr *e, const char *name, const ast_decl *decl)
{
    const_value v;
    uint64_t bits;
    if (e->args.len != decl->type->params.len)
        return wrong_count(f, e, decl->type->params.len);
    for (uint32_t i = 0; i < e->args.len; i++) {
        const type *t = decl->type->params.at[i];
        const char *what = str_format(f->in, "argument %u of '%s'", i + 1, e->a->name);
        ast_expr *arg = check_rvalue(f, check_expr(f, e->args.at[i]));
        bool is_number = !is_poison(arg) && type_is_arith(t) && type_is_arith(arg->type);
        e->args.at[i] = is_number ? cast_to(f, arg, t) : check_convert(f, arg, t, what);
        if (is_poison(e->args.at[i]))
            return check_poison(f, e);
    }
    if (e->args.len != 1)
        return NULL;
    const ast_expr *arg = e->args.at[0];
    if (!type_is_integer(arg->type) || !arg->is_const || !const_eval(f, arg, &v) ||
        !fold_bits(name, v.integer, check_bits(arg->type), &bits))
        return NULL;
    return check_int(f, e->at, decl->type->base->unqualified, bits);
}

// --- add, sub and mul with overflow

typedef struct overflow {
    const char *lib;      // k_gnu_add_to
    const type *fixed;    // of a name with types: __builtin_saddl_overflow
    bool is_only_the_bit; // …_overflow_p: the third argument is of the type, and gets nothing
} overflow;

static bool skip_text(const char **at, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(*at, word, len) != 0)
        return false;
    *at += len;
    return true;
}

// [s|u](add|sub|mul)[l|ll]_overflow[_p]
static bool read_overflow(front *f, const char *name, overflow *out)
{
    static const char *const operations[] = {"add", "sub", "mul"};
    bool is_signed = false, is_unsigned = false, is_known = false;
    for (size_t i = 0; i < COUNT(operations) && !is_known; i++) {
        const char *at = name;
        is_known = skip_text(&at, operations[i]);
        is_signed = !is_known && (at = name, skip_text(&at, "s")) && skip_text(&at, operations[i]);
        is_unsigned = !is_known && !is_signed && (at = name, skip_text(&at, "u")) &&
                      skip_text(&at, operations[i]);
        if (!is_known && !is_signed && !is_unsigned)
            continue;
        bool has_type = !is_known, is_long = has_type && skip_text(&at, "l");
        if (is_long)
            skip_text(&at, "l");
        if (!skip_text(&at, "_overflow"))
            return false;
        out->lib = str_format(f->in, "k_gnu_%s_to", operations[i]);
        out->is_only_the_bit = !has_type && skip_text(&at, "_p");
        if (has_type)
            out->fixed =
                type_scalar(is_signed ? (is_long ? TY_I64 : TY_I32) : (is_long ? TY_U64 : TY_U32));
        return !*at;
    }
    return false;
}

static bool is_integer_type(const type *t)
{
    return type_is_integer(t) && t->kind != TY_BOOL;
}

static ast_expr *flag(front *f, span at, bool value)
{
    return check_int(f, at, type_scalar(TY_I32), value);
}

static ast_expr *wrong_types(front *f, ast_expr *e, const overflow *o)
{
    diag *d = diag_raise(f->diags, K2028, e->at, "'%s' takes two integers and %s", e->a->name,
                         o->is_only_the_bit ? "a third one of the result's type"
                                            : "a pointer to an integer");
    for (uint32_t i = 0; i < 3; i++)
        diag_label(d, e->args.at[i]->at, "'%s'", T_OF(f, e->args.at[i]->type));
    return check_poison(f, e);
}

// The call of the library's function: both numbers with 64 bits, and what is known of all three.
static ast_expr *check_overflow(front *f, ast_expr *e, const overflow *o)
{
    if (e->args.len != 3)
        return wrong_count(f, e, 3);
    const field *narrow = NULL; // the result has its bits
    for (uint32_t i = 0; i < 3; i++) {
        ast_expr *arg = check_expr(f, e->args.at[i]);
        if (i == 2 && o->is_only_the_bit && !is_poison(arg))
            narrow = check_bits_field(arg);
        arg = check_rvalue(f, arg);
        const type *wanted = i < 2 ? o->fixed : o->fixed ? type_pointer(f->in, o->fixed) : NULL;
        const char *what = str_format(f->in, "argument %u of '%s'", i + 1, e->a->name);
        e->args.at[i] = wanted ? check_convert(f, arg, wanted, what) : arg;
        if (is_poison(e->args.at[i]))
            return check_poison(f, e);
    }
    ast_expr *a = e->args.at[0], *b = e->args.at[1], *to = e->args.at[2];
    bool is_pointer_there = is_pointer(to->type) && !(to->type->base->quals & QUAL_CONST);
    const type *result = narrow               ? narrow->type
                         : o->is_only_the_bit ? to->type
                         : is_pointer_there   ? to->type->base
                                              : NULL;
    bool is_fine = type_is_integer(a->type) && type_is_integer(b->type) && result &&
                   is_integer_type(result->unqualified);
    if (!is_fine)
        return wrong_types(f, e, o);
    ast_decl *decl = parse_library_func(f, "gnu.h", name_cstr(f->names, o->lib));
    if (!decl)
        bug("lib/gnu.h has no function %s", o->lib);
    if (o->is_only_the_bit)
        to = check_int(f, to->at, type_scalar(TY_I32), 0);
    ast_expr *args[] = {
        cast_to(f, a, type_scalar(TY_U64)),
        flag(f, a->at, type_is_signed(a->type)),
        cast_to(f, b, type_scalar(TY_U64)),
        flag(f, b->at, type_is_signed(b->type)),
        check_int(f, e->at, type_scalar(TY_U32),
                  narrow ? (uint64_t)narrow->bits : check_bits(result->unqualified)),
        flag(f, e->at, type_is_signed(result->unqualified)),
        cast_to(f, to, type_pointer(f->in, type_scalar(TY_VOID)))};
    e->args.len = 0;
    for (size_t i = 0; i < COUNT(args); i++)
        vec_push(f->in, &e->args, args[i]);
    e->a->decl = decl;
    return NULL;
}

// --- names

// A function of C's library that a header of ours has brought.
static ast_decl *find_library(front *f, const char *name)
{
    ast_decl *d = find_header_name(f, name_cstr(f->names, name));
    if (!d)
        d = scope_find(f->file_scope, name_cstr(f->names, name));
    if (!d || d->kind != DECL_FUNC)
        return NULL;
    const source_file *file = source_file_at(f->sources, d->at.lo);
    return file && file->is_builtin ? d : NULL;
}

ast_expr *check_gnu_call(front *f, ast_expr *e)
{
    ast_expr *callee = e->a;
    if (strncmp(callee->name, prefix, sizeof prefix - 1) != 0)
        return NULL;
    const char *name = callee->name + sizeof prefix - 1;
    overflow o = {0};
    if (!strcmp(name, "constant_p"))
        return constant_p(f, e);
    if (!strcmp(name, "choose_expr"))
        return choose_expr(f, e);
    if (!strcmp(name, "prefetch"))
        return prefetch(f, e);
    if (read_overflow(f, name, &o))
        return check_overflow(f, e, &o);
    const type *fixed;
    const char *of_lib = str_format(f->in, "k_gnu_%s", name);
    callee->decl = parse_library_func(f, "gnu.h", name_cstr(f->names, of_lib));
    if (callee->decl)
        return check_library(f, e, name, callee->decl);
    callee->decl = find_library(f, name);
    if (!callee->decl && builtin_find(name, &fixed))
        callee->name = name_cstr(f->names, name);
    return NULL;
}
