// Steps of a simulation: each launch takes a while, and the host has other things to do meanwhile.
#include <kiln/kernel.h>

kernel block(128) void step(f32 *x, u32 n, u32 rounds)
{
    u32 i = global_x();
    if (i >= n)
        return;
    f32 v = x[i];
    for (u32 k = 0; k < rounds; k++)
        v = v * 0.5f + 1.0f;
    x[i] = v;
}
