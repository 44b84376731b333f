// The table of what is known (known.h): a stack of entries, and slots that point to the newest of
// each hash.
#include "pass/known.h"

#define SPACE_BIT(t) (1u << (t))
#define ALL_SPACES                                                                                 \
    (SPACE_BIT(IR_PTR_GEN) | SPACE_BIT(IR_PTR_GLOBAL) | SPACE_BIT(IR_PTR_SHARED) |                 \
     SPACE_BIT(IR_PTR_LOCAL))
const uint32_t known_all_spaces = ALL_SPACES;

uint32_t known_writes(const ir_func *f, const ir_inst *i)
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
    case IR_FX_CTRL:
    case IR_FX_SIDE: return 0;
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

bool known_can_be(const ir_inst *i)
{
    bool is_pure = ir_op_effect((ir_op)i->op) == IR_FX_PURE;
    bool is_load = i->op == IR_LOAD && i->hint != IR_HINT_VOLATILE;
    return (is_pure || is_load) && i->result_count == 1 && i->operand_count <= KNOWN_OPERANDS;
}

static bool is_symmetric(uint16_t op)
{
    return op == IR_ADD || op == IR_MUL || op == IR_AND || op == IR_OR || op == IR_XOR ||
           op == IR_IEQ || op == IR_INE || op == IR_FADD || op == IR_FMUL || op == IR_FEQ ||
           op == IR_FNE || (op >= IR_SMIN && op <= IR_UMAX);
}

// Memory that a kernel cannot write has no age.
static uint32_t age_of(const known_table *t, const ir_inst *i, ir_ref pointer)
{
    ir_type space = ir_type_of(t->f, pointer);
    if (space == IR_PTR_CONST || space == IR_PTR_PARAM || i->hint == IR_HINT_READONLY)
        return 0;
    return t->age[space];
}

static void set_hash(known_entry *k)
{
    uint64_t h = ((uint64_t)k->op << 8 | k->type) + ((uint64_t)k->age << 32) + k->aux;
    h = (h ^ (uint64_t)k->imm) * 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 29) ^ ((uint64_t)k->operands[0] << 32 | k->operands[1])) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 31) ^ k->operands[2]) * 0xc4ceb9fe1a85ec53u;
    k->hash = (uint32_t)(h >> 32);
}

// Made where it would stand in the stack, so that nothing is copied.
static known_entry *make_key(known_table *t, const ir_inst *i, const ir_ref *operands,
                             uint32_t count)
{
    vec_reserve(t->scratch, &t->entries, t->entries.len + 1);
    known_entry *k = &t->entries.at[t->entries.len];
    k->op = i->op;
    k->type = i->type;
    k->count = (uint8_t)count;
    k->aux = i->aux;
    k->age = 0;
    k->imm = i->imm;
    for (uint32_t n = 0; n < KNOWN_OPERANDS; n++)
        k->operands[n] = n < count ? operands[n] : IR_NONE;
    return k;
}

known_entry *known_key(known_table *t, const ir_inst *i, const ir_ref *operands)
{
    known_entry *k = make_key(t, i, operands, i->operand_count);
    if (i->op == IR_LOAD) {
        k->age = age_of(t, i, operands[0]);
    } else if (k->operands[0] > k->operands[1] && is_symmetric(i->op)) {
        k->operands[0] = operands[1];
        k->operands[1] = operands[0];
    }
    set_hash(k);
    return k;
}

static bool is_same(const known_entry *a, const known_entry *b)
{
    return a->hash == b->hash && a->op == b->op && a->type == b->type && a->count == b->count &&
           a->aux == b->aux && a->age == b->age && a->imm == b->imm &&
           !memcmp(a->operands, b->operands, sizeof a->operands);
}

ir_ref known_find(const known_table *t, const known_entry *key)
{
    uint32_t e = t->slots[key->hash & t->mask];
    for (; e > t->floor; e = t->entries.at[e - 1].below)
        if (is_same(&t->entries.at[e - 1], key))
            return t->entries.at[e - 1].value;
    return IR_NONE;
}

void known_learn(known_table *t, known_entry *key, ir_ref value)
{
    uint32_t *slot = &t->slots[key->hash & t->mask];
    key->value = value;
    key->below = *slot;
    *slot = ++t->entries.len;
}

void known_store(known_table *t, const ir_inst *store, const ir_ref *operands)
{
    known_written(t, known_writes(t->f, store));
    if (store->hint == IR_HINT_VOLATILE || store->operand_count != 2)
        return;
    known_entry *k = make_key(t, store, operands, 1);
    k->op = IR_LOAD;
    k->aux = 0;
    k->age = t->age[ir_type_of(t->f, operands[0])];
    set_hash(k);
    known_learn(t, k, operands[1]);
}

void known_forget(known_table *t, uint32_t len)
{
    while (t->entries.len > len) {
        const known_entry *k = &t->entries.at[--t->entries.len];
        t->slots[k->hash & t->mask] = k->below;
    }
}
