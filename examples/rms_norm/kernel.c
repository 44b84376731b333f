// out[row] = x[row] / sqrt(mean(x[row]^2) + eps) * gain. One block per row.
#include <kiln/kernel.h>

kernel block(256) void rms_norm(const f32 *x, const f32 *gain, f32 *out, u32 rows, u32 cols, f32 eps)
{
    if (block_x() >= rows)
        return;
    u64 row = (u64)block_x() * cols;
    f32 sum = 0;
    for (u32 c = thread_x(); c < cols; c += 256)
        sum += x[row + c] * x[row + c];
    f32 scale = rsqrt(block_sum(sum) / (f32)cols + eps);
    for (u32 c = thread_x(); c < cols; c += 256)
        out[row + c] = x[row + c] * scale * gain[c];
}
