// Two characters in one constant: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u32 tag = 'ab';
    x[0] = tag == 1 ? 1.0f : 2.0f;
}
