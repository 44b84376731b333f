// Rows of the tuner's table by the sizes of an op's calls. Start reading at op_tuned_find.
#include "ops/tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/knobs.h"
#include "rt/tuned/tuned.h"

enum { FIRST_SLOTS = 64 };

typedef struct tuned_calls { // of a context and an op
    uint64_t *is_read;       // a bit for each kind
    op_tuned_key *keys;      // a power of two of them, at most half in use; sizes[0] 0: free
    unsigned char *kept;     // kept_bytes for each
    size_t slot_count, count;
    bool is_off;
} tuned_calls;

static void drop_calls(void *given)
{
    tuned_calls *t = given;
    free(t->is_read);
    free(t->keys);
    free(t->kept);
    free(t);
}

static void *make_calls(kiln *k)
{
    (void)k;
    tuned_calls *t = calloc(1, sizeof *t);
    if (t)
        t->is_off = !strcmp(knob_text(KNOB_TUNED), "off");
    return t;
}

static uint64_t hash_of(const op_tuned_key *key)
{
    uint64_t hash = key->kind;
    for (size_t n = 0; n < OP_TUNED_SIZES; n++) {
        hash = (hash ^ key->sizes[n]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

// The slot of a call, or the free one where it belongs.
static size_t slot_of(const op_tuned_key *keys, size_t count, const op_tuned_key *key)
{
    size_t at = hash_of(key) & (count - 1);
    while (keys[at].sizes[0] && memcmp(&keys[at], key, sizeof *key) != 0)
        at = (at + 1) & (count - 1);
    return at;
}

static bool make_room(const op_tuned_op *op, tuned_calls *t)
{
    if ((t->count + 1) * 2 <= t->slot_count)
        return true;
    size_t count = t->slot_count ? t->slot_count * 2 : FIRST_SLOTS;
    op_tuned_key *keys = calloc(count, sizeof *keys);
    unsigned char *kept = calloc(count, op->kept_bytes);
    if (!keys || !kept) {
        free(keys);
        free(kept);
        return false;
    }
    for (size_t n = 0; n < t->slot_count; n++) {
        if (!t->keys[n].sizes[0])
            continue;
        size_t at = slot_of(keys, count, &t->keys[n]);
        keys[at] = t->keys[n];
        memcpy(kept + at * op->kept_bytes, t->kept + n * op->kept_bytes, op->kept_bytes);
    }
    free(t->keys);
    free(t->kept);
    t->keys = keys;
    t->kept = kept;
    t->slot_count = count;
    return true;
}

typedef struct reading {
    const op_tuned_op *op;
    tuned_calls *to;
    uint32_t kind;
} reading;

// Without memory the op chooses by itself.
static void take_row(void *user, const tuned_row *row)
{
    const reading *r = user;
    op_tuned_key key = {.kind = r->kind};
    for (size_t n = 0; n < OP_TUNED_SIZES && r->op->sizes[n]; n++) {
        int64_t value = 0;
        if (tuned_value(row->shape, r->op->sizes[n], &value) && value > 0 && value <= UINT32_MAX)
            key.sizes[n] = (uint32_t)value;
    }
    if (!key.sizes[0] || !make_room(r->op, r->to))
        return;
    size_t at = slot_of(r->to->keys, r->to->slot_count, &key);
    unsigned char *kept = r->to->kept + at * r->op->kept_bytes;
    memset(kept, 0, r->op->kept_bytes);
    if (!r->op->read(row->choice, kept))
        return; // a slot that was free still is
    r->to->count += !r->to->keys[at].sizes[0];
    r->to->keys[at] = key;
}

static void read_kind(kiln *k, const op_tuned_op *op, uint32_t kind, tuned_calls *t)
{
    char program[OP_TUNED_NAME], device[TUNED_FIELD];
    int driver;
    reading r = {op, t, kind};
    t->is_read[kind / 64] |= (uint64_t)1 << kind % 64;
    op->name(kind, program);
    if (!tuned_device(k, device, &driver))
        tuned_each(device, driver, program, take_row, &r);
}

void *op_tuned_find(kiln *k, const op_tuned_op *op, const op_tuned_key *key)
{
    tuned_calls *t = op_keep(k, op->keeper, make_calls, drop_calls);
    if (!t || t->is_off || !key->sizes[0])
        return NULL;
    if (!t->is_read)
        t->is_read = calloc((op->kinds + 63) / 64, sizeof *t->is_read);
    if (!t->is_read)
        return NULL;
    if (!(t->is_read[key->kind / 64] >> key->kind % 64 & 1))
        read_kind(k, op, key->kind, t);
    if (!t->count)
        return NULL;
    size_t at = slot_of(t->keys, t->slot_count, key);
    return t->keys[at].sizes[0] ? t->kept + at * op->kept_bytes : NULL;
}

void op_tuned_shape(const op_tuned_op *op, const op_tuned_key *key, char shape[OP_TUNED_NAME])
{
    size_t used = 0;
    for (size_t n = 0; n < OP_TUNED_SIZES && op->sizes[n] && used < OP_TUNED_NAME; n++)
        used += (size_t)snprintf(shape + used, OP_TUNED_NAME - used, "%s%s=%u", n ? " " : "",
                                 op->sizes[n], key->sizes[n]);
}

uint32_t op_tuned_number(const char *choice, const char *name)
{
    int64_t value = 0;
    if (!tuned_value(choice, name, &value))
        return 0;
    return value < 0 || value > UINT16_MAX ? UINT16_MAX : (uint32_t)value;
}
