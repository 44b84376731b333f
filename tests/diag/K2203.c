// a division by the constant 0
#include <kiln/kernel.h>

enum { STEP = 0 };

kernel void run(i32 *x)
{
    x[0] = x[0] / STEP;
}
