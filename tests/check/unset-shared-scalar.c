// K6203: Only a thread that does not exist sets the flag.
#include <kiln/kernel.h>

//! run flag grid=1 block=32 (u32[32])
kernel void flag(u32 *out)
{
    shared u32 go;
    if (thread_x() == 32)
        go = 1;
    barrier();
    out[thread_x()] = go;
}
