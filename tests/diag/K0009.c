// An f32 literal above the largest f32: an error with a note about INFINITY.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1e39f;
}
