// an unknown name, with a near one suggested
#include <kiln/kernel.h>

kernel void scale(f32 *data, u32 count)
{
    u32 i = global_x();
    if (i < cuont)
        data[i] = data[i] * 2;
}
