// row * stride in 32 bits; the fix computes in 64
#include <kiln/kernel.h>

kernel void copy(const f32 *x, f32 *y, u32 stride)
{
    u32 row = global_y(), col = global_x();
    y[col] = x[row * stride + col];
}
