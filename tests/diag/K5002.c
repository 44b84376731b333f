// flags: --remarks
// Expect K5002: a local array indexed by a parameter: remark that names the array and the index.
#include <kiln/kernel.h>

kernel block(64) void pick(const f32 *x, f32 *out, u32 k)
{
    f32 part[4];
    for (u32 i = 0; i < 4; i++)
        part[i] = x[i * 64 + thread_x()];
    out[thread_x()] = part[k % 4];
}
