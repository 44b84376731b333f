// flags: --all
// K6204: With --all both races are told.
#include <kiln/kernel.h>

//! run two grid=1 block=64 (f32[64]:iota)
kernel void two(f32 *x)
{
    shared f32 a[64], b[64];
    u32 t = thread_x();
    a[t] = x[t];
    b[t] = a[63 - t];
    x[t] = b[(t + 32) % 64];
}
