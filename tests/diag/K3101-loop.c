// Expect K3101: block_sum in a loop that threads leave in different rounds.
#include <kiln/kernel.h>

kernel block(128) void sums(f32 *x, u32 n)
{
    for (u32 i = thread_x(); i < n; i += 128)
        x[i] = block_sum(x[i]);
}
