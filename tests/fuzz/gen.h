// Random kernels in the form of tests/run (see host/corpus.h); the profiles that gen*.c write.
#ifndef KILN_FUZZ_GEN_H
#define KILN_FUZZ_GEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

bool gen_mixed(uint64_t seed, unsigned number, FILE *out);
bool gen_calls(uint64_t seed, unsigned number, FILE *out);
bool gen_memory(uint64_t seed, unsigned number, FILE *out);
bool gen_fold(uint64_t seed, unsigned number, FILE *out);
// The same with fewer statements: where a compiler takes long, many small kernels say more.
bool gen_mixed_short(uint64_t seed, unsigned number, FILE *out);
// No barriers, shuffles, votes and atomics either, of which OpenCL C for lanes in step is long.
bool gen_mixed_alone(uint64_t seed, unsigned number, FILE *out);
bool gen_memory_short(uint64_t seed, unsigned number, FILE *out);

#endif
