// a host variable in a kernel, with its declaration
#include <kiln/kernel.h>

static i32 limit = 100;

kernel void run(i32 *out)
{
    out[0] = limit;
}
