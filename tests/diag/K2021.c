// an integer is dereferenced
#include <kiln/kernel.h>

kernel void run(i32 n, i32 *out)
{
    out[0] = *n;
}
