// The runtime's insides: what stands behind the handles of kiln.h.
//
// A handle's first word is its magic, the second its number, which no other has or had. Handles
// come from blocks that are never given back to the system, so looking at a freed one is harmless
// and finds the poisoned magic; what points elsewhere is not looked at (context/handle.c).
#ifndef KILN_RT_H
#define KILN_RT_H

#include <pthread.h>

#include "base/diag.h"
#include "dev/device.h"
#include "kiln/gguf.h"
#include "kiln/kiln.h"

typedef enum handle_kind {
    HANDLE_CONTEXT,
    HANDLE_MODULE,
    HANDLE_KERNEL,
    HANDLE_BUFFER,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_GRAPH,
    HANDLE_GGUF,
    HANDLE_KIND_COUNT
} handle_kind;

typedef struct error_state {
    uint64_t order; // of all errors of the process
    kiln_error shown;
    char *text; // malloc'ed; shown.text points to it
    char code[8];
    char kernel[128], file[256], hint[256];
} error_state;

typedef struct rt_late {
    struct rt_late *next;
    void (*drop)(void *handle);
    void *handle;
} rt_late;

struct kiln {
    uint64_t magic, id;
    char device[32];
    error_state error;
    struct kiln_module *modules; // lists of everything made through this context
    struct kiln_buffer *buffers;
    rt_late *late;            // what host functions have freed: dropped when no kernel runs; atomic
    struct kiln_buffer *back; // exports that came back, under the lock of memory/export.c
    bool has_exports;         // some buffer was ever exported; atomic
    bool is_closed;           // kiln_close was called; exports are still out
    struct kiln_stream *streams;
    struct kiln_event *events;
    struct kiln_graph *graphs;
    const device_ops *ops;
    const kiln_open_desc *given; // while the device is opened
    void *dev;                   // the device's own state
    const struct target *target; // what kernels are compiled for
    kiln_caps caps;              // filled by the device when it is opened
    // Of a device whose kernels may call the host: this one's cannot, or not once for a warp.
    bool has_no_calls, has_no_warp_calls;
    uint64_t used_bytes, used_peak;    // by buffers
    struct host_block *host_blocks;    // of kiln_host_alloc
    volatile int cancel;               // kiln_cancel was called; a device that can stop looks at it
    uint32_t launches;                 // that run on the process's own threads now; atomic
    uint64_t blocks_taken, blocks_all; // of the launch that runs, where the device knows; atomic
    void (*print)(void *user, const char *text, size_t len);
    void *print_user;
    void (*print_error)(void *user, const char *text, size_t len); // NULL: as print
    void *print_error_user;
    pthread_mutex_t print_lock; // of output: threads of a device print while kernels run
    char *printed[2];           // being filled; handed out last
    size_t printed_len, printed_cap;
    bool has_lost_print;    // no memory for some of it
    bool has_print_left;    // the function that prints has not been asked to let it out
    struct io_state *io;    // services for kernels (io/io.h)
    struct host_row *hosts; // host functions (host/host.c)
    kiln_buffer *heap;      // of kernels (memory/heap.c); NULL: not made yet
    size_t heap_wanted;     // bytes of it; 0: what KILN_HEAP says
    void *op_cache;         // kernels of the op library (ops/op.c); malloc'ed
    void (*op_cache_free)(void *op_cache);
};

typedef struct gguf_entry { // a key or a tensor of a GGUF file
    uint64_t at;            // where it begins
    const char *name;
} gguf_entry;

struct kiln_gguf {
    uint64_t magic, id;
    const uint8_t *bytes;
    size_t size;
    bool is_mapped;
    kiln_gguf_info info;
    gguf_entry *entries; // of the values, then of the tensors; malloc'ed, and so are their names
    char *names;
};

typedef struct rt_param {
    kiln_param_info info;
    ir_type value; // of the scalar
    bool is_raw;   // of user-given PTX: only the size is known
} rt_param;

// What a compile sets here and in kiln_module is kept by the cache, too: a new field needs a line
// in module/image.c.
struct kiln_kernel {
    uint64_t magic, id;
    struct kiln_module *module;
    const char *name;
    rt_param *params;
    size_t param_count;  // the hidden ones too
    size_t hidden_count; // the last of them: the heap, then the bytes behind each pointer parameter
                         // (checked for bounds)
    bool uses_heap;
    uint32_t block[3];
    uint32_t max_threads; // of a block whose size the launch gives; 0: not given
    uint32_t cluster[3];
    const char *file; // where it is written
    uint32_t line;
    uint64_t shared_bytes; // static
    bool talks;            // prints, asserts or traps: takes the hidden channel argument
    bool calls_host;       // a launch has found host functions that it calls
    bool carries;          // some of them with counted objects
    uint64_t stack_bytes;  // of a thread, for its calls; 0: it makes none
    kiln_resources resources;
    void *dev; // the device's own
};

struct kiln_module {
    uint64_t magic, id;
    kiln *k;
    rt_late late;
    arena *a; // programs, names, parameters
    char *log;
    kiln_kernel **kernels;
    size_t kernel_count;
    char *code; // as the target's back end made it; in the arena. NULL: it was not kept
    size_t code_len;
    const char *name;            // the source's path
    const struct target *target; // what it is compiled for
    arena *scratch;              // while code is made
    void *binary; // what the driver's compiler made of the code, malloc'ed; NULL: nothing to keep
    size_t binary_len;
    void *dev; // the device's own
    channel_site *sites;
    struct host_site **host_sites; // per site: of a host function that a launch has checked
    uint32_t site_count;
    str *strings;
    uint32_t string_count;
    ir_named *constants; // in the arena
    uint32_t constant_count;
    struct cache_input *inputs; // files the compile has read or looked for; in the arena
    size_t input_count;
    bool for_check;
    source_map *sources; // for_check: the source texts, at the same positions
    struct kiln_module *prev, *next;
};

struct kiln_buffer {
    uint64_t magic, id;
    kiln *k;
    kiln_type type;
    size_t elem_size, count;
    uint8_t *base;    // where the device's memory is memory of this process, too
    uint64_t address; // what kernels get
    bool is_mapped;   // base is the program's to use
    bool is_foreign;  // over foreign memory (kiln_buffer_wrap)
    bool is_read_only;
    void (*release)(void *user); // of a foreign one
    void *release_user;
    void *dev; // the device's own
    char name[32];
    struct kiln_buffer *prev, *next;
    uint32_t references;           // of the program; at 0 the handle is retired
    uint32_t holds;                // of graphs and captures
    uint32_t exports;              // of foreign libraries (memory/export.c), under its lock
    struct kiln_buffer *next_back; // of those that came back
    bool is_back;
    rt_late late;
};

// What the work of a graph, or of a capture, needs to be alive (graph/uses.c).
typedef struct graph_use {
    uint8_t kind; // handle_kind
    const void *handle;
    uint64_t id;
    size_t node;         // of a graph made by hand
    kiln_kernel *kernel; // of a module: which one is launched
} graph_use;
typedef struct graph_uses {
    graph_use *at;
    size_t len, cap;
} graph_uses;

struct kiln_stream {
    uint64_t magic, id;
    kiln *k;
    rt_late late;
    struct kiln_stream *prev, *next;
    kiln_graph *capture; // of a device without graphs of its own: where calls are kept (capture.h)
    bool is_capturing;
    uint64_t captures; // that were begun
    graph_uses uses;   // of the capture
    void *dev;         // the device's own
};

struct kiln_event {
    uint64_t magic, id;
    kiln *k;
    struct kiln_event *prev, *next;
    bool is_recorded;
    void *dev; // the device's own
};

struct kiln_graph {
    uint64_t magic, id;
    kiln *k;
    rt_late late;
    struct kiln_graph *prev, *next;
    size_t node_count;
    bool is_by_hand;
    graph_uses uses;
    void *dev; // the device's own
};

// Lists through prev and next.
#define LIST_ADD(head, item)                                                                       \
    do {                                                                                           \
        (item)->next = (head);                                                                     \
        if (head)                                                                                  \
            (head)->prev = (item);                                                                 \
        (head) = (item);                                                                           \
    } while (0)
#define LIST_REMOVE(head, item)                                                                    \
    do {                                                                                           \
        if ((item)->prev)                                                                          \
            (item)->prev->next = (item)->next;                                                     \
        else                                                                                       \
            (head) = (item)->next;                                                                 \
        if ((item)->next)                                                                          \
            (item)->next->prev = (item)->prev;                                                     \
    } while (0)

// --- context/handle.c
void *handle_new(handle_kind kind); // zeroed but for the magic; NULL: no memory
void handle_free(handle_kind kind, void *handle);
bool handle_is(handle_kind kind, const void *handle);
// For calls that free: is there a live handle to free? NULL is none; for anything else that is none
// the error says so.
bool handle_can_free(handle_kind kind, const void *handle);
// Dead for the program from now on, but not for handle_id; handle_free comes later.
void handle_retire(void *handle);
uint64_t handle_id(handle_kind kind, const void *handle); // 0: neither live nor retired

// --- context/error.c: records the error on `k` (may be NULL) and on this thread; returns `status`.
kiln_status error_set(kiln *k, kiln_status status, diag_code code, const char *format, ...)
    PRINTF_LIKE(4, 5);
kiln_status error_no_memory(kiln *k, const char *what);
kiln_status error_bad_handle(handle_kind kind, const void *handle);
// Adds where it happened to the error just set.
void error_add_place(kiln *k, const char *kernel, const char *file, uint32_t line, uint32_t column);
// Adds the kernel and where it is written, to the fields and as a line of the text.
void error_add_kernel(kiln *k, const kiln_kernel *kernel);
// Adds a line to the text of the error just set.
void error_add_line(kiln *k, const char *format, ...) PRINTF_LIKE(2, 3);
// An error whose code is not a row's name but text (a compile's first diagnostic).
kiln_status error_set_text(kiln *k, kiln_status status, const char *code, const char *text);
void error_free(kiln *k);

// --- launch/args.c
kiln_type type_from_ir(ir_type t, bool is_unsigned);
// The bytes from where a buffer argument starts to the buffer's end.
uint64_t arg_bytes(const kiln_arg *arg);
// Checks one argument and turns it into what the interpreter takes.
kiln_status arg_check(kiln_kernel *kernel, size_t index, const kiln_arg *arg, rt_arg *out);

// --- memory/guarded.c: zeroed memory between inaccessible addresses. It ends where they
// begin, but for the alignment. NULL: none is left, take other memory. *mapped is what guarded_free
// wants; 0 means that the memory is malloc's.
enum { GUARDED_ALIGNMENT = 64 };
void *guarded_new(size_t bytes, size_t *mapped, uint8_t **base);
void guarded_free(void *memory, size_t mapped);
// --- memory/buffer.c: a buffer lives until the program, all graphs and all exports let go of it.
void buffer_retain_use(kiln_buffer *b);
void buffer_release(kiln_buffer *b);
void buffer_drop_unused(kiln_buffer *b); // where there is no reference
void buffer_drop(kiln_buffer *b);        // whatever references there are
kiln_status buffer_check_writable(const kiln_buffer *b, const char *call); // live, not read-only
// --- memory/heap.c
// The heap as an argument; makes it when there is none. `captures`: nothing can be made now.
kiln_status heap_address(kiln *k, bool captures, uint64_t *address, uint64_t *bytes);
// --- memory/export.c
bool export_has(const kiln_buffer *b); // it is out, or came back and was not collected
void export_collect(kiln *k);          // frees what came back since
// The last thing that kiln_close does to buffers. True: some are still out, and the last one that
// comes back ends the context.
bool export_outlives(kiln *k);
void context_finish(kiln *k); // context.c: the end of kiln_close, where none is out any more
// --- launch/launch.c
kiln_status launch_check(kiln_kernel *kernel, const kiln_launch_desc *desc, rt_arg *args,
                         rt_launch *out, bool *is_empty);
// --- context/context.c
// Who this thread calls host functions for. A call that would wait for the kernel which makes such
// a call would wait for itself, so the function that it calls is refused.
typedef struct context_call {
    const kiln *k;
    bool is_served; // the kernel runs elsewhere: this thread is one that serves its calls
    const struct context_call *outer;
} context_call;
void context_enter(context_call *call, const kiln *k); // a function is called: until context_leave
void context_leave(const context_call *call);
void context_serve(context_call *call, const kiln *k); // this thread calls k's functions for good
bool context_is_within(const kiln *k);                 // a kernel of k has called, or runs here
// Before a wait for kernels of k, by the public call of that name. context_may_use: before a call
// that waits only where kernels run elsewhere.
kiln_status context_may_wait(kiln *k, const char *call);
kiln_status context_may_use(kiln *k, const char *call);
// A handle that the program frees while a kernel runs, which may need it: it is dead for the
// program at once, and `drop` is called when no kernel runs. False: none runs, drop it now.
bool context_keeps(kiln *k, rt_late *late, void (*drop)(void *handle), void *handle);
void context_drop_late(kiln *k); // no kernel runs
// Where a context's kernel output goes.
void context_print(void *k, const char *bytes, size_t len);
void context_print_error(kiln *k, const char *bytes, size_t len); // of stderr
void context_print_out(kiln *k); // what was printed is wanted now: fflush, a prompt
// --- memory/copy.c
void host_drop_all(kiln *k);
typedef struct tensor_layout { // a tensor map's description, checked
    kiln_type type;
    uint64_t address;                      // of the origin
    uint64_t strides[5];                   // bytes, of dimension 1 and up
    uint32_t steps[5], swizzle, promotion; // the last two as cuTensorMapEncodeTiled counts them
} tensor_layout;
kiln_status tensor_layout_of(kiln *k, const kiln_tensor_map_desc *desc, tensor_layout *out);
// --- graph/stream.c
void stream_drop(kiln_stream *s);
void event_drop(kiln_event *e);
void graph_drop(kiln_graph *g);
// NULL when `s` is NULL or a stream of `k` that can be used now; else the error is set.
kiln_status stream_check(kiln *k, const kiln_stream *s);
void rt_notify(int descriptor); // the stream's work has ended: kiln_stream_notify
// --- graph/uses.c: false: no memory.
bool uses_add_launch(graph_uses *u, kiln_kernel *kernel, const kiln_arg *args, size_t count,
                     size_t node);
bool uses_add_buffer(graph_uses *u, const kiln_buffer *b);
void uses_drop_node(graph_uses *u, size_t node);
void uses_free(graph_uses *u);
const graph_use *uses_find_dead(const graph_uses *u); // NULL: all are alive
// --- module/module.c
void module_drop(kiln_module *m);

#endif
