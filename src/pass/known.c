// The table of what is known (known.h): a stack of entries, and slots that point to the newest of
// each hash.
#include "pass/known.h"

#define SPACE_BIT(t) (1u << (t))
#define ALL_SPACES                                                                                 \
    (SPACE_BIT(IR_PTR_GEN) | SPACE_BIT(IR_PTR_GLOBAL) | SPACE_BIT(IR_PTR_SHARED) |                 \
     SPACE_BIT(IR_PTR_LOCAL))
const uint32_t known_all_spaces = ALL_SPACES;

uint32_t known_writes_of(const ir_func *f, const ir_inst *i)
{
    if (i->op == IR_STORE) {
        ir_type space = ir_type_of(f, ir_operand(f, i, 0));
        return space == IR_PTR_GEN ? ALL_SPACES : SPACE_BIT(space) | SPACE_BIT(IR_PTR_GEN);
    }
    switch (ir_op_effect((ir_op)i->op)) {
    case IR_FX_WRITE: return ALL_SPACES;
    case IR_FX_CONV: // barriers let the others' writes in; shuffles and votes do not touch memory
        if (i->op == IR_CALL)
            return ALL_SPACES;
        return i->op == IR_BARRIER || i->op == IR_WARPSYNC ? ALL_SPACES & ~SPACE_BIT(IR_PTR_LOCAL)
                                                           : 0;
    case IR_FX_READ: return i->hint == IR_HINT_VOLATILE ? ALL_SPACES : 0;
    case IR_FX_PURE:
    case IR_FX_CTRL: return 0;
    case IR_FX_SIDE: return i->op == IR_HOST ? ALL_SPACES : 0;
    }
    return ALL_SPACES;
}

void known_written(known_table *t, uint32_t spaces)
{
    if (!spaces)
        return;
    t->clock++;
    for (uint32_t k = IR_PTR_GEN; k < KNOWN_SPACES; k++)
        if (spaces & SPACE_BIT(k))
            t->age[k] = t->clock;
}

known_table known_open(const ir_func *f, arena *scratch, uint32_t expected)
{
    uint32_t slot_count = 64;
    while (slot_count < expected)
        slot_count *= 2;
    known_table t = {.f = f,
                     .scratch = scratch,
                     .slots = arena_array(scratch, uint32_t, slot_count),
                     .mask = slot_count - 1,
                     .clock = 1};
    for (uint32_t k = 0; k < KNOWN_SPACES; k++)
        t.age[k] = 1;
    return t;
}

static const bool is_symmetric[IR_OP_COUNT] = {
    [IR_ADD] = true, [IR_MUL] = true,  [IR_AND] = true,  [IR_OR] = true,   [IR_XOR] = true,
    [IR_IEQ] = true, [IR_INE] = true,  [IR_FADD] = true, [IR_FMUL] = true, [IR_FEQ] = true,
    [IR_FNE] = true, [IR_SMIN] = true, [IR_SMAX] = true, [IR_UMIN] = true, [IR_UMAX] = true,
};

// Memory that a kernel cannot write has no age.
static uint32_t age_of(const known_table *t, const ir_inst *i, ir_ref pointer)
{
    ir_type space = ir_type_of(t->f, pointer);
    if (space == IR_PTR_CONST || space == IR_PTR_PARAM || i->hint == IR_HINT_READONLY)
        return 0;
    return t->age[space];
}

// Made where it would stand in the stack, so that nothing is copied.
static inline known_entry *make_key(known_table *t, uint64_t head, int64_t imm, ir_ref a, ir_ref b,
                                    ir_ref c, uint32_t age)
{
    vec_reserve(t->scratch, &t->entries, t->entries.len + 1);
    known_entry *k = &t->entries.at[t->entries.len];
    uint64_t pair = (uint64_t)b << 32 | a, rest = (uint64_t)age << 32 | c;
    k->what[0] = head;
    k->what[1] = (uint64_t)imm;
    k->what[2] = pair;
    k->what[3] = rest;
    uint64_t h = head * 0x9e3779b97f4a7c15u + (uint64_t)imm * 0xd6e8feb86659fd93u;
    h ^= pair * 0xff51afd7ed558ccdu + rest * 0xc4ceb9fe1a85ec53u;
    h ^= h >> 29;
    k->hash = (uint32_t)((h * 0xbf58476d1ce4e5b9u) >> 32);
    return k;
}

static uint64_t head_of(ir_op op, uint8_t type, uint32_t count, uint32_t aux)
{
    return (uint64_t)aux << 32 | (uint64_t)count << 24 | (uint64_t)type << 16 | (uint64_t)op;
}

static inline known_entry *key_of(known_table *t, const ir_inst *i, const ir_ref *operands)
{
    uint32_t count = i->operand_count;
    ir_ref a = count > 0 ? operands[0] : IR_NONE, b = count > 1 ? operands[1] : IR_NONE,
           c = count > 2 ? operands[2] : IR_NONE;
    if (a > b && is_symmetric[i->op]) {
        b = a;
        a = operands[1];
    }
    uint32_t age = i->op == IR_LOAD ? age_of(t, i, a) : 0;
    return make_key(t, head_of((ir_op)i->op, i->type, count, i->aux), i->imm, a, b, c, age);
}

static bool is_same(const known_entry *a, const known_entry *b)
{
    uint64_t difference = 0;
    for (int k = 0; k < 4; k++)
        difference |= a->what[k] ^ b->what[k];
    return !difference;
}

ir_ref known_find(known_table *t, const ir_inst *i, const ir_ref *operands)
{
    const known_entry *key = key_of(t, i, operands);
    for (uint32_t e = t->slots[key->hash & t->mask]; e > t->floor; e = t->entries.at[e - 1].below)
        if (is_same(&t->entries.at[e - 1], key))
            return t->entries.at[e - 1].value;
    return IR_NONE;
}

static void learn(known_table *t, known_entry *key, ir_ref value)
{
    uint32_t *slot = &t->slots[key->hash & t->mask];
    key->value = value;
    key->below = *slot;
    *slot = ++t->entries.len;
}

void known_learn(known_table *t, ir_ref value)
{
    learn(t, &t->entries.at[t->entries.len], value);
}

void known_store(known_table *t, const ir_inst *store, const ir_ref *operands)
{
    known_written(t, known_writes(t->f, store));
    if (store->hint == IR_HINT_VOLATILE || store->operand_count != 2)
        return;
    uint32_t age = t->age[ir_type_of(t->f, operands[0])];
    uint64_t head = head_of(IR_LOAD, store->type, 1, 0);
    learn(t, make_key(t, head, store->imm, operands[0], IR_NONE, IR_NONE, age), operands[1]);
}

void known_forget(known_table *t, uint32_t len)
{
    while (t->entries.len > len) {
        const known_entry *k = &t->entries.at[--t->entries.len];
        t->slots[k->hash & t->mask] = k->below;
    }
}
