// Judging random kernels, and making a bad one smaller.
#ifndef KILN_FUZZ_SHRINK_H
#define KILN_FUZZ_SHRINK_H

#include <stdbool.h>

typedef enum fuzz_kind {
    FUZZ_FINE,
    FUZZ_REFUSED,   // Kiln does not compile it
    FUZZ_FAILED,    // the launch failed
    FUZZ_PLAIN,     // without the optimiser the result is not the host's
    FUZZ_OPTIMISED, // only with the optimiser it is not
    FUZZ_QUICK,     // only the cpu device's own machine code does not have it
    FUZZ_DIED       // Kiln crashed or hung
} fuzz_kind;

typedef struct fuzz_verdict {
    fuzz_kind kind;
    char why[200];
} fuzz_verdict;

const char *fuzz_kind_name(fuzz_kind kind);
// Compiles a file of kernels with the host's compiler in the folder `work`, runs each test of it
// everywhere. False: the host's compiler refused, or the file has another number of tests.
bool fuzz_judge(const char *work, const char *text, int count, fuzz_verdict *verdicts);
// The smallest text found whose only test is still bad in the same way; the caller frees it.
char *shrink(const char *work, const char *text, fuzz_kind kind);

#endif
