// A type without a name: a warning.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32;
    x[0] = 1;
}
