// Graphs of devices that have none of their own: a capture keeps the calls, and launching the graph
// makes them again, in order.
#include "rt/graph/capture.h"

#include <stdlib.h>

typedef enum call_kind { CALL_LAUNCH, CALL_COPY, CALL_FILL } call_kind;
typedef struct call {
    call_kind kind;
    kiln_kernel *kernel;
    rt_launch launch;
    rt_copy copy;
    kiln_buffer *buffer;
    size_t first, count;
    void *owned; // arguments with the structs behind them, or the element
} call;

typedef struct call_list { // what a graph keeps; NULL: no call yet
    size_t cap;
    call calls[];
} call_list;

static call *call_at(const kiln_graph *g, size_t index)
{
    return &((call_list *)g->dev)->calls[index];
}

static kiln_status add_call(kiln_graph *g, call r)
{
    call_list *list = g->dev;
    if (!list || g->node_count == list->cap) {
        size_t cap = list ? list->cap * 2 : 16;
        call_list *grown = realloc(list, sizeof *grown + cap * sizeof *grown->calls);
        if (!grown) {
            free(r.owned);
            return error_no_memory(g->k, "a graph");
        }
        grown->cap = cap;
        g->dev = grown;
    }
    *call_at(g, g->node_count++) = r;
    return KILN_OK;
}

// The arguments and the structs they point to, in one piece.
static rt_arg *copy_args(const kiln_kernel *kernel, const rt_arg *args)
{
    size_t bytes = (kernel->param_count + 1) * sizeof *args;
    for (size_t n = 0; n < kernel->param_count; n++)
        if (args[n].bytes)
            bytes += (kernel->params[n].info.size + 63) & ~(size_t)63;
    rt_arg *copy = calloc(1, bytes + 64);
    if (!copy)
        return NULL;
    memcpy(copy, args, kernel->param_count * sizeof *args);
    uint8_t *at = (uint8_t *)(copy + kernel->param_count + 1);
    at += 63 & (0 - (uintptr_t)at);
    for (size_t n = 0; n < kernel->param_count; n++)
        if (args[n].bytes) {
            memcpy(at, args[n].bytes, kernel->params[n].info.size);
            copy[n].bytes = at;
            at += (kernel->params[n].info.size + 63) & ~(size_t)63;
        }
    return copy;
}

kiln_status capture_launch(kiln_graph *g, kiln_kernel *kernel, const rt_launch *launch)
{
    call r = {.kind = CALL_LAUNCH, .kernel = kernel, .launch = *launch};
    r.launch.args = r.owned = copy_args(kernel, launch->args);
    r.launch.stream = NULL;
    return r.owned ? add_call(g, r) : error_no_memory(g->k, "a graph");
}

kiln_status capture_copy(kiln_graph *g, const rt_copy *c)
{
    return add_call(g, (call){.kind = CALL_COPY, .copy = *c});
}

kiln_status capture_fill(kiln_graph *g, kiln_buffer *b, size_t first, size_t count,
                         const void *element)
{
    call r = {.kind = CALL_FILL,
              .buffer = b,
              .first = first,
              .count = count,
              .owned = malloc(b->elem_size)};
    if (!r.owned)
        return error_no_memory(b->k, "a graph");
    memcpy(r.owned, element, b->elem_size);
    return add_call(g, r);
}

void capture_drop(kiln_graph *g)
{
    for (size_t n = 0; n < g->node_count; n++)
        free(call_at(g, n)->owned);
    free(g->dev);
    g->dev = NULL;
    g->node_count = 0;
}

void capture_stream_free(kiln_stream *s)
{
    if (s->capture) {
        capture_drop(s->capture);
        handle_free(HANDLE_GRAPH, s->capture);
    }
}

kiln_status capture_begin(kiln_stream *s)
{
    s->capture = handle_new(HANDLE_GRAPH);
    if (!s->capture)
        return error_no_memory(s->k, "a graph");
    s->capture->k = s->k;
    s->is_capturing = true;
    return KILN_OK;
}

static bool is_same_shape(const kiln_graph *a, const kiln_graph *b)
{
    bool same = a->node_count == b->node_count;
    for (size_t n = 0; same && n < a->node_count; n++)
        same = call_at(a, n)->kind == call_at(b, n)->kind &&
               call_at(a, n)->kernel == call_at(b, n)->kernel;
    return same;
}

kiln_status capture_end(kiln_stream *s, kiln_graph *g, bool is_update)
{
    kiln_graph *captured = s->capture;
    s->capture = NULL;
    s->is_capturing = false;
    kiln_status status = KILN_OK;
    if (is_update && !is_same_shape(g, captured)) {
        capture_drop(captured);
        status =
            error_set(s->k, KILN_E_BAD_ARGUMENT, K6003,
                      "kiln_capture_update: the captured work has another shape than the graph");
    } else {
        capture_drop(g);
        g->dev = captured->dev;
        g->node_count = captured->node_count;
    }
    handle_free(HANDLE_GRAPH, captured);
    return status;
}

kiln_status capture_graph_new(kiln_graph *g)
{
    (void)g;
    return KILN_OK;
}

// Nodes wait for earlier ones only, so their own order will do.
kiln_status capture_graph_add(kiln_graph *g, kiln_kernel *kernel, const rt_launch *l,
                              const size_t *after, size_t after_count)
{
    (void)after;
    (void)after_count;
    return capture_launch(g, kernel, l);
}

kiln_status capture_graph_set(kiln_graph *g, size_t node, const rt_launch *l)
{
    call *r = call_at(g, node);
    rt_arg *args = copy_args(r->kernel, l->args);
    if (!args)
        return error_no_memory(g->k, "a graph");
    free(r->owned);
    r->launch = *l;
    r->launch.args = r->owned = args;
    r->launch.stream = NULL;
    return KILN_OK;
}

kiln_kernel *capture_graph_kernel(const kiln_graph *g, size_t node)
{
    return call_at(g, node)->kernel;
}

kiln_status capture_graph_launch(kiln_graph *g, kiln_stream *s)
{
    if (s && s->capture)
        return error_set(g->k, KILN_E_UNSUPPORTED, K6037,
                         "a graph cannot be launched into a capture");
    const device_ops *ops = g->k->ops;
    kiln_status status = KILN_OK;
    for (size_t n = 0; n < g->node_count && !status; n++) {
        call *r = call_at(g, n);
        r->launch.stream = r->copy.stream = s;
        switch (r->kind) {
        case CALL_LAUNCH: status = ops->launch(r->kernel, &r->launch); break;
        case CALL_COPY: status = ops->copy(g->k, &r->copy); break;
        case CALL_FILL: status = ops->fill(r->buffer, r->first, r->count, r->owned, s); break;
        }
    }
    return status;
}
