// A pointer moves by integers, with += and -= alone: three errors.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, f32 *y)
{
    x += 1.5f;
    y *= 2;
    x -= true ? 1.0 : 2.0;
    x[0] = y[0];
}
