// flags: -Dvalue=oops -Dp=( -Dold=) -Dhandle=1
// Macros and functions above <kiln/cuda.h> and <kiln/io.h>, and a function below: no error.
#define a      2
#define path   4
#define length 5
#define flags  6
static int leading_zeros(int k)
{
    return k;
}
#include <kiln/cuda.h>
#include <kiln/io.h>
#undef a

__device__ int trailing_zeros(void)
{
    return flags + leading_zeros(1);
}

__global__ void k(float *x, int *y)
{
    int i = threadIdx.x;
    x[i] = atomicAdd(x, 1.f) + __ldg(x + i) + __int_as_float(i);
    y[i] = __mul24(i, 3) + __ffs(i) + trailing_zeros() + (int)atomicInc((unsigned *)y, 9);
    io_close(y[0]);
}
