// A Cyrillic letter that looks like a Latin one: an error with a fix-it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 sсale = x[0];
    x[1] = 1.0f;
}
