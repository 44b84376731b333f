// What the files of gguf share on the host.
#ifndef KILN_HOST_GGUF_H
#define KILN_HOST_GGUF_H

#include "kiln/ops.h"

#include "ops/op.h"

enum { GGUF_UNIT = 16 }; // elements that a lane decodes at once (blocks.h)

// The row of gguf.def; NULL: there is none, and the error is set. `call` is for the message.
typedef struct gguf_row {
    kiln_gguf_type type;
    kiln_gguf_format format;
    uint32_t run; // neighbouring elements of a unit
} gguf_row;
const gguf_row *gguf_row_of(kiln *k, const char *call, kiln_gguf_type type);

#endif
