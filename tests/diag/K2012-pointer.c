// an integer used as a pointer
#include <kiln/kernel.h>

kernel void poke(u64 place)
{
    f32 *x = place;
    x[0] = 1;
}
