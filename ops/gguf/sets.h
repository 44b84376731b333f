// Sets of a row's elements as a lane of mma has them, decoded: what few.c and stream.c share. A set is
// what four lanes take at a time; 256 elements have SETS of them.
//
// x lies in shared memory as granules of twice four neighbours, 0 2 1 3: [set][granule][row of x][lane of four].
#ifndef KILN_GGUF_SETS_H
#define KILN_GGUF_SETS_H

#include "blocks.h"

#ifndef T
#    define T   f16
#    define OUT f16
#endif
#ifdef IN_bf16
#    define MULTIPLY mma_bf16
#    define LIFTED   0x43004300u // 128 + a level below 128, twice
#    define ONES     0x3f803f80u
#else
#    define MULTIPLY mma_f16
#    define LIFTED   0x64006400u // 1024 + a level
#    define ONES     0x3c003c00u
#endif
#if BLOCK < 10
#    define IS_SMALL // blocks of 32 elements
#endif
#if BLOCK == 10 || BLOCK == 11 || BLOCK == 14
enum { GROUP_STEPS = 1 }; // of mma with one scale: groups of 16
#else
enum { GROUP_STEPS = 2 };
#endif
#if BLOCK == 2
enum { MIDDLE = 8 }; // the level that counts 0
#elif BLOCK == 6
enum { MIDDLE = 16 };
#elif BLOCK == 8
enum { MIDDLE = 128 };
#elif BLOCK == 11
enum { MIDDLE = 4 };
#elif BLOCK == 14
enum { MIDDLE = 32 };
#else
enum { MIDDLE = 0 };
#endif

// With RAW_LEVELS (a macro of the file that includes this) levels are multiplied as their bits are, and who adds up the products takes off
// what they are too large by: OVER times the sum of x. Of f16 they are those of a number below 2^-14, the level times 2^-24, which
// scales take back, or, of small blocks, the end of all sums (RAISED); upper nibbles count 16 times as much, and where they share a scale with lower ones (IS_SPLIT) step 1 has
// sums of its own. Bytes of q8_0 have one bit too many for bf16.
#ifndef RAW_LEVELS
enum { OVER = 0, IS_SPLIT = 0 };
#    define SHRUNK 1.0f
#    define UPPER  1.0f
#elif defined(IN_bf16)
enum { OVER = BLOCK == 8 ? 0 : 128 + MIDDLE, IS_SPLIT = 0 };
#    define SHRUNK 1.0f
#    define UPPER  1.0f
#else
enum { OVER = MIDDLE, IS_SPLIT = BLOCK == 2 || BLOCK == 3 };
#    define SHRUNK 0x1p24f
#    define UPPER  0.0625f // of what an upper nibble counts
#endif

enum {
    STAGE = 256,
    SETS = SIZE == 32 ? 8 : 4,
    STEPS = SIZE == 32 ? 2 : 4, // of a set
    GRANULES = STEPS / 2,
    GROUPS = STEPS / GROUP_STEPS
};

#ifdef IS_SMALL
#    define RAISED SHRUNK
#else
#    define RAISED 1.0f
#endif

// --- levels to pairs
static inline u32 low_nibbles(u32 word)
{
    return word & 0x0f0f0f0fu;
}

static inline u32 high_nibbles(u32 word)
{
    return word >> 4 & 0x0f0f0f0fu;
}

// Four levels as two pairs of x's type: 0 and 2, 1 and 3. What is MIDDLE becomes 0, but for RAW_LEVELS.
static inline void put_levels(u32 *pairs, u32 levels, u32 lift)
{
    EACH(i, 2) {
        u32 bits = (i == 0 ? levels & 0x00ff00ffu : permute_bytes(levels, 0, 0x4341u)) | lift;
#if defined(RAW_LEVELS) && !(defined(IN_bf16) && BLOCK == 8)
        pairs[i] = bits;
#elif defined(IN_bf16)
        if (MIDDLE < 128) {
            bf16x2 v = sub2((bf16x2){bf16_from_bits((u16)bits), bf16_from_bits((u16)(bits >> 16))},
                            to_bf16x2(128.0f + MIDDLE, 128.0f + MIDDLE));
            pairs[i] = bits_bf16(v.x) | (u32)bits_bf16(v.y) << 16;
        } else { // bytes have one bit more
            f32 base = 8388608.0f + MIDDLE;
            pairs[i] = pack_bf16(f32_from_bits(permute_bytes(levels, 0x4b000000u, 0x7440u | i)) - base,
                                 f32_from_bits(permute_bytes(levels, 0x4b000000u, 0x7442u | i)) - base);
        }
#else
        f16x2 v = sub2((f16x2){f16_from_bits((u16)bits), f16_from_bits((u16)(bits >> 16))},
                       to_f16x2(1024.0f + MIDDLE, 1024.0f + MIDDLE));
        pairs[i] = bits_f16(v.x) | (u32)bits_f16(v.y) << 16;
#endif
    }
}

// The nibbles of four bytes, lower ones and upper ones: two pairs of each, as put_levels has them.
static inline void put_nibbles(u32 *low, u32 *high, u32 word, u32 lift)
{
#ifdef IN_bf16
    put_levels(low, low_nibbles(word), lift);
    put_levels(high, high_nibbles(word), lift);
#elif defined(RAW_LEVELS)
    EACH(i, 2) {
        low[i] = word >> i * 8 & 0x000f000fu;
        high[i] = word >> i * 8 & 0x00f000f0u;
    }
#else
    EACH(i, 2) { // an upper nibble counts 16 times as much
        u32 under = (word >> i * 8 & 0x000f000fu) | lift, over = (word >> i * 8 & 0x00f000f0u) | lift;
        f16x2 a = sub2((f16x2){f16_from_bits((u16)under), f16_from_bits((u16)(under >> 16))},
                       to_f16x2(1024.0f + MIDDLE, 1024.0f + MIDDLE));
        f16x2 b = fma2((f16x2){f16_from_bits((u16)over), f16_from_bits((u16)(over >> 16))}, to_f16x2(0.0625f, 0.0625f),
                       to_f16x2(-64.0f - MIDDLE, -64.0f - MIDDLE));
        low[i] = bits_f16(a.x) | (u32)bits_f16(a.y) << 16;
        high[i] = bits_f16(b.x) | (u32)bits_f16(b.y) << 16;
    }
#endif
}

// d times byte `which` of a word, less `middle`, exactly: the byte goes into 2^15, and d times that is taken off again.
static inline f32 times_byte(f32 d, u32 word, u32 which, f32 middle)
{
    return fma(d, f32_from_bits(permute_bytes(word, 0x47000000u, 0x7404u | which << 4)), d * (-32768.0f - middle));
}

// Are the levels of group g of a set upper nibbles?
static inline bool is_upper(u32 g)
{
    return (BLOCK == 12 && g == 1) || (BLOCK == 14 && g >= 2);
}

typedef struct set { // a lane's part of a row, decoded
    u32 pairs[STEPS][2];
    f32 scale[GROUPS], offset[GROUPS];
} set;

#ifdef IS_SMALL
// `count` words of block s of the blocks at b, behind its head and `at` bytes, a multiple of four. With RAW_LEVELS b is one, too: the
// words of every second block are whole ones then.
static inline void block_words_at(u32 *to, const u8 *b, u32 s, u32 head, u32 at, u32 count)
{
#    ifdef RAW_LEVELS
    if ((s * BYTES + head) % 4 == 0) {
        EACH(i, count)
            to[i] = *(const u32 *)(const void *)(b + (s * BYTES + head + at) + i * 4);
        return;
    }
#    endif
    words_at(to, b + s * BYTES, head + at, count);
}
#endif

// Set s of the 256 elements at b, for lane q of four.
static inline set set_of(const u8 *b, u32 s, u32 q, u32 lift)
{
    set to;
#ifdef IS_SMALL
    const u8 *own = b + s * BYTES;
    u32 word[2] = {0, 0};
    to.scale[0] = half_of(short_at(own, 0));
    to.offset[0] = HAS_OFFSET ? half_of(short_at(own, 2)) * (1.0f / RAISED) : 0.0f;
#    if BLOCK == 8
    block_words_at(word, b, s, 2, q * 8, 2);
    put_levels(to.pairs[0], word[0] ^ 0x80808080u, lift);
    put_levels(to.pairs[1], word[1] ^ 0x80808080u, lift);
#    else
    block_words_at(word, b, s, HEAD + (FIVE ? 4 : 0), q * 4, 1);
    if (FIVE) { // element e has bit e
        put_levels(to.pairs[0], low_nibbles(word[0]) | spread(own[HEAD + q / 2] >> q % 2 * 4) << 4, lift);
        put_levels(to.pairs[1], high_nibbles(word[0]) | spread(own[HEAD + 2 + q / 2] >> q % 2 * 4) << 4, lift);
    } else {
        put_nibbles(to.pairs[0], to.pairs[1], word[0], lift);
    }
#    endif
#else
    u32 part = s * 4 + q;
    raw x = raw_of(b, part);
    EACH(g, GROUPS)
        to.offset[g] = 0.0f;
#    if BLOCK == 12 || BLOCK == 13
    bool is_low = s < 2;
    u32 scales = is_low ? x.s[0] & 0x3f3fu : (x.s[2] & 0x0f0fu) | (x.s[0] >> 2 & 0x3030u);
    u32 lows = is_low ? x.s[1] & 0x3f3fu : (x.s[2] >> 4 & 0x0f0fu) | (x.s[1] >> 2 & 0x3030u);
    f32 d = half_of(x.d), least = half_of(x.d >> 16);
    EACH(r, 2) {
        to.scale[r] = times_byte(d * (is_upper(r) ? SHRUNK * UPPER : SHRUNK), scales, r, 0.0f);
        to.offset[r] = times_byte(-least, lows, r, 0.0f);
    }
    EACH(i, 2) {
        u32 low = low_nibbles(x.q[i]), high = high_nibbles(x.q[i]);
        if (FIVE) {
            put_levels(to.pairs[i], low | (x.high[i] >> s * 2 & 0x01010101u) << 4, lift);
            put_levels(to.pairs[2 + i], high | (x.high[i] >> (s * 2 + 1) & 0x01010101u) << 4, lift);
        } else {
            put_nibbles(to.pairs[i], to.pairs[2 + i], x.q[i], lift);
        }
    }
#    elif BLOCK == 14
    f32 d = half_of(x.d);
    u32 scales[2] = {x.s[0] ^ 0x80808080u, x.s[1] ^ 0x80808080u}, high = x.high[0];
    EACH(r, 4)
        to.scale[r] = times_byte(d * (is_upper(r) ? SHRUNK * UPPER : SHRUNK), scales[r / 2], r % 2 * 2 + s % 2, 128.0f);
#        ifdef IN_bf16
    EACH(r, 4) {
        u32 levels = r < 2 ? low_nibbles(x.q[r % 2]) : high_nibbles(x.q[r % 2]);
        put_levels(to.pairs[r], levels | (high >> r * 2 & 0x03030303u) << 4, lift);
    }
#        else
    EACH(r, 2)
        EACH(i, 2) { // an upper nibble counts 16 times as much; the two bits above it come out of the same word as those below
            u32 word = x.q[r] >> i * 8, bits = i ? high >> (4 + r * 2) : high << (4 - r * 2);
            u32 under = (word & 0x000f000fu) | ((bits & 0x00300030u) | lift), over = (word & 0x00f000f0u) | ((bits & 0x03000300u) | lift);
#            ifdef RAW_LEVELS
            to.pairs[r][i] = under;
            to.pairs[2 + r][i] = over;
#            else
            f16x2 a = sub2((f16x2){f16_from_bits((u16)under), f16_from_bits((u16)(under >> 16))},
                           to_f16x2(1024.0f + MIDDLE, 1024.0f + MIDDLE));
            f16x2 b = fma2((f16x2){f16_from_bits((u16)over), f16_from_bits((u16)(over >> 16))}, to_f16x2(0.0625f, 0.0625f),
                           to_f16x2(-64.0f - MIDDLE, -64.0f - MIDDLE));
            to.pairs[r][i] = bits_f16(a.x) | (u32)bits_f16(a.y) << 16;
            to.pairs[2 + r][i] = bits_f16(b.x) | (u32)bits_f16(b.y) << 16;
#            endif
        }
#        endif
#    elif BLOCK == 10
    f32 d = half_of(x.d), least = half_of(x.d >> 16);
    EACH(r, 4) {
        u32 both = x.s[r / 2] >> (r % 2 * 16 + s % 2 * 8);
        to.scale[r] = d * SHRUNK * (f32)(both & 15u);
        to.offset[r] = -(least * (f32)(both >> 4 & 15u));
        put_levels(to.pairs[r], x.q[0] >> r * 2 & 0x03030303u, lift);
    }
#    else
    f32 d = half_of(x.d);
    EACH(r, 4) {
        u32 low = x.s[r / 2] >> (r % 2 * 16 + s % 2 * 8 + s / 2 * 4) & 15u;
        u32 top = x.s[2] >> (r % 2 * 16 + s % 2 * 8 + s / 2 * 4 + r / 2 * 2) & 3u;
        to.scale[r] = d * SHRUNK * (f32)((i32)(low | top << 4) - 32);
        put_levels(to.pairs[r], (x.q[0] >> r * 2 & 0x03030303u) | (x.high[0] >> (s / 2 * 4 + r) & 0x01010101u) << 2, lift);
    }
#    endif
#endif
    return to;
}

// Where the two fours of granule g of set s begin in 256 elements, for lane q.
static inline u32x2 fours_of(u32 s, u32 g, u32 q)
{
    u32 first, second;
    if (SIZE == 32) {
        first = s * 32 + q * (RUNS == 1 ? 8 : 4);
        second = first + (RUNS == 1 ? 4 : 16);
    } else if (RUNS == 2) {
        first = s * 64 + g * 32 + q * 8;
        second = first + 4;
    } else {
        first = s / 2 * 128 + g * 64 + s % 2 * 16 + q * 4;
        second = first + 32;
    }
    return (u32x2){first, second};
}

#endif
