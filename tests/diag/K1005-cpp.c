// What C++ writes before a name, and the types of CUDA's libraries.
#include <kiln/cuda.h>

__global__ void f(float *x, cudaTextureObject_t image)
{
    using scalar = float;
    namespace cg = cooperative_groups;
    curandState state;
    x[1] = 2;
}
