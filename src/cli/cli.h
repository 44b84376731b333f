// What the verbs share: exit codes, usage errors, options, reading numbers such as 1M.
#ifndef KILN_CLI_H
#define KILN_CLI_H

#include <stdio.h>

#include "base/arena.h"
#include "kiln/kiln.h"

enum cli_exit {
    EXIT_FINE = 0,
    EXIT_KERNEL = 1,      // the kernel or the data is wrong
    EXIT_USAGE = 2,       // the command line is wrong
    EXIT_WORLD = 3,       // a file, a driver, memory
    EXIT_BUG = 70,        // Kiln is wrong
    EXIT_INTERRUPT = 130, // Ctrl-C
};

// VERB_run, VERB_check …; VERB_kiln is the program before any verb.
enum cli_verb {
#define VERB(name, arguments, does, examples) VERB_##name,
#include "cli/verbs.def"
#undef VERB
    VERB_kiln,
    VERB_COUNT
};
#define VERB(name, arguments, does, examples) int cli_##name(int argc, char **argv);
#include "cli/verbs.def"
#undef VERB

typedef struct verb_row {
    const char *name, *arguments, *does, *examples;
    int (*run)(int argc, char **argv);
} verb_row;
extern const verb_row cli_verbs[VERB_COUNT]; // the last is the program itself
// The number of the verb of that name (VERB_kiln: "kiln"), or -1.
int cli_verb_find(const char *name);

// True when a folder of PATH has the program.
bool cli_find_program(const char *name);
// config.c: kiln --cflags, kiln --libs.
int cli_config(bool has_cflags, bool has_libs);
// Where Kiln's headers are; NULL after a message.
const char *cli_include_folder(arena *a);

// --- options: rows of options.def, read with cli_next
enum cli_option {
    CLI_END,  // no more words
    CLI_WORD, // a word that is no option: its text is args.value
    CLI_BAD,  // not understood; the message has been printed
#define OPTION(id, verbs, long_name, short_name, argument, group, help) OPT_##id,
#define WORD(verbs, form, help)
#include "cli/options.def"
#undef OPTION
#undef WORD
    OPT_COUNT
};

typedef struct option_row {
    int id; // of enum cli_option; CLI_WORD: a form that only help and completion know
    uint32_t verbs;
    const char *long_name; // a form: its text
    char short_name;
    const char *argument, *group, *help;
} option_row;
extern const option_row cli_options[];
extern const size_t cli_option_count;

typedef struct cli_args {
    const char *verb;
    int argc;
    char **argv;
    int at;
    const char *value;            // of the option or word that cli_next has found; "" without one
    bool words_only;              // after --
    const char *given[OPT_COUNT]; // the value that every option was given last; NULL: not given
} cli_args;
#define CLI_ARGS(verb_name, count, words)                                                          \
    ((cli_args){.verb = (verb_name), .argc = (count), .argv = (words), .at = 1})
// The next option (OPT_…), word or end of the command line. Unknown options, options of other
// verbs, missing values and words that are not among an option's choices are refused here.
int cli_next(cli_args *args);
// Refuses an option that changes nothing in this case: "kiln run: --block 128 has no effect:
// MESSAGE". `given` is args.given[option] or NULL. Gives EXIT_USAGE.
int cli_no_effect(const char *verb, int option, const char *given, const char *format, ...)
    PRINTF_LIKE(4, 5);
// Help about the verb on standard output, as text or as roff.
void cli_print_help(int verb, bool is_roff);

// Prints "kiln VERB: message" and how to use the verb; gives EXIT_USAGE.
int cli_usage(const char *verb, const char *format, ...) PRINTF_LIKE(2, 3);
// Prints the error's text to standard error and gives the exit code for its status.
int cli_fail(const kiln *k, kiln_status status);
int cli_exit_of(kiln_status status);
// 65536, 64K, 1M, 2G (powers of 1024), 0x10; false when it is not a number.
bool cli_number(const char *word, int64_t *out);
bool cli_real(const char *word, double *out);

// What stands between the quotes of a JSON string, on standard output.
void cli_put_json(const char *words);

// What the options of the group "compiling" say.
typedef struct cli_compile {
    const char *defines[64], *includes[64], *tunes[64];
    int define_count, include_count, tune_count;
    const char *target;
    int optimise;
    bool json, werror, check_bounds, check_none, report;
} cli_compile;
// Takes what cli_next has found: 1 taken, 0 not an option for compiling, -1 wrong (message
// printed).
int cli_compile_option(cli_compile *c, const cli_args *args, int option);
// The resources of every kernel in a file, one line each on standard error: by ptxas or a guess.
// What to do about a file without one.
#define CLI_NO_KERNEL                                                                              \
    "hint: a function becomes one with the word kernel before it, or with __global__ and "         \
    "#include <kiln/cuda.h>\n"
// `source` may be NULL: then `path` is read.
int cli_report(const cli_compile *c, const char *path, const char *source, size_t source_len);
// The file that is named "-", with a NUL behind it, to free in any case; and its name in messages.
#define CLI_STDIN "<stdin>"
int cli_standard_input(const char *verb, char **bytes, size_t *len);
void cli_compile_desc(const cli_compile *c, const char *path, kiln_compile_desc *out);

#endif
