// An i32 variable beside an f32 is not converted silently: a cast is asked for.
#include <kiln/kernel.h>

kernel void scale(f32 *out, i32 factor)
{
    out[thread_x()] = out[thread_x()] * factor;
}
