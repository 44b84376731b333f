// The arithmetic of the matrix instructions: numbers of every operand type, a product of 16 rows,
// and its sum with an accumulator spread over a warp. Start at product_multiply.
//
// A product of two operands is exact in double, whatever the type, so the result does not depend on
// the host's instructions: the products of one instruction are added in double in the order of k,
// then the accumulator, then it is rounded once. Integers wrap at 32 bits.
#include <math.h>

#include "ir/eval.h"
#include "rt/interp/nv.h"

#if defined(__x86_64__) && defined(__GNUC__)
#    define FOR_AVX2 __attribute__((target("avx2,fma")))
#else
#    define FOR_AVX2
#endif
#define INLINED static inline __attribute__((always_inline))

enum { COLUMNS = 16 }; // at once

// --- numbers: exponent and mantissa shifted into place, the exponent's bias by a multiplication
static float float_of(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

static inline double half_float(uint32_t bits)
{
    uint32_t magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 16;
    if (magnitude >= 0x7c00)
        return (double)float_of(sign | 0x7f800000 | (magnitude & 1023) << 13);
    return (double)(float_of(sign | magnitude << 13) * 0x1p112f);
}

static inline double e4m3_float(uint32_t bits)
{
    uint32_t magnitude = bits & 0x7f, sign = (bits & 0x80) << 24;
    if (magnitude == 0x7f)
        return (double)NAN;
    return (double)(float_of(sign | magnitude << 20) * 0x1p120f);
}

static inline double number(nv_elem e, uint32_t bits)
{
    switch ((int)e) {
    case NV_F16: return half_float(bits);
    case NV_BF16: return (double)float_of(bits << 16);
    case NV_TF32: return (double)float_of(bits & ~0x1fffu); // the low 13 bits are dropped
    case NV_E4M3: return e4m3_float(bits);
    case NV_E5M2: return half_float(bits << 8);
    default: return (double)float_of(bits);
    }
}

double product_float(nv_elem e, uint32_t bits)
{
    return number(e, bits);
}

// The element type is a constant in each copy of the loop.
#define EACH(count, type, e)                                                                       \
    for (uint32_t n = 0; n < (count); n++) {                                                       \
        type bits;                                                                                 \
        memcpy(&bits, from + n * sizeof bits, sizeof bits);                                        \
        out[n] = number(e, bits);                                                                  \
    }

uint32_t product_floats(nv_elem e, const uint8_t *from, double *out)
{
    switch ((int)e) {
    case NV_F16: EACH(8, uint16_t, NV_F16) return 8;
    case NV_BF16: EACH(8, uint16_t, NV_BF16) return 8;
    case NV_E4M3: EACH(16, uint8_t, NV_E4M3) return 16;
    case NV_E5M2: EACH(16, uint8_t, NV_E5M2) return 16;
    default: EACH(4, uint32_t, NV_TF32) return 4;
    }
}

int32_t product_int(nv_elem e, uint32_t bits)
{
    return e == NV_S8 ? (int8_t)(uint8_t)bits : (int32_t)(bits & 255);
}

static uint32_t narrow(double v, ir_type t)
{
    uint64_t in[3] = {0}, out = 0;
    memcpy(in, &v, 8);
    ir_eval(IR_FNARROW, t, IR_F64, in, &out);
    return (uint32_t)out & 0xffff;
}

uint32_t f16_of_double(double v)
{
    return narrow(v, IR_F16);
}

uint32_t bf16_of_double(double v)
{
    return narrow(v, IR_BF16);
}

// --- products
INLINED void multiply_floats(product *p)
{
    for (uint32_t n = 0; n < p->n; n += COLUMNS)
        for (uint32_t row = 0; row < 16; row++) {
            double sum[COLUMNS] = {0};
            for (uint32_t k = 0; k < p->k; k++) {
                double a = p->a.f[row][k];
                const double *b = &p->b.f[k][n];
                for (uint32_t j = 0; j < COLUMNS; j++)
                    sum[j] += a * b[j];
            }
            memcpy(&p->sums.f[row][n], sum, sizeof sum);
        }
}

INLINED void multiply_ints(product *p)
{
    for (uint32_t n = 0; n < p->n; n += COLUMNS)
        for (uint32_t row = 0; row < 16; row++) {
            uint32_t sum[COLUMNS] = {0};
            for (uint32_t k = 0; k < p->k; k++) {
                uint32_t a = (uint32_t)p->a.i[row][k];
                const int32_t *b = &p->b.i[k][n];
                for (uint32_t j = 0; j < COLUMNS; j++)
                    sum[j] += a * (uint32_t)b[j];
            }
            memcpy(&p->sums.i[row][n], sum, sizeof sum);
        }
}

FOR_AVX2 static void multiply_fast(product *p)
{
    if (p->is_int)
        multiply_ints(p);
    else
        multiply_floats(p);
}

static void multiply_plain(product *p)
{
    if (p->is_int)
        multiply_ints(p);
    else
        multiply_floats(p);
}

void product_multiply(product *p)
{
    for (uint32_t k = 0; k < p->k && p->n % COLUMNS; k++) // columns nobody asked for
        if (p->is_int)
            memset(&p->b.i[k][p->n], 0, 8 * sizeof(int32_t));
        else
            memset(&p->b.f[k][p->n], 0, 8 * sizeof(double));
    if (lane_has_fast())
        multiply_fast(p);
    else
        multiply_plain(p);
}

// --- the accumulator
static void add_pairs(const product *p, uint32_t row, uint32_t column, lane_u32 *word,
                      bool accumulates)
{
    uint32_t half[2];
    for (uint32_t e = 0; e < 2; e++) {
        double old = accumulates ? half_float(*word >> (16 * e) & 0xffff) : 0;
        half[e] = f16_of_double(old + p->sums.f[row][column + e]);
    }
    *word = half[0] | half[1] << 16;
}

void product_add(const product *p, nv_elem d, lane_u32 *const *words, bool accumulates)
{
    for (uint32_t j = 0; j < p->n / 8; j++)
        for (uint32_t h = 0; h < 2; h++)
            for (uint32_t lane = 0; lane < LANES; lane++) {
                uint32_t row = lane / 4 + 8 * h, column = 8 * j + 2 * (lane % 4);
                if (d == NV_F16) {
                    add_pairs(p, row, column, &words[2 * j + h][lane], accumulates);
                    continue;
                }
                for (uint32_t e = 0; e < 2; e++) {
                    lane_u32 *word = &words[4 * j + 2 * h + e][lane];
                    if (d == NV_S32) {
                        *word = (accumulates ? *word : 0) + (uint32_t)p->sums.i[row][column + e];
                        continue;
                    }
                    double old = accumulates ? (double)float_of(*word) : 0;
                    float sum = (float)(old + p->sums.f[row][column + e]);
                    uint32_t bits;
                    memcpy(&bits, &sum, 4);
                    *word = bits;
                }
            }
}
