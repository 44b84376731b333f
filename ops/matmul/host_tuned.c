// Tiles that kiln tune has found for products (rt/tuned/tuned.h). A context reads the rows of a
// kind of product (kernel, types, layout, epilogue) when it first meets one, into a hash table by
// the product's sizes: a warm call asks one bit and one slot. Start reading at matmul_find_tuned.
#include <stdio.h>
#include <stdlib.h>

#include "base/knobs.h"
#include "ops/matmul/host_matmul.h"
#include "rt/tuned/tuned.h"

enum { LAYOUTS = 4, RESULTS = OUT_S32 + 1, EPILOGUES = KILN_EPILOGUE_BIAS_SILU + 1 };
enum { KINDS = AT_COUNT * OPERAND_COUNT * RESULTS * LAYOUTS * EPILOGUES, FIRST_SLOTS = 64 };

typedef struct key {
    uint32_t kind, m, n, depth, batch;
} key;

typedef struct slot {
    key at; // m 0: free
    matmul_tuned tuned;
} slot;

typedef struct tuned_tiles { // of a context
    uint64_t is_read[(KINDS + 63) / 64];
    slot *slots; // a power of two of them, at most half full
    size_t slot_count, count;
    bool is_off;
} tuned_tiles;

const char *const matmul_at_names[AT_COUNT] = {"sm_90a", "sm_80", "cpu",  "portable",
                                               "f32",    "thin",  "small"};

// --- names
static uint32_t layout_of(const job *j)
{
    return (uint32_t)j->a.is_transposed * 2 + j->b.is_transposed;
}

static key key_of(const job *j, matmul_at at)
{
    uint32_t kind = (uint32_t)at;
    kind = kind * OPERAND_COUNT + (uint32_t)j->type;
    kind = kind * RESULTS + (uint32_t)j->result;
    kind = kind * LAYOUTS + layout_of(j);
    kind = kind * EPILOGUES + (uint32_t)j->desc->epilogue;
    return (key){kind, j->m, j->n, j->depth, j->batch};
}

void matmul_name(const job *j, matmul_at at, char program[MATMUL_NAME], char shape[MATMUL_NAME])
{
    static const char *const types[OPERAND_COUNT] = {"bf16", "f16", "tf32", "e4m3", "s8", "f32"};
    static const char *const results[RESULTS] = {"bf16", "f16", "f32", "s32"};
    static const char *const layouts[LAYOUTS] = {"nn", "nt", "tn", "tt"};
    static const char *const epilogues[EPILOGUES] = {"none", "bias", "relu", "gelu", "silu"};
    snprintf(program, MATMUL_NAME, "matmul:%s:%s:%s:%s:%s", matmul_at_names[at], types[j->type],
             results[j->result], layouts[layout_of(j)], epilogues[j->desc->epilogue]);
    snprintf(shape, MATMUL_NAME, "m=%u n=%u k=%u batch=%u", j->m, j->n, j->depth, j->batch);
}

void matmul_write_choice(const matmul_choice *c, char out[MATMUL_NAME])
{
    const kiln_matmul_sm90 *s = &c->sm90;
    const struct {
        const char *name;
        uint32_t value;
    } rows[] = {{"swapped", s->is_swapped}, {"pingpong", s->is_pingpong},
                {"stages", s->stages},      {"group", s->group},
                {"split_k", s->split_k},    {"parts", s->parts},
                {"narrow_n", s->narrow_n},  {"narrow_columns", s->narrow_columns},
                {"sharers", s->sharers}};
    size_t used = (size_t)snprintf(out, MATMUL_NAME, "tile_m=%u tile_n=%u", c->m, c->n);
    for (size_t n = 0; n < COUNT(rows) && used < MATMUL_NAME; n++)
        if (rows[n].value)
            used += (size_t)snprintf(out + used, MATMUL_NAME - used, " %s=%u", rows[n].name,
                                     rows[n].value);
}

// A number of the list, 0 where it has none. Absurd ones become one that no kernel has.
static uint32_t number(const char *list, const char *name)
{
    int64_t value = 0;
    if (!tuned_value(list, name, &value))
        return 0;
    return value < 0 || value > UINT16_MAX ? UINT16_MAX : (uint32_t)value;
}

bool matmul_read_choice(const char *list, matmul_choice *out)
{
    *out = (matmul_choice){.m = number(list, "tile_m"),
                           .n = number(list, "tile_n"),
                           .sm90 = {.is_swapped = number(list, "swapped"),
                                    .is_pingpong = number(list, "pingpong"),
                                    .stages = number(list, "stages"),
                                    .group = number(list, "group"),
                                    .split_k = number(list, "split_k"),
                                    .parts = number(list, "parts"),
                                    .narrow_n = number(list, "narrow_n"),
                                    .narrow_columns = number(list, "narrow_columns"),
                                    .sharers = number(list, "sharers")}};
    return out->m && out->n;
}

// --- the table
static uint64_t hash_of(key k)
{
    const uint32_t numbers[] = {k.kind, k.m, k.n, k.depth, k.batch};
    uint64_t hash = 0;
    for (size_t n = 0; n < COUNT(numbers); n++) {
        hash = (hash ^ numbers[n]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

// The place of a product, or the free one where it belongs.
static slot *slot_of(slot *slots, size_t count, key k)
{
    size_t at = hash_of(k) & (count - 1);
    while (slots[at].at.m && memcmp(&slots[at].at, &k, sizeof k) != 0)
        at = (at + 1) & (count - 1);
    return &slots[at];
}

static bool make_room(tuned_tiles *t)
{
    if ((t->count + 1) * 2 <= t->slot_count)
        return true;
    size_t count = t->slot_count ? t->slot_count * 2 : FIRST_SLOTS;
    slot *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t n = 0; n < t->slot_count; n++)
        if (t->slots[n].at.m)
            *slot_of(slots, count, t->slots[n].at) = t->slots[n];
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    return true;
}

typedef struct reading {
    tuned_tiles *to;
    uint32_t kind;
} reading;

static uint32_t size_of(const char *shape, const char *name)
{
    int64_t value = 0;
    return tuned_value(shape, name, &value) && value > 0 && value <= UINT32_MAX ? (uint32_t)value
                                                                                : 0;
}

// Without memory the model chooses.
static void take_row(void *user, const tuned_row *row)
{
    const reading *r = user;
    slot s = {.at = {r->kind, size_of(row->shape, "m"), size_of(row->shape, "n"),
                     size_of(row->shape, "k"), size_of(row->shape, "batch")}};
    if (!s.at.m || !matmul_read_choice(row->choice, &s.tuned.choice) || !make_room(r->to))
        return;
    slot *to = slot_of(r->to->slots, r->to->slot_count, s.at);
    r->to->count += !to->at.m;
    *to = s;
}

static void *make_tiles(kiln *k)
{
    (void)k;
    tuned_tiles *t = calloc(1, sizeof *t);
    if (t)
        t->is_off = !strcmp(knob_text(KNOB_TUNED), "off");
    return t;
}

static void drop_tiles(void *given)
{
    tuned_tiles *t = given;
    free(t->slots);
    free(t);
}

static void read_kind(const job *j, matmul_at at, uint32_t kind, tuned_tiles *t)
{
    char program[MATMUL_NAME], shape[MATMUL_NAME], device[TUNED_FIELD];
    int driver;
    reading r = {t, kind};
    t->is_read[kind / 64] |= (uint64_t)1 << kind % 64;
    matmul_name(j, at, program, shape);
    if (!tuned_device(j->k, device, &driver))
        tuned_each(device, driver, program, take_row, &r);
}

matmul_tuned *matmul_find_tuned(const job *j, matmul_at at)
{
    tuned_tiles *t = op_keep(j->k, OP_KEEP_MATMUL, make_tiles, drop_tiles);
    if (!t || t->is_off || !j->m)
        return NULL;
    key k = key_of(j, at);
    if (!(t->is_read[k.kind / 64] >> k.kind % 64 & 1))
        read_kind(j, at, k.kind, t);
    if (!t->count)
        return NULL;
    slot *found = slot_of(t->slots, t->slot_count, k);
    return found->at.m ? &found->tuned : NULL;
}
