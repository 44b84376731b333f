// A program's own functions with the names of builtins, which Kiln's CUDA names are made of: no error.
#include <kiln/cuda.h>

__device__ unsigned shuffle(unsigned a)
{
    return a + 1;
}

__device__ int popcount(void)
{
    return 3;
}

__device__ float clamp(float x)
{
    return x < 0 ? 0 : x;
}

__global__ void k(float *x, unsigned *y)
{
    int i = threadIdx.x;
    x[i] = clamp(x[i]);
    y[i] = __shfl_sync(~0u, shuffle(i), 3) + __popc(i) + popcount();
}
