// The kinds of random kernels, a table: each row writes programs in the form of tests/run (see
// host/corpus.h). What a kernel must leave is what the host's compiler makes of the same text; a
// program whose //! line says oracle=FUNCTION brings a function of its own for that.
#ifndef KILN_FUZZ_PROFILE_H
#define KILN_FUZZ_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct fuzz_profile {
    const char *name, *what;
    const char *prelude; // lines that every file of these programs begins with
    // Writes one program: one //! line, the kernel fuzz_NUMBER and what both need. Every name at
    // file scope ends in NUMBER, because one file holds many programs. The same seed and number
    // give the same text. False: this machine cannot write them (a generator that is not here).
    bool (*write)(uint64_t seed, unsigned number, FILE *out);
    unsigned batch;      // the most programs that a file may hold; 0: any number
    bool may_be_refused; // with an error of the kernel's own (not K9001): counted, no finding
    bool is_short;       // another row's with fewer statements: takes turns only when it is named
} fuzz_profile;

extern const fuzz_profile fuzz_profiles[]; // ended by a NULL name
const fuzz_profile *fuzz_profile_named(const char *name);

#endif
