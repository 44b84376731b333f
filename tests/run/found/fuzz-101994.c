// Found by fuzz-diff, seed 101994: stale bytes in the slot of a condition reached into the
// neighbouring lanes.
#include <kiln/kernel.h>

#include "open.h"

//! run fuzz_0 grid=2 block=7 (i32[64]:edge, u8[64]:bits, u64[64]:bits, f32[64]:rand, f64[64]:rand, i32=1, u32=8, u32[112]:bits, u64[224], f32[56], f64[56])
kernel void fuzz_0(const i32 *a0, const u8 *a1, const u64 *a2, const f32 *a3, const f64 *a4, i32 p0,
                   u32 p1, u32 *scratch, u64 *whole, f32 *singles, f64 *reals)
{
    u32 id = global_x(), *mine = scratch + id * 8;
    i32 v10 = a0[id & 63];
    u64 v11 = a2[id & 63];
    union {
        u64 l;
        u32 w[2];
        u16 h[4];
        u8 b[8];
        i8 s[8];
    } v13 = {.l = (u64)((i16)2 - (u8)(0x7fu + (u16)0))};
    barrier();
    barrier();
    switch (((u32)DIV(u64, (u64)(v10 | (u16)1), (u16)63)) & 7) {
    case 0:
    case 1: {
        if (((mine[(p0)&7] >= (u32)rotate_left(v11, 0x2u)) &&
             (((100.0f) <= (3.0f)) || (false == id)))) {
            v13.l = (a2[((u32)(+(u16)(id - (u8)20))) & 63] *
                     (i8)((u8)leading_zeros((u64)(thread_x() - (u8)1)) - p1));
        }
    }
    }
    whole[id * 16 + 6] ^= (u64)v13.s[0] + 17;
}
