// an element beyond the end
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    i32 a[4] = {[4] = 1};
    out[0] = a[0];
}
