// Graphs for devices that have none of their own. A capture keeps the calls of its stream: the
// device's launch, copy and fill pass them here while stream->capture is set. Launching the graph
// makes the calls again. The names are those of device_ops.
#ifndef KILN_CAPTURE_H
#define KILN_CAPTURE_H

#include "rt/rt.h"

kiln_status capture_launch(kiln_graph *g, kiln_kernel *kernel, const rt_launch *launch);
kiln_status capture_copy(kiln_graph *g, const rt_copy *copy);
kiln_status capture_fill(kiln_graph *g, kiln_buffer *b, size_t first, size_t count,
                         const void *element);
void capture_stream_free(kiln_stream *s); // drops a capture that was never ended

kiln_status capture_begin(kiln_stream *s);
kiln_status capture_end(kiln_stream *s, kiln_graph *g, bool is_update);
kiln_status capture_graph_new(kiln_graph *g);
kiln_status capture_graph_add(kiln_graph *g, kiln_kernel *kernel, const rt_launch *launch,
                              const size_t *after, size_t after_count);
kiln_kernel *capture_graph_kernel(const kiln_graph *g, size_t node);
kiln_status capture_graph_set(kiln_graph *g, size_t node, const rt_launch *launch);
kiln_status capture_graph_launch(kiln_graph *g, kiln_stream *s);
void capture_drop(kiln_graph *g);

#define CAPTURE_OPS                                                                                \
    .capture_begin = capture_begin, .capture_end = capture_end, .graph_new = capture_graph_new,    \
    .graph_add = capture_graph_add, .graph_kernel = capture_graph_kernel,                          \
    .graph_set = capture_graph_set, .graph_launch = capture_graph_launch,                          \
    .graph_free = capture_drop

#endif
