// Integers, bits, predicates and moves: what an instruction gives one lane. The table is at the
// end.
#include "sass.h"

// Where the operands of sums lie: a result, up to two predicates for carries, the sources, then
// predicates that are added.
typedef struct sum_operands {
    const sass_operand *carry_out[2], *source[4], *in[2];
    uint32_t outs, sources, ins;
} sum_operands;

static sum_operands sum_operands_of(const sass_inst *i)
{
    sum_operands s = {0};
    for (uint32_t n = 1; n < i->operand_count; n++) {
        const sass_operand *o = &i->operands[n];
        if (o->kind != SASS_PRED && s.sources < 4)
            s.source[s.sources++] = o;
        else if (!s.sources && s.outs < 2)
            s.carry_out[s.outs++] = o;
        else if (s.ins < 2)
            s.in[s.ins++] = o;
    }
    return s;
}

// The carry of a sum tells a difference by the complement and one.
static uint64_t summand(sass_lane *l, const sass_operand *o)
{
    if (!o->is_negative)
        return sass_i32(l, o);
    sass_operand plain = *o;
    plain.is_negative = false;
    return (uint64_t)(uint32_t)~sass_i32(l, &plain) + 1;
}

static void iadd3(sass_lane *l, const sass_inst *i)
{
    sum_operands s = sum_operands_of(i);
    uint64_t sum = 0;
    if (s.sources != 3) {
        sass_fail(l->warp, i, "operands that are not known");
        return;
    }
    for (uint32_t n = 0; n < 3; n++)
        sum += summand(l, s.source[n]);
    for (uint32_t n = 0; n < s.ins; n++)
        sum += sass_p(l, s.in[n]);
    uint64_t carry = sum >> 32;
    for (uint32_t n = 0; n < s.outs; n++)
        sass_set_p(l, s.carry_out[n], carry > n);
    sass_set(l, &i->operands[0], (uint32_t)sum);
}

static void viadd(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    sass_set(l, o, sass_i32(l, o + 1) + sass_i32(l, o + 2));
}

static uint64_t product(sass_lane *l, const sass_operand *a, const sass_operand *b, bool is_signed)
{
    return is_signed ? (uint64_t)((int64_t)(int32_t)sass_i32(l, a) * (int32_t)sass_i32(l, b))
                     : (uint64_t)sass_i32(l, a) * sass_i32(l, b);
}

static void imad(sass_lane *l, const sass_inst *i)
{
    sum_operands s = sum_operands_of(i);
    if (s.sources != 3) {
        sass_fail(l->warp, i, "operands that are not known");
        return;
    }
    bool is_wide = sass_has(i, SASS_WIDE), is_high = sass_has(i, SASS_HI);
    uint64_t p = product(l, s.source[0], s.source[1], !sass_has(i, SASS_U32));
    uint64_t in = s.ins ? sass_p(l, s.in[0]) : 0;
    if (!is_wide && !is_high) {
        uint64_t sum = (uint64_t)(uint32_t)p + summand(l, s.source[2]) + in;
        for (uint32_t n = 0; n < s.outs; n++)
            sass_set_p(l, s.carry_out[n], sum >> 32 > n);
        sass_set(l, i->operands, (uint32_t)sum);
        return;
    }
    uint64_t c = sass_i64(l, s.source[2]), sum = p + c;
    bool carries = sum < p;
    sum += in;
    carries |= sum < in;
    for (uint32_t n = 0; n < s.outs; n++)
        sass_set_p(l, s.carry_out[n], n == 0 && carries);
    if (is_wide)
        sass_set64(l, i->operands, sum);
    else
        sass_set(l, i->operands, (uint32_t)(sum >> 32));
}

// Products of four pairs of bytes, or of two halves with two bytes: .LO the lower ones, .HI the
// upper.
static void idp(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t a = sass_i32(l, o + 1), b = sass_i32(l, o + 2), sum = sass_i32(l, o + 3);
    bool has_halves = sass_has(i, SASS_2A);
    sass_mod types[2] = {i->mod_order[i->mod_count - 2], i->mod_order[i->mod_count - 1]};
    b = has_halves && sass_has(i, SASS_HI) ? b >> 16 : b;
    for (uint32_t n = 0; n < (has_halves ? 2u : 4u); n++) {
        uint32_t half = a >> 16 * n & 0xffff, byte = a >> 8 * n & 0xff, factor = b >> 8 * n & 0xff;
        int32_t x = has_halves ? (types[0] == SASS_S16 ? (int16_t)half : (int32_t)half)
                               : (types[0] == SASS_S8 ? (int8_t)byte : (int32_t)byte);
        int32_t y = types[1] == SASS_S8 ? (int8_t)factor : (int32_t)factor;
        sum += (uint32_t)(x * y);
    }
    sass_set(l, o, sum);
}

// Shifted left and added; .HI takes the upper half of a pair.
static void lea(sass_lane *l, const sass_inst *i)
{
    sum_operands s = sum_operands_of(i);
    bool is_high = sass_has(i, SASS_HI), has_pair = is_high && !sass_has(i, SASS_SX32);
    if (s.sources != (has_pair ? 4u : 3u)) {
        sass_fail(l->warp, i, "operands that are not known");
        return;
    }
    sass_operand plain = *s.source[0];
    plain.is_negative = plain.is_inverted = false;
    bool is_difference = s.source[0]->is_negative, is_inverted = s.source[0]->is_inverted;
    if (is_difference && is_high) {
        sass_fail(l->warp, i, "the upper half of a difference that is not known");
        return;
    }
    uint32_t low = sass_i32(l, &plain);
    uint32_t count = sass_i32(l, s.source[has_pair ? 3 : 2]) & 31;
    uint64_t wide = low;
    if (has_pair)
        wide |= (uint64_t)sass_i32(l, s.source[2]) << 32;
    else if (is_high)
        wide = (uint64_t)(int64_t)(int32_t)low;
    // ~ is the whole pair's, as - is of a sum with a carry.
    wide = is_inverted ? ~wide : wide;
    uint32_t shifted = is_high ? (uint32_t)(wide << count >> 32) : (uint32_t)wide << count;
    uint64_t sum = summand(l, s.source[1]);
    sum += is_difference ? (uint64_t)(uint32_t)~shifted + 1 : shifted;
    for (uint32_t n = 0; n < s.ins; n++)
        sum += sass_p(l, s.in[n]);
    for (uint32_t n = 0; n < s.outs; n++)
        sass_set_p(l, s.carry_out[n], sum >> 32 > n);
    sass_set(l, i->operands, (uint32_t)sum);
}

static void shf(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint64_t pair = sass_i32(l, o + 1) | (uint64_t)sass_i32(l, o + 3) << 32;
    bool is_wide = sass_has(i, SASS_U64) || sass_has(i, SASS_S64);
    bool is_signed = sass_has(i, SASS_S64) || sass_has(i, SASS_S32);
    uint32_t width = is_wide ? 64 : 32, count = sass_i32(l, o + 2);
    count = sass_has(i, SASS_W) ? count & (width - 1) : count > width ? width : count;
    uint64_t value;
    if (sass_has(i, SASS_L))
        value = count > 63 ? 0 : pair << count;
    else if (is_signed)
        value = (uint64_t)((int64_t)pair >> (count > 63 ? 63 : count));
    else
        value = count > 63 ? 0 : pair >> count;
    sass_set(l, o, (uint32_t)(sass_has(i, SASS_HI) ? value >> 32 : value));
}

static uint32_t lut(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t value = 0;
    for (uint32_t n = 0; n < 8; n++)
        if (table >> n & 1)
            value |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
    return value;
}

static void lop3(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands, *out = o->kind == SASS_PRED ? o++ : NULL;
    uint32_t value =
        lut(sass_i32(l, o + 1), sass_i32(l, o + 2), sass_i32(l, o + 3), sass_i32(l, o + 4));
    if (out && sass_has(i, SASS_PAND))
        sass_set_p(l, out, value != 0 && sass_p(l, o + 5));
    else if (out)
        sass_set_p(l, out, value != 0 || sass_p(l, o + 5));
    sass_set(l, o, value);
}

static void plop3(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t in[3];
    for (uint32_t n = 0; n < 3; n++)
        in[n] = sass_p(l, o + 2 + n) ? ~0u : 0;
    bool first = lut(in[0], in[1], in[2], sass_i32(l, o + 5)) & 1;
    bool second = lut(in[0], in[1], in[2], sass_i32(l, o + 6)) & 1;
    sass_set_p(l, o, first);
    sass_set_p(l, o + 1, second);
}

static bool join(const sass_inst *i, bool a, bool b)
{
    return sass_has(i, SASS_AND) ? a && b : sass_has(i, SASS_OR) ? a || b : a != b;
}

static void isetp(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t a = sass_i32(l, o + 2), b = sass_i32(l, o + 3);
    bool is_less = sass_has(i, SASS_U32) ? a < b : (int32_t)a < (int32_t)b;
    bool is_equal = a == b, low = true, holds = false;
    bool is_strict = sass_has(i, SASS_LT) || sass_has(i, SASS_GT) || sass_has(i, SASS_NE);
    if (sass_has(i, SASS_EX)) // of the lower halves
        low = sass_p(l, o + 5);
    else
        low = !is_strict;
    if (sass_has(i, SASS_EQ))
        holds = is_equal && low;
    else if (sass_has(i, SASS_NE))
        holds = !is_equal || low;
    else if (sass_has(i, SASS_LT) || sass_has(i, SASS_LE))
        holds = is_less || (is_equal && low);
    else if (sass_has(i, SASS_GT) || sass_has(i, SASS_GE))
        holds = (!is_less && !is_equal) || (is_equal && low);
    else
        sass_fail(l->warp, i, "a comparison that is not known");
    bool other = sass_p(l, o + 4);
    sass_set_p(l, o, join(i, holds, other));
    sass_set_p(l, o + 1, join(i, !holds, other));
}

static void sel(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    sass_set(l, o, sass_i32(l, o + (sass_p(l, o + 3) ? 1 : 2)));
}

static uint32_t extreme(uint32_t a, uint32_t b, bool is_min, bool is_unsigned)
{
    bool is_less = is_unsigned ? a < b : (int32_t)a < (int32_t)b;
    return is_less == is_min ? a : b;
}

// With two predicates behind the result, always the same one: whether the first operand came
// through as it was. Inferred: the assembler takes it for an x == max(min(x, limit), 0).
static void vimnmx(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands, *source = o + i->operand_count - 3;
    bool tells = i->operand_count == 6;
    if (tells && o[1].index != o[2].index) {
        sass_fail(l->warp, i, "two predicates");
        return;
    }
    uint32_t x = sass_i32(l, source);
    uint32_t value =
        extreme(x, sass_i32(l, source + 1), sass_p(l, source + 2), sass_has(i, SASS_U32));
    value = sass_has(i, SASS_RELU) && (int32_t)value < 0 ? 0 : value;
    sass_set(l, o, value);
    if (tells)
        sass_set_p(l, o + 1, value == x);
}

static void vimnmx3(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    bool is_min = sass_p(l, o + 4), is_unsigned = sass_has(i, SASS_U32);
    uint32_t value = extreme(sass_i32(l, o + 1), sass_i32(l, o + 2), is_min, is_unsigned);
    value = extreme(value, sass_i32(l, o + 3), is_min, is_unsigned);
    sass_set(l, o, sass_has(i, SASS_RELU) && (int32_t)value < 0 ? 0 : value);
}

static void viaddmnmx(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t sum = sass_i32(l, o + 1) + sass_i32(l, o + 2);
    uint32_t value = extreme(sum, sass_i32(l, o + 3), sass_p(l, o + 4), sass_has(i, SASS_U32));
    sass_set(l, o, sass_has(i, SASS_RELU) && (int32_t)value < 0 ? 0 : value);
}

static void prmt(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint64_t pair = sass_i32(l, o + 1) | (uint64_t)sass_i32(l, o + 3) << 32;
    uint32_t selector = sass_i32(l, o + 2), value = 0;
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t choice = selector >> 4 * n & 15, byte = (uint32_t)(pair >> 8 * (choice & 7)) & 255;
        if (choice & 8)
            byte = byte >> 7 ? 255 : 0;
        value |= byte << 8 * n;
    }
    sass_set(l, o, value);
}

static void popc(sass_lane *l, const sass_inst *i)
{
    sass_set(l, i->operands, (uint32_t)__builtin_popcount(sass_i32(l, i->operands + 1)));
}

static void flo(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands + (i->operands[1].kind == SASS_PRED);
    uint32_t value = sass_i32(l, o + 1);
    if (!sass_has(i, SASS_U32) && value >> 31)
        value = ~value;
    uint32_t place = value ? 31 - (uint32_t)__builtin_clz(value) : UINT32_MAX;
    if (value && sass_has(i, SASS_SH))
        place = 31 - place;
    if (o != i->operands)
        sass_set_p(l, i->operands + 1, value != 0);
    sass_set(l, i->operands, place);
}

static void brev(sass_lane *l, const sass_inst *i)
{
    uint32_t value = sass_i32(l, i->operands + 1), turned = 0;
    for (uint32_t n = 0; n < 32; n++)
        turned |= (value >> n & 1) << (31 - n);
    sass_set(l, i->operands, turned);
}

static void iabs(sass_lane *l, const sass_inst *i)
{
    uint32_t value = sass_i32(l, i->operands + 1);
    sass_set(l, i->operands, value >> 31 ? 0 - value : value);
}

static void sgxt(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t value = sass_i32(l, o + 1), bits = sass_i32(l, o + 2);
    if (sass_has(i, SASS_W))
        bits &= 31;
    if (bits < 32) {
        value = bits ? value << (32 - bits) : 0;
        value = !bits                   ? 0
                : sass_has(i, SASS_U32) ? value >> (32 - bits)
                                        : (uint32_t)((int32_t)value >> (32 - bits));
    }
    sass_set(l, o, value);
}

static void bmsk(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint64_t from = sass_i32(l, o + 1), bits = sass_i32(l, o + 2);
    if (sass_has(i, SASS_W))
        from &= 31, bits &= 31;
    uint64_t ones = bits > 32 ? UINT32_MAX : ((uint64_t)1 << bits) - 1;
    sass_set(l, o, from > 31 ? 0 : (uint32_t)(ones << from));
}

static void mov(sass_lane *l, const sass_inst *i)
{
    if (sass_has(i, SASS_64))
        sass_set64(l, i->operands, sass_i64(l, i->operands + 1));
    else
        sass_set(l, i->operands, sass_i32(l, i->operands + 1));
}

// Bits of predicates: a lane's, or a warp's
static bool *predicates(sass_lane *l, const sass_operand *o)
{
    return *o->name == 'U' ? l->warp->up : l->p;
}

static void p2r(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t mask = sass_i32(l, o + 3), value = 0;
    for (uint32_t n = 0; n < 7; n++)
        value |= (uint32_t)predicates(l, o + 1)[n] << n;
    sass_set(l, o, (sass_i32(l, o + 2) & ~mask) | (value & mask));
}

static void r2p(sass_lane *l, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t value = sass_i32(l, o + 1), mask = sass_i32(l, o + 2);
    for (uint32_t n = 0; n < 7; n++)
        if (mask >> n & 1)
            predicates(l, o)[n] = value >> n & 1;
}

const sass_row sass_integer_rows[] = {
    {"IADD3", iadd3, NULL, "X"},
    {"VIADD", viadd, NULL, ""},
    {"IMAD", imad, NULL, "MOV U32 WIDE X HI IADD SHL"},
    {"IDP", idp, NULL, "4A 2A LO HI S8 U8 S16 U16"},
    {"LEA", lea, NULL, "HI X SX32"},
    {"SHF", shf, NULL, "L R U32 S32 U64 S64 HI W"},
    {"LOP3", lop3, NULL, "LUT PAND"},
    {"PLOP3", plop3, NULL, "LUT"},
    {"ISETP", isetp, NULL, "LT LE GT GE EQ NE U32 AND OR XOR EX"},
    {"SEL", sel, NULL, ""},
    {"VIMNMX", vimnmx, NULL, "U32 RELU"},
    {"IMNMX", vimnmx, NULL, "U32"},
    {"VIMNMX3", vimnmx3, NULL, "U32 RELU"},
    {"VIADDMNMX", viaddmnmx, NULL, "U32 RELU"},
    {"PRMT", prmt, NULL, ""},
    {"POPC", popc, NULL, ""},
    {"FLO", flo, NULL, "U32 SH"},
    {"BREV", brev, NULL, ""},
    {"IABS", iabs, NULL, ""},
    {"SGXT", sgxt, NULL, "U32 W"},
    {"BMSK", bmsk, NULL, "W"},
    {"MOV", mov, NULL, "64"},
    {"P2R", p2r, NULL, ""},
    {"R2P", r2p, NULL, ""},
    {"UP2UR", p2r, NULL, ""},
    {"R2UP", r2p, NULL, ""},
    {"UR2UP", r2p, NULL, ""},
    {0},
};
