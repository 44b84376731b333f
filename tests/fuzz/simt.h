// The SIMT generator: from one sequence of random choices a kernel in Kiln C and, beside it, a
// plain C function over arrays of lanes that computes the same (simt_oracle.h). Nothing of Kiln
// takes part in the second, so that a mistake common to all of Kiln's devices shows.
#ifndef KILN_FUZZ_SIMT_H
#define KILN_FUZZ_SIMT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// Lines every file of these programs begins with.
extern const char simt_prelude[];
// Writes the kernel fuzz_NUMBER, the function oracle_NUMBER and their //! line.
bool simt_write(uint64_t seed, unsigned number, FILE *out);
bool simt_write_short(uint64_t seed, unsigned number, FILE *out); // with fewer statements

#endif
