// Functions of CUDA's libraries: the note says what a kernel has instead.
#include <kiln/cuda.h>

__global__ void f(float *x, unsigned long long image)
{
    x[0] = tex1Dfetch(image, 3);
    surf2Dwrite(x[0], image, 1, 2);
    x[1] = curand_uniform(x);
    cudaDeviceSynchronize();
}
