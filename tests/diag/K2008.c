// 300 does not fit a u8
#include <kiln/kernel.h>

kernel void fill(u8 *x)
{
    x[global_x()] = 300;
}
