// flags: --remarks
// Lanes that meet in one bank: accesses of eight bytes are done half a warp at a time.
#include <kiln/kernel.h>

kernel block(32) void columns(const f64 *x, f64 *out, u32 n)
{
    shared f64 tile[32][32];
    tile[0][thread_x()] = x[thread_x()];
    barrier();
    out[thread_x()] = tile[thread_x()][n];
}

kernel block(32) void pairs(const f32 *x, f32 *out, u32 n)
{
    shared f32 tile[32][2];
    tile[0][thread_x() & 1] = x[thread_x()];
    barrier();
    out[thread_x()] = tile[thread_x()][n & 1];
}
