// A declaration under an if without braces: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    if (n)
        f32 a = 2;
    x[0] = 1;
}
