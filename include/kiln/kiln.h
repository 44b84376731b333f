// kiln.h: open a device, compile kernels written in plain C, hold buffers, launch.
//
// Every call returns a kiln_status; 0 is success. When a call fails, kiln_last_error() has the
// details: code, sentence, what to do. Handles are checked: a null, foreign or freed one gives
// KILN_E_BAD_HANDLE. The library never prints, aborts or exits.
//
//     kiln *k;
//     kiln_open(NULL, &k);                                            // the best device present
//     kiln_module *m;
//     kiln_compile(k, &(kiln_compile_desc){.path = "saxpy.c"}, &m);
//     kiln_kernel *saxpy;
//     kiln_module_kernel(m, "saxpy", &saxpy);
#ifndef KILN_H
#define KILN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma push_macro("host") // kiln/kernel.h has marks of these names
#pragma push_macro("kernel")
#undef host
#undef kernel

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#    define KILN_API __attribute__((visibility("default")))
#else
#    define KILN_API
#endif

// C11 and C++ have different words for the same.
#ifdef __cplusplus
#    define KILN_ALIGN(bytes)              alignas(bytes)
#    define KILN_STATIC_ASSERT(fact, text) static_assert(fact, text)
#else
#    define KILN_ALIGN(bytes)              _Alignas(bytes)
#    define KILN_STATIC_ASSERT(fact, text) _Static_assert(fact, text)
#endif

#define KILN_VERSION_MAJOR 0
#define KILN_VERSION_MINOR 1
#define KILN_VERSION_PATCH 0
#define KILN_VERSION       "0.1.0"

typedef enum kiln_status {
    KILN_OK = 0,
    KILN_E_BAD_ARGUMENT, // a null, a wrong size, a number out of range
    KILN_E_BAD_HANDLE,   // not a live handle of that kind
    KILN_E_COMPILE,      // the kernel is wrong; the diagnostics are in the error's text
    KILN_E_NOT_FOUND,    // no such file, kernel, device, argument
    KILN_E_NO_MEMORY,    // host or device
    KILN_E_LAUNCH,       // the launch was refused: arguments, sizes, limits
    KILN_E_KERNEL,       // the kernel ran and failed: out of bounds, assert, trap, missed barrier
    KILN_E_IO,           // a file could not be read or written
    KILN_E_UNSUPPORTED,  // this device cannot do that
    KILN_E_DRIVER,       // the driver reports an error
    KILN_E_CANCELLED,    // kiln_cancel was called
    KILN_E_INTERNAL      // a mistake of Kiln's own
} kiln_status;

typedef struct kiln kiln;               // an open device
typedef struct kiln_module kiln_module; // compiled kernels
typedef struct kiln_kernel kiln_kernel; // one of them; lives as long as its module
typedef struct kiln_buffer kiln_buffer; // device memory
typedef struct kiln_stream kiln_stream; // work that runs in the order it was given
typedef struct kiln_event kiln_event;   // a point in a stream
typedef struct kiln_graph kiln_graph;   // recorded work, launched as one

typedef struct kiln_error {
    kiln_status status;
    const char *code;   // "K6003", or ""
    const char *text;   // complete text to show: for a compile the rendered diagnostics
    const char *kernel; // or ""
    const char *file;   // or ""
    int line, column;   // 0: none
    const char *hint;   // what to do next, or ""
} kiln_error;

// The newest error on `k`, or of this thread when k is NULL (an open that failed). An error
// that belongs to no context (a bad handle) counts for each one, in the thread that made it. Never
// NULL. Valid until the next failing call.
KILN_API const kiln_error *kiln_last_error(const kiln *k);
KILN_API const char *kiln_status_name(kiln_status status);
KILN_API const char *kiln_version(void);

// --- devices
// "interp", "cpu", "cuda", "cuda:1", "opencl:0" …; NULL: $KILN_DEVICE, or the best present. A
// handle is for one thread at a time; several handles, of the same device too, are independent. An
// environment switch (docs/switches.md) with a value that it does not take is an error (K6009).
KILN_API kiln_status kiln_open(const char *device, kiln **out);
KILN_API void kiln_close(kiln *k); // frees everything made through it; NULL is fine

// A device beside another library: its context, and a stream of its own for work that names none.
// Both must outlive the handle; Kiln does not free them. Without a context, cuda takes the GPU's
// primary context, which the CUDA runtime (and so PyTorch) uses, too; opencl makes one.
typedef struct kiln_open_desc {
    const char *device; // as kiln_open takes it
    void *context;      // a CUcontext of that GPU, or a cl_context (the device is one of its own)
    void *stream;       // a CUstream, or a cl_command_queue of `context`; NULL: a new one
} kiln_open_desc;
KILN_API kiln_status kiln_open_on(const kiln_open_desc *desc, kiln **out);
KILN_API const char *kiln_device_name(const kiln *k);

// What a device can do. Programs and ops choose kernels by it; target_…() answers from the same set
// inside a kernel.
typedef struct kiln_caps {
    uint32_t sm;            // NVIDIA's architecture: 90; 0: none
    uint32_t subgroup;      // threads of a warp
    uint32_t block_threads; // at most, of one block
    size_t shared_bytes;    // at most, of one block, static and dynamic together
    bool has_f64, has_f16;  // arithmetic
    bool has_atomic64;      // atomics of 64 bits
    bool has_nv;            // NVIDIA's instructions: of `sm` on a GPU, all of them on interp
    bool has_wgmma;         // matrix products of four warps: sm_90a, interp
    bool has_tensor_copies; // kiln_tensor_map_make
    bool has_clusters;      // of more than one block
    bool has_cooperative;   // kiln_launch_desc.is_cooperative
    bool has_addresses;     // kiln_buffer_address is what the driver calls the memory
    bool has_host_memory;   // every buffer is memory of this process
    bool can_cancel;        // kiln_cancel stops a launch
    bool is_host;           // kernels run on the threads of this process
    bool is_emulated;       // instruction by instruction: all of it works, none of it is fast
} kiln_caps;

typedef struct kiln_device_info {
    char device[32]; // what kiln_open takes: "cuda:0"
    char name[128];  // the maker's name for it
    char target[16]; // what kernels are compiled for: "sm_90a"; "interp"
    kiln_caps caps;
    uint64_t memory_bytes;
    uint32_t multiprocessors;
    uint32_t threads_per_multiprocessor;
    uint32_t registers_per_multiprocessor;
    size_t shared_per_multiprocessor;
    size_t cache_bytes;                                    // the last level
    uint32_t clock_khz, memory_clock_khz, memory_bus_bits; // 0: unknown
    int driver_version;                                    // 13000 is CUDA 13.0
    bool is_integrated;
} kiln_device_info;
// How many devices kiln_open can open here, best first; the last is "interp".
KILN_API size_t kiln_device_count(void);
KILN_API kiln_status kiln_device_info_at(size_t index, kiln_device_info *out);
KILN_API kiln_status kiln_device_info_of(const kiln *k, kiln_device_info *out);

// The library's log: KILN_DEBUG=1 to 6 sends it to standard error; this takes
// it over for the whole process. Levels: 1 kernels compiled and their time, 2 their resources, 3
// IR, 4 passes, 5 PTX, 6 everything. A NULL function gives it back to KILN_DEBUG. Calls do not
// overlap; the function must not call Kiln.
KILN_API void kiln_on_log(int level, void (*log)(void *user, int level, const char *text),
                          void *user);

// --- types of elements and scalars
typedef enum kiln_type {
    KILN_VOID, // bytes, structs
    KILN_BOOL,
    KILN_I8,
    KILN_U8,
    KILN_I16,
    KILN_U16,
    KILN_I32,
    KILN_U32,
    KILN_I64,
    KILN_U64,
    KILN_F16,
    KILN_BF16,
    KILN_F8E4,
    KILN_F8E5,
    KILN_F32,
    KILN_F64
} kiln_type;
KILN_API size_t kiln_type_size(kiln_type type);
KILN_API const char *kiln_type_name(kiln_type type); // "f32"

// --- compiling
struct kiln_native { // a row of the table that kiln build --embed cpu writes; not made by hand
    const char *name;
    void (*run)(void *warp);
    uint64_t local_bytes, shared_bytes;
    uint32_t needs_fibers, needs_rows;
};
typedef struct kiln_compile_desc {
    const char *path;           // a file; or
    const char *source;         // a text (with `path` as the name to show, may be NULL)
    size_t source_len;          // 0: up to the NUL
    const char *const *define;  // "NAME" or "NAME=VALUE", NULL-terminated
    const char *const *include; // folders, NULL-terminated
    const char *const *tune;    // "BM=128", NULL-terminated: chooses among a tune()'s values
    const char *target;         // NULL: the device's own
    int optimise;               // 0: default (full); -1: none, in the driver either; 1: full
    bool is_ir;                 // the text is IR, not C
    bool is_ptx;                // the text is PTX (cuda devices): loaded as it is
    bool no_file_includes;      // refuse #include of anything but Kiln's headers
    bool warnings_are_errors;
    bool remarks;          // report performance remarks, too
    bool diagnostics_json; // kiln_error.text is JSON lines instead of prose
    bool for_check;        // for kiln_check: not optimised, every access watched (interp)
    bool check_bounds; // an access outside its array stops the thread and is reported; slower. Also
                       // KILN_CHECK=bounds
    const struct kiln_native
        *native; // machine code for the cpu device, from kiln build --embed cpu
    // "KERNEL", or "KERNEL n=4096 m=64" with some of its sizes: takes the values of the file's
    // tune()s that `kiln tune` has found fastest for that kernel on this device, for sizes at most
    // a factor of two away. `tune` wins over them; where nothing was found, or KILN_TUNED is off,
    // the defaults stay. The host reads what it needs with kiln_kernel_constant.
    const char *tuned;
} kiln_compile_desc;

KILN_API kiln_status kiln_compile(kiln *k, const kiln_compile_desc *desc, kiln_module **out);
KILN_API void kiln_module_free(kiln_module *m);
// Warnings and remarks of a compile that went well; "" when there are none.
KILN_API const char *kiln_module_log(const kiln_module *m);
KILN_API size_t kiln_module_kernel_count(const kiln_module *m);
KILN_API kiln_status kiln_module_kernel_at(const kiln_module *m, size_t index, kiln_kernel **out);
KILN_API kiln_status kiln_module_kernel(const kiln_module *m, const char *name,
                                        kiln_kernel **out); // NULL name: the only one

// --- what a kernel looks like
typedef enum kiln_param_kind {
    KILN_PARAM_SCALAR,
    KILN_PARAM_POINTER,
    KILN_PARAM_STRUCT,
    KILN_PARAM_TENSOR_MAP // takes a kiln_tensor_map
} kiln_param_kind;
typedef struct kiln_param_info {
    const char *name;
    kiln_param_kind kind;
    kiln_type type;     // of the scalar, or of what the pointer points to (KILN_VOID for structs)
    size_t size;        // of the scalar or struct, or of one element
    bool is_const;      // the kernel only reads through it
    const char *c_type; // "const f32 *"
} kiln_param_info;
KILN_API const char *kiln_kernel_name(const kiln_kernel *kernel);
KILN_API size_t kiln_kernel_param_count(const kiln_kernel *kernel);
KILN_API kiln_status kiln_kernel_param(const kiln_kernel *kernel, size_t index,
                                       kiln_param_info *out);
KILN_API void kiln_kernel_block(const kiln_kernel *kernel,
                                uint32_t block[3]); // zeros: decided at launch
// Threads a block may have where the launch says its size: max_threads(n); 0: it does not say.
KILN_API uint32_t kiln_kernel_max_threads(const kiln_kernel *kernel);

// The value of an enum constant at file scope, or of a tunable, of the kernel's source: sizes of
// tiles and the layout of shared memory are written once, in the kernel. User-given PTX and IR
// have none. A kernel with dynamic shared memory says by SHARED_BYTES how much it needs.
KILN_API kiln_status kiln_kernel_constant(const kiln_kernel *kernel, const char *name,
                                          int64_t *out);

// What one thread and one block of a kernel take; zeros where a device does not say (interp, cpu:
// shared_bytes alone). On cpu it waits for the C compiler, which works beside the program: until it
// is done launches run on machine code that Kiln made at once or, where it cannot, small ones are
// interpreted and larger ones wait.
typedef struct kiln_resources {
    uint32_t registers;  // of a thread
    size_t shared_bytes; // static
    size_t local_bytes;  // of a thread: local arrays and spilled registers
    size_t spill_stores,
        spill_loads; // bytes, as the driver's compiler says; 0 when it came from the cache
    size_t constant_bytes;
    uint32_t block_threads; // at most
} kiln_resources;
KILN_API kiln_status kiln_kernel_resources(const kiln_kernel *kernel, kiln_resources *out);
// How many blocks of `threads` threads run at the same time on one multiprocessor.
KILN_API kiln_status kiln_kernel_occupancy(const kiln_kernel *kernel, uint32_t threads,
                                           size_t shared_bytes, uint32_t *blocks);
// The code the kernel's module was compiled to: PTX on cuda, "" on interp. Lives as long as the
// module.
KILN_API const char *kiln_module_code(const kiln_module *m, size_t *len);

// --- buffers
KILN_API kiln_status kiln_buffer_new(kiln *k, kiln_type type, size_t count,
                                     kiln_buffer **out); // zeroed; count 0 is fine
KILN_API kiln_status kiln_buffer_new_bytes(kiln *k, size_t element_size, size_t count,
                                           kiln_buffer **out); // structs
// A buffer counts its references: kiln_buffer_new makes the first, kiln_buffer_retain one more,
// kiln_buffer_free takes one away. Without any the handle is dead; the memory stays while a graph
// or a capture uses it. Views do not count.
KILN_API kiln_status kiln_buffer_retain(kiln_buffer *b);
KILN_API void kiln_buffer_free(kiln_buffer *b);
KILN_API kiln_status kiln_write(kiln_buffer *b, size_t first, const void *from,
                                size_t count); // in elements
KILN_API kiln_status kiln_read(const kiln_buffer *b, size_t first, void *to, size_t count);
KILN_API kiln_status kiln_fill(kiln_buffer *b, const void *element);
KILN_API size_t kiln_buffer_count(const kiln_buffer *b);
KILN_API size_t kiln_buffer_bytes(const kiln_buffer *b);
KILN_API kiln_type kiln_buffer_type(const kiln_buffer *b);

typedef struct kiln_buffer_desc {
    kiln_type type;      // or
    size_t element_size; // for structs
    size_t count;
    bool is_mapped;     // host memory that kernels reach too: slow for them, no copies; see
                        // kiln_buffer_host
    bool is_not_zeroed; // the contents are undefined until written
    const char *name;   // shown in reports; may be NULL
} kiln_buffer_desc;
KILN_API kiln_status kiln_buffer_make(kiln *k, const kiln_buffer_desc *desc, kiln_buffer **out);
// The host's address of a mapped buffer; NULL for others. Sync before looking at what a kernel
// wrote.
KILN_API void *kiln_buffer_host(const kiln_buffer *b);
// The device's address, for code that calls the driver itself; 0 on interp.
KILN_API uint64_t kiln_buffer_address(const kiln_buffer *b);

// A buffer over foreign memory. Kiln never frees that memory. `release` is called
// exactly once, when neither the program nor a graph nor a running kernel uses the buffer
// any more, at the latest by kiln_close; freeing such a buffer waits for the device's work. When
// kiln_buffer_wrap fails, `release` is not called: the memory was never taken.
typedef struct kiln_wrap_desc {
    kiln_type type;      // or
    size_t element_size; // for structs
    size_t count;
    // Memory of the host: interp, cpu; cuda pins it for as long as the buffer lives; opencl where
    // kernels reach all memory of the host. Or:
    void *host;
    uint64_t address;  // of the device: cuda; opencl (shared virtual memory of the context)
    bool is_read_only; // calls that would write it are refused
    void (*release)(void *user); // may be NULL
    void *user;
    const char *name; // shown in reports; may be NULL
} kiln_wrap_desc;
KILN_API kiln_status kiln_buffer_wrap(kiln *k, const kiln_wrap_desc *desc, kiln_buffer **out);

// Memory of the host that copies fast and without waiting (pinned). Freed by kiln_host_free or
// kiln_close.
KILN_API kiln_status kiln_host_alloc(kiln *k, size_t bytes, void **out);
KILN_API void kiln_host_free(kiln *k, void *memory);

// One copy: each side is a buffer, or host memory. Between buffers of two devices too.
typedef struct kiln_copy_desc {
    kiln_buffer *to; // or
    void *to_host;
    const kiln_buffer *from; // or
    const void *from_host;
    size_t to_first, from_first; // elements from the start of the buffer or of the host memory
    size_t count;                // elements (of a row)
    size_t rows;                 // 0 counts as 1
    size_t to_pitch, from_pitch; // elements from one row to the next; 0: count
    kiln_stream *stream; // NULL: after all earlier work, and done when the call returns. Else in
                         // the stream's order; host memory must stay as it is until then, and only
                         // memory of kiln_host_alloc is copied without waiting
} kiln_copy_desc;
// Both sides may be one buffer, but share no elements.
KILN_API kiln_status kiln_copy(const kiln_copy_desc *desc);
KILN_API kiln_status kiln_fill_async(kiln_buffer *b, size_t first, size_t count,
                                     const void *element, kiln_stream *stream);

typedef struct kiln_memory_info {
    uint64_t total_bytes, free_bytes; // of the device, as it says now
    uint64_t used_bytes, used_peak;   // by the buffers of this handle
    uint64_t reserved_bytes,
        reserved_peak; // kept from the driver for the next buffers (whole process)
    uint64_t buffer_count;
} kiln_memory_info;
KILN_API kiln_status kiln_memory_info_of(kiln *k, kiln_memory_info *out);
KILN_API kiln_status kiln_memory_trim(kiln *k); // gives what is not used back to the driver

// --- the heap of kernels: what malloc and free of <stdlib.h> share out. The first launch of a
// kernel that allocates makes it, as large as KILN_HEAP says (64 MiB). Blocks live across launches
// until they are freed, the heap is reset, or the handle is closed. All calls wait for the device.
typedef struct kiln_heap_stats {
    uint64_t size_bytes;  // of the heap, with its tables; 0: there is none yet
    uint64_t used_bytes;  // of all blocks, each rounded up to the size that it takes
    uint64_t block_count; // that were not freed
    uint64_t peak_bytes;  // the most that was ever taken, in pages of 32 KiB
    uint64_t allocations, frees;
    uint64_t failures;  // calls that returned NULL
    uint64_t bad_frees; // of what is no block, or was freed: they do nothing
} kiln_heap_stats;
// Another size, from 128 KiB up; what was allocated is gone. 0: no heap until the next launch.
KILN_API kiln_status kiln_heap_set(kiln *k, size_t bytes);
KILN_API kiln_status kiln_heap_reset(kiln *k); // frees every block and clears the counters
KILN_API kiln_status kiln_heap_stats_of(kiln *k, kiln_heap_stats *out);

// --- views: elements of a buffer as a tensor. A view is a plain value: it owns nothing and is not
// freed. Ops take views; their sizes come from them. The calls below make new views of old ones and
// copy no elements. One that cannot do what it is asked for returns a view that no call accepts;
// kiln_view_check, and the op that is given such a view, say why.
enum { KILN_MAX_RANK = 8 };
typedef struct kiln_view {
    kiln_buffer *buffer;
    uint64_t first; // the element at [0, …, 0], counted in elements of `type`
    kiln_type type; // 0: the buffer's
    uint32_t rank;  // 0: one element
    uint64_t sizes[KILN_MAX_RANK];
    bool has_strides;               // false: dense, row-major; strides are not read
    int64_t strides[KILN_MAX_RANK]; // in elements; 0: broadcast, negative: backwards
} kiln_view;
// A dense view from the buffer's first element on: KILN_VIEW(b, rows, columns). C++ has the same.
KILN_API kiln_view kiln_view_of(kiln_buffer *b, uint32_t rank, const uint64_t *sizes);
#ifndef __cplusplus
#    define KILN_VIEW(of, ...)                                                                     \
        ((kiln_view){.buffer = (of),                                                               \
                     .rank = (uint32_t)(sizeof((const uint64_t[]){__VA_ARGS__}) / 8),              \
                     .sizes = {__VA_ARGS__}})
#endif
KILN_API kiln_view kiln_view_all(kiln_buffer *b); // all of it, in one dimension
// Along `axis` the elements start, start + step, … before `stop`. A negative step goes backwards:
// start lies above stop then. KILN_TO_END as stop: up to the last element, or down to the first.
#define KILN_TO_END INT64_MAX
KILN_API kiln_view kiln_view_slice(kiln_view v, uint32_t axis, int64_t start, int64_t stop,
                                   int64_t step);
KILN_API kiln_view kiln_view_index(kiln_view v, uint32_t axis,
                                   uint64_t at); // one element of the axis, which goes
KILN_API kiln_view kiln_view_flip(kiln_view v, uint32_t axis);
// Dimension n of the result is dimension order[n] of v; `order` has v.rank numbers.
KILN_API kiln_view kiln_view_permute(kiln_view v, const uint32_t *order);
KILN_API kiln_view kiln_view_transpose(kiln_view v); // exchanges the last two dimensions
// Other sizes for the same elements in the same row-major order. Fails where the strides do not
// allow it: the elements would have to be copied.
KILN_API kiln_view kiln_view_reshape(kiln_view v, uint32_t rank, const uint64_t *sizes);
// Repeats dimensions of size 1, and puts new ones in front, until the sizes are these.
KILN_API kiln_view kiln_view_broadcast(kiln_view v, uint32_t rank, const uint64_t *sizes);
KILN_API kiln_view kiln_view_squeeze(kiln_view v, uint32_t axis);   // takes out a dimension of 1
KILN_API kiln_view kiln_view_unsqueeze(kiln_view v, uint32_t axis); // puts one in before `axis`
// Is this a view of a live buffer, of a known type, with every element inside the buffer?
KILN_API kiln_status kiln_view_check(kiln_view v);
KILN_API uint64_t kiln_view_count(kiln_view v);                // of elements
KILN_API kiln_type kiln_view_type(kiln_view v);                // never 0 but for buffers of structs
KILN_API int64_t kiln_view_stride(kiln_view v, uint32_t axis); // where strides are not read, too
KILN_API bool kiln_view_is_dense(kiln_view v);                 // row-major without gaps
// The lowest element of the buffer that the view reaches and the one after its highest, in elements
// of its type; the same number twice where it is empty. Fails as kiln_view_check does.
KILN_API kiln_status kiln_view_span(kiln_view v, uint64_t *lowest, uint64_t *end);
// Do they share a byte? The answer is exact except for extreme strides; for these, and for views
// that kiln_view_check refuses, it is true.
KILN_API bool kiln_view_overlaps(kiln_view a, kiln_view b);
// All elements in row-major order, to or from dense host memory. After all earlier work, and done
// when the call returns. A view that is written must not reach an element twice.
KILN_API kiln_status kiln_read_view(kiln_view v, void *to);
KILN_API kiln_status kiln_write_view(kiln_view v, const void *from);

// --- launching
typedef struct kiln_arg { // one argument; made by the functions below
    int kind;             // 0 nothing, 1 buffer, 2 scalar, 3 struct bytes; above: refused at launch
    kiln_type type;
    const void *pointer; // buffer handle or struct
    size_t size;
    uint64_t bits; // the scalar's own bytes
} kiln_arg;
KILN_API kiln_arg kiln_arg_buffer(const kiln_buffer *b);
KILN_API kiln_arg kiln_arg_buffer_at(const kiln_buffer *b,
                                     size_t first); // points at element `first`
KILN_API kiln_arg kiln_arg_view(kiln_view v); // points at [0, …, 0], as elements of its type
KILN_API kiln_arg kiln_arg_i64(kiln_type type,
                               int64_t v); // any integer type; checked against its range
KILN_API kiln_arg kiln_arg_f64(kiln_type type, double v); // any float type
KILN_API kiln_arg kiln_arg_bits(kiln_type type, const void *value,
                                size_t size);                      // the scalar's own bytes
KILN_API kiln_arg kiln_arg_struct(const void *bytes, size_t size); // read at launch

typedef struct kiln_launch_desc {
    uint32_t grid[3];    // blocks; 0 counts as 1 for y and z; {0, 1, 1}: nothing to do
    uint32_t block[3];   // only for kernels without block(…); else zeros or the same
    uint64_t items[3];   // instead of grid: items[i] threads are covered, rounded up to blocks
    size_t shared_bytes; // dynamic shared memory
    const kiln_arg *args;
    size_t arg_count;
    kiln_stream *stream;    // NULL: the device's own
    uint32_t cluster[3];    // blocks of a cluster; zeros: as the kernel says, or none
    bool is_cooperative;    // all blocks run at the same time, or the launch is refused
    bool overlaps_previous; // may start before the kernel before it ends (programmatic dependent
                            // launch): the kernel itself waits. Ignored where it is not possible
} kiln_launch_desc;
// Checks everything, then runs. On interp and cpu it returns when the kernel is done; elsewhere
// kiln_sync waits. On cpu SIGSEGV and SIGBUS have a handler until it returns: those of the kernel
// become its error, all others go to the handler that was there before.
KILN_API kiln_status kiln_launch(kiln_kernel *kernel, const kiln_launch_desc *desc);
// Waits for everything, shows what kernels printed, and reports what went wrong since.
KILN_API kiln_status kiln_sync(kiln *k);
// Stops a running launch of interp or cpu, which then returns KILN_E_CANCELLED; from another thread
// or a signal handler. A GPU stops only where a kernel calls the host: what else runs there ends
// with the process.
KILN_API void kiln_cancel(kiln *k);
// Where a kernel's printf goes: `text` is the output of one call, or of several, whole. With a
// length of 0 what was printed is wanted now (fflush(stdout), or a read of standard input after a
// prompt): a function that keeps text lets it out. NULL: it is kept and read with kiln_printed.
// Called by whichever thread has the text, one call at a time. It cannot wait for the kernel
// (K6003).
KILN_API void kiln_on_print(kiln *k, void (*print)(void *user, const char *text, size_t len),
                            void *user);
// The same for what kernels write to stderr (<stdio.h>). NULL: it goes where printf goes.
KILN_API void kiln_on_print_error(kiln *k, void (*print)(void *user, const char *text, size_t len),
                                  void *user);
KILN_API const char *kiln_printed(kiln *k, size_t *len); // since the last call; owned by k

// --- checking: runs a launch on the interpreter beside a shadow of its memory, and reports what is
// wrong with it: accesses out of bounds or misaligned, memory read before it is set, races, missed
// barriers, missing lanes, false assumptions, endless loops.
typedef struct kiln_finding {
    const char *code;    // "K6204": kiln explain says more
    const char *message; // one line
    const char *text;    // complete text to show, with the source under it
    const char *file;    // or ""
    int line, column;
    uint32_t thread[3], block[3];
    const char *array; // or ""
    int64_t index;     // of the element
    // The other end of a race, barrier or warp operation; line 0: there is none.
    const char *other_file;
    int other_line, other_column;
    uint32_t other_thread[3], other_block[3];
    uint64_t count; // how often: equal ones (same code and lines) are reported once
    // Where `line` is in a macro's definition: the line that uses the macro; else 0.
    int use_line, other_use_line;
} kiln_finding;

typedef struct kiln_check_desc {
    kiln_launch_desc launch;
    bool all;             // go on after the first finding
    bool nan;             // report where NaNs are born
    bool leaks;           // report blocks of the heap that the launch has made and not freed
    bool colour;          // in kiln_finding.text
    const bool *is_unset; // per argument: the buffer's contents count as not set; NULL: all are set
    uint64_t step_limit;  // instructions of one warp; 0: 67 million
    void (*finding)(void *user,
                    const kiln_finding *f); // at the end, once for each; valid during the call
    void *user;
} kiln_check_desc;
// The module must be compiled with for_check. KILN_OK when the launch could be checked; *findings
// (may be NULL) is their number.
KILN_API kiln_status kiln_check(kiln_kernel *kernel, const kiln_check_desc *desc, size_t *findings);

// --- streams and events. On interp and cpu work is done when its call returns: streams and events
// are there, and never wait.
KILN_API kiln_status kiln_stream_new(kiln *k, int priority,
                                     kiln_stream **out); // 0 usual, below 0 more urgent
KILN_API void kiln_stream_free(kiln_stream *s);          // its work goes on
// A stream over a foreign one, which must outlive this one: a CUstream of the device's
// context (NULL: the default stream), or a cl_command_queue, in order, of its context.
KILN_API kiln_status kiln_stream_wrap(kiln *k, void *native, kiln_stream **out);
KILN_API kiln_status kiln_stream_sync(kiln_stream *s);
KILN_API kiln_status kiln_stream_is_done(kiln_stream *s, bool *is_done);
// When all work that is in `s` now has ended, 8 bytes (a uint64_t of 1) are written to
// `descriptor`: an eventfd, or a pipe. A program can wait for kernels with poll, beside sockets and
// timers; what went wrong is kiln_stream_sync's to say. NULL stream: the device's own. Not on
// opencl.
KILN_API kiln_status kiln_stream_notify(kiln *k, kiln_stream *s, int descriptor);
KILN_API kiln_status
kiln_stream_wait(kiln_stream *s, const kiln_event *e); // what follows in `s` waits for the event
// The driver's own handle (CUstream, cl_command_queue) for libraries that take one; NULL stream:
// the device's own. NULL on interp and cpu.
KILN_API void *kiln_stream_native(kiln *k, kiln_stream *s);
KILN_API kiln_status kiln_event_new(kiln *k, kiln_event **out);
KILN_API void kiln_event_free(kiln_event *e);
KILN_API kiln_status kiln_event_record(kiln_event *e,
                                       kiln_stream *s); // NULL stream: the device's own
KILN_API kiln_status kiln_event_sync(kiln_event *e);
KILN_API kiln_status kiln_event_elapsed(const kiln_event *start, const kiln_event *end,
                                        double *ms); // both done

// --- graphs: work recorded once, launched many times. By capture: between begin and end the calls
// on the stream are recorded, not done. By hand: nodes are added; `after` lists the nodes they wait
// for. A graph keeps its buffers' memory alive, but not its modules: launched after one of those
// was freed, it gives KILN_E_BAD_HANDLE.
KILN_API kiln_status kiln_capture_begin(kiln_stream *s);
KILN_API kiln_status kiln_capture_end(kiln_stream *s, kiln_graph **out);
// Ends a capture into a graph that exists and has the same shape: new sizes and arguments, no new
// set-up.
KILN_API kiln_status kiln_capture_update(kiln_stream *s, kiln_graph *g);
KILN_API kiln_status kiln_graph_new(kiln *k, kiln_graph **out);
KILN_API kiln_status kiln_graph_add(kiln_graph *g, kiln_kernel *kernel,
                                    const kiln_launch_desc *desc, const size_t *after,
                                    size_t after_count, size_t *node); // node may be NULL
KILN_API kiln_status kiln_graph_set(kiln_graph *g, size_t node,
                                    const kiln_launch_desc *desc); // other arguments and sizes
KILN_API kiln_status kiln_graph_launch(kiln_graph *g,
                                       kiln_stream *s); // NULL stream: the device's own
KILN_API size_t kiln_graph_node_count(const kiln_graph *g);
KILN_API void kiln_graph_free(kiln_graph *g);

// --- tensor maps: how the copy engine of sm_90 and later sees a tensor. A kernel's parameter of
// type tensor_map takes one: kiln_arg_struct(&map, sizeof map).
typedef struct kiln_tensor_map {
    KILN_ALIGN(64) uint64_t opaque[16];
} kiln_tensor_map;
typedef struct kiln_tensor_map_desc {
    const kiln_buffer *buffer;
    size_t first;               // the element at the origin, counted in elements of `type`
    kiln_type type;             // KILN_VOID: the buffer's
    uint32_t rank;              // 1 to 5; dimension 0 is the contiguous one
    uint64_t size[5];           // elements
    uint64_t stride_bytes[5];   // of dimension 1 and up; 0: dense
    uint32_t box[5];            // what one copy takes
    uint32_t element_stride[5]; // 0 counts as 1
    uint32_t swizzle_bytes;     // 0, 32, 64, 128
    uint32_t promotion_bytes;   // 0, 64, 128, 256
    bool fills_nan;             // outside the tensor: NaN instead of 0
} kiln_tensor_map_desc;
KILN_API kiln_status kiln_tensor_map_make(kiln *k, const kiln_tensor_map_desc *desc,
                                          kiln_tensor_map *out);

// --- typed buffers: kiln_f32s holds f32 elements, and the C compiler knows it. The launchers that
// `kiln build` writes take these, so a buffer of the wrong type does not compile.
#define KILN_TYPED_BUFFER(name, c_type, element)                                                   \
    typedef struct kiln_##name##s {                                                                \
        kiln_buffer *buffer;                                                                       \
    } kiln_##name##s;                                                                              \
    static inline kiln_status kiln_##name##s_new(kiln *k, size_t count, kiln_##name##s *out)       \
    {                                                                                              \
        return kiln_buffer_new(k, element, count, &out->buffer);                                   \
    }                                                                                              \
    static inline void kiln_##name##s_free(kiln_##name##s b)                                       \
    {                                                                                              \
        kiln_buffer_free(b.buffer);                                                                \
    }                                                                                              \
    static inline kiln_status kiln_##name##s_write(kiln_##name##s b, size_t first,                 \
                                                   const c_type *from, size_t count)               \
    {                                                                                              \
        return kiln_write(b.buffer, first, from, count);                                           \
    }                                                                                              \
    static inline kiln_status kiln_##name##s_read(kiln_##name##s b, size_t first, c_type *to,      \
                                                  size_t count)                                    \
    {                                                                                              \
        return kiln_read(b.buffer, first, to, count);                                              \
    }
KILN_TYPED_BUFFER(bool, bool, KILN_BOOL)
KILN_TYPED_BUFFER(i8, int8_t, KILN_I8)
KILN_TYPED_BUFFER(u8, uint8_t, KILN_U8)
KILN_TYPED_BUFFER(i16, int16_t, KILN_I16)
KILN_TYPED_BUFFER(u16, uint16_t, KILN_U16)
KILN_TYPED_BUFFER(i32, int32_t, KILN_I32)
KILN_TYPED_BUFFER(u32, uint32_t, KILN_U32)
KILN_TYPED_BUFFER(i64, int64_t, KILN_I64)
KILN_TYPED_BUFFER(u64, uint64_t, KILN_U64)
KILN_TYPED_BUFFER(f16, uint16_t, KILN_F16)
KILN_TYPED_BUFFER(bf16, uint16_t, KILN_BF16)
KILN_TYPED_BUFFER(f8e4, uint8_t, KILN_F8E4)
KILN_TYPED_BUFFER(f8e5, uint8_t, KILN_F8E5)
KILN_TYPED_BUFFER(f32, float, KILN_F32)
KILN_TYPED_BUFFER(f64, double, KILN_F64)
// The same for a struct of the program's own; `kiln build` has one for every struct of a kernel.
#define KILN_STRUCT_BUFFER(name, c_type)                                                           \
    typedef struct name {                                                                          \
        kiln_buffer *buffer;                                                                       \
    } name;                                                                                        \
    static inline kiln_status name##_new(kiln *k, size_t count, name *out)                         \
    {                                                                                              \
        return kiln_buffer_new_bytes(k, sizeof(c_type), count, &out->buffer);                      \
    }                                                                                              \
    static inline void name##_free(name b)                                                         \
    {                                                                                              \
        kiln_buffer_free(b.buffer);                                                                \
    }                                                                                              \
    static inline kiln_status name##_write(name b, size_t first, const c_type *from, size_t count) \
    {                                                                                              \
        return kiln_write(b.buffer, first, from, count);                                           \
    }                                                                                              \
    static inline kiln_status name##_read(name b, size_t first, c_type *to, size_t count)          \
    {                                                                                              \
        return kiln_read(b.buffer, first, to, count);                                              \
    }
// Elements of which only the size is known: what `void *` points to.
typedef struct kiln_bytes {
    kiln_buffer *buffer;
} kiln_bytes;
static inline kiln_status kiln_bytes_new(kiln *k, size_t element_size, size_t count,
                                         kiln_bytes *out)
{
    return kiln_buffer_new_bytes(k, element_size, count, &out->buffer);
}
static inline void kiln_bytes_free(kiln_bytes b)
{
    kiln_buffer_free(b.buffer);
}
static inline kiln_status kiln_bytes_write(kiln_bytes b, size_t first, const void *from,
                                           size_t count)
{
    return kiln_write(b.buffer, first, from, count);
}
static inline kiln_status kiln_bytes_read(kiln_bytes b, size_t first, void *to, size_t count)
{
    return kiln_read(b.buffer, first, to, count);
}

// How a typed launch is done: `items` threads (rounded up to blocks), or x, y, z blocks; the rest
// as in kiln_launch_desc. Zero means the default.
typedef struct kiln_grid {
    uint64_t items;
    uint32_t x, y, z;
    uint32_t block[3];         // only for kernels without block(…)
    size_t shared_bytes;       // dynamic shared memory
    kiln_stream *stream;       // NULL: the device's own
    uint64_t items_y, items_z; // with `items`, of a launch in two or three dimensions
    uint32_t cluster[3];       // blocks of a cluster; zeros: as the kernel says, or none
    bool is_cooperative;       // all blocks run at the same time, or the launch is refused
    bool overlaps_previous;    // programmatic dependent launch: the kernel itself waits
} kiln_grid;

// A launch of any kernel, described as the typed launchers take it; they call this.
static inline kiln_status kiln_launch_grid(kiln_kernel *kernel, kiln_grid grid,
                                           const kiln_arg *args, size_t arg_count)
{
    kiln_launch_desc desc;
    desc.grid[0] = grid.x;
    desc.grid[1] = grid.y;
    desc.grid[2] = grid.z;
    desc.items[0] = grid.items;
    desc.items[1] = grid.items_y;
    desc.items[2] = grid.items_z;
    for (int axis = 0; axis < 3; axis++) {
        desc.block[axis] = grid.block[axis];
        desc.cluster[axis] = grid.cluster[axis];
    }
    desc.shared_bytes = grid.shared_bytes;
    desc.args = args;
    desc.arg_count = arg_count;
    desc.stream = grid.stream;
    desc.is_cooperative = grid.is_cooperative;
    desc.overlaps_previous = grid.overlaps_previous;
    return kiln_launch(kernel, &desc);
}

#ifdef __cplusplus
}

template <class... size> inline kiln_view kiln_view_of_sizes(kiln_buffer *b, size... sizes)
{
    const uint64_t all[] = {static_cast<uint64_t>(sizes)...};
    return kiln_view_of(b, sizeof...(sizes), all);
}
#    define KILN_VIEW(of, ...) kiln_view_of_sizes((of), __VA_ARGS__)
#endif
#pragma pop_macro("kernel")
#pragma pop_macro("host")
#endif
