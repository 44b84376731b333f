// one argument too many for a function of the file
#include <kiln/kernel.h>

static f32 square(f32 x)
{
    return x * x;
}

kernel void run(f32 *out)
{
    out[0] = square(2.0f, 3.0f);
}
