// kiln build: a kernel file in, a C header out, with the source embedded and one typed launcher per
// kernel. The source stays source so that it is compiled for the very device it meets; #include "…"
// files are copied in.
#include <ctype.h>
#include <stdlib.h>

#include "back/back.h"
#include "base/bug.h"
#include "base/str.h"
#include "cli/cli.h"
#include "compile.h"

typedef struct flat { // the source with its own includes copied in
    arena *in;
    text out;
    const char *once[256];
    int once_count, depth;
    const char *const *folders;
} flat;

static const char *folder_of(arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? str_dup(a, (str){path, (size_t)(slash - path)}) : ".";
}

static bool read_text(arena *a, const char *path, str *out)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    text t = {.in = a};
    char chunk[4096];
    size_t got;
    text_puts(&t, "");
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0)
        text_add(&t, chunk, got);
    bool ok = !ferror(file);
    fclose(file);
    *out = (str){t.at, t.len};
    return ok;
}

static bool flatten(flat *f, const char *path, str source);

// True when the line was `#include "x"` of a file that exists: its text was added.
static bool flatten_include(flat *f, const char *path, str line)
{
    size_t i = 0;
    while (i < line.len && isspace((unsigned char)line.at[i]))
        i++;
    if (i >= line.len || line.at[i++] != '#')
        return false;
    while (i < line.len && isspace((unsigned char)line.at[i]))
        i++;
    if (!str_starts((str){line.at + i, line.len - i}, "include"))
        return false;
    i += 7;
    while (i < line.len && isspace((unsigned char)line.at[i]))
        i++;
    if (i >= line.len || line.at[i++] != '"')
        return false;
    const char *end = memchr(line.at + i, '"', line.len - i);
    if (!end)
        return false;
    const char *name = str_dup(f->in, (str){line.at + i, (size_t)(end - line.at) - i});
    str source;
    const char *full = str_format(f->in, "%s/%s", folder_of(f->in, path), name);
    bool found = read_text(f->in, full, &source);
    for (const char *const *folder = f->folders; !found && *folder; folder++) {
        full = str_format(f->in, "%s/%s", *folder, name);
        found = read_text(f->in, full, &source);
    }
    return found && flatten(f, full, source);
}

static bool flatten(flat *f, const char *path, str source)
{
    for (int i = 0; i < f->once_count; i++)
        if (!strcmp(f->once[i], path))
            return true;
    if (f->depth >= 64)
        return false;
    f->depth++;
    size_t at = 0;
    while (at < source.len) {
        const char *newline = memchr(source.at + at, '\n', source.len - at);
        size_t len = newline ? (size_t)(newline - source.at) - at : source.len - at;
        str line = {source.at + at, len};
        at += len + 1;
        if (f->depth > 1 && str_starts(line, "#pragma once")) {
            if (f->once_count < (int)COUNT(f->once))
                f->once[f->once_count++] = path;
            text_puts(&f->out, "\n");
        } else if (!flatten_include(f, path, line)) {
            text_add(&f->out, line.at, line.len);
            text_puts(&f->out, "\n");
        }
    }
    f->depth--;
    return true;
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

static void emit_params(text *t, const kiln_kernel *kernel)
{
    for (size_t i = 0; i < kiln_kernel_param_count(kernel); i++) {
        kiln_param_info p;
        kiln_kernel_param(kernel, i, &p);
        text_puts(t, ",\n    ");
        if (p.kind == KILN_PARAM_SCALAR)
            text_printf(t, "%s %s", host_type(p.type), p.name);
        else if (p.kind == KILN_PARAM_STRUCT)
            text_printf(t, "const void *%s /* %s, %zu bytes */", p.name, p.c_type, p.size);
        else if (p.type == KILN_VOID)
            text_printf(t, "kiln_bytes %s /* %s */", p.name, p.c_type);
        else
            text_printf(t, "kiln_%ss %s%s", kiln_type_name(p.type), p.name,
                        p.is_const ? " /* in */" : "");
    }
}

static void emit_args(text *t, const kiln_kernel *kernel)
{
    size_t count = kiln_kernel_param_count(kernel);
    text_printf(t, "    kiln_arg args[%zu];\n", count ? count : 1);
    for (size_t i = 0; i < count; i++) {
        kiln_param_info p;
        kiln_kernel_param(kernel, i, &p);
        if (p.kind == KILN_PARAM_POINTER)
            text_printf(t, "    args[%zu] = kiln_arg_buffer(%s.buffer);\n", i, p.name);
        else if (p.kind == KILN_PARAM_STRUCT)
            text_printf(t, "    args[%zu] = kiln_arg_struct(%s, %zu);\n", i, p.name, p.size);
        else
            text_printf(t, "    args[%zu] = kiln_arg_bits(%s, &%s, sizeof %s);\n", i,
                        type_constant(p.type), p.name, p.name);
    }
}

static void emit_launcher(text *t, const char *stem, const kiln_kernel *kernel)
{
    const char *name = kiln_kernel_name(kernel);
    size_t count = kiln_kernel_param_count(kernel);
    text_printf(t,
                "\nstatic inline kiln_status launch_%s(const %s_kernels *kernels, kiln_grid grid",
                name, stem);
    emit_params(t, kernel);
    text_puts(t, ")\n{\n");
    emit_args(t, kernel);
    text_printf(t, "    return kiln_launch_grid(kernels->%s, grid, args, %zu);\n}\n", name, count);
}

static void emit_bytes(text *t, const char *stem, str source)
{
    text_printf(t, "static const char %s_source[] = {", stem);
    for (size_t i = 0; i < source.len; i++)
        text_printf(t, "%s%d,", i % 24 ? "" : "\n    ", (signed char)source.at[i]);
    text_puts(t, "\n    0};\n\n");
}

static void emit_header(text *t, const char *path, const char *stem, const kiln_module *m,
                        str source, const cli_compile *c, bool has_native)
{
    char guard[128];
    snprintf(guard, sizeof guard, "%s_KILN_H", stem);
    for (char *p = guard; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    text_printf(
        t, "// Made by kiln build %s from %s. Do not edit: change the kernels and build again.\n",
        KILN_VERSION, base);
    text_printf(t, "#ifndef %s\n#define %s\n\n#include <string.h>\n\n#include <kiln/kiln.h>\n\n",
                guard, guard);
    emit_bytes(t, stem, source);
    if (has_native)
        text_printf(t,
                    "extern const struct kiln_native %s_cpu[]; // in %s_cpu.c: compile it and link "
                    "it too\n\n",
                    stem, stem);
    size_t count = kiln_module_kernel_count(m);
    text_printf(t, "typedef struct %s_kernels {\n    kiln_module *module;\n", stem);
    for (size_t i = 0; i < count; i++) {
        kiln_kernel *kernel;
        if (!kiln_module_kernel_at(m, i, &kernel))
            text_printf(t, "    kiln_kernel *%s;\n", kiln_kernel_name(kernel));
    }
    text_printf(t, "} %s_kernels;\n\n", stem);
    text_printf(t, "// Compiles the kernels for k's device. Free with %s_unload.\n", stem);
    text_printf(t, "static inline kiln_status %s_load(kiln *k, %s_kernels *out)\n{\n", stem, stem);
    text_puts(t, "    kiln_compile_desc desc;\n    kiln_status status;\n");
    text_puts(t, "    static const char *const defines[] = {");
    for (int i = 0; i < c->define_count; i++)
        text_printf(t, "\"%s\", ", c->defines[i]);
    text_puts(t, "NULL};\n    static const char *const tunes[] = {");
    for (int i = 0; i < c->tune_count; i++)
        text_printf(t, "\"%s\", ", c->tunes[i]);
    text_puts(t, "NULL};\n    memset(&desc, 0, sizeof desc);\n    memset(out, 0, sizeof *out);\n");
    text_printf(
        t,
        "    desc.path = \"%s\";\n    desc.source = %s_source;\n    desc.define = defines;\n"
        "    desc.tune = tunes;\n",
        base, stem);
    if (has_native)
        text_printf(t, "    desc.native = %s_cpu;\n", stem);
    text_puts(t, "    status = kiln_compile(k, &desc, &out->module);\n");
    for (size_t i = 0; i < count; i++) {
        kiln_kernel *kernel;
        if (!kiln_module_kernel_at(m, i, &kernel))
            text_printf(t,
                        "    if (!status)\n        status = kiln_module_kernel(out->module, "
                        "\"%s\", &out->%s);\n",
                        kiln_kernel_name(kernel), kiln_kernel_name(kernel));
    }
    text_printf(t,
                "    return status;\n}\n\nstatic inline void %s_unload(%s_kernels *kernels)\n{\n",
                stem, stem);
    text_puts(
        t, "    kiln_module_free(kernels->module);\n    memset(kernels, 0, sizeof *kernels);\n}\n");
    for (size_t i = 0; i < count; i++) {
        kiln_kernel *kernel;
        if (!kiln_module_kernel_at(m, i, &kernel))
            emit_launcher(t, stem, kernel);
    }
    text_puts(t, "\n#endif\n");
}

// --- machine code for the cpu device, made by whoever compiles this text
typedef struct native {
    arena *in;
    text *out;
} native;

static void on_native(void *user, ir_module *m, const front *f)
{
    (void)f;
    native *n = user;
    cpu_emit(m, NULL, n->in, n->out);
}

static bool write_text(const char *path, const text *t)
{
    FILE *file = !strcmp(path, "-") ? stdout : fopen(path, "wb");
    bool ok = file && fwrite(t->at, 1, t->len, file) == t->len;
    if (file && file != stdout)
        ok = !fclose(file) && ok;
    if (!ok)
        fprintf(stderr, "kiln build: cannot write %s\n", path);
    return ok;
}

static bool write_native(const char *path, const char *out, const char *stem, const cli_compile *c,
                         arena *a)
{
    text t = {.in = a};
    text_printf(&t,
                "// Made by kiln build %s: the kernels of %s for the cpu device. Compile it with "
                "optimisation (-O2) for the processors\n"
                "// it shall run on (-march=...), and link it with the program.\n"
                "#define kiln_cpu_table %s_cpu\n"
                "#ifdef __FAST_MATH__\n#    error \"-ffast-math changes results: compile this file "
                "without it\"\n#endif\n"
                "#ifdef __clang__\n#    pragma STDC FP_CONTRACT OFF\n#else\n#    pragma GCC "
                "optimize(\"fp-contract=off\")\n#endif\n",
                KILN_VERSION, stem, stem);
    native n = {.in = a, .out = &t};
    compile_options options = {
        .path = path,
        .front = {.defines = c->defines,
                  .includes = c->includes,
                  .tunes = c->tunes,
                  .target = "cpu",
                  .allow_file_includes = true},
        .level = c->optimise < 0 ? 0 : 2,
        .no_remarks = true,
        .result = on_native,
        .user = &n,
    };
    compile_outcome outcome = compile_run(&options);
    bool ok = !outcome.status;
    if (!ok)
        fputs(outcome.log ? outcome.log : "", stderr);
    compile_outcome_free(&outcome);
    const char *slash = strrchr(out, '/');
    const char *folder = slash ? str_dup(a, (str){out, (size_t)(slash - out) + 1}) : "";
    return ok && write_text(str_format(a, "%s%s_cpu.c", folder, stem), &t);
}

static int build(const char *path, const char *out, const cli_compile *c, bool has_native, arena *a)
{
    kiln *k;
    kiln_status st = kiln_open("interp", &k);
    if (st)
        return cli_fail(NULL, st);
    kiln_compile_desc desc;
    cli_compile_desc(c, path, &desc);
    kiln_module *m = NULL;
    st = kiln_compile(k, &desc, &m);
    int failed = st ? cli_fail(k, st) : 0;
    if (!failed) {
        fputs(kiln_module_log(m), stderr);
        str source;
        flat f = {.in = a, .out = {.in = a}, .folders = c->includes};
        text header = {.in = a};
        const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
        char *stem = str_dup(a, (str){base, strcspn(base, ".")});
        for (char *p = stem; *p; p++)
            if (!isalnum((unsigned char)*p))
                *p = '_';
        if (!read_text(a, path, &source) || !flatten(&f, path, source)) {
            fprintf(stderr, "kiln build: %s: its includes nest too deeply or cannot be read\n",
                    path);
            failed = EXIT_WORLD;
        } else {
            emit_header(&header, path, stem, m, (str){f.out.at, f.out.len}, c, has_native);
            if (!write_text(out, &header) || (has_native && !write_native(path, out, stem, c, a)))
                failed = EXIT_WORLD;
        }
    }
    kiln_module_free(m);
    kiln_close(k);
    return failed;
}

// Out of memory in an arena comes back here.
static int build_guarded(const char *path, const char *out, const cli_compile *c, bool has_native)
{
    arena *a = arena_new();
    if (!a)
        return EXIT_WORLD;
    bug_frame frame;
    volatile int result = EXIT_WORLD;
    if (bug_enter(&frame)) {
        fprintf(stderr, "kiln build: %s\n", frame.text);
    } else {
        result = build(path, out, c, has_native, a);
        bug_leave(&frame);
    }
    arena_free(a);
    return result;
}

int cli_build(int argc, char **argv)
{
    cli_compile c = {0};
    cli_args args = CLI_ARGS("build", argc, argv);
    const char *path = NULL, *out = NULL;
    bool has_native = false;
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        int taken = cli_compile_option(&c, &args, option);
        if (taken < 0)
            return EXIT_USAGE;
        if (taken)
            continue;
        switch (option) {
        case OPT_output: out = args.value; break;
        case OPT_embed: has_native = true; break;
        case CLI_WORD:
            if (path)
                return cli_usage("build", "'%s' is one word too many", args.value);
            path = args.value;
            break;
        default: return EXIT_USAGE;
        }
    }
    if (!path || !out)
        return cli_usage("build", path ? "where to? give -o FILE.h" : "which file?");
    int failed = build_guarded(path, out, &c, has_native);
    return !failed && c.report ? cli_report(&c, path) : failed;
}
