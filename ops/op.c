// Kernels of the ops: one list per context, found by the whole request, filled by compiling the
// embedded text (op.h).
#include "ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/embed.h"

enum { NAME_BYTES = 128, KEY_BYTES = 2 * NAME_BYTES + 2 * OP_WORDS * OP_WORD_BYTES };

// What a context keeps for the ops.
typedef struct op_state {
    struct op_entry *first;
    kiln_device_info info;
} op_state;

typedef struct op_entry {
    struct op_entry *next;
    op_kernel kernel;
    char key[]; // NUL-terminated
} op_entry;

// False: it has no room.
static bool add_word(char words[OP_WORDS][OP_WORD_BYTES], size_t *count, const char *format,
                     va_list args) PRINTF_LIKE(3, 0);
static bool add_word(char words[OP_WORDS][OP_WORD_BYTES], size_t *count, const char *format,
                     va_list args)
{
    if (*count == OP_WORDS)
        return false;
    int len = vsnprintf(words[*count], OP_WORD_BYTES, format, args);
    ++*count;
    return len >= 0 && len < OP_WORD_BYTES;
}

void op_define(op_request *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    r->is_too_long |= !add_word(r->define, &r->define_count, format, args);
    va_end(args);
}

void op_tune(op_request *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    r->is_too_long |= !add_word(r->tune, &r->tune_count, format, args);
    va_end(args);
}

static size_t put(char *key, size_t len, const char *word)
{
    size_t more = strlen(word);
    memcpy(key + len, word, more);
    key[len + more] = ' ';
    key[len + more + 1] = 0;
    return len + more + 1;
}

static size_t make_key(const op_request *r, char *key)
{
    size_t len = put(key, 0, r->file);
    len = put(key, len, r->kernel ? r->kernel : "");
    for (size_t n = 0; n < r->define_count; n++)
        len = put(key, len, r->define[n]);
    for (size_t n = 0; n < r->tune_count; n++)
        len = put(key, len, r->tune[n]);
    return len;
}

static void free_state(void *state)
{
    for (op_entry *e = ((op_state *)state)->first, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    free(state);
}

// The state of `k`, made when there is none; NULL: the error is set.
static op_state *state_of(kiln *k)
{
    if (k->op_cache)
        return k->op_cache;
    op_state *state = calloc(1, sizeof *state);
    if (!state) {
        error_no_memory(k, "the ops of a device");
        return NULL;
    }
    if (kiln_device_info_of(k, &state->info)) {
        free(state);
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

static kiln_status mistake(kiln *k, const char *file)
{
    return error_set(k, KILN_E_INTERNAL, K9001, "an op asks for a kernel of '%s' that cannot be",
                     file);
}

static kiln_status compile(kiln *k, const op_request *r, uint32_t sms, op_kernel *out)
{
    const char *define[OP_WORDS + 1] = {NULL}, *tune[OP_WORDS + 1] = {NULL};
    kiln_compile_desc desc = {
        .path = r->file, .define = define, .tune = tune, .no_file_includes = true};
    for (size_t n = 0; n < r->define_count; n++)
        define[n] = r->define[n];
    for (size_t n = 0; n < r->tune_count; n++)
        tune[n] = r->tune[n];
    desc.source = embed_find(r->file, &desc.source_len);
    if (!desc.source)
        return mistake(k, r->file);
    kiln_module *m;
    kiln_status status = kiln_compile(k, &desc, &m);
    if (status)
        return status;
    status = kiln_module_kernel(m, r->kernel, &out->kernel);
    uint32_t block[3], blocks = 1;
    if (status) {
        kiln_module_free(m);
        return status;
    }
    kiln_kernel_block(out->kernel, block);
    if (!k->ops->occupancy ||
        kiln_kernel_occupancy(out->kernel, block[0] * block[1] * block[2], r->shared_bytes,
                              &blocks) ||
        !blocks)
        blocks = 1;
    out->resident = blocks * (sms ? sms : 1);
    const uint32_t *cluster = out->kernel->cluster;
    uint32_t clusters = 0;
    if (cluster[0] && k->ops->clusters &&
        !k->ops->clusters(out->kernel, block[0] * block[1] * block[2], r->shared_bytes, &clusters))
        out->resident = clusters * cluster[0] * cluster[1] * cluster[2];
    return KILN_OK;
}

kiln_status op_kernel_get(kiln *k, const op_request *r, const op_kernel **out)
{
    char key[KEY_BYTES];
    if (r->is_too_long || strlen(r->file) + 2 > NAME_BYTES ||
        (r->kernel && strlen(r->kernel) + 2 > NAME_BYTES))
        return mistake(k, r->file);
    size_t len = make_key(r, key);
    op_state *state = state_of(k);
    if (!state)
        return k->error.shown.status;
    for (op_entry *e = state->first; e; e = e->next)
        if (!strcmp(e->key, key)) {
            *out = &e->kernel;
            return KILN_OK;
        }
    op_entry *e = malloc(sizeof *e + len + 1);
    if (!e)
        return error_no_memory(k, "an op's kernel");
    kiln_status status = compile(k, r, state->info.multiprocessors, &e->kernel);
    if (status) {
        free(e);
        return status;
    }
    memcpy(e->key, key, len + 1);
    e->next = state->first;
    state->first = e;
    *out = &e->kernel;
    return KILN_OK;
}

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
