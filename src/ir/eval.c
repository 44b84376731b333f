// The meaning of every pure operation on bits. One function per family (integers of 32 and 64
// bits, floats, comparisons, conversions, packed halves); ir_eval picks. Nothing here depends on
// undefined behaviour of C: signed work is done on unsigned numbers or after a range test.
#include "ir/eval.h"

#include "ir/tables.h"

#include <math.h>

static float f32_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float v;
    memcpy(&v, &low, sizeof v);
    return v;
}

static uint64_t of_f32(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static double f64_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t of_f64(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

// --- narrow floats

typedef struct small_float {
    int exponent_bits, mantissa_bits, bias;
    bool has_infinity; // else the all-ones exponent holds numbers, and only all ones is a NaN
    uint32_t largest;  // finite, without the sign
    bool saturates;
} small_float;

static const small_float small_floats[] = {
    {5, 10, 15, true, 0x7bff, false}, // f16
    {8, 7, 127, true, 0x7f7f, false}, // bf16
    {4, 3, 7, false, 0x7e, true},     // f8e4
    {5, 2, 15, true, 0x7b, true},     // f8e5
};

static const small_float *small_of(ir_type t)
{
    must(t >= IR_F16 && t <= IR_F8E5);
    return &small_floats[t - IR_F16];
}

double ir_widen(ir_type t, uint32_t bits)
{
    const small_float *s = small_of(t);
    uint32_t sign = bits >> (s->exponent_bits + s->mantissa_bits) & 1;
    uint32_t exponent = bits >> s->mantissa_bits & ((1u << s->exponent_bits) - 1);
    uint32_t mantissa = bits & ((1u << s->mantissa_bits) - 1);
    uint32_t top = (1u << s->exponent_bits) - 1;
    bool is_special =
        exponent == top && (s->has_infinity || mantissa == (1u << s->mantissa_bits) - 1);
    if (is_special) {
        // A NaN keeps its payload in the top bits and becomes quiet.
        uint64_t wide = (uint64_t)mantissa << (52 - s->mantissa_bits);
        if (mantissa)
            wide |= (uint64_t)1 << 51;
        return f64_of((uint64_t)sign << 63 | (uint64_t)0x7ff << 52 | wide);
    }
    double v = exponent ? ldexp((double)(mantissa | 1u << s->mantissa_bits),
                                (int)exponent - s->bias - s->mantissa_bits)
                        : ldexp((double)mantissa, 1 - s->bias - s->mantissa_bits);
    return sign ? -v : v;
}

uint32_t ir_narrow(ir_type t, double v)
{
    const small_float *s = small_of(t);
    uint64_t bits = of_f64(v);
    uint32_t sign = (uint32_t)(bits >> 63) << (s->exponent_bits + s->mantissa_bits);
    uint32_t infinity = ((1u << s->exponent_bits) - 1) << s->mantissa_bits;
    uint32_t overflow = s->saturates ? s->largest : infinity;
    if (isnan(v)) {
        if (s->saturates)
            return sign | 0x7f;
        uint32_t payload =
            (uint32_t)(bits >> (52 - s->mantissa_bits)) & ((1u << s->mantissa_bits) - 1);
        return sign | infinity | 1u << (s->mantissa_bits - 1) | payload;
    }
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    if (isinf(v))
        return sign | overflow;
    // Zero, a denormal double, or less than half the smallest number of every small type.
    if (exponent < -300)
        return sign;
    int lowest = 1 - s->bias;
    int shift = 52 - s->mantissa_bits + (exponent < lowest ? lowest - exponent : 0);
    if (shift > 54)
        return sign;
    uint64_t kept = mantissa >> shift, rest = mantissa & (((uint64_t)1 << shift) - 1);
    uint64_t half = (uint64_t)1 << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    // A carry out of the mantissa moves into the exponent field by itself.
    uint64_t result =
        exponent < lowest ? kept : kept + ((uint64_t)(exponent - lowest) << s->mantissa_bits);
    return sign | (uint32_t)(exponent > 200 || result > s->largest ? overflow : result);
}

// --- integers

static uint32_t leading_zeros(uint64_t v, uint32_t width)
{
    return v ? (uint32_t)__builtin_clzll(v) - (64 - width) : width;
}

static uint64_t reversed(uint64_t v, uint32_t width)
{
    uint64_t out = 0;
    for (uint32_t i = 0; i < width; i++)
        out |= (v >> i & 1) << (width - 1 - i);
    return out;
}

static uint32_t permuted(uint32_t lo, uint32_t hi, uint32_t selector)
{
    uint64_t bytes = (uint64_t)hi << 32 | lo;
    uint32_t out = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t pick = selector >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(bytes >> (8 * (pick & 7))) & 255;
        if (pick & 8)
            byte = byte & 128 ? 255 : 0;
        out |= byte << (8 * i);
    }
    return out;
}

static uint32_t dot4(ir_op op, uint32_t a, uint32_t b, uint32_t c)
{
    for (int i = 0; i < 32; i += 8) {
        if (op == IR_DP4A_S)
            c += (uint32_t)((int32_t)(int8_t)(a >> i) * (int32_t)(int8_t)(b >> i));
        else
            c += (a >> i & 255) * (b >> i & 255);
    }
    return c;
}

static uint64_t high_unsigned(uint64_t a, uint64_t b)
{
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (mid2 >> 32);
}

static bool eval_int(ir_op op, uint32_t width, const uint64_t *in, uint64_t *out)
{
    uint64_t a = in[0], b = in[1], mask = width == 64 ? UINT64_MAX : UINT32_MAX;
    // Sign-extended views; 32-bit work in 64 bits is exact for all of these.
    int64_t sa = width == 64 ? (int64_t)a : (int32_t)a, sb = width == 64 ? (int64_t)b : (int32_t)b;
    uint32_t count = (uint32_t)b & (width - 1);
    uint64_t r = 0;
    switch ((ir_int_op)op) {
    case IR_ADD: r = a + b; break;
    case IR_SUB: r = a - b; break;
    case IR_MUL: r = a * b; break;
    case IR_UMULHI: r = width == 64 ? high_unsigned(a, b) : a * b >> 32; break;
    case IR_SMULHI:
        r = width == 64 ? high_unsigned(a, b) - (sa < 0 ? b : 0) - (sb < 0 ? a : 0)
                        : (uint64_t)(sa * sb) >> 32;
        break;
    case IR_SDIV: r = !sb ? 0 : sb == -1 ? 0 - a : (uint64_t)(sa / sb); break;
    case IR_SREM: r = !sb ? a : sb == -1 ? 0 : (uint64_t)(sa % sb); break;
    case IR_UDIV: r = b ? a / b : 0; break;
    case IR_UREM: r = b ? a % b : a; break;
    case IR_AND: r = a & b; break;
    case IR_OR: r = a | b; break;
    case IR_XOR: r = a ^ b; break;
    case IR_SHL: r = a << count; break;
    case IR_LSHR: r = a >> count; break;
    case IR_ASHR: r = (uint64_t)(sa < 0 ? ~(~sa >> count) : sa >> count); break;
    case IR_SMIN: r = sa < sb ? a : b; break;
    case IR_SMAX: r = sa > sb ? a : b; break;
    case IR_UMIN: r = a < b ? a : b; break;
    case IR_UMAX: r = a > b ? a : b; break;
    case IR_POPC: r = (uint64_t)__builtin_popcountll(a); break;
    case IR_CLZ: r = leading_zeros(a, width); break;
    case IR_CTZ: r = a ? (uint64_t)__builtin_ctzll(a) : width; break;
    case IR_BREV: r = reversed(a, width); break;
    case IR_FSHL: {
        uint32_t n = (uint32_t)in[2] & (width - 1);
        r = n ? a << n | b >> (width - n) : a;
        break;
    }
    case IR_PRMT: r = permuted((uint32_t)a, (uint32_t)b, (uint32_t)in[2]); break;
    case IR_DP4A_S:
    case IR_DP4A_U: r = dot4(op, (uint32_t)a, (uint32_t)b, (uint32_t)in[2]); break;
    }
    *out = r & mask;
    return true;
}

static bool eval_compare(ir_op op, ir_type t, const uint64_t *in, uint64_t *out)
{
    uint64_t a = in[0], b = in[1];
    int64_t sa = t == IR_I32 ? (int32_t)a : (int64_t)a, sb = t == IR_I32 ? (int32_t)b : (int64_t)b;
    double fa = t == IR_F32 ? (double)f32_of(a) : f64_of(a);
    double fb = t == IR_F32 ? (double)f32_of(b) : f64_of(b);
    switch ((ir_compare_op)op) {
    case IR_IEQ: *out = a == b; return true;
    case IR_INE: *out = a != b; return true;
    case IR_SLT: *out = sa < sb; return true;
    case IR_SLE: *out = sa <= sb; return true;
    case IR_ULT: *out = a < b; return true;
    case IR_ULE: *out = a <= b; return true;
    case IR_FEQ: *out = fa == fb; return true;
    case IR_FNE: *out = !(fa == fb); return true;
    case IR_FLT: *out = fa < fb; return true;
    case IR_FLE: *out = fa <= fb; return true;
    }
    return false;
}

// --- floats

static double pick_min(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double pick_max(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

static bool eval_f32(ir_op op, const uint64_t *in, uint64_t *out)
{
    float a = f32_of(in[0]), b = f32_of(in[1]), r = 0;
    switch ((ir_float_op)op) {
    case IR_FADD: r = a + b; break;
    case IR_FSUB: r = a - b; break;
    case IR_FMUL: r = a * b; break;
    case IR_FDIV: r = a / b; break;
    case IR_FFMA: r = fmaf(a, b, f32_of(in[2])); break;
    case IR_FSQRT: r = sqrtf(a); break;
    case IR_FMIN: r = (float)pick_min((double)a, (double)b); break;
    case IR_FMAX: r = (float)pick_max((double)a, (double)b); break;
    case IR_FFLOOR: r = floorf(a); break;
    case IR_FCEIL: r = ceilf(a); break;
    case IR_FTRUNC: r = truncf(a); break;
    case IR_FRINT: r = rintf(a); break;
    case IR_FNEG: *out = in[0] ^ 0x80000000u; return true;
    case IR_FABS: *out = in[0] & 0x7fffffffu; return true;
    case IR_FCOPYSIGN: *out = (in[0] & 0x7fffffffu) | (in[1] & 0x80000000u); return true;
    }
    *out = of_f32(r);
    return true;
}

static bool eval_f64(ir_op op, const uint64_t *in, uint64_t *out)
{
    double a = f64_of(in[0]), b = f64_of(in[1]), r = 0;
    uint64_t sign = (uint64_t)1 << 63;
    switch ((ir_float_op)op) {
    case IR_FADD: r = a + b; break;
    case IR_FSUB: r = a - b; break;
    case IR_FMUL: r = a * b; break;
    case IR_FDIV: r = a / b; break;
    case IR_FFMA: r = fma(a, b, f64_of(in[2])); break;
    case IR_FSQRT: r = sqrt(a); break;
    case IR_FMIN: r = pick_min(a, b); break;
    case IR_FMAX: r = pick_max(a, b); break;
    case IR_FFLOOR: r = floor(a); break;
    case IR_FCEIL: r = ceil(a); break;
    case IR_FTRUNC: r = trunc(a); break;
    case IR_FRINT: r = rint(a); break;
    case IR_FNEG: *out = in[0] ^ sign; return true;
    case IR_FABS: *out = in[0] & ~sign; return true;
    case IR_FCOPYSIGN: *out = (in[0] & ~sign) | (in[1] & sign); return true;
    }
    *out = of_f64(r);
    return true;
}

// a*b + c with one rounding to the small type: the product of two small floats is exact in a
// double, and rounding the sum to odd makes the second rounding harmless.
static double sum_to_odd(double product, double c)
{
    double sum = product + c;
    if (isnan(sum) || isinf(sum))
        return sum;
    double back = sum - product, error = (product - (sum - back)) + (c - back);
    uint64_t bits = of_f64(sum);
    if (error == 0 || (bits & 1))
        return sum;
    bits += (error > 0) == (sum > 0) ? 1u : UINT64_MAX;
    return f64_of(bits);
}

static bool eval_packed(ir_op op, ir_type lane, const uint64_t *in, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 32; shift += 16) {
        double a = ir_widen(lane, (uint32_t)(in[0] >> shift) & 0xffff);
        double b = ir_widen(lane, (uint32_t)(in[1] >> shift) & 0xffff), r = 0;
        switch ((ir_packed_op)op) {
        case IR_HADD2: r = a + b; break;
        case IR_HSUB2: r = a - b; break;
        case IR_HMUL2: r = a * b; break;
        case IR_HMIN2: r = pick_min(a, b); break;
        case IR_HMAX2: r = pick_max(a, b); break;
        case IR_HFMA2:
            r = sum_to_odd(a * b, ir_widen(lane, (uint32_t)(in[2] >> shift) & 0xffff));
            break;
        }
        *out |= (uint64_t)ir_narrow(lane, r) << shift;
    }
    return true;
}

// --- conversions

static uint32_t width_of(ir_type t)
{
    return t == IR_I1 ? 1 : ir_type_size(t) * 8;
}

static uint64_t low_bits(uint64_t v, uint32_t width)
{
    return width >= 64 ? v : v & (((uint64_t)1 << width) - 1);
}

static uint64_t sign_extended(uint64_t v, uint32_t width)
{
    uint64_t sign = (uint64_t)1 << (width - 1);
    return (low_bits(v, width) ^ sign) - sign;
}

static uint64_t to_signed(double v, uint32_t width)
{
    double limit = ldexp(1, (int)width - 1);
    if (isnan(v))
        return 0;
    if (v >= limit)
        return ((uint64_t)1 << (width - 1)) - 1;
    if (v < -limit)
        return (uint64_t)1 << (width - 1);
    return low_bits((uint64_t)(int64_t)v, width);
}

static uint64_t to_unsigned(double v, uint32_t width)
{
    if (isnan(v) || v <= -1 || v == 0)
        return 0;
    if (v >= ldexp(1, (int)width))
        return low_bits(UINT64_MAX, width);
    return v < 0 ? 0 : (uint64_t)v;
}

static uint64_t widen_to(ir_type to, ir_type from, uint64_t bits)
{
    if (to == IR_F64)
        return of_f64((double)f32_of(bits));
    return of_f32((float)ir_widen(from, (uint32_t)bits));
}

static uint64_t narrow_to(ir_type to, uint64_t bits)
{
    if (to == IR_F32)
        return of_f32((float)f64_of(bits));
    return ir_narrow(to, (double)f32_of(bits));
}

static bool eval_convert(ir_op op, ir_type to, ir_type from, uint64_t a, uint64_t *out)
{
    double real = from == IR_F32 ? (double)f32_of(a) : f64_of(a);
    int64_t sa = from == IR_I32 ? (int32_t)a : (int64_t)a;
    switch ((ir_convert_op)op) {
    case IR_TRUNC: *out = low_bits(a, width_of(to)); return true;
    case IR_ZEXT: *out = a; return true;
    case IR_SEXT: *out = low_bits(sign_extended(a, width_of(from)), width_of(to)); return true;
    case IR_SITOF: *out = to == IR_F32 ? of_f32((float)sa) : of_f64((double)sa); return true;
    case IR_UITOF: *out = to == IR_F32 ? of_f32((float)a) : of_f64((double)a); return true;
    case IR_FTOSI: *out = to_signed(real, width_of(to)); return true;
    case IR_FTOUI: *out = to_unsigned(real, width_of(to)); return true;
    case IR_FEXT: *out = widen_to(to, from, a); return true;
    case IR_FNARROW: *out = narrow_to(to, a); return true;
    case IR_BITCAST:
    case IR_PTRTOINT:
    case IR_INTTOPTR: *out = a; return true;
    case IR_PTRCAST: break; // pointers are the target's
    }
    return false;
}

bool ir_eval(ir_op op, ir_type t, uint32_t aux, const uint64_t *operands, uint64_t *out)
{
    uint64_t in[3] = {0};
    for (uint32_t k = 0; k < ir_op_rows[op].operands && k < COUNT(in); k++)
        in[k] = operands[k];
    switch (ir_op_family(op)) {
    case IR_FAM_INT: return eval_int(op, t == IR_I64 ? 64 : 32, in, out);
    case IR_FAM_FLOAT: return t == IR_F32 ? eval_f32(op, in, out) : eval_f64(op, in, out);
    case IR_FAM_COMPARE: return eval_compare(op, t, in, out);
    case IR_FAM_SELECT: *out = in[0] ? in[1] : in[2]; return true;
    case IR_FAM_CONVERT: return eval_convert(op, t, (ir_type)aux, in[0], out);
    case IR_FAM_PACKED: return eval_packed(op, (ir_type)aux, in, out);
    case IR_FAM_GROUP: *out = in[0]; return op == IR_UNIFORM;
    case IR_FAM_FAST: // outside the promise of equal bits
    case IR_FAM_MEMORY:
    case IR_FAM_GEOMETRY:
    case IR_FAM_NVIDIA:
    case IR_FAM_WORLD:
    case IR_FAM_CALL:
    case IR_FAM_CONTROL:
    case IR_FAM_END:
    case IR_FAM_NONE:
    case IR_FAM_COUNT: break;
    }
    return false;
}
