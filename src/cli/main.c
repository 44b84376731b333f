// The kiln program: finds the verb's row and calls its function. What a verb has printed must have
// been written when the program ends well.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/knobs.h"
#include "base/str.h"
#include "cli/cli.h"

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
    case KILN_E_DRIVER: return EXIT_WORLD;
    case KILN_E_CANCELLED: return EXIT_INTERRUPT;
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

// A switch with a value that it does not take stops every verb but those that help.
static bool has_bad_switch(const verb_row *v)
{
    char complaint[320];
    if (v->run == cli_doctor || v->run == cli_help || v->run == cli_explain ||
        v->run == cli_completion || !knob_complaint(complaint, sizeof complaint))
        return false;
    fprintf(stderr,
            "kiln: %s\n"
            "hint: correct or unset the variable; more: kiln explain K6009\n",
            complaint);
    return true;
}

static int unknown_verb(const char *word)
{
    const char *best = NULL;
    unsigned best_distance = 3;
    for (int i = 0; i < VERB_kiln; i++)
        if (str_nearer(str_of(word), cli_verbs[i].name, &best_distance))
            best = cli_verbs[i].name;
    fprintf(stderr, "kiln: there is no verb '%s'", word);
    if (best)
        fprintf(stderr, "; did you mean '%s'?", best);
    fprintf(stderr, "\nhint: kiln help lists them\n");
    return EXIT_USAGE;
}

// The options before any verb.
static int run_options(int argc, char **argv)
{
    cli_args args = CLI_ARGS("kiln", argc, argv);
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        switch (option) {
        case OPT_version: printf("kiln %s\n", kiln_version()); break;
        case OPT_help: cli_print_help(VERB_kiln, false); break;
        case OPT_cflags:
        case OPT_libs: break;
        case CLI_WORD:
            fprintf(stderr, "kiln: options follow their verb: kiln %s …\n", args.value);
            return EXIT_USAGE;
        default: return EXIT_USAGE;
        }
    }
    if (args.given[OPT_cflags] || args.given[OPT_libs])
        return cli_config(args.given[OPT_cflags], args.given[OPT_libs]);
    return EXIT_FINE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_help(VERB_kiln, false);
        return EXIT_USAGE;
    }
    if (argv[1][0] == '-')
        return run_options(argc, argv);
    int number = cli_verb_find(argv[1]);
    if (number < 0 || number == VERB_kiln)
        return unknown_verb(argv[1]);
    const verb_row *v = &cli_verbs[number];
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strcmp(argv[i], "--arg")) {
            i++; // the next word is a program's
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            cli_print_help(number, false);
            return EXIT_FINE;
        }
    return has_bad_switch(v) ? EXIT_USAGE : v->run(argc - 1, argv + 1);
}

// Calls of the library end with a status; what verbs do beside them (files, values) ends here when
// there is no memory.
static int run_verb(int argc, char **argv)
{
    bug_frame frame;
    if (bug_enter(&frame)) {
        bool is_bug = frame.kind == BUG_INTERNAL;
        fprintf(stderr, "kiln: %s%s\n", is_bug ? "internal error: " : "", frame.text);
        return is_bug ? EXIT_BUG : EXIT_WORLD;
    }
    int result = dispatch(argc, argv);
    bug_leave(&frame);
    return result;
}

// Who starts kiln may have closed one of the three descriptors. The next file that is opened would
// take its place, and a kernel's output or input would be that file's. What takes it instead cannot
// be used: reading and writing fail as before.
static void keep_standard_places(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            _exit(EXIT_WORLD);
}

int main(int argc, char **argv)
{
    keep_standard_places();
    int result = run_verb(argc, argv);
    errno = 0;
    bool is_lost = fflush(stdout) != 0;
    if (is_lost || ferror(stdout)) {
        fprintf(stderr, "kiln: standard output could not be written%s%s\n", errno ? ": " : "",
                errno ? strerror(errno) : "");
        result = result ? result : EXIT_WORLD;
    }
    return result;
}
