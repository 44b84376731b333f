// a compound assignment on bf16
#include <kiln/kernel.h>

kernel void scale(bf16 *a, f32 by)
{
    a[global_x()] *= by;
}
