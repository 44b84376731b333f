// K6201: A loop runs over the end of a local array.
#include <kiln/kernel.h>

//! run digits grid=1 block=32 (u32[32])
kernel void digits(u32 *x)
{
    u32 d[8], sum = 0, n = x[thread_x()];
    for (u32 i = 0; i <= 8; i++) {
        d[i] = n & 15;
        n >>= 4;
    }
    for (u32 i = 0; i < 8; i++)
        sum += d[i];
    x[thread_x()] = sum;
}
