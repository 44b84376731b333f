// Memory that an op uses between the kernels, or the blocks, of one call.
#ifndef KILN_OPS_SCRATCH_H
#define KILN_OPS_SCRATCH_H

#include "ops/op.h"

typedef struct op_scratch {
    op_keeper keeper; // under which the buffers of this op are kept
    const char *name; // the op's, for messages
    kiln_type type;   // of the buffer's elements
    uint64_t count;   // at least so many elements
    uint64_t zeros;   // so many of the first ones are zeros when the buffer is new
} op_scratch;

// The stream's buffer, free for the next call on that stream. It begins at a multiple of 256 bytes.
kiln_status op_scratch_of(kiln *k, const op_scratch *want, kiln_stream *stream, kiln_buffer **out);

#endif
