// K6203: The smallest so far starts as nothing.
#include <kiln/kernel.h>

//! run least grid=1 block=32 (f32[32], f32[64]:iota)
kernel void least(f32 *out, const f32 *in)
{
    f32 best;
    for (u32 i = thread_x(); i < 64; i += 32)
        if (i == thread_x() && i > 3)
            best = in[i];
        else if (in[i] < best)
            best = in[i];
    out[thread_x()] = best;
}
