// flags: --steps=100000
// K6211: A loop whose counter never gets there.
#include <kiln/kernel.h>

//! run spin grid=1 block=32 (u32[32])
kernel void spin(u32 *x)
{
    u32 i = 1;
    while (i != 0x10000)
        i += 2;
    x[thread_x()] = i;
}
