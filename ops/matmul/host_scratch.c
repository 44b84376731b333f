// Memory that kiln_matmul uses between the kernels of one call. Work on one stream runs in order,
// so that each stream has one buffer, which grows; calls on other streams must not share it. Each
// capture has one of its own: its graph may run beside anything, and holds the buffer.
#include <stdlib.h>

#include "ops/matmul/host_matmul.h"

enum { SLOTS = 8 };
#define KEPT_BYTES ((uint64_t)256 << 20) // more is made for one call and freed behind it
#define UNIT_BYTES ((uint64_t)1 << 20)

typedef struct slot {
    uint64_t stream, capture; // 0: the device's own stream; no capture
    uint64_t used;            // when, by count of calls
    kiln_buffer *buffer;
} slot;

typedef struct scratch {
    slot slots[SLOTS];
    uint64_t calls;
} scratch;

static void *make_scratch(kiln *k)
{
    (void)k;
    return calloc(1, sizeof(scratch));
}

static void drop_scratch(void *kept)
{
    scratch *s = kept;
    for (size_t n = 0; n < SLOTS; n++)
        kiln_buffer_free(s->slots[n].buffer);
    free(s);
}

// That stream's, or the one that was not used for longest.
static slot *slot_of(scratch *s, uint64_t stream, uint64_t capture)
{
    slot *oldest = &s->slots[0];
    for (size_t n = 0; n < SLOTS; n++) {
        slot *x = &s->slots[n];
        if (x->buffer && x->stream == stream && x->capture == capture)
            return x;
        if (x->used < oldest->used)
            oldest = x;
    }
    return oldest;
}

static kiln_status make_buffer(kiln *k, uint64_t bytes, kiln_buffer **out)
{
    return kiln_buffer_make(
        k,
        &(kiln_buffer_desc){
            .type = KILN_U8, .count = bytes, .is_not_zeroed = true, .name = "kiln_matmul"},
        out);
}

kiln_status matmul_scratch(kiln *k, kiln_stream *stream, uint64_t bytes, kiln_buffer **out,
                           bool *is_temporary)
{
    scratch *s = op_keep(k, OP_KEEP_MATMUL_SCRATCH, make_scratch, drop_scratch);
    *is_temporary = !s || bytes > KEPT_BYTES;
    if (*is_temporary)
        return make_buffer(k, bytes, out);
    uint64_t id = stream ? stream->id : 0,
             capture = stream && stream->is_capturing ? stream->captures : 0;
    slot *x = slot_of(s, id, capture);
    bool is_same = x->buffer && x->stream == id && x->capture == capture;
    if (!is_same || kiln_buffer_count(x->buffer) < bytes) {
        kiln_buffer_free(x->buffer); // the work that uses it goes on
        *x = (slot){.stream = id, .capture = capture};
        kiln_status status =
            make_buffer(k, (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES, &x->buffer);
        if (status)
            return status;
    }
    x->used = ++s->calls;
    *out = x->buffer;
    return KILN_OK;
}
