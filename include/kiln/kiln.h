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

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#    define KILN_API __attribute__((visibility("default")))
#else
#    define KILN_API
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
    KILN_E_DRIVER,       // the driver said no
    KILN_E_CANCELLED,    // kiln_cancel was called
    KILN_E_INTERNAL      // a mistake of Kiln's own
} kiln_status;

typedef struct kiln kiln;               // an open device
typedef struct kiln_module kiln_module; // compiled kernels
typedef struct kiln_kernel kiln_kernel; // one of them; lives as long as its module
typedef struct kiln_buffer kiln_buffer; // device memory

typedef struct kiln_error {
    kiln_status status;
    const char *code;   // "K6003", or ""
    const char *text;   // complete text to show: for a compile the rendered diagnostics
    const char *kernel; // or ""
    const char *file;   // or ""
    int line, column;   // 0: none
    const char *hint;   // what to do next, or ""
} kiln_error;

// The newest error on `k`, or of this thread when k is NULL (an open that failed). Never NULL.
// Valid until the next failing call.
KILN_API const kiln_error *kiln_last_error(const kiln *k);
KILN_API const char *kiln_status_name(kiln_status status);
KILN_API const char *kiln_version(void);

// --- devices
// "interp", "cpu", "cuda:0" …; NULL: $KILN_DEVICE, or the best present.
KILN_API kiln_status kiln_open(const char *device, kiln **out);
KILN_API void kiln_close(kiln *k); // frees everything made through it; NULL is fine
KILN_API const char *kiln_device_name(const kiln *k);

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
typedef struct kiln_compile_desc {
    const char *path;           // a file; or
    const char *source;         // a text (with `path` as the name to show, may be NULL)
    size_t source_len;          // 0: up to the NUL
    const char *const *define;  // "NAME" or "NAME=VALUE", NULL-terminated
    const char *const *include; // folders, NULL-terminated
    const char *const *tune;    // "BM=128", NULL-terminated: chooses among a tune()'s values
    const char *target;         // NULL: the device's own
    int optimise;               // 0: default (full); -1: none; 1: full
    bool is_ir;                 // the text is IR, not C
    bool no_file_includes;      // refuse #include of anything but Kiln's headers
    bool warnings_are_errors;
    bool remarks;               // report performance remarks, too
    bool diagnostics_json; // kiln_error.text is JSON lines instead of prose
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
    KILN_PARAM_STRUCT
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

// --- buffers
KILN_API kiln_status kiln_buffer_new(kiln *k, kiln_type type, size_t count,
                                     kiln_buffer **out); // zeroed; count 0 is fine
KILN_API kiln_status kiln_buffer_new_bytes(kiln *k, size_t element_size, size_t count,
                                           kiln_buffer **out); // structs
KILN_API void kiln_buffer_free(kiln_buffer *b);
KILN_API kiln_status kiln_write(kiln_buffer *b, size_t first, const void *from,
                                size_t count); // in elements
KILN_API kiln_status kiln_read(const kiln_buffer *b, size_t first, void *to, size_t count);
KILN_API kiln_status kiln_fill(kiln_buffer *b, const void *element);
KILN_API size_t kiln_buffer_count(const kiln_buffer *b);
KILN_API size_t kiln_buffer_bytes(const kiln_buffer *b);
KILN_API kiln_type kiln_buffer_type(const kiln_buffer *b);

// --- launching
typedef struct kiln_arg { // one argument; make it with the macros below
    int kind;             // 0 nothing, 1 buffer, 2 scalar, 3 struct bytes
    kiln_type type;
    const void *pointer; // buffer handle or struct
    size_t size;
    uint64_t bits; // the scalar's own bytes
} kiln_arg;
KILN_API kiln_arg kiln_arg_buffer(const kiln_buffer *b);
KILN_API kiln_arg kiln_arg_buffer_at(const kiln_buffer *b,
                                     size_t first); // points at element `first`
KILN_API kiln_arg kiln_arg_i64(kiln_type type,
                               int64_t v); // any integer type; checked against its range
KILN_API kiln_arg kiln_arg_f64(kiln_type type, double v);          // any float type
KILN_API kiln_arg kiln_arg_bits(kiln_type type, const void *value, size_t size); // the scalar's own bytes
KILN_API kiln_arg kiln_arg_struct(const void *bytes, size_t size); // read at launch

typedef struct kiln_launch_desc {
    uint32_t grid[3];    // blocks; 0 counts as 1 for y and z
    uint32_t block[3];   // only for kernels without block(…); else zeros or the same
    uint64_t items[3];   // instead of grid: items[i] threads are covered, rounded up to blocks
    size_t shared_bytes; // dynamic shared memory
    const kiln_arg *args;
    size_t arg_count;
} kiln_launch_desc;
// Checks everything, then runs. On interp and cpu it returns when the kernel is done; elsewhere
// kiln_sync waits.
KILN_API kiln_status kiln_launch(kiln_kernel *kernel, const kiln_launch_desc *desc);
KILN_API kiln_status kiln_sync(kiln *k);
KILN_API void
kiln_cancel(kiln *k); // stops a running interp launch from another thread or a signal handler
// Where a kernel's printf goes: `text` is one whole call's output. NULL: it is kept and read with
// kiln_printed.
KILN_API void kiln_on_print(kiln *k, void (*print)(void *user, const char *text, size_t len),
                            void *user);
KILN_API const char *kiln_printed(kiln *k, size_t *len); // since the last call; owned by k

// --- typed buffers: kiln_f32s holds f32 elements, and the C compiler knows it. The launchers that `kiln build` writes take
// these, so a buffer of the wrong type does not compile. kiln_bytes holds structs and vectors.
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
typedef struct kiln_bytes {
    kiln_buffer *buffer;
} kiln_bytes;

// How large a typed launch is: `items` threads (rounded up to blocks), or x, y, z blocks.
typedef struct kiln_grid {
    uint64_t items;
    uint32_t x, y, z;
    uint32_t block[3];   // only for kernels without block(…)
    size_t shared_bytes; // dynamic shared memory
} kiln_grid;

#ifdef __cplusplus
}
#endif
#endif
