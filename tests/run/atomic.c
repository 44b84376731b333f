// Atomics on global and shared memory. Where the order of threads shows, only order-free results
// are kept; the old value is checked with one thread, or through a sum.
#include <kiln/kernel.h>

#define SINGLE(T)                                                                                  \
    kernel void single_##T(T *a, T *old)                                                           \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        T *p = a + 16 * i, *o = old + 16 * i;                                                      \
        o[0] = atomic_add(p, 3);                                                                   \
        o[1] = atomic_sub(p + 1, 2);                                                               \
        o[2] = atomic_min(p + 2, 5);                                                               \
        o[3] = atomic_max(p + 3, 9);                                                               \
        o[4] = atomic_swap(p + 4, 77);                                                             \
        o[5] = atomic_load(p + 5);                                                                 \
        atomic_store(p + 6, 12);                                                                   \
        o[7] = atomic_add_at(p + 7, 1, order_acq_rel, scope_block);                                \
        o[8] = atomic_swap_at(p + 8, 2, order_relaxed, scope_device);                              \
        o[9] = atomic_load_at(p + 9, order_acquire, scope_system);                                 \
        atomic_store_at(p + 10, 3, order_release, scope_device);                                   \
    }
#define SINGLE_INT(T)                                                                              \
    SINGLE(T)                                                                                      \
    kernel void single_bits_##T(T *a, T *old)                                                      \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        T *p = a + 8 * i, *o = old + 8 * i;                                                        \
        o[0] = atomic_and(p, 0x0f0f);                                                              \
        o[1] = atomic_or(p + 1, 0x0f0f);                                                           \
        o[2] = atomic_xor(p + 2, 0x0f0f);                                                          \
        o[3] = atomic_cas(p + 3, p[3], 1);                                                         \
        o[4] = atomic_cas(p + 4, p[4] + 1, 1);                                                     \
        o[5] = atomic_cas_at(p + 5, p[5], 4, order_seq_cst, scope_device);                         \
    }
//! run single_{i32,u32,i64,u64} block=16 ($1[256]:bits, $1[256])
//! run single_{f32,f64} block=16 ($1[256]:edge, $1[256])
//! run single_bits_{i32,u32,i64,u64} block=16 ($1[128]:bits, $1[128])
SINGLE_INT(i32)
SINGLE_INT(u32)
SINGLE_INT(i64)
SINGLE_INT(u64)
SINGLE(f32)
SINGLE(f64)

static bool histogram_is_right(const u8 *in, u32 *bins, u32 n)
{
    u32 want[16] = {0};
    for (u32 i = 0; i < n; i++)
        want[in[i] & 15]++;
    return memcmp(want, bins, sizeof want) == 0;
}
//! run histogram grid=4 block=64 check=histogram_is_right (u8[200]:bits, u32[16], u32=200)
kernel void histogram(const u8 *in, u32 *bins, u32 n)
{
    shared u32 local[16];
    u32 i = global_x(), t = thread_x();
    if (t < 16)
        local[t] = 0;
    barrier();
    if (i < n)
        atomic_add(&local[in[i] & 15], 1);
    barrier();
    if (t < 16)
        atomic_add(&bins[t], local[t]);
}

//! run extremes grid=4 block=64 (i32[256]:bits, u64[256]:bits, i32[4], u64[4])
kernel void extremes(const i32 *a, const u64 *b, i32 *out, u64 *wide)
{
    u32 i = global_x();
    atomic_min(&out[0], a[i]);
    atomic_max(&out[1], a[i]);
    atomic_add(&out[2], a[i]);
    atomic_xor(&out[3], a[i]);
    atomic_min(&wide[0], b[i]);
    atomic_max(&wide[1], b[i]);
    atomic_or(&wide[2], b[i]);
    atomic_sub(&wide[3], b[i]);
}

// Each thread gets another ticket; the sum of the tickets and the last counter are known.
static bool tickets_are_distinct(u32 *counter, u32 *seen)
{
    for (u32 i = 0; i < 192; i++)
        if (seen[i] != 1)
            return false;
    return counter[0] == 192;
}
//! run tickets grid=3 block=64 check=tickets_are_distinct (u32[1], u32[192])
kernel void tickets(u32 *counter, u32 *seen)
{
    u32 mine = atomic_add(counter, 1);
    atomic_add(&seen[mine], 1);
}

//! run cas_loop grid=2 block=64 (u32[128]:mod1000, u32[4])
kernel void cas_loop(const u32 *a, u32 *best)
{
    u32 x = a[global_x()], old = atomic_load(&best[0]);
    while (old < x) {
        u32 seen = atomic_cas(&best[0], old, x);
        if (seen == old)
            break;
        old = seen;
    }
}

//! run float_sum_exact grid=4 block=64 (f32[256]:mod100, f32[2], f64[2])
kernel void float_sum_exact(const f32 *a, f32 *out, f64 *wide)
{
    f32 x = a[global_x()]; // whole numbers: the sum is exact in any order
    atomic_add(&out[0], x);
    atomic_max(&out[1], x);
    atomic_add(&wide[0], (f64)x);
    atomic_min(&wide[1], -(f64)x);
}

//! run divergent_atomics grid=2 block=50 (i32[100]:sym9, i32[3])
kernel void divergent_atomics(const i32 *a, i32 *out)
{
    i32 x = a[global_x()];
    if (x > 0)
        atomic_add(&out[0], x);
    else if (x < 0)
        atomic_add(&out[1], -x);
    else
        atomic_add(&out[2], 1);
}

//! run fences block=32 (u32[32]:rand, u32[32])
kernel void fences(const u32 *a, u32 *out)
{
    u32 i = thread_x();
    out[i] = a[i];
    fence_block();
    fence_device();
    fence_system();
    fence_at(order_seq_cst, scope_device);
    out[i] += 1;
}

typedef struct counters {
    u32 hits, misses;
    i64 total;
} counters;
//! run member_atomics grid=2 block=64 (i32[128]:sym50, counters[2])
kernel void member_atomics(const i32 *a, counters *c)
{
    i32 x = a[global_x()];
    counters *mine = &c[block_x()];
    if (x > 10)
        atomic_add(&mine->hits, 1);
    else
        atomic_add(&mine->misses, 1);
    atomic_add(&mine->total, (i64)x);
}

//! run shared_max block=128 (i32[128]:bits, i32[1])
kernel block(128) void shared_max(const i32 *a, i32 *out)
{
    shared i32 best;
    if (thread_x() == 0)
        best = INT_MIN;
    barrier();
    atomic_max(&best, a[thread_x()]);
    barrier();
    if (thread_x() == 0)
        out[0] = best;
}

// A loop around a swap, through a pointer that may be anywhere.
noinline static void xor_anywhere(u64 *p, u64 x)
{
    u64 seen = 0, before;
    do {
        before = seen;
        seen = atomic_cas(p, before, before ^ x);
    } while (seen != before);
}
//! run xored_anywhere block=64 (u64[64]:bits, u64[2])
kernel void xored_anywhere(const u64 *a, u64 *out)
{
    shared u64 near[1];
    u32 n = thread_x();
    if (n == 0)
        near[0] = 5;
    barrier();
    xor_anywhere(n % 3 ? out : near, a[n]);
    barrier();
    if (n == 0)
        out[1] = near[0];
}
