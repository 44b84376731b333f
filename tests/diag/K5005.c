// flags: --remarks
// Expect K5005: a tile read by columns: remark on the 32 lanes in one bank.
#include <kiln/kernel.h>

kernel block(32) void transpose(const f32 *x, f32 *out)
{
    shared f32 tile[32][32];
    for (u32 r = 0; r < 32; r++)
        tile[r][thread_x()] = x[r * 32 + thread_x()];
    barrier();
    for (u32 r = 0; r < 32; r++)
        out[r * 32 + thread_x()] = tile[thread_x()][r];
}
