// A character constant without its closing quote: an error with a fix-it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u8 c = 'a;
    x[0] = c;
}
