// kernel.h: the kernel language as gcc, clang and clangd see it.
//
// Kiln itself knows these names and does not read this file; here each gets a meaning for the
// host's compiler, so that a kernel file completes in an editor, builds without a warning, and runs
// under gdb and the sanitizers. A kernel is then an ordinary function: called alone it is the only
// thread of a grid of one; a runner (the project's tests have one) plays the other threads by
// setting kiln_host_self. Build with -ffp-contract=off -frounding-math -fwrapv -fno-strict-aliasing
// to get the bits Kiln promises (without -frounding-math gcc 12 makes -0 of 0.0 - (f32)0u); what C
// leaves open (x / 0, shifts past the width, a float too large for an integer) stays open on the
// host.
//
// Read on in this order: host/group.h (where am I, barriers, warps, atomics), host/number.h
// (numbers and bits), host/narrow.h (f16, bf16, f8, packed pairs).
#ifndef KILN_KERNEL_H
#define KILN_KERNEL_H

#ifdef __cplusplus
#    error                                                                                         \
        "kernel files are C: name this one .c. A C++ program includes the header that 'kiln build' writes of it, or <kiln/kiln.h>"
#endif

// The C headers whose names the language takes over come first: including them again later is
// harmless.
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas" // #pragma unroll, #pragma kiln …
#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wunevaluated-expression" // _Generic looks, then calls
#endif

// --- types
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

// Storage only: convert with f32(x) and to_f16(x) …
typedef struct f16 {
    u16 bits;
} f16;
typedef struct bf16 {
    u16 bits;
} bf16;
typedef struct f8e4 { // e4m3: no infinity, largest 448
    u8 bits;
} f8e4;
typedef struct f8e5 { // e5m2
    u8 bits;
} f8e5;

// Vectors: x y z w up to four, e[n] above; aligned to their size, three of them to one.
#define KILN_ALIGNED(n) __attribute__((aligned(n)))
#define KILN_VECTOR2(name, T)                                                                      \
    typedef struct name {                                                                          \
        T x, y;                                                                                    \
    } KILN_ALIGNED(2 * sizeof(T)) name;
#define KILN_VECTOR3(name, T)                                                                      \
    typedef struct name {                                                                          \
        T x, y, z;                                                                                 \
    } name;
#define KILN_VECTOR4(name, T)                                                                      \
    typedef struct name {                                                                          \
        T x, y, z, w;                                                                              \
    } KILN_ALIGNED(4 * sizeof(T)) name;
#define KILN_VECTOR(name, T, n)                                                                    \
    typedef struct name {                                                                          \
        T e[n];                                                                                    \
    } KILN_ALIGNED(n * sizeof(T)) name;

// clang-format off
KILN_VECTOR2(i8x2, i8)      KILN_VECTOR4(i8x4, i8)      KILN_VECTOR(i8x8, i8, 8)    KILN_VECTOR(i8x16, i8, 16)
KILN_VECTOR2(u8x2, u8)      KILN_VECTOR4(u8x4, u8)      KILN_VECTOR(u8x8, u8, 8)    KILN_VECTOR(u8x16, u8, 16)
KILN_VECTOR2(i16x2, i16)    KILN_VECTOR4(i16x4, i16)    KILN_VECTOR(i16x8, i16, 8)
KILN_VECTOR2(u16x2, u16)    KILN_VECTOR4(u16x4, u16)    KILN_VECTOR(u16x8, u16, 8)
KILN_VECTOR2(i32x2, i32)    KILN_VECTOR3(i32x3, i32)    KILN_VECTOR4(i32x4, i32)
KILN_VECTOR2(u32x2, u32)    KILN_VECTOR3(u32x3, u32)    KILN_VECTOR4(u32x4, u32)
KILN_VECTOR2(i64x2, i64)    KILN_VECTOR2(u64x2, u64)
KILN_VECTOR2(f32x2, f32)    KILN_VECTOR3(f32x3, f32)    KILN_VECTOR4(f32x4, f32)    KILN_VECTOR2(f64x2, f64)
KILN_VECTOR2(f16x2, f16)    KILN_VECTOR4(f16x4, f16)    KILN_VECTOR(f16x8, f16, 8)
KILN_VECTOR2(bf16x2, bf16)  KILN_VECTOR4(bf16x4, bf16)  KILN_VECTOR(bf16x8, bf16, 8)
KILN_VECTOR4(f8e4x4, f8e4)  KILN_VECTOR(f8e4x16, f8e4, 16)
KILN_VECTOR4(f8e5x4, f8e5)  KILN_VECTOR(f8e5x16, f8e5, 16)
// clang-format on

// --- marks
#define kernel                  // kernel block(256) void name(…)
#define block(...)              // threads of a block: block(x), block(x, y), block(x, y, z)
#define cluster(...)            // blocks of a cluster
#define min_blocks(n)           // blocks that should fit on a multiprocessor at once
#define max_registers(n)        // registers of a thread
#define max_threads(n)          // threads of a block whose size the launch says
#define noinline                __attribute__((__noinline__)) // a device function that is really called
#define recursion(n)                   // calls of a recursive function that may wait at once
#define shared                  static // one per block: blocks run one after another here
#define host                    extern // a function that the host program provides
#define per_warp                       // host per_warp: one call for all lanes that arrive together
#define no_wait                        // host no_wait: the kernel does not wait for it
#define counted(n)                     // before a pointer parameter: it points to n objects
#define tune(name, ...)         enum { name = KILN_FIRST(__VA_ARGS__, 0) } // the first value is the default
#define KILN_FIRST(first, ...)  first
// Dynamic shared memory: `dynamic_shared(f32, tile);` is Kiln's `shared f32 tile[];`, which C does
// not allow for want of a size.
#define dynamic_shared(T, name) static T *const name = (T *)(void *)kiln_host_dynamic

// --- the heap: malloc and free are the host's own
#define heap_arena() ((void *)0)

// --- which compiler reads this: constant expressions
#define target_sm()        0
#define target_has_wgmma() 0
#define target_is_cuda()   0
#define target_is_cpu()    0
#define target_is_interp() 0
#define target_is_host()   1
#define target_is_vulkan() 0
#define target_is_opencl() 0
#define target_is_webgpu() 0
#define target_is_hip()    0
#define target_is_metal()  0

// --- picking a function by type: NAME_i32, NAME_u32 … for the type of an expression
#define KILN_BY_INT(name, x)                                                                       \
    _Generic((x), int                                                                              \
             : name##_i32, unsigned                                                                \
             : name##_u32, long                                                                    \
             : name##_i64, unsigned long                                                           \
             : name##_u64, long long                                                               \
             : name##_i64, unsigned long long                                                      \
             : name##_u64)
#define KILN_BY_NUM(name, x)                                                                       \
    _Generic((x), int                                                                              \
             : name##_i32, unsigned                                                                \
             : name##_u32, long                                                                    \
             : name##_i64, unsigned long                                                           \
             : name##_u64, long long                                                               \
             : name##_i64, unsigned long long                                                      \
             : name##_u64, float                                                                   \
             : name##_f32, double                                                                  \
             : name##_f64)
#define KILN_BY_WORD(name, x)                                                                      \
    _Generic((x), int                                                                              \
             : name##_u32, unsigned                                                                \
             : name##_u32, long                                                                    \
             : name##_u64, unsigned long                                                           \
             : name##_u64, long long                                                               \
             : name##_u64, unsigned long long                                                      \
             : name##_u64)
#define KILN_BY_FLOAT(name, x) _Generic((x), float : name##_f32, double : name##_f64)

    // --- talking and stopping; printf and assert are C's own
    static inline void kiln_host_broken(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: this was promised and is not so: %s\n", file, line, what);
    abort();
}
static inline u64 kiln_host_nanoseconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}
#define assume(condition) ((condition) ? (void)0 : kiln_host_broken(#condition, __FILE__, __LINE__))
#define trap()            __builtin_trap()
#define unreachable()     __builtin_unreachable()
#define clock_cycles()    kiln_host_nanoseconds()
#define nano_time()       kiln_host_nanoseconds()
#define nano_sleep(ns)    ((void)(ns))

// --- memory hints
#define load_readonly(p)     (*(p))
#define load_stream(p)       (*(p))
#define store_stream(p, ...) ((void)(*(p) = (__VA_ARGS__)))
#define prefetch(p)          __builtin_prefetch(p)

#include "host/group.h"
#include "host/number.h"

#include "host/narrow.h"

#include "host/nvidia.h"

#include "host/library.h"

#endif
