// Csmith's programs as kernels (csmith.c).
#ifndef KILN_FUZZ_CSMITH_PROFILE_H
#define KILN_FUZZ_CSMITH_PROFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

extern const char csmith_prelude[];
// False: csmith (Debian's package of that name) is not installed.
bool csmith_write(uint64_t seed, unsigned number, FILE *out);

#endif
