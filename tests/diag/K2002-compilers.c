// A function of another compiler, which cuda.h does not have either.
#include <kiln/cuda.h>

__global__ void round_down(f32 *x)
{
    x[threadIdx.x] = __fadd_rd(x[threadIdx.x], 1.0f);
}
