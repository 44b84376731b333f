// Atomics on global and shared memory, with order and scope; fences.
#include <kiln/kernel.h>

kernel block(64) void count(const u32 *x, u32 *bins, f32 *total, u32 n)
{
    shared u32 own[16];
    u32 i = global_x(), t = thread_x();
    if (t < 16)
        own[t] = 0;
    barrier();
    if (i < n) {
        atomic_add(&own[x[i] & 15], 1u);
        atomic_add(total, 1.0f);
    }
    barrier();
    if (t < 16)
        atomic_max(&bins[t], own[t]);
}
