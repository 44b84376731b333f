// A character of more than one byte: an error with a fix-it that writes its number.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u32 c = 'é';
    x[0] = c == 1 ? 1.0f : 2.0f;
}
