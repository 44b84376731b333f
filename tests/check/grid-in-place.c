// K6205: A stencil in place: a block reads what its neighbour writes.
#include <kiln/kernel.h>

//! run heat grid=4 block=32 (f32[129]:iota)
kernel void heat(f32 *x)
{
    u32 i = global_x();
    f32 v = (x[i] + x[i + 1]) / 2;
    barrier();
    x[i] = v;
}
