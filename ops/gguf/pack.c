// Numbers to blocks: a warp has a piece of 256 elements (pack.h), which it brings to shared memory. A lane finds the range of
// a group; then lanes make levels and bytes in turn.
#include <kiln/pack.h>
#include "sizes.h"

#ifndef T
#    define T     f32
#    define BLOCK 2
#    define BYTES 18
#endif

static inline u32 half_of(f32 x)
{
    return bits_f16(to_f16(x));
}

static inline f32 half_value(u32 bits)
{
    return f32(f16_from_bits((u16)bits));
}

#include "pack.h"

enum { WARPS = 4, THREADS = WARPS * 32, GROUP = BLOCK == 10 || BLOCK == 11 || BLOCK == 14 ? 16 : 32, LONG = BLOCK >= 10 };

typedef struct piece {
    f32 x[PIECE];
    u8 levels[PIECE];
    range groups[MOST_GROUPS];
    codes c;
} piece;

kernel block(THREADS) void gguf_pack(const T *restrict x, u8 *restrict w, struct sizes s)
{
    shared piece pieces[WARPS];
    piece *p = &pieces[warp()];
    u64 in_row = (s.units + 15) / 16; // pieces
    for (u64 i = (u64)block_x() * WARPS + warp(); i < s.n * in_row; i += (u64)grid_dim_x() * WARPS) {
        u64 row = i / in_row, first = i % in_row * PIECE;
        u32 count = (u32)min(s.units * 16 - first, (u64)PIECE);
        const T *from = x + (i64)row * s.x_row;
        for (u32 e = lane(); e < count; e += 32)
            p->x[e] = pack_get(T, from[(i64)(first + e) * s.x_step]);
        warp_sync();
        if (lane() < count / GROUP)
            p->groups[lane()] = pack_range(BLOCK, p->x + lane() * GROUP);
        warp_sync();
        if (LONG) {
            if (lane() == 0)
                pack_codes(BLOCK, p->groups, &p->c);
            warp_sync();
        }
        for (u32 e = lane(); e < count; e += 32)
            p->levels[e] = pack_level(BLOCK, p->x[e], p->groups[e / GROUP], LONG ? p->c.step[e / GROUP] : 0.0f,
                                      LONG ? p->c.base[e / GROUP] : 0.0f);
        warp_sync();
        u8 *to = w + (i64)row * s.w_row + (LONG ? first / 256 : first / 32) * BYTES;
        u32 bytes = LONG ? BYTES : count / 32 * BYTES;
        for (u32 at = lane(); at < bytes; at += 32) {
            u32 b = at / BYTES;
            to[at] = LONG ? pack_long_byte(BLOCK, p->levels, &p->c, at) : pack_short_byte(BLOCK, p->levels + b * 32, p->groups[b], at - b * BYTES);
        }
        warp_sync();
    }
}
