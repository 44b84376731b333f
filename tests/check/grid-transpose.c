// K6205: A transposition in place.
#include <kiln/kernel.h>

//! run transpose grid=2,2 block=8,8 (f32[256]:iota)
kernel void transpose(f32 *x)
{
    u32 row = global_y(), col = global_x();
    f32 v = x[row * 16 + col];
    barrier();
    x[col * 16 + row] = v;
}
