// A shared parameter: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, shared f32 *tile)
{
    x[0] = tile[0];
}
