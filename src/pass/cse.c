// Common subexpressions: one walk in reading order with a table of what is known here. Entering a
// region keeps the table, leaving it takes back what was learned inside (dominance is nesting).
// Loads join in with the age of their memory: every write makes a space newer, so a load finds an
// older one only when nothing was written between. A store tells what the next load will see.
#include "pass/passes.h"

enum { SPACES = IR_TYPE_COUNT };

typedef struct known {
    uint32_t hash;
    uint16_t op;
    uint8_t type, count;
    uint32_t aux, age;
    int64_t imm;
    ir_ref operands[3];
    ir_ref value;
    uint32_t below; // the entry it hides in its slot; index + 1
} known;

typedef struct finder {
    ir_func *f;
    arena *scratch;
    ir_ref *with;     // per value
    vec(known) table; // a stack
    uint32_t *slots;  // hash -> index + 1 of the newest entry
    uint32_t mask;
    uint32_t age[SPACES]; // per address space
    uint32_t clock;
    uint32_t *writes; // per control instruction: bit set of spaces written inside
    bool did_change;
} finder;

#define SPACE_BIT(t) (1u << (t))
#define ALL_SPACES                                                                                 \
    (SPACE_BIT(IR_PTR_GEN) | SPACE_BIT(IR_PTR_GLOBAL) | SPACE_BIT(IR_PTR_SHARED) |                 \
     SPACE_BIT(IR_PTR_LOCAL))

static uint32_t writes_of(const ir_func *f, const ir_inst *i)
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

static uint32_t note_writes(finder *fi, ir_region_id region)
{
    const ir_func *f = fi->f;
    uint32_t all = 0;
    for (ir_inst_id id = ir_region_at(f, region)->first; id; id = ir_at(f, id)->next) {
        const ir_inst *i = ir_at(f, id);
        all |= writes_of(f, i);
        uint32_t inside = 0;
        for (uint32_t k = 0; k < i->region_count; k++)
            inside |= note_writes(fi, i->regions + k);
        if (i->region_count)
            fi->writes[id] = inside;
        all |= inside;
    }
    return all;
}

static void grow_older(finder *fi, uint32_t spaces)
{
    if (!spaces)
        return;
    fi->clock++;
    for (uint32_t t = 0; t < SPACES; t++)
        if (spaces & SPACE_BIT(t))
            fi->age[t] = fi->clock;
}

// --- the table

static bool is_symmetric(uint16_t op)
{
    return op == IR_ADD || op == IR_MUL || op == IR_AND || op == IR_OR || op == IR_XOR ||
           op == IR_IEQ || op == IR_INE || op == IR_FADD || op == IR_FMUL || op == IR_FEQ ||
           op == IR_FNE || (op >= IR_SMIN && op <= IR_UMAX);
}

static known key_of(const finder *fi, const ir_inst *i, uint32_t age)
{
    known k = {.op = i->op,
               .type = i->type,
               .count = (uint8_t)i->operand_count,
               .aux = i->aux,
               .age = age,
               .imm = i->imm};
    for (uint32_t n = 0; n < i->operand_count; n++)
        k.operands[n] = ir_operand(fi->f, i, n);
    if (is_symmetric(i->op) && k.operands[0] > k.operands[1]) {
        ir_ref swap = k.operands[0];
        k.operands[0] = k.operands[1];
        k.operands[1] = swap;
    }
    uint64_t h = k.op * 0x9e3779b97f4a7c15u + k.type;
    h = (h ^ k.aux ^ ((uint64_t)k.age << 32)) * 0xff51afd7ed558ccdu;
    h = (h ^ (uint64_t)k.imm ^ (h >> 31)) * 0xc4ceb9fe1a85ec53u;
    for (uint32_t n = 0; n < 3; n++)
        h = (h ^ k.operands[n] ^ (h >> 29)) * 0x9e3779b97f4a7c15u;
    k.hash = (uint32_t)(h >> 32);
    return k;
}

static bool is_same(const known *a, const known *b)
{
    return a->hash == b->hash && a->op == b->op && a->type == b->type && a->count == b->count &&
           a->aux == b->aux && a->age == b->age && a->imm == b->imm &&
           !memcmp(a->operands, b->operands, sizeof a->operands);
}

static ir_ref find(const finder *fi, const known *key)
{
    for (uint32_t e = fi->slots[key->hash & fi->mask]; e; e = fi->table.at[e - 1].below)
        if (is_same(&fi->table.at[e - 1], key))
            return fi->table.at[e - 1].value;
    return 0;
}

static void learn(finder *fi, known key, ir_ref value)
{
    uint32_t *slot = &fi->slots[key.hash & fi->mask];
    key.value = value;
    key.below = *slot;
    vec_push(fi->scratch, &fi->table, key);
    *slot = fi->table.len;
}

static void forget(finder *fi, uint32_t len)
{
    while (fi->table.len > len) {
        known k = vec_pop(&fi->table);
        fi->slots[k.hash & fi->mask] = k.below;
    }
}

// --- the walk

// Memory that a kernel cannot write has no age.
static uint32_t age_of(const finder *fi, const ir_inst *i)
{
    ir_type space = ir_type_of(fi->f, ir_operand(fi->f, i, 0));
    if (space == IR_PTR_CONST || space == IR_PTR_PARAM || i->hint == IR_HINT_READONLY)
        return 0;
    return fi->age[space];
}

static void visit_store(finder *fi, ir_inst_id id)
{
    const ir_inst *i = ir_at(fi->f, id);
    grow_older(fi, writes_of(fi->f, i));
    if (i->hint == IR_HINT_VOLATILE || i->operand_count != 2)
        return;
    ir_inst load = *i;
    load.op = IR_LOAD;
    load.operand_count = 1;
    load.aux = 0;
    learn(fi, key_of(fi, &load, fi->age[ir_type_of(fi->f, ir_operand(fi->f, i, 0))]),
          ir_operand(fi->f, i, 1));
}

static void visit_plain(finder *fi, ir_inst_id id)
{
    const ir_inst *i = ir_at(fi->f, id);
    bool is_load = i->op == IR_LOAD && i->hint != IR_HINT_VOLATILE;
    if (i->op == IR_STORE) {
        visit_store(fi, id);
        return;
    }
    bool is_pure = ir_op_effect((ir_op)i->op) == IR_FX_PURE;
    if ((!is_pure && !is_load) || i->result_count != 1 || i->operand_count > 3) {
        grow_older(fi, writes_of(fi->f, i));
        return;
    }
    known key = key_of(fi, i, is_load ? age_of(fi, i) : 0);
    ir_ref value = find(fi, &key);
    if (!value) {
        learn(fi, key, i->result);
        return;
    }
    fi->with[i->result] = value;
    if (!ir_is_const(value) && !fi->f->values.at[value].name)
        fi->f->values.at[value].name = fi->f->values.at[i->result].name;
    ir_remove(fi->f, id);
    fi->did_change = true;
}

static void visit_region(finder *fi, ir_region_id region);

static void visit_control(finder *fi, ir_inst_id id)
{
    const ir_func *f = fi->f;
    const ir_inst *i = ir_at(f, id);
    if (i->op == IR_LOOP) // a later round sees what an earlier one wrote
        grow_older(fi, fi->writes[id]);
    uint32_t age[SPACES];
    memcpy(age, fi->age, sizeof age);
    for (uint32_t k = 0; k < i->region_count; k++) {
        memcpy(fi->age, age, sizeof age);
        visit_region(fi, i->regions + k);
    }
    memcpy(fi->age, age, sizeof age);
    grow_older(fi, fi->writes[id]);
}

static void visit_region(finder *fi, ir_region_id region)
{
    const ir_func *f = fi->f;
    uint32_t len = fi->table.len;
    for (ir_inst_id id = ir_region_at(f, region)->first, next; id; id = next) {
        const ir_inst *i = ir_at(f, id);
        next = i->next;
        ir_ref *operands = ir_operands(f, i);
        for (uint32_t k = 0; k < i->operand_count; k++)
            if (!ir_is_const(operands[k]) && fi->with[operands[k]])
                operands[k] = fi->with[operands[k]];
        if (ir_is_control((ir_op)i->op))
            visit_control(fi, id);
        else
            visit_plain(fi, id);
    }
    forget(fi, len);
}

bool pass_cse(ir_func *f, pass_ctx *ctx)
{
    uint32_t slot_count = 64;
    while (slot_count < f->insts.len)
        slot_count *= 2;
    finder fi = {.f = f,
                 .scratch = ctx->scratch,
                 .with = arena_array(ctx->scratch, ir_ref, f->values.len),
                 .slots = arena_array(ctx->scratch, uint32_t, slot_count),
                 .mask = slot_count - 1,
                 .writes = arena_array(ctx->scratch, uint32_t, f->insts.len),
                 .clock = 1};
    for (uint32_t t = 0; t < SPACES; t++)
        fi.age[t] = 1;
    note_writes(&fi, f->body);
    visit_region(&fi, f->body);
    return fi.did_change;
}
