// Words of CUDA and C++ have an answer of their own, and no fix that makes it worse.
#include <kiln/kernel.h>

__global__ void k(f32 *x)
{
    x[0] = 1;
}

kernel block(32) void wide(u64 *x)
{
    __int128 b = 2;
    x[0] = 1;
}

template <typename T> kernel void made(T *x)
{
    x[0] = 1;
}
