// Shuffles, a shared array with 32-bit addresses, barriers, a branch that the whole block takes together.
#include <kiln/kernel.h>

kernel block(256) void row_sum(const f32 *x, f32 *out, u32 cols)
{
    shared f32 part[8];
    f32 sum = 0;
    u64 row = (u64)block_x() * cols;
    for (u32 c = thread_x(); c < cols; c += 256)
        sum += x[row + c];
    for (u32 d = 16; d > 0; d /= 2)
        sum += shuffle_xor(sum, d);
    if (lane() == 0)
        part[warp()] = sum;
    barrier();
    if (cols > 1024 && thread_x() < 8)
        out[block_x() * 8 + thread_x()] = part[thread_x()];
    else if (thread_x() == 0)
        out[block_x() * 8] = part[0] + part[1];
}
