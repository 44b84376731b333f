// Found by fuzz-diff: own machine code widened steps that 32 bits do not hold.
#include <kiln/kernel.h>

#include "open.h"




//! run fuzz_2044187 grid=3,1,1 block=16,1,1 (u64x2[192]:bits, u64[768]:bits, u64x2[192]:bits, i32[64]:mod16, u64[384], u32=2, i32=2)
kernel block(16, 1, 1) void fuzz_2044187(u64x2 *b0, u64 *b1, u64x2 *b2, const i32 *in, u64 *outs, u32 p0, i32 p1)
{
    u32 rank = thread_rank(), id = ((block_z() * grid_dim_y() + block_y()) * grid_dim_x() + block_x()) * block_threads() + rank;
    u64 *out = outs + id * 8;
    u32 v8 = (u32)((i32)((u32)rank << 22 << 11));
    out[0] ^= (u64)v8 + 4;
}

