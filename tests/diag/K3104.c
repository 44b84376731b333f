// Returning before a barrier: a warning with <kiln/cuda.h>. A barrier in a branch stays an error.
#include <kiln/cuda.h>

__global__ void turn(float *x, int n)
{
    __shared__ float tile[1024];
    int i = threadIdx.x;
    if (i >= n)
        return;
    tile[i] = x[i];
    __syncthreads();
    x[i] = tile[n - 1 - i];
    if (x[i] > 0)
        __syncthreads();
}

__global__ void warps(float *x, int n)
{
    if (threadIdx.x >= n)
        return;
    for (int k = 0; k < n; k++) {
        if (x[k] > 1 && threadIdx.x == k)
            return;
        x[k] += __shfl_xor_sync(~0u, x[k], 1);
    }
}
