// Opening and closing a device, its output, cancelling. The only device of this version is the
// interpreter.
#include <stdio.h>
#include <stdlib.h>

#include "base/knobs.h"
#include "rt/rt.h"

kiln_status kiln_open(const char *device, kiln **out)
{
    if (!out)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_open: there is no place for the result (out is NULL)");
    *out = NULL;
    if (!device)
        device = knob_text(KNOB_DEVICE);
    if (!*device)
        device = "interp";
    if (strcmp(device, "interp") != 0)
        return error_set(NULL, KILN_E_NOT_FOUND, K6001,
                         "there is no device '%s'; this build of Kiln has 'interp'", device);
    kiln *k = handle_new(HANDLE_CONTEXT);
    if (!k)
        return error_no_memory(NULL, "a device handle");
    snprintf(k->device, sizeof k->device, "%s", device);
    k->row_count = 1;
    int threads = knob_number(KNOB_THREADS), steps = knob_number(KNOB_STEPS);
    k->threads = threads > 0 ? (uint32_t)threads : 0;
    k->step_limit = steps > 0 ? (uint64_t)steps : 0;
    *out = k;
    return KILN_OK;
}

void kiln_close(kiln *k)
{
    if (!k)
        return;
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return;
    }
    while (k->modules) {
        kiln_module *next = k->modules->next;
        module_drop(k->modules);
        k->modules = next;
    }
    while (k->buffers) {
        kiln_buffer *next = k->buffers->next;
        buffer_drop(k->buffers);
        k->buffers = next;
    }
    free(k->rows);
    free(k->free_rows);
    free(k->printed[0]);
    free(k->printed[1]);
    error_free(k);
    handle_free(HANDLE_CONTEXT, k);
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
    return handle_is(HANDLE_CONTEXT, k) ? KILN_OK : error_bad_handle(HANDLE_CONTEXT, k);
}

void kiln_cancel(kiln *k)
{
    if (handle_is(HANDLE_CONTEXT, k))
        __atomic_store_n(&k->cancel, 1, __ATOMIC_RELAXED);
}

// --- output of printf
void kiln_on_print(kiln *k, void (*print)(void *user, const char *text, size_t len), void *user)
{
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return;
    }
    k->print = print;
    k->print_user = user;
}

const char *kiln_printed(kiln *k, size_t *len)
{
    if (len)
        *len = 0;
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return "";
    }
    free(k->printed[1]);
    k->printed[1] = k->printed[0];
    k->printed[0] = NULL;
    if (len)
        *len = k->printed_len;
    k->printed_len = k->printed_cap = 0;
    return k->printed[1] ? k->printed[1] : "";
}
