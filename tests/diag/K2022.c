// a number is indexed
#include <kiln/kernel.h>

kernel void run(f32 x, f32 *out)
{
    out[0] = x[1];
}
