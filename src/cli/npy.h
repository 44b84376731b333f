// NumPy's .npy files, version 1 to 3, little-endian, C order: read whole, write flat.
#ifndef KILN_NPY_H
#define KILN_NPY_H

#include "base/base.h"
#include "kiln/kiln.h"

typedef struct npy {
    kiln_type type; // KILN_VOID: a type of another name (kind V, S …) of element_size bytes
    size_t element_size, count;
    void *data; // free with npy_free
} npy;

// False: *why says what is wrong (a static or formatted text, at most 256 bytes).
bool npy_read(const char *path, npy *out, char why[256]);
void npy_free(npy *n);
// f16 is written as <f2; bf16 and the 8-bit floats as raw unsigned integers; KILN_VOID as |V<size>.
bool npy_write(const char *path, kiln_type type, size_t element_size, size_t count,
               const void *data, char why[256]);

#endif
