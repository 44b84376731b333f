// A parameter of type void: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, void v)
{
    x[0] = 1;
}
