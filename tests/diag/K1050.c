// A default label right before the closing brace: an error with a fix-it that adds a semicolon.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    switch (n) {
    case 1: x[0] = 1; break;
    default:
    }
}
