// Values of kernel arguments as the command line writes them: 64K, 0x1p-3, inf, [1,2,3],
// [[1,2],[3,4]], {mass=2,pos=[1,2,3]}, 3x4. Text in, bytes out.
#ifndef KILN_VALUE_H
#define KILN_VALUE_H

#include "cli/layout.h"
#include "cli/npy.h"

enum { VALUE_WHY = 320 };

typedef struct value_shape {
    size_t size[NPY_RANK];
    int rank;
    size_t count; // the product
} value_shape;

typedef struct value_list {
    unsigned char *bytes; // free
    value_shape shape;
} value_list;

// One scalar: integers with K, M, G for powers of 1024, exact numbers such as 1e6, true, false;
// floats as C writes them, inf and nan. False: why says what is wrong; nothing is rounded to fit.
bool value_scalar(kiln_type type, const char *word, void *to, char why[VALUE_WHY]);
// All of `word` as one value of that layout: a scalar, [..] for arrays, vectors and the members of
// structs in order, {name=value,...} for some members (the others stay as they are).
bool value_read(const layout *l, const char *word, void *to, char why[VALUE_WHY]);
// "[1,2,3]" as elements of a buffer; nested lists give it a shape. A flat list of numbers fills
// vectors too. "\"text\"" fills bytes.
bool value_read_list(const layout *element, const char *word, value_list *out, char why[VALUE_WHY]);
// "1M", "3x4".
bool value_read_shape(const char *word, size_t len, value_shape *out);

#endif
