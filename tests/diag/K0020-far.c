// A directive that resembles none: an error without a guess.
#frobnicate 12
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
