// flags: --tune TILE=0
// 0 is no value of this tune.
#include <kiln/kernel.h>

tune(TILE, 16, 64);

kernel block(64) void f(f32 *x)
{
    x[thread_x()] = TILE;
}
