// kiln help: the tables of verbs.def and options.def as text, or as the part of a manual page that
// tools/man puts between the prose.
#include <ctype.h>

#include "base/str.h"
#include "base/term.h"
#include "cli/cli.h"

static const char exit_codes[] =
    "0 ok, 1 the kernel or data is wrong, 2 usage, 3 the world is wrong (file, driver, memory), "
    "70 a mistake of Kiln itself, 130 Ctrl-C";

// "-o FILE", "--grid X[,Y[,Z]]", "-h, --help", "-O[0|2]".
static void left_side(const option_row *row, char *out, size_t room)
{
    size_t len = 0;
    *out = 0;
    if (row->id == CLI_WORD) {
        snprintf(out, room, "%s", row->long_name);
        return;
    }
    if (row->short_name)
        len = (size_t)snprintf(out, room, "-%c%s", row->short_name, row->long_name ? ", " : "");
    if (row->long_name)
        len += (size_t)snprintf(out + len, room - len, "--%s", row->long_name);
    if (row->argument)
        snprintf(out + len, room - len, "%s%s", *row->argument == '[' ? "" : " ", row->argument);
}

// Columns on a terminal: the bytes of UTF-8 that start a character.
static size_t shown_len(const char *at, size_t len)
{
    size_t shown = 0;
    for (size_t i = 0; i < len; i++)
        shown += ((unsigned char)at[i] & 0xc0) != 0x80;
    return shown;
}

// Breaks the line between words.
static void print_wrapped(const char *words, size_t indent, size_t width)
{
    size_t column = indent;
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, " "), shown = shown_len(at, len);
        if (column > indent && column + shown + 1 > width) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        }
        printf("%s%.*s", column > indent ? " " : "", (int)len, at);
        column += shown + (column > indent);
        at += len;
        while (*at == ' ')
            at++;
    }
    putchar('\n');
}

// What roff reads as its own: a minus sign, a backslash, a dot at the start of a line.
static void print_roff(const char *words)
{
    if (*words == '.' || *words == '\'')
        printf("\\&");
    for (; *words; words++) {
        if (*words == '-')
            printf("\\-");
        else if (*words == '\\')
            printf("\\e");
        else
            putchar(*words);
    }
}

static bool is_first_of_group(size_t at, uint32_t verb)
{
    for (size_t i = 0; i < at; i++)
        if ((cli_options[i].verbs & verb) && !strcmp(cli_options[i].group, cli_options[at].group))
            return false;
    return true;
}

static void print_row(const option_row *row, bool is_roff, size_t width)
{
    enum { INDENT = 24 };
    char left[128];
    left_side(row, left, sizeof left);
    if (is_roff) {
        printf(".TP\n.B \"");
        print_roff(left);
        printf("\"\n");
        print_roff(row->help);
        putchar('\n');
        return;
    }
    size_t shown = shown_len(left, strlen(left));
    printf("  %s%*s", left, shown < INDENT - 2 ? (int)(INDENT - 2 - shown) : 0, "");
    if (shown > INDENT - 3)
        printf("\n%*s", INDENT, "");
    print_wrapped(row->help, INDENT, width);
}

// The start of a manual page; tools/man puts the prose where it ends.
static void print_roff_head(const verb_row *v)
{
    bool is_program = v == &cli_verbs[VERB_kiln];
    char title[64];
    size_t len = (size_t)snprintf(title, sizeof title, is_program ? "kiln" : "kiln-%s", v->name);
    printf(".TH \"");
    for (size_t i = 0; i < len; i++)
        putchar(toupper((unsigned char)title[i]));
    printf("\" 1 \"\" \"kiln %s\" \"Kiln\"\n.SH NAME\n%s \\- ", kiln_version(), title);
    print_roff(v->does);
    printf("\n.SH SYNOPSIS\n.B kiln%s%s\n", is_program ? "" : " ", is_program ? "" : v->name);
    print_roff(v->arguments);
    printf("\n.\\\" prose\n");
}

static void print_roff_tail(void)
{
    printf(".SH EXIT STATUS\n");
    print_roff(exit_codes);
    printf(".\n.SH SEE ALSO\n.\\\" others\n.BR kiln (1),\n.BR kiln\\-help (1)\n");
}

static void print_groups(uint32_t verb, bool is_roff, size_t width)
{
    for (size_t first = 0; first < cli_option_count; first++) {
        const char *group = cli_options[first].group;
        if (!(cli_options[first].verbs & verb) || !is_first_of_group(first, verb))
            continue;
        printf(is_roff ? ".SS %s\n" : "\n%s\n", group);
        for (size_t i = first; i < cli_option_count; i++)
            if ((cli_options[i].verbs & verb) && !strcmp(cli_options[i].group, group))
                print_row(&cli_options[i], is_roff, width);
    }
}

static void print_examples(const char *examples, bool is_roff)
{
    if (!*examples)
        return;
    printf(is_roff ? ".SH EXAMPLES\n.nf\n" : "\nexamples\n");
    while (*examples) {
        size_t len = strcspn(examples, "\n");
        char line[256];
        snprintf(line, sizeof line, "%.*s", (int)len, examples);
        if (is_roff)
            print_roff(line);
        else
            printf("  %s", line);
        putchar('\n');
        examples += len + 1;
    }
    if (is_roff)
        printf(".fi\n");
}

static void print_list(bool is_roff)
{
    for (int i = 0; i < VERB_kiln; i++) {
        if (is_roff) {
            printf(".TP\n.BR kiln\\-%s (1)\n", cli_verbs[i].name);
            print_roff(cli_verbs[i].does);
            putchar('\n');
        } else {
            printf("  %-10s  %s\n", cli_verbs[i].name, cli_verbs[i].does);
        }
    }
}

// All verbs, and where to begin.
static void print_overview(void)
{
    printf("kiln %s: GPU kernels in plain C\n\n", kiln_version());
    print_list(false);
    printf("\nto start with\n"
           "  kiln new wave                       a project that builds and runs: cd wave && make "
           "run\n"
           "  kiln run wave/kernel.c n=1000 a=2   compile a kernel, make its data, run it\n"
           "  kiln doctor                         which devices and tools are here\n"
           "\nkiln help VERB, or kiln VERB --help, has every option; man kiln-VERB says more.\n"
           "exit codes: %s\n",
           exit_codes);
}

void cli_print_help(int verb, bool is_roff)
{
    uint32_t bit = 1u << verb;
    const verb_row *v = &cli_verbs[verb];
    size_t width = term_is_tty(stdout) ? (size_t)term_width(stdout) : 110;
    if (width < 60)
        width = 60;
    if (verb == VERB_kiln && !is_roff) {
        print_overview();
        return;
    }
    if (is_roff) {
        print_roff_head(v);
        if (verb == VERB_kiln) {
            printf(".SH VERBS\n");
            print_list(true);
        }
        printf(".SH OPTIONS\n");
    } else {
        printf("kiln %s %s\n    %s\n", v->name, v->arguments, v->does);
    }
    print_groups(bit, is_roff, width);
    print_examples(v->examples, is_roff);
    if (is_roff) {
        print_roff_tail();
        return;
    }
    printf("\nexit codes: %s\nmanual: man kiln-%s\n", exit_codes, v->name);
}

int cli_help(int argc, char **argv)
{
    cli_args args = CLI_ARGS("help", argc, argv);
    int verb = VERB_kiln, words = 0;
    bool is_roff = false;
    for (int option; (option = cli_next(&args)) != CLI_END;) {
        switch (option) {
        case CLI_WORD:
            verb = cli_verb_find(args.value);
            if (verb < 0)
                return cli_usage("help", "there is no verb '%s'", args.value);
            if (words++)
                return cli_usage("help", "'%s' is one word too many", args.value);
            break;
        case OPT_roff: is_roff = true; break;
        case OPT_help: verb = VERB_help; break;
        default: return EXIT_USAGE;
        }
    }
    cli_print_help(verb, is_roff);
    return EXIT_FINE;
}
