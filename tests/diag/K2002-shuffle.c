// CUDA's shuffle, translated with its arguments
#include <kiln/kernel.h>

kernel void butterfly(f32 *data)
{
    f32 v = data[thread_x()];
    data[thread_x()] = v + __shfl_xor_sync(0xffffffff, v, 16);
}
