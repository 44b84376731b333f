// Scatters, for the ops that have or need one (ops/scatter, the gradients of ops/gather and
// ops/embedding): out[index] = out[index] + source, and the like.
#ifndef KILN_OP_SCATTERED_H
#define KILN_OP_SCATTERED_H

#include "kiln/ops.h"

#include "ops/operands.h"

typedef struct op_scatter {
    const kiln_view *index, *source, *out, *workspace;
    const char *source_name, *out_name; // for messages
    kiln_index_form form;
    uint32_t axis;
    kiln_scatter_op how;
    bool is_from_zero; // what out has is not read
    bool has_ignored;
    int64_t ignored; // this index belongs to no element
    kiln_stream *stream;
} op_scatter;

kiln_status op_scatter_workspace(kiln *k, const char *call, const op_scatter *s,
                                 uint64_t *elements);
kiln_status op_scatter_run(kiln *k, const char *call, const op_scatter *s);

#endif
