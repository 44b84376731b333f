// flags: --tune TILE=8,N=2
// Two choices in one word.
#include <kiln/kernel.h>

tune(TILE, 16, 8, 32);

kernel block(64) void f(f32 *x)
{
    x[0] = (f32)TILE;
}
