// A pragma unroll before an assignment: a warning.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    #pragma unroll
    x[0] = 1;
    for (u32 i = 1; i < 4; i++)
        x[i] = 1;
}
