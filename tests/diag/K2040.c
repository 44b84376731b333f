// a static assertion that does not hold
#include <kiln/kernel.h>

tune(TILE, 48, 64);
static_assert(TILE % 32 == 0, "a tile is whole warps");

kernel void run(i32 *out)
{
    out[0] = TILE;
}
