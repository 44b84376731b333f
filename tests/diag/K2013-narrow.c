// nothing is cast to a storage float: the fix has the function, and f32 on the way
#include <kiln/kernel.h>

kernel void narrow(const f32 *x, const f64 *d, const i32 *n, f16 *h, bf16 *b)
{
    u32 i = global_x();
    h[i] = (f16)x[i];
    b[i] = (bf16)(x[i] * 2);
    h[i + 1] = (f16)d[i];
    b[i + 1] = (bf16)n[i];
}

kernel void widen(const bf16 *x, f64 *y)
{
    y[global_x()] = (f64)x[global_x()];
}
