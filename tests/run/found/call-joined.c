// Found by call_joined-diff on an H200, profile call, seed 5166: a loop below a call, with a count of its own in every thread. Where the assembler does not join the
// threads that parted before, its counter in a uniform register is counted by all of them (docs/assembler.md).
#include <kiln/kernel.h>

#include "open.h"

static bool f0(u32 fuel, i32 a, u8 b, u32 *box);
typedef f64 p0(u32, u32, u64, u32 *);
typedef bool p1(u32, i32, u8, u32 *);
static p1 *const t1[4] = {f0, f0, f0, f0};

static bool f0(u32 fuel, i32 a, u8 b, u32 *box)
{
    u32 own[4] = {fuel, box[0], 7, (u32)513};
    for (u32 v5 = 0; v5 < 2 && fuel > 0; v5++) {
        if (((f32)b == sqrt((f32)fuel))) break;
        bool v6 = f0(fuel - 1, (i32)((u64)((i8)a)), b, own);
        for (u64 v7 = 0; v7 < ((a) & 7); v7 += 3) {
            own[(fuel) & 3] = (u32)(-(u16)v7);
        }
        box[2] += (u32)fuel;
        own[3] ^= (u32)(i64)((i64)((i8)((u16)b - (u16)127) ^ (u64)rotate_left(fuel, fuel)));
    }
    u32 *v8 = &own[((u32)DIV(i32, b, b)) & 3];
    own[((u32)(!(u8)(b & (i16)104))) & 3] *= 0x5d7bba8u;
    box[own[1] & 3] += own[2] + own[3];
    return (!(true < (u32)a) ? false : true);
}

//! run call_joined grid=2 block=64 (i32[64]:edge, f64[64]:rand, u64[1024], f32[512], f64[512])
kernel void call_joined(const i32 *a0, const f64 *a4, u64 *whole, f32 *singles, f64 *reals)
{
    u32 id = global_x();
    i32 x = a0[id & 63];
    f64 y = a4[id & 63];
    u32 own[4] = {id, 1, 2, 3};
    if ((((-(f32)x) > ((f32)x - (1e30f))) && !((f32)id >= (f32)y))) {
        own[(x) & 3] &= own[(id) & 3];
        if (((u8)x != (u8)((u64)REM(i32, (u16)x, TO(i8, y)) + TO(u16, (1.0f))))) {
            x += (i32)((i32)(TO(u8, y) ^ (u32)(!(i8)id)) | (i64)((i16)(+x) & ((x <= (u8)0) ? (i8)-127 : (i8)x)));
            x = (i32)((u32)(+(128ll)) | TO(u16, ((-7.125f) + (1.0f))));
        }
    }
    bool v16 = ((bool)(id) ? f0 : f0)(id % 2, (i32)(own[(0x3fu) & 3] + rotate_right(0xfffffff8u, id)), (u8)((u64)(TO(u8, y) + x) - (i32)-8), own);
    whole[id * 8 + 0] = (u64)v16;
    x ^= a0[((i32)REM(u32, DIV(u32, (u8)v16, own[(x) & 3]), (i8)DIV(u64, (u64)REM(i64, (-891465297ll), (u8)id), (u16)min(id, id)))) & 63];
    bool v17 = t1[(a0[(min(x, x)) & 63]) & 3](own[0] % 2, (~(u8)x), (u8)((u64)x), own);
    whole[id * 8 + 1] = (u64)v17;
    y += (y * (max((0.5), y) / y));
    if (((y * (-0.0)) < y)) {
        bool v18 = f0(own[0] % 2, (i32)REM(i64, x, (i64)x), (u8)((i16)((i16)104 * (63ll)) - (790889727ll)), own);
        whole[id * 8 + 2] = (u64)v18;
    }
    whole[id * 8 + 4] = own[0];
    whole[id * 8 + 5] = own[1];
    whole[id * 8 + 6] = own[2];
    whole[id * 8 + 7] = own[3];
}

