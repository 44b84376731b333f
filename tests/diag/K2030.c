// a function used as a value
#include <kiln/kernel.h>

static f32 square(f32 x)
{
    return x * x;
}

kernel void run(u64 *out)
{
    out[0] = (u64)square;
}
