// Floats and conversions: what an instruction gives one lane. Sums, products and roundings are the
// host's, which are IEEE's as the GPU's are. MUFU is not: a GPU's table is replaced by the nearest
// float, which the code around it refines to the same result. The table is at the end.
#include "sass.h"

#include <fenv.h>
#include <math.h>

static void round_by(const sass_inst *i)
{
    fesetround(sass_has(i, SASS_RM)   ? FE_DOWNWARD
               : sass_has(i, SASS_RP) ? FE_UPWARD
               : sass_has(i, SASS_RZ) ? FE_TOWARDZERO
                                      : FE_TONEAREST);
}

static uint32_t flush(const sass_inst *i, uint32_t bits)
{
    return sass_has(i, SASS_FTZ) && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
}

static float in(sass_lane *l, const sass_inst *i, uint32_t n)
{
    return sass_float(flush(i, sass_f32(l, i->operands + n)));
}

static void out(sass_lane *l, const sass_inst *i, float value)
{
    uint32_t bits = value != value ? 0x7fffffff : flush(i, sass_float_bits(value));
    if (sass_has(i, SASS_SAT))
        bits = value > 1 ? 0x3f800000 : value > 0 ? bits : 0;
    sass_set(l, i->operands, bits);
}

static void fadd(sass_lane *l, const sass_inst *i)
{
    volatile float a = in(l, i, 1), b = in(l, i, 2);
    round_by(i);
    volatile float sum = a + b;
    fesetround(FE_TONEAREST);
    out(l, i, sum);
}

static void fmul(sass_lane *l, const sass_inst *i)
{
    volatile float a = in(l, i, 1), b = in(l, i, 2);
    round_by(i);
    volatile float p = a * b;
    fesetround(FE_TONEAREST);
    out(l, i, p);
}

static void ffma(sass_lane *l, const sass_inst *i)
{
    volatile float a = in(l, i, 1), b = in(l, i, 2), c = in(l, i, 3);
    round_by(i);
    volatile float sum = fmaf(a, b, c);
    fesetround(FE_TONEAREST);
    out(l, i, sum);
}

static void dout(sass_lane *l, const sass_inst *i, double value)
{
    sass_set64(l, i->operands, value != value ? 0xfff8000000000000 : sass_double_bits(value));
}

static void dadd(sass_lane *l, const sass_inst *i)
{
    volatile double a = sass_double(sass_f64(l, i->operands + 1));
    volatile double b = sass_double(sass_f64(l, i->operands + 2));
    round_by(i);
    volatile double sum = a + b;
    fesetround(FE_TONEAREST);
    dout(l, i, sum);
}

static void dmul(sass_lane *l, const sass_inst *i)
{
    volatile double a = sass_double(sass_f64(l, i->operands + 1));
    volatile double b = sass_double(sass_f64(l, i->operands + 2));
    round_by(i);
    volatile double p = a * b;
    fesetround(FE_TONEAREST);
    dout(l, i, p);
}

static void dfma(sass_lane *l, const sass_inst *i)
{
    volatile double a = sass_double(sass_f64(l, i->operands + 1));
    volatile double b = sass_double(sass_f64(l, i->operands + 2));
    volatile double c = sass_double(sass_f64(l, i->operands + 3));
    round_by(i);
    volatile double sum = fma(a, b, c);
    fesetround(FE_TONEAREST);
    dout(l, i, sum);
}

// --- comparisons

static bool compare(const sass_inst *i, double a, double b)
{
    bool is_unordered = isnan(a) || isnan(b);
    static const struct {
        sass_mod mod;
        bool less, equal, greater, unordered;
    } rows[] = {
        {SASS_LT, 1, 0, 0, 0},  {SASS_LE, 1, 1, 0, 0},  {SASS_GT, 0, 0, 1, 0},
        {SASS_GE, 0, 1, 1, 0},  {SASS_EQ, 0, 1, 0, 0},  {SASS_NE, 1, 0, 1, 0},
        {SASS_LTU, 1, 0, 0, 1}, {SASS_LEU, 1, 1, 0, 1}, {SASS_GTU, 0, 0, 1, 1},
        {SASS_GEU, 0, 1, 1, 1}, {SASS_EQU, 0, 1, 0, 1}, {SASS_NEU, 1, 0, 1, 1},
        {SASS_NUM, 1, 1, 1, 0}, {SASS_NAN, 0, 0, 0, 1},
    };
    for (uint32_t n = 0; n < sizeof rows / sizeof rows[0]; n++)
        if (sass_has(i, rows[n].mod))
            return is_unordered ? rows[n].unordered
                   : a < b      ? rows[n].less
                   : a == b     ? rows[n].equal
                                : rows[n].greater;
    return false;
}

static bool join(const sass_inst *i, bool a, bool b)
{
    return sass_has(i, SASS_AND) ? a && b : sass_has(i, SASS_OR) ? a || b : a != b;
}

static void fsetp(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    bool holds = compare(i, in(l, i, 2), in(l, i, 3)), other = sass_p(l, o + 4);
    sass_set_p(l, o, join(i, holds, other));
    sass_set_p(l, o + 1, join(i, !holds, other));
}

static void fset(sass_lane *l, const sass_inst *i)
{
    bool holds = join(i, compare(i, in(l, i, 1), in(l, i, 2)), sass_p(l, i->operands + 3));
    sass_set(l, i->operands, !holds ? 0 : sass_has(i, SASS_BF) ? 0x3f800000 : UINT32_MAX);
}

static bool is_first(double a, double b, bool is_min)
{
    if (a == b)
        return (signbit(a) != 0) == is_min;
    return (a < b) == is_min;
}

static void dsetp(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    double a = sass_double(sass_f64(l, o + 2)), b = sass_double(sass_f64(l, o + 3));
    bool other = sass_p(l, o + 4);
    if (sass_has(i, SASS_MIN) || sass_has(i, SASS_MAX)) { // which is it, and are both NaN
        bool is_a = !isnan(a) && (isnan(b) || is_first(a, b, sass_has(i, SASS_MIN)));
        sass_set_p(l, o, is_a && other);
        sass_set_p(l, o + 1, isnan(a) && isnan(b) && other);
        return;
    }
    bool holds = compare(i, a, b);
    sass_set_p(l, o, join(i, holds, other));
    sass_set_p(l, o + 1, join(i, !holds, other));
}

static void fmnmx(sass_lane *l, const sass_inst *i)
{
    float a = in(l, i, 1), b = in(l, i, 2);
    bool is_min = sass_p(l, i->operands + 3);
    if (isnan(a) || isnan(b))
        out(l, i,
            sass_has(i, SASS_NAN) || isnan(b) ? (isnan(a) || sass_has(i, SASS_NAN) ? NAN : a) : b);
    else
        out(l, i, is_first(a, b, is_min) ? a : b);
}

static void fsel(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    sass_set(l, o, flush(i, sass_f32(l, o + (sass_p(l, o + 3) ? 1 : 2))));
}

// --- functions

static void mufu(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    if (sass_has(i, SASS_RCP64H) || sass_has(i, SASS_RSQ64H)) { // of the upper half
        double x = sass_double((uint64_t)sass_f32(l, o + 1) << 32);
        x = sass_has(i, SASS_RCP64H) ? 1 / x : 1 / sqrt(x);
        sass_set(l, o, isnan(x) ? 0xfff80000 : (uint32_t)(sass_double_bits(x) >> 32));
        return;
    }
    double x = in(l, i, 1), y = NAN;
    if (fabs(x) < 0x1p-126 && !sass_has(i, SASS_TANH)) // denormals are zero
        x = copysign(0, x);
    if (sass_has(i, SASS_RCP))
        y = 1 / x;
    else if (sass_has(i, SASS_RSQ))
        y = 1 / sqrt(x);
    else if (sass_has(i, SASS_SQRT))
        y = sqrt(x);
    else if (sass_has(i, SASS_EX2))
        y = exp2(x);
    else if (sass_has(i, SASS_LG2))
        y = log2(x);
    else if (sass_has(i, SASS_SIN)) // operands are parts of a turn
        y = sin(x * 6.283185307179586477);
    else if (sass_has(i, SASS_COS))
        y = cos(x * 6.283185307179586477);
    else if (sass_has(i, SASS_TANH))
        y = tanh(x);
    else
        sass_fail(l->warp, i, "a function that is not known");
    float result = (float)y;
    out(l, i, fabsf(result) < 0x1p-126f ? copysignf(0, result) : result);
}

// May the short division be wrong? Where exponents are far from the middle, the long one is taken.
static void fchk(sass_lane *l, const sass_inst *i)
{
    uint32_t a = sass_f32(l, i->operands + 1), b = sass_f32(l, i->operands + 2);
    int x = (int)(a >> 23 & 255) - 127, y = (int)(b >> 23 & 255) - 127;
    sass_set_p(l, i->operands, x < -60 || x > 60 || y < -60 || y > 60);
}

// --- conversions

static double whole(const sass_inst *i, double x)
{
    return sass_has(i, SASS_TRUNC)   ? trunc(x)
           : sass_has(i, SASS_FLOOR) ? floor(x)
           : sass_has(i, SASS_CEIL)  ? ceil(x)
                                     : rint(x);
}

static void f2i(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    double x = sass_has(i, SASS_F64) ? sass_double(sass_f64(l, o + 1)) : in(l, i, 1);
    x = whole(i, x);
    bool is_wide = sass_has(i, SASS_S64) || sass_has(i, SASS_U64);
    bool is_unsigned = sass_has(i, SASS_U64) || sass_has(i, SASS_U32) || sass_has(i, SASS_U16) ||
                       sass_has(i, SASS_U8);
    int bits = is_wide                                          ? 64
               : sass_has(i, SASS_U16) || sass_has(i, SASS_S16) ? 16
               : sass_has(i, SASS_U8) || sass_has(i, SASS_S8)   ? 8
                                                                : 32;
    uint64_t top = is_unsigned ? (bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1)
                               : ((uint64_t)1 << (bits - 1)) - 1;
    uint64_t bottom = is_unsigned ? 0 : ~top, value;
    if (isnan(x))
        value = sass_has(i, SASS_NTZ) ? 0 : (uint64_t)1 << (bits - 1);
    else if (x >= ldexp(1, is_unsigned ? bits : bits - 1))
        value = top;
    else if (x <= (is_unsigned ? 0 : -ldexp(1, bits - 1)))
        value = bottom;
    else
        value = is_unsigned ? (uint64_t)x : (uint64_t)(int64_t)x;
    if (is_wide)
        sass_set64(l, o, value);
    else
        sass_set(l, o, (uint32_t)value);
}

static void i2f(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    bool is_wide = sass_has(i, SASS_S64) || sass_has(i, SASS_U64);
    uint64_t x = is_wide ? sass_i64(l, o + 1) : sass_i32(l, o + 1);
    if (is_wide && o[1].kind == SASS_NUMBER) // the upper half
        x <<= 32;
    bool is_unsigned = sass_has(i, SASS_U64) || sass_has(i, SASS_U32) || sass_has(i, SASS_U16) ||
                       sass_has(i, SASS_U8);
    if (sass_has(i, SASS_U16) || sass_has(i, SASS_S16))
        x = is_unsigned ? (uint16_t)x : (uint64_t)(int64_t)(int16_t)x;
    else if (sass_has(i, SASS_U8) || sass_has(i, SASS_S8))
        x = is_unsigned ? (uint8_t)x : (uint64_t)(int64_t)(int8_t)x;
    else if (!is_wide && !is_unsigned)
        x = (uint64_t)(int64_t)(int32_t)x;
    round_by(i);
    if (sass_has(i, SASS_F64)) {
        volatile double d = is_unsigned ? (double)x : (double)(int64_t)x;
        fesetround(FE_TONEAREST);
        dout(l, i, d);
    } else {
        volatile float f = is_unsigned ? (float)x : (float)(int64_t)x;
        fesetround(FE_TONEAREST);
        out(l, i, f);
    }
}

static void frnd(sass_lane *l, const sass_inst *i)
{
    bool is_double = sass_has(i, SASS_F64);
    double x = is_double ? sass_double(sass_f64(l, i->operands + 1)) : in(l, i, 1);
    x = whole(i, x);
    if (is_double)
        dout(l, i, x);
    else
        out(l, i, (float)x);
}

// --- halves

static double half(uint32_t bits, bool is_bf16)
{
    if (is_bf16)
        return sass_float(bits << 16);
    int exponent = (int)(bits >> 10 & 31);
    double m = bits & 1023, x = exponent == 31 ? (m != 0 ? NAN : INFINITY)
                                : exponent     ? ldexp(m + 1024, exponent - 25)
                                               : ldexp(m, -24);
    return bits >> 15 & 1 ? -x : x;
}

// To the nearest, or towards zero
static uint32_t half_bits(double x, bool is_bf16, bool is_down)
{
    int most = is_bf16 ? 127 : 15, digits = is_bf16 ? 7 : 10, least = is_bf16 ? -126 : -14;
    uint32_t sign = signbit(x) ? 0x8000 : 0, infinite = is_bf16 ? 0x7f80 : 0x7c00;
    if (isnan(x))
        return 0x7fff;
    x = fabs(x);
    if (isinf(x))
        return sign | infinite;
    if (x == 0)
        return sign;
    int e;
    frexp(x, &e);
    e = e - 1 < least ? least : e - 1;
    double units = ldexp(x, digits - e), whole = is_down ? trunc(units) : rint(units);
    if (ldexp(whole, e - digits) >= ldexp(1, most + 1))
        return sign | (is_down ? infinite - 1 : infinite);
    if (whole < ldexp(1, digits))
        return sign | (uint32_t)whole;
    return sign | (uint32_t)((int64_t)whole - ((int64_t)1 << digits) +
                             ((int64_t)(e - least + 1) << digits));
}

// Result, then source
static void f2f(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    sass_mod to = i->mod_order[i->mod_count - 2], from = i->mod_order[i->mod_count - 1];
    if (from == SASS_F64 && to == SASS_F32) {
        volatile double x = sass_double(sass_f64(l, o + 1));
        round_by(i);
        volatile float f = (float)x;
        fesetround(FE_TONEAREST);
        out(l, i, f);
    } else if (from == SASS_F32 && to == SASS_F64) // a NaN keeps sign and bits, as on the host
        sass_set64(l, o, sass_double_bits(in(l, i, 1)));
    else if (from == SASS_F32 && (to == SASS_F16 || to == SASS_BF16))
        sass_set(l, o, half_bits(in(l, i, 1), to == SASS_BF16, sass_has(i, SASS_RZ)));
    else if (from == SASS_F64 && to == SASS_F16)
        sass_set(l, o, half_bits(sass_double(sass_f64(l, o + 1)), false, sass_has(i, SASS_RZ)));
    else
        sass_fail(l->warp, i, "a conversion that is not known");
}

// 8 bits: to the nearest, and no more than the largest number
static uint32_t byte_bits(double x, bool is_e4m3)
{
    int digits = is_e4m3 ? 3 : 2, least = is_e4m3 ? -6 : -14, e;
    uint32_t sign = signbit(x) ? 0x80 : 0, most = is_e4m3 ? 0x7e : 0x7b;
    if (isnan(x))
        return 0x7f;
    if (x == 0)
        return sign;
    if (isinf(x))
        return sign | most;
    frexp(x, &e);
    e = e - 1 < least ? least : e - 1;
    double units = rint(ldexp(fabs(x), digits - e));
    if (e > 15)
        return sign | most;
    int64_t bits = units < ldexp(1, digits)
                       ? (int64_t)units
                       : (int64_t)units - (1 << digits) + ((int64_t)(e - least + 1) << digits);
    return sign | (bits > most ? most : (uint32_t)bits);
}

static double byte_value(uint32_t bits, bool is_e4m3)
{
    int digits = is_e4m3 ? 3 : 2, bias = is_e4m3 ? 7 : 15;
    uint32_t m = bits & ((1u << digits) - 1), e = bits >> digits & (is_e4m3 ? 15 : 31);
    double x = e ? ldexp(m + (1u << digits), (int)e - bias - digits) : ldexp(m, 1 - bias - digits);
    if (is_e4m3 ? (bits & 0x7f) == 0x7f : e == 31)
        x = is_e4m3 || m ? NAN : INFINITY;
    return bits & 0x80 ? -x : x;
}

static void f2fp(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    bool is_e4m3 = sass_has(i, SASS_E4M3);
    if (sass_has(i, SASS_UNPACK_B)) {
        uint32_t bits = sass_i32(l, o + 1);
        uint32_t high = half_bits(byte_value(bits >> 8 & 255, is_e4m3), false, false);
        sass_set(l, o, high << 16 | half_bits(byte_value(bits & 255, is_e4m3), false, false));
        return;
    }
    if (sass_has(i, SASS_PACK_AB_MERGE_C)) {
        uint32_t high = byte_bits(in(l, i, 1), is_e4m3);
        sass_set(l, o, sass_i32(l, o + 3) << 16 | high << 8 | byte_bits(in(l, i, 2), is_e4m3));
        return;
    }
    bool is_bf16 = sass_has(i, SASS_BF16), is_down = sass_has(i, SASS_RZ);
    uint32_t high = half_bits(in(l, i, 1), is_bf16, is_down);
    sass_set(l, o, high << 16 | half_bits(in(l, i, 2), is_bf16, is_down));
}

// The numbers of two halves: registers have both in one operand, decimal numbers one in each.
typedef struct pair {
    double low, high;
} pair;

static pair take_pair(sass_lane *l, const sass_inst *i, uint32_t *at, bool is_bf16)
{
    const sass_operand *o = &i->operands[(*at)++];
    pair p;
    *at += o->is_decimal; // the other half
    sass_operand whole = *o;
    whole.part = 0;
    uint32_t bits = sass_raw(l, &whole);
    p.low = half(o->part == 2 ? bits >> 16 : bits & 0xffff, is_bf16);
    p.high = half(o->part == 1 ? bits & 0xffff : bits >> 16, is_bf16);
    if (o->is_absolute)
        p.low = fabs(p.low), p.high = fabs(p.high);
    if (o->is_negative)
        p.low = -p.low, p.high = -p.high;
    return p;
}

static void set_pair(sass_lane *l, const sass_inst *i, pair p, bool is_bf16)
{
    sass_set(l, i->operands,
             half_bits(p.high, is_bf16, false) << 16 | half_bits(p.low, is_bf16, false));
}

static void hadd2(sass_lane *l, const sass_inst *i)
{
    bool is_bf16 = sass_has(i, SASS_BF16_V2);
    uint32_t at = 1;
    pair a = take_pair(l, i, &at, is_bf16), b = take_pair(l, i, &at, is_bf16);
    pair sum = {a.low + b.low, a.high + b.high};
    if (sass_has(i, SASS_F32))
        out(l, i, (float)sum.low);
    else
        set_pair(l, i, sum, is_bf16);
}

static void hmul2(sass_lane *l, const sass_inst *i)
{
    bool is_bf16 = sass_has(i, SASS_BF16_V2);
    uint32_t at = 1;
    pair a = take_pair(l, i, &at, is_bf16), b = take_pair(l, i, &at, is_bf16);
    set_pair(l, i, (pair){a.low * b.low, a.high * b.high}, is_bf16);
}

// A sum of a product that is rounded once: in double it is exact, or so far from a tie that
// rounding to odd decides.
static double fused(double a, double b, double c)
{
    volatile double p = a * b, sum = p + c, back = sum - p, rest = (p - (sum - back)) + (c - back);
    uint64_t bits = sass_double_bits(sum);
    if (rest != 0 && isfinite(sum) && !(bits & 1))
        bits += (rest > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    return sass_double(bits);
}

static void hfma2(sass_lane *l, const sass_inst *i)
{
    bool is_bf16 = sass_has(i, SASS_BF16_V2);
    uint32_t at = 1;
    pair a = take_pair(l, i, &at, is_bf16), b = take_pair(l, i, &at, is_bf16),
         c = take_pair(l, i, &at, is_bf16);
    set_pair(l, i, (pair){fused(a.low, b.low, c.low), fused(a.high, b.high, c.high)}, is_bf16);
}

static double extreme(double a, double b, bool is_min)
{
    return isnan(a) ? b : isnan(b) ? a : is_first(a, b, is_min) ? a : b;
}

static void hmnmx2(sass_lane *l, const sass_inst *i)
{
    bool is_bf16 = sass_has(i, SASS_BF16_V2);
    uint32_t at = 1;
    pair a = take_pair(l, i, &at, is_bf16), b = take_pair(l, i, &at, is_bf16);
    bool is_min = sass_p(l, i->operands + at);
    set_pair(l, i, (pair){extreme(a.low, b.low, is_min), extreme(a.high, b.high, is_min)}, is_bf16);
}

const sass_row sass_float_rows[] = {
    {"FADD", fadd, NULL, "FTZ SAT RM RP RZ"},
    {"FMUL", fmul, NULL, "FTZ SAT RM RP RZ"},
    {"FFMA", ffma, NULL, "FTZ SAT RM RP RZ"},
    {"DADD", dadd, NULL, "RM RP RZ"},
    {"DMUL", dmul, NULL, "RM RP RZ"},
    {"DFMA", dfma, NULL, "RM RP RZ"},
    {"FSETP", fsetp, NULL, "LT LE GT GE EQ NE LTU LEU GTU GEU EQU NEU NUM NAN AND OR XOR FTZ"},
    {"FSET", fset, NULL, "BF LT LE GT GE EQ NE LTU LEU GTU GEU EQU NEU NUM NAN AND OR XOR FTZ"},
    {"DSETP", dsetp, NULL, "LT LE GT GE EQ NE LTU LEU GTU GEU EQU NEU NUM NAN AND OR XOR MIN MAX"},
    {"FMNMX", fmnmx, NULL, "FTZ NAN"},
    {"FSEL", fsel, NULL, "FTZ"},
    {"MUFU", mufu, NULL, "RCP RSQ SQRT EX2 LG2 SIN COS TANH RCP64H RSQ64H"},
    {"FCHK", fchk, NULL, ""},
    {"F2I", f2i, NULL, "FTZ U8 S8 U16 S16 U32 S64 U64 F64 TRUNC FLOOR CEIL NTZ"},
    {"I2F", i2f, NULL, "S8 U8 S16 U16 U32 S64 U64 F64 RM RP RZ"},
    {"I2FP", i2f, NULL, "F32 S32 U32 RM RP RZ"},
    {"F2F", f2f, NULL, "F16 BF16 F32 F64 FTZ RM RP RZ"},
    {"FRND", frnd, NULL, "F64 FTZ TRUNC FLOOR CEIL"},
    {"F2FP", f2fp, NULL, "F16 BF16 F32 PACK_AB RZ E5M2 E4M3 UNPACK_B SATFINITE PACK_AB_MERGE_C"},
    {"HADD2", hadd2, NULL, "F32 BF16_V2"},
    {"HMUL2", hmul2, NULL, "BF16_V2"},
    {"HFMA2", hfma2, NULL, "MMA BF16_V2"},
    {"HMNMX2", hmnmx2, NULL, "BF16_V2"},
    {0},
};
