// A matrix load that only some lanes reach.
#include <kiln/kernel.h>

shared u16 tile[16][16];

kernel block(32) void f(u32 *out)
{
    u32 words[4] = {0, 0, 0, 0};
    if (lane() < 16)
        ldmatrix(words, &tile[lane() % 16][0]);
    out[lane()] = words[0];
}
