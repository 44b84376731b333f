// out[row] = softmax(x[row]). One block per row.
#include <kiln/kernel.h>

kernel block(256) void softmax(const f32 *x, f32 *out, u32 rows, u32 cols)
{
    if (block_x() >= rows)
        return;
    u64 row = (u64)block_x() * cols;
    f32 largest = -INFINITY;
    for (u32 c = thread_x(); c < cols; c += 256)
        largest = max(largest, x[row + c]);
    largest = block_max(largest);
    f32 sum = 0;
    for (u32 c = thread_x(); c < cols; c += 256)
        sum += exp(x[row + c] - largest);
    sum = block_sum(sum);
    for (u32 c = thread_x(); c < cols; c += 256)
        out[row + c] = exp(x[row + c] - largest) / sum;
}
