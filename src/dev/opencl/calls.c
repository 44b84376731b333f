// Calls of the host by kernels that run on its cores: mailboxes in fine-grained shared virtual
// memory, which both sides see at the same time. Everything is made by the first launch that needs
// it; rt/channel/server.c serves. A thread is a warp of its own: such a device runs the threads of
// a block one after the other, so none may wait for another.
#include "dev/opencl/opencl.h"

#include <stdlib.h>

#include "rt/channel/server.h"

enum {
    BOXES_OF_UNIT = 16,
    MOST_BOXES = 1024,
    BEAT_BYTES = 4096,
    ALIGN = 128,
    SVM_FINE = 1 << 10, // of clSVMAlloc
    SVM_ATOMICS = 1 << 11
};

struct ocl_calls {
    server *s;
    uint8_t *memory; // the beat, who has the mailboxes, mailboxes, data
    mailbox_calls header;
    uint32_t capacity;
};

static size_t own_bytes(const ocl_calls *c)
{
    return ((c->capacity + 1) * sizeof(uint64_t) + ALIGN - 1) / ALIGN * ALIGN;
}

static void close_parts(ocl_device *d, ocl_calls *c)
{
    server_free(c->s);
    if (c->memory)
        d->cl->svm_free(d->context, c->memory);
    free(c);
}

void ocl_calls_close(kiln *k)
{
    ocl_device *d = ocl_of(k);
    if (!d->calls)
        return;
    __atomic_store_n(&k->cancel, 1, __ATOMIC_RELAXED); // services that wait give up
    close_parts(d, d->calls);
    d->calls = NULL;
}

static kiln_status open_calls(kiln *k)
{
    ocl_device *d = ocl_of(k);
    ocl_calls *c = calloc(1, sizeof *c);
    if (!c)
        return error_no_memory(k, "calls of the host");
    uint32_t wanted = (d->facts.multiprocessors + 1) * BOXES_OF_UNIT;
    c->capacity = wanted < MOST_BOXES ? wanted : MOST_BOXES;
    size_t own = own_bytes(c), boxes = c->capacity * sizeof(mailbox),
           rows = c->capacity * sizeof(mailbox_rows),
           bytes = BEAT_BYTES + own + boxes + rows + (size_t)c->capacity * MAILBOX_DATA;
    c->memory = d->cl->svm_alloc(d->context, OCL_READ_WRITE | SVM_FINE | SVM_ATOMICS, bytes, ALIGN);
    if (!c->memory) {
        close_parts(d, c);
        return error_no_memory(k, "calls of the host");
    }
    memset(c->memory, 0, bytes);
    uint8_t *at = c->memory + BEAT_BYTES;
    // No clock of a kernel says how long the host is silent: it lives as long as the kernel does.
    c->header = (mailbox_calls){.beat = (uint64_t *)(void *)c->memory,
                                .own = (uint64_t *)(void *)at,
                                .dead = (uint64_t *)(void *)at + c->capacity,
                                .boxes = (mailbox *)(void *)(at + own),
                                .rows = (mailbox_rows *)(void *)(at + own + boxes),
                                .data = (uint64_t *)(void *)(at + own + boxes + rows),
                                .silence = UINT64_MAX,
                                .count = 1};
    server_place place = {.boxes = c->header.boxes,
                          .rows = c->header.rows,
                          .data = c->header.data,
                          .beat = (uint64_t *)(void *)c->memory,
                          .count = c->capacity};
    c->s = server_new(k, &place);
    if (!c->s) {
        close_parts(d, c);
        return error_no_memory(k, "calls of the host");
    }
    d->calls = c;
    return KILN_OK;
}

// A module's channel learns where the mailboxes are.
static ocl_result tell_module(ocl_device *d, const ocl_channel *channel)
{
    mailbox_calls calls = d->calls->header;
    _Static_assert(sizeof calls == OCL_CALLS_BYTES, "opencl.h");
    calls.first = channel->first_call;
    return d->cl->svm_copy(d->main, 1, channel->memory + OCL_CALLS_AT, &calls, sizeof calls, 0,
                           NULL, NULL);
}

static kiln_status attach(kiln_module *m)
{
    ocl_device *d = ocl_of(m->k);
    ocl_channel *channel = &ocl_module_of(m)->channel;
    uint32_t first = server_add(d->calls->s, m);
    if (!first)
        return error_set(m->k, KILN_E_LAUNCH, K6047,
                         "the modules of this context have too many calls of host functions");
    channel->first_call = first;
    ocl_result r = tell_module(d, channel);
    if (r) {
        server_remove(d->calls->s, m);
        return ocl_fail(m->k, r, "preparing calls of the host");
    }
    channel->has_calls = true;
    return KILN_OK;
}

// Mailboxes for all threads of the launch, as far as there are so many. Kernels that run may see
// the old number or the new one.
static kiln_status grow(kiln *k, const rt_launch *l)
{
    ocl_device *d = ocl_of(k);
    ocl_calls *c = d->calls;
    uint64_t threads =
        (uint64_t)l->block[0] * l->block[1] * l->block[2] * l->grid[0] * l->grid[1] * l->grid[2];
    uint32_t boxes = threads < c->capacity ? (uint32_t)threads : c->capacity;
    if (!server_wake(c->s, boxes))
        return error_set(k, KILN_E_LAUNCH, K6047,
                         "%s cannot call the host: the system has no threads to serve it",
                         k->device);
    if (boxes <= c->header.count)
        return KILN_OK;
    c->header.count = boxes;
    ocl_result r = OCL_OK;
    for (kiln_module *m = k->modules; m && !r; m = m->next)
        if (ocl_module_of(m)->channel.has_calls)
            r = tell_module(d, &ocl_module_of(m)->channel);
    return r ? ocl_fail(k, r, "preparing calls of the host") : KILN_OK;
}

kiln_status ocl_calls_start(kiln_kernel *kernel, const rt_launch *l)
{
    kiln_module *m = kernel->module;
    ocl_device *d = ocl_of(m->k);
    kiln_status status = d->calls ? KILN_OK : open_calls(m->k);
    if (!status && !ocl_module_of(m)->channel.has_calls)
        status = attach(m);
    return status ? status : grow(m->k, l);
}

void *ocl_calls_memory(const ocl_device *d)
{
    return d->calls ? d->calls->memory : NULL;
}

void ocl_calls_rest(ocl_device *d)
{
    if (d->calls)
        server_rest(d->calls->s);
}

void ocl_calls_forget(kiln_module *m)
{
    if (ocl_of(m->k)->calls)
        server_remove(ocl_of(m->k)->calls->s, m);
}

bool ocl_calls_stopped(kiln *k, struct server_stop *out)
{
    return ocl_of(k)->calls && server_take_stop(ocl_of(k)->calls->s, out);
}
