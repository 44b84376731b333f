// Found by fuzz-diff, seed 82536: the next round's value of a scalar was read as one of lanes.
#include <kiln/kernel.h>

#include "open.h"





//! run fuzz_36 grid=2 block=7 (i32[64]:edge, u8[64]:bits, u64[64]:bits, f32[64]:rand, f64[64]:rand, i32=6, u32=4, u32[112]:bits, u64[224], f32[56], f64[56])
kernel block(7) void fuzz_36(const i32 *a0, const u8 *a1, const u64 *a2, const f32 *a3, const f64 *a4, i32 p0, u32 p1, u32 *scratch, u64 *whole, f32 *singles, f64 *reals)
{
    u32 id = global_x(), *mine = scratch + id * 8;
    i32 v21 = a0[id & 63];
    u64 v22 = a2[id & 63];
    f32 v23 = a3[id & 63];
    u64 v24 = block_scan_sum(SHL(u64, (u64)((u16)(TO(i64, v23) + (i16)v22) - a1[(thread_x()) & 63]), v21));
    mine[((u32)((u64)(+(i64)p1))) & 7] = (u32)(a0[(mine[(p1) & 7]) & 63] + (u16)min((i64)(p1 * thread_x()), (207428801ll)));
    shared i64 v25[7];
    barrier();
    v25[thread_x()] = (i64)(v24);
    barrier();
    shared bool v27[7];
    barrier();
    v27[thread_x()] = (bool)(thread_x());
    barrier();
    bool v28 = v27[(p1) % 7];
    u32 v29 = shuffle_up((u32)(thread_x()), p1);
    switch ((mine[((i32)REM(i64, (i64)id, (u16)104)) & 7]) & 7) {
        case 0: {
            u32 v32 = 0;
            do {
                v28 = ((mine[(v29) & 7] >= (u32)((i8)120 | (i16)v29)) ? v28 : v28);
            }
            while (v32++ < 6 && (((f64)v28 <= (2.25)) || (0x100u >= v21)));
        }
    }
    whole[id * 16 + 0] ^= (u64)v21 + 11;
    whole[id * 16 + 4] ^= (u64)v28 + 16;
}

