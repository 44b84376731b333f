// K6218: two threads that share a block both free it.
#include <stdlib.h>

#include <kiln/kernel.h>

//! run share grid=1 block=64 (u32[64])
kernel void share(u32 *out)
{
    shared u32 *common;
    if (thread_x() == 0)
        common = malloc(256);
    barrier();
    if (common)
        common[thread_x()] = thread_x();
    barrier();
    out[thread_x()] = common ? common[63 - thread_x()] : 0;
    barrier();
    if (thread_x() % 32 == 0)
        free(common);
}
