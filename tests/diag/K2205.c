// a comparison as a statement; the fix assigns
#include <kiln/kernel.h>

kernel void run(i32 a, i32 *out)
{
    a == 3;
    out[0] = a;
}
