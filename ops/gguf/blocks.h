// Blocks of GGUF files in registers. BLOCK is the format's number in files (gguf.def), ALIGN what the
// addresses of all blocks are a multiple of: 1, 2, 4, 8 or 16.
//
// A unit is 16 elements of a block whose bits lie in the same bytes: RUNS runs of RUN neighbouring
// elements, APART elements apart. An element is scale * q + offset, with one scale and one offset for
// a run. q is a small integer times a power of two, which the scale takes back: where the numbers are
// signed, a level's bits are moved to the top of a byte, so that the byte is signed as it stands.
// scale * q has at most 24 bits: an element has one rounding, and without an offset none.
#include <kiln/pack.h>

tune(ALIGN, 2, 1, 4, 8, 16);
#ifndef BLOCK
#    define BLOCK 2
#endif

#if BLOCK == 2
enum { SIZE = 32, BYTES = 18, RUNS = 2, APART = 16, HAS_OFFSET = 0 };
#elif BLOCK == 3
enum { SIZE = 32, BYTES = 20, RUNS = 2, APART = 16, HAS_OFFSET = 1 };
#elif BLOCK == 6
enum { SIZE = 32, BYTES = 22, RUNS = 2, APART = 16, HAS_OFFSET = 0 };
#elif BLOCK == 7
enum { SIZE = 32, BYTES = 24, RUNS = 2, APART = 16, HAS_OFFSET = 1 };
#elif BLOCK == 8
enum { SIZE = 32, BYTES = 34, RUNS = 1, APART = 16, HAS_OFFSET = 0 };
#elif BLOCK == 10
enum { SIZE = 256, BYTES = 84, RUNS = 4, APART = 32, HAS_OFFSET = 1 };
#elif BLOCK == 11
enum { SIZE = 256, BYTES = 110, RUNS = 4, APART = 32, HAS_OFFSET = 0 };
#elif BLOCK == 12
enum { SIZE = 256, BYTES = 144, RUNS = 2, APART = 32, HAS_OFFSET = 1 };
#elif BLOCK == 13
enum { SIZE = 256, BYTES = 176, RUNS = 2, APART = 32, HAS_OFFSET = 1 };
#elif BLOCK == 14
enum { SIZE = 256, BYTES = 210, RUNS = 4, APART = 32, HAS_OFFSET = 0 };
#endif

enum { UNIT = 16, RUN = UNIT / RUNS, UNITS = SIZE / UNIT };

#define EACH(i, count) _Pragma("unroll") for (u32 i = 0; i < (count); i++)

typedef struct unit {
    f32 q[UNIT]; // run after run
    f32 scale[RUNS], offset[RUNS];
} unit;

// Where the first run of a unit begins in its block.
static inline u32 unit_first(u32 part)
{
    return RUNS == 1 ? part * 16 : SIZE == 32 ? part * 8 : RUNS == 2 ? part / 4 * 64 + part % 4 * 8 : part / 8 * 128 + part % 8 * 4;
}

// --- loads
// The 16 bits at an even place of a block.
static inline u32 short_at(const u8 *b, u32 at)
{
    if (ALIGN >= 2)
        return *(const u16 *)(b + at);
    return b[at] | (u32)b[at + 1] << 8;
}

static inline f32 half_at(const u8 *b, u32 at)
{
    return f32(f16_from_bits((u16)short_at(b, at)));
}

// `count` words from a place that is a multiple of four bytes in formats whose size is one.
static inline void words_at(u32 *to, const u8 *b, u32 at, u32 count)
{
    if (ALIGN >= 8 && count == 2) {
        u32x2 two = *(const u32x2 *)(b + at);
        to[0] = two.x;
        to[1] = two.y;
    } else if (ALIGN >= 4) {
        EACH(i, count)
            to[i] = *(const u32 *)(b + at + i * 4);
    } else {
        EACH(i, count)
            to[i] = short_at(b, at + i * 4) | short_at(b, at + i * 4 + 2) << 16;
    }
}

// --- bytes to numbers
static inline void signed_bytes(f32 *q, u32 word)
{
    EACH(i, 4)
        q[i] = (f32)(i8)(u8)(word >> i * 8);
}

static inline void unsigned_bytes(f32 *q, u32 word)
{
    EACH(i, 4)
        q[i] = (f32)(u8)(word >> i * 8);
}

// Bits 0 to 3 as the lowest bits of four bytes.
static inline u32 spread(u32 bits)
{
    return (bits & 15u) * 0x00204081u & 0x01010101u;
}

// The scale and the minimum of group j of eight, 6 bits each in 12 bytes.
static inline void six_bits(const u8 *s, u32 j, u32 *scale, u32 *least)
{
    u32 low = s[j & 3], middle = s[4 + (j & 3)], high = s[8 + (j & 3)];
    *scale = j < 4 ? low & 63u : (high & 15u) | low >> 6 << 4;
    *least = j < 4 ? middle & 63u : high >> 4 | middle >> 6 << 4;
}

// --- units
static inline unit unit_of(const u8 *b, u32 part)
{
    unit u;
    EACH(r, RUNS)
        u.offset[r] = 0;
#if BLOCK == 2 || BLOCK == 3 || BLOCK == 6 || BLOCK == 7
    enum { FIVE = BLOCK >= 6, AT = (HAS_OFFSET ? 4 : 2) + (FIVE ? 4 : 0) };
    u32 w[2];
    words_at(w, b, AT + part * 8, 2);
    u32 high[2] = {0, 0}; // bits of the low and the high nibbles' elements
    if (FIVE) {
        high[0] = b[AT - 4 + part];
        high[1] = b[AT - 2 + part];
    }
    f32 d = half_at(b, 0);
    EACH(r, 2) {
        u.scale[r] = d * (HAS_OFFSET ? 1.0f : FIVE ? 0.125f : 0.0625f);
        if (HAS_OFFSET)
            u.offset[r] = half_at(b, 2);
        EACH(i, 2) {
            u32 nibbles = (r == 0 ? w[i] : w[i] >> 4) & 0x0f0f0f0fu, top = FIVE ? spread(high[r] >> i * 4) : 0;
            if (HAS_OFFSET)
                unsigned_bytes(u.q + r * 8 + i * 4, nibbles | top << 4);
            else if (FIVE) // 8 times the level less 16
                signed_bytes(u.q + r * 8 + i * 4, nibbles << 3 | (top ^ 0x01010101u) << 7);
            else // 16 times the level less 8
                signed_bytes(u.q + r * 8 + i * 4, (nibbles ^ 0x08080808u) << 4);
        }
    }
#elif BLOCK == 8
    u32 w[4];
    words_at(w, b, 2 + part * 16, 4);
    u.scale[0] = half_at(b, 0);
    EACH(i, 4)
        signed_bytes(u.q + i * 4, w[i]);
#elif BLOCK == 12 || BLOCK == 13
    enum { FIVE = BLOCK == 13, AT = FIVE ? 48 : 16 };
    u32 w[2], h[2] = {0, 0}, chunk = part / 4, byte = part % 4 * 8;
    words_at(w, b, AT + chunk * 32 + byte, 2);
    if (FIVE)
        words_at(h, b, 16 + byte, 2);
    f32 d = half_at(b, 0), least = half_at(b, 2);
    EACH(r, 2) {
        u32 scale, low;
        six_bits(b + 4, chunk * 2 + r, &scale, &low);
        u.scale[r] = d * (f32)scale;
        u.offset[r] = -(least * (f32)low);
        EACH(i, 2) {
            u32 nibbles = (r == 0 ? w[i] : w[i] >> 4) & 0x0f0f0f0fu;
            if (FIVE)
                nibbles |= (h[i] >> (chunk * 2 + r) & 0x01010101u) << 4;
            unsigned_bytes(u.q + r * 8 + i * 4, nibbles);
        }
    }
#elif BLOCK == 14
    u32 low[2], high[1], half = part / 8, byte = part % 8 * 4;
    words_at(low, b, half * 64 + byte, 1);
    words_at(low + 1, b, half * 64 + 32 + byte, 1);
    words_at(high, b, 128 + half * 32 + byte, 1);
    f32 d = half_at(b, 208) * 0.25f;
    EACH(r, 4) { // 4 times the level less 32
        u32 nibbles = (r < 2 ? low[r % 2] : low[r % 2] >> 4) & 0x0f0f0f0fu, top = high[0] >> r * 2 & 0x03030303u;
        u.scale[r] = d * (f32)(i8)b[192 + half * 8 + r * 2 + part % 8 / 4];
        signed_bytes(u.q + r * 4, (nibbles << 2 | top << 6) ^ 0x80808080u);
    }
#elif BLOCK == 10
    u32 w[1], half = part / 8, byte = part % 8 * 4;
    words_at(w, b, 16 + half * 32 + byte, 1);
    f32 d = half_at(b, 80), least = half_at(b, 82);
    EACH(r, 4) {
        u32 both = b[half * 8 + r * 2 + part % 8 / 4];
        u.scale[r] = d * (f32)(both & 15u);
        u.offset[r] = -(least * (f32)(both >> 4));
        unsigned_bytes(u.q + r * 4, w[0] >> r * 2 & 0x03030303u);
    }
#elif BLOCK == 11
    u32 w[1], mask[1], half = part / 8, byte = part % 8 * 4;
    words_at(mask, b, byte, 1);
    words_at(w, b, 32 + half * 32 + byte, 1);
    f32 d = half_at(b, 108) * 0.03125f;
    EACH(r, 4) { // 32 times the level less 4
        u32 group = r * 2 + part % 8 / 4; // of eight
        u32 low = (u32)b[96 + group] >> half * 4 & 15u, top = (u32)b[104 + group % 4] >> (half * 2 + group / 4) * 2 & 3u;
        u.scale[r] = d * (f32)((i32)(low | top << 4) - 32);
        signed_bytes(u.q + r * 4, (w[0] >> r * 2 & 0x03030303u) << 5 | ((mask[0] >> (half * 4 + r) & 0x01010101u) ^ 0x01010101u) << 7);
    }
#endif
    return u;
}

// Element i of a unit.
static inline f32 unit_get(const unit *u, u32 i)
{
    f32 scale = u->scale[i / RUN];
    return HAS_OFFSET ? fma(scale, u->q[i], u->offset[i / RUN]) : scale * u->q[i];
}
