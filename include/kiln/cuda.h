// cuda.h: the spelling of CUDA C for kernels that are C at heart. Include it first, and a kernel
// written with __global__, threadIdx.x, __shared__, __syncthreads(), float4, atomicAdd,
// __shfl_xor_sync … compiles unchanged: with Kiln for every device, with gcc and clang for the
// host. From here to the end of the file conversions are C's, silent ones included; a shift by the
// width or more shifts everything out, as on CUDA's devices; and threads may return before a
// barrier that the others reach. The words `kernel` and `shared` are free for names of your own,
// unless the file includes <kiln/kernel.h> as well.
//
// Not here: C++ (templates, references, overloads, lambdas), textures, cooperative groups, launches
// with <<< >>>, __constant__ memory that the host fills later (pass a buffer instead). All lanes of
// the warp call a …_sync function together; the mask of each says which lanes its result is of.
#ifndef KILN_CUDA_H
#define KILN_CUDA_H

#if !defined(__KILN__) && !defined(KILN_KERNEL_H)
#    include <kiln/kernel.h>
#    undef kernel
#    undef shared
#else
#    include <kiln/kernel.h>
#endif

#pragma kiln conversions(c)
#pragma kiln shifts(clamp)
#pragma kiln early_return(allow)

#define __CUDACC__           1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION       12000
#define CUDA_VERSION         12000
#if defined(__KILN_TARGET_CUDA__)
#    define __CUDA_ARCH__ (__KILN_TARGET_SM__ * 10)
#else
#    define __CUDA_ARCH__ 800
#endif

// --- marks
#ifndef __KILN__
#    define __kiln_kernel
#    define __kiln_shared static
#endif
#define __global__ __kiln_kernel
#define __device__
#define __host__
#define __forceinline__
#define __noinline__
#define __shared__   __kiln_shared
#define __constant__ static const
#ifdef __KILN__
#    define __launch_bounds__(...) __kiln_bounds(__VA_ARGS__)
#else
#    define __launch_bounds__(...)
#endif
#define __align__(n)      __attribute__((aligned(n)))
#define __grid_constant__ const

// --- where am I
// Kiln finds its own functions in these whatever the user's variables are called; host compilers
// need a function to do so.
#ifdef __KILN__
#    define threadIdx ((u32x3){thread_x(), thread_y(), thread_z()})
#    define blockIdx  ((u32x3){block_x(), block_y(), block_z()})
#    define blockDim  ((u32x3){block_dim_x(), block_dim_y(), block_dim_z()})
#    define gridDim   ((u32x3){grid_dim_x(), grid_dim_y(), grid_dim_z()})
#else
static inline u32x3 kiln_cuda_thread(void)
{
    return (u32x3){thread_x(), thread_y(), thread_z()};
}
static inline u32x3 kiln_cuda_block(void)
{
    return (u32x3){block_x(), block_y(), block_z()};
}
static inline u32x3 kiln_cuda_block_dim(void)
{
    return (u32x3){block_dim_x(), block_dim_y(), block_dim_z()};
}
static inline u32x3 kiln_cuda_grid_dim(void)
{
    return (u32x3){grid_dim_x(), grid_dim_y(), grid_dim_z()};
}
#    define threadIdx kiln_cuda_thread()
#    define blockIdx  kiln_cuda_block()
#    define blockDim  kiln_cuda_block_dim()
#    define gridDim   kiln_cuda_grid_dim()
#endif
#define warpSize 32

// --- types
typedef struct char1 {
    i8 x;
} char1;
typedef struct char3 {
    i8 x, y, z;
} char3;
typedef struct uchar1 {
    u8 x;
} uchar1;
typedef struct uchar3 {
    u8 x, y, z;
} uchar3;
typedef struct short1 {
    i16 x;
} short1;
typedef struct short3 {
    i16 x, y, z;
} short3;
typedef struct ushort1 {
    u16 x;
} ushort1;
typedef struct ushort3 {
    u16 x, y, z;
} ushort3;
typedef struct int1 {
    i32 x;
} int1;
typedef struct uint1 {
    u32 x;
} uint1;
typedef struct longlong1 {
    i64 x;
} longlong1;
typedef struct ulonglong1 {
    u64 x;
} ulonglong1;
typedef struct longlong3 {
    i64 x, y, z;
} longlong3;
typedef struct ulonglong3 {
    u64 x, y, z;
} ulonglong3;
typedef struct __attribute__((aligned(16))) longlong4 {
    i64 x, y, z, w;
} longlong4;
typedef struct __attribute__((aligned(16))) ulonglong4 {
    u64 x, y, z, w;
} ulonglong4;
typedef struct float1 {
    f32 x;
} float1;
typedef struct double1 {
    f64 x;
} double1;
typedef struct double3 {
    f64 x, y, z;
} double3;
typedef struct __attribute__((aligned(16))) double4 {
    f64 x, y, z, w;
} double4;
typedef i8x2 char2;
typedef i8x4 char4;
typedef u8x2 uchar2;
typedef u8x4 uchar4;
typedef i16x2 short2;
typedef i16x4 short4;
typedef u16x2 ushort2;
typedef u16x4 ushort4;
typedef i32x2 int2;
typedef i32x3 int3;
typedef i32x4 int4;
typedef u32x2 uint2;
typedef u32x3 uint3;
typedef u32x4 uint4;
typedef u32x3 dim3;
typedef i64x2 longlong2;
typedef u64x2 ulonglong2;
typedef f32x2 float2;
typedef f32x3 float3;
typedef f32x4 float4;
typedef f64x2 double2;
typedef f16 __half;
typedef f16 half;
typedef f16x2 __half2;
typedef f16x2 half2;
typedef bf16 __nv_bfloat16;
typedef bf16x2 __nv_bfloat162;
typedef bf16 nv_bfloat16;
typedef bf16x2 nv_bfloat162;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;

#define make_char2(a, b)            ((i8x2){(i8)(a), (i8)(b)})
#define make_char4(a, b, c, d)      ((i8x4){(i8)(a), (i8)(b), (i8)(c), (i8)(d)})
#define make_uchar2(a, b)           ((u8x2){(u8)(a), (u8)(b)})
#define make_uchar4(a, b, c, d)     ((u8x4){(u8)(a), (u8)(b), (u8)(c), (u8)(d)})
#define make_short2(a, b)           ((i16x2){(i16)(a), (i16)(b)})
#define make_short4(a, b, c, d)     ((i16x4){(i16)(a), (i16)(b), (i16)(c), (i16)(d)})
#define make_ushort2(a, b)          ((u16x2){(u16)(a), (u16)(b)})
#define make_ushort4(a, b, c, d)    ((u16x4){(u16)(a), (u16)(b), (u16)(c), (u16)(d)})
#define make_int2(a, b)             ((i32x2){(i32)(a), (i32)(b)})
#define make_int3(a, b, c)          ((i32x3){(i32)(a), (i32)(b), (i32)(c)})
#define make_int4(a, b, c, d)       ((i32x4){(i32)(a), (i32)(b), (i32)(c), (i32)(d)})
#define make_uint2(a, b)            ((u32x2){(u32)(a), (u32)(b)})
#define make_uint3(a, b, c)         ((u32x3){(u32)(a), (u32)(b), (u32)(c)})
#define make_uint4(a, b, c, d)      ((u32x4){(u32)(a), (u32)(b), (u32)(c), (u32)(d)})
#define make_longlong2(a, b)        ((i64x2){(i64)(a), (i64)(b)})
#define make_ulonglong2(a, b)       ((u64x2){(u64)(a), (u64)(b)})
#define make_float2(a, b)           ((f32x2){(f32)(a), (f32)(b)})
#define make_float3(a, b, c)        ((f32x3){(f32)(a), (f32)(b), (f32)(c)})
#define make_float4(a, b, c, d)     ((f32x4){(f32)(a), (f32)(b), (f32)(c), (f32)(d)})
#define make_double2(a, b)          ((f64x2){(f64)(a), (f64)(b)})
#define make_char1(a)               ((char1){(i8)(a)})
#define make_char3(a, b, c)         ((char3){(i8)(a), (i8)(b), (i8)(c)})
#define make_uchar1(a)              ((uchar1){(u8)(a)})
#define make_uchar3(a, b, c)        ((uchar3){(u8)(a), (u8)(b), (u8)(c)})
#define make_short1(a)              ((short1){(i16)(a)})
#define make_short3(a, b, c)        ((short3){(i16)(a), (i16)(b), (i16)(c)})
#define make_ushort1(a)             ((ushort1){(u16)(a)})
#define make_ushort3(a, b, c)       ((ushort3){(u16)(a), (u16)(b), (u16)(c)})
#define make_int1(a)                ((int1){(i32)(a)})
#define make_uint1(a)               ((uint1){(u32)(a)})
#define make_longlong1(a)           ((longlong1){(i64)(a)})
#define make_longlong3(a, b, c)     ((longlong3){(i64)(a), (i64)(b), (i64)(c)})
#define make_longlong4(a, b, c, d)  ((longlong4){(i64)(a), (i64)(b), (i64)(c), (i64)(d)})
#define make_ulonglong1(a)          ((ulonglong1){(u64)(a)})
#define make_ulonglong3(a, b, c)    ((ulonglong3){(u64)(a), (u64)(b), (u64)(c)})
#define make_ulonglong4(a, b, c, d) ((ulonglong4){(u64)(a), (u64)(b), (u64)(c), (u64)(d)})
#define make_float1(a)              ((float1){(f32)(a)})
#define make_double1(a)             ((double1){(f64)(a)})
#define make_double3(a, b, c)       ((double3){(f64)(a), (f64)(b), (f64)(c)})
#define make_double4(a, b, c, d)    ((double4){(f64)(a), (f64)(b), (f64)(c), (f64)(d)})

// --- barriers and fences
#define __syncthreads()                barrier()
#define __syncthreads_count(condition) ((i32)block_count((condition) != 0))
#define __syncthreads_and(condition)   ((i32)block_all((condition) != 0))
#define __syncthreads_or(condition)    ((i32)block_any((condition) != 0))
#define __syncwarp(...)                warp_sync()
#define __threadfence()                fence_device()
#define __threadfence_block()          fence_block()
#define __threadfence_system()         fence_system()

// --- warps
#define KILN_CUDA_THIRD(a, b, third, ...) third
#define __shfl_sync(mask, value, ...)                                                              \
    KILN_CUDA_THIRD(__VA_ARGS__, shuffle_in, shuffle, 0)(value, __VA_ARGS__)
#define __shfl_up_sync(mask, value, ...)                                                           \
    KILN_CUDA_THIRD(__VA_ARGS__, shuffle_up_in, shuffle_up, 0)(value, __VA_ARGS__)
#define __shfl_down_sync(mask, value, ...)                                                         \
    KILN_CUDA_THIRD(__VA_ARGS__, shuffle_down_in, shuffle_down, 0)(value, __VA_ARGS__)
#define __shfl_xor_sync(mask, value, ...)                                                          \
    KILN_CUDA_THIRD(__VA_ARGS__, shuffle_xor_in, shuffle_xor, 0)(value, __VA_ARGS__)
#define __shfl(...)                    __shfl_sync(0, __VA_ARGS__)
#define __shfl_up(...)                 __shfl_up_sync(0, __VA_ARGS__)
#define __shfl_down(...)               __shfl_down_sync(0, __VA_ARGS__)
#define __shfl_xor(...)                __shfl_xor_sync(0, __VA_ARGS__)
// Every lane of the warp calls these together. A lane's mask says which lanes its result is of.
#define __ballot_sync(mask, condition) (warp_ballot((condition) != 0) & (u32)(mask))
#define __any_sync(mask, condition)    ((i32)(__ballot_sync(mask, condition) != 0))
#define __all_sync(mask, condition)    ((i32)(__ballot_sync(mask, (condition) == 0) == 0))
#define __ballot(condition)            warp_ballot((condition) != 0)
#define __any(condition)               ((i32)warp_any((condition) != 0))
#define __all(condition)               ((i32)warp_all((condition) != 0))
#define __activemask()                 warp_active()
// Floats match by their bits.
#define KILN_CUDA_WORD(value)                                                                      \
    _Generic((value), f32 : bits_f32((f32)(value)), f64 : bits_f64((f64)(value)), default : (value))
#define __match_any_sync(mask, value) (warp_match(KILN_CUDA_WORD(value)) & (u32)(mask))
#define __match_all_sync(mask, value, all)                                                         \
    kiln_cuda_match_all(mask, __match_any_sync(mask, value), all)
static inline u32 kiln_cuda_match_all(u32 mask, u32 same, i32 *all)
{
    *all = same == (mask & warp_ballot(true));
    return *all ? same : 0;
}
// The lanes of a mask one by one, unless all masks are full.
#define KILN_CUDA_REDUCE(name, type, of_warp, first, step)                                         \
    static inline type kiln_cuda_##name(u32 mask, type value)                                      \
    {                                                                                              \
        if (warp_all(mask == ~0u))                                                                 \
            return of_warp(value);                                                                 \
        u32 lanes = mask & warp_ballot(true);                                                      \
        type all = first;                                                                          \
        _Pragma("unroll 1") for (u32 i = 0; i < 32; i++)                                           \
        {                                                                                          \
            bool is_one = (lanes >> i & 1u) != 0; /* others may have returned */                   \
            type one = shuffle(value, is_one ? i : lane());                                        \
            all = is_one ? (step) : all;                                                           \
        }                                                                                          \
        return all;                                                                                \
    }
KILN_CUDA_REDUCE(add, u32, warp_sum, 0, all + one)
KILN_CUDA_REDUCE(and, u32, warp_and, ~0u, all &one)
KILN_CUDA_REDUCE(or, u32, warp_or, 0, all | one)
KILN_CUDA_REDUCE(xor, u32, warp_xor, 0, all ^ one)
KILN_CUDA_REDUCE(umin, u32, warp_min, ~0u, one < all ? one : all)
KILN_CUDA_REDUCE(umax, u32, warp_max, 0, one > all ? one : all)
KILN_CUDA_REDUCE(smin, i32, warp_min, 0x7fffffff, one < all ? one : all)
KILN_CUDA_REDUCE(smax, i32, warp_max, -0x7fffffff - 1, one > all ? one : all)
#define KILN_CUDA_FULL(mask) (__builtin_constant_p(mask) && (u32)(mask) == ~0u)
#define KILN_CUDA_LIKE(value, result)                                                              \
    _Generic((value), u32 : (u32)(result), default : (i32)(result))
#define __reduce_and_sync(mask, value)                                                             \
    (KILN_CUDA_FULL(mask) ? warp_and((u32)(value)) : kiln_cuda_and(mask, (u32)(value)))
#define __reduce_or_sync(mask, value)                                                              \
    (KILN_CUDA_FULL(mask) ? warp_or((u32)(value)) : kiln_cuda_or(mask, (u32)(value)))
#define __reduce_xor_sync(mask, value)                                                             \
    (KILN_CUDA_FULL(mask) ? warp_xor((u32)(value)) : kiln_cuda_xor(mask, (u32)(value)))
#define __reduce_add_sync(mask, value)                                                             \
    KILN_CUDA_LIKE(value, KILN_CUDA_FULL(mask) ? warp_sum((u32)(value))                            \
                                               : kiln_cuda_add(mask, (u32)(value)))
#define __reduce_min_sync(mask, value)                                                             \
    _Generic((value), u32                                                                          \
             : KILN_CUDA_FULL(mask) ? warp_min((u32)(value)) : kiln_cuda_umin(mask, (u32)(value)), \
               default                                                                             \
             : KILN_CUDA_FULL(mask) ? warp_min((i32)(value)) : kiln_cuda_smin(mask, (i32)(value)))
#define __reduce_max_sync(mask, value)                                                             \
    _Generic((value), u32                                                                          \
             : KILN_CUDA_FULL(mask) ? warp_max((u32)(value)) : kiln_cuda_umax(mask, (u32)(value)), \
               default                                                                             \
             : KILN_CUDA_FULL(mask) ? warp_max((i32)(value)) : kiln_cuda_smax(mask, (i32)(value)))

// --- atomics
// Of narrow floats, too, alone and in pairs (cuda_half.h).
#ifdef __KILN__
#    define KILN_CUDA_ADDING(like) atomic_add
#    define KILN_CUDA_PLACE(p)     (p)
#else
#    define KILN_CUDA_ADDING(like)                                                                 \
        KILN_BY_NUM(kiln_atomic_add, KILN_CUDA_NARROWS(like, 0, 0, 0, 0, like))
#    define KILN_CUDA_PLACE(p) ((void *)(p))
#endif
#define KILN_CUDA_NARROWS(like, h, h2, b, b2, other)                                               \
    _Generic((like), f16 : h, f16x2 : h2, bf16 : b, bf16x2 : b2, default : other)
#define atomicAdd(p, value)                                                                        \
    KILN_CUDA_NARROWS(*(p), kiln_cuda_add_f16, kiln_cuda_add_f16x2, kiln_cuda_add_bf16,            \
                      kiln_cuda_add_bf16x2, KILN_CUDA_ADDING(*(p)))                                \
    (KILN_CUDA_PLACE(p), value)
#define atomicSub(p, value)             atomic_sub(p, value)
#define atomicMin(p, value)             atomic_min(p, value)
#define atomicMax(p, value)             atomic_max(p, value)
#define atomicAnd(p, value)             atomic_and(p, value)
#define atomicOr(p, value)              atomic_or(p, value)
#define atomicXor(p, value)             atomic_xor(p, value)
#define atomicExch(p, value)            atomic_swap(p, value)
#define atomicCAS(p, expected, desired) atomic_cas(p, expected, desired)
#define atomicAdd_block(p, value)       atomic_add_at(p, value, order_relaxed, scope_block)
#define atomicAdd_system(p, value)      atomic_add_at(p, value, order_relaxed, scope_system)
// Of a wider scope than is asked for.
#define atomicSub_block(p, value)       atomic_sub(p, value)
#define atomicMin_block(p, value)       atomic_min(p, value)
#define atomicMax_block(p, value)       atomic_max(p, value)
#define atomicAnd_block(p, value)       atomic_and(p, value)
#define atomicOr_block(p, value)        atomic_or(p, value)
#define atomicXor_block(p, value)       atomic_xor(p, value)
#define atomicExch_block(p, value)      atomic_swap_at(p, value, order_relaxed, scope_block)
#define atomicExch_system(p, value)     atomic_swap_at(p, value, order_relaxed, scope_system)
#define atomicCAS_block(p, expected, desired)                                                      \
    atomic_cas_at(p, expected, desired, order_relaxed, scope_block)
#define atomicCAS_system(p, expected, desired)                                                     \
    atomic_cas_at(p, expected, desired, order_relaxed, scope_system)

static inline u32 kiln_cuda_inc(u32 *p, u32 most)
{
    u32 seen = atomic_load(p), old;
    do {
        old = seen;
        seen = atomic_cas(p, old, old >= most ? 0u : old + 1u);
    } while (seen != old);
    return old;
}

static inline u32 kiln_cuda_dec(u32 *p, u32 most)
{
    u32 seen = atomic_load(p), old;
    do {
        old = seen;
        seen = atomic_cas(p, old, old == 0u || old > most ? most : old - 1u);
    } while (seen != old);
    return old;
}
#define atomicInc(p, most) kiln_cuda_inc(p, most)
#define atomicDec(p, most) kiln_cuda_dec(p, most)

// --- bits
#define __popc(x)        ((i32)popcount((u32)(x)))
#define __popcll(x)      ((i32)popcount((u64)(x)))
#define __clz(x)         ((i32)leading_zeros((u32)(x)))
#define __clzll(x)       ((i32)leading_zeros((u64)(x)))
#define __brev(x)        reverse_bits((u32)(x))
#define __brevll(x)      reverse_bits((u64)(x))
#define __mulhi(a, b)    mul_high((i32)(a), (i32)(b))
#define __umulhi(a, b)   mul_high((u32)(a), (u32)(b))
#define __mul64hi(a, b)  mul_high((i64)(a), (i64)(b))
#define __umul64hi(a, b) mul_high((u64)(a), (u64)(b))
// The n-th set bit from `from` on, upwards or, of a negative n, downwards; of 0 that bit itself.
static inline u32 kiln_cuda_fns(u32 mask, u32 from, i32 n)
{
    if (n == 0)
        return from < 32 && mask >> from & 1 ? from : ~0u;
    u32 step = n < 0 ? ~0u : 1u, left = n < 0 ? 0u - (u32)n : (u32)n;
    for (u32 at = from; at < 32; at += step) {
        left -= mask >> at & 1;
        if (!left)
            return at;
    }
    return ~0u;
}
#define __fns(mask, from, n) kiln_cuda_fns((u32)(mask), (u32)(from), (i32)(n))
// The low 24 bits of each, as signed or unsigned numbers; the low 32 bits of the product.
static inline i32 kiln_cuda_mul24(i32 a, i32 b)
{
    return (i32)((u32)((i32)((u32)a << 8) >> 8) * (u32)((i32)((u32)b << 8) >> 8));
}
#define __mul24(a, b)  kiln_cuda_mul24((i32)(a), (i32)(b))
#define __umul24(a, b) (((u32)(a)&0xffffffu) * ((u32)(b)&0xffffffu))
static inline u32 kiln_cuda_sad(i32 a, i32 b, u32 sum)
{
    return (a < b ? (u32)b - (u32)a : (u32)a - (u32)b) + sum;
}
static inline u32 kiln_cuda_usad(u32 a, u32 b, u32 sum)
{
    return (a < b ? b - a : a - b) + sum;
}
#define __sad(a, b, c)              kiln_cuda_sad((i32)(a), (i32)(b), (u32)(c))
#define __usad(a, b, c)             kiln_cuda_usad((u32)(a), (u32)(b), (u32)(c))
#define __byte_perm(x, y, selector) permute_bytes((u32)(x), (u32)(y), (u32)(selector))
// The bytes of unsigned numbers are unsigned.
#define __dp4a(a, b, c)                                                                            \
    _Generic((a), u32                                                                              \
             : dot4_u8((u32)(a), (u32)(b), (u32)(c)), default                                      \
             : dot4_i8((u32)(a), (u32)(b), (i32)(c)))
// Two numbers of 16 bits times the lower or upper two bytes of a word.
#define KILN_CUDA_DOT2(name, half, byte, type)                                                     \
    static inline type name(type a, type b, type c, u32 from)                                      \
    {                                                                                              \
        type low = (half)a * (byte)((u32)b >> from), high = (half)((u32)a >> 16);                  \
        return (type)((u32)c + (u32)low + (u32)(high * (byte)((u32)b >> (from + 8))));             \
    }
KILN_CUDA_DOT2(kiln_cuda_dot2, i16, i8, i32)
KILN_CUDA_DOT2(kiln_cuda_udot2, u16, u8, u32)
#define KILN_CUDA_DOT2_OF(a, b, c, from)                                                           \
    _Generic((a), u32                                                                              \
             : kiln_cuda_udot2((u32)(a), (u32)(b), (u32)(c), from), default                        \
             : kiln_cuda_dot2((i32)(a), (i32)(b), (i32)(c), from))
#define __dp2a_lo(a, b, c)                KILN_CUDA_DOT2_OF(a, b, c, 0)
#define __dp2a_hi(a, b, c)                KILN_CUDA_DOT2_OF(a, b, c, 16)
#define __funnelshift_l(low, high, count) funnel_left((u32)(high), (u32)(low), (u32)(count))
// Counts of 32 and more shift everything out.
static inline u32 kiln_cuda_funnel_left_most(u32 low, u32 high, u32 count)
{
    return count < 32 ? funnel_left(high, low, count) : low;
}
static inline i32 kiln_cuda_ffs(u32 x)
{
    return x ? (i32)trailing_zeros(x) + 1 : 0;
}
static inline i32 kiln_cuda_ffsll(u64 x)
{
    return x ? (i32)trailing_zeros(x) + 1 : 0;
}
static inline u32 kiln_cuda_funnel_right(u32 low, u32 high, u32 count)
{
    return (u32)((((u64)high << 32) | low) >> (count & 31u));
}
#define __ffs(x)   kiln_cuda_ffs((u32)(x))
#define __ffsll(x) kiln_cuda_ffsll((u64)(x))
static inline u32 kiln_cuda_funnel_right_most(u32 low, u32 high, u32 count)
{
    return count < 32 ? kiln_cuda_funnel_right(low, high, count) : high;
}
#define __funnelshift_lc(low, high, count)                                                         \
    kiln_cuda_funnel_left_most((u32)(low), (u32)(high), (u32)(count))
#define __funnelshift_rc(low, high, count)                                                         \
    kiln_cuda_funnel_right_most((u32)(low), (u32)(high), (u32)(count))
#define __funnelshift_r(low, high, count)                                                          \
    kiln_cuda_funnel_right((u32)(low), (u32)(high), (u32)(count))

#define __rhadd(a, b)  ((i32)(((i64)(a) + (i64)(b) + 1) >> 1))
#define __uhadd(a, b)  ((u32)(((u64)(u32)(a) + (u64)(u32)(b)) >> 1))
#define __urhadd(a, b) ((u32)(((u64)(u32)(a) + (u64)(u32)(b) + 1) >> 1))

// --- numbers as bits
#define __float_as_int(x)       ((i32)bits_f32(x))
#define __float_as_uint(x)      bits_f32(x)
#define __int_as_float(x)       f32_from_bits((u32)(x))
#define __uint_as_float(x)      f32_from_bits((u32)(x))
#define __double_as_longlong(x) ((i64)bits_f64(x))
#define __longlong_as_double(x) f64_from_bits((u64)(x))

// --- numbers
static inline void kiln_cuda_sincosf(f32 x, f32 *sine, f32 *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}
static inline void kiln_cuda_fast_sincosf(f32 x, f32 *sine, f32 *cosine)
{
    *sine = fast_sin(x);
    *cosine = fast_cos(x);
}
// Sine and cosine of pi times x: the remainder of 2 is exact, and so is the quarter it lies in.
static inline f64 kiln_cuda_sinpi(f64 x)
{
    f64 turn = x - 2.0 * rint(x * 0.5), size = fabs(turn), fold = size > 0.5 ? 1.0 - size : size;
    f64 value = fold > 0.25 ? cos((0.5 - fold) * 3.141592653589793) : sin(fold * 3.141592653589793);
    return turn == 0.0 ? copysign(0.0, x) : copysign(value, turn);
}
static inline f64 kiln_cuda_cospi(f64 x)
{
    f64 size = fabs(x - 2.0 * rint(x * 0.5)), fold = fabs(0.5 - size);
    f64 value = fold > 0.25 ? cos((0.5 - fold) * 3.141592653589793) : sin(fold * 3.141592653589793);
    return size > 0.5 ? -value : value;
}
static inline void kiln_cuda_sincospif(f32 x, f32 *sine, f32 *cosine)
{
    *sine = (f32)kiln_cuda_sinpi((f64)x);
    *cosine = (f32)kiln_cuda_cospi((f64)x);
}
static inline void kiln_cuda_sincospi(f64 x, f64 *sine, f64 *cosine)
{
    *sine = kiln_cuda_sinpi(x);
    *cosine = kiln_cuda_cospi(x);
}
static inline f64 kiln_cuda_norm(f64 a, f64 b, f64 c, f64 d)
{
    return sqrt(a * a + b * b + c * c + d * d);
}
static inline f32 kiln_cuda_fast_tanf(f32 x)
{
    return fast_div(fast_sin(x), fast_cos(x));
}
static inline void kiln_cuda_sincos(f64 x, f64 *sine, f64 *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}
#define __int2float_rn(x)           ((f32)(i32)(x))
#define __uint2float_rn(x)          ((f32)(u32)(x))
#define __double2float_rn(x)        ((f32)(f64)(x))
#define __int2double_rn(x)          ((f64)(i32)(x))
#define __uint2double_rn(x)         ((f64)(u32)(x))
#define __ll2double_rn(x)           ((f64)(i64)(x))
#define __ull2double_rn(x)          ((f64)(u64)(x))
#define __ll2float_rn(x)            ((f32)(i64)(x))
#define __ull2float_rn(x)           ((f32)(u64)(x))
#define __double2int_rn(x)          ((i32)rint((f64)(x)))
#define __double2int_rz(x)          ((i32)trunc((f64)(x)))
#define __double2int_rd(x)          ((i32)floor((f64)(x)))
#define __double2int_ru(x)          ((i32)ceil((f64)(x)))
#define __double2uint_rn(x)         ((u32)rint((f64)(x)))
#define __double2uint_rz(x)         ((u32)trunc((f64)(x)))
#define __double2uint_rd(x)         ((u32)floor((f64)(x)))
#define __double2uint_ru(x)         ((u32)ceil((f64)(x)))
#define __double2ll_rn(x)           ((i64)rint((f64)(x)))
#define __double2ll_rz(x)           ((i64)trunc((f64)(x)))
#define __double2ll_rd(x)           ((i64)floor((f64)(x)))
#define __double2ll_ru(x)           ((i64)ceil((f64)(x)))
#define __double2ull_rn(x)          ((u64)rint((f64)(x)))
#define __double2ull_rz(x)          ((u64)trunc((f64)(x)))
#define __double2ull_rd(x)          ((u64)floor((f64)(x)))
#define __double2ull_ru(x)          ((u64)ceil((f64)(x)))
#define __float2ll_rn(x)            ((i64)rintf(x))
#define __float2ll_rz(x)            ((i64)truncf(x))
#define __float2ll_rd(x)            ((i64)floorf(x))
#define __float2ll_ru(x)            ((i64)ceilf(x))
#define __float2ull_rn(x)           ((u64)rintf(x))
#define __float2ull_rz(x)           ((u64)truncf(x))
#define __float2ull_rd(x)           ((u64)floorf(x))
#define __float2ull_ru(x)           ((u64)ceilf(x))
#define __double2hiint(x)           ((i32)(bits_f64(x) >> 32))
#define __double2loint(x)           ((i32)(u32)bits_f64(x))
#define __hiloint2double(high, low) f64_from_bits((u64)(u32)(high) << 32 | (u32)(low))
#define __dadd_rn(a, b)             ((f64)(a) + (f64)(b))
#define __dsub_rn(a, b)             ((f64)(a) - (f64)(b))
#define __dmul_rn(a, b)             ((f64)(a) * (f64)(b))
#define __ddiv_rn(a, b)             ((f64)(a) / (f64)(b))
#define __drcp_rn(x)                (1.0 / (f64)(x))
#define __dsqrt_rn(x)               sqrt((f64)(x))
#define __fma_rn(a, b, c)           fma((f64)(a), (f64)(b), (f64)(c))
#define __float2int_rn(x)           ((i32)rintf(x))
#define __float2int_rz(x)           ((i32)truncf(x))
#define __float2int_rd(x)           ((i32)floorf(x))
#define __float2int_ru(x)           ((i32)ceilf(x))
#define __float2uint_rn(x)          ((u32)rintf(x))
#define __float2uint_rz(x)          ((u32)truncf(x))
#define __float2uint_rd(x)          ((u32)floorf(x))
#define __float2uint_ru(x)          ((u32)ceilf(x))
#define __fadd_rn(a, b)             ((f32)(a) + (f32)(b))
#define __fsub_rn(a, b)             ((f32)(a) - (f32)(b))
#define __fmul_rn(a, b)             ((f32)(a) * (f32)(b))
#define __fdiv_rn(a, b)             ((f32)(a) / (f32)(b))
#define __fmaf_rn(a, b, c)          fmaf(a, b, c)
#define __fsqrt_rn(x)               sqrtf(x)
#define __frcp_rn(x)                (1.0f / (f32)(x))
#define __frsqrt_rn(x)              rsqrtf(x)
#define __saturatef(x)              fminf(fmaxf(x, 0.0f), 1.0f)
#define exp10f(x)                   powf(10.0f, x)
#define exp10(x)                    pow(10.0, (f64)(x))
#define sincosf(x, s, c)            kiln_cuda_sincosf(x, s, c)
#define sincos(x, s, c)             kiln_cuda_sincos(x, s, c)
#define __sincosf(x, s, c)          kiln_cuda_fast_sincosf(x, s, c)
#define sinpif(x)                   ((f32)kiln_cuda_sinpi((f64)(x)))
#define cospif(x)                   ((f32)kiln_cuda_cospi((f64)(x)))
#define sinpi(x)                    kiln_cuda_sinpi((f64)(x))
#define cospi(x)                    kiln_cuda_cospi((f64)(x))
#define sincospif(x, s, c)          kiln_cuda_sincospif(x, s, c)
#define sincospi(x, s, c)           kiln_cuda_sincospi(x, s, c)
#define norm3df(a, b, c)            ((f32)kiln_cuda_norm((f64)(a), (f64)(b), (f64)(c), 0.0))
#define norm4df(a, b, c, d)         ((f32)kiln_cuda_norm((f64)(a), (f64)(b), (f64)(c), (f64)(d)))
#define rnorm3df(a, b, c)           ((f32)(1.0 / kiln_cuda_norm((f64)(a), (f64)(b), (f64)(c), 0.0)))
#define rnorm4df(a, b, c, d)        ((f32)(1.0 / kiln_cuda_norm((f64)(a), (f64)(b), (f64)(c), (f64)(d))))
#define rhypotf(a, b)               ((f32)(1.0 / kiln_cuda_norm((f64)(a), (f64)(b), 0.0, 0.0)))
#define rcbrtf(x)                   ((f32)(1.0 / cbrt((f64)(x))))
#define rcbrt(x)                    (1.0 / cbrt((f64)(x)))
#define normcdff(x)                 ((f32)(0.5 * erfc((f64)(x) * -0.7071067811865476)))
#define normcdf(x)                  (0.5 * erfc((f64)(x) * -0.7071067811865476))
#define fdividef(a, b)              ((f32)(a) / (f32)(b))
#define __expf(x)                   fast_exp(x)
#define __logf(x)                   fast_log(x)
#define __log2f(x)                  fast_log2(x)
#define __sinf(x)                   fast_sin(x)
#define __cosf(x)                   fast_cos(x)
#define __log10f(x)                 (fast_log2(x) * 0.30102999566f)
#define __exp10f(x)                 fast_exp2((x)*3.3219280949f)
#define __tanf(x)                   kiln_cuda_fast_tanf(x)
#define __powf(x, y)                fast_pow(x, y)
#define __fdividef(a, b)            fast_div(a, b)
#define CUDART_INF_F                INFINITY
#define CUDART_NAN_F                NAN
#define CUDART_PI_F                 3.141592654f

#include <kiln/cuda_half.h>
#include <kiln/cuda_lanes.h>

// --- memory, time, stopping
#define __ldg(p)         load_readonly(p)
#define __ldca(p)        (*(p))
#define __ldcg(p)        (*(p))
#define __ldlu(p)        (*(p))
#define __ldcs(p)        load_stream(p)
#define __stwb(p, value) ((void)(*(p) = (value)))
#define __stcg(p, value) ((void)(*(p) = (value)))
#define __stcs(p, value) store_stream(p, value)
#define clock64()        ((i64)clock_cycles())
#define __nanosleep(ns)  nano_sleep(ns)
#define __trap()         trap()

#endif
