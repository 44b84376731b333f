// Memory: what an instruction reads and writes for one lane. Device memory is host memory; a
// block's shared memory and a thread's stack have windows of generic addresses. The table is at
// the end.
#include "sass.h"

#include <string.h>

static uint64_t address_of(sass_lane *l, const sass_inst *i, const sass_operand *o)
{
    uint64_t at = 0;
    if (o->base >= 0 && o->base != SASS_REG_ZERO) {
        at = l->r[o->base];
        if (o->is_wide || sass_has(i, SASS_E))
            at |= (uint64_t)l->r[o->base + 1] << 32;
        at *= o->scale ? o->scale : 1;
    }
    if (o->ubase >= 0 && o->ubase != SASS_UREG_ZERO) {
        at += l->warp->ur[o->ubase];
        if (sass_has(i, SASS_E))
            at += (uint64_t)l->warp->ur[o->ubase + 1] << 32;
    }
    return at + (uint64_t)o->value;
}

static uint32_t bytes_of(const sass_inst *i)
{
    return sass_has(i, SASS_128)                                                    ? 16
           : sass_has(i, SASS_64) || sass_has(i, SASS_F64) || sass_has(i, SASS_S64) ? 8
           : sass_has(i, SASS_U16) || sass_has(i, SASS_S16)                         ? 2
           : sass_has(i, SASS_U8) || sass_has(i, SASS_S8)                           ? 1
                                                                                    : 4;
}

static char *inside(sass_lane *l, const sass_inst *i, char *base, uint64_t at, uint32_t size)
{
    uint32_t bytes = bytes_of(i);
    if (at % bytes)
        sass_fail(l->warp, i, "an address that is not aligned");
    else if (at + bytes > size)
        sass_fail(l->warp, i, "an address past the end");
    else
        return base + at;
    return NULL;
}

// NULL: it failed
static char *place(sass_lane *l, const sass_inst *i, const sass_operand *o)
{
    sass_block *b = l->warp->block;
    uint64_t at = address_of(l, i, o);
    char kind = i->row->name[strncmp(i->row->name, "ATOM", 4) == 0  ? 4
                             : strncmp(i->row->name, "RED", 3) == 0 ? 3
                                                                    : 2];
    bool is_shared = kind == 'S', is_local = kind == 'L';
    if (kind == 0) { // generic
        is_shared = at >> 32 == SASS_SHARED_HIGH;
        is_local = at >> 32 == SASS_LOCAL_HIGH;
    }
    if (is_shared)
        return inside(l, i, (char *)b->shared, (uint32_t)at & 0xffffff,
                      SASS_SHARED_AT + b->launch->shared_bytes);
    if (is_local)
        return inside(l, i, l->stack, (uint32_t)at, b->launch->stack_bytes);
    if (at < 65536 || at >> 47)
        sass_fail(l->warp, i, "an address of no memory");
    else if (at % bytes_of(i))
        sass_fail(l->warp, i, "an address that is not aligned");
    else
        return (char *)(uintptr_t)at;
    return NULL;
}

static const sass_operand *memory_operand(const sass_inst *i, uint32_t *at)
{
    for (*at = 0; *at < i->operand_count; ++*at)
        if (i->operands[*at].kind == SASS_MEMORY)
            return &i->operands[*at];
    return NULL;
}

static void set_loaded(sass_lane *l, const sass_inst *i, const void *from)
{
    uint32_t bytes = bytes_of(i), words[4] = {0};
    sass_operand o = i->operands[0];
    memcpy(words, from, bytes);
    if (sass_has(i, SASS_S8))
        words[0] = (uint32_t)(int32_t)(int8_t)words[0];
    if (sass_has(i, SASS_S16))
        words[0] = (uint32_t)(int32_t)(int16_t)words[0];
    for (uint32_t n = 0; n < (bytes + 3) / 4; n++, o.index++) {
        sass_set(l, &o, words[n]);
        if (o.index == SASS_REG_ZERO)
            break;
    }
}

static void load(sass_lane *l, const sass_inst *i)
{
    uint32_t at;
    const sass_operand *o = memory_operand(i, &at);
    const char *from = o ? place(l, i, o) : NULL;
    if (from)
        set_loaded(l, i, from);
}

static void store(sass_lane *l, const sass_inst *i)
{
    uint32_t at, words[4] = {0};
    const sass_operand *o = memory_operand(i, &at);
    char *to = o ? place(l, i, o) : NULL;
    if (!to)
        return;
    sass_operand value = i->operands[at + 1];
    for (uint32_t n = 0; n < (bytes_of(i) + 3) / 4; n++) {
        words[n] = sass_raw(l, &value);
        value.index += value.kind == SASS_REG && value.index != SASS_REG_ZERO;
    }
    memcpy(to, words, bytes_of(i));
}

static void ldc(sass_lane *l, const sass_inst *i)
{
    uint64_t value = sass_bank(l, &i->operands[1], bytes_of(i));
    set_loaded(l, i, &value);
}

// --- atomics

static uint64_t combined(sass_lane *l, const sass_inst *i, uint64_t old, uint64_t value)
{
    bool is_wide = bytes_of(i) == 8;
    int64_t a = is_wide ? (int64_t)old : (int32_t)old,
            b = is_wide ? (int64_t)value : (int32_t)value;
    bool is_signed = sass_has(i, SASS_S32) || sass_has(i, SASS_S64);
    bool is_less = is_signed ? a < b : old < value;
    if (sass_has(i, SASS_EXCH))
        return value;
    if (sass_has(i, SASS_AND))
        return old & value;
    if (sass_has(i, SASS_OR))
        return old | value;
    if (sass_has(i, SASS_XOR))
        return old ^ value;
    if (sass_has(i, SASS_MIN))
        return is_less ? old : value;
    if (sass_has(i, SASS_MAX))
        return is_less ? value : old;
    if (sass_has(i, SASS_POPC))
        return old + 1;
    if (sass_has(i, SASS_INC))
        return old >= value ? 0 : old + 1;
    if (sass_has(i, SASS_DEC))
        return !old || old > value ? value : old - 1;
    if (sass_has(i, SASS_ADD) && sass_has(i, SASS_F32)) {
        volatile float x = sass_float((uint32_t)old), y = sass_float((uint32_t)value), sum = x + y;
        uint32_t bits = sum != sum ? 0x7fffffff : sass_float_bits(sum);
        return sass_has(i, SASS_FTZ) && !(bits & 0x7f800000) ? bits & 0x80000000 : bits;
    }
    if (sass_has(i, SASS_ADD) && sass_has(i, SASS_F64)) {
        volatile double sum = sass_double(old) + sass_double(value);
        return sum != sum ? 0xfff8000000000000 : sass_double_bits(sum);
    }
    if (sass_has(i, SASS_ADD))
        return old + value;
    sass_fail(l->warp, i, "an atomic operation that is not known");
    return old;
}

static void atom(sass_lane *l, const sass_inst *i)
{
    uint32_t at, bytes = bytes_of(i);
    const sass_operand *o = memory_operand(i, &at);
    char *to = o ? place(l, i, o) : NULL;
    if (!to)
        return;
    uint64_t old = 0, value[2] = {0};
    memcpy(&old, to, bytes);
    for (uint32_t n = 0; n < 2 && at + 1 + n < i->operand_count; n++)
        value[n] = bytes == 8 ? sass_i64(l, o + 1 + n) : sass_i32(l, o + 1 + n);
    uint64_t now = sass_has(i, SASS_CAS) || sass_has(i, SASS_CAST)
                       ? (old == value[0] ? value[1] : old)
                       : combined(l, i, old, value[0]);
    memcpy(to, &now, bytes);
    if (sass_has(i, SASS_CAST)) // tells whether it was so
        old = old == value[0];
    if (at > 1 && o[-2].kind == SASS_PRED) // generic: no loop with a lock is needed
        sass_set_p(l, o - 2, true);
    if (!at || o[-1].kind == SASS_PRED)
        return;
    if (bytes == 8)
        sass_set64(l, o - 1, old);
    else
        sass_set(l, o - 1, (uint32_t)old);
}

// Is this generic address one of shared memory?
static void qspc(sass_lane *l, const sass_inst *i)
{
    uint32_t at;
    const sass_operand *o = memory_operand(i, &at);
    uint64_t address = o ? address_of(l, i, o) : 0;
    sass_set_p(l, i->operands, address >> 32 == SASS_SHARED_HIGH);
}

// --- what a thread is told of itself

static void special(sass_lane *l, const sass_inst *i)
{
    sass_block *b = l->warp->block;
    const char *name = i->operands[1].name;
    uint32_t lane = l->index, value = 0;
    const struct {
        const char *name;
        uint32_t value;
    } rows[] = {
        {"SR_TID.X", l->thread[0]},
        {"SR_TID.Y", l->thread[1]},
        {"SR_TID.Z", l->thread[2]},
        {"SR_CTAID.X", b->at[0]},
        {"SR_CTAID.Y", b->at[1]},
        {"SR_CTAID.Z", b->at[2]},
        {"SR_NTID.X", b->launch->threads[0]},
        {"SR_LANEID", lane},
        {"SR_LTMASK", (1u << lane) - 1},
        {"SR_LEMASK", lane == 31 ? UINT32_MAX : (2u << lane) - 1},
        {"SR_EQMASK", 1u << lane},
        {"SR_GEMASK", UINT32_MAX << lane},
        {"SR_GTMASK", lane == 31 ? 0 : UINT32_MAX << (lane + 1)},
        {"SR_SWINHI", SASS_SHARED_HIGH},
        {"SR_SWINLO", 0},
        {"SR_CgaCtaId", 0},
        {"SR_CTA_ID_IN_CGA", 0},
        {"SR_CLOCKLO", (uint32_t)b->launch->steps},
        {"SR_CLOCKHI", 0},
        {"SR_GLOBALTIMERLO", (uint32_t)b->launch->steps},
        {"SR_GLOBALTIMERHI", 0},
        {"SR_VIRTUALSMID", 0},
        {"SR_VIRTID", 0},
        {"SR_LMEMHIOFF", 0},
    };
    if (i->operands[1].kind == SASS_REG) { // SRZ
        sass_set64(l, i->operands, 0);
        return;
    }
    uint32_t n = 0, count = sizeof rows / sizeof rows[0];
    while (n < count && strcmp(rows[n].name, name) != 0)
        n++;
    if (n == count)
        sass_fail(l->warp, i, "a special register that is not known");
    else
        value = rows[n].value;
    if (!strcmp(i->row->name, "CS2R") && !sass_has(i, SASS_32))
        sass_set64(l, i->operands, value);
    else
        sass_set(l, i->operands, value);
}

static void nothing(sass_lane *l, const sass_inst *i)
{
    (void)l, (void)i;
}

#define ACCESS "E U8 S8 U16 S16 64 128 STRONG GPU SYS SM CTA CONSTANT LU EF EL NA WEAK PRIVATE U"
#define ATOMIC                                                                                     \
    "E 64 32 S32 S64 F32 F64 RN FTZ STRONG GPU SYS SM CTA ADD MIN MAX AND OR XOR INC DEC EXCH "    \
    "CAS "                                                                                         \
    "CAST SPIN POPC"

const sass_row sass_memory_rows[] = {
    {"LDG", load, NULL, ACCESS},
    {"LD", load, NULL, ACCESS},
    {"LDS", load, NULL, ACCESS},
    {"LDL", load, NULL, ACCESS},
    {"STG", store, NULL, ACCESS},
    {"ST", store, NULL, ACCESS},
    {"STS", store, NULL, ACCESS},
    {"STL", store, NULL, ACCESS},
    {"LDC", ldc, NULL, "U8 S8 U16 S16 64"},
    {"ATOMG", atom, NULL, ATOMIC},
    {"ATOM", atom, NULL, ATOMIC},
    {"ATOMS", atom, NULL, ATOMIC},
    {"RED", atom, NULL, ATOMIC},
    {"REDG", atom, NULL, ATOMIC},
    {"REDS", atom, NULL, ATOMIC},
    {"QSPC", qspc, NULL, "E S"},
    {"S2R", special, NULL, ""},
    {"S2UR", special, NULL, ""},
    {"CS2R", special, NULL, "32"},
    {"MEMBAR", nothing, NULL, "SC ALL GPU SYS CTA"},
    {"ERRBAR", nothing, NULL, ""},
    {"PREEXIT", nothing, NULL, ""}, // launches are played one after the other
    {"ACQBULK", nothing, NULL, ""},
    {"CGAERRBAR", nothing, NULL, ""},
    {"CCTL", nothing, NULL, "IVALL E PF1 PF2"},
    {"NOP", nothing, NULL, ""},
    {"NANOSLEEP", nothing, NULL, ""},
    {"DEPBAR", nothing, NULL, ""},
    {0},
};
