// What the verbs share: exit codes, usage errors, options, reading numbers such as 1M.
#ifndef KILN_CLI_H
#define KILN_CLI_H

#include <stdio.h>

#include "base/base.h"
#include "kiln/kiln.h"

enum cli_exit {
    EXIT_FINE = 0,
    EXIT_KERNEL = 1, // the kernel or the data is wrong
    EXIT_USAGE = 2,  // the command line is wrong
    EXIT_WORLD = 3,  // a file, a driver, memory
    EXIT_BUG = 70,   // Kiln is wrong
};

#define VERB(name, arguments, does) int cli_##name(int argc, char **argv);
#include "cli/verbs.def"
#undef VERB

// Prints "kiln VERB: message" and how to use the verb; gives EXIT_USAGE.
int cli_usage(const char *verb, const char *format, ...) PRINTF_LIKE(2, 3);
// Prints the error's text to standard error and gives the exit code for its status.
int cli_fail(const kiln *k, kiln_status status);
int cli_exit_of(kiln_status status);
// "--grid" matches argv[*i] "--grid=V" or "--grid" "V" (then *i advances); the value, or NULL. A
// missing value gives "".
const char *cli_option(const char *name, int argc, char **argv, int *i);
// 65536, 64K, 1M, 2G (powers of 1024), 0x10; false when it is not a number.
bool cli_number(const char *word, int64_t *out);
bool cli_real(const char *word, double *out);
// "did you mean" over the verbs; NULL when nothing is near.
const char *cli_nearest_verb(const char *word);

// Options that go to the compiler, shared by run, show, build: -D, -I, --tune, --diag=json, -O0,
// --target, --werror.
typedef struct cli_compile {
    const char *defines[64], *includes[64], *tunes[64];
    int define_count, include_count, tune_count;
    const char *target;
    int optimise;
    bool json, werror, check_bounds, check_none, report;
} cli_compile;
// 1: taken, 0: not one of them, -1: wrong (message already printed).
int cli_compile_option(cli_compile *c, const char *verb, int argc, char **argv, int *i);
// The resources of every kernel in a file, one line each on standard error: by ptxas or a guess.
int cli_report(const cli_compile *c, const char *path);
void cli_compile_desc(const cli_compile *c, const char *path, kiln_compile_desc *out);

#endif
