// C++'s '::' and CUDA's '<<<' are named, and the advice is that of the namespace.
#include <kiln/cuda.h>

__device__ int size_of(cg::thread_block block, int n)
{
    return n;
}

__global__ void f(float *x, std::size_t n)
{
    x[0] = 1;
}

__global__ void g(float *x)
{
    cg::thread_block block = cg::this_thread_block();
    x[0] = std::max(x[1], x[2]);
    x[1] = fmaxf(std::sqrt(x[1]), ::fabsf(x[2]));
    std::uint32_t bits = 1;
    __shared__ cuda::barrier<1> ready;
    typedef cub::BlockReduce<float, 256> reduce;
    wmma::fragment<wmma::matrix_a, 16, 16, 16> a;
    f<<<1, 32>>>(x, 3);
    x[2] = x[0] > 0 ? x[1] : my::own(x);
    x[3] = (float)size_of(1, 2);
next: x[4] = 1;
    float3 v;
    v = {1, 2, 3};
    x[5] = v.x;
}
