// Found by fuzz-diff, seed 736: a shuffle from a lane that is not there was taken to give all threads the
// same.
#include <kiln/kernel.h>

#include "open.h"




//! run fuzz_29 grid=2 block=40 (i32[64]:edge, u8[64]:bits, u64[64]:bits, f32[64]:rand, f64[64]:rand, i32=7, u32=0, u32[640]:bits, u64[1280], f32[320], f64[320])
kernel void fuzz_29(const i32 *a0, const u8 *a1, const u64 *a2, const f32 *a3, const f64 *a4, i32 p0, u32 p1, u32 *scratch, u64 *whole, f32 *singles, f64 *reals)
{
    u32 id = global_x(), *mine = scratch + id * 8;
    barrier();
    barrier();
    f64 v31 = shuffle((f64)((f64)thread_x()), (u32)(a2[(p1) & 63] ^ (i16)(+(i16)114)));
    barrier();
    barrier();
    reals[id * 4 + 0] = v31;
}

