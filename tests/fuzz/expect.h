// What random kernels leave, written down on one machine for another: there no compiler of the host
// is on the way to a GPU. A file of 16 bytes a kernel.
#ifndef KILN_FUZZ_EXPECT_H
#define KILN_FUZZ_EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_expected {
    uint64_t program; // fuzz_program_key
    uint64_t result;  // corpus_hash of the buffers; 0: the program is left out
} fuzz_expected;

typedef struct fuzz_expect {
    fuzz_expected *rows; // in the order of their keys
    size_t count;
    char judges[64]; // the compilers that made them
} fuzz_expect;

// A program goes by its text: what another version of the generators writes is not found.
uint64_t fuzz_program_key(const char *prelude, const char *program);
// False: it is not there, or no such file.
bool fuzz_expect_read(const char *path, fuzz_expect *e);
// NULL: nobody has judged it.
const uint64_t *fuzz_expect_find(const fuzz_expect *e, uint64_t program);
// A new file without rows; rows behind those that are there, in one piece: several processes write.
bool fuzz_expect_new(const char *path, const char *judges);
bool fuzz_expect_add(const char *path, const fuzz_expected *rows, size_t count);

#endif
