// What the devices share whose kernels run on the threads of this process (interp, cpu): buffers
// are host memory and rows of a segment table, work is done when its call returns, so streams never
// wait; a capture keeps calls (rt/graph/capture.h). Such a device puts HOST_OPS into its table and
// adds what it loads and launches.
//
// memory.c holds buffers and copies, stream.c streams and events, launch.c what every launch does
// before and after the kernel.
#ifndef KILN_HOST_H
#define KILN_HOST_H

#include "dev/interp/interp.h"
#include "rt/graph/capture.h"
#include "rt/rt.h"

typedef struct segment_table {   // a segment table
    struct segment_table *older; // which kernels that run may still use
    interp_buffer rows[];
} segment_table;

typedef struct host_device { // the first member of what such a device keeps of a context
    segment_table *table;
    interp_buffer *rows; // of the table; row 0 is null; none before the first buffer
    uint32_t row_count, row_cap;
    uint32_t *free_rows;
    uint32_t free_row_count;
    uint32_t threads;    // KILN_THREADS; 0: one a core
    uint64_t step_limit; // KILN_STEPS; 0: none
    bool guards_buffers; // rt/memory/guarded.c
} host_device;

static inline host_device *host_of(const kiln *k)
{
    return k->dev;
}

// Opens the only device of its kind; `size` is of its state, which begins with a host_device.
kiln_status host_open(kiln *k, int ordinal, const char *name, const struct target *t, size_t size);
void host_close(kiln *k);
size_t host_count(void);            // one
kiln_status host_find(int ordinal); // always
bool host_accepts_target(const kiln *k,
                         const struct target *t); // its own, the interpreter's, any GPU's
kiln_status host_sync(kiln *k, kiln_stream *s);

// --- memory.c
kiln_status host_buffer_alloc(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc);
kiln_status host_buffer_wrap(kiln_buffer *b, size_t bytes, const kiln_wrap_desc *desc);
void host_dlpack(const kiln *k, int32_t *type, int32_t *id);
void host_buffer_free(kiln_buffer *b);
void host_free_old_tables(const host_device *d); // no kernel runs
kiln_status host_copy(kiln *k, const rt_copy *c);
kiln_status host_fill(kiln_buffer *b, size_t first, size_t count, const void *element,
                      kiln_stream *s);
kiln_status host_memory_info(kiln *k, kiln_memory_info *out);
kiln_status host_memory_trim(kiln *k);
kiln_status host_memory_alloc(kiln *k, size_t bytes, void **out);
void host_memory_free(kiln *k, void *memory);

// --- stream.c
kiln_status host_stream_new(kiln_stream *s, int priority);
kiln_status host_stream_is_done(kiln_stream *s, bool *is_done);
kiln_status host_stream_notify(kiln *k, kiln_stream *s, int descriptor);
kiln_status host_stream_wait(kiln_stream *s, const kiln_event *e);
kiln_status host_event_new(kiln_event *e);
void host_event_free(kiln_event *e);
kiln_status host_event_record(kiln_event *e, kiln_stream *s);
kiln_status host_event_sync(kiln_event *e);
kiln_status host_event_elapsed(const kiln_event *start, const kiln_event *end, double *ms);

// --- launch.c
// Keeps the launch while its stream is captured; else runs it by `run`, which sets the error when
// it fails, with the floating-point state that kernels expect.
kiln_status host_launch(kiln_kernel *kernel, const rt_launch *l,
                        kiln_status (*run)(kiln_kernel *kernel, const rt_launch *l));

#define HOST_OPS                                                                                   \
    .count = host_count, .find = host_find, .close = host_close, .sync = host_sync,                \
    .alloc = host_buffer_alloc, .wrap = host_buffer_wrap, .dlpack = host_dlpack,                   \
    .free = host_buffer_free, .copy = host_copy, .fill = host_fill,                                \
    .memory_info = host_memory_info, .memory_trim = host_memory_trim,                              \
    .host_alloc = host_memory_alloc, .host_free = host_memory_free, .stream_new = host_stream_new, \
    .stream_free = capture_stream_free, .stream_is_done = host_stream_is_done,                     \
    .stream_notify = host_stream_notify, .stream_wait = host_stream_wait,                          \
    .event_new = host_event_new, .event_free = host_event_free, .event_record = host_event_record, \
    .event_sync = host_event_sync, .event_elapsed = host_event_elapsed, CAPTURE_OPS

#endif
