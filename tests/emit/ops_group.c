// Every operation between the threads of a warp, and every atomic one.
#include <kiln/kernel.h>

#define WARP(T)                                                                                    \
    kernel block(64) void warp_##T(const T *a, T *out, u32 *lanes, u32 by)                         \
    {                                                                                              \
        T x = a[thread_x()];                                                                       \
        out[0] = shuffle(x, by);                                                                   \
        out[1] = shuffle_up(x, 1);                                                                 \
        out[2] = shuffle_down(x, by);                                                              \
        out[3] = shuffle_xor(x, 16);                                                               \
        out[4] = shuffle_in(x, by, 8);                                                             \
        lanes[0] = warp_ballot(x > 0);                                                             \
        lanes[1] = warp_any(x > 1);                                                                \
        lanes[2] = warp_all(x > 2);                                                                \
        lanes[3] = warp_match(x);                                                                  \
        lanes[4] = warp_active();                                                                  \
        warp_sync();                                                                               \
        out[5] = a[thread_x() + 64];                                                               \
    }
WARP(i32)
WARP(u64)

#define ATOMICS(T, name)                                                                           \
    kernel block(32) void atomics_##name(T *p, T *out, T x, T y)                                   \
    {                                                                                              \
        shared T own[8];                                                                           \
        out[0] = atomic_add(p, x);                                                                 \
        out[1] = atomic_sub(p + 1, x);                                                             \
        out[2] = atomic_min(p + 2, x);                                                             \
        out[3] = atomic_max(p + 3, x);                                                             \
        out[4] = atomic_swap(p + 4, x);                                                            \
        out[5] = atomic_load(p + 5);                                                               \
        atomic_store(p + 6, y);                                                                    \
        atomic_add(own, y);                                                                        \
        out[7] = atomic_add_at(p + 7, x, order_acq_rel, scope_system);                             \
        out[8] = atomic_load_at(p + 8, order_acquire, scope_device);                               \
        atomic_store_at(p + 9, x, order_release, scope_block);                                     \
        out[10] = own[1];                                                                          \
    }
ATOMICS(i32, i32)
ATOMICS(u64, u64)
ATOMICS(f32, f32)
ATOMICS(f64, f64)

kernel block(32) void atomic_bits(u32 *p, u64 *q, u32 x, u64 y)
{
    p[8] = atomic_and(p, x);
    p[9] = atomic_or(p + 1, x);
    p[10] = atomic_xor(p + 2, x);
    p[11] = atomic_cas(p + 3, x, 7u);
    q[8] = atomic_and(q, y);
    q[9] = atomic_cas(q + 3, y, 7ul);
}
