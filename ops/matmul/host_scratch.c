// Memory that kiln_matmul uses between the kernels of one call.
#include "ops/matmul/host_matmul.h"
#include "ops/scratch.h"

#define KEPT_BYTES ((uint64_t)256 << 20) // more is made for one call and freed behind it

static kiln_status scratch_of(kiln *k, op_keeper keeper, kiln_stream *stream, uint64_t bytes,
                              kiln_buffer **out, bool *is_temporary)
{
    *is_temporary = bytes > KEPT_BYTES;
    if (!*is_temporary)
        return op_scratch_of(
            k,
            &(op_scratch){.keeper = keeper, .name = "kiln_matmul", .type = KILN_U8, .count = bytes},
            stream, out);
    return kiln_buffer_make(
        k,
        &(kiln_buffer_desc){
            .type = KILN_U8, .count = bytes, .is_not_zeroed = true, .name = "kiln_matmul"},
        out);
}

kiln_status matmul_scratch(kiln *k, kiln_stream *stream, uint64_t bytes, kiln_buffer **out,
                           bool *is_temporary)
{
    return scratch_of(k, OP_KEEP_MATMUL_SCRATCH, stream, bytes, out, is_temporary);
}

kiln_status matmul_outer_scratch(kiln *k, kiln_stream *stream, uint64_t bytes, kiln_buffer **out,
                                 bool *is_temporary)
{
    return scratch_of(k, OP_KEEP_MATMUL_SUMS, stream, bytes, out, is_temporary);
}
