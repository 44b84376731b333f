// Correct kernels that look dangerous: ordered by fences, locks, warp_sync, or harmless. Nothing must be found in them.
#include <kiln/kernel.h>

//! run last_block grid=8 block=64 (f32[8], u32[1], f32[1], f32[512]:iota)
kernel void last_block(f32 *part, u32 *done, f32 *out, const f32 *x)
{
    shared u32 count;
    f32 sum = block_sum(x[global_x()]);
    if (thread_x() == 0) {
        part[block_x()] = sum;
        fence_device();
        count = atomic_add(done, 1u);
    }
    barrier();
    if (count == grid_dim_x() - 1 && thread_x() == 0) {
        f32 total = 0;
        for (u32 i = 0; i < grid_dim_x(); i++)
            total += part[i];
        out[0] = total;
    }
}

//! run chained grid=8 block=32 (u32[8], u32[256], u32[256]:mod7)
kernel void chained(volatile u32 *flag, u32 *sum, const u32 *x)
{
    u32 b = block_x(), t = thread_x();
    if (t == 0 && b > 0)
        while (flag[b - 1] == 0)
            ;
    barrier();
    fence_device();
    u32 before = b > 0 ? sum[(b - 1) * 32 + t] : 0;
    sum[b * 32 + t] = before + x[b * 32 + t];
    fence_device();
    barrier();
    if (t == 0)
        flag[b] = 1;
}

//! run released grid=4 block=32 (u32[4], u32[4])
kernel void released(u32 *data, u32 *flag)
{
    u32 b = block_x();
    if (thread_x() != 0)
        return;
    if (b > 0)
        while (atomic_load_at(&flag[b - 1], order_acquire, scope_device) == 0)
            ;
    data[b] = b > 0 ? data[b - 1] + 1 : 7;
    atomic_store_at(&flag[b], 1u, order_release, scope_device);
}

//! run same_value grid=4 block=64 (u32[1], u32[256]:iota)
kernel void same_value(u32 *found, const u32 *x)
{
    shared bool any;
    any = false;
    barrier();
    if (x[global_x()] % 5 == 0)
        any = true;
    barrier();
    if (any)
        found[0] = 1;
}

//! run in_warp block=64 (u32[64]:iota)
kernel void in_warp(u32 *x)
{
    shared u32 s[64];
    u32 t = thread_x(), base = t / 32 * 32;
    s[t] = x[t];
    warp_sync();
    u32 v = s[base + (t + 1) % 32];
    warp_sync();
    s[t] = v;
    warp_sync();
    x[t] = s[base + (t + 5) % 32];
}

//! run locked block=128 (u32[1])
kernel void locked(u32 *out)
{
    shared u32 lock, total;
    if (thread_x() == 0) {
        lock = 0;
        total = 0;
    }
    barrier();
    if (lane() == 0) {
        while (atomic_cas(&lock, 0u, 1u) != 0)
            ;
        fence_block();
        total += warp();
        fence_block();
        atomic_swap(&lock, 0u);
    }
    barrier();
    if (thread_x() == 0)
        out[0] = total;
}

typedef struct item {
    u32 key, value, unused;
} item;

//! run partly_set block=32 (u32[32]:iota)
kernel void partly_set(u32 *x)
{
    shared item items[32];
    item mine;
    mine.key = x[thread_x()];
    mine.value = mine.key * 3;
    items[thread_x()] = mine;
    barrier();
    item other = items[31 - thread_x()];
    x[thread_x()] = other.key + other.value;
}

//! run bytes block=64 (u8[64], u16[64])
kernel void bytes(u8 *a, u16 *b)
{
    shared u8 s[64];
    s[thread_x()] = (u8)thread_x();
    a[thread_x()] = s[thread_x()];
    b[thread_x()] = s[thread_x()];
}

//! run loops block=64 (f32[64], f32[256]:iota)
kernel void loops(f32 *out, const f32 *x)
{
    shared f32 tile[2][64];
    f32 sum = 0, last;
    u32 t = thread_x();
    tile[0][t] = x[t];
    barrier();
    for (u32 i = 0; i < 4; i++) {
        if (i < 3)
            tile[(i + 1) % 2][t] = x[(i + 1) * 64 + t];
        last = tile[i % 2][63 - t];
        sum += last;
        barrier();
    }
    out[t] = sum + last;
}
