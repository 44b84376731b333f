// The text of the header that kiln build writes: the source of the kernels as bytes, STEM_load and
// STEM_unload, and a launcher for each kernel. Names of the user's stand beside names of ours here,
// in C and in C++: header_safe_name keeps them apart.
#include "cli/header.h"

#include <ctype.h>

// Keywords of C and C++, words that headers of the system define, and what a launcher uses.
static const char *const reserved[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "compl",
    "concept",
    "const",
    "constexpr",
    "const_cast",
    "consteval",
    "constinit",
    "continue",
    "co_await",
    "co_return",
    "co_yield",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "i386",
    "if",
    "inline",
    "int",
    "linux",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "noreturn",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "NULL",
    "EOF",
    "memset",
};

static bool is_free(const char *name, const char *const *taken, size_t count)
{
    size_t len = strlen(name);
    if (!strncmp(name, "kiln", 4) || !strncmp(name, "KILN", 4) || name[0] == '_' ||
        (len > 2 && !strcmp(name + len - 2, "_t")))
        return false;
    for (size_t i = 0; i < COUNT(reserved); i++)
        if (!strcmp(reserved[i], name))
            return false;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(taken[i], name))
            return false;
    return true;
}

const char *header_safe_name(arena *a, const char *name, const char *const *taken, size_t count)
{
    if (*name == '_' || !strncmp(name, "kiln", 4) || !strncmp(name, "KILN", 4))
        name = str_format(a, "its_%s", name);
    while (!is_free(name, taken, count))
        name = str_format(a, "%s_", name);
    return name;
}

void header_string(text *to, const char *bytes)
{
    text_putc(to, '"');
    for (; *bytes; bytes++) {
        unsigned char c = (unsigned char)*bytes;
        if (c < ' ' || c > '~')
            text_printf(to, "\\%03o", c);
        else if (strchr("\"\\?", c)) // ?: of a trigraph
            text_printf(to, "\\%c", c);
        else
            text_putc(to, (char)c);
    }
    text_putc(to, '"');
}

static const char *host_type(kiln_type t)
{
    switch (t) {
    case KILN_BOOL: return "bool";
    case KILN_I8: return "int8_t";
    case KILN_U8:
    case KILN_F8E4:
    case KILN_F8E5: return "uint8_t";
    case KILN_I16: return "int16_t";
    case KILN_U16:
    case KILN_F16:
    case KILN_BF16: return "uint16_t";
    case KILN_I32: return "int32_t";
    case KILN_U32: return "uint32_t";
    case KILN_I64: return "int64_t";
    case KILN_U64: return "uint64_t";
    case KILN_F32: return "float";
    case KILN_F64: return "double";
    case KILN_VOID: break;
    }
    return "void";
}

static const char *type_constant(kiln_type t)
{
    static const char *const names[] = {"KILN_VOID", "KILN_BOOL", "KILN_I8",  "KILN_U8",
                                        "KILN_I16",  "KILN_U16",  "KILN_I32", "KILN_U32",
                                        "KILN_I64",  "KILN_U64",  "KILN_F16", "KILN_BF16",
                                        "KILN_F8E4", "KILN_F8E5", "KILN_F32", "KILN_F64"};
    return names[t];
}

// --- launchers

typedef vec(const char *) name_list;

// The C type of a parameter; *note is a comment behind it, or "".
static const char *param_type(const header *h, const kiln_param_info *p, const char *kernel,
                              size_t index, const char **note)
{
    const header_param *known = header_types_find(h->types, kernel, index);
    *note = "";
    if (p->kind == KILN_PARAM_SCALAR)
        return str_format(h->in, "%s ", host_type(p->type));
    if (p->kind == KILN_PARAM_TENSOR_MAP)
        return "const kiln_tensor_map *";
    if (p->kind == KILN_PARAM_STRUCT) {
        if (!known)
            *note = str_format(h->in, " /* %zu bytes */", p->size);
        return known ? str_format(h->in, "const %s *", known->type) : "const void *";
    }
    if (p->is_const)
        *note = " /* in */";
    if (known && known->buffer)
        return str_format(h->in, "%s ", known->buffer);
    if (p->type == KILN_VOID)
        return "kiln_bytes ";
    return str_format(h->in, "kiln_%ss ", kiln_type_name(p->type));
}

static void emit_launcher(const header *h, text *t, const kiln_kernel *kernel, const char *member)
{
    const char *name = kiln_kernel_name(kernel), *note;
    size_t count = kiln_kernel_param_count(kernel);
    name_list names = {0};
    vec(const char *) taken = {0}; // a parameter must not hide the type of another
    for (uint32_t i = 0; i < h->types->taken.len; i++)
        vec_push(h->in, &taken, h->types->taken.at[i]);
    if (h->is_prefix_given)
        text_printf(t, "\nstatic inline kiln_status %s_launch_%s", h->prefix, name);
    else
        text_printf(t, "\nstatic inline kiln_status launch_%s", name);
    text_printf(t, "(const %s_kernels *kiln_of, kiln_grid kiln_how", h->prefix);
    for (size_t i = 0; i < count; i++) {
        kiln_param_info p;
        kiln_kernel_param(kernel, i, &p);
        const char *own = header_safe_name(h->in, p.name, taken.at, taken.len);
        vec_push(h->in, &taken, own);
        vec_push(h->in, &names, own);
        const char *c_type = param_type(h, &p, name, i, &note);
        text_printf(t, ",\n    %s%s%s", c_type, own, note);
    }
    text_printf(t, ")\n{\n    kiln_arg kiln_args[%zu];\n", count ? count : 1);
    for (size_t i = 0; i < count; i++) {
        kiln_param_info p;
        kiln_kernel_param(kernel, i, &p);
        const char *own = names.at[i];
        if (p.kind == KILN_PARAM_POINTER)
            text_printf(t, "    kiln_args[%zu] = kiln_arg_buffer(%s.buffer);\n", i, own);
        else if (p.kind == KILN_PARAM_STRUCT || p.kind == KILN_PARAM_TENSOR_MAP)
            text_printf(t, "    kiln_args[%zu] = kiln_arg_struct(%s, %zu);\n", i, own, p.size);
        else
            text_printf(t, "    kiln_args[%zu] = kiln_arg_bits(%s, &%s, sizeof %s);\n", i,
                        type_constant(p.type), own, own);
    }
    text_printf(t, "    return kiln_launch_grid(kiln_of->%s, kiln_how, kiln_args, %zu);\n}\n",
                member, count);
}

// --- the rest of the header

// Bytes above 127 as characters: whether char has a sign is the host's business.
static void emit_source(const header *h, text *t)
{
    text_printf(t, "static const char %s_source[] = {", h->prefix);
    for (size_t i = 0; i < h->source.len; i++) {
        unsigned char c = (unsigned char)h->source.at[i];
        text_printf(t, c < 128 ? "%s%d," : "%s'\\x%02x',", i % 24 ? "" : "\n    ", c);
    }
    text_puts(t, "\n    0};\n\n");
}

static void emit_strings(text *t, const char *name, const char *const *strings, int count)
{
    text_printf(t, "    static const char *const %s[] = {", name);
    for (int i = 0; i < count; i++) {
        header_string(t, strings[i]);
        text_puts(t, ", ");
    }
    text_puts(t, "NULL};\n");
}

static void emit_load(const header *h, text *t, const char *base, const name_list *members)
{
    const cli_compile *c = h->compile;
    text_printf(t, "// Compiles the kernels for k's device. Free with %s_unload.\n", h->prefix);
    text_printf(t, "static inline kiln_status %s_load(kiln *k, %s_kernels *out)\n{\n", h->prefix,
                h->prefix);
    text_puts(t, "    kiln_compile_desc desc;\n    kiln_status status;\n");
    emit_strings(t, "defines", c->defines, c->define_count);
    emit_strings(t, "tunes", c->tunes, c->tune_count);
    text_puts(t, "    memset(&desc, 0, sizeof desc);\n    memset(out, 0, sizeof *out);\n"
                 "    desc.path = ");
    header_string(t, base);
    text_printf(t,
                ";\n    desc.source = %s_source;\n    desc.define = defines;\n"
                "    desc.tune = tunes;\n",
                h->prefix);
    if (c->target) {
        text_puts(t, "    desc.target = ");
        header_string(t, c->target);
        text_puts(t, ";\n");
    }
    if (c->optimise)
        text_printf(t, "    desc.optimise = %d;\n", c->optimise);
    if (c->check_bounds)
        text_puts(t, "    desc.check_bounds = true;\n");
    if (c->werror)
        text_puts(t, "    desc.warnings_are_errors = true;\n");
    if (h->is_ir)
        text_puts(t, "    desc.is_ir = true;\n");
    if (h->has_native)
        text_printf(t, "    desc.native = %s_cpu;\n", h->prefix);
    text_puts(t, "    status = kiln_compile(k, &desc, &out->module);\n");
    for (uint32_t i = 0; i < members->len; i++) {
        kiln_kernel *kernel;
        if (!kiln_module_kernel_at(h->module, i, &kernel))
            text_printf(t,
                        "    if (!status)\n        status = kiln_module_kernel(out->module, "
                        "\"%s\", &out->%s);\n",
                        kiln_kernel_name(kernel), members->at[i]);
    }
    text_printf(t,
                "    return status;\n}\n\nstatic inline void %s_unload(%s_kernels *kernels)\n{\n"
                "    kiln_module_free(kernels->module);\n"
                "    memset(kernels, 0, sizeof *kernels);\n}\n",
                h->prefix, h->prefix);
}

static void emit_structs(const header *h, text *t, const char *guard)
{
    if (!h->types->structs.len)
        return;
    text_printf(t,
                "// The structs of the kernels. To use your own, define %s_OWN_TYPES and these "
                "names before this file is included.\n#ifndef %s_OWN_TYPES\n",
                guard, guard);
    text_add(t, h->types->structs.at, h->types->structs.len);
    text_puts(t, "#endif\n");
    text_add(t, h->types->buffers.at, h->types->buffers.len);
    text_puts(t, "\n");
}

// A file called launch.c with a kernel called load would define launch_load twice.
static bool has_collision(const header *h)
{
    static const char *const own[] = {"kernels", "source", "load", "unload", "cpu"};
    kiln_kernel *kernel;
    if (h->is_prefix_given || strcmp(h->prefix, "launch") != 0)
        return false;
    for (size_t i = 0; !kiln_module_kernel_at(h->module, i, &kernel); i++)
        for (size_t n = 0; n < COUNT(own); n++)
            if (!strcmp(kiln_kernel_name(kernel), own[n])) {
                fprintf(stderr,
                        "kiln build: launch_%s would be the launcher of a kernel and the file's "
                        "own\nhint: give another start of names: --prefix NAME\n",
                        own[n]);
                return true;
            }
    return false;
}

const text *header_text(header *h)
{
    text *t = arena_new_of(h->in, text);
    t->in = h->in;
    if (has_collision(h))
        return NULL;
    char *guard = str_format(h->in, "%s_KILN", h->prefix);
    for (char *p = guard; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    const char *base = strrchr(h->path, '/') ? strrchr(h->path, '/') + 1 : h->path;
    text_printf(t, "// Made by kiln build %s from ", KILN_VERSION);
    header_string(t, base);
    text_puts(t, ". Do not edit: change the kernels and build again.\n");
    text_printf(t,
                "#ifndef %s_H\n#define %s_H\n\n#include <string.h>\n\n#include <kiln/kiln.h>\n\n",
                guard, guard);
    emit_source(h, t);
    emit_structs(h, t, guard);
    if (h->has_native)
        text_printf(t,
                    "extern const struct kiln_native %s_cpu[]; // in %s_cpu.c: compile it and link "
                    "it too\n\n",
                    h->prefix, h->prefix);
    name_list members = {0};
    vec_push(h->in, &members, "module");
    text_printf(t, "typedef struct %s_kernels {\n    kiln_module *module;\n", h->prefix);
    kiln_kernel *kernel;
    for (size_t i = 0; !kiln_module_kernel_at(h->module, i, &kernel); i++) {
        const char *member =
            header_safe_name(h->in, kiln_kernel_name(kernel), members.at, members.len);
        vec_push(h->in, &members, member);
        text_printf(t, "    kiln_kernel *%s;\n", member);
    }
    text_printf(t, "} %s_kernels;\n\n", h->prefix);
    members.at++;
    members.len--;
    emit_load(h, t, base, &members);
    for (uint32_t i = 0; i < members.len; i++)
        if (!kiln_module_kernel_at(h->module, i, &kernel))
            emit_launcher(h, t, kernel, members.at[i]);
    header_hosts(h, t);
    text_puts(t, "\n#endif\n");
    return t;
}
