// The arithmetic of the matrix instructions: numbers of every operand type, a product of 16 rows,
// and its sum with an accumulator spread over a warp. Start at product_multiply.
//
// A product of two operands is exact in double, whatever the type, so the result does not depend on
// the host's instructions: the products of one instruction are added in double in the order of k,
// then the accumulator, then it is rounded once. Integers wrap at 32 bits.
#include <math.h>

#include "dev/interp/nv.h"
#include "ir/eval.h"

#if defined(__x86_64__) && defined(__GNUC__)
#    define FOR_AVX2 __attribute__((target("avx2,fma")))
#else
#    define FOR_AVX2
#endif
#if defined(__clang__)
#    define UNROLLED _Pragma("unroll")
#else
#    define UNROLLED _Pragma("GCC unroll 4")
#endif
#define INLINED static inline __attribute__((always_inline))

enum { COLUMNS = 16 }; // at once
typedef double floats __attribute__((vector_size(32)));
typedef uint32_t ints __attribute__((vector_size(32)));

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
    switch (e) {
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
    switch (e) {
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

// --- products
// Two rows and sixteen columns at once: as many sums as registers can hold.
INLINED void multiply_floats(product *p)
{
    for (uint32_t n = 0; n < p->n; n += COLUMNS)
        for (uint32_t row = 0; row < 16; row += 2) {
            floats sum[2][COLUMNS / 4] = {{{0}}};
            for (uint32_t k = 0; k < p->k; k++) {
                double a = p->a.f[row][k], next = p->a.f[row + 1][k];
                UNROLLED
                for (uint32_t j = 0; j < COLUMNS / 4; j++) {
                    floats b;
                    memcpy(&b, &p->b.f[k][n + 4 * j], sizeof b);
                    sum[0][j] += a * b;
                    sum[1][j] += next * b;
                }
            }
            memcpy(&p->sums.f[row][n], sum[0], sizeof sum[0]);
            memcpy(&p->sums.f[row + 1][n], sum[1], sizeof sum[1]);
        }
}

INLINED void multiply_ints(product *p)
{
    for (uint32_t n = 0; n < p->n; n += COLUMNS)
        for (uint32_t row = 0; row < 16; row++) {
            ints sum[COLUMNS / 8] = {{0}};
            for (uint32_t k = 0; k < p->k; k++) {
                uint32_t a = (uint32_t)p->a.i[row][k];
                UNROLLED
                for (uint32_t j = 0; j < COLUMNS / 8; j++) {
                    ints b;
                    memcpy(&b, &p->b.i[k][n + 8 * j], sizeof b);
                    sum[j] += a * b;
                }
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
    for (uint32_t k = 0; k < p->k && p->n % COLUMNS; k++) // unused columns
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
        half[e] = ir_narrow(IR_F16, old + p->sums.f[row][column + e]);
    }
    *word = half[0] | half[1] << 16;
}

static void add_floats(const product *p, lane_u32 *const *words, bool accumulates)
{
    for (uint32_t w = 0; w < p->n / 2; w++) {
        const double *from = &p->sums.f[w % 4 / 2 * 8][w / 4 * 8 + w % 2];
        uint8_t *word = (uint8_t *)words[w];
        float old[LANES] = {0};
        if (accumulates)
            memcpy(old, word, sizeof old);
        for (uint32_t row = 0; row < 8; row++, from += PRODUCT_N)
            for (uint32_t n = 0; n < 4; n++)
                old[4 * row + n] = (float)((double)old[4 * row + n] + from[2 * n]);
        memcpy(word, old, sizeof old);
    }
}

void product_add(const product *p, nv_elem d, lane_u32 *const *words, bool accumulates)
{
    if (d == NV_F32) {
        add_floats(p, words, accumulates);
        return;
    }
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
                    *word = (accumulates ? *word : 0) + (uint32_t)p->sums.i[row][column + e];
                }
            }
}
