// What the tests of attention forward and backward share: numbers of the three types as the host
// sees them, random inputs, and how far a result of each type may be off.
#ifndef KILN_ATTENTION_TEST_NUMBERS_H
#define KILN_ATTENTION_TEST_NUMBERS_H

#include <kiln/kiln.h>
#include <math.h>
#include <string.h>

typedef struct number_type {
    kiln_type type;
    double bound; // of the relative error
} number_type;
static const number_type types[] = {{KILN_BF16, 5e-3}, {KILN_F16, 8e-4}, {KILN_F32, 1e-5}};

// Nearest, ties to even; numbers below the normal ones of f16 become multiples of its smallest.
static void put(void *to, kiln_type type, size_t i, double value)
{
    float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, 4);
    if (type == KILN_F32) {
        ((float *)to)[i] = x;
    } else if (type == KILN_BF16) {
        ((uint16_t *)to)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    } else {
        uint32_t size = bits & 0x7fffffff, half = (uint32_t)lrint(ldexp(fabs((double)x), 24));
        if (size >= 0x38800000)
            half = (size + 0xfff + (size >> 13 & 1) - (112u << 23)) >> 13;
        ((uint16_t *)to)[i] = (uint16_t)((bits >> 16 & 0x8000) | half);
    }
}

static double get(const void *from, kiln_type type, size_t i)
{
    if (type == KILN_F32)
        return (double)((const float *)from)[i];
    uint32_t bits = ((const uint16_t *)from)[i];
    if (type == KILN_BF16) {
        float x;
        bits <<= 16;
        memcpy(&x, &bits, 4);
        return (double)x;
    }
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    int exponent = (int)(bits >> 10 & 31);
    uint32_t fraction = bits & 1023;
    if (exponent == 31)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * ldexp(exponent ? fraction + 1024 : fraction, (exponent ? exponent : 1) - 25);
}

// Sums of four uniform numbers, 6 bits each: bell-shaped, and exact in every type.
static double next_number(uint32_t *state)
{
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        *state = *state * 1664525u + 1013904223u;
        sum += (int)(*state >> 26) - 32;
    }
    return sum / 32.0;
}

// What a buffer of results is filled with before: what is not written shows.
static uint32_t nan_bits(kiln_type type)
{
    return type == KILN_BF16 ? 0x7fc0 : type == KILN_F16 ? 0x7e00 : 0x7fc00000;
}

#endif
