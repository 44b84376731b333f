// Graphs of devices that have none of their own: a stream's capture keeps the calls (a device's
// launch, copy and fill hand them over while stream->capture is set), and launching the graph makes
// them again. The names are those of device_ops.
#ifndef KILN_RECORD_H
#define KILN_RECORD_H

#include "rt/rt.h"

kiln_status record_launch(kiln_graph *g, kiln_kernel *kernel, const rt_launch *launch);
kiln_status record_copy(kiln_graph *g, const rt_copy *copy);
kiln_status record_fill(kiln_graph *g, kiln_buffer *b, size_t first, size_t count,
                        const void *element);
void record_stream_free(kiln_stream *s); // drops a capture that was never ended

kiln_status record_capture_begin(kiln_stream *s);
kiln_status record_capture_end(kiln_stream *s, kiln_graph *g, bool is_update);
kiln_status record_graph_new(kiln_graph *g);
kiln_status record_graph_add(kiln_graph *g, kiln_kernel *kernel, const rt_launch *launch,
                             const size_t *after, size_t after_count);
kiln_kernel *record_graph_kernel(const kiln_graph *g, size_t node);
kiln_status record_graph_set(kiln_graph *g, size_t node, const rt_launch *launch);
kiln_status record_graph_launch(kiln_graph *g, kiln_stream *s);
void record_forget(kiln_graph *g);

#endif
