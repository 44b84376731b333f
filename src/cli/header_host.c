// Host functions in the header that kiln build writes: their prototypes, a caller for each, and
// STEM_hosts, which registers them. The C compiler checks the types. Start at header_hosts.
#include "cli/header.h"
#include "rt/host/host.h"

static const char *const names[][2] = {
    {"i8", "int8_t"},   {"u8", "uint8_t"},   {"i16", "int16_t"}, {"u16", "uint16_t"},
    {"i32", "int32_t"}, {"u32", "uint32_t"}, {"i64", "int64_t"}, {"u64", "uint64_t"},
    {"f32", "float"},   {"f64", "double"}};

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Kiln's names of numbers as the host's.
static const char *host_spelling(arena *a, str spelled)
{
    text out = {.in = a};
    for (size_t i = 0, n; i < spelled.len; i += n) {
        for (n = 0; i + n < spelled.len && is_name(spelled.at[i + n]); n++) {
        }
        const char *found = NULL;
        for (size_t k = 0; n && k < COUNT(names); k++)
            if (str_same((str){spelled.at + i, n}, str_of(names[k][0])))
                found = names[k][1];
        if (found)
            text_puts(&out, found);
        else
            text_add(&out, spelled.at + i, n ? n : 1);
        n = n ? n : 1;
    }
    return out.at ? out.at : "";
}

// Where the parameter at `from` ends: "f32 (*)[3]" has brackets of its own.
static size_t end_of_param(str all, size_t from)
{
    uint32_t depth = 0;
    for (; from < all.len; from++) {
        char c = all.at[from];
        if (!depth && (c == ',' || c == ')'))
            break;
        depth += (c == '(') - (uint32_t)(c == ')');
    }
    return from;
}

// Parameter `index` of "i32 f(u32, f32 *)"; SIZE_MAX: the result.
static str part(const host_shape *s, size_t index)
{
    str all = s->signature;
    size_t open = 0;
    while (open < all.len && all.at[open] != '(')
        open++;
    if (index == SIZE_MAX)
        return (str){all.at, open - s->name.len - 1};
    size_t from = open + 1;
    for (; index; index--)
        from = end_of_param(all, from) + 2;
    return (str){all.at + from, end_of_param(all, from) - from};
}

static bool has_counted(const host_shape *s)
{
    for (uint32_t p = 0; p < s->param_count; p++)
        if (host_is_counted(s->params[p].kind))
            return true;
    return false;
}

// One call of the program's function. `n` is "" or "[n]": which of many.
static void emit_call(const header *h, text *t, const host_shape *s, const char *n)
{
    text_puts(t, "    ");
    if (s->result_size)
        text_printf(t,
                    *n ? "KILN_AS(%s *, call->result)%s = " : "*KILN_AS(%s *, call->result)%s = ",
                    host_spelling(h->in, part(s, SIZE_MAX)), n);
    text_printf(t, "%.*s(", (int)s->name.len, s->name.at);
    for (uint32_t p = 0; p < s->param_count; p++) {
        const char *own = host_spelling(h->in, part(s, p));
        bool is_value = s->params[p].kind == 'v';
        text_puts(t, p ? ", " : "");
        if (*n)
            text_printf(
                t, is_value ? "KILN_AS(%s *, call->args[%u])%s" : "KILN_AS(%s, call->args[%u]) + n",
                own, p, n);
        else
            text_printf(t,
                        is_value ? "*KILN_AS(%s *, call->args[%u])" : "KILN_AS(%s, call->args[%u])",
                        own, p);
    }
    text_puts(t, ");\n");
}

// A function without counted objects takes the calls of a whole warp.
static void emit_caller(const header *h, text *t, const host_shape *s)
{
    bool is_many = !has_counted(s);
    text_printf(t, "\n#ifdef __cplusplus\nextern \"C\"\n#endif\n%s;\n",
                host_spelling(h->in, s->signature));
    text_printf(t, "static inline void %s_host_%.*s(void *user, const kiln_host_call%s *call)\n{\n",
                h->prefix, (int)s->name.len, s->name.at, is_many ? "s" : "");
    text_puts(t, "    (void)user;\n    (void)call;\n");
    if (is_many)
        text_puts(t, "    for (uint32_t n = 0; n < call->count; n++)\n    ");
    emit_call(h, t, s, is_many ? "[n]" : "");
    text_puts(t, "}\n");
}

static void emit_row(const header *h, text *t, const host_shape *s)
{
    const char *caller = str_format(h->in, "%s_host_%.*s", h->prefix, (int)s->name.len, s->name.at);
    bool is_many = !has_counted(s);
    text_printf(t, "        {\"%.*s\", \"%.*s\", %s, NULL, NULL, false, %s},\n", (int)s->name.len,
                s->name.at, (int)s->signature.len, s->signature.at, is_many ? "NULL" : caller,
                is_many ? caller : "NULL");
}

static bool is_first(const kiln_module *m, uint32_t site)
{
    for (uint32_t n = 0; n < site; n++)
        if (m->sites[n].op == IR_HOST && str_same(m->sites[n].text, m->sites[site].text))
            return false;
    return m->sites[site].op == IR_HOST;
}

void header_hosts(const header *h, text *t)
{
    const kiln_module *m = h->module;
    text rows = {.in = h->in};
    host_shape shape;
    for (uint32_t n = 0; n < m->site_count; n++) {
        if (!is_first(m, n) || !host_read(m->sites[n].text, &shape) ||
            !strncmp(shape.name.at, "kiln_", 5)) // Kiln's own services
            continue;
        if (!rows.len)
            text_puts(t,
                      "\n// Functions that the kernels call: the program defines them. Types that "
                      "are not numbers are\n// declared before this file is included.\n"
                      "#include <kiln/hostcall.h>\n");
        emit_caller(h, t, &shape);
        emit_row(h, &rows, &shape);
    }
    if (!rows.len)
        return;
    text_printf(t,
                "\n// Provides them for the kernels that are launched on k.\n"
                "static inline kiln_status %s_hosts(kiln *k)\n{\n"
                "    static const kiln_host_desc rows[] = {\n%s    };\n"
                "    kiln_status status = KILN_OK;\n"
                "    for (size_t i = 0; !status && i < sizeof rows / sizeof *rows; i++)\n"
                "        status = kiln_host_register(k, &rows[i]);\n    return status;\n}\n",
                h->prefix, rows.at);
    text_printf(t,
                "\n#ifdef KILN_HOST_LIBRARY // the same for kiln run --host\n"
                "KILN_API extern const kiln_host_desc kiln_host_functions[];\n"
                "const kiln_host_desc kiln_host_functions[] = {\n%s"
                "        {NULL, NULL, NULL, NULL, NULL, false, NULL}};\n#endif\n",
                rows.at);
}
