// Random numbers in Kiln C; host compilers read the same text, so every device draws the same stream.
//
// philox (4x32, 10 rounds) is counter-based: the same counter and key always give the same four words, so a thread
// takes its index as the counter and keeps no state. pcg32 (64-bit state, 32-bit output) is for a thread that draws many.
#ifndef KILN_LIB_RANDOM_H
#define KILN_LIB_RANDOM_H

static inline u32x4 k_philox(u32x4 counter, u32x2 key)
{
#pragma unroll
    for (u32 round = 0; round < 10; round++) {
        u64 a = (u64)counter.x * 0xd2511f53u, b = (u64)counter.z * 0xcd9e8d57u;
        counter = (u32x4){(u32)(b >> 32) ^ counter.y ^ key.x, (u32)b, (u32)(a >> 32) ^ counter.w ^ key.y, (u32)a};
        key = (u32x2){key.x + 0x9e3779b9u, key.y + 0xbb67ae85u};
    }
    return counter;
}

static inline u64 k_pcg32_step(u64 state, u64 stream)
{
    return state * 6364136223846793005u + (stream << 1 | 1);
}

static inline u64 k_pcg32_seed(u64 seed, u64 stream)
{
    return k_pcg32_step((stream << 1 | 1) + seed, stream);
}

static inline u32 k_pcg32(u64 state)
{
    return rotate_right((u32)((state >> 18 ^ state) >> 27), (u32)(state >> 59));
}

// In 0 <= u < 1, all multiples of 2^-24 (2^-53) alike.
static inline f32 k_uniform_f32(u32 bits)
{
    return (f32)(bits >> 8) * 0x1p-24f;
}

static inline f64 k_uniform_f64(u32 high, u32 low)
{
    return (f64)(((u64)high << 32 | low) >> 11) * 0x1p-53;
}
#endif
