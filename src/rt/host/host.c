// The table of host functions of a context, the check before a launch, and the call itself. Start
// reading at host_check and host_call.
#ifndef _GNU_SOURCE
#    define _GNU_SOURCE // dladdr, dlinfo
#endif
#include "rt/host/row.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "rt/io/io.h"
#include "rt/memory/heap.h"

// --- the table. A row stays until the context ends: a graph may call it later.
static host_row *find_name(const kiln *k, str name)
{
    for (host_row *row = k->hosts; row; row = row->next)
        if (str_same(str_of(row->name), name))
            return row;
    return NULL;
}

static bool is_provided(const host_row *row)
{
    return row && (row->given.call || row->given.plain || row->given.many);
}

static host_row *find_row(const kiln *k, str name)
{
    host_row *row = find_name(k, name);
    return is_provided(row) ? row : NULL;
}

static void free_row(host_row *row)
{
    pthread_mutex_destroy(&row->lock);
    if (row->library)
        dlclose(row->library);
    free(row->name);
    free(row->signature);
    free(row);
}

void host_free_all(kiln *k)
{
    while (k->hosts) {
        host_row *next = k->hosts->next;
        free_row(k->hosts);
        k->hosts = next;
    }
}

static host_row *new_row(kiln *k, const char *name)
{
    host_row *row = calloc(1, sizeof *row);
    if (!row)
        return NULL;
    pthread_mutex_init(&row->lock, NULL);
    row->name = strdup(name);
    if (!row->name) {
        free_row(row);
        return NULL;
    }
    row->k = k;
    row->next = k->hosts;
    return k->hosts = row;
}

kiln_status host_provide(kiln *k, const kiln_host_desc *desc)
{
    if (!desc || !desc->name || !*desc->name)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_host_register: there is no %s",
                         desc ? "name" : "description");
    if ((desc->call != NULL) + (desc->plain != NULL) + (desc->many != NULL) > 1)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_host_register: '%s' has more than one of `call`, `plain` and "
                         "`many`: give one of them",
                         desc->name);
    host_row *row = find_name(k, str_of(desc->name));
    if (!desc->call && !desc->plain && !desc->many) {
        if (!is_provided(row))
            return error_set(k, KILN_E_NOT_FOUND, K6003,
                             "kiln_host_register: there is no host function '%s' to take away",
                             desc->name);
        row->given = (kiln_host_desc){0};
        return KILN_OK;
    }
    char *signature = desc->signature ? strdup(desc->signature) : NULL;
    if (!row)
        row = new_row(k, desc->name);
    if (!row || (desc->signature && !signature)) {
        free(signature);
        return error_no_memory(k, "a host function");
    }
    free(row->signature);
    row->signature = signature;
    row->given = *desc;
    row->together = NULL;
    row->shape = NULL;
    return KILN_OK;
}

kiln_status kiln_host_register(kiln *k, const kiln_host_desc *desc)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (context_is_within(k))
        return error_set(
            k, KILN_E_BAD_ARGUMENT, K6003,
            "kiln_host_register: a kernel of this context runs now: register functions "
            "before the launch, not from one that the kernel calls");
    return host_provide(k, desc);
}

void host_set_together(kiln *k, const char *name, host_together *together)
{
    host_row *row = find_name(k, str_of(name));
    if (row)
        row->together = together;
}

void host_set_shape(kiln *k, const char *name, const char *shape)
{
    host_row *row = find_name(k, str_of(name));
    if (row)
        row->shape = shape;
}

bool host_is_together(const host_site *site)
{
    return site->row->together != NULL;
}

// --- before a launch
static bool is_service(str name)
{
    return name.len > 8 && !memcmp(name.at, "kiln_io_", 8);
}

// Spaces do not count: "f32*" is "f32 *".
static bool is_same_signature(const char *given, str wanted)
{
    size_t n = 0;
    for (;; given++, n++) {
        while (*given == ' ')
            given++;
        while (n < wanted.len && wanted.at[n] == ' ')
            n++;
        char c = n < wanted.len ? wanted.at[n] : 0;
        if (*given != c || !c)
            return *given == c;
    }
}

// What stands between name and signature, from the bracket on.
static bool has_shape(const host_shape *s, const char *wanted)
{
    const char *from = s->name.at + s->name.len, *end = s->signature.at - strlen(" : ");
    while (from < end && *from != '(')
        from++;
    return str_same((str){from, (size_t)(end - from)}, str_of(wanted));
}

static kiln_status check_row(const kiln_kernel *kernel, const host_site *site, const host_row *row)
{
    kiln *k = kernel->module->k;
    const host_shape *s = &site->shape;
    if (!row)
        return error_set(k, KILN_E_LAUNCH, K6046,
                         "kernel '%s' calls the host function '%.*s', which the program does not "
                         "provide\n  register a function '%.*s' with kiln_host_register, or give "
                         "kiln run a library that has it (--host)",
                         kernel->name, (int)s->name.len, s->name.at, (int)s->signature.len,
                         s->signature.at);
    if (row->signature && !is_same_signature(row->signature, s->signature))
        return error_set(k, KILN_E_LAUNCH, K6046,
                         "kernel '%s' calls '%.*s', but the program provides '%s'", kernel->name,
                         (int)s->signature.len, s->signature.at, row->signature);
    if (row->shape && !has_shape(s, row->shape))
        return error_set(k, KILN_E_LAUNCH, K6046,
                         "kernel '%s' declares '%.*s' with other counts or structs than "
                         "kiln/io.h\n  include that header instead",
                         kernel->name, (int)s->name.len, s->name.at);
    if (row->given.plain && !native_can_call(s))
        return error_set(
            k, KILN_E_LAUNCH, K6046,
            "kernel '%s': the host function '%.*s' cannot be called as it is: it takes "
            "or returns a struct, or too many numbers\n  register it through the "
            "header that kiln build writes",
            kernel->name, (int)s->signature.len, s->signature.at);
    if (__atomic_load_n(&row->holder, __ATOMIC_RELAXED) == &host_thread)
        return error_set(k, KILN_E_LAUNCH, K6046,
                         "kernel '%s' calls the host function '%.*s', which launches it and is "
                         "called one at a time: it would wait for itself\n  register the function "
                         "with is_concurrent",
                         kernel->name, (int)s->name.len, s->name.at);
    return KILN_OK;
}

const host_site *host_site_of(const kiln_module *m, uint32_t site)
{
    return m->host_sites && site < m->site_count ? m->host_sites[site] : NULL;
}

void host_forget(kiln_module *m)
{
    for (uint32_t n = 0; m->host_sites && n < m->site_count; n++)
        free(m->host_sites[n]);
    free(m->host_sites);
    m->host_sites = NULL;
}

// A function that stays one has sites of its own: whichever kernel calls it.
static bool is_of_another(const kiln_kernel *kernel, const char *name)
{
    const kiln_module *m = kernel->module;
    if (!strcmp(kernel->name, name))
        return false;
    for (size_t n = 0; n < m->kernel_count; n++)
        if (!strcmp(m->kernels[n]->name, name))
            return true;
    return false;
}

static bool is_plain(const host_shape *s)
{
    bool is = s->in_count == s->param_count && s->out_count <= 1;
    for (uint32_t p = 0; is && p < s->param_count; p++)
        is = s->params[p].kind == 'v' && s->params[p].first == p && s->in[p].offset == 0 &&
             s->params[p].size == ir_type_size((ir_type)s->in[p].type);
    return is && (!s->out_count || (s->out[0].param == HOST_RESULT && s->out[0].offset == 0 &&
                                    s->result_size == ir_type_size((ir_type)s->out[0].type)));
}

kiln_status host_check(kiln_kernel *kernel)
{
    kiln_module *m = kernel->module;
    kiln *k = m->k;
    for (uint32_t n = 0; n < m->site_count; n++) {
        const channel_site *site = &m->sites[n];
        if (site->op != IR_HOST || is_of_another(kernel, site->kernel) ||
            str_starts(site->text, HEAP_NOTE " ")) // kiln check answers that
            continue;
        if (!k->ops->calls_host || k->has_no_calls)
            return error_set(k, KILN_E_UNSUPPORTED, K6047,
                             "kernel '%s' calls the host function '%.*s', and %s cannot call the "
                             "host while a kernel runs\n  run it on 'cpu' or 'interp'",
                             kernel->name, (int)strcspn(site->text.at, " "), site->text.at,
                             k->device);
        if (!m->host_sites)
            m->host_sites = calloc(m->site_count, sizeof *m->host_sites);
        if (m->host_sites && !m->host_sites[n])
            m->host_sites[n] = calloc(1, sizeof **m->host_sites);
        if (!m->host_sites || !m->host_sites[n])
            return error_no_memory(k, "a host function");
        host_site *made = m->host_sites[n];
        // What is there is left as it is: a kernel that runs may call by it.
        if (!made->shape.name.len) {
            if (!host_read(site->text, &made->shape))
                return error_set(k, KILN_E_INTERNAL, K9001,
                                 "internal error: '%.*s' is no host function", (int)site->text.len,
                                 site->text.at);
            made->is_plain = is_plain(&made->shape);
        }
        if (made->shape.is_warp && k->has_no_warp_calls)
            return error_set(k, KILN_E_UNSUPPORTED, K6047,
                             "kernel '%s' calls the host function '%.*s' once for a warp, and on "
                             "%s every thread calls by itself\n  let one thread call it, without "
                             "per_warp, or run it on 'cpu' or 'interp'",
                             kernel->name, (int)made->shape.name.len, made->shape.name.at,
                             k->device);
        const host_row *row = find_row(k, made->shape.name);
        if (!row && is_service(made->shape.name)) {
            kiln_status attached = io_attach(k);
            if (attached)
                return attached;
            row = find_row(k, made->shape.name);
        }
        kiln_status status = check_row(kernel, made, row);
        if (status)
            return status;
        if (made->row != row)
            made->row = row;
        if (!kernel->calls_host)
            kernel->calls_host = true;
        if (!kernel->carries && host_rows_of(&made->shape).counted)
            kernel->carries = true;
    }
    return KILN_OK;
}

// --- calls
void kiln_host_stop(const kiln_host_call *call, const char *why)
{
    stop_note *note = call ? call->inside : NULL;
    if (!note)
        return;
    note->is_set = true;
    snprintf(note->text, note->size, "%s", why ? why : "");
}

_Thread_local char host_thread;

// Calls what the row has, one at a time unless it allows more.
void host_enter(const host_site *site, const kiln_host_call *call)
{
    const host_row *row = site->row;
    bool is_locked = !row->given.is_concurrent;
    context_call within;
    context_enter(&within, row->k);
    if (is_locked)
        row_lock(row);
    if (row->given.call)
        row->given.call(row->given.user, call);
    else if (row->given.many)
        row->given.many(row->given.user, &(kiln_host_calls){.args = call->args,
                                                            .result = call->result,
                                                            .kernel = call->kernel,
                                                            .count = 1});
    else if (!row->given.plain)
        kiln_host_stop(call, "the host function was taken away");
    else
        native_call(&site->shape, row->given.plain, (const void *const *)call->args, call->result);
    if (is_locked)
        row_unlock(row);
    context_leave(&within);
}

// The numbers lie where they came, little-endian.
static bool call_plain(const char *kernel, const host_site *site, host_lane *lane, stop_note *note)
{
    void *args[HOST_PARAMS + 1];
    for (uint32_t p = 0; p < site->shape.param_count; p++)
        args[p] = &lane->in[p];
    lane->out[0] = 0;
    kiln_host_call call = {.args = args,
                           .result = site->shape.result_size ? &lane->out[0] : NULL,
                           .kernel = kernel,
                           .inside = note};
    memcpy(call.thread, lane->thread, sizeof call.thread);
    memcpy(call.block, lane->block, sizeof call.block);
    host_enter(site, &call);
    return !note->is_set;
}

typedef struct host_frame { // the arguments and the result of one call
    host_object objects[HOST_PARAMS], result;
    void *args[HOST_PARAMS + 1];
} host_frame;

static void start_call(const char *kernel, const host_site *site, const host_lane *lane,
                       host_frame *f, stop_note *note, kiln_host_call *call)
{
    const host_shape *s = &site->shape;
    memset(&f->result, 0, sizeof f->result);
    for (uint32_t p = 0; p < s->param_count; p++) {
        memset(f->objects[p].bytes, 0,
               s->params[p].size < HOST_BYTES ? s->params[p].size : HOST_BYTES);
        f->args[p] = host_is_counted(s->params[p].kind) ? lane->counted[p] : f->objects[p].bytes;
    }
    for (uint32_t n = 0; n < s->in_count; n++)
        if (!host_is_counted(s->params[s->in[n].param].kind))
            memcpy(f->objects[s->in[n].param].bytes + s->in[n].offset, &lane->in[n],
                   ir_type_size((ir_type)s->in[n].type));
    *call = (kiln_host_call){.args = f->args,
                             .result = s->result_size ? f->result.bytes : NULL,
                             .kernel = kernel,
                             .inside = note};
    memcpy(call->thread, lane->thread, sizeof call->thread);
    memcpy(call->block, lane->block, sizeof call->block);
}

static void end_call(const host_site *site, const host_frame *f, host_lane *lane)
{
    const host_shape *s = &site->shape;
    for (uint32_t n = 0; n < s->out_count; n++) {
        const host_scalar *o = &s->out[n];
        const uint8_t *from =
            o->param == HOST_RESULT ? f->result.bytes : f->objects[o->param].bytes;
        lane->out[n] = 0;
        memcpy(&lane->out[n], from + o->offset, ir_type_size((ir_type)o->type));
    }
}

bool host_are_counted(const host_shape *s, const host_lane *lane)
{
    for (uint32_t p = 0; p < s->param_count; p++) {
        const host_param *param = &s->params[p];
        if (!host_is_counted(param->kind) || param->count == HOST_RESULT)
            continue;
        const host_param *by = &s->params[param->count];
        uint32_t unused = 64 - 8 * by->size;
        uint64_t n = lane->in[by->first] << unused, bytes;
        n = param->is_count_signed && n >> 63 ? 0 : n >> unused;
        if (__builtin_mul_overflow(n, (uint64_t)param->size, &bytes) ||
            bytes != lane->in[param->first + 1])
            return false;
    }
    return true;
}

bool host_call(const char *kernel, const host_site *site, host_lane *lane, char *why, size_t size)
{
    stop_note note = {why, size, false};
    host_frame f;
    kiln_host_call call;
    if (site->is_plain)
        return call_plain(kernel, site, lane, &note);
    if (!host_are_counted(&site->shape, lane)) { // the product has wrapped
        snprintf(why, size, "'%.*s' is given more objects than memory can hold",
                 (int)site->shape.name.len, site->shape.name.at);
        return false;
    }
    start_call(kernel, site, lane, &f, &note, &call);
    host_enter(site, &call);
    end_call(site, &f, lane);
    return !note.is_set;
}

void host_call_together(const char *kernel, const host_site *site, host_lane *const *lanes,
                        uint32_t count)
{
    host_frame frames[HOST_LANES];
    kiln_host_call calls[HOST_LANES] = {0};
    for (uint32_t n = 0; n < count; n++)
        start_call(kernel, site, lanes[n], &frames[n], NULL, &calls[n]);
    site->row->together(site->row->given.user, calls, count);
    for (uint32_t n = 0; n < count; n++)
        end_call(site, &frames[n], lanes[n]);
}

// --- libraries
static kiln_status add_table(kiln *k, const kiln_host_desc *table)
{
    for (; table && table->name; table++) {
        kiln_status status = kiln_host_register(k, table);
        if (status)
            return status;
    }
    return KILN_OK;
}

// What the library itself has. dlsym looks in the libraries that it needs, too: any kernel could
// call `system` of C's library.
static void *own_symbol(void *library, const char *name)
{
    struct link_map *loaded = NULL;
    Dl_info of_library, of_symbol;
    void *symbol = dlsym(library, name);
    bool is_own = symbol && !dlinfo(library, RTLD_DI_LINKMAP, &loaded) &&
                  dladdr(loaded->l_ld, &of_library) && dladdr(symbol, &of_symbol) &&
                  of_library.dli_fbase == of_symbol.dli_fbase;
    return is_own ? symbol : NULL;
}

// dlsym gives data pointers; POSIX says that they may be functions.
static void (*function_of(void *symbol))(void)
{
    void (*function)(void);
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static kiln_status add_plain(kiln *k, void *library, const kiln_module *m)
{
    for (uint32_t n = 0; m && n < m->site_count; n++) {
        host_shape shape;
        char name[256], signature[1024];
        if (m->sites[n].op != IR_HOST || !host_read(m->sites[n].text, &shape) ||
            find_row(k, shape.name) || shape.name.len >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)shape.name.len, shape.name.at);
        snprintf(signature, sizeof signature, "%.*s", (int)shape.signature.len, shape.signature.at);
        void *symbol = own_symbol(library, name);
        if (!symbol)
            continue;
        kiln_status status = kiln_host_register(
            k,
            &(kiln_host_desc){.name = name, .signature = signature, .plain = function_of(symbol)});
        if (status)
            return status;
    }
    return KILN_OK;
}

kiln_status kiln_host_library(kiln *k, const char *path, const kiln_module *module)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (module && !handle_is(HANDLE_MODULE, module))
        return error_bad_handle(HANDLE_MODULE, module);
    if (!path)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_host_library: the path is NULL");
    char room[FILENAME_MAX];
    void *library = dlopen(file_library(path, room, sizeof room), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        return error_set(k, KILN_E_NOT_FOUND, K6005,
                         "the library of host functions cannot be opened: %s", why ? why : path);
    }
    // One row owns the library; it has no function and is found by nobody.
    char owner[64];
    snprintf(owner, sizeof owner, " %p", library);
    kiln_status status = add_table(k, own_symbol(library, KILN_HOST_TABLE));
    if (!status)
        status = add_plain(k, library, module);
    if (!status)
        status =
            kiln_host_register(k, &(kiln_host_desc){.name = owner, .plain = function_of(library)});
    host_row *row = status ? NULL : find_row(k, str_of(owner));
    if (!row || row->library) // opened before: it is counted
        dlclose(library);
    else
        row->library = library;
    return status;
}
