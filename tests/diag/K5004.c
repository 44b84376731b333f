// flags: --remarks
// Expect K5004: threads read rows of 1024 floats: remark on the distance.
#include <kiln/kernel.h>

kernel block(64) void column_sums(const f32 *x, f32 *out)
{
    f32 sum = 0;
    for (u64 k = 0; k < 1024; k++)
        sum += x[(u64)thread_x() * 1024 + k];
    out[thread_x()] = sum;
}
