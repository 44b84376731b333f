// K6204: Thread 0 computes, the others do not wait.
#include <kiln/kernel.h>

//! run mean grid=1 block=64 (f32[64], f32[64]:iota)
kernel void mean(f32 *out, const f32 *x)
{
    shared f32 m;
    if (thread_x() == 0) {
        f32 sum = 0;
        for (u32 i = 0; i < 64; i++)
            sum += x[i];
        m = sum / 64;
    }
    out[thread_x()] = x[thread_x()] - m;
}
