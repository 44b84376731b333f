// Control flow, and what lanes give each other: votes, shuffles, barriers. A function gets all
// lanes of a group that stand at the same place; their next place is set already. The table is at
// the end.
#include "sass.h"

#include <string.h>

#define EACH(n, mask)                                                                              \
    for (uint32_t n = 0; n < SASS_LANES; n++)                                                      \
        if (!((mask) >> n & 1)) {                                                                  \
        } else

static sass_lane *first(sass_warp *w, uint32_t mask)
{
    return &w->lanes[__builtin_ctz(mask)];
}

// --- where lanes go

static void go(sass_warp *w, uint32_t mask, uint64_t to)
{
    EACH(n, mask) w->lanes[n].pc = (uint32_t)to;
}

static void bra(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands, *label = &o[i->operand_count - 1];
    if (label->kind != SASS_LABEL) {
        sass_fail(w, i, "a branch that is not known");
        return;
    }
    uint32_t going = mask;
    if (sass_has(i, SASS_DIV)) { // where lanes of the mask are missing
        uint32_t wanted = sass_i32(first(w, mask), o) & w->alive;
        going = wanted == mask ? 0 : mask;
    } else if (i->operand_count == 2 && o->kind == SASS_PRED) {
        EACH(n, mask) going &= sass_p(&w->lanes[n], o) ? UINT32_MAX : ~(1u << n);
    } else if (i->operand_count > 1)
        sass_fail(w, i, "a branch that is not known");
    go(w, going, (uint64_t)label->value);
}

// Relative to the next instruction, as the registers of a table are
static void brx(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    EACH(n, mask)
    w->lanes[n].pc = (uint32_t)(i->address + 16 + sass_i64(&w->lanes[n], o) + (uint64_t)o[1].value);
}

static void call(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = &i->operands[i->operand_count - 1];
    if (i->operand_count == 1 && o->kind == SASS_LABEL)
        go(w, mask, (uint64_t)o->value);
    else if (i->operand_count == 1 && o->kind == SASS_REG && sass_has(i, SASS_ABS)) {
        EACH(n, mask) w->lanes[n].pc = (uint32_t)sass_i64(&w->lanes[n], o);
    } else if (i->operand_count == 2 && sass_has(i, SASS_REL))
        brx(w, mask, i);
    else
        sass_fail(w, i, "a call that is not known");
}

// To an offset in the section of a label
static void ret(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    bool is_relative = sass_has(i, SASS_REL) && i->operand_count == 2;
    if (!is_relative && !sass_has(i, SASS_ABS)) {
        sass_fail(w, i, "a return that is not known");
        return;
    }
    uint64_t base = is_relative ? (uint64_t)o[1].value : 0;
    EACH(n, mask) w->lanes[n].pc = (uint32_t)(base + sass_i64(&w->lanes[n], o));
}

static void leave(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    (void)i;
    EACH(n, mask) w->lanes[n].state = SASS_EXITED;
    w->alive &= ~mask;
}

static void trap(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    (void)mask;
    sass_fail(w, i, "a trap");
}

// --- barriers of lanes

static void bssy(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    EACH(n, mask) w->lanes[n].joined[i->operands[0].index] = mask;
}

static void bsync(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    EACH(n, mask)
    {
        w->lanes[n].state = SASS_AT_BSYNC;
        w->lanes[n].waits_for = (uint32_t)i->operands[0].index;
    }
}

static void give_up(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = &i->operands[i->operand_count - 1];
    EACH(n, mask)
    {
        sass_lane *l = &w->lanes[n];
        if (i->operand_count == 2 && !sass_p(l, i->operands))
            continue;
        uint32_t others = l->joined[o->index];
        EACH(m, others) w->lanes[m].joined[o->index] &= ~(1u << n);
    }
}

static void bmov(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    EACH(n, mask)
    {
        sass_lane *l = &w->lanes[n];
        if (o[0].kind == SASS_BARRIER)
            l->joined[o[0].index] = sass_i32(l, o + 1);
        else
            sass_set(l, o, l->joined[o[1].index]);
    }
    if (sass_has(i, SASS_CLEAR) && o[1].kind == SASS_BARRIER) {
        EACH(n, mask) w->lanes[n].joined[o[1].index] = 0;
    }
}

static void warpsync(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    EACH(n, mask)
    {
        w->lanes[n].state = SASS_AT_WARPSYNC;
        w->lanes[n].waits_for =
            sass_has(i, SASS_ALL) ? UINT32_MAX : sass_i32(&w->lanes[n], i->operands);
    }
}

// Others may go on first
static void yield(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    (void)mask, (void)i;
    w->yields = true;
}

static void end_collective(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    (void)w, (void)mask, (void)i;
}

// --- barriers of blocks

static void bar(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    bool reduces = sass_has(i, SASS_RED);
    if (sass_has(i, SASS_ARV) || o[0].kind != SASS_NUMBER ||
        i->operand_count != (reduces ? 2 : 1) || sass_raw(first(w, mask), o) != 0) {
        sass_fail(w, i, "a barrier that is not known");
        return;
    }
    EACH(n, mask)
    {
        sass_lane *l = &w->lanes[n];
        l->state = SASS_AT_BAR;
        l->waits_for = !reduces ? 0 : sass_has(i, SASS_POPC) ? 1 : sass_has(i, SASS_AND) ? 2 : 3;
        if (reduces)
            l->waits_for |= (uint32_t)sass_p(l, o + 1) << 8;
    }
}

// What the last reduction gave
static void b2r(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    EACH(n, mask)
    {
        if (o->kind == SASS_PRED)
            sass_set_p(&w->lanes[n], o, w->block->bar_result != 0);
        else
            sass_set(&w->lanes[n], o, w->block->bar_result);
        if (i->operand_count == 2)
            sass_set_p(&w->lanes[n], o + 1, w->block->bar_result != 0);
    }
}

// --- what lanes give each other

static void shfl(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t values[SASS_LANES], from[SASS_LANES];
    bool is_inside[SASS_LANES];
    EACH(n, mask)
    {
        sass_lane *l = &w->lanes[n];
        uint32_t by = sass_i32(l, o + 3) & 31, limits = sass_i32(l, o + 4);
        uint32_t clamp = limits & 31, segment = limits >> 8 & 31;
        uint32_t top = (n & segment) | (clamp & ~segment), low = n & segment, to;
        if (sass_has(i, SASS_UP)) {
            to = n - by;
            is_inside[n] = (int32_t)to >= (int32_t)top;
        } else {
            to = sass_has(i, SASS_DOWN)   ? n + by
                 : sass_has(i, SASS_BFLY) ? n ^ by
                                          : low | (by & ~segment);
            is_inside[n] = to <= top;
        }
        from[n] = is_inside[n] ? to : n;
    }
    EACH(n, mask) values[n] = sass_i32(&w->lanes[from[n] & 31], o + 2);
    EACH(n, mask)
    {
        bool is_there = mask >> (from[n] & 31) & 1;
        uint32_t own = sass_i32(&w->lanes[n], o + 2);
        sass_set(&w->lanes[n], o + 1, is_there ? values[n] : own);
        sass_set_p(&w->lanes[n], o, is_inside[n]);
    }
}

static void vote(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands, *source = &o[i->operand_count - 1];
    uint32_t ballot = 0;
    EACH(n, mask) ballot |= (uint32_t)sass_p(&w->lanes[n], source) << n;
    bool holds = sass_has(i, SASS_ALL)  ? ballot == mask
                 : sass_has(i, SASS_EQ) ? !ballot || ballot == mask
                                        : ballot != 0;
    EACH(n, mask)
    for (const sass_operand *to = o; to < source; to++)
        if (to->kind == SASS_PRED)
            sass_set_p(&w->lanes[n], to, holds);
        else
            sass_set(&w->lanes[n], to, ballot);
}

static void match(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands, *source = &o[i->operand_count - 1];
    uint64_t values[SASS_LANES];
    uint32_t same[SASS_LANES] = {0};
    EACH(n, mask)
    values[n] =
        sass_has(i, SASS_U64) ? sass_i64(&w->lanes[n], source) : sass_i32(&w->lanes[n], source);
    EACH(n, mask) EACH(m, mask) same[n] |= (uint32_t)(values[n] == values[m]) << m;
    EACH(n, mask)
    {
        uint32_t result = !sass_has(i, SASS_ALL) || same[n] == mask ? same[n] : 0;
        for (const sass_operand *to = o; to < source; to++)
            if (to->kind == SASS_PRED)
                sass_set_p(&w->lanes[n], to, same[n] == mask);
            else
                sass_set(&w->lanes[n], to, result);
    }
}

static void redux(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    const sass_operand *o = i->operands;
    uint32_t sum = sass_i32(first(w, mask), o + 1);
    EACH(n, mask & (mask - 1))
    {
        uint32_t value = sass_i32(&w->lanes[n], o + 1);
        bool is_less = sass_has(i, SASS_S32) ? (int32_t)value < (int32_t)sum : value < sum;
        sum = sass_has(i, SASS_SUM)   ? sum + value
              : sass_has(i, SASS_XOR) ? sum ^ value
              : sass_has(i, SASS_OR)  ? sum | value
              : sass_has(i, SASS_MIN) ? (is_less ? value : sum)
              : sass_has(i, SASS_MAX) ? (is_less ? sum : value)
                                      : sum & value;
    }
    sass_set(first(w, mask), o, sum);
}

static void r2ur(sass_warp *w, uint32_t mask, const sass_inst *i)
{
    sass_lane *l = first(w, mask);
    const sass_operand *o = &i->operands[i->operand_count - 1];
    sass_set(l, i->operands + (i->operands[0].kind == SASS_PRED), sass_i32(l, o));
}

// Lanes may go to several places, or wait
const sass_row sass_flow_rows[] = {
    {"BRA", NULL, bra, "DIV"},
    {"BRX", NULL, brx, ""},
    {"CALL", NULL, call, "REL ABS NOINC"},
    {"RET", NULL, ret, "REL ABS NODEC"},
    {"EXIT", NULL, leave, ""},
    {"BPT", NULL, trap, "TRAP"},
    {"BSYNC", NULL, bsync, ""},
    {"WARPSYNC", NULL, warpsync, "ALL COLLECTIVE"},
    {"ENDCOLLECTIVE", NULL, end_collective, ""},
    {"YIELD", NULL, yield, ""},
    {"BAR", NULL, bar, "SYNC RED DEFER_BLOCKING POPC AND OR"},
    {0},
};

const sass_row sass_warp_rows[] = {
    {"BSSY", NULL, bssy, ""},
    {"BREAK", NULL, give_up, ""},
    {"BMOV", NULL, bmov, "32 CLEAR"},
    {"B2R", NULL, b2r, "RESULT"},
    {"SHFL", NULL, shfl, "UP DOWN BFLY IDX"},
    {"VOTE", NULL, vote, "ANY ALL EQ"},
    {"VOTEU", NULL, vote, "ANY ALL EQ"},
    {"MATCH", NULL, match, "ANY ALL U64"},
    {"REDUX", NULL, redux, "SUM XOR OR AND MIN MAX S32"},
    {"R2UR", NULL, r2ur, ""},
    {0},
};
