// K6202: A double in an array of floats.
#include <kiln/kernel.h>

//! run pair grid=1 block=8 (f64[8])
kernel void pair(f64 *out)
{
    shared f32 raw[32];
    raw[thread_x()] = 1;
    barrier();
    out[thread_x()] = *(f64 *)&raw[thread_x() % 4];
}
