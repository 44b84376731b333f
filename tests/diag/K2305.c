// a local array without a size
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    i32 a[];
    out[0] = 1;
}
