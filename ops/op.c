// Kernels of the ops: a hash table per context from a variant (a program and a number for each of
// its axes) to the compiled kernel. What is missing is compiled from the embedded text (op.h).
#include "ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/embed.h"

enum { WORDS = OP_AXES + 8, TEXT_BYTES = 131072, VALUE_BYTES = 8192, FIRST_SLOTS = 64 };

typedef struct op_entry {
    op_request key;
    op_kernel kernel;
} op_entry;

// What a context keeps for the ops.
typedef struct op_state {
    op_entry **slots; // a power of two of them, at most half full; NULL: free
    size_t slot_count, count;
    kiln_device_info info;
    op_see_fn *see;
    void *see_user;
    void *kept[OP_KEEP_COUNT];
    void (*drop[OP_KEEP_COUNT])(void *kept);
} op_state;

static void free_state(void *given)
{
    op_state *state = given;
    for (size_t n = 0; n < state->slot_count; n++)
        free(state->slots[n]);
    free(state->slots);
    for (size_t n = 0; n < OP_KEEP_COUNT; n++)
        if (state->kept[n])
            state->drop[n](state->kept[n]);
    free(state);
}

// The state of `k`, made when there is none; NULL: the error is set.
static op_state *state_of(kiln *k)
{
    if (k->op_cache)
        return k->op_cache;
    op_state *state = calloc(1, sizeof *state);
    if (state)
        state->slots = calloc(FIRST_SLOTS, sizeof *state->slots);
    if (!state || !state->slots) {
        free(state);
        error_no_memory(k, "the ops of a device");
        return NULL;
    }
    state->slot_count = FIRST_SLOTS;
    if (kiln_device_info_of(k, &state->info)) {
        free_state(state);
        return NULL;
    }
    k->op_cache = state;
    k->op_cache_free = free_state;
    return state;
}

kiln_status op_device(kiln *k, const kiln_device_info **out)
{
    const op_state *state = state_of(k);
    *out = state ? &state->info : NULL;
    return state ? KILN_OK : k->error.shown.status;
}

void *op_keep(kiln *k, op_keeper which, void *(*make)(kiln *k), void (*drop)(void *kept))
{
    op_state *state = state_of(k);
    if (state && !state->kept[which]) {
        state->kept[which] = make(k);
        state->drop[which] = drop;
    }
    return state ? state->kept[which] : NULL;
}

kiln_status op_see_variants(kiln *k, op_see_fn *see, void *user)
{
    op_state *state = state_of(k);
    if (!state)
        return k->error.shown.status;
    state->see = see;
    state->see_user = user;
    return KILN_OK;
}

// --- the table
static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const op_request *r)
{
    uint64_t hash = mixed((uintptr_t)r->program, r->given);
    for (uint32_t n = 0; n < r->program->axis_count; n++)
        if (r->given >> n & 1)
            hash = mixed(hash, r->values[n]);
    return hash;
}

static bool is_same(const op_request *a, const op_request *b)
{
    if (a->program != b->program || a->given != b->given)
        return false;
    for (uint32_t n = 0; n < a->program->axis_count; n++)
        if ((a->given >> n & 1) && a->values[n] != b->values[n])
            return false;
    return true;
}

// The place of `r`, or the free one where it belongs.
static op_entry **slot_of(op_entry **slots, size_t slot_count, const op_request *r)
{
    size_t at = hash_of(r) & (slot_count - 1);
    while (slots[at] && !is_same(&slots[at]->key, r))
        at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

// Makes room for one more. False: there is no memory.
static bool make_room(op_state *state)
{
    if ((state->count + 1) * 2 <= state->slot_count)
        return true;
    size_t slot_count = state->slot_count * 2;
    op_entry **slots = calloc(slot_count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t n = 0; n < state->slot_count; n++)
        if (state->slots[n])
            *slot_of(slots, slot_count, &state->slots[n]->key) = state->slots[n];
    free(state->slots);
    state->slots = slots;
    state->slot_count = slot_count;
    return true;
}

// --- compiling
// Macros and tunables of a variant, as kiln_compile takes them.
struct op_words {
    const char *define[WORDS + 1], *tune[WORDS + 1];
    size_t define_count, tune_count, used;
    bool is_too_long;
    char text[TEXT_BYTES]; // the first `used` bytes
};

static const char *add_text(op_words *w, const char *format, va_list args) PRINTF_LIKE(2, 0);
static const char *add_text(op_words *w, const char *format, va_list args)
{
    size_t room = TEXT_BYTES - w->used;
    char *to = w->text + w->used;
    int len = vsnprintf(to, room, format, args);
    if (len < 0 || (size_t)len >= room || w->define_count + w->tune_count >= WORDS) {
        w->is_too_long = true;
        return "";
    }
    w->used += (size_t)len + 1;
    return to;
}

static void PRINTF_LIKE(2, 3) add_define(op_words *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->define[w->define_count] = add_text(w, format, args);
    w->define_count += !w->is_too_long;
    va_end(args);
}

static void PRINTF_LIKE(2, 3) add_tune(op_words *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    w->tune[w->tune_count] = add_text(w, format, args);
    w->tune_count += !w->is_too_long;
    va_end(args);
}

void op_word(op_words *w, const char *name, const char *format, ...)
{
    char value[VALUE_BYTES];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(value, sizeof value, format, args);
    va_end(args);
    w->is_too_long |= len < 0 || (size_t)len >= sizeof value;
    add_define(w, "%s=%s", name, value);
}

void op_word_more(op_words *w, const char *format, ...)
{
    size_t at = w->used ? w->used - 1 : 0, room = TEXT_BYTES - at; // over the end of the last one
    va_list args;
    va_start(args, format);
    int len = vsnprintf(w->text + at, room, format, args);
    va_end(args);
    w->is_too_long |= len < 0 || (size_t)len >= room;
    w->used += w->is_too_long ? 0 : (size_t)len;
}

static bool is_possible(const op_axis *a, uint32_t value)
{
    for (uint32_t n = 0; n < a->count; n++)
        if (a->values[n] == value)
            return true;
    return !a->count && value >= a->least && value <= a->most;
}

static void add_axis(op_words *w, const op_axis *a, uint32_t value)
{
    const char *word = a->words ? a->words[value] : "";
    switch (a->kind) {
    case OP_FLAG:
        if (value)
            add_define(w, "%s", a->name);
        break;
    case OP_WORD:
        if (*word)
            add_define(w, "%s_%s", a->name, word);
        break;
    case OP_TYPE: add_define(w, "%s_%s", a->name, kiln_type_name((kiln_type)value)); break;
    case OP_VALUE:
        if (value)
            add_define(w, "%s=%u", a->name, value);
        break;
    case OP_NUMBER: add_define(w, "%s=%u", a->name, value); break;
    case OP_TEXT:
        if (*word)
            add_define(w, "%s=%s", a->name, word);
        break;
    case OP_TUNE: add_tune(w, "%s=%u", a->name, value); break;
    case OP_KEY: break;
    }
}

static kiln_status mistake(kiln *k, const op_program *p, const char *axis)
{
    return error_set(k, KILN_E_INTERNAL, K9001, "'%s' has no such kernel variant: %s", p->file,
                     axis);
}

// How many blocks of the kernel run at the same time on the whole device.
static uint32_t resident_of(kiln_kernel *kernel, size_t shared_bytes, uint32_t sms)
{
    const kiln *k = kernel->module->k;
    uint32_t block[3], blocks = 1, clusters = 0;
    kiln_kernel_block(kernel, block);
    uint32_t threads = block[0] * block[1] * block[2];
    if (!k->ops->occupancy || kiln_kernel_occupancy(kernel, threads, shared_bytes, &blocks) ||
        !blocks)
        blocks = 1;
    const uint32_t *cluster = kernel->cluster;
    if (cluster[0] && k->ops->clusters &&
        !k->ops->clusters(kernel, threads, shared_bytes, &clusters))
        return clusters * cluster[0] * cluster[1] * cluster[2];
    return blocks * (sms ? sms : 1);
}

static kiln_status compile(kiln *k, const op_state *state, const op_request *r, op_words *w,
                           op_kernel *out)
{
    const op_program *p = r->program;
    for (uint32_t n = 0; n < p->axis_count; n++) {
        bool is_given = r->given >> n & 1;
        if (is_given && !is_possible(&p->axes[n], r->values[n]))
            return mistake(k, p, p->axes[n].name);
        if (is_given)
            add_axis(w, &p->axes[n], r->values[n]);
    }
    if (p->write)
        p->write(r, w);
    if (w->is_too_long)
        return mistake(k, p, "its words are too long");
    if (state->see)
        state->see(state->see_user, p, w->define, w->tune);
    kiln_compile_desc desc = {
        .path = p->file, .define = w->define, .tune = w->tune, .no_file_includes = true};
    desc.source = embed_find(p->file, &desc.source_len);
    if (!desc.source)
        return mistake(k, p, "no such text is built in");
    kiln_module *m;
    kiln_status status = kiln_compile(k, &desc, &m);
    if (status)
        return status;
    status = kiln_module_kernel(m, p->kernel, &out->kernel);
    if (status) {
        kiln_module_free(m);
        return status;
    }
    out->shared_bytes = r->shared_bytes;
    int64_t needed = 0;
    bool has_layout = !kiln_kernel_constant(out->kernel, "SHARED_BYTES", &needed);
    if (has_layout && (size_t)needed > out->shared_bytes)
        out->shared_bytes = (size_t)needed;
    int64_t overlaps = 0;
    out->overlaps = !kiln_kernel_constant(out->kernel, "OVERLAPS", &overlaps) && overlaps;
    out->resident = resident_of(out->kernel, out->shared_bytes, state->info.multiprocessors);
    return KILN_OK;
}

static kiln_status add_kernel(kiln *k, op_state *state, const op_request *r, const op_kernel **out)
{
    op_entry *e = make_room(state) ? malloc(sizeof *e) : NULL;
    op_words *w = e ? malloc(sizeof *w) : NULL;
    if (!w) {
        free(e);
        return error_no_memory(k, "an op's kernel");
    }
    memset(w, 0, offsetof(op_words, text));
    e->key = *r;
    kiln_status status = compile(k, state, r, w, &e->kernel);
    free(w);
    if (status) {
        free(e);
        return status;
    }
    *slot_of(state->slots, state->slot_count, r) = e;
    state->count++;
    *out = &e->kernel;
    return KILN_OK;
}

kiln_status op_kernel_get(kiln *k, const op_request *r, const op_kernel **out)
{
    op_state *state = state_of(k);
    if (!state)
        return k->error.shown.status;
    op_entry *found = *slot_of(state->slots, state->slot_count, r);
    if (!found)
        return add_kernel(k, state, r, out);
    *out = &found->kernel;
    return KILN_OK;
}

// --- operands
uint64_t op_product(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

kiln_status op_check_buffer(kiln *k, const char *op, const char *name, const kiln_buffer *b,
                            uint64_t first, uint64_t count)
{
    if (!b)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: '%s' is NULL", op, name);
    if (!handle_is(HANDLE_BUFFER, b))
        return error_set(k, KILN_E_BAD_HANDLE, K6002, "%s: '%s' is not a live kiln_buffer", op,
                         name);
    if (b->k != k)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6014, "%s: '%s' belongs to another kiln handle",
                         op, name);
    unsigned long long end = count > UINT64_MAX - first ? UINT64_MAX : first + count;
    if (end > b->count)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6017,
                         "%s: '%s' takes elements %llu to %llu, its buffer has %zu", op, name,
                         (unsigned long long)first, end, b->count);
    return KILN_OK;
}
