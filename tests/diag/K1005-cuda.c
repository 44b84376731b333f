// Another language's name of a type: an error that names ours.
#include <kiln/kernel.h>

kernel void f(float4 *x)
{
    x[0].x = 1;
}
