// a const variable without a value
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    const i32 n;
    out[0] = n;
}
