// Random kernels in the form of tests/run (see host/corpus.h).
#ifndef KILN_FUZZ_GEN_H
#define KILN_FUZZ_GEN_H

#include <stdint.h>
#include <stdio.h>

// Lines every file of random kernels begins with.
extern const char gen_prelude[];
// Writes the kernel fuzz_NUMBER and what it needs; every file-scope name ends in NUMBER. The same
// seed and number give the same text.
void gen_program(uint64_t seed, unsigned number, FILE *out);

#endif
