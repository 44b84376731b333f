// flags: --all
// K6201: With --all every place is told once, with how often.
#include <kiln/kernel.h>

//! run both grid=2 block=64 (f32[100], f32[90])
kernel void both(f32 *x, const f32 *y)
{
    u32 i = global_x();
    f32 v = y[i];
    x[i] = v + 1;
}
