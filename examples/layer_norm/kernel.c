// out[row] = (x[row] - mean) / sqrt(variance + eps) * gain + bias. One block per row.
#include <kiln/kernel.h>

kernel block(256) void layer_norm(const f32 *x, const f32 *gain, const f32 *bias, f32 *out, u32 rows, u32 cols, f32 eps)
{
    if (block_x() >= rows)
        return;
    u64 row = (u64)block_x() * cols;
    f32 sum = 0;
    for (u32 c = thread_x(); c < cols; c += 256)
        sum += x[row + c];
    f32 mean = block_sum(sum) / (f32)cols;
    f32 squares = 0;
    for (u32 c = thread_x(); c < cols; c += 256) {
        f32 d = x[row + c] - mean;
        squares += d * d;
    }
    f32 scale = rsqrt(block_sum(squares) / (f32)cols + eps);
    for (u32 c = thread_x(); c < cols; c += 256)
        out[row + c] = (x[row + c] - mean) * scale * gain[c] + bias[c];
}
