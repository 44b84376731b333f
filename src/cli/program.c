// kiln run --main: a C program on a device. A text is made that includes the program's file and has
// one kernel of one thread, which calls main with the arguments and ends with its result.
// Start at run_wrap_main.
#include <ctype.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/run.h"

static const char *skip_space(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

// Whether `word` stands in the text as a whole word, before the character `next` (0: any).
static bool has_word(const char *source, const char *word, char next)
{
    size_t len = strlen(word);
    for (const char *at = source; (at = strstr(at, word)); at += len) {
        bool is_whole = !is_word_char(at[len]) && (at == source || !is_word_char(at[-1]));
        if (is_whole && (!next || *skip_space(at + len) == next))
            return true;
    }
    return false;
}

// The forms of main that programs have: Kiln looks only at the choice that fits.
static const char *const forms[] = {
    "int (*)(void): main()",
    "int (*)(int): main(__k_count)",
    "int (*)(int, char **): main(__k_count, __k_args)",
    "int (*)(int, const char **): main(__k_count, (const char **)__k_args)",
    "int (*)(int, char *const *): main(__k_count, (char *const *)__k_args)",
    "int (*)(int, const char *const *): main(__k_count, (const char *const *)__k_args)",
    "int (*)(int, char **, char **): main(__k_count, __k_args, __k_args + __k_count)",
    "void (*)(void): (main(), 0)",
    "void (*)(int, char **): (main(__k_count, __k_args), 0)",
    "default: main(__k_count, __k_args)",
};

// Octal, so that nothing in the text means anything.
static void put_literal(text *out, const char *s)
{
    text_putc(out, '"');
    for (; *s; s++)
        text_printf(out, "\\%03o", (unsigned)(unsigned char)*s);
    text_putc(out, '"');
}

// A name for the kernel that the program does not use; faults name it.
static const char *kernel_name(const char *source)
{
    static const char *const names[] = {"program", "main_program"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (!has_word(source, names[n], 0))
            return names[n];
    return "__k_program";
}

static void put_kernel(text *out, const run *r, const char *source)
{
    const char *slash = strrchr(r->path, '/');
    size_t count = r->program_arg_count + 1;
    text_printf(out,
                "#pragma kiln conversions(c)\n#pragma kiln variables(thread)\n"
                "#pragma kiln words(c)\n#include \"%s\"\n#undef exit\n#undef block\n",
                slash ? slash + 1 : r->path);
    text_puts(out, "#include <stdlib.h>\n\n#include <kiln/kernel.h>\n\n");
    text_printf(out, "kernel block(1) void %s(void)\n{\n", kernel_name(source));
    text_printf(out, "    const int __k_count = %zu;\n    char *__k_args[%zu];\n", count,
                count + 1);
    for (size_t n = 0; n < count; n++) { // a program may change them
        text_printf(out, "    char __k_arg%zu[] = ", n);
        put_literal(out, n ? r->program_args[n - 1] : r->path);
        text_printf(out, ";\n    __k_args[%zu] = __k_arg%zu;\n", n, n);
    }
    text_printf(out, "    __k_args[%zu] = NULL;\n    __builtin_exit(_Generic(&main", count);
    for (size_t n = 0; n < sizeof forms / sizeof *forms; n++)
        text_printf(out, ",\n        %s", forms[n]);
    text_puts(out, "));\n}\n");
}

// A program of several files may be one that includes them: the compiler then says what is missing.
static bool may_have_main(const char *source)
{
    return has_word(source, "main", '(') || has_word(source, "include", '"');
}

bool run_has_main(const run *r)
{
    arena *scratch = arena_new();
    str contents = {0};
    const char *why;
    bool has = scratch && file_read(scratch, r->path, 16 << 20, &contents, &why) &&
               has_word(str_dup(scratch, contents), "main", '(');
    arena_free(scratch);
    return has;
}

int run_wrap_main(run *r)
{
    arena *scratch = arena_new();
    str contents = {0};
    const char *why = "there is no memory";
    if (!strcmp(r->path, "-")) {
        arena_free(scratch);
        return cli_usage(r->verb, "--main needs a file: standard input is the program's");
    }
    if (!scratch || !file_read(scratch, r->path, 16 << 20, &contents, &why)) {
        fprintf(stderr, "kiln %s: cannot read '%s': %s\n", r->verb, r->path, why);
        arena_free(scratch);
        return EXIT_WORLD;
    }
    const char *source = str_dup(scratch, contents);
    if (!may_have_main(source)) {
        arena_free(scratch);
        return cli_usage(r->verb, "--main: '%s' has no function 'int main(…)'", r->path);
    }
    text out = {.in = scratch};
    put_kernel(&out, r, source);
    r->launches[0].kernel_name = kernel_name(source); // the file may have kernels, too
    r->source = strdup(out.at);
    r->source_len = out.len;
    r->program_path = malloc(strlen(r->path) + sizeof ".main");
    if (r->program_path) {
        strcpy(r->program_path, r->path);
        strcat(r->program_path, ".main");
        r->path = r->program_path;
    }
    arena_free(scratch);
    if (!r->source || !r->program_path)
        return EXIT_WORLD;
    run_launch *l = &r->launches[0];
    l->has_grid = true;
    l->grid[0] = l->grid[1] = l->grid[2] = 1;
    return 0;
}
