// The CUDA device's own state. device.c opens, closes and waits, and turns driver errors into
// sentences; memory.c holds buffers and copies; module.c loads code, entries.c finds the kernels in
// PTX that the user wrote; launch.c is the path every launch takes; stream.c and graph.c are what
// their names say; channel.c reads what kernels printed and why they stopped; calls.c lets them
// call the host; library.c opens the driver.
#ifndef KILN_CUDA_H
#define KILN_CUDA_H

#include "back/back.h"
#include "dev/cuda/abi.h"
#include "rt/rt.h"

enum {
    CUDA_STREAM_LIMIT = 1024, // finished-counts, one a stream
    CUDA_MARK_EVERY = 256,    // launches between two writes of a stream's finished-count
    CUDA_FEW_ARGS = 64,       // launches with more arguments allocate
    CUDA_RING_BYTES = 1 << 20 // of printed lines, a module
};

// Recent launches of a stream, so that a fault that is noticed later finds its kernel.
enum { LAUNCH_RING = 512 };
typedef struct launch_note {
    uint64_t order;            // of all launches of the device; the first is 1
    const kiln_kernel *kernel; // NULL: a graph
    uint32_t grid[3], block[3];
} launch_note;

typedef struct cuda_stream {
    cu_stream native;
    bool is_foreign;     // the native one belongs to others
    bool is_lent;        // others may have the native one, and capture it
    kiln_stream *handle; // NULL: the device's own stream
    launch_note ring[LAUNCH_RING];
    uint32_t launched;        // launch n is ring[n % LAUNCH_RING]
    uint32_t known_done;      // all before this one were seen to end
    uint32_t slot;            // of the finished-counts in mapped memory
    bool capture_talks;       // a captured kernel prints or asserts
    struct cuda_stream *next; // of all streams of the device, its own first
} cuda_stream;

struct cuda_device {
    const cuda_api *cu;
    int ordinal;
    cu_device device;
    kiln_device_info facts; // asked for once: the clocks take the driver half a millisecond each
    cu_context context;
    bool is_foreign;  // the context belongs to others
    cuda_stream main; // launches that name no stream
    bool has_main;
    cu_stream memory; // allocations and their zeroing
    cu_pool pool;     // NULL: plain allocation
    uint32_t *marks;  // mapped: per stream slot, how many launches have ended
    cu_ptr marks_at;
    uint32_t mark_every;
    uint64_t launches; // of all streams: the order of the newest note
    bool slot_used[CUDA_STREAM_LIMIT];
    bool is_lost;
    char lost_text[1024];         // why
    cu_event order;               // used where one stream waits for another
    uint64_t stack_limit;         // bytes of a thread that were asked for; 0: never
    bool has_talked;              // some kernel with a channel was launched since the last drain
    struct cuda_calls *calls;     // NULL: no kernel has called the host yet
    struct cuda_printer *printer; // NULL: no lines are read while kernels run
};
typedef struct cuda_device cuda_device;

typedef struct cuda_channel {
    cu_ptr header;
    uint8_t *ring;                 // mapped
    volatile channel_fault *fault; // mapped, right after the ring
    bool is_dirty;                 // launched since the last drain
    bool has_calls;                // the header says where mailboxes are
    bool has_ring;                 // its calls carry objects through dynamic shared memory
    uint32_t first_call;           // number of the module's first function in them
    cu_ptr calls_copy;             // CHANNEL_CALLS_NAME
    kiln_module *module;           // what follows is of a channel that is read while kernels run
    channel_tail *tail;            // mapped; NULL: it is read when they have ended
    uint64_t read;                 // bytes of lines, since the beginning
    bool is_broken;                // a kernel has written over it
    struct cuda_channel *next;     // of the printer's list
} cuda_channel;

typedef struct cuda_module {
    cu_module loaded;
    cuda_channel *channel; // NULL: no kernel of it prints or checks
} cuda_module;

enum { CUDA_RING_SIZES = 4 };
typedef struct cuda_kernel {
    cu_function function;
    size_t dynamic_limit; // dynamic shared bytes the function was set up for
    // what ring.c was told about blocks of so many threads with so much dynamic shared memory
    uint32_t ring_threads, plain_blocks, ring_blocks[CUDA_RING_SIZES];
    size_t ring_base;
} cuda_kernel;

typedef struct cuda_graph {
    cu_graph native;
    cu_graph_exec exec;
    struct hand_node *nodes; // of a graph made by hand
    size_t node_cap;
    bool is_dirty; // the exec is older than the graph
    bool talks;    // some kernel prints or asserts
} cuda_graph;

// What the device keeps of each handle. An event's is the driver's event itself.
static inline cuda_device *cuda_of(const kiln *k)
{
    return k->dev;
}
static inline cuda_module *cuda_module_of(const kiln_module *m)
{
    return m->dev;
}
static inline cuda_kernel *cuda_kernel_of(const kiln_kernel *kernel)
{
    return kernel->dev;
}
static inline cuda_stream *cuda_stream_of(const kiln *k, const kiln_stream *s)
{
    return s ? s->dev : &cuda_of(k)->main;
}
static inline cuda_graph *cuda_graph_of(const kiln_graph *g)
{
    return g->dev;
}
static inline bool cuda_is_capturing(const cuda_stream *s)
{
    return s->handle && s->handle->is_capturing;
}

// Somebody else may be capturing a stream, in a mode that forbids some calls even where they
// concern no captured stream: to allocate, to wait, to ask a pool. Such a call spoils the capture
// and may not even tell. Returns the mode for cuda_strict.
static inline int cuda_relax(const cuda_api *cu)
{
    int mode = CU_CAPTURE_RELAXED;
    return cu->capture_mode && !cu->capture_mode(&mode) ? mode : CU_CAPTURE_RELAXED;
}

static inline void cuda_strict(const cuda_api *cu, int mode) // as it was
{
    if (mode != CU_CAPTURE_RELAXED)
        cu->capture_mode(&mode);
}

// --- device.c
// Makes the device's context current for this thread.
static inline void cuda_enter(const cuda_device *d)
{
    cu_context now = NULL;
    if (d->cu->context_get(&now) != CU_OK || now != d->context)
        d->cu->context_set(d->context);
}
// Turns a driver's answer into an error: `doing` completes "the driver reports an error while …".
// Faults of kernels name the earliest unfinished launch, and the device is lost from then on.
kiln_status cuda_fail(kiln *k, cu_result r, const char *doing);
// KILN_OK, or the error of a device that was lost before; enters the context.
kiln_status cuda_ready(kiln *k);
kiln_status cuda_no_entry(kiln *k, const char *feature); // the driver is too old for it
bool cuda_is_fault(cu_result r);
int cuda_attribute(const cuda_device *d, int attribute);
const target *cuda_pick_target(int sm, int driver_version);
kiln_status cuda_sync(kiln *k, kiln_stream *s);

// --- memory.c
kiln_status cuda_alloc(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc);
void cuda_free(kiln_buffer *b);
kiln_status cuda_copy(kiln *k, const rt_copy *copy);
kiln_status cuda_fill(kiln_buffer *b, size_t first, size_t count, const void *element,
                      kiln_stream *s);
kiln_status cuda_memory_info(kiln *k, kiln_memory_info *out);
kiln_status cuda_memory_trim(kiln *k);
kiln_status cuda_host_alloc(kiln *k, size_t bytes, void **out);
void cuda_host_free(kiln *k, void *memory);
kiln_status cuda_tensor_map(kiln *k, const kiln_tensor_map_desc *desc, kiln_tensor_map *out);

// --- module.c
kiln_status cuda_load_module(kiln_module *m, const rt_image *image);
void cuda_unload_module(kiln_module *m);
kiln_status cuda_occupancy(const kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                           uint32_t *blocks);
kiln_status cuda_clusters(kiln_kernel *kernel, uint32_t threads, size_t shared_bytes,
                          uint32_t *clusters);

// --- entries.c
// Kernels in PTX that the user wrote.
kiln_status cuda_read_code(kiln_module *m, const kiln_compile_desc *desc);

// --- launch.c
kiln_status cuda_launch(kiln_kernel *kernel, const rt_launch *launch);
// Before the first launch with this much dynamic shared memory.
kiln_status cuda_raise_shared(kiln_kernel *kernel, size_t bytes);
kiln_status cuda_raise_stack(kiln_kernel *kernel); // for its calls
// Leaves a note of a launch that was given to `s`; without a kernel and a launch: of a graph.
void cuda_add_note(cuda_device *d, cuda_stream *s, const kiln_kernel *kernel, const rt_launch *l);
// Fills `params` (param_count + 1 entries) for the driver.
void cuda_fill_params(const kiln_kernel *kernel, const rt_arg *args, void **params);

// --- stream.c
kiln_status cuda_stream_open(kiln *k, cuda_stream *s, int priority);
void cuda_stream_close(cuda_device *d, cuda_stream *s);
void cuda_stream_free(kiln_stream *s);
kiln_status cuda_stream_is_done(kiln_stream *s, bool *is_done);
kiln_status cuda_stream_notify(kiln *k, kiln_stream *s, int descriptor);
kiln_status cuda_stream_wait(kiln_stream *s, const kiln_event *e);
kiln_status cuda_event_new(kiln_event *e);
void cuda_event_free(kiln_event *e);
kiln_status cuda_event_record(kiln_event *e, kiln_stream *s);
kiln_status cuda_event_sync(kiln_event *e);
kiln_status cuda_event_elapsed(const kiln_event *start, const kiln_event *end, double *ms);
kiln_status cuda_stream_new(kiln_stream *s, int priority);

// --- graph.c
kiln_status cuda_capture_begin(kiln_stream *s);
kiln_status cuda_capture_end(kiln_stream *s, kiln_graph *g, bool is_update);
uint64_t cuda_capture_of_others(kiln_stream *s);
// Is a stream part of a capture, of this library or of somebody else? Asks the driver.
bool cuda_is_captured(const cuda_api *cu, const cuda_stream *s);
kiln_status cuda_graph_new(kiln_graph *g);
kiln_status cuda_graph_add(kiln_graph *g, kiln_kernel *kernel, const rt_launch *launch,
                           const size_t *after, size_t after_count);
kiln_kernel *cuda_graph_kernel(const kiln_graph *g, size_t node);
kiln_status cuda_graph_set(kiln_graph *g, size_t node, const rt_launch *launch);
kiln_status cuda_graph_launch(kiln_graph *g, kiln_stream *s);
void cuda_graph_free(kiln_graph *g);

// --- foreign.c: what belongs to others
kiln_status cuda_wrap(kiln_buffer *b, size_t bytes, const kiln_wrap_desc *desc);
void cuda_dlpack(const kiln *k, int32_t *type, int32_t *id);
void cuda_unwrap(kiln_buffer *b);
kiln_status cuda_stream_wrap(kiln_stream *s, void *native);
kiln_status cuda_enter_given(kiln *k); // the context that the device is opened on

// --- channel.c
kiln_status cuda_channel_open(kiln_module *m);
void cuda_channel_close(kiln_module *m);
// After everything has ended: prints the lines of all modules, reports the first fault.
void cuda_channel_salvage(kiln *k); // the GPU is lost: prints the lines that are there
kiln_status cuda_channel_drain(kiln *k);

// --- print.c: a thread that reads lines while kernels run
// Adds a channel, whose module prints; the thread is made for the first. False: it cannot be.
bool cuda_printer_add(cuda_device *d, cuda_channel *c);
void cuda_printer_remove(cuda_device *d, cuda_channel *c);
void cuda_printer_wake(cuda_device *d);
void cuda_print_lines(kiln *k); // those that are there now
// Everything has ended, and `end` bytes were given out: prints what is left; the thread sleeps.
void cuda_printer_rest(cuda_device *d, cuda_channel *c, uint64_t end);
void cuda_printer_salvage(cuda_device *d, cuda_channel *c); // the GPU is lost
void cuda_printer_close(cuda_device *d);

// --- calls.c
typedef struct cuda_calls cuda_calls;
// Before a launch of a kernel that calls host functions.
kiln_status cuda_calls_start(kiln_kernel *kernel, const rt_launch *l);
// ring.c: dynamic shared memory of a launch, with what its calls can use of it.
size_t cuda_ring_bytes(kiln_kernel *kernel, const rt_launch *l);
// --- large_objects.c: large objects of calls. What the server is told of it; NULL: they take the
// way of small ones.
typedef struct cuda_large_objects cuda_large_objects;
const struct server_far *cuda_large_objects_open(cuda_device *d, cuda_large_objects **out);
void cuda_large_objects_close(cuda_large_objects *f); // NULL is fine

void cuda_calls_wake(cuda_device *d); // a graph is launched: some kernel of it may call
void cuda_calls_rest(cuda_device *d); // everything has ended: what was posted has been served then
void cuda_calls_revive(cuda_device *d); // after kernels have taken the host for dead
// Calls without an answer, in words; how many.
uint32_t cuda_calls_pending(const cuda_device *d, char *out, size_t size);
void cuda_calls_forget(kiln_module *m);
void cuda_calls_close(kiln *k);
struct server_stop;
bool cuda_calls_stopped(kiln *k, struct server_stop *out); // a function has stopped a kernel

#endif
