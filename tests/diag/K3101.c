// Expect K3101: a barrier under a condition on thread_x(): error with both ends labelled.
#include <kiln/kernel.h>

kernel block(128) void sum_first(f32 *x, u32 n)
{
    shared f32 part[128];
    if (thread_x() < n) {
        part[thread_x()] = x[thread_x()];
        barrier();
    }
    x[thread_x()] = part[0];
}
