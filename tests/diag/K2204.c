// x = x
#include <kiln/kernel.h>

kernel void run(i32 a, i32 *out)
{
    a = a;
    out[0] = a;
}
