// Memory that the blocks of decode.c hand their results over in: tickets, of which each launch
// leaves zeros behind, then numbers. Work on one stream runs in order, so that each stream has one
// buffer, which grows; a capture has one of its own: its graph may run beside anything.
#include <stdlib.h>

#include "ops/attention/host_attention.h"

enum { SLOTS = 8 };
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

// A buffer whose tickets are zeros by the time that the stream's next work runs.
static kiln_status make_buffer(kiln *k, kiln_stream *stream, uint64_t bytes, kiln_buffer **out)
{
    const uint32_t zero = 0;
    kiln_status status = kiln_buffer_make(
        k,
        &(kiln_buffer_desc){.type = KILN_U32,
                            .count = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES / 4,
                            .is_not_zeroed = true,
                            .name = "kiln_attention_forward"},
        out);
    if (status)
        return status;
    status = kiln_fill_async(*out, 0, DECODE_TICKETS, &zero, stream);
    if (status) {
        kiln_buffer_free(*out);
        *out = NULL;
    }
    return status;
}

kiln_status attention_scratch(kiln *k, kiln_stream *stream, uint64_t bytes, kiln_buffer **out)
{
    scratch *s = op_keep(k, OP_KEEP_ATTENTION_SCRATCH, make_scratch, drop_scratch);
    if (!s)
        return error_no_memory(k, "kiln_attention_forward");
    uint64_t id = stream ? stream->id : 0,
             capture = stream && stream->is_capturing ? stream->captures : 0;
    slot *x = slot_of(s, id, capture);
    bool is_same = x->buffer && x->stream == id && x->capture == capture;
    if (!is_same || kiln_buffer_count(x->buffer) * 4 < bytes) {
        kiln_buffer_free(x->buffer); // the work that uses it goes on
        *x = (slot){.stream = id, .capture = capture};
        kiln_status status = make_buffer(k, stream, bytes, &x->buffer);
        if (status)
            return status;
    }
    x->used = ++s->calls;
    *out = x->buffer;
    return KILN_OK;
}
