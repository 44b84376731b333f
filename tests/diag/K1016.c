// A GNU statement expression: one error, no cascade from inside it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = ({ f32 t = x[1]; t * t; });
}
