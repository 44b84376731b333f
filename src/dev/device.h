// What a device must be able to do. Every public call checks its handles and numbers, then goes
// through the context's device_ops: the interpreter (interp/device.c), the cpu beside it, CUDA and
// OpenCL (cuda/device.c, opencl/device.c). A function that a device lacks is NULL: the
// public call then says so.
#ifndef KILN_DEVICE_H
#define KILN_DEVICE_H

#include "back/channel.h"
#include "dev/interp/interp.h"
#include "kiln/kiln.h"

typedef struct device_ops device_ops;

// A launch after all checks: sizes are at least 1, arguments are as the device takes them.
typedef struct rt_launch {
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    const interp_arg *args;
    kiln_stream *stream; // NULL: the device's own
    uint32_t cluster[3]; // zeros: none
    bool is_cooperative, overlaps_previous;
} rt_launch;

// A copy after all checks, in bytes. A side is host memory, or a buffer's memory at a device
// address.
typedef struct rt_copy {
    const kiln_buffer *to, *from; // NULL: host
    void *to_host;
    const void *from_host;
    uint64_t to_address, from_address; // of the first byte on the device
    size_t width, rows, to_pitch, from_pitch;
    kiln_stream *stream;
} rt_copy;

// What the compiler hands to a device that loads code.
typedef struct rt_image {
    const char *code; // NUL-terminated PTX or OpenCL C
    size_t code_len;
    bool is_plain; // compiled without optimisation: the driver's compiler must not optimise either
} rt_image;

struct device_ops {
    const char *name;
    // Opens device number `ordinal` into `k`. Errors are set on no context (k is about to go).
    kiln_status (*open)(kiln *k, int ordinal);
    void (*close)(kiln *k);
    kiln_status (*info)(const kiln *k, kiln_device_info *out);
    // Waits for a stream, or for everything (NULL); drains what kernels printed; reports faults.
    kiln_status (*sync)(kiln *k, kiln_stream *s);

    // Sets address, base (when the host can touch it) and what the device keeps of its own.
    kiln_status (*alloc)(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc);
    void (*free)(kiln_buffer *b);
    kiln_status (*copy)(kiln *k, const rt_copy *copy);
    kiln_status (*fill)(kiln_buffer *b, size_t first, size_t count, const void *element,
                        kiln_stream *s);
    kiln_status (*memory_info)(kiln *k, kiln_memory_info *out);
    kiln_status (*memory_trim)(kiln *k);
    kiln_status (*host_alloc)(kiln *k, size_t bytes, void **out);
    void (*host_free)(kiln *k, void *memory);

    // Makes the code that `load` takes; NULL: PTX.
    void (*emit)(kiln_module *m, const ir_module *from, diags *ds, arena *scratch, text *code);
    kiln_status (*load)(kiln_module *m, const rt_image *image);
    void (*unload)(kiln_module *m);
    kiln_status (*launch)(kiln_kernel *kernel, const rt_launch *launch);
    kiln_status (*resources)(const kiln_kernel *kernel, kiln_resources *out);
    kiln_status (*occupancy)(const kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                             uint32_t *blocks);
    // Clusters, of the kernel's size, that run at the same time on the whole device. Optional.
    kiln_status (*clusters)(kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                            uint32_t *clusters);

    void *(*main_stream)(kiln *k); // the driver's handle
    kiln_status (*stream_new)(kiln_stream *s, int priority);
    void (*stream_free)(kiln_stream *s);
    kiln_status (*stream_is_done)(kiln_stream *s, bool *is_done);
    kiln_status (*stream_wait)(kiln_stream *s, const kiln_event *e);
    kiln_status (*event_new)(kiln_event *e);
    void (*event_free)(kiln_event *e);
    kiln_status (*event_record)(kiln_event *e, kiln_stream *s);
    kiln_status (*event_sync)(kiln_event *e);
    kiln_status (*event_elapsed)(const kiln_event *start, const kiln_event *end, double *ms);

    kiln_status (*capture_begin)(kiln_stream *s);
    // Into a new graph, or (is_update) into one that has the same shape.
    kiln_status (*capture_end)(kiln_stream *s, kiln_graph *g, bool is_update);
    kiln_status (*graph_new)(kiln_graph *g);
    kiln_status (*graph_add)(kiln_graph *g, kiln_kernel *kernel, const rt_launch *launch,
                             const size_t *after, size_t after_count);
    kiln_kernel *(*graph_kernel)(const kiln_graph *g, size_t node); // of a graph made by hand
    kiln_status (*graph_set)(kiln_graph *g, size_t node, const rt_launch *launch);
    kiln_status (*graph_launch)(kiln_graph *g, kiln_stream *s);
    void (*graph_free)(kiln_graph *g);
    kiln_status (*tensor_map)(kiln *k, const kiln_tensor_map_desc *desc, kiln_tensor_map *out);
    // Inside the compile's frame: makes what the device wants of the IR; NULL: nothing.
    void (*take)(kiln_module *m, ir_module *from);
};

extern const device_ops interp_device, cuda_device_ops, opencl_device_ops;

#endif
