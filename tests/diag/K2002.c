// an unknown function, with a near one suggested
#include <kiln/kernel.h>

kernel void root(f32 *data)
{
    data[global_x()] = sqrtt(data[global_x()]);
}
