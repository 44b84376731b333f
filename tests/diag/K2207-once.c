// Told once in a function, and again in the next.
#include <kiln/kernel.h>

kernel void first(const f32 *x, f32 *y, u32 stride)
{
    u32 row = global_y(), col = global_x();
    y[row * stride + col] = x[row * stride];
    y[col * stride] = x[col * stride + row];
}

kernel void second(const f32 *x, f32 *y, u32 stride)
{
    y[global_x() * stride] = x[0];
}
