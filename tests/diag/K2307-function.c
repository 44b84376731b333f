// A pointer to a function as a kernel parameter.
#include <kiln/kernel.h>

kernel void f(f32 *x, f32 (*op)(f32))
{
    x[0] = op(x[1]);
}
