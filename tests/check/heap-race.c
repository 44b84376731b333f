// K6204: the threads of a block write a block of the heap without a barrier before they read it.
#include <stdlib.h>

#include <kiln/kernel.h>

//! run share grid=1 block=64 (u32[64])
kernel void share(u32 *out)
{
    shared u32 *common;
    if (thread_x() == 0)
        common = calloc(64, 4);
    barrier();
    u32 *words = common;
    if (words) {
        words[thread_x()] = thread_x();
        out[thread_x()] = words[63 - thread_x()];
    }
    barrier();
    if (thread_x() == 0)
        free(common);
}
