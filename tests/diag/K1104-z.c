// A block too long along z: an error that gives the limit.
#include <kiln/kernel.h>

kernel block(1, 1, 128) void f(f32 *x)
{
    x[thread_rank()] = 1;
}
