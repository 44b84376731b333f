// arithmetic on a void pointer
#include <kiln/kernel.h>

kernel void run(void *p, i32 n, f32 *out)
{
    out[0] = *(f32 *)(p + n);
}
