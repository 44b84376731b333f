// What operands read and write: registers, predicates, numbers, constant banks. Signs mean what the
// type makes of them. Start reading at sass_raw.
#include "sass.h"

#include <string.h>

uint64_t sass_bank(sass_lane *l, const sass_operand *o, uint32_t bytes)
{
    sass_launch *launch = l->warp->block->launch;
    uint64_t at = (uint64_t)o->value;
    if (o->base >= 0)
        at += o->base == SASS_REG_ZERO ? 0 : l->r[o->base];
    if (o->ubase >= 0)
        at += o->ubase == SASS_UREG_ZERO ? 0 : l->warp->ur[o->ubase];
    at = (uint32_t)at;
    uint64_t value = 0;
    if (o->index >= SASS_BANKS || at + bytes > 65536) {
        sass_fail(l->warp, NULL, "a constant bank is read past its end");
        return 0;
    }
    if (at + bytes > launch->bank_bytes[o->index]) // the assembler reads before it asks
        return 0;
    memcpy(&value, launch->banks[o->index] + at, bytes);
    return value;
}

static uint32_t part_of(const sass_operand *o, uint32_t value)
{
    if (o->part >= 3)
        return value >> 8 * (o->part - 3) & 0xff;
    return o->part == 1 ? value & 0xffff : o->part == 2 ? value >> 16 : value;
}

// Without signs
uint32_t sass_raw(sass_lane *l, const sass_operand *o)
{
    switch (o->kind) {
    case SASS_REG: return part_of(o, o->index == SASS_REG_ZERO ? 0 : l->r[o->index]);
    case SASS_UREG: return part_of(o, o->index == SASS_UREG_ZERO ? 0 : l->warp->ur[o->index]);
    case SASS_NUMBER: return (uint32_t)o->value;
    case SASS_BANK: return part_of(o, (uint32_t)sass_bank(l, o, 4));
    case SASS_LABEL: return (uint32_t)o->value;
    case SASS_PRED:
    case SASS_BARRIER:
    case SASS_MEMORY:
    case SASS_SPECIAL: sass_fail(l->warp, NULL, "an operand that is no number"); return 0;
    }
    return 0;
}

uint32_t sass_i32(sass_lane *l, const sass_operand *o)
{
    uint32_t value = sass_raw(l, o);
    if (o->is_absolute && value >> 31)
        value = 0 - value;
    if (o->is_inverted)
        value = ~value;
    return o->is_negative ? 0 - value : value;
}

static uint64_t raw64(sass_lane *l, const sass_operand *o)
{
    switch (o->kind) {
    case SASS_REG:
        return o->index == SASS_REG_ZERO ? 0 : l->r[o->index] | (uint64_t)l->r[o->index + 1] << 32;
    case SASS_UREG:
        return o->index == SASS_UREG_ZERO
                   ? 0
                   : l->warp->ur[o->index] | (uint64_t)l->warp->ur[o->index + 1] << 32;
    case SASS_NUMBER: return (uint64_t)o->value;
    case SASS_BANK: return sass_bank(l, o, 8);
    case SASS_LABEL: return (uint64_t)o->value;
    case SASS_PRED:
    case SASS_BARRIER:
    case SASS_MEMORY:
    case SASS_SPECIAL: sass_fail(l->warp, NULL, "an operand that is no number"); return 0;
    }
    return 0;
}

uint64_t sass_i64(sass_lane *l, const sass_operand *o)
{
    uint64_t value = raw64(l, o);
    if (o->is_inverted)
        value = ~value;
    return o->is_negative ? 0 - value : value;
}

uint32_t sass_f32(sass_lane *l, const sass_operand *o)
{
    uint32_t bits = sass_raw(l, o);
    if (o->is_absolute)
        bits &= 0x7fffffff;
    return o->is_negative ? bits ^ 0x80000000 : bits;
}

uint64_t sass_f64(sass_lane *l, const sass_operand *o)
{
    uint64_t bits = raw64(l, o);
    if (o->kind == SASS_NUMBER) // the upper half
        bits <<= 32;
    if (o->is_absolute)
        bits &= ~((uint64_t)1 << 63);
    return o->is_negative ? bits ^ (uint64_t)1 << 63 : bits;
}

bool sass_p(sass_lane *l, const sass_operand *o)
{
    if (o->kind != SASS_PRED) {
        sass_fail(l->warp, NULL, "an operand that is no predicate");
        return false;
    }
    bool value =
        o->index == SASS_ALWAYS || (o->is_uniform ? l->warp->up[o->index] : l->p[o->index]);
    return value != o->is_inverted;
}

void sass_set(sass_lane *l, const sass_operand *o, uint32_t value)
{
    if (o->kind == SASS_REG && o->index != SASS_REG_ZERO)
        l->r[o->index] = value;
    else if (o->kind == SASS_UREG && o->index != SASS_UREG_ZERO)
        l->warp->ur[o->index] = value;
    else if (o->kind != SASS_REG && o->kind != SASS_UREG)
        sass_fail(l->warp, NULL, "a result that is no register");
}

void sass_set64(sass_lane *l, const sass_operand *o, uint64_t value)
{
    sass_operand high = *o;
    sass_set(l, o, (uint32_t)value);
    if (o->index == (o->kind == SASS_REG ? SASS_REG_ZERO : SASS_UREG_ZERO))
        return;
    high.index++;
    sass_set(l, &high, (uint32_t)(value >> 32));
}

void sass_set_p(sass_lane *l, const sass_operand *o, bool value)
{
    if (o->kind != SASS_PRED)
        sass_fail(l->warp, NULL, "a result that is no predicate");
    else if (o->index != SASS_ALWAYS)
        *(o->is_uniform ? &l->warp->up[o->index] : &l->p[o->index]) = value;
}
