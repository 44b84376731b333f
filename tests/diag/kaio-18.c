// A barrier under a condition that depends on the thread: both ends are labelled.
#include <kiln/kernel.h>

kernel void half(f32 *a, u32 n)
{
    shared f32 tile[64];
    if (thread_x() < n) {
        tile[thread_x()] = a[thread_x()];
        barrier();
        a[thread_x()] = tile[0];
    }
}
