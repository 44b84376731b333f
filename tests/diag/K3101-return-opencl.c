// flags: --target opencl
// OpenCL's barriers wait for threads that have returned.
#include <kiln/cuda.h>

__global__ void turn(float *x, int n)
{
    if (threadIdx.x >= n)
        return;
    __syncthreads();
    x[threadIdx.x] = 1;
}
