// NumPy's .npy files, versions 1 to 3: read into C order and this machine's byte order, written
// with a shape. Structured types are a list of named fields.
#ifndef KILN_NPY_H
#define KILN_NPY_H

#include "base/base.h"
#include "kiln/kiln.h"

enum { NPY_RANK = 16, NPY_FIELDS = 256, NPY_WHY = 320 };

typedef struct npy_field { // one scalar member of a record, or an array of them
    char path[96];         // "pos", "pos.x"
    kiln_type type;
    size_t offset, count;
    bool is_swapped; // in the file
} npy_field;

typedef struct npy {
    kiln_type type; // KILN_VOID: a record with fields, or raw bytes without
    size_t element_size, count;
    size_t shape[NPY_RANK]; // count is their product; rank 0 is one element
    int rank;
    npy_field *fields;
    size_t field_count;
    void *data; // all of it goes with npy_free
} npy;

// False: *why says what is wrong with the file.
bool npy_read(const char *path, npy *out, char why[NPY_WHY]);
// The same from memory.
bool npy_read_bytes(const void *bytes, size_t len, npy *out, char why[NPY_WHY]);
void npy_free(npy *n);

// Writes beside the target, then renames: a half-written file is never visible. `descr` is the
// element's type as Python writes it: "'<f4'" or a list of fields; NULL: the bytes alone, without a
// header.
bool npy_write(const char *path, const char *descr, const size_t *shape, int rank, const void *data,
               size_t bytes, char why[NPY_WHY]);
// "<f4" for f32. f16 is <f2; bf16 is <u2 and the 8-bit floats |u1, because NumPy has no such types.
const char *npy_code(kiln_type type);

#endif
