// a shift by the width
#include <kiln/kernel.h>

kernel void run(u32 *x)
{
    x[0] = x[0] << 32;
}
