// The command line of a verb, word by word: cli_next matches each with its row of options.def. What
// it does not know it refuses, with the nearest spelling that it does know.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/str.h"
#include "cli/cli.h"

const verb_row cli_verbs[VERB_COUNT] = {
#define VERB(name, arguments, does, examples) {#name, arguments, does, examples, cli_##name},
#include "cli/verbs.def"
#undef VERB
    {"kiln", "VERB …", "GPU kernels in plain C", "", NULL},
};

#define ON(name) (1u << VERB_##name)
#define ON_ALL   ((1u << VERB_COUNT) - 1)
const option_row cli_options[] = {
#define OPTION(id, verbs, long_name, short_name, argument, group, help)                            \
    {OPT_##id, verbs, long_name, short_name, argument, group, help},
#define WORD(verbs, form, help) {CLI_WORD, verbs, form, 0, NULL, "arguments", help},
#include "cli/options.def"
#undef OPTION
#undef WORD
};
const size_t cli_option_count = COUNT(cli_options);
_Static_assert(VERB_COUNT < 32, "the set of an option's verbs has 32 bits");

int cli_verb_find(const char *name)
{
    for (int i = 0; i < VERB_COUNT; i++)
        if (!strcmp(cli_verbs[i].name, name))
            return i;
    return -1;
}

static const option_row *row_of(int id)
{
    for (size_t i = 0; i < cli_option_count; i++)
        if (cli_options[i].id == id)
            return &cli_options[i];
    return NULL;
}

static const char *spelling(const option_row *row, char out[64])
{
    if (row->long_name)
        snprintf(out, 64, "--%s", row->long_name);
    else
        snprintf(out, 64, "-%c", row->short_name);
    return out;
}

// "kiln run: ", or "kiln: " before any verb.
static void print_who(const char *verb)
{
    bool is_program = !strcmp(verb, "kiln");
    fprintf(stderr, "kiln%s%s: ", is_program ? "" : " ", is_program ? "" : verb);
}

// Where to read more.
static void print_more(const char *verb)
{
    bool is_program = !strcmp(verb, "kiln");
    fprintf(stderr, "hint: kiln help%s%s has all options\n", is_program ? "" : " ",
            is_program ? "" : verb);
}

int cli_usage(const char *verb_name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_who(verb_name);
    vfprintf(stderr, format, args);
    va_end(args);
    int verb = cli_verb_find(verb_name);
    fprintf(stderr, "\nusage: kiln %s %s\n", verb_name, verb < 0 ? "" : cli_verbs[verb].arguments);
    print_more(verb_name);
    return EXIT_USAGE;
}

int cli_no_effect(const char *verb, int option, const char *given, const char *format, ...)
{
    char name[64];
    va_list args;
    va_start(args, format);
    print_who(verb);
    fprintf(stderr, "%s%s%s has no effect: ", spelling(row_of(option), name),
            given && *given ? " " : "", given ? given : "");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_USAGE;
}

// --- what is not understood

// The verbs that have the option, "run, check".
static void print_verbs(uint32_t verbs)
{
    const char *between = "";
    for (int i = 0; i < VERB_COUNT; i++)
        if (verbs >> i & 1) {
            fprintf(stderr, "%s%s%s", between, i == VERB_kiln ? "" : "kiln ", cli_verbs[i].name);
            between = ", ";
        }
}

// Single letters are not near to anything.
static const option_row *nearest(uint32_t verb, str name)
{
    const option_row *best = NULL;
    unsigned best_distance = name.len < 4 ? 2 : 3;
    for (size_t i = 0; i < cli_option_count; i++) {
        const option_row *row = &cli_options[i];
        if (row->id == CLI_WORD || !(row->verbs & verb) || !row->long_name)
            continue;
        unsigned distance = str_distance(name, str_of(row->long_name), best_distance);
        bool begins = name.len > 2 && strlen(row->long_name) > name.len &&
                      !memcmp(row->long_name, name.at, name.len);
        if (begins)
            distance = 1;
        if (distance < best_distance) {
            best_distance = distance;
            best = row;
        }
    }
    return best;
}

static int unknown(const cli_args *args, uint32_t verb, str name, char letter)
{
    const char *word = args->argv[args->at - 1];
    size_t shown = letter ? 2 : name.len + 2;
    print_who(args->verb);
    fprintf(stderr, "there is no option '%.*s'", (int)shown, word);
    const option_row *near = letter ? NULL : nearest(verb, name);
    uint32_t others = 0;
    for (size_t i = 0; i < cli_option_count; i++) {
        const option_row *row = &cli_options[i];
        bool same = letter ? row->short_name == letter
                           : row->long_name && strlen(row->long_name) == name.len &&
                                 !memcmp(row->long_name, name.at, name.len);
        if (same && row->id != CLI_WORD)
            others |= row->verbs;
    }
    if (others) {
        fprintf(stderr, "; it is one of ");
        print_verbs(others);
    } else if (near) {
        char name_of_near[64];
        fprintf(stderr, "; did you mean '%s'?", spelling(near, name_of_near));
    }
    fputc('\n', stderr);
    print_more(args->verb);
    return CLI_BAD;
}

// True when the word is one of "a|b|c", or anything where there is no choice: NUMBER, NAME=VALUE.
static bool is_choice(const char *choices, const char *word)
{
    if (*choices == '[')
        choices++;
    for (const char *at = choices; *at && *at != ']'; at++)
        if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '|')
            return true;
    size_t len = strlen(word);
    while (*choices && *choices != ']') {
        size_t one = strcspn(choices, "|]");
        if (one == len && !memcmp(choices, word, len))
            return true;
        choices += one + (choices[one] == '|');
    }
    return false;
}

static int wrong_choice(const cli_args *args, const option_row *row)
{
    char name[64];
    print_who(args->verb);
    fprintf(stderr, "%s is", spelling(row, name));
    const char *at = row->argument + (*row->argument == '[');
    for (const char *before = " "; *at && *at != ']';) {
        size_t one = strcspn(at, "|]");
        fprintf(stderr, "%s%.*s", before, (int)one, at);
        at += one + (at[one] == '|');
        before = at[strcspn(at, "|]")] == '|' ? ", " : " or ";
    }
    fprintf(stderr, ", not '%s'\n", args->value);
    return CLI_BAD;
}

// --- reading

// `attached` is what stands in the same word, or NULL.
static int parse_value(cli_args *args, const option_row *row, const char *attached)
{
    char name[64];
    args->value = attached ? attached : "";
    if (!row->argument) {
        if (attached)
            return cli_usage(args->verb, "%s takes no value, so not '%s'", spelling(row, name),
                             attached),
                   CLI_BAD;
    } else if (!attached && *row->argument != '[') {
        const char *next = args->at < args->argc ? args->argv[args->at] : NULL;
        bool is_option = next && next[0] == '-' && next[1] == '-' && next[2];
        if (!next || (is_option && row->id != OPT_arg)) // a program has options of its own
            return cli_usage(args->verb, "%s needs a value: %s %s", spelling(row, name), name,
                             row->argument),
                   CLI_BAD;
        args->value = next;
        args->at++;
    }
    bool is_left_out = row->argument && *row->argument == '[' && !*args->value;
    if (row->argument && !is_left_out && !is_choice(row->argument, args->value))
        return wrong_choice(args, row);
    args->given[row->id] = args->value;
    return row->id;
}

int cli_next(cli_args *args)
{
    if (args->at >= args->argc)
        return CLI_END;
    const char *word = args->argv[args->at++];
    args->value = word;
    if (args->words_only || word[0] != '-' || !word[1])
        return CLI_WORD;
    if (!strcmp(word, "--")) {
        args->words_only = true;
        return cli_next(args);
    }
    bool is_long = word[1] == '-';
    str name = {word + 2, is_long ? strcspn(word + 2, "=") : 0};
    uint32_t verb = 1u << cli_verb_find(args->verb);
    for (size_t i = 0; i < cli_option_count; i++) {
        const option_row *row = &cli_options[i];
        if (row->id == CLI_WORD || !(row->verbs & verb))
            continue;
        if (is_long && row->long_name && strlen(row->long_name) == name.len &&
            !memcmp(row->long_name, name.at, name.len))
            return parse_value(args, row, word[2 + name.len] ? word + 3 + name.len : NULL);
        if (!is_long && row->short_name == word[1] && (row->argument || !word[2]))
            return parse_value(args, row, word[2] ? word + 2 : NULL);
    }
    return unknown(args, verb, name, is_long ? 0 : word[1]);
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

// --- options for compiling

static bool is_name(const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)word[i]) && word[i] != '_')
            return false;
    return len && !isdigit((unsigned char)word[0]);
}

// True when there is room for one more.
static bool add(const char *list[64], int *count, const char *value)
{
    if (*count >= 63)
        return false;
    list[(*count)++] = value;
    return true;
}

int cli_compile_option(cli_compile *c, const cli_args *args, int option)
{
    const char *value = args->value;
    bool has_room = true;
    switch (option) {
    case OPT_define:
        if (!is_name(value, strcspn(value, "=(")))
            return cli_usage(args->verb, "-D takes NAME or NAME=VALUE, not '%s'", value), -1;
        has_room = add(c->defines, &c->define_count, value);
        break;
    case OPT_include:
        if (!*value)
            return cli_usage(args->verb, "-I takes a folder"), -1;
        has_room = add(c->includes, &c->include_count, value);
        break;
    case OPT_tune:
        if (!strchr(value, '=') || !is_name(value, strcspn(value, "=")))
            return cli_usage(args->verb, "--tune takes NAME=VALUE, not '%s'", value), -1;
        has_room = add(c->tunes, &c->tune_count, value);
        break;
    case OPT_target: c->target = value; break;
    case OPT_diag: c->json = !strcmp(value, "json"); break;
    case OPT_optimise: c->optimise = !strcmp(value, "0") ? -1 : 1; break;
    case OPT_check:
        c->check_bounds = !strcmp(value, "bounds");
        c->check_none = !c->check_bounds;
        break;
    case OPT_report: c->report = true; break;
    case OPT_werror: c->werror = true; break;
    default: return 0;
    }
    if (!has_room)
        return cli_usage(args->verb, "more than 63 options of one kind"), -1;
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
