// a pointer stored into an integer
#include <kiln/kernel.h>

kernel void address(f32 *x, u64 *out)
{
    out[0] = x;
}
