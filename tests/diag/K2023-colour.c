// a vector member by its colour name
#include <kiln/kernel.h>

kernel void run(const f32x4 *p, f32 *out)
{
    out[0] = p[0].r;
}
