// Forty stars before a name and sixty more: an error about the type.
#include <kiln/kernel.h>

kernel void f(f32 *x)
{
    f32 ****************************************************************************************************p = 0;
    x[0] = 1;
}
