// Memory that an op uses between the kernels, or the blocks, of one call. Work on one stream runs
// in order, so that each stream has one buffer, which grows; calls on other streams must not share
// it. Each capture has one of its own: its graph may run beside anything, and holds the buffer. A
// graph of somebody else (PyTorch) holds nothing: buffers of such captures stay until kiln_close.
#include "ops/scratch.h"

#include <stdlib.h>

enum { SLOTS = 8 };
#define UNIT_BYTES ((uint64_t)1 << 20)

typedef struct slot {
    uint64_t stream, capture; // 0: the device's own stream; no capture
    uint64_t used;            // when, by count of calls
    kiln_buffer *buffer;
} slot;

typedef struct held_slot {
    struct held_slot *next;
    slot slot;
} held_slot;

typedef struct kept_slots {
    slot slots[SLOTS];
    held_slot *held; // of captures that others began
    uint64_t calls;
} kept_slots;

static void *make_slots(kiln *k)
{
    (void)k;
    return calloc(1, sizeof(kept_slots));
}

static void drop_slots(void *kept)
{
    kept_slots *s = kept;
    for (size_t n = 0; n < SLOTS; n++)
        kiln_buffer_free(s->slots[n].buffer);
    while (s->held) {
        held_slot *next = s->held->next;
        kiln_buffer_free(s->held->slot.buffer);
        free(s->held);
        s->held = next;
    }
    free(s);
}

// That stream's, or the one that was not used for longest.
static slot *slot_of(kept_slots *s, uint64_t stream, uint64_t capture)
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

// A buffer whose zeros are there by the time that the stream's next work runs.
static kiln_status make_buffer(kiln *k, const op_scratch *want, kiln_stream *stream,
                               kiln_buffer **out)
{
    const uint64_t zero = 0;
    uint64_t unit = UNIT_BYTES / kiln_type_size(want->type);
    kiln_buffer_desc desc = {.type = want->type,
                             .count = (want->count + unit - 1) / unit * unit,
                             .is_not_zeroed = true,
                             .name = want->name};
    kiln_status status = kiln_buffer_make(k, &desc, out);
    if (!status && want->zeros)
        status = kiln_fill_async(*out, 0, want->zeros, &zero, stream);
    if (status) {
        kiln_buffer_free(*out);
        *out = NULL;
    }
    return status;
}

// The buffer of a capture that somebody else began; one that is too small is left to it.
static kiln_status held_of(kiln *k, kept_slots *s, const op_scratch *want, kiln_stream *stream,
                           uint64_t capture, kiln_buffer **out)
{
    for (held_slot *h = s->held; h; h = h->next)
        if (h->slot.stream == stream->id && h->slot.capture == capture &&
            kiln_buffer_count(h->slot.buffer) >= want->count) {
            *out = h->slot.buffer;
            return KILN_OK;
        }
    held_slot *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory(k, want->name);
    *made = (held_slot){.next = s->held, .slot = {.stream = stream->id, .capture = capture}};
    kiln_status status = make_buffer(k, want, stream, &made->slot.buffer);
    if (status) {
        free(made);
        return status;
    }
    s->held = made;
    *out = made->slot.buffer;
    return KILN_OK;
}

kiln_status op_scratch_of(kiln *k, const op_scratch *want, kiln_stream *stream, kiln_buffer **out)
{
    kept_slots *s = op_keep(k, want->keeper, make_slots, drop_slots);
    if (!s)
        return error_no_memory(k, want->name);
    uint64_t others = stream && k->ops->capture_of_others ? k->ops->capture_of_others(stream) : 0;
    if (others)
        return held_of(k, s, want, stream, others, out);
    uint64_t id = stream ? stream->id : 0,
             capture = stream && stream->is_capturing ? stream->captures : 0;
    slot *x = slot_of(s, id, capture);
    bool is_same = x->buffer && x->stream == id && x->capture == capture;
    if (!is_same || kiln_buffer_count(x->buffer) < want->count) {
        kiln_buffer_free(x->buffer); // the work that uses it goes on
        *x = (slot){.stream = id, .capture = capture};
        kiln_status status = make_buffer(k, want, stream, &x->buffer);
        if (status)
            return status;
    }
    x->used = ++s->calls;
    *out = x->buffer;
    return KILN_OK;
}
