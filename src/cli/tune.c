// kiln tune: finds the fastest values for a kernel's tune()s (tune_kernel.c) or for an op of the
// library (tune_op.c), and shows, exports and imports what was found. Start at cli_tune.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/tune.h"

static int no_table(const char *why)
{
    fprintf(stderr, "kiln tune: there is no table: %s\n", why);
    return EXIT_WORLD;
}

static int list(void)
{
    tuned_table t;
    char path[1200], why[300];
    if (!tuned_load(&t, path, why, sizeof why))
        return no_table(why);
    const char *device = "";
    for (size_t n = 0; n < t.count; n++) {
        const tuned_row *row = &t.rows[n];
        if (strcmp(device, row->device) != 0 || !n || row->driver != row[-1].driver) {
            printf("%s, driver %d\n", row->device, row->driver);
            device = row->device;
        }
        printf("  %s %s: %s, %.4g us (default %.4g us; %u timed, %u failed)\n", row->program,
               row->shape, row->choice, row->us, row->default_us, row->tried, row->failed);
    }
    printf("%zu result%s in %s\n", t.count, t.count == 1 ? "" : "s", path);
    if (t.broken)
        printf("%zu line%s of it make%s no sense\n", t.broken, t.broken == 1 ? "" : "s",
               t.broken == 1 ? "s" : "");
    tuned_free(&t);
    return EXIT_FINE;
}

static int export_to(const char *to)
{
    tuned_table t;
    char path[1200], why[300];
    size_t len = 0;
    if (!tuned_load(&t, path, why, sizeof why))
        return no_table(why);
    char *lines = tuned_write(&t, &len);
    arena *a = arena_new();
    const char *reason = "there is no memory";
    bool is_stdout = !strcmp(to, "-");
    bool ok = lines && a && (is_stdout || file_write(a, to, lines, len, &reason));
    if (ok && is_stdout)
        fwrite(lines, 1, len, stdout);
    if (!ok)
        fprintf(stderr, "kiln tune: %s: %s\n", to, reason);
    else if (!is_stdout)
        printf("%zu result%s to %s\n", t.count, t.count == 1 ? "" : "s", to);
    arena_free(a);
    free(lines);
    tuned_free(&t);
    return ok ? EXIT_FINE : EXIT_WORLD;
}

static int import_from(const char *from)
{
    arena *a = arena_new();
    tuned_table t = {0};
    str lines = {0};
    const char *reason = "there is no memory";
    char why[300] = "there is no memory";
    int code = EXIT_WORLD;
    if (!a || !file_read(a, from, 64 << 20, &lines, &reason))
        fprintf(stderr, "kiln tune: %s: %s\n", from, reason);
    else if (!tuned_read(&t, lines.at, lines.len))
        fprintf(stderr, "kiln tune: %s: %s\n", from, why);
    else if (!t.count)
        fprintf(stderr, "kiln tune: %s: no line of it is a result of kiln tune --export\n", from);
    else if (!tuned_merge(&t, why, sizeof why))
        fprintf(stderr, "kiln tune: %s\n", why);
    else
        code = EXIT_FINE;
    if (!code)
        printf("%zu result%s from %s\n", t.count, t.count == 1 ? "" : "s", from);
    if (!code && t.broken)
        fprintf(stderr, "kiln tune: %zu line%s of %s make%s no sense and are left out\n", t.broken,
                t.broken == 1 ? "" : "s", from, t.broken == 1 ? "s" : "");
    tuned_free(&t);
    arena_free(a);
    return code;
}

int cli_tune(int argc, char **argv)
{
    const char *first = NULL;
    int about = 0, others = 0;
    cli_args args = CLI_ARGS("tune", argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        if (option == CLI_BAD)
            return EXIT_USAGE;
        if (option == OPT_tuned_list || option == OPT_export || option == OPT_import)
            about = option;
        else
            others++;
        if (option == CLI_WORD && !first)
            first = args.value;
    }
    if (about && (others || argc > 3))
        return cli_usage("tune", "--list, --export and --import stand alone");
    if (about)
        return about == OPT_export   ? export_to(args.given[OPT_export])
               : about == OPT_import ? import_from(args.given[OPT_import])
                                     : list();
    bool is_file = first && (file_exists(first) || strpbrk(first, "./") || !strcmp(first, "-"));
    if (first && tune_is_op(first))
        return tune_op(argc, argv);
    if (is_file) {
        if (args.given[OPT_tune_type] || args.given[OPT_layout] || args.given[OPT_tune_causal])
            return cli_usage("tune", "--type, --layout and --causal are for ops, not for a file");
        return tune_kernel(argc, argv);
    }
    if (!first)
        return cli_usage("tune", "which file, or which op?");
    return cli_usage("tune", "there is no op '%s' that can be tuned, and no such file", first);
}
