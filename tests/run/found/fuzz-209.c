// Found by fuzz-diff, seed 209: a value that moved into registers it was partly in lost its upper
// lanes.
#include <kiln/kernel.h>

#include "open.h"



//! run fuzz_2 grid=2 block=33 (i32[64]:edge, u8[64]:bits, u64[64]:bits, f32[64]:rand, f64[64]:rand, i32=6, u32=11, u32[528]:bits, u64[1056], f32[264], f64[264])
kernel block(33) void fuzz_2(const i32 *a0, const u8 *a1, const u64 *a2, const f32 *a3, const f64 *a4, i32 p0, u32 p1, u32 *scratch, u64 *whole, f32 *singles, f64 *reals)
{
    u32 id = global_x(), *mine = scratch + id * 8;
    f32 v13 = a3[id & 63];
    f32 v14 = (!!((u16)0 <= (i64)p1) ? ((-v13) + (-v13)) : ((v13 - (1e10f)) + ((-0.0f) / v13)));
    if (block_x() == 1) {
        barrier();
        barrier();
                    v14 = ((v13 + (v13 / v13)) * v13);
    }
    singles[id * 4 + 1] = v14;
}

