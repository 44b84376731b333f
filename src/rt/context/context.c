// Opening and closing a device, what there is to open, its output, cancelling.
#include <stdio.h>
#include <stdlib.h>

#include "base/knobs.h"
#include "base/log.h"
#include "rt/io/io.h"

// The device's kind and number in "cuda:1"; NULL when it is neither.
static const device_row *parse_name(const char *name, int *ordinal)
{
    size_t len = strcspn(name, ":");
    const device_row *row = device_find(name, len);
    char *end = NULL;
    long number = name[len] ? strtol(name + len + 1, &end, 10) : 0;
    *ordinal = (int)number;
    bool is_good = !name[len] || (end != name + len + 1 && !*end && number >= 0 && number < 4096);
    return is_good ? row : NULL;
}

// "'interp', 'cpu' and 'cuda:N'"
static void list_devices(char *out, size_t size)
{
    size_t count = 0, len = 0;
    while (device_at(count))
        count++;
    out[0] = 0;
    for (size_t n = 0; n < count && len < size; n++) {
        const device_row *row = device_at(n);
        len += (size_t)snprintf(out + len, size - len, "%s'%s%s'",
                                !n              ? ""
                                : n + 1 < count ? ", "
                                                : " and ",
                                row->name, row->ops->is_numbered ? ":N" : "");
    }
}

static kiln_status no_device(const char *name)
{
    char list[256];
    list_devices(list, sizeof list);
    return error_set(NULL, KILN_E_NOT_FOUND, K6001,
                     "there is no device '%s'; this build of Kiln has %s", name, list);
}

// The device of the highest rank that can be used here.
static const device_row *best_device(void)
{
    const device_row *row = NULL;
    for (size_t n = 0; (row = device_at(n)) != NULL; n++)
        if (row->ops->count() && row->ops->find(0) == KILN_OK)
            break;
    return row;
}

// A mistyped switch would silently do nothing: the program would believe in a check, a cache or a
// message that is not there.
static kiln_status check_switches(void)
{
    char complaint[320];
    const char *asked = knob_text(KNOB_TARGET);
    if (knob_complaint(complaint, sizeof complaint))
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6009, "%s", complaint);
    if (*asked && !device_target(asked))
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6009,
                         "the environment says KILN_TARGET=%.80s: the switch takes a GPU's target, "
                         "such as sm_80",
                         asked);
    return KILN_OK;
}

kiln_status kiln_open(const char *device, kiln **out)
{
    return kiln_open_on(&(kiln_open_desc){.device = device}, out);
}

// The program's function for output may ask for what was printed.
static void init_print_lock(kiln *k)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&k->print_lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

kiln_status kiln_open_on(const kiln_open_desc *desc, kiln **out)
{
    int ordinal = 0;
    if (!out)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_open: there is no place for the result (out is NULL)");
    *out = NULL;
    if (!desc)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "kiln_open_on: the description is NULL");
    const char *device = desc->device;
    kiln_status status = check_switches();
    if (status)
        return status;
    log_refresh();
    if (!device)
        device = knob_text(KNOB_DEVICE);
    const device_row *row = *device ? parse_name(device, &ordinal) : best_device();
    if (!row)
        return no_device(device);
    kiln *k = handle_new(HANDLE_CONTEXT);
    if (!k)
        return error_no_memory(NULL, "a device handle");
    init_print_lock(k);
    k->ops = row->ops;
    k->given = desc;
    if ((desc->context || desc->stream) && !k->ops->stream_wrap)
        status = error_set(NULL, KILN_E_UNSUPPORTED, K6038,
                           "'%s' has no foreign contexts and streams", row->name);
    else
        status = k->ops->open(k, ordinal);
    k->given = NULL;
    if (status) {
        pthread_mutex_destroy(&k->print_lock);
        error_free(k);
        handle_free(HANDLE_CONTEXT, k);
        return status;
    }
    *out = k;
    return KILN_OK;
}

// Takes the first of a list off and drops it, until it is empty.
#define DROP_ALL(list, drop)                                                                       \
    while (list) {                                                                                 \
        void *next = (list)->next;                                                                 \
        drop(list);                                                                                \
        (list) = next;                                                                             \
    }

static _Thread_local const context_call *innermost;

static void enter(context_call *call, const kiln *k, bool is_served)
{
    *call = (context_call){k, is_served, innermost};
    innermost = call;
}

void context_enter(context_call *call, const kiln *k)
{
    enter(call, k, false);
}

void context_leave(const context_call *call)
{
    innermost = call->outer;
}

void context_serve(context_call *call, const kiln *k)
{
    enter(call, k, true);
}

static bool has_called(const kiln *k, bool is_served)
{
    for (const context_call *c = innermost; c; c = c->outer)
        if (c->k == k && c->is_served >= is_served)
            return true;
    return false;
}

bool context_is_within(const kiln *k)
{
    return has_called(k, false) || __atomic_load_n(&k->launches, __ATOMIC_RELAXED);
}

static kiln_status refuse_wait(kiln *k, const char *call)
{
    return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                     "%s: a host function, or one that takes what kernels print, cannot wait for a "
                     "kernel of this context, which waits for it: do this after the launch",
                     call);
}

kiln_status context_may_wait(kiln *k, const char *call)
{
    return has_called(k, false) ? refuse_wait(k, call) : KILN_OK;
}

kiln_status context_may_use(kiln *k, const char *call)
{
    return has_called(k, true) ? refuse_wait(k, call) : KILN_OK;
}

bool context_keeps(kiln *k, rt_late *late, void (*drop)(void *handle), void *handle)
{
    if (!context_is_within(k))
        return false;
    handle_retire(handle);
    *late = (rt_late){__atomic_load_n(&k->late, __ATOMIC_RELAXED), drop, handle};
    while (!__atomic_compare_exchange_n(&k->late, &late->next, late, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return true;
}

void context_drop_late(kiln *k)
{
    rt_late *late = __atomic_exchange_n(&k->late, NULL, __ATOMIC_ACQUIRE);
    while (late) {
        rt_late *next = late->next; // its handle goes
        late->drop(late->handle);
        late = next;
    }
}

void kiln_close(kiln *k)
{
    if (!handle_can_free(HANDLE_CONTEXT, k))
        return;
    if (context_is_within(k)) {
        error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                  "kiln_close: a kernel of this context runs now: close it after the launch, not "
                  "from a function that the kernel calls");
        return;
    }
    k->ops->sync(k, NULL);
    context_drop_late(k);
    if (k->op_cache)
        k->op_cache_free(k->op_cache);
    DROP_ALL(k->graphs, graph_drop)
    DROP_ALL(k->events, event_drop)
    DROP_ALL(k->modules, module_drop)
    DROP_ALL(k->streams, stream_drop) // with the buffers that unfinished captures hold
    host_drop_all(k);
    if (!export_outlives(k))
        context_finish(k);
}

void context_finish(kiln *k)
{
    k->ops->close(k);
    host_free_all(k);
    io_free(k);
    free(k->printed[0]);
    free(k->printed[1]);
    pthread_mutex_destroy(&k->print_lock);
    error_free(k);
    handle_free(HANDLE_CONTEXT, k);
}

// --- what there is
size_t kiln_device_count(void)
{
    size_t count = 0;
    for (size_t n = 0; device_at(n); n++)
        count += device_at(n)->ops->count();
    return count;
}

kiln_status kiln_device_info_at(size_t index, kiln_device_info *out)
{
    if (!out)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "kiln_device_info_at: out is NULL");
    size_t before = 0;
    for (size_t n = 0; device_at(n); n++) {
        const device_ops *ops = device_at(n)->ops;
        size_t count = ops->count();
        if (index < before + count)
            return ops->info_at((int)(index - before), out);
        before += count;
    }
    return error_set(NULL, KILN_E_NOT_FOUND, K6001, "device %zu: there are %zu", index, before);
}

kiln_status kiln_device_info_of(const kiln *k, kiln_device_info *out)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!out)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "kiln_device_info_of: out is NULL");
    return k->ops->info ? k->ops->info(k, out) : k->ops->info_at(0, out);
}

const char *kiln_device_name(const kiln *k)
{
    if (handle_is(HANDLE_CONTEXT, k))
        return k->device;
    error_bad_handle(HANDLE_CONTEXT, k);
    return "";
}

kiln_status kiln_sync(kiln *k)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    kiln_status st = context_may_wait(k, "kiln_sync");
    if (st)
        return st;
    st = k->ops->sync(k, NULL);
    context_drop_late(k);
    export_collect(k);
    return st;
}

void kiln_cancel(kiln *k)
{
    if (handle_is(HANDLE_CONTEXT, k))
        __atomic_store_n(&k->cancel, 1, __ATOMIC_RELAXED);
}

// --- output of printf
// The program's function gets it; where another thread reads lines, the kernel may wait for room.
static void call_printer(kiln *k, void (*function)(void *user, const char *text, size_t len),
                         void *user, const char *text_of, size_t len)
{
    context_call within;
    enter(&within, k, k->ops->print_lines != NULL);
    function(user, text_of, len);
    context_leave(&within);
}

// To the user's function, or kept until kiln_printed asks for it.
static void print(kiln *k, const char *text_of, size_t len)
{
    if (k->print) {
        k->has_print_left = true;
        call_printer(k, k->print, k->print_user, text_of, len);
        return;
    }
    if (k->printed_len + len + 1 > k->printed_cap) {
        size_t cap = (k->printed_len + len + 1) * 2;
        char *grown = realloc(k->printed[0], cap);
        k->has_lost_print |= !grown;
        if (!grown)
            return;
        k->printed[0] = grown;
        k->printed_cap = cap;
    }
    memcpy(k->printed[0] + k->printed_len, text_of, len);
    k->printed_len += len;
    k->printed[0][k->printed_len] = 0;
}

void context_print(void *user, const char *text_of, size_t len)
{
    kiln *k = user;
    pthread_mutex_lock(&k->print_lock);
    print(k, text_of, len);
    pthread_mutex_unlock(&k->print_lock);
}

void context_print_out(kiln *k)
{
    pthread_mutex_lock(&k->print_lock);
    if (k->print && k->has_print_left)
        call_printer(k, k->print, k->print_user, "", 0);
    k->has_print_left = false;
    pthread_mutex_unlock(&k->print_lock);
}

void context_print_error(kiln *k, const char *text_of, size_t len)
{
    pthread_mutex_lock(&k->print_lock);
    if (k->print_error)
        call_printer(k, k->print_error, k->print_error_user, text_of, len);
    else
        print(k, text_of, len);
    pthread_mutex_unlock(&k->print_lock);
}

void kiln_on_print(kiln *k, void (*function)(void *user, const char *text, size_t len), void *user)
{
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return;
    }
    pthread_mutex_lock(&k->print_lock);
    k->print = function;
    k->has_print_left = false;
    k->print_user = user;
    pthread_mutex_unlock(&k->print_lock);
}

void kiln_on_print_error(kiln *k, void (*function)(void *user, const char *text, size_t len),
                         void *user)
{
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return;
    }
    pthread_mutex_lock(&k->print_lock);
    k->print_error = function;
    k->print_error_user = user;
    pthread_mutex_unlock(&k->print_lock);
}

const char *kiln_printed(kiln *k, size_t *len)
{
    if (len)
        *len = 0;
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return "";
    }
    pthread_mutex_lock(&k->print_lock);
    free(k->printed[1]);
    k->printed[1] = k->printed[0];
    k->printed[0] = NULL;
    if (len)
        *len = k->printed_len;
    k->printed_len = k->printed_cap = 0;
    pthread_mutex_unlock(&k->print_lock);
    return k->printed[1] ? k->printed[1] : "";
}
