// A macro defined twice with different texts: an error that shows both.
#define TILE 16
#define SAME(a) (a + 1)
#define SAME(a) (a + 1)
#define TILE 32
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = TILE;
}
