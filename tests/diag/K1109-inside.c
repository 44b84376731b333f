// A tune inside a function: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    tune(TILE, 1, 2);
    x[0] = 1;
}
