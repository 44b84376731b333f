// Host functions: what their signatures may hold, and the text (ir/host.h) that says how they are
// called. Start reading at check_host_decl.
#include "front/check.h"
#include "ir/host.h"

typedef struct host_maker {
    front *f;
    ast_decl *decl;
    text out;
    uint32_t in, given; // scalars that go, that come
    uint64_t in_bytes, given_bytes;
} host_maker;

// The type has been reported: nothing is said again.
static const char reported[] = "";

// Appends " type@offset" for every scalar of `t`; NULL, or why it cannot travel.
static const char *add_scalars(host_maker *m, const type *t, uint64_t offset, uint32_t *count)
{
    const type *def = type_def(t);
    const char *why = NULL;
    if (t->kind == TY_POISON)
        return reported;
    if (is_pointer(t))
        return "an address means nothing on the other side";
    if (t->kind == TY_UNION || t->kind == TY_FUNC || t->kind == TY_TENSOR_MAP)
        return "only numbers, vectors, structs of them and arrays in structs travel";
    if (t->kind == TY_STRUCT) {
        for (uint32_t i = 0; i < def->fields.len && !why; i++) {
            const field *f = &def->fields.at[i];
            why = f->bits ? "bit-fields do not travel"
                  : type_align(f->type) > def->align
                      ? "packed structs do not travel"
                      : add_scalars(m, f->type, offset + f->offset, count);
        }
        return why;
    }
    if (t->kind == TY_ARRAY) {
        for (uint64_t i = 0; i < t->len && !why; i++)
            why = add_scalars(m, t->base, offset + i * type_size(t->base), count);
        return why;
    }
    if (*count >= HOST_SCALARS)
        return "it has too many numbers: point to them, with counted(n)";
    ir_type scalar = t->kind == TY_BOOL ? IR_I8 : type_ir(t);
    text_printf(&m->out, "%s%s@%llu", *count && m->out.at[m->out.len - 1] != '[' ? " " : "",
                ir_type_name(scalar), (unsigned long long)offset);
    ++*count;
    return NULL;
}

static const char *add_object(host_maker *m, char kind, const type *t)
{
    if (type_is_record(t) && !t->name && !type_def(t)->synonym)
        return "it has no name that the program could write";
    if (type_is_incomplete(t) || !type_size(t))
        return "its size is not known here";
    if (type_align(t) > 16 || type_size(t) > HOST_BYTES)
        return "it is larger than 128 bytes: point to it, with counted(n)";
    uint32_t scalars = 0;
    text_printf(&m->out, "%c%llu.%u[", kind, (unsigned long long)type_size(t), type_align(t));
    const char *why = add_scalars(m, t, 0, &scalars);
    text_putc(&m->out, ']');
    bool is_result = kind == 'r';
    m->in += is_result ? 0 : scalars;
    m->in_bytes += is_result ? 0 : type_size(t);
    m->given += is_result || kind == 'o' ? scalars : 0;
    m->given_bytes += is_result || kind == 'o' ? type_size(t) : 0;
    return why;
}

static void wrong_type(host_maker *m, span at, const type *t, const char *role, const char *why)
{
    if (why == reported)
        return;
    diag *d = diag_raise(m->f->diags, K2309, at, "'%s' cannot be %s of a host function",
                         T_OF(m->f, t), role);
    diag_label(d, at, "%s", why);
}

static const ast_decl *find_param(const ast_decl *d, const char *name, uint32_t *at)
{
    for (*at = 0; *at < d->params.len; ++*at)
        if (d->params.at[*at]->name == name)
            return d->params.at[*at];
    return NULL;
}

static const char *add_counted(host_maker *m, const ast_decl *p)
{
    const type *to = is_pointer(p->type) ? p->type->base : NULL;
    uint32_t number = 0;
    const ast_decl *by = find_param(m->decl, p->counted_by, &number);
    if (!to)
        return "counted(n) stands before a pointer";
    if (!by || !type_is_integer(by->type))
        return "counted(n) names an integer parameter of this function";
    bool is_void = to->kind == TY_VOID;
    if (!is_void && (type_is_incomplete(to) || !type_size(to) || type_align(to) > 16 ||
                     type_size(to) > INT16_MAX))
        return "the size of what it points to is not known or too large";
    text_printf(&m->out, "%c%llu.%u%c%u", to->quals & QUAL_CONST ? 'c' : 'm',
                (unsigned long long)(is_void ? 1 : type_size(to)), is_void ? 1 : type_align(to),
                type_is_signed(by->type) ? '#' : '+', number);
    m->in += 2;
    m->in_bytes += 16;
    return NULL;
}

static bool add_param(host_maker *m, const ast_decl *p)
{
    const type *t = p->type;
    const char *why;
    if (t->kind == TY_POISON || (is_pointer(t) && t->base->kind == TY_POISON))
        return false;
    if (p->counted_by)
        why = add_counted(m, p);
    else if (is_pointer(t) && t->base->kind == TY_VOID)
        why = "how much it points to is not said: counted(n) says so";
    else if (is_pointer(t))
        why = add_object(m, t->base->quals & QUAL_CONST ? 'i' : 'o', t->base);
    else
        why = add_object(m, 'v', t);
    if (why)
        wrong_type(m, p->at, t, "a parameter", why);
    return !why;
}

static const char *signature(const host_maker *m)
{
    const ast_decl *d = m->decl;
    text out = {.in = m->f->in};
    text_printf(&out, "%s %s(", T_OF(m->f, d->type->base), d->name);
    for (uint32_t i = 0; i < d->params.len; i++)
        text_printf(&out, "%s%s", i ? ", " : "", T_OF(m->f, d->params.at[i]->type->unqualified));
    text_printf(&out, "%s)", d->params.len ? "" : "void");
    return out.at;
}

static bool is_too_much(host_maker *m)
{
    const ast_decl *d = m->decl;
    if (m->in <= HOST_SCALARS && m->given <= HOST_SCALARS && m->in_bytes <= HOST_BYTES &&
        m->given_bytes <= HOST_BYTES && d->params.len <= HOST_PARAMS)
        return false;
    diag *e = diag_raise(m->f->diags, K2309, d->at,
                         "the host function '%s' takes or gives too much", d->name);
    diag_label(e, d->at, "at most %d parameters, %d numbers and %d bytes travel each way",
               HOST_PARAMS, HOST_SCALARS, HOST_BYTES);
    diag_note(e, "point to the rest, with counted(n)");
    return true;
}

static bool is_bad_post(host_maker *m)
{
    const ast_decl *d = m->decl;
    bool gives = d->type->base->kind != TY_VOID;
    for (uint32_t i = 0; i < d->params.len; i++) {
        const type *t = d->params.at[i]->type;
        gives |= is_pointer(t) && !(t->base->quals & QUAL_CONST);
    }
    if (!d->is_no_wait || !gives)
        return false;
    diag *e =
        diag_raise(m->f->diags, K1115, d->host_at, "'%s' is marked no_wait, but answers", d->name);
    diag_label(e, d->at, "returns a value, or writes through a pointer");
    diag_note(e, "nobody waits for the answer: return void, and take 'const' pointers");
    return true;
}

static bool make_text(host_maker *m)
{
    ast_decl *d = m->decl;
    const type *result = d->type->base;
    bool is_fine = !is_bad_post(m);
    m->out.in = m->f->in;
    text_printf(&m->out, "%s %s %s (", d->name, d->is_per_warp ? "warp" : "lane",
                d->is_no_wait ? "post" : "wait");
    for (uint32_t i = 0; i < d->params.len; i++) {
        text_puts(&m->out, i ? " " : "");
        is_fine &= add_param(m, d->params.at[i]);
    }
    text_puts(&m->out, ") ");
    if (result->kind == TY_VOID) {
        text_putc(&m->out, '-');
    } else {
        size_t at = m->out.len;
        const char *why = add_object(m, 'r', result);
        m->out.at[at] = 'v';
        if (why)
            wrong_type(m, d->at, result, "the result", why);
        is_fine &= !why;
    }
    text_printf(&m->out, " : %s", signature(m));
    return is_fine && !is_too_much(m);
}

bool check_host_decl(front *f, ast_decl *d)
{
    if (d->state)
        return d->state == 2;
    d->state = 1; // wrong, until it is known to be right
    host_maker m = {.f = f, .decl = d};
    if (d->type->is_variadic || d->type->has_no_prototype) {
        diag *e =
            diag_raise(f->diags, K2309, d->at, "the parameters of '%s' are not said", d->name);
        diag_label(e, d->at, "a host function lists the types of all its parameters");
        return false;
    }
    if (d->type->base->kind == TY_POISON || !make_text(&m))
        return false;
    d->host_text = (str){m.out.at, m.out.len};
    host_shape shape;
    if (!host_read(d->host_text, &shape))
        bug("the text of host function %s cannot be read: %s", d->name, m.out.at);
    d->state = 2;
    return true;
}
