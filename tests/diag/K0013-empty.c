// An empty character constant: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u8 c = '';
    x[0] = c;
}
