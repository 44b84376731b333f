// Found by fuzz-diff on an H200, profile call, seed 1001007: threads part at the end of a recursion while others pass on the address of
// their array. The driver's linker compiles functions so that a uniform register, which a warp has once, holds half of that address across
// the branch; the threads that leave change it, and the others read memory that is not theirs (docs/assembler.md).
#include <kiln/kernel.h>

#include "open.h"

static f32 f0(u32 fuel, i64 a, u64 b, u32 *box);
typedef f32 p0(u32, i32, f32, u32 *);
typedef f32 p1(u32, i64, u64, u32 *);
static p1 *const t1[4] = {f0, f0, f0, f0};

static f32 f0(u32 fuel, i64 a, u64 b, u32 *box)
{
    u32 own[4] = {fuel, box[0], 7, (u32)326};
    for (u32 v5 = 0; v5 < 2 && fuel > 0; v5++) {
        if (((u32)(a - a) >= (u64)((i32)a))) continue;
        f32 v6 = t1[(((fuel != fuel) ? (u32)(!(u32)b) : (u32)a)) & 3](fuel - 1, (i64)((u16)(!0xffffffffffffff00ull) + (i32)31), ((0xffffffc0u > (i8)b) ? b : (u64)(!a)), own);
        own[1] ^= (u32)(i64)((i64)DIV(i32, (i8)(-(u8)b), (i32)fuel));
    }
    box[own[1] & 3] += own[2] + own[3];
    return (f32)((u64)((i16)SHR(i32, (u8)b, (i64)0) + (u16)b));
}

//! run call_parted grid=2 block=33 (i32[64]:edge, f64[64]:rand, u64[528], f32[264], f64[264])
kernel void call_parted(const i32 *a0, const f64 *a4, u64 *whole, f32 *singles, f64 *reals)
{
    u32 id = global_x();
    i32 x = a0[id & 63];
    f64 y = a4[id & 63];
    u32 own[4] = {id, 1, 2, 3};
    if (((TO(i16, y) + (i16)127) < reverse_bits((u64)id))) {
        f32 v13 = ((mul_high(x, x) > (i16)id) ? f0 : f0)(id % 4, (i64)(TO(u16, (f32)x) + ((3) + (i8)93)), (u64)(+(u32)(TO(u16, y) ^ (u8)x)), own);
        singles[id * 4 + 0] = v13;
    }
}

