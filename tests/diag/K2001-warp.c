// a name without any near one
#include <kiln/kernel.h>

kernel void fill(f32 *data)
{
    data[0] = quotient;
}
