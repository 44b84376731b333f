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

// What follows `int main(`, or NULL.
static const char *find_main(const char *source)
{
    for (const char *at = source; (at = strstr(at, "int")); at += 3) {
        if (at > source && (isalnum((unsigned char)at[-1]) || at[-1] == '_'))
            continue;
        const char *name = skip_space(at + 3);
        if (name == at + 3 || strncmp(name, "main", 4) != 0)
            continue;
        const char *open = skip_space(name + 4);
        if (*open == '(')
            return skip_space(open + 1);
    }
    return NULL;
}

static bool has_arguments(const char *list)
{
    bool is_void = !strncmp(list, "void", 4) && *skip_space(list + 4) == ')';
    return *list != ')' && !is_void;
}

// Octal, so that nothing in the text means anything.
static void put_literal(text *out, const char *s)
{
    text_putc(out, '"');
    for (; *s; s++)
        text_printf(out, "\\%03o", (unsigned)(unsigned char)*s);
    text_putc(out, '"');
}

static void put_kernel(text *out, const run *r, bool with_arguments)
{
    const char *slash = strrchr(r->path, '/');
    size_t count = r->program_arg_count + 1;
    text_printf(out,
                "#pragma kiln conversions(c)\n#pragma kiln variables(thread)\n#include \"%s\"\n",
                slash ? slash + 1 : r->path);
    text_puts(out, "#include <stdlib.h>\n\n#include <kiln/kernel.h>\n\n");
    text_puts(out, "kernel block(1) void program(void)\n{\n");
    for (size_t n = 0; n < count && with_arguments; n++) {
        text_printf(out, "    static const char text%zu[] = ", n);
        put_literal(out, n ? r->program_args[n - 1] : r->path);
        text_puts(out, ";\n");
    }
    if (with_arguments)
        text_printf(out, "    char *arguments[%zu];\n    arguments[%zu] = NULL;\n", count + 1,
                    count);
    for (size_t n = 0; n < count && with_arguments; n++)
        text_printf(out, "    arguments[%zu] = (char *)text%zu;\n", n, n);
    if (with_arguments)
        text_printf(out, "    exit(main(%zu, arguments));\n}\n", count);
    else
        text_puts(out, "    exit(main());\n}\n");
}

bool run_has_main(const run *r)
{
    arena *scratch = arena_new();
    str contents = {0};
    const char *why;
    bool has = scratch && file_read(scratch, r->path, 16 << 20, &contents, &why) &&
               find_main(str_dup(scratch, contents));
    arena_free(scratch);
    return has;
}

int run_wrap_main(run *r)
{
    arena *scratch = arena_new();
    str contents = {0};
    const char *why = "there is no memory";
    if (!scratch || !file_read(scratch, r->path, 16 << 20, &contents, &why)) {
        fprintf(stderr, "kiln %s: cannot read '%s': %s\n", r->verb, r->path, why);
        arena_free(scratch);
        return EXIT_WORLD;
    }
    const char *list = find_main(str_dup(scratch, contents));
    if (!list) {
        arena_free(scratch);
        return cli_usage(r->verb, "--main: '%s' has no function 'int main(…)'", r->path);
    }
    text out = {.in = scratch};
    put_kernel(&out, r, has_arguments(list));
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
