// What the tests of factors and of gradients share: numbers of a result, and activations in
// doubles.
#ifndef KILN_MATMUL_TEST_ENDS_H
#define KILN_MATMUL_TEST_ENDS_H

#include <kiln/ops.h>
#include <math.h>
#include <string.h>

static double get(kiln_type t, const void *from, size_t i)
{
    uint32_t bits = t == KILN_BF16 ? (uint32_t)((const uint16_t *)from)[i] << 16 : 0;
    float f;
    memcpy(&f, &bits, 4);
    if (t == KILN_F16) {
        uint32_t h = ((const uint16_t *)from)[i], e = h >> 10 & 31;
        double x = e ? ldexp(1024 + (h & 1023), (int)e - 25) : ldexp(h & 1023, -24);
        return e == 31 ? (double)NAN : h >> 15 ? -x : x;
    }
    return t == KILN_BF16 ? (double)f : (double)((const float *)from)[i];
}

static double activated(kiln_epilogue e, double x)
{
    return e == KILN_EPILOGUE_BIAS_RELU ? (x > 0 ? x : 0)
           : e == KILN_EPILOGUE_BIAS_GELU
               ? 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)))
           : e == KILN_EPILOGUE_BIAS_SILU ? x / (1 + exp(-x))
                                          : x;
}

#endif
