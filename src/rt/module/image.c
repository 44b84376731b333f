// Modules into the cache and out again. One walk over a module serves both directions: `io` either
// appends to bytes or takes from them, so writer and reader cannot disagree. Start at walk_module.
#include "rt/module/image.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/knobs.h"
#include "base/sha256.h"
#include "rt/cache/cache.h"

enum { PART_COUNT = 7 };

// --- what a compile is made of
struct image_key {
    uint8_t *source; // malloc'ed copy
    size_t source_len;
    const char *path;         // the caller's
    char *values[PART_COUNT]; // malloc'ed
    cache_part parts[PART_COUNT];
};

// "a\nb\n" of a NULL-terminated list.
static char *join(const char *const *list)
{
    size_t len = 1;
    for (const char *const *s = list; s && *s; s++)
        len += strlen(*s) + 1;
    char *out = malloc(len), *at = out;
    for (const char *const *s = list; out && s && *s; s++) {
        size_t n = strlen(*s);
        memcpy(at, *s, n);
        at[n] = '\n';
        at += n + 1;
    }
    if (out)
        *at = 0;
    return out;
}

static char *options_text(const kiln_compile_desc *desc)
{
    char options[256];
    snprintf(options, sizeof options, "level %d%s%s%s%s%s%s%s check=%.100s exits=%.20s",
             desc->optimise < 0 ? 0 : 2, desc->is_ir ? " ir" : "", desc->is_ptx ? " ptx" : "",
             desc->no_file_includes ? " no-files" : "", desc->warnings_are_errors ? " werror" : "",
             desc->remarks ? " remarks" : "", desc->diagnostics_json ? " json" : "",
             desc->check_bounds ? " bounds" : "", knob_text(KNOB_CHECK), knob_text(KNOB_EXITS));
    return strdup(options);
}

static bool copy_main(image_key *key, str from)
{
    key->source = malloc(from.len + 1);
    if (!key->source)
        return false;
    memcpy(key->source, from.at, from.len);
    key->source[from.len] = 0;
    key->source_len = from.len;
    return true;
}

static bool read_main(image_key *key, const kiln_compile_desc *desc)
{
    if (desc->source)
        return copy_main(
            key, (str){desc->source, desc->source_len ? desc->source_len : strlen(desc->source)});
    arena *a = arena_new();
    bug_frame frame;
    volatile bool is_read = false;
    if (a && !bug_enter(&frame)) {
        str from;
        const char *reason;
        is_read = file_read(a, desc->path, 64 << 20, &from, &reason) && copy_main(key, from);
        bug_leave(&frame);
    }
    arena_free(a);
    return is_read;
}

image_key *image_key_of(kiln_module *m, const kiln_compile_desc *desc)
{
    image_key *key = calloc(1, sizeof *key);
    if (!key)
        return NULL;
    kiln_device_info info = {0};
    kiln_device_info_of(m->k, &info);
    char driver[160];
    snprintf(driver, sizeof driver, "%d %s", info.driver_version, info.name);
    const char *names[PART_COUNT] = {"defines", "tune",   "includes", "target",
                                     "kiln",    "driver", "options"};
    char *values[PART_COUNT] = {
        join(desc->define),     join(desc->tune), join(desc->include), strdup(m->target->name),
        strdup(embed_build_id), strdup(driver),   options_text(desc)};
    bool is_whole = read_main(key, desc);
    for (size_t k = 0; k < PART_COUNT; k++) {
        key->values[k] = values[k];
        key->parts[k] = (cache_part){names[k], values[k]};
        is_whole = is_whole && values[k];
    }
    key->path = desc->path;
    if (is_whole)
        return key;
    image_key_free(key);
    return NULL;
}

void image_key_free(image_key *key)
{
    if (!key)
        return;
    for (size_t k = 0; k < PART_COUNT; k++)
        free(key->values[k]);
    free(key->source);
    free(key);
}

str image_source(const image_key *key)
{
    return (str){(const char *)key->source, key->source_len};
}

static cache_request request_of(const image_key *key)
{
    return (cache_request){.path = key->path,
                           .source = key->source,
                           .source_len = key->source_len,
                           .parts = key->parts,
                           .part_count = PART_COUNT};
}

void image_note_inputs(kiln_module *m, const source_map *sources)
{
    uint32_t files = source_count(sources), absent = source_absent_count(sources);
    m->inputs = arena_array(m->a, cache_input, files + absent + 1);
    for (uint32_t k = 1; k < files; k++) { // 0 is the main one
        const source_file *file = source_at(sources, k);
        if (file->is_builtin || file->is_embedded) // the key has the library's own texts
            continue;
        cache_input *input = &m->inputs[m->input_count++];
        input->path = str_format(m->a, "%s", file->path);
        sha256_of(file->text.at, file->text.len, input->hash);
    }
    for (uint32_t k = 0; k < absent; k++)
        m->inputs[m->input_count++] = (cache_input){
            .path = str_format(m->a, "%s", source_absent_at(sources, k)), .is_absent = true};
}

// --- the walk
typedef struct io {
    bool is_reading, failed;
    arena *a;          // reading: where things go
    const uint8_t *at; // reading
    size_t left;
    text out; // writing
} io;

static void io_bytes(io *x, void *value, size_t len)
{
    if (!x->is_reading) {
        text_add(&x->out, value, len);
    } else if (x->failed || x->left < len) {
        x->failed = true;
        memset(value, 0, len);
    } else {
        memcpy(value, x->at, len);
        x->at += len;
        x->left -= len;
    }
}

#define io_value(x, place) io_bytes((x), (place), sizeof *(place))

// Counts, at most one for each byte left: a broken number allocates nothing large.
static size_t io_count(io *x, size_t count)
{
    uint64_t n = count;
    io_value(x, &n);
    if (x->is_reading && n > x->left) {
        x->failed = true;
        n = 0;
    }
    return (size_t)n;
}

static void io_str(io *x, str *s)
{
    size_t len = io_count(x, s->len);
    if (!x->is_reading) {
        text_add(&x->out, s->at, len);
        return;
    }
    char *copy = arena_alloc(x->a, len + 1);
    io_bytes(x, copy, len);
    *s = (str){copy, len};
}

static void io_text(io *x, const char **s)
{
    str both = *s && !x->is_reading ? str_of(*s) : (str){"", 0};
    io_str(x, &both);
    *s = both.at;
}

static void walk_param(io *x, rt_param *p)
{
    io_text(x, &p->info.name);
    io_text(x, &p->info.c_type);
    io_value(x, &p->info.kind);
    io_value(x, &p->info.type);
    io_value(x, &p->info.size);
    io_value(x, &p->info.is_const);
    io_value(x, &p->value);
    io_value(x, &p->is_raw);
}

static void walk_kernel(io *x, kiln_kernel *kernel)
{
    io_text(x, &kernel->name);
    io_text(x, &kernel->file);
    io_value(x, &kernel->line);
    io_value(x, &kernel->block);
    io_value(x, &kernel->max_threads);
    io_value(x, &kernel->cluster);
    io_value(x, &kernel->talks);
    io_value(x, &kernel->stack_bytes);
    io_value(x, &kernel->resources.spill_stores);
    io_value(x, &kernel->resources.spill_loads);
    io_value(x, &kernel->hidden_count);
    io_value(x, &kernel->uses_heap);
    kernel->param_count = io_count(x, kernel->param_count);
    if (x->is_reading)
        kernel->params = arena_array(x->a, rt_param, kernel->param_count + 1);
    for (size_t k = 0; k < kernel->param_count; k++)
        walk_param(x, &kernel->params[k]);
}

static void walk_kernels(io *x, kiln_module *m)
{
    size_t count = io_count(x, m->kernel_count);
    if (x->is_reading)
        m->kernels = arena_array(x->a, kiln_kernel *, count + 1);
    for (size_t k = 0; k < count && !x->failed; k++) {
        if (x->is_reading) {
            kiln_kernel *kernel = handle_new(HANDLE_KERNEL);
            if (!kernel)
                bug_out_of_memory();
            kernel->module = m;
            m->kernels[m->kernel_count++] = kernel;
        }
        walk_kernel(x, m->kernels[k]);
    }
}

static void walk_site(io *x, channel_site *s)
{
    io_value(x, &s->op);
    io_text(x, &s->kernel);
    io_str(x, &s->text);
    io_text(x, &s->file);
    io_value(x, &s->line);
    io_value(x, &s->column);
    io_value(x, &s->elem);
    io_value(x, &s->argument_count);
    io_value(x, &s->arguments);
    x->failed |= s->argument_count > COUNT(s->arguments);
}

static void walk_texts(io *x, kiln_module *m)
{
    m->site_count = (uint32_t)io_count(x, m->site_count);
    if (x->is_reading)
        m->sites = arena_array(x->a, channel_site, m->site_count + 1);
    for (uint32_t k = 0; k < m->site_count && !x->failed; k++)
        walk_site(x, &m->sites[k]);
    m->string_count = (uint32_t)io_count(x, m->string_count);
    if (x->is_reading)
        m->strings = arena_array(x->a, str, m->string_count + 1);
    for (uint32_t k = 0; k < m->string_count && !x->failed; k++)
        io_str(x, &m->strings[k]);
    m->constant_count = (uint32_t)io_count(x, m->constant_count);
    if (x->is_reading)
        m->constants = arena_array(x->a, ir_named, m->constant_count + 1);
    for (uint32_t k = 0; k < m->constant_count && !x->failed; k++) {
        io_text(x, &m->constants[k].name);
        io_value(x, &m->constants[k].value);
    }
}

// malloc'ed bytes, which may be missing.
static void walk_owned(io *x, void **bytes, size_t *len)
{
    str s = {*bytes, *bytes ? *len : 0};
    io_str(x, &s);
    if (!x->is_reading || x->failed || !s.len)
        return;
    *bytes = malloc(s.len + 1);
    if (!*bytes)
        bug_out_of_memory();
    memcpy(*bytes, s.at, s.len + 1);
    *len = s.len;
}

static void walk_module(io *x, kiln_module *m)
{
    walk_kernels(x, m);
    walk_texts(x, m);
    str code = {m->code, m->code_len};
    io_str(x, &code);
    if (x->is_reading) {
        m->code = str_dup(x->a, code);
        m->code_len = code.len;
    }
    void *log = m->log;
    size_t log_len = m->log ? strlen(m->log) : 0;
    walk_owned(x, &log, &log_len);
    m->log = log;
    walk_owned(x, &m->binary, &m->binary_len);
}

// --- in and out
static void forget_all(kiln_module *m)
{
    for (size_t k = 0; k < m->kernel_count; k++)
        handle_free(HANDLE_KERNEL, m->kernels[k]);
    free(m->log);
    free(m->binary);
    m->kernel_count = m->site_count = m->string_count = m->constant_count = 0;
    m->log = NULL;
    m->binary = NULL;
    m->code = NULL;
}

bool image_load(kiln_module *m, const image_key *key)
{
    void *bytes;
    size_t len;
    cache_request request = request_of(key);
    if (!cache_get(&request, &bytes, &len))
        return false;
    bug_frame frame;
    volatile bool is_good = false;
    if (!bug_enter(&frame)) {
        io x = {.is_reading = true, .a = m->a, .at = bytes, .left = len};
        walk_module(&x, m);
        is_good = !x.failed && !x.left;
        bug_leave(&frame);
    }
    free(bytes);
    if (!is_good) {
        forget_all(m);
        cache_forget(&request);
    }
    return is_good;
}

void image_keep(kiln_module *m, const image_key *key)
{
    arena *a = arena_new();
    bug_frame frame;
    if (!a)
        return;
    cache_request request = request_of(key);
    if (!bug_enter(&frame)) {
        io x = {.out = {.in = a}};
        walk_module(&x, m);
        cache_put(&request, m->inputs, m->input_count, x.out.at, x.out.len);
        bug_leave(&frame);
    }
    arena_free(a);
}
