// flags: --tune STEP=x
#include <kiln/kernel.h>

tune(STEP, 1, 2);

kernel void f(f32 *x)
{
    for (u32 k = 0; k < STEP; k++) // the default stays: no warning about a comparison with 0
        x[k] = 1;
}
