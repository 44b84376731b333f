// Streams and events of a GPU. Every stream has a slot in mapped memory where the GPU writes how
// many of its launches have ended.
#include "dev/cuda/cuda.h"

#include <stdlib.h>

kiln_status cuda_stream_open(kiln *k, cuda_stream *s, int priority)
{
    cuda_device *d = cuda_of(k);
    uint32_t slot = 0;
    while (slot < CUDA_STREAM_LIMIT && d->slot_used[slot])
        slot++;
    if (slot == CUDA_STREAM_LIMIT)
        return error_set(k, KILN_E_NO_MEMORY, K6004, "%d streams are open: no more are possible",
                         CUDA_STREAM_LIMIT);
    cu_result r = CU_OK;
    if (!s->is_foreign)
        r = d->cu->stream_create(&s->native, CU_STREAM_NON_BLOCKING, priority);
    if (r)
        return cuda_fail(k, r, "making a stream");
    d->slot_used[slot] = true;
    d->marks[slot] = 0;
    s->slot = slot;
    if (s != &d->main) {
        s->next = d->main.next;
        d->main.next = s;
    }
    return KILN_OK;
}

// `native`: the foreign stream, where there is one.
static kiln_status make_stream(kiln_stream *s, int priority, bool is_foreign, void *native)
{
    kiln_status status = cuda_ready(s->k);
    cuda_stream *c = status ? NULL : calloc(1, sizeof *c);
    if (!c)
        return status ? status : error_no_memory(s->k, "a stream");
    c->handle = s;
    c->is_foreign = is_foreign;
    memcpy(&c->native, &native, sizeof native);
    s->dev = c;
    status = cuda_stream_open(s->k, c, priority);
    if (status)
        free(c);
    return status;
}

kiln_status cuda_stream_new(kiln_stream *s, int priority)
{
    return make_stream(s, priority, false, NULL);
}

kiln_status cuda_stream_wrap(kiln_stream *s, void *native)
{
    return make_stream(s, 0, true, native);
}

void cuda_stream_close(cuda_device *d, cuda_stream *s)
{
    cuda_enter(d);
    if (cuda_is_capturing(s)) {
        cu_graph unfinished = NULL;
        d->cu->capture_end(s->native, &unfinished);
        if (unfinished)
            d->cu->graph_destroy(unfinished);
    }
    // Others may be capturing their stream: what it will write to the slot is still to come.
    int mode = cuda_relax(d->cu);
    bool is_busy = s->is_foreign && (cuda_is_captured(d->cu, s) || d->cu->stream_sync(s->native));
    if (!s->is_foreign) {
        d->cu->stream_sync(s->native); // its slot may be given to another
        d->cu->stream_destroy(s->native);
    }
    cuda_strict(d->cu, mode);
    d->slot_used[s->slot] = is_busy;
}

void cuda_stream_free(kiln_stream *s)
{
    cuda_device *d = cuda_of(s->k);
    cuda_stream *c = s->dev, *before = &d->main;
    cuda_stream_close(d, c);
    while (before->next != c)
        before = before->next;
    before->next = c->next;
    free(c);
}

kiln_status cuda_stream_is_done(kiln_stream *s, bool *is_done)
{
    kiln_status status = cuda_ready(s->k);
    if (status)
        return status;
    cu_result r = cuda_of(s->k)->cu->stream_query(cuda_stream_of(s->k, s)->native);
    *is_done = r == CU_OK;
    return r == CU_OK || r == CU_NOT_READY ? KILN_OK : cuda_fail(s->k, r, "asking a stream");
}

static void notify(void *descriptor) // by a thread of the driver
{
    rt_notify((int)(intptr_t)descriptor);
}

kiln_status cuda_stream_notify(kiln *k, kiln_stream *s, int descriptor)
{
    cuda_device *d = cuda_of(k);
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    if (!d->cu->launch_host)
        return cuda_no_entry(k, "kiln_stream_notify");
    cu_result r = d->cu->launch_host(cuda_stream_of(k, s)->native, notify,
                                     (void *)(intptr_t)descriptor); // NOLINT
    return r ? cuda_fail(k, r, "asking for a note of a stream's end") : KILN_OK;
}

kiln_status cuda_stream_wait(kiln_stream *s, const kiln_event *e)
{
    kiln_status status = cuda_ready(s->k);
    if (status)
        return status;
    cu_result r = cuda_of(s->k)->cu->stream_wait(cuda_stream_of(s->k, s)->native, e->dev, 0);
    return r ? cuda_fail(s->k, r, "making a stream wait") : KILN_OK;
}

kiln_status cuda_event_new(kiln_event *e)
{
    kiln_status status = cuda_ready(e->k);
    if (status)
        return status;
    cu_event made = NULL;
    cu_result r = cuda_of(e->k)->cu->event_create(&made, 0);
    e->dev = made;
    return r ? cuda_fail(e->k, r, "making an event") : KILN_OK;
}

void cuda_event_free(kiln_event *e)
{
    cuda_enter(cuda_of(e->k));
    cuda_of(e->k)->cu->event_destroy(e->dev);
}

kiln_status cuda_event_record(kiln_event *e, kiln_stream *s)
{
    kiln_status status = cuda_ready(e->k);
    if (status)
        return status;
    cuda_device *d = cuda_of(e->k);
    cu_result r = d->cu->event_record(e->dev, cuda_stream_of(e->k, s)->native);
    return r ? cuda_fail(e->k, r, "recording an event") : KILN_OK;
}

kiln_status cuda_event_sync(kiln_event *e)
{
    kiln_status status = cuda_ready(e->k);
    if (status)
        return status;
    cu_result r = cuda_of(e->k)->cu->event_sync(e->dev);
    return r ? cuda_fail(e->k, r, "waiting for an event") : KILN_OK;
}

kiln_status cuda_event_elapsed(const kiln_event *start, const kiln_event *end, double *ms)
{
    kiln_status status = cuda_ready(start->k);
    if (status)
        return status;
    float took = 0;
    cu_result r = cuda_of(start->k)->cu->event_elapsed(&took, start->dev, end->dev);
    *ms = (double)took;
    if (r == CU_NOT_READY)
        return error_set(start->k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_event_elapsed: the work before one of the events is not done");
    return r ? cuda_fail(start->k, r, "measuring the time between events") : KILN_OK;
}
