// Expect K3101 for each kernel: why threads may disagree, by what made the condition.
#include <kiln/kernel.h>

kernel block(128) void by_atomic(u32 *x)
{
    if (atomic_add(x, 1) == 3)
        barrier();
}

kernel block(128) void by_exchange(u32 *x)
{
    if (atomic_cas(x, 1, 2) == 1)
        barrier();
}

kernel block(128) void by_shuffle(u32 *x)
{
    u32 v = shuffle_xor(x[thread_x()], 1);
    if (v > 3)
        barrier();
}

kernel block(128) void by_match(u32 *x)
{
    if (warp_match(x[thread_x()]) == 1)
        barrier();
}

kernel block(128) void by_vote(u32 *x)
{
    if (warp_any(x[thread_x()] > 3))
        barrier();
}

kernel block(128) void by_clock(u32 *x)
{
    if ((clock_cycles() & 1) != 0) {
        x[0] = 1;
        barrier();
    }
}

kernel block(128) void by_lane(u32 *x)
{
    x[0] = 2;
    if (lane() < 4)
        barrier();
}
