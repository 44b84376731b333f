// What a device must be able to do: one table of functions, one row in devices.def, one folder.
//
// Every public call checks its handles and numbers, then goes through the context's device_ops. A
// function that a device lacks is NULL: the public call then says so. The state that a device keeps
// with a context, module, kernel, buffer, stream, event or graph hangs on that handle's `dev`, and
// no other code looks at it. What others may ask is in the context's kiln_caps.
//
// Code comes to every device the same way: the compiler makes IR and, for a target with a back end,
// code (compile.c); `load` takes both; `launch` runs it.
#ifndef KILN_DEVICE_H
#define KILN_DEVICE_H

#include "back/channel.h"
#include "ir/target.h"
#include "kiln/kiln.h"

typedef struct device_ops device_ops;

// One argument of a launch, checked.
typedef struct rt_arg {
    uint64_t bits;     // the scalar's bits, or a device address
    const void *bytes; // a struct by value: param.size bytes, read at the start of the run
} rt_arg;

// A launch after all checks: sizes are at least 1, arguments are as the device takes them.
typedef struct rt_launch {
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    const rt_arg *args;  // of all parameters, the hidden ones, too
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

// What the compiler hands to a device.
typedef struct rt_image {
    const char *code; // of the target's back end, NUL-terminated; "": none
    size_t code_len;
    bool is_plain; // compiled without optimisation: the driver's compiler must not optimise either
    ir_module *ir; // NULL: the code comes from the cache, or from the user
    const struct kiln_native *embedded; // of the compile's description
} rt_image;

struct device_ops {
    bool is_numbered; // "cuda:1": there may be several
    bool can_check;   // modules for kiln_check
    bool keeps_code;  // with the module, and in the disk cache
    bool calls_host;  // kernels may call functions of the host program

    // --- what there is, before anything is open
    size_t (*count)(void);                                      // of this kind, here
    kiln_status (*find)(int ordinal);                           // whether it can be used; else why
    kiln_status (*info_at)(int ordinal, kiln_device_info *out); // also of one that cannot
    const struct target *(*target_at)(size_t index); // its own targets; NULL past the end

    // --- the device
    // Opens number `ordinal` into `k`: sets device, target, caps and dev. Errors are set on no
    // context (k is about to go).
    kiln_status (*open)(kiln *k, int ordinal);
    void (*close)(kiln *k);
    kiln_status (*info)(const kiln *k, kiln_device_info *out); // NULL: info_at(0)
    // Waits for a stream, or for everything (NULL); drains what kernels printed; reports faults.
    kiln_status (*sync)(kiln *k, kiln_stream *s);
    // Prints the lines that running kernels have left so far. From any thread. NULL: none wait.
    void (*print_lines)(kiln *k);

    // --- memory
    // Sets address, base (when the host can touch it) and what the device keeps of its own.
    kiln_status (*alloc)(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc);
    // The same over foreign memory. NULL: the device cannot.
    kiln_status (*wrap)(kiln_buffer *b, size_t bytes, const kiln_wrap_desc *desc);
    // What DLPack calls the device, in the numbers of kiln/dlpack.h. NULL: it has no word for it.
    void (*dlpack)(const kiln *k, int32_t *type, int32_t *id);
    void (*free)(kiln_buffer *b); // of a foreign one: waits, and forgets it
    kiln_status (*copy)(kiln *k, const rt_copy *copy);
    kiln_status (*fill)(kiln_buffer *b, size_t first, size_t count, const void *element,
                        kiln_stream *s);
    kiln_status (*memory_info)(kiln *k, kiln_memory_info *out);
    kiln_status (*memory_trim)(kiln *k);
    kiln_status (*host_alloc)(kiln *k, size_t bytes, void **out);
    void (*host_free)(kiln *k, void *memory);

    // --- code
    // Whether it runs code for `t`; NULL: only for the context's target.
    bool (*accepts_target)(const kiln *k, const struct target *t);
    // The back end for the compile of `m`, and its options; NULL: IR is enough. Without this
    // function: the target's back end, with the usual options.
    const struct backend *(*backend)(const kiln_module *m, const kiln_compile_desc *desc,
                                     const void **options);
    // Kernels that the user wrote in the device's own language: fills the module's kernel table
    // and code. Optional. May leave through bug.h.
    kiln_status (*read_code)(kiln_module *m, const kiln_compile_desc *desc);
    // Makes the kernels of the module's table ready to launch: sets shared_bytes, resources, dev.
    // May leave through bug.h.
    kiln_status (*load)(kiln_module *m, const rt_image *image);
    void (*unload)(kiln_module *m);
    kiln_status (*launch)(kiln_kernel *kernel, const rt_launch *launch);
    // What the launch that runs now is waiting for, and what the newest one ran on: "" or NULL
    // when there is nothing to say. From any thread. Optional.
    const char *(*waits_for)(const kiln_kernel *kernel);
    const char *(*ran_on)(const kiln_kernel *kernel);
    // NULL: what `load` has set.
    kiln_status (*resources)(const kiln_kernel *kernel, kiln_resources *out);
    kiln_status (*occupancy)(const kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                             uint32_t *blocks);
    // Clusters, of the kernel's size, that run at the same time on the whole device. Optional.
    kiln_status (*clusters)(kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                            uint32_t *clusters);

    // --- streams, events, graphs
    void *(*stream_native)(kiln *k, kiln_stream *s); // the driver's handle. Optional
    kiln_status (*stream_new)(kiln_stream *s, int priority);
    // A foreign stream, and opening with kiln.given. NULL: the device cannot do either.
    kiln_status (*stream_wrap)(kiln_stream *s, void *native);
    void (*stream_free)(kiln_stream *s);
    kiln_status (*stream_is_done)(kiln_stream *s, bool *is_done);
    // rt_notify is called when the stream's work has ended, by any thread. NULL: it cannot.
    kiln_status (*stream_notify)(kiln *k, kiln_stream *s, int descriptor);
    kiln_status (*stream_wait)(kiln_stream *s, const kiln_event *e);
    kiln_status (*event_new)(kiln_event *e);
    void (*event_free)(kiln_event *e);
    kiln_status (*event_record)(kiln_event *e, kiln_stream *s);
    kiln_status (*event_sync)(kiln_event *e);
    kiln_status (*event_elapsed)(const kiln_event *start, const kiln_event *end, double *ms);

    kiln_status (*capture_begin)(kiln_stream *s);
    // Into a new graph, or (is_update) into one that has the same shape.
    kiln_status (*capture_end)(kiln_stream *s, kiln_graph *g, bool is_update);
    // The number of the capture that somebody else has begun on a foreign stream; 0: none. Optional
    uint64_t (*capture_of_others)(kiln_stream *s);
    kiln_status (*graph_new)(kiln_graph *g);
    kiln_status (*graph_add)(kiln_graph *g, kiln_kernel *kernel, const rt_launch *launch,
                             const size_t *after, size_t after_count);
    kiln_kernel *(*graph_kernel)(const kiln_graph *g, size_t node); // of a graph made by hand
    kiln_status (*graph_set)(kiln_graph *g, size_t node, const rt_launch *launch);
    kiln_status (*graph_launch)(kiln_graph *g, kiln_stream *s);
    void (*graph_free)(kiln_graph *g);
    kiln_status (*tensor_map)(kiln *k, const kiln_tensor_map_desc *desc, kiln_tensor_map *out);
};

// --- devices.c: the rows of devices.def, best first.
typedef struct device_row {
    const char *name;
    const device_ops *ops;
    int rank; // kiln_open(NULL) takes the highest that can be used
} device_row;
const device_row *device_at(size_t index); // NULL past the end
const device_row *device_find(const char *name, size_t len);
// A target of any device; NULL: there is none.
const struct target *device_target(const char *name);

#endif
