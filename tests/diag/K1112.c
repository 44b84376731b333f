// flags: --tune TILE=24 --tune TILES=16
// Choices that are none: a value that is not in the list, an unknown name.
#include <kiln/kernel.h>

tune(TILE, 16, 8, 32);

kernel block(64) void f(f32 *x)
{
    x[0] = (f32)TILE;
}
