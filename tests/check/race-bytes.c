// K6204: Two threads write different values to one byte.
#include <kiln/kernel.h>

//! run pack grid=1 block=64 (u8[32])
kernel void pack(u8 *out)
{
    shared u8 bytes[32];
    bytes[thread_x() / 2] = (u8)thread_x();
    barrier();
    if (thread_x() < 32)
        out[thread_x()] = bytes[thread_x()];
}
