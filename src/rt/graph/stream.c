// Streams, events and graphs: the public calls check their handles, the device does the rest.
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "rt/host/host.h"

// Makes a handle of `kind` in *item for context `k`.
static kiln_status start(kiln *k, handle_kind kind, const void *out, void **item, const char *what)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!out)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "there is no place for the handle of %s (out is NULL)", what);
    *item = handle_new(kind);
    return *item ? KILN_OK : error_no_memory(k, what);
}

static kiln_status capturing(const kiln_stream *s, const char *call)
{
    return error_set(s->k, KILN_E_BAD_ARGUMENT, K6037, "%s: the stream's work is being captured",
                     call);
}

kiln_status stream_check(kiln *k, const kiln_stream *s)
{
    if (!s)
        return KILN_OK;
    if (!handle_is(HANDLE_STREAM, s))
        return error_bad_handle(HANDLE_STREAM, s);
    return s->k == k ? KILN_OK
                     : error_set(k, KILN_E_BAD_ARGUMENT, K6014,
                                 "the stream belongs to another kiln handle");
}

// --- streams
kiln_status kiln_stream_new(kiln *k, int priority, kiln_stream **out)
{
    void *item;
    if (out)
        *out = NULL;
    kiln_status status = start(k, HANDLE_STREAM, out, &item, "a stream");
    if (status)
        return status;
    kiln_stream *s = item;
    s->k = k;
    status = k->ops->stream_new(s, priority);
    if (status) {
        handle_free(HANDLE_STREAM, s);
        return status;
    }
    LIST_ADD(k->streams, s);
    *out = s;
    return KILN_OK;
}

kiln_status kiln_stream_wrap(kiln *k, void *native, kiln_stream **out)
{
    void *item;
    if (out)
        *out = NULL;
    kiln_status status = start(k, HANDLE_STREAM, out, &item, "a stream");
    if (status)
        return status;
    kiln_stream *s = item;
    s->k = k;
    status = k->ops->stream_wrap
                 ? k->ops->stream_wrap(s, native)
                 : error_set(k, KILN_E_UNSUPPORTED, K6038,
                             "%s has no foreign streams: its work is done when a call returns",
                             k->device);
    if (status) {
        handle_free(HANDLE_STREAM, s);
        return status;
    }
    LIST_ADD(k->streams, s);
    *out = s;
    return KILN_OK;
}

void stream_drop(kiln_stream *s)
{
    uses_free(&s->uses);
    s->k->ops->stream_free(s);
    handle_free(HANDLE_STREAM, s);
}

static void free_stream(void *stream)
{
    kiln_stream *s = stream;
    LIST_REMOVE(s->k->streams, s);
    stream_drop(s);
}

void kiln_stream_free(kiln_stream *s)
{
    if (handle_can_free(HANDLE_STREAM, s) && !context_keeps(s->k, &s->late, free_stream, s))
        free_stream(s);
}

kiln_status kiln_stream_sync(kiln_stream *s)
{
    if (!handle_is(HANDLE_STREAM, s))
        return error_bad_handle(HANDLE_STREAM, s);
    if (s->is_capturing)
        return capturing(s, "kiln_stream_sync");
    kiln_status status = context_may_wait(s->k, "kiln_stream_sync");
    return status ? status : s->k->ops->sync(s->k, s);
}

kiln_status kiln_stream_is_done(kiln_stream *s, bool *is_done)
{
    if (!handle_is(HANDLE_STREAM, s))
        return error_bad_handle(HANDLE_STREAM, s);
    if (!is_done)
        return error_set(s->k, KILN_E_BAD_ARGUMENT, K6003, "kiln_stream_is_done: is_done is NULL");
    return s->is_capturing ? capturing(s, "kiln_stream_is_done")
                           : s->k->ops->stream_is_done(s, is_done);
}

void rt_notify(int descriptor)
{
    uint64_t one = 1;
    ssize_t put;
    do
        put = write(descriptor, &one, sizeof one);
    while (put < 0 && errno == EINTR);
}

kiln_status kiln_stream_notify(kiln *k, kiln_stream *s, int descriptor)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    kiln_status status = stream_check(k, s);
    if (status)
        return status;
    if (descriptor < 0)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_stream_notify: %d is no file descriptor", descriptor);
    if (s && s->is_capturing)
        return capturing(s, "kiln_stream_notify");
    if (!k->ops->stream_notify)
        return error_set(k, KILN_E_UNSUPPORTED, K6038,
                         "%s cannot write to a descriptor when a stream's work has ended\n"
                         "  ask with kiln_stream_is_done, or wait with kiln_stream_sync",
                         k->device);
    return k->ops->stream_notify(k, s, descriptor);
}

kiln_status kiln_stream_wait(kiln_stream *s, const kiln_event *e)
{
    if (!handle_is(HANDLE_STREAM, s))
        return error_bad_handle(HANDLE_STREAM, s);
    if (!handle_is(HANDLE_EVENT, e))
        return error_bad_handle(HANDLE_EVENT, e);
    if (!e->is_recorded)
        return error_set(s->k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_stream_wait: the event was never recorded");
    return s->k->ops->stream_wait(s, e);
}

void *kiln_stream_native(kiln *k, kiln_stream *s)
{
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return NULL;
    }
    if (stream_check(k, s))
        return NULL;
    return k->ops->stream_native ? k->ops->stream_native(k, s) : NULL;
}

// --- events
kiln_status kiln_event_new(kiln *k, kiln_event **out)
{
    void *item;
    if (out)
        *out = NULL;
    kiln_status status = start(k, HANDLE_EVENT, out, &item, "an event");
    if (status)
        return status;
    kiln_event *e = item;
    e->k = k;
    status = k->ops->event_new(e);
    if (status) {
        handle_free(HANDLE_EVENT, e);
        return status;
    }
    LIST_ADD(k->events, e);
    *out = e;
    return KILN_OK;
}

void event_drop(kiln_event *e)
{
    e->k->ops->event_free(e);
    handle_free(HANDLE_EVENT, e);
}

void kiln_event_free(kiln_event *e)
{
    if (!handle_can_free(HANDLE_EVENT, e))
        return;
    LIST_REMOVE(e->k->events, e);
    event_drop(e);
}

kiln_status kiln_event_record(kiln_event *e, kiln_stream *s)
{
    if (!handle_is(HANDLE_EVENT, e))
        return error_bad_handle(HANDLE_EVENT, e);
    kiln_status status = stream_check(e->k, s);
    if (!status)
        status = e->k->ops->event_record(e, s);
    e->is_recorded = e->is_recorded || !status;
    return status;
}

kiln_status kiln_event_sync(kiln_event *e)
{
    if (!handle_is(HANDLE_EVENT, e))
        return error_bad_handle(HANDLE_EVENT, e);
    if (!e->is_recorded)
        return error_set(e->k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_event_sync: the event was never recorded");
    kiln_status status = context_may_wait(e->k, "kiln_event_sync");
    return status ? status : e->k->ops->event_sync(e);
}

kiln_status kiln_event_elapsed(const kiln_event *from, const kiln_event *to, double *ms)
{
    if (!handle_is(HANDLE_EVENT, from) || !handle_is(HANDLE_EVENT, to))
        return error_bad_handle(HANDLE_EVENT,
                                handle_is(HANDLE_EVENT, from) ? (const void *)to : from);
    if (!ms || !from->is_recorded || !to->is_recorded || from->k != to->k)
        return error_set(from->k, KILN_E_BAD_ARGUMENT, K6003,
                         !ms ? "kiln_event_elapsed: ms is NULL"
                             : "kiln_event_elapsed: both events must have been recorded on the "
                               "same kiln handle");
    return from->k->ops->event_elapsed(from, to, ms);
}

// --- graphs
static kiln_status new_graph(kiln *k, kiln_graph **out)
{
    void *item;
    if (out)
        *out = NULL;
    kiln_status status = start(k, HANDLE_GRAPH, out, &item, "a graph");
    if (status)
        return status;
    *out = item;
    (*out)->k = k;
    return KILN_OK;
}

kiln_status kiln_capture_begin(kiln_stream *s)
{
    if (!handle_is(HANDLE_STREAM, s))
        return error_bad_handle(HANDLE_STREAM, s);
    if (s->is_capturing)
        return capturing(s, "kiln_capture_begin");
    s->captures++;
    return s->k->ops->capture_begin(s);
}

static kiln_status not_capturing(kiln_stream *s, const char *call)
{
    return error_set(s->k, KILN_E_BAD_ARGUMENT, K6037, "%s: no capture was begun on this stream",
                     call);
}

kiln_status kiln_capture_end(kiln_stream *s, kiln_graph **out)
{
    if (out)
        *out = NULL;
    if (!handle_is(HANDLE_STREAM, s))
        return error_bad_handle(HANDLE_STREAM, s);
    if (!s->is_capturing)
        return not_capturing(s, "kiln_capture_end");
    kiln_graph *g = NULL;
    kiln_status status =
        out ? new_graph(s->k, &g)
            : error_set(s->k, KILN_E_BAD_ARGUMENT, K6003, "kiln_capture_end: out is NULL");
    if (status)
        return status;
    graph_uses uses = s->uses;
    s->uses = (graph_uses){0};
    status = s->k->ops->capture_end(s, g, false);
    if (status) {
        uses_free(&uses);
        s->k->ops->graph_free(g);
        handle_free(HANDLE_GRAPH, g);
        return status;
    }
    g->uses = uses;
    LIST_ADD(s->k->graphs, g);
    *out = g;
    return KILN_OK;
}

static kiln_status check_graph(const kiln_graph *g)
{
    return handle_is(HANDLE_GRAPH, g) ? KILN_OK : error_bad_handle(HANDLE_GRAPH, g);
}

static kiln_status check_use(const kiln_graph *g, const graph_use *use)
{
    if (handle_id((handle_kind)use->kind, use->handle) == use->id)
        return KILN_OK;
    return error_set(g->k, KILN_E_BAD_HANDLE, K6002,
                     use->kind == HANDLE_MODULE
                         ? "the graph's work uses a module that was freed: free the graph first, "
                           "or make it again"
                         : "the graph's work uses a buffer of a kiln handle that was closed: free "
                           "the graph first, or make it again");
}

kiln_status kiln_capture_update(kiln_stream *s, kiln_graph *g)
{
    if (!handle_is(HANDLE_STREAM, s))
        return error_bad_handle(HANDLE_STREAM, s);
    kiln_status status = check_graph(g);
    if (status)
        return status;
    if (!s->is_capturing)
        return not_capturing(s, "kiln_capture_update");
    if (g->k != s->k || g->is_by_hand)
        return error_set(
            s->k, KILN_E_BAD_ARGUMENT, K6003,
            "kiln_capture_update: the graph must come from a capture on the same kiln handle");
    graph_uses uses = s->uses;
    s->uses = (graph_uses){0};
    status = s->k->ops->capture_end(s, g, true);
    uses_free(status ? &uses : &g->uses);
    if (!status)
        g->uses = uses;
    return status;
}

kiln_status kiln_graph_new(kiln *k, kiln_graph **out)
{
    kiln_graph *g = NULL;
    kiln_status status = new_graph(k, out ? &g : NULL);
    if (status)
        return status;
    g->is_by_hand = true;
    status = k->ops->graph_new(g);
    if (status) {
        handle_free(HANDLE_GRAPH, g);
        return status;
    }
    LIST_ADD(k->graphs, g);
    *out = g;
    return KILN_OK;
}

// Checks the launch of a node; on success *args must be freed.
static kiln_status check_node(kiln_graph *g, kiln_kernel *kernel, const kiln_launch_desc *desc,
                              rt_arg **args, rt_launch *launch)
{
    if (!g->is_by_hand)
        return error_set(g->k, KILN_E_BAD_ARGUMENT, K6003,
                         "this graph comes from a capture: kiln_capture_update changes it");
    if (kernel->module->k != g->k || !desc)
        return error_set(g->k, KILN_E_BAD_ARGUMENT, K6003,
                         desc ? "the kernel belongs to another kiln handle"
                              : "the launch's description is NULL");
    *args = calloc(kernel->param_count + 1, sizeof **args);
    if (!*args)
        return error_no_memory(g->k, "the arguments of a launch");
    bool is_empty;
    kiln_status status = launch_check(kernel, desc, *args, launch, &is_empty);
    if (!status && is_empty)
        status = error_set(g->k, KILN_E_BAD_ARGUMENT, K6015,
                           "a graph's node must have at least one block");
    if (status)
        free(*args);
    return status;
}

kiln_status kiln_graph_add(kiln_graph *g, kiln_kernel *kernel, const kiln_launch_desc *desc,
                           const size_t *after, size_t after_count, size_t *node)
{
    rt_arg *args;
    rt_launch launch = {0};
    kiln_status status = check_graph(g);
    if (status)
        return status;
    if (!handle_is(HANDLE_KERNEL, kernel))
        return error_bad_handle(HANDLE_KERNEL, kernel);
    for (size_t n = 0; n < after_count; n++)
        if (!after || after[n] >= g->node_count)
            return error_set(g->k, KILN_E_BAD_ARGUMENT, K6003,
                             "kiln_graph_add: after[%zu] is no node of this graph", n);
    status = check_node(g, kernel, desc, &args, &launch);
    if (status)
        return status;
    status = g->k->ops->graph_add(g, kernel, &launch, after, after_count);
    free(args);
    if (!status &&
        !uses_add_launch(&g->uses, kernel, desc->args, desc->arg_count, g->node_count - 1))
        status = error_no_memory(g->k, "a graph");
    if (!status && node)
        *node = g->node_count - 1;
    return status;
}

kiln_status kiln_graph_set(kiln_graph *g, size_t node, const kiln_launch_desc *desc)
{
    rt_arg *args;
    rt_launch launch = {0};
    kiln_status status = check_graph(g);
    if (status)
        return status;
    if (node >= g->node_count)
        return error_set(g->k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_graph_set: node %zu of a graph of %zu", node, g->node_count);
    kiln_kernel *kernel = g->is_by_hand ? g->k->ops->graph_kernel(g, node) : NULL;
    if (!kernel)
        return error_set(g->k, KILN_E_BAD_ARGUMENT, K6003,
                         "this graph comes from a capture: kiln_capture_update changes it");
    for (size_t n = 0; n < g->uses.len; n++)
        if (g->uses.at[n].node == node && g->uses.at[n].kind == HANDLE_MODULE)
            status = check_use(g, &g->uses.at[n]);
    if (status)
        return status;
    status = check_node(g, kernel, desc, &args, &launch);
    if (status)
        return status;
    status = g->k->ops->graph_set(g, node, &launch);
    free(args);
    if (!status) {
        uses_drop_node(&g->uses, node);
        if (!uses_add_launch(&g->uses, kernel, desc->args, desc->arg_count, node))
            status = error_no_memory(g->k, "a graph");
    }
    return status;
}

kiln_status kiln_graph_launch(kiln_graph *g, kiln_stream *s)
{
    kiln_status status = check_graph(g);
    if (!status)
        status = stream_check(g->k, s);
    const graph_use *dead = status ? NULL : uses_find_dead(&g->uses);
    if (dead)
        status = check_use(g, dead);
    if (!status)
        status = context_may_use(g->k, "kiln_graph_launch");
    for (size_t n = 0; !status && n < g->uses.len; n++) // host functions may be others than before
        if (g->uses.at[n].kernel && g->uses.at[n].kernel->talks)
            status = host_check(g->uses.at[n].kernel);
    return status ? status : g->k->ops->graph_launch(g, s);
}

size_t kiln_graph_node_count(const kiln_graph *g)
{
    return check_graph(g) ? 0 : g->node_count;
}

void graph_drop(kiln_graph *g)
{
    uses_free(&g->uses);
    g->k->ops->graph_free(g);
    handle_free(HANDLE_GRAPH, g);
}

static void free_graph(void *graph)
{
    kiln_graph *g = graph;
    LIST_REMOVE(g->k->graphs, g);
    graph_drop(g);
}

void kiln_graph_free(kiln_graph *g)
{
    if (g && !check_graph(g) && !context_keeps(g->k, &g->late, free_graph, g))
        free_graph(g);
}
