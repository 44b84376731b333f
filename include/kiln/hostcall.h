// hostcall.h: functions of the host program that kernels call.
//
// A kernel file declares `host i32 lookup(u32 key, f32 *best);` and calls it like any other
// function. The program registers a function of that name before it launches the kernel. The header
// that `kiln build` writes does that with the types checked by the C compiler (NAME_hosts); this is
// what it calls. Arguments are copies: what a kernel's pointer points to is copied to the host
// before the call and back after it.
#ifndef KILN_HOSTCALL_H
#define KILN_HOSTCALL_H

#include <kiln/kiln.h>

#pragma push_macro("kernel") // a mark of kiln/kernel.h
#undef kernel

#ifdef __cplusplus
extern "C" {
#endif

// For the headers that kiln build writes: C++ compilers warn about C's casts.
#ifdef __cplusplus
#    define KILN_AS(pointer, memory) static_cast<pointer>(memory)
#else
#    define KILN_AS(pointer, memory) ((pointer)(memory))
#endif

// One call by one thread of a kernel, or by one warp for a function marked per_warp.
typedef struct kiln_host_call {
    void *const *args; // of each parameter: where its value is; of a pointer: the pointer itself
    void *result;      // where the result goes; NULL: the function returns void
    const char *kernel;
    uint32_t thread[3], block[3]; // who calls
    void *inside;                 // Kiln's own
} kiln_host_call;

typedef void kiln_host_function(void *user, const kiln_host_call *call);

// The calls of all threads that call together, at most 32 of one warp. Of a function with counted
// objects: one call, with the arguments as in kiln_host_call.
typedef struct kiln_host_calls {
    void *const *args; // of each parameter: an array with the value, or the object, of each call
    void *result;      // an array, too
    const char *kernel;
    uint32_t count;
} kiln_host_calls;

typedef void kiln_host_many(void *user, const kiln_host_calls *calls);

typedef struct kiln_host_desc {
    const char *name;
    const char *signature; // "i32 lookup(u32, f32 *)", compared with the kernel's; NULL: any
    kiln_host_function *call;
    void (*plain)(void); // instead of `call`: a C function of that signature, without structs
    void *user;          // for `call`
    bool is_concurrent;  // several threads may call it at once; else Kiln lets one in at a time,
                         // and it launches no kernel that calls it again
    kiln_host_many
        *many; // instead of `call`: the fastest; it cannot ask who calls nor stop a kernel
} kiln_host_desc;

// Provides a function for all kernels that are launched on `k` from now on; one of the same name is
// replaced. None of `call`, `plain` and `many`: takes it away. Not while kernels of `k` run.
KILN_API kiln_status kiln_host_register(kiln *k, const kiln_host_desc *desc);
// What a host function does with the context that its kernel runs in: on interp and cpu it may
// launch kernels, compile, and make, read and write buffers. It may not wait (kiln_sync and its
// kin), register functions, change the heap or close the context. On cuda and opencl it may neither
// launch, compile, make buffers nor copy, since the driver may wait for the kernel, which waits for
// the function. A refused call gives K6003, and the kernel goes on. What is freed there is kept
// until no kernel runs (on a GPU: until kiln_sync). Other contexts are not concerned.

// From within a host function: the kernel stops with this text as its error.
KILN_API void kiln_host_stop(const kiln_host_call *call, const char *text);

// A shared library that exports this array provides the functions in it (`kiln run --host LIB`).
// The last row's name is NULL.
#define KILN_HOST_TABLE "kiln_host_functions"
// Registers all functions of that library: those of its table, and for those of `module` that the
// table lacks, the plain C functions that it exports itself: those of the libraries that it needs
// are not among them. It is closed with the context. A path without a folder is a file of the
// working folder where there is one, else a name that dlopen looks for.
KILN_API kiln_status kiln_host_library(kiln *k, const char *path, const kiln_module *module);

// --- permissions of kernels that use kiln/io.h. Nothing is allowed until it is said here.
// right: "read" or "write" with a folder (everything beneath it) or a file, "net" with HOST:PORT
// (each may be *; [::1]:80 for IPv6), "env" with the name of a variable (or *), "stdin" with NULL.
KILN_API kiln_status kiln_allow(kiln *k, const char *right, const char *what);
// What was refused last, and what would allow it; "" when nothing was. Until the next launch.
KILN_API const char *kiln_refusal(kiln *k);
// True when a kernel has called io_exit; its argument.
KILN_API bool kiln_exit_status(const kiln *k, int *status);

#ifdef __cplusplus
}
#endif

#pragma pop_macro("kernel")
#endif
