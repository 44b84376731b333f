// K6204: Two buffers, but both halves use the same one.
#include <kiln/kernel.h>

//! run pipe grid=1 block=64 (f32[64], f32[256]:iota)
kernel void pipe(f32 *out, const f32 *x)
{
    shared f32 tile[2][64];
    f32 sum = 0;
    u32 t = thread_x();
    tile[0][t] = x[t];
    barrier();
    for (u32 i = 0; i < 3; i++) {
        tile[i % 2][t] = x[(i + 1) * 64 + t];
        sum += tile[i % 2][63 - t];
        barrier();
    }
    out[t] = sum;
}
