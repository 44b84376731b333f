// Weights of 16 bytes at a time: loads, and the numbers that they are, exactly, as f32 or as pairs of x's type, f16
// (X_f16) or bf16. WEIGHT_i8 or WEIGHT_i4 as in layer.h; W_PACKED is a tunable of the file that includes this.
#ifndef KILN_LINEAR_DECODE_H
#define KILN_LINEAR_DECODE_H

#include "layer.h"

typedef struct chunk {
    u32 words[4];
} chunk;

#ifdef WEIGHT_i4
enum { CHUNK = 32 }; // weights
#else
enum { CHUNK = 16 };
#endif

// The weights k, a multiple of CHUNK, and those behind it; of those behind `depth` anything.
static inline chunk load_chunk(const weight_t *row, u32 k, u32 depth)
{
    chunk c = {{0, 0, 0, 0}};
#ifdef WEIGHT_i4
    const u32 *from = row + k / 8;
#else
    if (!W_PACKED || k + CHUNK > depth) {
#    pragma unroll
        for (u32 e = 0; e < CHUNK; e++)
            if (k + e < depth)
                c.words[e / 4] |= (u32)(u8)row[k + e] << e % 4 * 8;
        return c;
    }
    const u32 *from = (const u32 *)(const void *)(row + k);
#endif
    if (W_PACKED) {
        u32x4 v = load_readonly((const u32x4 *)(const void *)from);
        c.words[0] = v.x;
        c.words[1] = v.y;
        c.words[2] = v.z;
        c.words[3] = v.w;
    } else {
#pragma unroll
        for (u32 i = 0; i < 4; i++)
            c.words[i] = from[i];
    }
    return c;
}

// Eight of the weights, from number 8 * piece on, less `zero`. On GPUs bits of a weight become the lowest ones of a
// large float, which is then subtracted: conversions of integers are slow there.
static inline void decode(f32 *to, const chunk *c, u32 piece, f32 zero)
{
#pragma unroll
    for (u32 e = 0; e < 8; e++) {
#ifdef WEIGHT_i4
        u32 word = c->words[piece], nibble = e / 2 + e % 2 * 4;
        if (target_is_cpu()) {
            to[e] = (f32)(i32)(word >> 4 * nibble & 15) - zero;
        } else {
            u32 at = nibble < 5 ? 4 * nibble : 4 * nibble - 12;
            f32 base = f32_from_bits((150 - at) << 23); // 2^(23 - at): bit `at` counts 1
            u32 bits = (nibble < 5 ? word : word >> 12) & 15u << at;
            to[e] = f32_from_bits(bits | (150 - at) << 23) - (base + zero);
        }
#else
        u32 word = c->words[piece * 2 + e / 4];
        if (target_is_cpu())
            to[e] = (f32)(i32)(i8)(u8)(word >> e % 4 * 8) - zero;
        else
            to[e] = f32_from_bits(permute_bytes(word ^ 0x80808080u, 0x4b000000u, 0x7440u | e % 4)) -
                    (8388608.0f + 128.0f + zero);
#endif
    }
}

// What the bits of int4 weights are put into: 1024 + q as f16, 128 + q as bf16, twice. `none` is 0, which a compiler does
// not know when it comes from a kernel's argument: the two operations that it makes of a constant are one then.
static inline u32 lift_of(u32 none)
{
#ifdef X_f16
    return 0x64006400u | none;
#else
    return 0x43004300u | none;
#endif
}

#ifdef X_f16
static inline f16x2 pair_of(u32 bits)
{
    return (f16x2){f16_from_bits((u16)bits), f16_from_bits((u16)(bits >> 16))};
}

static inline u32 bits_of(f16x2 v)
{
    return bits_f16(v.x) | (u32)bits_f16(v.y) << 16;
}
#endif

// Eight weights, from number 8 * piece on, less `zero` as numbers of x's type, two in a word.
static inline u32x4 decode_pairs(const chunk *c, u32 piece, f32 zero, u32 lift)
{
    u32 to[4];
#pragma unroll
    for (u32 p = 0; p < 4; p++) {
#if defined(WEIGHT_i4) && defined(X_f16)
        u32 word = c->words[piece] >> p / 2 * 8;
        if (p % 2) // 1024 + 16 * q
            to[p] = bits_of(fma2(pair_of((word & 0x00f000f0u) | lift), to_f16x2(0.0625f, 0.0625f),
                                 to_f16x2(-64.0f - zero, -64.0f - zero)));
        else
            to[p] = bits_of(sub2(pair_of((word & 0x000f000fu) | lift), to_f16x2(1024.0f + zero, 1024.0f + zero)));
#elif defined(WEIGHT_i4)
        u32 bits = (c->words[piece] >> 4 * p & 0x000f000fu) | lift;
        bf16x2 v = sub2((bf16x2){bf16_from_bits((u16)bits), bf16_from_bits((u16)(bits >> 16))},
                        to_bf16x2(128.0f + zero, 128.0f + zero));
        to[p] = bits_bf16(v.x) | (u32)bits_bf16(v.y) << 16;
#elif defined(X_f16)
        u32 bits = permute_bytes(c->words[piece * 2 + p / 2] ^ 0x80808080u, 0x64646464u, p % 2 ? 0x4342u : 0x4140u);
        to[p] = bits_of(sub2(pair_of(bits), to_f16x2(1152.0f + zero, 1152.0f + zero))); // 1024 + 128 + q
#else
        u32 word = c->words[piece * 2 + p / 2] ^ 0x80808080u;
        f32 base = 8388608.0f + 128.0f + zero;
        to[p] = pack_bf16(f32_from_bits(permute_bytes(word, 0x4b000000u, p % 2 ? 0x7442u : 0x7440u)) - base,
                          f32_from_bits(permute_bytes(word, 0x4b000000u, p % 2 ? 0x7443u : 0x7441u)) - base);
#endif
    }
    return (u32x4){to[0], to[1], to[2], to[3]};
}

// Zero of a row and group; without zeros the middle.
static inline f32 zero_of(const zero_t *zero, i64 at)
{
#ifdef HAS_ZERO
    return (f32)(i32)zero[at];
#elif defined(WEIGHT_i4)
    return 8.0f;
#else
    return 0.0f;
#endif
}

#endif
