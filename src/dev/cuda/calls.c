// Calls of the host by kernels that run: mailboxes in host memory that the GPU maps, who has them
// in the GPU's own memory. Everything is made by the first launch that needs it;
// rt/channel/server.c serves.
#include "dev/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>

#include "rt/channel/server.h"

enum {
    BOXES_OF_MULTIPROCESSOR = 8, // warps that call at the same time wait for none
    MOST_BOXES = 2048,
    BEAT_BYTES = 4096,
    SILENCE_SECONDS = 10 // then the host is dead
};

struct cuda_calls {
    server *s;
    uint8_t *memory; // mapped: the beat, mailboxes, data
    cu_ptr own;      // [capacity], then `dead`
    mailbox_calls header;
    uint32_t capacity;
    cuda_large_objects *large_objects;
};

// Waits until the GPU has it (see channel.c).
static cu_result copy_in(cuda_device *d, cu_ptr to, const void *from, size_t bytes)
{
    cu_result r = d->cu->copy_in_async(to, from, bytes, d->memory);
    return r ? r : d->cu->stream_sync(d->memory);
}

static void *at(cu_ptr address)
{
    return (void *)(uintptr_t)address;
}

static size_t rows_at(const cuda_calls *c)
{
    return BEAT_BYTES + c->capacity * sizeof(mailbox);
}
static size_t data_at(const cuda_calls *c) // wide slices are before it
{
    return rows_at(c) + c->capacity * sizeof(mailbox_rows) + (size_t)MAILBOX_WIDE_ALL;
}

// What modules are told; addresses are the GPU's.
static cu_result fill(cuda_device *d, cuda_calls *c)
{
    cu_ptr mapped = 0;
    cu_result r = d->cu->host_device_pointer(&mapped, c->memory, 0);
    size_t words = c->capacity + 1;
    uint64_t *zero = r ? NULL : calloc(words, sizeof *zero);
    if (r || !zero)
        return r ? r : CU_OUT_OF_MEMORY;
    enum { FAST = 2000000000 }; // what a driver says may be another clock than the one that counts
    uint64_t hertz = (uint64_t)d->facts.clock_khz * 1000;
    c->header = (mailbox_calls){.beat = at(mapped),
                                .boxes = at(mapped + BEAT_BYTES),
                                .rows = at(mapped + rows_at(c)),
                                .data = at(mapped + data_at(c)),
                                .own = at(c->own),
                                .dead = at(c->own + c->capacity * sizeof(uint64_t)),
                                .silence = (hertz > FAST ? hertz : FAST) * SILENCE_SECONDS,
                                .count = 1};
    r = copy_in(d, c->own, zero, words * sizeof *zero);
    free(zero);
    return r;
}

static void close_parts(cuda_device *d, cuda_calls *c)
{
    server_free(c->s);
    cuda_large_objects_close(c->large_objects);
    if (c->own)
        d->cu->free(c->own);
    if (c->memory)
        d->cu->host_free(c->memory);
    free(c);
}

void cuda_calls_close(kiln *k)
{
    cuda_device *d = cuda_of(k);
    if (!d->calls)
        return;
    __atomic_store_n(&k->cancel, 1, __ATOMIC_RELAXED); // services that wait give up
    close_parts(d, d->calls);
    d->calls = NULL;
}

static kiln_status open_calls(kiln *k)
{
    cuda_device *d = cuda_of(k);
    static const char doing[] = "making mailboxes for calls of the host";
    cuda_calls *c = calloc(1, sizeof *c);
    if (!c)
        return error_no_memory(k, "calls of the host");
    uint32_t wanted = d->facts.multiprocessors * BOXES_OF_MULTIPROCESSOR;
    c->capacity = !wanted ? BOXES_OF_MULTIPROCESSOR : wanted < MOST_BOXES ? wanted : MOST_BOXES;
    size_t bytes = data_at(c) + (size_t)c->capacity * MAILBOX_DATA;
    void *memory = NULL;
    cu_result r = d->cu->host_alloc(&memory, bytes, CU_HOST_PORTABLE | CU_HOST_MAPPED);
    c->memory = memory;
    if (!r) {
        memset(memory, 0, bytes);
        r = d->cu->alloc(&c->own, (c->capacity + 1) * sizeof(uint64_t));
    }
    if (!r)
        r = fill(d, c);
    if (r) {
        close_parts(d, c);
        return cuda_fail(k, r, doing);
    }
    server_place place = {.boxes = (mailbox *)(void *)(c->memory + BEAT_BYTES),
                          .rows = (mailbox_rows *)(void *)(c->memory + rows_at(c)),
                          .data = (uint64_t *)(void *)(c->memory + data_at(c)),
                          .beat = (uint64_t *)(void *)c->memory,
                          .count = c->capacity,
                          .far = cuda_large_objects_open(d, &c->large_objects)};
    c->s = server_new(k, &place);
    if (!c->s) {
        close_parts(d, c);
        return error_no_memory(k, "calls of the host");
    }
    d->calls = c;
    return KILN_OK;
}

// A module's channel on the GPU learns where the mailboxes are.
static cu_result tell_module(cuda_device *d, cuda_channel *channel)
{
    mailbox_calls calls = d->calls->header;
    _Static_assert(sizeof calls == sizeof((channel_header *)0)->calls, "back/channel.h");
    calls.first = channel->first_call;
    cu_result r =
        copy_in(d, channel->header + offsetof(channel_header, calls), &calls, sizeof calls);
    return r ? r : copy_in(d, channel->calls_copy, &calls, sizeof calls);
}

static kiln_status attach(kiln_module *m)
{
    cuda_device *d = cuda_of(m->k);
    cuda_channel *channel = cuda_module_of(m)->channel;
    uint32_t first = server_add(d->calls->s, m);
    if (!first)
        return error_set(m->k, KILN_E_LAUNCH, K6047,
                         "the modules of this context have too many calls of host functions");
    channel->first_call = first;
    size_t bytes = 0;
    cu_result r = d->cu->module_global(&channel->calls_copy, &bytes, cuda_module_of(m)->loaded,
                                       CHANNEL_CALLS_NAME);
    if (!r)
        r = tell_module(d, channel);
    channel->has_ring = bytes > sizeof(mailbox_calls);
    if (r) {
        server_remove(d->calls->s, m);
        return cuda_fail(m->k, r, "preparing calls of the host");
    }
    channel->has_calls = true;
    return KILN_OK;
}

// Mailboxes for all warps of the launch, as far as there are so many. Kernels that run may see the
// old number or the new one.
static kiln_status grow(kiln *k, const rt_launch *l)
{
    cuda_device *d = cuda_of(k);
    cuda_calls *c = d->calls;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2],
             warps = (threads + 31) / 32 * l->grid[0] * l->grid[1] * l->grid[2];
    // Two for each: parts of a warp in different branches have one each.
    uint32_t boxes = 2 * warps < c->capacity ? (uint32_t)(2 * warps) : c->capacity;
    if (!server_wake(c->s, boxes))
        return error_set(k, KILN_E_LAUNCH, K6047,
                         "%s cannot call the host: the system has no threads to serve it",
                         k->device);
    if (boxes <= c->header.count)
        return KILN_OK;
    c->header.count = boxes;
    cu_result r = CU_OK;
    for (kiln_module *m = k->modules; m && !r; m = m->next) {
        cuda_channel *channel = cuda_module_of(m)->channel;
        if (channel && channel->has_calls)
            r = tell_module(d, channel);
    }
    return r ? cuda_fail(k, r, "preparing calls of the host") : KILN_OK;
}

kiln_status cuda_calls_start(kiln_kernel *kernel, const rt_launch *l)
{
    kiln_module *m = kernel->module;
    cuda_device *d = cuda_of(m->k);
    if (!cuda_attribute(d, CU_ATTR_CAN_MAP_HOST))
        return error_set(m->k, KILN_E_UNSUPPORTED, K6047,
                         "kernel '%s' calls host functions, and %s cannot: it does not map memory "
                         "of the host\n  run it on 'cpu' or 'interp'",
                         kernel->name, m->k->device);
    kiln_status status = d->calls ? KILN_OK : open_calls(m->k);
    if (!status && !cuda_module_of(m)->channel->has_calls)
        status = attach(m);
    return status ? status : grow(m->k, l);
}

void cuda_calls_wake(cuda_device *d)
{
    if (d->calls)
        server_wake(d->calls->s, d->calls->header.count);
}

void cuda_calls_rest(cuda_device *d)
{
    if (d->calls)
        server_rest(d->calls->s);
}

void cuda_calls_revive(cuda_device *d)
{
    uint64_t zero = 0;
    cuda_calls *c = d->calls;
    if (c)
        (void)copy_in(d, c->own + c->capacity * sizeof zero, &zero, sizeof zero);
}

void cuda_calls_forget(kiln_module *m)
{
    if (cuda_of(m->k)->calls)
        server_remove(cuda_of(m->k)->calls->s, m);
}

bool cuda_calls_stopped(kiln *k, server_stop *out)
{
    return cuda_of(k)->calls && server_take_stop(cuda_of(k)->calls->s, out);
}

uint32_t cuda_calls_pending(const cuda_device *d, char *out, size_t size)
{
    out[0] = 0;
    return d->calls ? server_pending(d->calls->s, out, size) : 0;
}
