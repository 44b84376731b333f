// A shared array declared with two lengths: an error with both types and both places.
#include <kiln/kernel.h>

shared f32 tile[64];
shared f32 tile[128];

kernel block(64) void f(f32 *x)
{
    tile[thread_x()] = x[thread_x()];
}
