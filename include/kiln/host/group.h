// Where am I, barriers, shuffles, votes and atomics for the host's compiler (see kernel.h).
//
// One record describes the thread that runs now. Without a runner it is a single thread in a block
// of one; a runner makes a record per thread and points kiln_host_self at the running one.
#ifndef KILN_HOST_GROUP_H
#define KILN_HOST_GROUP_H

typedef struct kiln_host_thread {
    u32 thread[3], block[3], block_dim[3], grid_dim[3];
    u32 dynamic_bytes;
    void (*wait_block)(void); // NULL: no runner
    // Gives this lane's word to its warp, waits for the others' and returns all 32; *present has a
    // bit for each that took part. The words stay until the next exchange but one.
    const u64 *(*exchange)(u64 word, u32 *present);
} kiln_host_thread;

enum { KILN_HOST_DYNAMIC_BYTES = 65536 };
__attribute__((weak)) _Thread_local kiln_host_thread *kiln_host_self;
__attribute__((weak)) _Alignas(16) u8 kiln_host_dynamic[KILN_HOST_DYNAMIC_BYTES];
static kiln_host_thread kiln_host_alone = {.block_dim = {1, 1, 1}, .grid_dim = {1, 1, 1}};

static inline const kiln_host_thread *kiln_host_here(void)
{
    return kiln_host_self ? kiln_host_self : &kiln_host_alone;
}

// --- where am I
// clang-format off
static inline u32 thread_x(void)    { return kiln_host_here()->thread[0]; }
static inline u32 thread_y(void)    { return kiln_host_here()->thread[1]; }
static inline u32 thread_z(void)    { return kiln_host_here()->thread[2]; }
static inline u32 block_x(void)     { return kiln_host_here()->block[0]; }
static inline u32 block_y(void)     { return kiln_host_here()->block[1]; }
static inline u32 block_z(void)     { return kiln_host_here()->block[2]; }
static inline u32 block_dim_x(void) { return kiln_host_here()->block_dim[0]; }
static inline u32 block_dim_y(void) { return kiln_host_here()->block_dim[1]; }
static inline u32 block_dim_z(void) { return kiln_host_here()->block_dim[2]; }
static inline u32 grid_dim_x(void)  { return kiln_host_here()->grid_dim[0]; }
static inline u32 grid_dim_y(void)  { return kiln_host_here()->grid_dim[1]; }
static inline u32 grid_dim_z(void)  { return kiln_host_here()->grid_dim[2]; }
static inline u32 global_x(void)    { return block_x() * block_dim_x() + thread_x(); }
static inline u32 global_y(void)    { return block_y() * block_dim_y() + thread_y(); }
static inline u32 global_z(void)    { return block_z() * block_dim_z() + thread_z(); }
static inline u32 thread_rank(void) { return thread_x() + block_dim_x() * (thread_y() + block_dim_y() * thread_z()); }
static inline u32 block_threads(void) { return block_dim_x() * block_dim_y() * block_dim_z(); }
static inline u32 lane(void)        { return thread_rank() % 32; }
static inline u32 warp(void)        { return thread_rank() / 32; }
static inline u32 warp_count(void)  { return (block_threads() + 31) / 32; }
static inline u32 warp_lanes(void)  { u32 left = block_threads() - warp() * 32; return left < 32 ? left : 32; }
static inline u32 dynamic_shared_bytes(void) { return kiln_host_here()->dynamic_bytes; }
// clang-format on

// --- barriers and fences
static inline void barrier(void)
{
    if (kiln_host_self)
        kiln_host_self->wait_block();
}
static inline const u64 *kiln_host_exchange(u64 word, u32 *present)
{
    static _Thread_local u64 words[32];
    if (kiln_host_self)
        return kiln_host_self->exchange(word, present);
    words[0] = word;
    *present = 1;
    return words;
}
static inline void warp_sync(void)
{
    u32 present;
    kiln_host_exchange(0, &present);
}
#define fence_block()  __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define fence_device() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define fence_system() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define fence_at(order, scope)                                                                     \
    ((void)(order), (void)(scope), __atomic_thread_fence(__ATOMIC_SEQ_CST))

// --- shuffles: a lane outside the segment, or one that does not exist, gives one's own value
enum { KILN_SHUFFLE_LANE, KILN_SHUFFLE_UP, KILN_SHUFFLE_DOWN, KILN_SHUFFLE_XOR };
static inline u64 kiln_host_shuffle(u64 word, int how, u32 by, u32 width)
{
    u32 present, self = lane(), first = self & ~(width - 1), at = self - first;
    const u64 *words = kiln_host_exchange(word, &present);
    if (how == KILN_SHUFFLE_LANE)
        at = by & (width - 1);
    else if (how == KILN_SHUFFLE_UP)
        at = by > at ? at : at - by;
    else if (how == KILN_SHUFFLE_DOWN)
        at = by >= width - at ? at : at + by;
    else
        at = (at ^ by) >= width ? at : at ^ by;
    at += first;
    return present >> at & 1 ? words[at] : word;
}
#define KILN_SHUFFLE_OF(T)                                                                         \
    static inline T kiln_shuffle_##T(T value, int how, u32 by, u32 width)                          \
    {                                                                                              \
        u64 word = 0;                                                                              \
        memcpy(&word, &value, sizeof value);                                                       \
        word = kiln_host_shuffle(word, how, by, width);                                            \
        memcpy(&value, &word, sizeof value);                                                       \
        return value;                                                                              \
    }
// clang-format off
KILN_SHUFFLE_OF(bool) KILN_SHUFFLE_OF(i8)  KILN_SHUFFLE_OF(u8)  KILN_SHUFFLE_OF(i16) KILN_SHUFFLE_OF(u16)
KILN_SHUFFLE_OF(i32)  KILN_SHUFFLE_OF(u32) KILN_SHUFFLE_OF(i64) KILN_SHUFFLE_OF(u64) KILN_SHUFFLE_OF(f16)
KILN_SHUFFLE_OF(bf16) KILN_SHUFFLE_OF(f32) KILN_SHUFFLE_OF(f64) KILN_SHUFFLE_OF(f16x2) KILN_SHUFFLE_OF(bf16x2)
#define KILN_SHUFFLE(v, how, by, width)                                                            \
    _Generic((v), bool: kiln_shuffle_bool, char: kiln_shuffle_i8, i8: kiln_shuffle_i8, u8: kiln_shuffle_u8,      \
        i16: kiln_shuffle_i16, u16: kiln_shuffle_u16, int: kiln_shuffle_i32, unsigned: kiln_shuffle_u32,         \
        long: kiln_shuffle_i64, unsigned long: kiln_shuffle_u64, long long: kiln_shuffle_i64,                    \
        unsigned long long: kiln_shuffle_u64, f16: kiln_shuffle_f16, bf16: kiln_shuffle_bf16,                    \
        f16x2: kiln_shuffle_f16x2, bf16x2: kiln_shuffle_bf16x2,                                                  \
        float: kiln_shuffle_f32, double: kiln_shuffle_f64)((v), (how), (by), (width))
// clang-format on
#define shuffle(v, from)                 KILN_SHUFFLE(v, KILN_SHUFFLE_LANE, from, 32)
#define shuffle_up(v, delta)             KILN_SHUFFLE(v, KILN_SHUFFLE_UP, delta, 32)
#define shuffle_down(v, delta)           KILN_SHUFFLE(v, KILN_SHUFFLE_DOWN, delta, 32)
#define shuffle_xor(v, mask)             KILN_SHUFFLE(v, KILN_SHUFFLE_XOR, mask, 32)
#define shuffle_in(v, from, width)       KILN_SHUFFLE(v, KILN_SHUFFLE_LANE, from, width)
#define shuffle_up_in(v, delta, width)   KILN_SHUFFLE(v, KILN_SHUFFLE_UP, delta, width)
#define shuffle_down_in(v, delta, width) KILN_SHUFFLE(v, KILN_SHUFFLE_DOWN, delta, width)
#define shuffle_xor_in(v, mask, width)   KILN_SHUFFLE(v, KILN_SHUFFLE_XOR, mask, width)

    // --- votes
    static inline u32 warp_ballot(bool condition)
{
    u32 present, votes = 0;
    const u64 *words = kiln_host_exchange(condition, &present);
    for (u32 i = 0; i < 32; i++)
        if (present >> i & 1 && words[i])
            votes |= 1u << i;
    return votes;
}
static inline bool warp_any(bool condition)
{
    return warp_ballot(condition) != 0;
}
static inline bool warp_all(bool condition)
{
    return warp_ballot(!condition) == 0;
}
static inline u32 kiln_host_match(u64 word)
{
    u32 present, same = 0;
    const u64 *words = kiln_host_exchange(word, &present);
    for (u32 i = 0; i < 32; i++)
        if (present >> i & 1 && words[i] == word)
            same |= 1u << i;
    return same;
}
static inline u32 warp_active(void)
{
    return 1u << lane(); // each host thread runs alone
}
#define warp_match(v)            kiln_host_match((u64)(v))
#define promise_warp_uniform(v)  (v)
#define promise_block_uniform(v) (v)

// --- atomics: each gives the old value
#define KILN_ATOMIC(name, T, result)                                                               \
    static inline T name(void *at, T v)                                                            \
    {                                                                                              \
        T *p = (T *)at, old, next;                                                                 \
        __atomic_load(p, &old, __ATOMIC_SEQ_CST);                                                  \
        do                                                                                         \
            next = (result);                                                                       \
        while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_SEQ_CST,                 \
                                          __ATOMIC_SEQ_CST));                                      \
        return old;                                                                                \
    }
#define KILN_ATOMIC_NUM(T)                                                                         \
    static inline T kiln_min_##T(T a, T b);                                                        \
    static inline T kiln_max_##T(T a, T b);                                                        \
    KILN_ATOMIC(kiln_atomic_add_##T, T, old + v)                                                   \
    KILN_ATOMIC(kiln_atomic_sub_##T, T, old - v)                                                   \
    KILN_ATOMIC(kiln_atomic_min_##T, T, kiln_min_##T(old, v))                                      \
    KILN_ATOMIC(kiln_atomic_max_##T, T, kiln_max_##T(old, v))                                      \
    KILN_ATOMIC(kiln_atomic_swap_##T, T, v)                                                        \
    static inline T kiln_atomic_load_##T(const void *at)                                           \
    {                                                                                              \
        T v;                                                                                       \
        __atomic_load((const T *)at, &v, __ATOMIC_SEQ_CST);                                        \
        return v;                                                                                  \
    }                                                                                              \
    static inline void kiln_atomic_store_##T(void *at, T v)                                        \
    {                                                                                              \
        __atomic_store((T *)at, &v, __ATOMIC_SEQ_CST);                                             \
    }
#define KILN_ATOMIC_INT(T)                                                                         \
    KILN_ATOMIC(kiln_atomic_and_##T, T, old &v)                                                    \
    KILN_ATOMIC(kiln_atomic_or_##T, T, old | v)                                                    \
    KILN_ATOMIC(kiln_atomic_xor_##T, T, old ^ v)                                                   \
    static inline T kiln_atomic_cas_##T(void *at, T expected, T desired)                           \
    {                                                                                              \
        __atomic_compare_exchange((T *)at, &expected, &desired, false, __ATOMIC_SEQ_CST,           \
                                  __ATOMIC_SEQ_CST);                                               \
        return expected;                                                                           \
    }
// clang-format off
KILN_ATOMIC_NUM(i32) KILN_ATOMIC_NUM(u32) KILN_ATOMIC_NUM(i64) KILN_ATOMIC_NUM(u64) KILN_ATOMIC_NUM(f32) KILN_ATOMIC_NUM(f64)
KILN_ATOMIC_INT(i32) KILN_ATOMIC_INT(u32) KILN_ATOMIC_INT(i64) KILN_ATOMIC_INT(u64)
    // clang-format on
    enum {
        order_relaxed,
        order_acquire,
        order_release,
        order_acq_rel,
        order_seq_cst
    };
enum { scope_device, scope_block, scope_cluster, scope_system };
#define KILN_AT(p)                         ((void *)(p))
#define atomic_add(p, v)                   KILN_BY_NUM(kiln_atomic_add, *(p))(KILN_AT(p), v)
#define atomic_sub(p, v)                   KILN_BY_NUM(kiln_atomic_sub, *(p))(KILN_AT(p), v)
#define atomic_min(p, v)                   KILN_BY_NUM(kiln_atomic_min, *(p))(KILN_AT(p), v)
#define atomic_max(p, v)                   KILN_BY_NUM(kiln_atomic_max, *(p))(KILN_AT(p), v)
#define atomic_and(p, v)                   KILN_BY_INT(kiln_atomic_and, *(p))(KILN_AT(p), v)
#define atomic_or(p, v)                    KILN_BY_INT(kiln_atomic_or, *(p))(KILN_AT(p), v)
#define atomic_xor(p, v)                   KILN_BY_INT(kiln_atomic_xor, *(p))(KILN_AT(p), v)
#define atomic_swap(p, v)                  KILN_BY_NUM(kiln_atomic_swap, *(p))(KILN_AT(p), v)
#define atomic_cas(p, old, v)              KILN_BY_INT(kiln_atomic_cas, *(p))(KILN_AT(p), old, v)
#define atomic_load(p)                     KILN_BY_NUM(kiln_atomic_load, *(p))(KILN_AT(p))
#define atomic_store(p, v)                 KILN_BY_NUM(kiln_atomic_store, *(p))(KILN_AT(p), v)
#define KILN_ORDERED(order, scope, ...)    ((void)(order), (void)(scope), __VA_ARGS__)
#define atomic_add_at(p, v, order, scope)  KILN_ORDERED(order, scope, atomic_add(p, v))
#define atomic_swap_at(p, v, order, scope) KILN_ORDERED(order, scope, atomic_swap(p, v))
#define atomic_cas_at(p, expected, v, order, scope)                                                \
    KILN_ORDERED(order, scope, atomic_cas(p, expected, v))
#define atomic_load_at(p, order, scope)     KILN_ORDERED(order, scope, atomic_load(p))
#define atomic_store_at(p, v, order, scope) KILN_ORDERED(order, scope, atomic_store(p, v))

#endif
