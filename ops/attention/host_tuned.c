// Kernels and tiles that kiln tune has found for forward calls of attention: what may be tried,
// what rows of its table call it, and how a call looks it up (ops/tuned.h). Start reading at
// forward_list_choices.
#include <stdio.h>
#include <string.h>

#include "ops/attention/host_forward.h"
#include "ops/tuned.h"
#include "rt/tuned/tuned.h"

enum { TYPES = 2, KINDS = TYPES * 2 }; // types, causal or not
_Static_assert((int)FORWARD_NAME == (int)OP_TUNED_NAME, "names have one size");

// --- names
static const char *const ways[WAY_COUNT] = {"portable", "sm80", "sm90", "decode"};

typedef struct number {
    const char *name;
    uint32_t value;
} number;

void forward_write_choice(const forward_choice *c, char out[FORWARD_NAME])
{
    const forward_tile *t = &c->tile;
    const number numbers[] = {{"warpgroups", t->warpgroups}, {"keys", t->keys},
                              {"q_stages", t->q_stages},     {"ahead", t->ahead},
                              {"turns", t->has_turns},       {"late", t->is_late},
                              {"warps", c->warps},           {"stages", c->stages},
                              {"parts", c->parts},           {"shares", c->shares}};
    size_t used = (size_t)snprintf(out, FORWARD_NAME, "%s=1", ways[c->way]);
    for (size_t n = 0; n < COUNT(numbers) && used < FORWARD_NAME; n++)
        if (numbers[n].value)
            used += (size_t)snprintf(out + used, FORWARD_NAME - used, " %s=%u", numbers[n].name,
                                     numbers[n].value);
}

bool forward_read_choice(const char *list, forward_choice *out)
{
    forward_way way = WAY_PORTABLE;
    for (int n = 0; n < WAY_COUNT; n++)
        if (op_tuned_number(list, ways[n]))
            way = (forward_way)n;
    *out = (forward_choice){.way = way,
                            .tile = {.warpgroups = op_tuned_number(list, "warpgroups"),
                                     .keys = op_tuned_number(list, "keys"),
                                     .q_stages = op_tuned_number(list, "q_stages"),
                                     .ahead = op_tuned_number(list, "ahead"),
                                     .has_turns = op_tuned_number(list, "turns"),
                                     .is_late = op_tuned_number(list, "late")},
                            .warps = op_tuned_number(list, "warps"),
                            .stages = op_tuned_number(list, "stages"),
                            .parts = op_tuned_number(list, "parts"),
                            .shares = op_tuned_number(list, "shares")};
    return way != WAY_PORTABLE;
}

static void write_program(uint32_t kind, char program[FORWARD_NAME])
{
    snprintf(program, FORWARD_NAME, "attention:%s:%s", kind / 2 ? "f16" : "bf16",
             kind % 2 ? "causal" : "full");
}

// --- the table
static bool read_tuned(const char *choice, void *kept)
{
    forward_tuned *t = kept;
    return forward_read_choice(choice, &t->choice);
}

static const op_tuned_op tuned = {.keeper = OP_KEEP_ATTENTION_TUNED,
                                  .kinds = KINDS,
                                  .kept_bytes = sizeof(forward_tuned),
                                  .sizes = {"batch", "heads", "kv_heads", "queries", "keys", "dim"},
                                  .name = write_program,
                                  .read = read_tuned};

static op_tuned_key key_of(const attention *a)
{
    return (op_tuned_key){(a->type == KILN_F16) * 2u + a->is_causal,
                          {a->batch, a->heads, a->kv_heads, a->queries, a->keys, a->head_dim}};
}

forward_tuned *forward_find_tuned(const forward_job *j)
{
    op_tuned_key key = key_of(&j->a);
    return op_tuned_find(j->a.k, &tuned, &key);
}

// --- what may be tried
static bool is_same(const forward_choice *a, const forward_choice *b)
{
    char left[FORWARD_NAME], right[FORWARD_NAME];
    forward_write_choice(a, left);
    forward_write_choice(b, right);
    return !strcmp(left, right);
}

static void add(forward_job *j, forward_list *to, const forward_choice *c)
{
    for (size_t n = 0; n < to->count; n++)
        if (is_same(&to->all[n], c))
            return;
    if (to->count < FORWARD_CHOICES && forward_can(j, c->way) && forward_fits(j, c))
        to->all[to->count++] = *c;
}

// Tiles of as many warpgroups as there are queries for, in five ways to overlap the products with
// what is between them; two tiles of queries in shared memory where there is room.
static void add_sm90(forward_job *j, forward_list *to)
{
    static const uint32_t keys[] = {64, 80, 96, 128, 160};
    static const forward_tile schedules[] = {{.ahead = 1},
                                             {.ahead = 2},
                                             {.ahead = 0, .is_late = true},
                                             {.ahead = 2, .is_late = true},
                                             {.ahead = 1, .has_turns = true}};
    uint32_t groups = ceil_div(j->a.queries, 64);
    for (uint32_t warpgroups = 1; warpgroups <= 4 && warpgroups <= groups; warpgroups++)
        for (size_t k = 0; k < COUNT(keys); k++)
            for (size_t n = 0; n < COUNT(schedules); n++) {
                forward_choice c = {.way = WAY_SM90, .tile = schedules[n]};
                c.tile.warpgroups = warpgroups;
                c.tile.keys = keys[k];
                c.tile.q_stages = 2;
                if (!forward_fits(j, &c))
                    c.tile.q_stages = 1;
                if (!k || keys[k - 1] < j->a.keys)
                    add(j, to, &c);
            }
}

static void add_decode(forward_job *j, uint32_t multiprocessors, forward_list *to)
{
    static const uint32_t stages[] = {8, 6, 4, 3, 2}, parts[] = {1, 2, 3, 4, 6, 8, 12, 16, 32, 64};
    for (size_t s = 0; s < COUNT(stages); s++) {
        for (size_t n = 0; n < COUNT(parts); n++)
            add(j, to,
                &(forward_choice){.way = WAY_DECODE, .stages = stages[s], .parts = parts[n]});
        for (uint32_t beside = 1; beside <= 2; beside++)
            add(j, to,
                &(forward_choice){
                    .way = WAY_DECODE, .stages = stages[s], .shares = multiprocessors * beside});
    }
}

kiln_status forward_list_choices(kiln *k, const kiln_attention_desc *desc, forward_list *out)
{
    enum { MOST_ROWS = 64 }; // of a head of keys, for which decode.c is worth a try
    forward_job j;
    const kiln_device_info *device;
    *out = (forward_list){.count = 0};
    kiln_status status = forward_begin(k, desc, &j);
    if (!status)
        status = op_device(k, &device);
    if (!status && j.a.rows)
        status = forward_choose(&j, false, &out->all[0]);
    if (status)
        return status;
    const op_tuned_key key = key_of(&j.a);
    write_program(key.kind, out->program);
    op_tuned_shape(&tuned, &key, out->shape);
    out->count = 1;
    kiln_attention_kernel asked = desc->kernel;
    bool is_any = asked == KILN_ATTENTION_BEST && !k->caps.is_emulated;
    if (is_any || asked == KILN_ATTENTION_SM90)
        add_sm90(&j, out);
    if (asked == KILN_ATTENTION_DECODE ||
        (is_any && (uint64_t)j.a.heads / j.a.kv_heads * j.a.queries <= MOST_ROWS))
        add_decode(&j, device->multiprocessors, out);
    for (uint32_t warps = 4; warps <= 8; warps += 4)
        if (is_any || asked == KILN_ATTENTION_SM80)
            add(&j, out, &(forward_choice){.way = WAY_MMA, .warps = warps});
    return KILN_OK;
}
