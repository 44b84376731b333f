// The kiln program: finds the verb's row and calls its function. `kiln help` is made from the same
// table.
#include <errno.h>
#include <stdlib.h>

#include "base/knobs.h"
#include "base/str.h"
#include "cli/cli.h"

typedef struct verb {
    const char *name, *arguments, *does;
    int (*run)(int argc, char **argv);
} verb;

static const verb verbs[] = {
#define VERB(name, arguments, does) {#name, arguments, does, cli_##name},
#include "cli/verbs.def"
#undef VERB
};

static const verb *find_verb(const char *name)
{
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

const char *cli_nearest_verb(const char *word)
{
    const char *best = NULL;
    unsigned best_distance = 3;
    for (size_t i = 0; i < COUNT(verbs); i++) {
        unsigned distance = str_distance(str_of(word), str_of(verbs[i].name), best_distance);
        if (distance < best_distance) {
            best_distance = distance;
            best = verbs[i].name;
        }
    }
    return best;
}

int cli_usage(const char *verb_name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "kiln %s: ", verb_name);
    vfprintf(stderr, format, args);
    va_end(args);
    const verb *v = find_verb(verb_name);
    fprintf(stderr, "\nusage: kiln %s %s\n", verb_name, v ? v->arguments : "");
    return EXIT_USAGE;
}

int cli_exit_of(kiln_status status)
{
    switch (status) {
    case KILN_OK: return EXIT_FINE;
    case KILN_E_COMPILE:
    case KILN_E_LAUNCH:
    case KILN_E_KERNEL:
    case KILN_E_BAD_ARGUMENT:
    case KILN_E_UNSUPPORTED: return EXIT_KERNEL;
    case KILN_E_NOT_FOUND:
    case KILN_E_NO_MEMORY:
    case KILN_E_IO:
    case KILN_E_DRIVER:
    case KILN_E_CANCELLED: return EXIT_WORLD;
    case KILN_E_BAD_HANDLE:
    case KILN_E_INTERNAL: return EXIT_BUG;
    }
    return EXIT_BUG;
}

int cli_fail(const kiln *k, kiln_status status)
{
    const kiln_error *e = kiln_last_error(k);
    size_t len = strlen(e->text);
    fprintf(stderr, "%s%s", e->text, len && e->text[len - 1] == '\n' ? "" : "\n");
    if (e->hint[0])
        fprintf(stderr, "hint: %s\n", e->hint);
    return cli_exit_of(status);
}

const char *cli_option(const char *name, int argc, char **argv, int *i)
{
    size_t len = strlen(name);
    if (strncmp(argv[*i], name, len) != 0)
        return NULL;
    if (argv[*i][len] == '=')
        return argv[*i] + len + 1;
    if (argv[*i][len])
        return NULL;
    if (*i + 1 >= argc)
        return "";
    return argv[++*i];
}

bool cli_number(const char *word, int64_t *out)
{
    errno = 0;
    char *end;
    long long v = strtoll(word, &end, 0);
    if (end == word || errno)
        return false;
    int64_t scale = 1;
    if (*end == 'K' || *end == 'k')
        scale = 1 << 10;
    else if (*end == 'M')
        scale = 1 << 20;
    else if (*end == 'G')
        scale = 1 << 30;
    if (scale != 1)
        end++;
    return !*end && !__builtin_mul_overflow((int64_t)v, scale, out);
}

bool cli_real(const char *word, double *out)
{
    char *end;
    *out = strtod(word, &end);
    return end != word && !*end;
}

int cli_compile_option(cli_compile *c, const char *verb_name, int argc, char **argv, int *i)
{
    const char *arg = argv[*i], *value;
    if (arg[0] == '-' && (arg[1] == 'D' || arg[1] == 'I') && arg[2]) {
        value = arg + 2;
    } else if (!strcmp(arg, "-D") || !strcmp(arg, "-I")) {
        if (*i + 1 >= argc)
            return cli_usage(verb_name, "%s needs a value", arg), -1;
        value = argv[++*i];
    } else if ((value = cli_option("--tune", argc, argv, i))) {
        if (c->tune_count >= 63 || !strchr(value, '='))
            return cli_usage(verb_name, "--tune takes NAME=VALUE"), -1;
        c->tunes[c->tune_count++] = value;
        return 1;
    } else if ((value = cli_option("--target", argc, argv, i))) {
        c->target = value;
        return 1;
    } else if ((value = cli_option("--diag", argc, argv, i))) {
        if (strcmp(value, "json") != 0 && strcmp(value, "text") != 0)
            return cli_usage(verb_name, "--diag is text or json"), -1;
        c->json = !strcmp(value, "json");
        return 1;
    } else if (!strcmp(arg, "-O0")) {
        c->optimise = -1;
        return 1;
    } else if (!strcmp(arg, "-O2") || !strcmp(arg, "-O")) {
        c->optimise = 1;
        return 1;
    } else if ((value = cli_option("--check", argc, argv, i))) {
        if (strcmp(value, "bounds") != 0 && strcmp(value, "none") != 0)
            return cli_usage(verb_name, "--check is bounds or none, not '%s'", value), -1;
        c->check_bounds = !strcmp(value, "bounds");
        c->check_none = !c->check_bounds;
        return 1;
    } else if (!strcmp(arg, "--report")) {
        c->report = true;
        return 1;
    } else if (!strcmp(arg, "--werror")) {
        c->werror = true;
        return 1;
    } else {
        return 0;
    }
    if (arg[1] == 'D') {
        if (c->define_count >= 63)
            return cli_usage(verb_name, "too many -D"), -1;
        c->defines[c->define_count++] = value;
    } else {
        if (c->include_count >= 63)
            return cli_usage(verb_name, "too many -I"), -1;
        c->includes[c->include_count++] = value;
    }
    return 1;
}

void cli_compile_desc(const cli_compile *c, const char *path, kiln_compile_desc *out)
{
    size_t len = strlen(path);
    *out = (kiln_compile_desc){
        .path = path,
        .is_ir = len > 3 && !strcmp(path + len - 3, ".ir"),
        .define = c->defines,
        .include = c->includes,
        .tune = c->tunes,
        .target = c->target,
        .optimise = c->optimise,
        .warnings_are_errors = c->werror,
        .diagnostics_json = c->json,
        .check_bounds = c->check_bounds,
    };
}

int cli_help(int argc, char **argv)
{
    if (argc > 1) {
        const verb *v = find_verb(argv[1]);
        if (!v)
            return cli_usage("help", "there is no verb '%s'", argv[1]);
        printf("kiln %s %s\n    %s\n\nmanual: man kiln-%s\n", v->name, v->arguments, v->does,
               v->name);
        return EXIT_FINE;
    }
    printf("kiln %s: GPU kernels in plain C\n\n", kiln_version());
    for (size_t i = 0; i < COUNT(verbs); i++)
        printf("  %-8s %s\n", verbs[i].name, verbs[i].does);
    printf("\nkiln help VERB, or man kiln-VERB, says more.\n"
           "exit codes: 0 ok, 1 the kernel or data is wrong, 2 usage, 3 the world is wrong, 70 "
           "Kiln is\n");
    return EXIT_FINE;
}

// A switch with a value that it does not take stops every verb but those that help.
static bool has_bad_switch(const verb *v)
{
    char complaint[320];
    if (v->run == cli_doctor || v->run == cli_help || v->run == cli_explain ||
        !knob_complaint(complaint, sizeof complaint))
        return false;
    fprintf(stderr,
            "kiln: %s\n"
            "hint: correct or unset the variable; more: kiln explain K6009\n",
            complaint);
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        cli_help(1, argv);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        printf("kiln %s\n", kiln_version());
        return EXIT_FINE;
    }
    const char *name = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ? "help" : argv[1];
    const verb *v = find_verb(name);
    if (!v) {
        const char *near = cli_nearest_verb(argv[1]);
        fprintf(stderr, "kiln: there is no verb '%s'", argv[1]);
        if (near)
            fprintf(stderr, "; did you mean '%s'?", near);
        fprintf(stderr, "\nkiln help lists them\n");
        return EXIT_USAGE;
    }
    for (int i = 2; i < argc; i++)
        if (v->run != cli_help && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")))
            return cli_help(2, (char *[]){argv[0], argv[1]});
    return has_bad_switch(v) ? EXIT_USAGE : v->run(argc - 1, argv + 1);
}
