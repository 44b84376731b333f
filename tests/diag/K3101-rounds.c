// The number of rounds until a thread returns differs between threads, though each round has one.
#include <kiln/kernel.h>

static u32 steps_of(u32 n)
{
    for (u32 count = 0;; count++) {
        if (n <= 1)
            return count;
        n = n & 1 ? 3 * n + 1 : n / 2;
    }
}

kernel block(64) void f(u32 *x)
{
    if (steps_of(x[thread_x()]) > 3)
        barrier();
    x[thread_x()] = 1;
}
