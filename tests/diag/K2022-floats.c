// a float is no index
#include <kiln/kernel.h>

kernel void run(const f32 *x, f32 t, f32 *out)
{
    out[0] = x[t];
}
