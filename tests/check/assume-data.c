// K6208: A promise about the data.
#include <kiln/kernel.h>

//! run bin grid=1 block=32 (u32[16], u32[32]:iota)
kernel void bin(u32 *out, const u32 *x)
{
    u32 v = x[thread_x()];
    assume(v < 16);
    atomic_add(&out[v % 16], 1u);
}
