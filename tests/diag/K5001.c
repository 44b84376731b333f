// Expect K5001: #pragma unroll on a loop without a constant count: warning.
#include <kiln/kernel.h>

kernel block(64) void scale(f32 *x, u32 n)
{
#pragma unroll
    for (u32 i = 0; i < n; i++)
        x[i * 64 + thread_x()] *= 2;
}
