// Found by fuzz-diff on an H200, profile call, seed 5166, and made smaller by hand: threads leave a
// loop of a function that calls itself one after the other. The driver's compiler keeps the loop's
// counter in a uniform register, which a warp has once, and lets the threads that have left go on,
// which change it (docs/assembler.md).
#include <kiln/kernel.h>

static u32 count_down(u32 fuel, u32 a, u32 *box)
{
    u32 own[4] = {fuel, box[0], 7, 513};
    for (u32 round = 0; round < 2 && fuel > 0; round++) {
        u32 got = count_down(fuel - 1, a + round, own);
        for (u64 k = 0; k < (a & 7); k += 3)
            own[fuel & 3] = got - (u32)k;
        box[2] += fuel;
        own[3] ^= a;
    }
    own[a & 1] *= 0x5d7bba8u;
    box[own[1] & 3] += own[2] + own[3];
    return own[a & 3];
}

//! run call_counted grid=2 block=64 (u32[128]:bits, u32[640])
kernel block(64) void call_counted(const u32 *x, u32 *out)
{
    u32 id = global_x(), own[4] = {id, 1, 2, 3};
    out[id * 5] = count_down(x[id] % 4, x[id] >> 3, own);
    for (u32 k = 0; k < 4; k++)
        out[id * 5 + 1 + k] = own[k];
}
