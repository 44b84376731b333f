// a vector is no condition
#include <kiln/kernel.h>

kernel void run(const f32x2 *x, f32 *out)
{
    if (x[0])
        out[0] = 1;
}
