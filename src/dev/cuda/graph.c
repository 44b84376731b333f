// Graphs of a GPU: what a stream captured, or nodes added by hand; instantiated once, launched as
// one call.
#include "dev/cuda/cuda.h"

#include <stdlib.h>

typedef struct hand_node { // of a graph made by hand
    cu_graph_node native;
    kiln_kernel *kernel;
} hand_node;

static hand_node *node_at(const kiln_graph *g, size_t index)
{
    return cuda_graph_of(g)->nodes + index;
}

// The capture of somebody else that a stream is part of, or 0. One that is spoilt has no number.
static bool has_others(const cuda_api *cu, const cuda_stream *s, uint64_t *id)
{
    int status = 0;
    return (s->is_foreign || s->is_lent) && cu->capture_info &&
           !cu->capture_info(s->native, &status, id, NULL, NULL, NULL) && status;
}

uint64_t cuda_capture_of_others(kiln_stream *s)
{
    uint64_t id = 0;
    return has_others(cuda_of(s->k)->cu, cuda_stream_of(s->k, s), &id) ? id : 0;
}

bool cuda_is_captured(const cuda_api *cu, const cuda_stream *s)
{
    uint64_t id = 0;
    return cuda_is_capturing(s) || has_others(cu, s, &id);
}

kiln_status cuda_capture_begin(kiln_stream *s)
{
    kiln_status status = cuda_ready(s->k);
    if (status)
        return status;
    if (!cuda_of(s->k)->cu->graph_instantiate) // what is captured could never be launched
        return cuda_no_entry(s->k, "graphs");
    cu_result r =
        cuda_of(s->k)->cu->capture_begin(cuda_stream_of(s->k, s)->native, CU_CAPTURE_RELAXED);
    if (r)
        return cuda_fail(s->k, r, "beginning a capture");
    s->is_capturing = true;
    return KILN_OK;
}

static kiln_status instantiate(kiln_graph *g)
{
    cuda_graph *c = cuda_graph_of(g);
    const cuda_api *cu = cuda_of(g->k)->cu;
    if (c->exec)
        cu->graph_exec_destroy(c->exec);
    c->exec = NULL;
    cu_result r = cu->graph_instantiate(&c->exec, c->native, 0);
    if (r)
        return cuda_fail(g->k, r, "setting a graph up");
    c->is_dirty = false;
    return KILN_OK;
}

static void count_nodes(kiln_graph *g)
{
    cuda_graph *c = cuda_graph_of(g);
    size_t count = 0;
    if (cuda_of(g->k)->cu->graph_nodes &&
        cuda_of(g->k)->cu->graph_nodes(c->native, NULL, &count) == CU_OK)
        g->node_count = count;
}

kiln_status cuda_capture_end(kiln_stream *s, kiln_graph *g, bool is_update)
{
    kiln *k = s->k;
    cuda_graph *c = is_update ? g->dev : (g->dev = calloc(1, sizeof *c));
    const cuda_api *cu = cuda_of(k)->cu;
    cu_graph captured = NULL;
    s->is_capturing = false;
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    cu_result r = cu->capture_end(cuda_stream_of(s->k, s)->native, &captured);
    if (!r && !c) {
        cu->graph_destroy(captured);
        return error_no_memory(k, "a graph");
    }
    if (r)
        return cuda_fail(k, r,
                         "ending a capture; a call that waits, or works outside the captured "
                         "stream, breaks one");
    if (is_update && !cu->graph_update) {
        cu->graph_destroy(captured);
        return cuda_no_entry(k, "updating a graph");
    }
    if (is_update) {
        cu_graph_update info = {0};
        r = cu->graph_update(c->exec, captured, &info);
        if (r) {
            cu->graph_destroy(captured);
            if (r != CU_GRAPH_UPDATE_FAILURE)
                return cuda_fail(k, r, "updating a graph");
            return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                             "kiln_capture_update: the captured work has another shape than the "
                             "graph (reason %d)",
                             info.result);
        }
    }
    if (c->native)
        cu->graph_destroy(c->native);
    c->native = captured;
    c->talks = cuda_stream_of(s->k, s)->capture_talks;
    cuda_stream_of(s->k, s)->capture_talks = false;
    count_nodes(g);
    return is_update ? KILN_OK : instantiate(g);
}

kiln_status cuda_graph_new(kiln_graph *g)
{
    kiln_status status = cuda_ready(g->k);
    if (status)
        return status;
    const cuda_api *cu = cuda_of(g->k)->cu;
    if (!cu->graph_add_kernel || !cu->graph_set_kernel || !cu->graph_instantiate)
        return cuda_no_entry(g->k, "graphs made by hand");
    cuda_graph *c = calloc(1, sizeof *c);
    if (!c)
        return error_no_memory(g->k, "a graph");
    cu_result r = cu->graph_create(&c->native, 0);
    g->dev = c;
    if (!r)
        return KILN_OK;
    free(c);
    return cuda_fail(g->k, r, "making a graph");
}

static cu_kernel_node node_of(kiln_kernel *kernel, const rt_launch *l, void **params)
{
    cuda_fill_params(kernel, l->args, params);
    return (cu_kernel_node){.function = cuda_kernel_of(kernel)->function,
                            .grid_x = l->grid[0],
                            .grid_y = l->grid[1],
                            .grid_z = l->grid[2],
                            .block_x = l->block[0],
                            .block_y = l->block[1],
                            .block_z = l->block[2],
                            .shared_bytes = (unsigned)l->shared_bytes,
                            .params = params};
}

static kiln_status check_node(kiln_kernel *kernel, const rt_launch *l)
{
    kiln *k = kernel->module->k;
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    if (l->cluster[0] || l->is_cooperative || l->overlaps_previous)
        return error_set(
            k, KILN_E_UNSUPPORTED, K6038,
            "cluster, cooperative and overlapping launches enter a graph by capture, not by hand");
    if (l->shared_bytes > cuda_kernel_of(kernel)->dynamic_limit)
        status = cuda_raise_shared(kernel, l->shared_bytes);
    if (!status && kernel->calls_host)
        status = cuda_calls_start(kernel, l);
    return status ? status : cuda_raise_stack(kernel);
}

static bool grow(kiln_graph *g)
{
    cuda_graph *c = cuda_graph_of(g);
    if (g->node_count < c->node_cap)
        return true;
    size_t cap = c->node_cap ? c->node_cap * 2 : 16;
    hand_node *grown = realloc(c->nodes, cap * sizeof *grown);
    if (!grown)
        return false;
    c->nodes = grown;
    c->node_cap = cap;
    return true;
}

kiln_status cuda_graph_add(kiln_graph *g, kiln_kernel *kernel, const rt_launch *l,
                           const size_t *after, size_t after_count)
{
    cuda_graph *c = cuda_graph_of(g);
    kiln_status status = check_node(kernel, l);
    if (status)
        return status;
    void **params = calloc(kernel->param_count + 1 + after_count, sizeof *params);
    if (!params || !grow(g)) {
        free(params);
        return error_no_memory(g->k, "a graph's node");
    }
    cu_graph_node *waits = (cu_graph_node *)(void *)(params + kernel->param_count + 1);
    for (size_t n = 0; n < after_count; n++)
        waits[n] = node_at(g, after[n])->native;
    cu_kernel_node node = node_of(kernel, l, params);
    hand_node *made = node_at(g, g->node_count);
    *made = (hand_node){.kernel = kernel};
    cu_result r = cuda_of(g->k)->cu->graph_add_kernel(
        &made->native, c->native, after_count ? waits : NULL, after_count, &node);
    free(params);
    if (r)
        return cuda_fail(g->k, r, "adding to a graph");
    g->node_count++;
    c->talks = c->talks || kernel->talks;
    c->is_dirty = true;
    return KILN_OK;
}

kiln_kernel *cuda_graph_kernel(const kiln_graph *g, size_t node)
{
    return node_at(g, node)->kernel;
}

kiln_status cuda_graph_set(kiln_graph *g, size_t index, const rt_launch *l)
{
    cuda_graph *c = cuda_graph_of(g);
    kiln_kernel *kernel = node_at(g, index)->kernel;
    kiln_status status = check_node(kernel, l);
    if (!status && (c->is_dirty || !c->exec))
        status = instantiate(g);
    if (status)
        return status;
    void **params = calloc(kernel->param_count + 1, sizeof *params);
    if (!params)
        return error_no_memory(g->k, "a graph's node");
    cu_kernel_node node = node_of(kernel, l, params);
    cu_result r = cuda_of(g->k)->cu->graph_set_kernel(c->exec, node_at(g, index)->native, &node);
    free(params);
    return r ? cuda_fail(g->k, r, "changing a graph's node") : KILN_OK;
}

kiln_status cuda_graph_launch(kiln_graph *g, kiln_stream *s)
{
    cuda_graph *c = cuda_graph_of(g);
    cuda_device *d = cuda_of(g->k);
    kiln_status status = cuda_ready(g->k);
    if (!status && (c->is_dirty || !c->exec))
        status = instantiate(g);
    if (status)
        return status;
    cuda_stream *stream = cuda_stream_of(g->k, s);
    if (c->talks) {
        cuda_calls_wake(d);
        cuda_printer_wake(d);
    }
    cu_result r = d->cu->graph_launch(c->exec, stream->native);
    if (r)
        return cuda_fail(g->k, r, "launching a graph");
    if (!cuda_is_capturing(stream))
        cuda_add_note(d, stream, NULL, NULL);
    if (c->talks) { // its kernels may print
        d->has_talked = true;
        for (kiln_module *m = g->k->modules; m; m = m->next)
            if (cuda_module_of(m)->channel)
                cuda_module_of(m)->channel->is_dirty = true;
    }
    return KILN_OK;
}

void cuda_graph_free(kiln_graph *g)
{
    const cuda_api *cu = cuda_of(g->k)->cu;
    cuda_graph *c = cuda_graph_of(g);
    if (!c)
        return;
    cuda_enter(cuda_of(g->k));
    if (c->exec)
        cu->graph_exec_destroy(c->exec);
    if (c->native)
        cu->graph_destroy(c->native);
    free(c->nodes);
    free(c);
}
