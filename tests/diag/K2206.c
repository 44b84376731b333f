// an assignment as a condition; the fix compares
#include <kiln/kernel.h>

kernel void run(i32 a, i32 *out)
{
    if (a = 3)
        out[0] = a;
}
