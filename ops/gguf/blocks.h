// Blocks of GGUF files in registers. BLOCK is the format's number in files (gguf.def), ALIGN what the
// addresses of all blocks are a multiple of: 1, 2, 4, 8 or 16.
//
// A unit is 16 elements of a block whose bits lie in the same bytes: RUNS runs of RUN neighbouring
// elements, APART elements apart. An element is scale * (q - LIFT) + offset, with one scale and one
// offset for a run. q is 128 plus a level times a power of two below 128, which the scale takes back:
// the level's bits are the upper ones of such a number's fraction, so that a byte becomes a float by
// standing in the right place of a word. Bytes of q8_0 are converted; LIFT is 0 there.
// scale * (q - LIFT) has at most 24 bits: an element has one rounding, and without an offset none.
#include <kiln/pack.h>

tune(ALIGN, 2, 1, 4, 8, 16);
#ifndef BLOCK
#    define BLOCK 2
#endif

#if BLOCK == 2
enum { SIZE = 32, BYTES = 18, RUNS = 2, APART = 16, HAS_OFFSET = 0, LIFT = 128 + 64 };
#elif BLOCK == 3
enum { SIZE = 32, BYTES = 20, RUNS = 2, APART = 16, HAS_OFFSET = 1, LIFT = 128 };
#elif BLOCK == 6
enum { SIZE = 32, BYTES = 22, RUNS = 2, APART = 16, HAS_OFFSET = 0, LIFT = 128 + 64 };
#elif BLOCK == 7
enum { SIZE = 32, BYTES = 24, RUNS = 2, APART = 16, HAS_OFFSET = 1, LIFT = 128 };
#elif BLOCK == 8
enum { SIZE = 32, BYTES = 34, RUNS = 1, APART = 16, HAS_OFFSET = 0, LIFT = 0 };
#elif BLOCK == 10
enum { SIZE = 256, BYTES = 84, RUNS = 4, APART = 32, HAS_OFFSET = 1, LIFT = 128 };
#elif BLOCK == 11
enum { SIZE = 256, BYTES = 110, RUNS = 4, APART = 32, HAS_OFFSET = 0, LIFT = 128 + 64 };
#elif BLOCK == 12
enum { SIZE = 256, BYTES = 144, RUNS = 2, APART = 32, HAS_OFFSET = 1, LIFT = 128 };
#elif BLOCK == 13
enum { SIZE = 256, BYTES = 176, RUNS = 2, APART = 32, HAS_OFFSET = 1, LIFT = 128 };
#elif BLOCK == 14
enum { SIZE = 256, BYTES = 210, RUNS = 4, APART = 32, HAS_OFFSET = 0, LIFT = 128 + 64 };
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

// Bytes below 128, as 128 more.
static inline void lifted_bytes(f32 *q, u32 word)
{
    EACH(i, 4)
        q[i] = f32_from_bits(permute_bytes(word, 0x43000000u, 0x7044u | i << 8)); // 0x43, the byte, 0, 0
}

// The lower (0) or upper (1) nibbles of four bytes, `shift` bits up in theirs.
static inline u32 nibbles_at(u32 word, u32 which, u32 shift)
{
    return (which == 0 ? word << shift : word >> (4 - shift)) & 0x0f0f0f0fu << shift;
}

// Bits 0 to 3 as the lowest bits of four bytes.
static inline u32 spread(u32 bits)
{
    return (bits & 15u) * 0x00204081u & 0x01010101u;
}

// --- units
typedef struct raw { // the bytes of a unit as they are loaded; each format has some of them
    u32 q[4], high[2]; // levels, and their upper bits
    u32 s[3];          // scales
    u32 d;             // the f16 of the block
} raw;

static inline raw raw_none(void)
{
    return (raw){{0, 0, 0, 0}, {0, 0}, {0, 0, 0}, 0};
}

static inline f32 half_of(u32 bits)
{
    return f32(f16_from_bits((u16)bits));
}

#if BLOCK == 2 || BLOCK == 3 || BLOCK == 6 || BLOCK == 7
enum { FIVE = BLOCK >= 6, HEAD = HAS_OFFSET ? 4 : 2 };

static inline raw raw_of(const u8 *b, u32 part)
{
    raw x = raw_none();
    words_at(x.q, b, HEAD + (FIVE ? 4 : 0) + part * 8, 2);
    x.d = short_at(b, 0);
    if (HAS_OFFSET)
        x.s[0] = short_at(b, 2);
    if (FIVE) {
        x.high[0] = b[HEAD + part];
        x.high[1] = b[HEAD + 2 + part];
    }
    return x;
}

static inline unit unit_of(raw x, u32 part)
{
    unit u;
    EACH(r, 2) {
        u.scale[r] = half_of(x.d) * (FIVE ? 0.25f : 0.125f);
        u.offset[r] = HAS_OFFSET ? half_of(x.s[0]) : 0.0f;
        EACH(i, 2) {
            if (FIVE) // 4 times the level
                lifted_bytes(u.q + r * 8 + i * 4, nibbles_at(x.q[i], r, 2) | spread(x.high[r] >> i * 4) << 6);
            else // 8 times the level
                lifted_bytes(u.q + r * 8 + i * 4, nibbles_at(x.q[i], r, 3));
        }
    }
    return u;
}
#elif BLOCK == 8
static inline raw raw_of(const u8 *b, u32 part)
{
    raw x = raw_none();
    words_at(x.q, b, 2 + part * 16, 4);
    x.d = short_at(b, 0);
    return x;
}

static inline unit unit_of(raw x, u32 part)
{
    unit u;
    u.scale[0] = half_of(x.d);
    u.offset[0] = 0;
    EACH(i, 4)
        signed_bytes(u.q + i * 4, x.q[i]);
    return u;
}
#elif BLOCK == 12 || BLOCK == 13
enum { FIVE = BLOCK == 13 };

// Scales and minima are 6 bits each: of groups 0 to 3 in bytes 0 to 3 and 4 to 7, whose upper bits are those of
// groups 4 to 7; their lower ones are the nibbles of bytes 8 to 11. A unit has two neighbouring groups.
static inline raw raw_of(const u8 *b, u32 part)
{
    raw x = raw_none();
    u32 chunk = part / 4, byte = part % 4 * 8;
    words_at(x.q, b, (FIVE ? 48 : 16) + chunk * 32 + byte, 2);
    if (FIVE)
        words_at(x.high, b, 16 + byte, 2);
    EACH(i, 3)
        x.s[i] = short_at(b, 4 + i * 4 + chunk % 2 * 2);
    words_at(&x.d, b, 0, 1);
    return x;
}

static inline unit unit_of(raw x, u32 part)
{
    unit u;
    u32 chunk = part / 4;
    bool is_low = chunk < 2;
    u32 scales = is_low ? x.s[0] & 0x3f3fu : (x.s[2] & 0x0f0fu) | (x.s[0] >> 2 & 0x3030u);
    u32 lows = is_low ? x.s[1] & 0x3f3fu : (x.s[2] >> 4 & 0x0f0fu) | (x.s[1] >> 2 & 0x3030u);
    f32 d = half_of(x.d), least = half_of(x.d >> 16);
    EACH(r, 2) {
        u.scale[r] = d * (f32)(scales >> r * 8 & 255u) * (FIVE ? 0.25f : 0.125f);
        u.offset[r] = -(least * (f32)(lows >> r * 8 & 255u));
        EACH(i, 2) {
            if (FIVE) // 4 times the level
                lifted_bytes(u.q + r * 8 + i * 4, nibbles_at(x.q[i], r, 2) | (x.high[i] >> (chunk * 2 + r) & 0x01010101u) << 6);
            else // 8 times the level
                lifted_bytes(u.q + r * 8 + i * 4, nibbles_at(x.q[i], r, 3));
        }
    }
    return u;
}
#elif BLOCK == 14
static inline raw raw_of(const u8 *b, u32 part)
{
    raw x = raw_none();
    u32 half = part / 8, byte = part % 8 * 4;
    words_at(x.q, b, half * 64 + byte, 1);
    words_at(x.q + 1, b, half * 64 + 32 + byte, 1);
    words_at(x.high, b, 128 + half * 32 + byte, 1);
    words_at(x.s, b, 192 + half * 8, 2);
    x.d = short_at(b, 208);
    return x;
}

static inline unit unit_of(raw x, u32 part)
{
    unit u;
    f32 d = half_of(x.d) * 0.5f;
    EACH(r, 4) { // 2 times the level
        u.scale[r] = d * (f32)(i8)(u8)(x.s[r / 2] >> (r % 2 * 16 + part % 8 / 4 * 8));
        u.offset[r] = 0;
        lifted_bytes(u.q + r * 4, nibbles_at(x.q[r % 2], r / 2, 1) | (x.high[0] >> r * 2 & 0x03030303u) << 5);
    }
    return u;
}
#elif BLOCK == 10
static inline raw raw_of(const u8 *b, u32 part)
{
    raw x = raw_none();
    u32 half = part / 8;
    words_at(x.q, b, 16 + half * 32 + part % 8 * 4, 1);
    words_at(x.s, b, half * 8, 2);
    words_at(&x.d, b, 80, 1);
    return x;
}

static inline unit unit_of(raw x, u32 part)
{
    unit u;
    f32 d = half_of(x.d), least = half_of(x.d >> 16);
    EACH(r, 4) {
        u32 both = x.s[r / 2] >> (r % 2 * 16 + part % 8 / 4 * 8);
        u.scale[r] = d * (f32)(both & 15u) * 0.03125f;
        u.offset[r] = -(least * (f32)(both >> 4 & 15u));
        lifted_bytes(u.q + r * 4, (x.q[0] >> r * 2 & 0x03030303u) << 5); // 32 times the level
    }
    return u;
}
#elif BLOCK == 11
// Scales are 6 bits: the lower ones are nibbles of eight bytes, the upper ones pairs of bits of four.
static inline raw raw_of(const u8 *b, u32 part)
{
    raw x = raw_none();
    u32 half = part / 8, byte = part % 8 * 4;
    words_at(x.high, b, byte, 1);
    words_at(x.q, b, 32 + half * 32 + byte, 1);
    words_at(x.s, b, 96, 3);
    x.d = short_at(b, 108);
    return x;
}

static inline unit unit_of(raw x, u32 part)
{
    unit u;
    u32 half = part / 8, odd = part % 8 / 4;
    f32 d = half_of(x.d) * 0.0625f;
    EACH(r, 4) { // 16 times the level
        u32 low = x.s[r / 2] >> (r % 2 * 16 + odd * 8 + half * 4) & 15u;
        u32 top = x.s[2] >> (r % 2 * 16 + odd * 8 + half * 4 + r / 2 * 2) & 3u;
        u.scale[r] = d * (f32)((i32)(low | top << 4) - 32);
        u.offset[r] = 0;
        u32 top_bits = x.high[0] >> (half * 4 + r) & 0x01010101u;
        lifted_bytes(u.q + r * 4, (x.q[0] >> r * 2 & 0x03030303u) << 4 | top_bits << 6);
    }
    return u;
}
#endif

// Element i of a unit.
static inline f32 unit_get(const unit *u, u32 i)
{
    f32 scale = u->scale[i / RUN], q = u->q[i] - (f32)LIFT;
    return HAS_OFFSET ? fma(scale, q, u->offset[i / RUN]) : scale * q;
}
