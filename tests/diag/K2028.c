// sqrt does not take an integer variable
#include <kiln/kernel.h>

kernel void run(u32 n, f32 *out)
{
    out[0] = sqrt(n);
}
