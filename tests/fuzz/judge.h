// Judging random kernels: what the host's compiler makes of them against every device and level.
#ifndef KILN_FUZZ_JUDGE_H
#define KILN_FUZZ_JUDGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum fuzz_kind {
    FUZZ_FINE,
    FUZZ_NO_HOST, // the host has no result: the generator's fault
    FUZZ_LEFT,    // what it does is not fixed, says its check=FUNCTION on the host: it is left out
    FUZZ_REFUSED, // Kiln does not compile it
    FUZZ_FAILED,  // the launch failed
    FUZZ_WRONG,   // the result is not the host's
    FUZZ_DIED     // Kiln crashed or hung
} fuzz_kind;

typedef struct fuzz_way { // how a kernel runs
    char name[48];        // "x86 optimised"
    char device[32];      // kiln_open's
    const char *cpu;      // KILN_CPU
    const char *exits;    // KILN_EXITS
    int optimise;         // kiln_compile_desc's
    unsigned share;       // one in so many kernels runs this way
} fuzz_way;

enum { FUZZ_MAX_WAYS = 16 };

// Where the time goes, in milliseconds of all jobs.
typedef struct fuzz_times {
    atomic_ullong host; // its compiler and its kernels
    atomic_ullong open[FUZZ_MAX_WAYS], compile[FUZZ_MAX_WAYS], run[FUZZ_MAX_WAYS];
    atomic_ullong ran[FUZZ_MAX_WAYS]; // kernels
} fuzz_times;

typedef struct fuzz_setup {
    const char *work; // a folder
    const char *host; // the host's compiler: gcc or clang
    fuzz_way ways[FUZZ_MAX_WAYS];
    int way_count;
    unsigned module;          // kernels that are compiled together; 0: any number
    unsigned most_deaths;     // of kernels that crash or hang, then the file is left; 0: five
    unsigned validate;        // one in so many kernels is run after each pass, too; 0: none
    unsigned long long seed;  // of the first program: which ones are among those many
    const uint64_t *expected; // of each program, from expect.h, 0: it is left out: no compiler of
                              // the host is asked
    fuzz_times *times;        // in memory that is shared with children
} fuzz_setup;

typedef struct fuzz_verdict {
    fuzz_kind kind;
    int way;
    int ran;       // ways it ran; 0: no device has what it needs
    uint64_t host; // corpus_hash of what the host leaves
    char why[500]; // for a wrong result of optimised code, with the pass that changed it
} fuzz_verdict;

const char *fuzz_kind_name(fuzz_kind kind);
// Adds the ways of each device of a list such as "interp,x86,cuda". interp, cpu (the C compiler's
// code) and x86 (Kiln's own code) are cpu devices, anything else is what kiln_open takes. With
// "/exits" behind it the pass of that name runs, too; with "%N" one kernel in N runs there, which
// its seed decides. False: too many.
bool fuzz_add_devices(fuzz_setup *setup, const char *devices);
// Compiles the programs as one file with the host's compiler, runs each everywhere, or on the host
// alone without ways. False: the host's compiler refuses the file, or it does not have as many
// tests.
bool fuzz_judge(const fuzz_setup *setup, const char *prelude, const char *const *programs,
                int count, fuzz_verdict *verdicts);
// The programs (NULL: left out) as one file; the caller frees it.
char *fuzz_file(const char *prelude, const char *const *programs, int count);

#endif
