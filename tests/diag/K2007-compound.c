// a compound assignment whose right side is wider
#include <kiln/kernel.h>

kernel void count(u8 *x, i32 by)
{
    x[global_x()] += by;
}
