// SHA-256 as in FIPS 180-4, by the processor's own instructions where it has them: a program waits
// for the sum of a source when it first uses an op. Start at sha256_of.
#include "base/sha256.h"

#include <stdatomic.h>

#ifdef __x86_64__
#    include <cpuid.h>
#    include <immintrin.h>
#endif

// clang-format off
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};
// clang-format on

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

// One round. The eight values keep their places, and their names move on by one: after eight rounds
// they are where they were.
static inline void add_word(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e, uint32_t f,
                            uint32_t g, uint32_t *h, uint32_t word)
{
    uint32_t t1 = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + word;
    *d += t1;
    *h = t1 + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

static void add_block(uint32_t state[8], const uint8_t *p)
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    uint32_t s[8];
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i += 8) {
        add_word(s[0], s[1], s[2], &s[3], s[4], s[5], s[6], &s[7], round_constants[i] + w[i]);
        add_word(s[7], s[0], s[1], &s[2], s[3], s[4], s[5], &s[6],
                 round_constants[i + 1] + w[i + 1]);
        add_word(s[6], s[7], s[0], &s[1], s[2], s[3], s[4], &s[5],
                 round_constants[i + 2] + w[i + 2]);
        add_word(s[5], s[6], s[7], &s[0], s[1], s[2], s[3], &s[4],
                 round_constants[i + 3] + w[i + 3]);
        add_word(s[4], s[5], s[6], &s[7], s[0], s[1], s[2], &s[3],
                 round_constants[i + 4] + w[i + 4]);
        add_word(s[3], s[4], s[5], &s[6], s[7], s[0], s[1], &s[2],
                 round_constants[i + 5] + w[i + 5]);
        add_word(s[2], s[3], s[4], &s[5], s[6], s[7], s[0], &s[1],
                 round_constants[i + 6] + w[i + 6]);
        add_word(s[1], s[2], s[3], &s[4], s[5], s[6], s[7], &s[0],
                 round_constants[i + 7] + w[i + 7]);
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

static void add_blocks(uint32_t state[8], const uint8_t *p, size_t count)
{
    for (size_t n = 0; n < count; n++)
        add_block(state, p + 64 * n);
}

#ifdef __x86_64__
// Four words, and the four that come 16 words later take their place.
#    define FOUR_WORDS(n, w0, w1, w2, w3)                                                          \
        do {                                                                                       \
            __m128i words = _mm_add_epi32(                                                         \
                w0, _mm_loadu_si128((const __m128i *)(const void *)&round_constants[4 * (n)]));    \
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);                                       \
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));              \
            w0 = _mm_sha256msg2_epu32(                                                             \
                _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4)), w3);      \
        } while (0)

__attribute__((target("sha,sse4.1"))) static void add_blocks_sha(uint32_t s[8], const uint8_t *p,
                                                                 size_t count)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    // The instructions want a, b, e, f in one register and c, d, g, h in the other.
    __m128i abef = _mm_set_epi32((int)s[0], (int)s[1], (int)s[4], (int)s[5]),
            cdgh = _mm_set_epi32((int)s[2], (int)s[3], (int)s[6], (int)s[7]);
    for (; count; count--, p += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh,
                      *from = (const __m128i *)(const void *)p;
        __m128i w0 = _mm_shuffle_epi8(_mm_loadu_si128(from), big_endian),
                w1 = _mm_shuffle_epi8(_mm_loadu_si128(from + 1), big_endian),
                w2 = _mm_shuffle_epi8(_mm_loadu_si128(from + 2), big_endian),
                w3 = _mm_shuffle_epi8(_mm_loadu_si128(from + 3), big_endian);
        for (int n = 0; n < 16; n += 4) {
            FOUR_WORDS(n, w0, w1, w2, w3);
            FOUR_WORDS(n + 1, w1, w2, w3, w0);
            FOUR_WORDS(n + 2, w2, w3, w0, w1);
            FOUR_WORDS(n + 3, w3, w0, w1, w2);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    uint32_t fe_ba[4], hg_dc[4];
    memcpy(fe_ba, &abef, sizeof fe_ba);
    memcpy(hg_dc, &cdgh, sizeof hg_dc);
    for (int n = 0; n < 2; n++) {
        s[n] = fe_ba[3 - n];
        s[n + 2] = hg_dc[3 - n];
        s[n + 4] = fe_ba[1 - n];
        s[n + 6] = hg_dc[1 - n];
    }
}

static bool processor_has_sha(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_SSE4_1 &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA;
}
#else
static bool processor_has_sha(void)
{
    return false;
}
#    define add_blocks_sha add_blocks
#endif

typedef void (*adder)(uint32_t state[8], const uint8_t *p, size_t count);
static _Atomic(adder) chosen;

static adder choose(void)
{
    adder add = processor_has_sha() ? add_blocks_sha : add_blocks;
    atomic_store_explicit(&chosen, add, memory_order_relaxed);
    return add;
}

void sha256_plain(bool is_plain)
{
    atomic_store_explicit(&chosen, is_plain ? add_blocks : NULL, memory_order_relaxed);
}

void sha256_start(sha256 *s)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, first, sizeof first);
    s->fill = 0;
    s->total = 0;
}

void sha256_add(sha256 *s, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    adder add = atomic_load_explicit(&chosen, memory_order_relaxed);
    add = add ? add : choose();
    s->total += len;
    while (len) {
        if (!s->fill && len >= 64) {
            add(s->state, p, len / 64);
            p += len / 64 * 64, len %= 64;
            continue;
        }
        size_t take = 64 - s->fill < len ? 64 - s->fill : len;
        memcpy(s->block + s->fill, p, take);
        s->fill += take, p += take, len -= take;
        if (s->fill == 64) {
            add(s->state, s->block, 1);
            s->fill = 0;
        }
    }
}

void sha256_end(sha256 *s, uint8_t out[SHA256_BYTES])
{
    uint64_t bits = s->total * 8;
    static const uint8_t padding[64] = {0x80};
    sha256_add(s, padding, (s->fill < 56 ? 56 : 120) - s->fill);
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    sha256_add(s, length, 8);
    for (int i = 0; i < SHA256_BYTES; i++)
        out[i] = (uint8_t)(s->state[i / 4] >> (24 - i % 4 * 8));
}

void sha256_text(const uint8_t hash[SHA256_BYTES], char out[SHA256_TEXT])
{
    for (int i = 0; i < SHA256_BYTES; i++) {
        out[2 * i] = "0123456789abcdef"[hash[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
    }
    out[2 * SHA256_BYTES] = 0;
}

void sha256_of(const void *bytes, size_t len, uint8_t out[SHA256_BYTES])
{
    sha256 s;
    sha256_start(&s);
    sha256_add(&s, bytes, len);
    sha256_end(&s, out);
}
