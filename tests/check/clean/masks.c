// Reductions of the lanes of a mask read no other lanes, which may have returned.
#include <kiln/cuda.h>

//! run returned block=72 (u32[72]:mod19, i32[72], i32=70)
__global__ void returned(const u32 *x, i32 *out, i32 n)
{
    i32 t = (i32)threadIdx.x;
    if (t >= n)
        return;
    u32 same = __match_any_sync(__activemask(), x[t] & 3);
    out[t] = __reduce_add_sync(same, (i32)x[t]) + __reduce_max_sync(same, (i32)x[t]);
}

//! run partial block=40 (u32[40]:mod19, u32[40])
__global__ void partial(const u32 *x, u32 *out)
{
    u32 t = threadIdx.x, same = __match_any_sync(0xffffffff, x[t] & 3);
    out[t] = __reduce_xor_sync(same, x[t]);
}
