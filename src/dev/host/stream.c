// Streams and events of devices whose work is done when its call returns.
#include <stdlib.h>
#include <time.h>

#include "dev/host/host.h"

typedef struct host_event {
    double seconds;
} host_event;

kiln_status host_sync(kiln *k, kiln_stream *s)
{
    (void)k;
    (void)s;
    return KILN_OK;
}

kiln_status host_stream_new(kiln_stream *s, int priority)
{
    (void)s;
    (void)priority;
    return KILN_OK;
}

kiln_status host_stream_is_done(kiln_stream *s, bool *is_done)
{
    (void)s;
    *is_done = true;
    return KILN_OK;
}

kiln_status host_stream_notify(kiln *k, kiln_stream *s, int descriptor)
{
    (void)k, (void)s;
    rt_notify(descriptor);
    return KILN_OK;
}

kiln_status host_stream_wait(kiln_stream *s, const kiln_event *e)
{
    (void)s;
    (void)e;
    return KILN_OK;
}

kiln_status host_event_new(kiln_event *e)
{
    e->dev = calloc(1, sizeof(host_event));
    return e->dev ? KILN_OK : error_no_memory(e->k, "an event");
}

void host_event_free(kiln_event *e)
{
    free(e->dev);
}

kiln_status host_event_record(kiln_event *e, kiln_stream *s)
{
    (void)s;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    ((host_event *)e->dev)->seconds = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
    return KILN_OK;
}

kiln_status host_event_sync(kiln_event *e)
{
    (void)e;
    return KILN_OK;
}

kiln_status host_event_elapsed(const kiln_event *start, const kiln_event *end, double *ms)
{
    const host_event *from = start->dev, *to = end->dev;
    *ms = (to->seconds - from->seconds) * 1e3;
    return KILN_OK;
}
