// A complex variable: an error that names f32x2.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    float _Complex z = 0;
    x[0] = 1;
}
