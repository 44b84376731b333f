// A call without its closing parenthesis: an error where it was expected, a label at the opening one and a fix-it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = fmin(x[1], 2.0f;
    x[2] = 0;
}
