// OpenCL's index function, translated
#include <kiln/kernel.h>

kernel void zero(f32 *data)
{
    data[get_global_id(0)] = 0;
}
