// kiln build: a kernel file in, a C header out, with the source embedded and one typed launcher per
// kernel. The source stays source so that it is compiled for the very device it meets; #include "…"
// files are copied in.
#include <ctype.h>
#include <stdlib.h>

#include "back/back.h"
#include "base/bug.h"
#include "base/file.h"
#include "cli/header.h"
#include "compile.h"
#include "dev/device.h"

typedef struct flat { // the source with its own includes copied in
    arena *in;
    text out;
    const char *once[256];
    int once_count, depth;
    const char *const *folders;
} flat;

static bool is_ir(const char *path)
{
    size_t len = strlen(path);
    return len > 3 && !strcmp(path + len - 3, ".ir");
}

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

static void on_stage(void *user, const char *name, front *f, ir_module *m)
{
    (void)m;
    if (f && !strcmp(name, "ast"))
        header_types_add(user, f);
}

static compile_options options_of(const char *path, const cli_compile *c, const target *for_target)
{
    return (compile_options){
        .path = path,
        .front = {.defines = c->defines,
                  .includes = c->includes,
                  .tunes = c->tunes,
                  .target = for_target,
                  .allow_file_includes = true},
        .is_ir = is_ir(path),
        .level = c->optimise < 0 ? 0 : 2,
        .no_remarks = true,
        .checks_bounds = c->check_bounds,
    };
}

// The file once more, only for the types of its parameters.
static void find_types(const char *path, const cli_compile *c, header_types *types)
{
    compile_options options = options_of(path, c, c->target ? device_target(c->target) : NULL);
    options.level = 0;
    options.stage = on_stage;
    options.user = types;
    compile_outcome outcome = compile_run(&options);
    compile_outcome_free(&outcome);
}

static bool native_text(const char *path, const char *prefix, const cli_compile *c, text *t)
{
    text_puts(t, "// Made by kiln build " KILN_VERSION ": the kernels of ");
    header_string(t, prefix);
    text_printf(t,
                " for the cpu device. Compile it with optimisation (-O2) for the processors\n"
                "// it shall run on (-march=...), and link it with the program.\n"
                "#define kiln_cpu_table %s_cpu\n"
                "#ifdef __FAST_MATH__\n#    error \"-ffast-math changes results: compile this file "
                "without it\"\n#endif\n"
                "#ifdef __clang__\n#    pragma STDC FP_CONTRACT OFF\n#else\n#    pragma GCC "
                "optimize(\"fp-contract=off\")\n#endif\n",
                prefix);
    compile_options options = options_of(path, c, device_target("cpu"));
    options.backend = options.front.target->backend;
    compile_outcome outcome = compile_run(&options);
    text_add(t, outcome.emitted.at, outcome.emitted.len);
    bool ok = !outcome.status;
    if (!ok)
        fputs(outcome.log ? outcome.log : "", stderr);
    compile_outcome_free(&outcome);
    return ok;
}

// --- files

// Only what an earlier kiln build has made is replaced: not the kernels, not what they include, not
// the user's program.
static bool may_write(const char *path, arena *a)
{
    str old;
    const char *reason;
    if (!strcmp(path, "-") || !file_exists(path) ||
        !file_read(a, path, (size_t)1 << 30, &old, &reason))
        return true; // where it cannot be read, writing it reports the error
    if (!old.len || str_starts(old, "// Made by kiln build "))
        return true;
    fprintf(stderr,
            "kiln build: %s exists, and kiln build has not made it: it stays as it is\n"
            "hint: choose another name, or remove it\n",
            path);
    return false;
}

static bool write_text(const char *path, const text *t)
{
    const char *reason = "";
    if (!strcmp(path, "-"))
        return fwrite(t->at, 1, t->len, stdout) == t->len;
    if (file_write(t->in, path, t->at, t->len, &reason))
        return true;
    fprintf(stderr, "kiln build: cannot write %s: %s\n", path, reason);
    return false;
}

// The start of the header's names, from the file's: letters, digits and _, no digit first.
static const char *stem_of(const char *path, arena *a)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char *stem = str_dup(a, (str){base, strcspn(base, ".")});
    for (char *p = stem; *p; p++)
        if (!isalnum((unsigned char)*p) || (unsigned char)*p > 127)
            *p = '_';
    if (!isalpha((unsigned char)*stem) || !strncmp(stem, "kiln", 4))
        return str_format(a, "k%s%s", *stem == '_' || *stem == 'k' ? "_" : "", stem);
    return stem;
}

typedef struct build {
    const char *path, *out, *prefix; // prefix: NULL when none was given
    bool has_native;
    cli_compile compile;
} build;

static int no_kernels(const build *b)
{
    fprintf(stderr, "kiln build: %s has no kernel\n", b->path);
    fputs(CLI_NO_KERNEL, stderr);
    return EXIT_KERNEL;
}

static int make_files(const build *b, const kiln_module *m, arena *a)
{
    str source;
    flat f = {.in = a, .out = {.in = a}, .folders = b->compile.includes};
    if (!read_text(a, b->path, &source) || !flatten(&f, b->path, source)) {
        fprintf(stderr, "kiln build: %s: its includes nest too deeply or cannot be read\n",
                b->path);
        return EXIT_WORLD;
    }
    if (!kiln_module_kernel_count(m))
        return no_kernels(b);
    const char *prefix = b->prefix ? b->prefix : stem_of(b->path, a);
    header_types types = {.in = a, .prefix = prefix, .structs = {.in = a}, .buffers = {.in = a}};
    find_types(b->path, &b->compile, &types);
    header h = {.in = a,
                .path = b->path,
                .prefix = prefix,
                .is_prefix_given = b->prefix != NULL,
                .source = {f.out.at, f.out.len},
                .compile = &b->compile,
                .is_ir = is_ir(b->path),
                .has_native = b->has_native,
                .module = m,
                .types = &types};
    const text *made = header_text(&h);
    if (!made)
        return EXIT_USAGE;
    text embedded = {.in = a};
    const char *slash = strrchr(b->out, '/');
    const char *folder = slash ? str_dup(a, (str){b->out, (size_t)(slash - b->out) + 1}) : "";
    const char *native_path = str_format(a, "%s%s_cpu.c", folder, prefix);
    if (b->has_native && !native_text(b->path, prefix, &b->compile, &embedded))
        return EXIT_KERNEL;
    if (!may_write(b->out, a) || (b->has_native && !may_write(native_path, a)))
        return EXIT_USAGE;
    bool is_written =
        (!b->has_native || write_text(native_path, &embedded)) && write_text(b->out, made);
    return is_written ? 0 : EXIT_WORLD;
}

static int compile_and_make(const build *b, arena *a)
{
    kiln *k;
    kiln_status st = kiln_open("interp", &k);
    if (st)
        return cli_fail(NULL, st);
    kiln_compile_desc desc;
    cli_compile_desc(&b->compile, b->path, &desc);
    kiln_module *m = NULL;
    st = kiln_compile(k, &desc, &m);
    int failed = st ? cli_fail(k, st) : 0;
    if (!failed) {
        fputs(kiln_module_log(m), stderr);
        failed = make_files(b, m, a);
    }
    kiln_module_free(m);
    kiln_close(k);
    return failed;
}

// Out of memory in an arena comes back here.
static int build_guarded(const build *b)
{
    arena *a = arena_new();
    if (!a)
        return EXIT_WORLD;
    bug_frame frame;
    volatile int result = EXIT_WORLD;
    if (bug_enter(&frame)) {
        fprintf(stderr, "kiln build: %s\n", frame.text);
    } else {
        result = compile_and_make(b, a);
        bug_leave(&frame);
    }
    arena_free(a);
    return result;
}

static bool is_prefix(const char *word)
{
    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return false;
    return isalpha((unsigned char)*word) && strncmp(word, "kiln", 4) != 0;
}

int cli_build(int argc, char **argv)
{
    build b = {0};
    cli_args args = CLI_ARGS("build", argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        int taken = cli_compile_option(&b.compile, &args, option);
        if (taken < 0)
            return EXIT_USAGE;
        if (taken)
            continue;
        switch (option) {
        case OPT_output: b.out = args.value; break;
        case OPT_embed: b.has_native = true; break;
        case OPT_prefix:
            if (!is_prefix(args.value))
                return cli_usage("build", "--prefix takes the start of a C name, not '%s'",
                                 args.value);
            b.prefix = args.value;
            break;
        case CLI_WORD:
            if (b.path)
                return cli_usage("build", "'%s' is one word too many", args.value);
            b.path = args.value;
            break;
        default: return EXIT_USAGE;
        }
    }
    if (!b.path || !b.out || !*b.out)
        return cli_usage("build", b.path ? "where to? give -o FILE.h" : "which file?");
    int failed = build_guarded(&b);
    if (!failed && b.compile.report)
        failed = cli_report(&b.compile, b.path, NULL, 0);
    return failed;
}
