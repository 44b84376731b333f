// K6204: The tiles of a matrix product are used before all of them are there.
#include <kiln/kernel.h>

//! run mul grid=1 block=16,16 (f32[256], f32[256]:rand, f32[256]:rand)
kernel void mul(f32 *c, const f32 *a, const f32 *b)
{
    shared f32 as[16][16], bs[16][16];
    u32 x = thread_x(), y = thread_y();
    as[y][x] = a[y * 16 + x];
    bs[y][x] = b[y * 16 + x];
    f32 sum = 0;
    for (u32 k = 0; k < 16; k++)
        sum += as[y][k] * bs[k][x];
    c[y * 16 + x] = sum;
}
