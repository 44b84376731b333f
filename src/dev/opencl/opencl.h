// The OpenCL device's own state. device.c opens, closes and waits, and turns the driver's
// answers into sentences; memory.c holds buffers (shared virtual memory: a buffer's address
// is a number that kernels may keep) and copies; module.c makes kernels of source text;
// launch.c launches and reads what kernels say; library.c opens the driver.
#ifndef KILN_OPENCL_H
#define KILN_OPENCL_H

#include <pthread.h>

#include "back/back.h"
#include "dev/opencl/abi.h"
#include "rt/rt.h"

enum {
    OCL_RING_BYTES = 1 << 20,
    OCL_CHANNEL_HEAD = 64,
    OCL_CALLS_AT = OCL_CHANNEL_HEAD + OCL_RING_BYTES + 64, // a mailbox_calls (back/ctext/host.c)
    OCL_CALLS_BYTES = 72
};
typedef struct ocl_calls ocl_calls;

struct ocl_device {
    const ocl_api *cl;
    const ocl_found *found;
    int ordinal;
    kiln_device_info facts;
    ocl_context context;
    ocl_queue main;
    opencl_options options;
    uint64_t svm;
    ocl_calls *calls; // NULL: no kernel has called the host
    bool has_talked;  // some kernel with a channel was launched since the last drain
    bool is_lost;
    char lost_text[512];
    char last_kernel[128];
    pthread_mutex_t lock; // of kernels' arguments, which OpenCL keeps in the kernel
};
typedef struct ocl_device ocl_device;

typedef struct ocl_function { // of a kernel
    ocl_kernel native;
    bool follows_pointers; // reads addresses from memory
} ocl_function;

typedef struct ocl_channel {
    uint8_t
        *memory; // SVM: head, lines, fault, calls; NULL: no kernel of the module prints or checks
    bool is_dirty;
    bool has_calls;      // it says where mailboxes are
    uint32_t first_call; // number of the module's first function in them
} ocl_channel;

typedef struct ocl_module {
    ocl_program program;
    ocl_channel channel;
} ocl_module;

typedef struct ocl_stream {
    ocl_queue queue;
    ocl_event last; // of the newest work
} ocl_stream;

// What the device keeps of each handle. An event's is the driver's event itself.
static inline ocl_device *ocl_of(const kiln *k)
{
    return k->dev;
}
static inline ocl_module *ocl_module_of(const kiln_module *m)
{
    return m->dev;
}
static inline ocl_function *ocl_function_of(const kiln_kernel *kernel)
{
    return kernel->dev;
}
static inline ocl_stream *ocl_stream_of(const kiln_stream *s)
{
    return s->dev;
}

// --- device.c
kiln_status ocl_fail(kiln *k, ocl_result r, const char *doing);
kiln_status ocl_ready(kiln *k); // KILN_OK, or the error of a device that was lost before
kiln_status ocl_sync(kiln *k, kiln_stream *s);
ocl_queue ocl_queue_of(const kiln *k, const kiln_stream *s);
// Where the event of the newest work of a stream goes; NULL for the device's own.
ocl_event *ocl_last_of(kiln_stream *s);

// --- memory.c
kiln_status ocl_alloc(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc);
void ocl_free(kiln_buffer *b);
kiln_status ocl_copy(kiln *k, const rt_copy *copy);
kiln_status ocl_fill(kiln_buffer *b, size_t first, size_t count, const void *element,
                     kiln_stream *s);
kiln_status ocl_memory_info(kiln *k, kiln_memory_info *out);
kiln_status ocl_memory_trim(kiln *k);
kiln_status ocl_host_alloc(kiln *k, size_t bytes, void **out);
void ocl_host_free(kiln *k, void *memory);

// --- foreign.c: what belongs to others
kiln_status ocl_wrap(kiln_buffer *b, size_t bytes, const kiln_wrap_desc *desc);
kiln_status ocl_adopt_queue(kiln *k, void *native, ocl_queue *out);
// The context that the device is opened on; *ordinal becomes that of its device.
kiln_status ocl_adopt_context(kiln *k, const ocl_api *cl, int *ordinal, ocl_context *out);

// --- module.c
kiln_status ocl_load_module(kiln_module *m, const rt_image *image);
void ocl_unload_module(kiln_module *m);

// --- launch.c
kiln_status ocl_launch(kiln_kernel *kernel, const rt_launch *launch);
kiln_status ocl_channel_open(kiln_module *m);
void ocl_channel_close(kiln_module *m);
// After everything has ended: prints the lines of all modules, reports the first fault.
kiln_status ocl_channel_drain(kiln *k);

// --- calls.c: calls of the host
struct server_stop;
// Before a launch: mailboxes and threads that serve, or why there are none.
kiln_status ocl_calls_start(kiln_kernel *kernel, const rt_launch *l);
void *ocl_calls_memory(const ocl_device *d); // which kernels use; NULL: none
void ocl_calls_rest(ocl_device *d);          // all kernels have ended
void ocl_calls_forget(kiln_module *m);
void ocl_calls_close(kiln *k);
bool ocl_calls_stopped(kiln *k, struct server_stop *out); // as server_take_stop

#endif
