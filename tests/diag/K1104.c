// A block of 2048 threads: an error at the mark.
#include <kiln/kernel.h>

kernel block(64, 32) void f(f32 *x)
{
    x[thread_rank()] = 1;
}
