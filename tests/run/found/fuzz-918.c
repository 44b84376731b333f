// Found by fuzz-diff, seed 918: a wide value that moved into registers it was partly in lost its upper
// lanes.
#include <kiln/kernel.h>

#include "open.h"



//! run fuzz_11 grid=2 block=96 (i32[64]:edge, u8[64]:bits, u64[64]:bits, f32[64]:rand, f64[64]:rand, i32=1, u32=2, u32[1536]:bits, u64[3072], f32[768], f64[768])
kernel block(96) void fuzz_11(const i32 *a0, const u8 *a1, const u64 *a2, const f32 *a3, const f64 *a4, i32 p0, u32 p1, u32 *scratch, u64 *whole, f32 *singles, f64 *reals)
{
    u32 id = global_x(), *mine = scratch + id * 8;
    i32 v11 = a0[id & 63];
    u64 v12 = a2[id & 63];
    barrier();
    barrier();
    barrier();
    barrier();
    if (block_x() == 1) {
                --v11;
        if (p0 > 3) {
            v12 |= (u64)popcount(mine[((i32)((354849296) + 0x7fffu)) & 7]);
        }
    }
    whole[id * 16 + 0] ^= (u64)v11 + 11;
    whole[id * 16 + 1] ^= (u64)v12 + 12;
}

