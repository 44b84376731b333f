// K6203: A local array is filled up to n, and read to its end.
#include <kiln/kernel.h>

//! run window grid=1 block=32 (f32[32], u32=6)
kernel void window(f32 *x, u32 n)
{
    f32 w[8], sum = 0;
    for (u32 i = 0; i < n; i++)
        w[i] = (f32)i;
    for (u32 i = 0; i < 8; i++)
        sum += w[i];
    x[thread_x()] = sum;
}
