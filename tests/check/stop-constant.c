// K6213: A store through a pointer to constant data.
#include <kiln/kernel.h>

//! run poke grid=1 block=1 (u32[1])
const u32 table[4] = {1, 2, 3, 4};

kernel void poke(u32 *x)
{
    u32 *p = x;
    if (x[0] == 0)
        p = (u32 *)&table[2];
    *p = 5;
    x[0] = table[2];
}
