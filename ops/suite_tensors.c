// Numbers and tensors of suites (suite_tensors.h).
#include "ops/suite_tensors.h"

#include <math.h>
#include <string.h>

// --- numbers
double suite_epsilon(kiln_type type)
{
    return type == KILN_F16    ? 0x1p-11
           : type == KILN_BF16 ? 0x1p-8
           : type == KILN_F32  ? 0x1p-24
           : type == KILN_F64  ? 0x1p-53
                               : 0;
}

// The nearest number with `bits` bits and an exponent of at least `least`.
static double rounded(double x, int bits, int least)
{
    int e;
    if (x == 0 || !isfinite(x))
        return x;
    frexp(x, &e);
    e = e < least ? least : e;
    return ldexp(nearbyint(ldexp(x, bits - e)), e - bits);
}

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static uint16_t half_bits(double x)
{
    int e;
    uint16_t sign = (uint16_t)(signbit(x) ? 0x8000 : 0);
    double r = rounded(fabs(x), 11, -13);
    if (isnan(x))
        return 0x7e00;
    if (r > 65504)
        return sign | 0x7c00;
    if (r < 0x1p-14)
        return sign | (uint16_t)ldexp(r, 24);
    double f = frexp(r, &e);
    return (uint16_t)(sign | (uint32_t)(e + 14) << 10 | (uint32_t)((f * 2 - 1) * 1024));
}

void suite_put(kiln_type type, void *to, size_t i, double x)
{
    switch (type) {
    case KILN_BOOL: ((uint8_t *)to)[i] = x != 0; break;
    case KILN_I8: ((int8_t *)to)[i] = (int8_t)x; break;
    case KILN_U8: ((uint8_t *)to)[i] = (uint8_t)x; break;
    case KILN_I16: ((int16_t *)to)[i] = (int16_t)x; break;
    case KILN_U16: ((uint16_t *)to)[i] = (uint16_t)x; break;
    case KILN_I32: ((int32_t *)to)[i] = (int32_t)x; break;
    case KILN_U32: ((uint32_t *)to)[i] = (uint32_t)x; break;
    case KILN_I64: ((int64_t *)to)[i] = (int64_t)x; break;
    case KILN_U64: ((uint64_t *)to)[i] = (uint64_t)x; break;
    case KILN_F16: ((uint16_t *)to)[i] = half_bits(x); break;
    case KILN_BF16:
        ((uint16_t *)to)[i] = (uint16_t)(bits_of((float)rounded(x, 8, -125)) >> 16);
        break;
    case KILN_F32: ((float *)to)[i] = (float)x; break;
    case KILN_F64: ((double *)to)[i] = x; break;
    default: break; // no op has elements of the other types
    }
}

static double half_value(uint16_t u)
{
    int e = u >> 10 & 31;
    double m = u & 1023;
    double v = e == 31 ? (m != 0 ? (double)NAN : HUGE_VAL)
               : e     ? ldexp(1024 + m, e - 25)
                       : ldexp(m, -24);
    return u >> 15 ? -v : v;
}

double suite_get(kiln_type type, const void *from, size_t i)
{
    switch (type) {
    case KILN_BOOL:
    case KILN_U8: return ((const uint8_t *)from)[i];
    case KILN_I8: return ((const int8_t *)from)[i];
    case KILN_I16: return ((const int16_t *)from)[i];
    case KILN_U16: return ((const uint16_t *)from)[i];
    case KILN_I32: return ((const int32_t *)from)[i];
    case KILN_U32: return ((const uint32_t *)from)[i];
    case KILN_I64: return (double)((const int64_t *)from)[i];
    case KILN_U64: return (double)((const uint64_t *)from)[i];
    case KILN_F16: return half_value(((const uint16_t *)from)[i]);
    case KILN_BF16: {
        uint32_t u = (uint32_t)((const uint16_t *)from)[i] << 16;
        float x;
        memcpy(&x, &u, sizeof x);
        return (double)x;
    }
    case KILN_F32: return (double)((const float *)from)[i];
    case KILN_F64: return ((const double *)from)[i];
    default: break;
    }
    return 0;
}

double suite_random(uint64_t *state, double low, double high)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*state >> 11) * 0x1p-53;
}

// --- tensors
size_t suite_count(const op_tensor *t)
{
    size_t count = 1;
    for (uint32_t n = 0; n < t->rank; n++)
        count *= (size_t)t->sizes[n];
    return count;
}

kiln_status suite_view(kiln *k, const op_tensor *t, uint32_t layout, kiln_buffer **buffer,
                       kiln_view *out)
{
    uint64_t sizes[KILN_MAX_RANK] = {0};
    uint32_t order[KILN_MAX_RANK], last = t->rank ? t->rank - 1 : 0;
    for (uint32_t n = 0; n < t->rank; n++) {
        order[n] = layout == SUITE_TRANSPOSED ? last - n : n;
        sizes[n] = t->sizes[order[n]];
    }
    if (layout == SUITE_GAPS && t->rank)
        sizes[last] *= 2;
    size_t count = 1;
    for (uint32_t n = 0; n < t->rank; n++)
        count *= (size_t)sizes[n];
    const kiln_buffer_desc desc = {.type = t->type,
                                   .count = count + 2 * SUITE_GUARD + 1,
                                   .is_not_zeroed = true,
                                   .name = t->name};
    kiln_status status = kiln_buffer_make(k, &desc, buffer);
    if (status)
        return status;
    kiln_view v = kiln_view_of(*buffer, t->rank, sizes);
    v.first = SUITE_GUARD + (layout == SUITE_OFFSET);
    if (layout == SUITE_TRANSPOSED && t->rank)
        v = kiln_view_permute(v, order);
    if (layout == SUITE_GAPS && t->rank)
        v = kiln_view_slice(v, last, 0, KILN_TO_END, 2);
    if (layout == SUITE_FLIPPED && t->rank && t->sizes[0])
        v = kiln_view_flip(v, 0);
    *out = v;
    return KILN_OK;
}
