// Numbers in memory, for the libraries that run on the host (libcudnn.c, libcublas.c). Types are
// cuDNN's.
#ifndef KILN_TESTS_FAKE_PLAY_NUMBERS_H
#define KILN_TESTS_FAKE_PLAY_NUMBERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
#define NUMBER(name, value) CUDNN_##name = (value),
#include "cli/cudnn.def"
};

static double play_narrow(double value, int type) // round to nearest even
{
    if (value == 0 || !isfinite(value))
        return value;
    int bits = type == CUDNN_DATA_HALF ? 11 : type == CUDNN_DATA_BFLOAT16 ? 8 : 24, exponent;
    frexp(value, &exponent);
    return ldexp(nearbyint(ldexp(value, bits - exponent)), exponent - bits);
}

static double play_load(const void *at, int type)
{
    uint16_t bits;
    uint32_t wide;
    float value;
    int32_t whole;
    memcpy(&bits, at, 2);
    switch (type) {
    case CUDNN_DATA_FLOAT: memcpy(&value, at, 4); return value;
    case CUDNN_DATA_INT32: memcpy(&whole, at, 4); return whole;
    case CUDNN_DATA_BFLOAT16:
        wide = (uint32_t)bits << 16;
        memcpy(&value, &wide, 4);
        return value;
    default: {
        int exponent = bits >> 10 & 31;
        double v = exponent ? ldexp((bits & 1023) + 1024, exponent - 25) : ldexp(bits & 1023, -24);
        return bits >> 15 ? -v : v;
    }
    }
}

static void play_store(void *at, int type, double value)
{
    double rounded = play_narrow(value, type);
    float real = (float)rounded;
    uint32_t wide;
    memcpy(&wide, &real, 4);
    uint16_t bits = (uint16_t)(wide >> 16);
    if (type == CUDNN_DATA_FLOAT) {
        memcpy(at, &real, 4);
        return;
    }
    if (type == CUDNN_DATA_HALF) {
        int exponent = (int)(wide >> 23 & 255) - 127 + 15;
        bits = (uint16_t)(wide >> 16 & 0x8000);
        if (exponent > 0)
            bits |= (uint16_t)(exponent << 10 | (wide >> 13 & 1023));
        else
            bits |= (uint16_t)nearbyint(fabs(value) * 0x1p24);
    }
    memcpy(at, &bits, 2);
}

#endif
