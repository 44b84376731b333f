// A cluster of 32 blocks: an error at the mark.
#include <kiln/kernel.h>

kernel block(64) cluster(32) void f(f32 *x)
{
    x[thread_rank()] = 1;
}
