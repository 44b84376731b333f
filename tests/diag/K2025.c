// a member of a number
#include <kiln/kernel.h>

kernel void run(f32 a, f32 *out)
{
    out[0] = a.x;
}
