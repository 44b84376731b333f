// Rows of words {number, bits} on x86: 2 or 8 words an access, as the processor has them. Each word
// of an access is as whole as one that is loaded or stored alone. A whole line an access is faster:
// the GPU, which polls replies, takes a line away between two stores to it.
#ifndef KILN_CHANNEL_WORD_ROWS_H
#define KILN_CHANNEL_WORD_ROWS_H

#include <immintrin.h>

#define WORD_HAS_ROWS

// Loaded once, whatever is done with it.
#define WORD_LOAD(type, instruction, to, from)                                                     \
    __asm__ volatile(instruction " %1, %0" : "=x"(to) : "m"(*(const type *)(const void *)(from)))

static inline bool word_load_2(const uint64_t *from, uint32_t number, uint32_t *bits,
                               uint32_t count)
{
    __m128i wanted = _mm_set1_epi32((int)number), all = _mm_set1_epi32(-1);
    for (uint32_t l = 0; l < count; l += 4) {
        __m128 low, high;
        WORD_LOAD(__m128, "movaps", low, from + l);
        WORD_LOAD(__m128, "movaps", high, from + l + 2);
        __m128i numbers = _mm_castps_si128(_mm_shuffle_ps(low, high, 0x88));
        all = _mm_and_si128(all, _mm_cmpeq_epi32(numbers, wanted));
        _mm_storeu_si128((__m128i *)(void *)(bits + l),
                         _mm_castps_si128(_mm_shuffle_ps(low, high, 0xdd)));
    }
    return _mm_movemask_epi8(all) == 0xffff;
}

static inline void word_store_2(uint64_t *to, uint32_t number, const uint32_t *bits, uint32_t count)
{
    __m128i numbers = _mm_set1_epi32((int)number);
    for (uint32_t l = 0; l < count; l += 4) {
        __m128i four = _mm_loadu_si128((const __m128i *)(const void *)(bits + l));
        _mm_store_si128((__m128i *)(void *)(to + l), _mm_unpacklo_epi32(numbers, four));
        _mm_store_si128((__m128i *)(void *)(to + l + 2), _mm_unpackhi_epi32(numbers, four));
    }
}

__attribute__((target("avx512f"))) static inline bool
word_load_8(const uint64_t *from, uint32_t number, uint32_t *bits, uint32_t count)
{
    __m512i wanted = _mm512_set1_epi32((int)number),
            even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
            odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    uint32_t others = 0;
    for (uint32_t l = 0; l < count; l += 16) {
        __m512i low, high;
        WORD_LOAD(__m512i, "vmovdqa64", low, from + l);
        WORD_LOAD(__m512i, "vmovdqa64", high, from + l + 8);
        others |= _mm512_cmpneq_epi32_mask(_mm512_permutex2var_epi32(low, even, high), wanted);
        _mm512_storeu_si512(bits + l, _mm512_permutex2var_epi32(low, odd, high));
    }
    return !others;
}

__attribute__((target("avx512f"))) static inline void
word_store_8(uint64_t *to, uint32_t number, const uint32_t *bits, uint32_t count)
{
    __m512i numbers = _mm512_set1_epi32((int)number),
            lower = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
            upper = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    for (uint32_t l = 0; l < count; l += 16) {
        __m512i some = _mm512_loadu_si512(bits + l);
        _mm512_store_si512(to + l, _mm512_permutex2var_epi32(numbers, lower, some));
        _mm512_store_si512(to + l + 8, _mm512_permutex2var_epi32(numbers, upper, some));
    }
}

// `count` is a multiple of 16.
static inline bool word_load_row(const uint64_t *from, uint32_t number, uint32_t *bits,
                                 uint32_t count)
{
    return __builtin_cpu_supports("avx512f") ? word_load_8(from, number, bits, count)
                                             : word_load_2(from, number, bits, count);
}
static inline void word_store_row(uint64_t *to, uint32_t number, const uint32_t *bits,
                                  uint32_t count)
{
    if (__builtin_cpu_supports("avx512f"))
        word_store_8(to, number, bits, count);
    else
        word_store_2(to, number, bits, count);
}

#endif
