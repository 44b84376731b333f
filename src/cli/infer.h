// What a launch needs and its user did not say, from the kernel's IR and the arguments that are
// known: how many blocks cover the work, how long buffers must be, what a size is. Nothing is
// guessed from names; what cannot be known stays unknown.
#ifndef KILN_INFER_H
#define KILN_INFER_H

#include "ir/ir.h"

enum { INFER_TEXT = 160 };

typedef struct infer_arg { // one parameter of the kernel, in order
    bool is_known;         // scalar: `value` is set; buffer: `bytes` is
    int64_t value;
    uint64_t bytes;
    const size_t *sizes; // buffer: its shape, `rank` of them; NULL: not known
    int rank;
    int64_t element_bytes;
    bool is_integer;               // an integer scalar
    const unsigned char *bytes_at; // a struct: what is in it, `bytes` of them; NULL: not known
} infer_arg;

typedef struct infer_axis {
    bool is_known;
    bool is_guess; // from the length of a buffer: no comparison in the kernel says so
    uint64_t blocks;
    char because[INFER_TEXT]; // "one thread for each of the 5166 elements of text"
} infer_axis;

// An unknown integer that bounds an index into buffers of known length: its value and why. False:
// nothing says what it is.
bool infer_scalar(const ir_func *f, arena *a, const infer_arg *args, const uint32_t block[3],
                  uint32_t param, int64_t *value, char because[INFER_TEXT]);
// The same from the shapes of buffers: the number of columns that rows are apart, the bound of an
// index along a dimension. False also when two shapes contradict each other.
bool infer_from_shapes(const ir_func *f, arena *a, const infer_arg *args, const uint32_t block[3],
                       uint32_t param, int64_t *value, char because[INFER_TEXT]);
// The blocks along each axis: from comparisons of an index that depends on the block with something
// known, else from the buffers that such an index goes into; one where the kernel does not ask for
// its block.
void infer_grid(const ir_func *f, arena *a, const infer_arg *args, const uint32_t block[3],
                infer_axis axes[3]);
// Does the parameter take part in comparisons or products, as a size does?
bool infer_is_size(const ir_func *f, uint32_t param);
// The bytes that the kernel reaches behind pointer parameter `param` with that grid. False: an
// index depends on data or is not bounded.
bool infer_bytes(const ir_func *f, arena *a, const infer_arg *args, const uint32_t block[3],
                 const uint32_t grid[3], uint32_t param, uint64_t *bytes);

#endif
