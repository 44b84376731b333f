// A macro defined twice, differently, under C's rules: a warning, and the later one counts. What a
// header of C defines replaces the file's silently.
#pragma kiln conversions(c)
#define TILE 16
#define TILE 32
#define RAND_MAX 99
#include <stdlib.h>

#include <kiln/kernel.h>
_Static_assert(TILE == 32 && RAND_MAX == 2147483647, "which definition counts");

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = TILE;
}
