// printf and assert through the channel.
#include <kiln/kernel.h>

kernel block(32) void channel(const i32 *x)
{
    assert(x[thread_x()] > 0);
    if (x[thread_x()] == 7)
        printf("thread %u: %d %f\n", thread_x(), x[thread_x()], 0.5);
}
