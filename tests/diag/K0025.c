// An #error with an apostrophe in its text: an error with that text.
#include <kiln/kernel.h>

#error this file doesn't work without TILE
kernel block(64) void f(f32 *x)
{
    x[0] = 1;
}
