// CUDA's spelling of the thread index
#include <kiln/kernel.h>

kernel void scale(f32 *data)
{
    data[threadIdx.x] = 0;
}
