// Philox4x32-10 for references, from its definition.
#ifndef KILN_SUITE_PHILOX_H
#define KILN_SUITE_PHILOX_H

#include <stdint.h>

static inline void suite_philox(uint64_t low, uint64_t high, uint64_t seed, uint32_t w[4])
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    w[0] = (uint32_t)low;
    w[1] = (uint32_t)(low >> 32);
    w[2] = (uint32_t)high;
    w[3] = (uint32_t)(high >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = 0xD2511F53u * (uint64_t)w[0], b = 0xCD9E8D57u * (uint64_t)w[2];
        uint32_t x = w[1], y = w[3];
        w[0] = (uint32_t)(b >> 32) ^ x ^ key[0];
        w[1] = (uint32_t)b;
        w[2] = (uint32_t)(a >> 32) ^ y ^ key[1];
        w[3] = (uint32_t)a;
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
}

// Element i of a tensor whose elements have one word each, or two as a number below 2^64.
static inline uint32_t suite_word(uint64_t i, uint64_t offset, uint64_t seed)
{
    uint32_t w[4];
    suite_philox(i / 4, offset, seed, w);
    return w[i % 4];
}
static inline uint64_t suite_words(uint64_t i, uint64_t offset, uint64_t seed)
{
    uint32_t w[4];
    suite_philox(i / 2, offset, seed, w);
    return (uint64_t)w[i % 2 * 2] << 32 | w[i % 2 * 2 + 1];
}

#endif
