// Found by fuzz-diff in machine code that was played without a GPU, profile memory, seed 52004600,
// and made smaller by hand: some threads branch into a switch that all of them take the same way.
// The assembler keeps the whole state of the loops in it in uniform registers, which a warp has
// once and which the other threads use, too: they must not run in between. The player let them.
#include <kiln/kernel.h>

static const u32 table[8] = {49, 51, 50, 12, 97, 5, 38, 25};

//! run switch_of_some grid=16 block=32 (i8[4096]:bits, i32[64]:mod16, u8[2048], u32=2, i32=-18)
kernel void switch_of_some(i8 *bytes, const i32 *in, u8 *out, u32 two, i32 which)
{
    u32 i = thread_x(), id = global_x();
    i8 *own = bytes + id * 8;
    shared u8 counts[32][4];
    u8 *mine = counts[i];
    for (u32 k = 0; k < 4; k++)
        mine[k] = (u8)in[(i + k) & 63];
    i32 start = (i32)((mine[0] & which) | 0x28329f70u);
    u8 some[12] = {0};
    u32 times = 0;
    do {
        if (!(start & in[39])) {
            for (u32 k = (u32)(start + in[(i & 31) + 10]) & 15; k < 4; k++)
                mine[k]++;
            some[5 + (((i32)((i64)which * id) % 10) & 1)] = (u8)(some[4] + in[two & 63]);
        } else {
            u32 outer = 0, inner = 0, rounds = 0;
            switch ((u64)(which & 7)) {
            case 0x100000000: mine[1] = 6;
            case 0:
                while (outer++ < 2) {
                    for (; inner < 3; inner++) {
                        break;
                    default:
                        own[two % 8] = (i8)id;
                        while (rounds++ < 3)
                            mine[2]++;
                    }
                    own[two] -=
                        (i8)(table[two ^ 1] != (u32)(i16)in[((u32)(in[two] | in[53]) & 31) + 2]);
                }
            }
        }
    } while (times++ < 5 && (((6 + own[(two + 2) % 8]) & 2) != 0));
    barrier();
    for (u32 k = 0; k < 4; k++)
        out[id * 4 + k] = (u8)(mine[k] + some[5 + k]);
}
