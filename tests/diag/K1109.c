// A tune without values: an error that shows the form.
#include <kiln/kernel.h>

tune(TILE);

kernel void f(f32 *x)
{
    x[0] = 1;
}
