// Bad counts and an unknown pragma of Kiln: an error for each.
#pragma kiln magic
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
#pragma unroll n
    for (u32 i = 0; i < 4; i++)
        x[i] = 1;
#pragma unroll 0
    for (u32 i = 0; i < 4; i++)
        x[i] = 1;
}
