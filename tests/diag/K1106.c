// min_blocks of zero: an error that gives the range.
#include <kiln/kernel.h>

kernel block(64) min_blocks(0) void f(f32 *x)
{
    x[thread_rank()] = 1;
}
