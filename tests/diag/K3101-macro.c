// Both ends of a barrier in a macro, and a macro of a header of Kiln's own, which is not shown.
#include <kiln/cuda.h>

#define GUARDED(n, work) \
    if (i < n) {         \
        work;            \
        __syncthreads(); \
    }

__global__ void k(float *x, int n)
{
    int i = threadIdx.x;
    GUARDED(n, x[i] = 1)
}
