// An array that is too large is told once: what uses it is not told again.
#include <kiln/kernel.h>

kernel block(32) void f(f32 *x)
{
    f32 large[1ull << 40];
    large[0] = 1.0f;
    x[0] = large[1];
}
