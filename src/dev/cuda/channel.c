// The host's end of the channel (back/channel.h): the lines and the fault lie in mapped memory, the
// header on the GPU. They are read after all kernels have ended, so there are no concurrent writes;
// lines that are read while kernels run are print.c's.
#include "dev/cuda/cuda.h"

#include <stdlib.h>

#include "base/knobs.h"
#include "rt/channel/reader.h"
#include "rt/channel/server.h"

// Waits until the GPU has it. cuMemcpyHtoD would not: of memory that is not pinned it may return
// before the copy arrives, and a kernel on another stream would find the header of the one before.
static cu_result write_header(cuda_device *d, cuda_channel *c, const channel_header *header)
{
    cu_result r = d->cu->copy_in_async(c->header, header, sizeof *header, d->memory);
    return r ? r : d->cu->stream_sync(d->memory);
}

enum { TAIL_AT = CUDA_RING_BYTES + 128, MAPPED_BYTES = TAIL_AT + 128 };
_Static_assert(sizeof(channel_fault) <= 128, "the tail has a line of its own");

static bool prints(const kiln_module *m)
{
    for (uint32_t n = 0; n < m->site_count; n++)
        if (m->sites[n].op == IR_PRINT)
            return true;
    return false;
}

kiln_status cuda_channel_open(kiln_module *m)
{
    cuda_device *d = cuda_of(m->k);
    cuda_channel *c = arena_new_of(m->a, cuda_channel);
    void *memory = NULL;
    cu_ptr ring = 0;
    cu_result r = d->cu->host_alloc(&memory, MAPPED_BYTES, CU_HOST_PORTABLE | CU_HOST_MAPPED);
    if (r)
        return cuda_fail(m->k, r, "making room for what kernels print");
    memset(memory, 0, MAPPED_BYTES);
    c->ring = memory;
    c->fault = (volatile channel_fault *)(void *)(c->ring + CUDA_RING_BYTES);
    cuda_module_of(m)->channel = c;
    channel_header header = {.capacity = CUDA_RING_BYTES};
    r = d->cu->host_device_pointer(&ring, memory, 0);
    if (!r)
        r = d->cu->alloc(&c->header, sizeof header);
    header.ring = ring;
    header.fault = ring + CUDA_RING_BYTES;
    c->module = m;
    if (!r && prints(m) && !strcmp(knob_text(KNOB_PRINT), "live") && cuda_printer_add(d, c)) {
        c->tail = (channel_tail *)(void *)(c->ring + TAIL_AT);
        header.tail = ring + TAIL_AT;
    }
    if (!r)
        r = write_header(d, c, &header);
    return r ? cuda_fail(m->k, r, "making room for what kernels print") : KILN_OK;
}

void cuda_channel_close(kiln_module *m)
{
    cuda_device *d = cuda_of(m->k);
    cuda_channel *c = cuda_module_of(m)->channel;
    if (!c)
        return;
    cuda_printer_remove(d, c);
    if (c->header)
        d->cu->free(c->header);
    d->cu->host_free(c->ring);
    cuda_module_of(m)->channel = NULL;
}

// A host function that has stopped the kernel left its reason on this side.
static kiln_status set_fault(kiln_module *m, const channel_fault *fault, const server_stop *stop)
{
    if (m->sites && fault->site < m->site_count && m->sites[fault->site].op == IR_HOST &&
        (int32_t)fault->values[0] == MAILBOX_HOST_DOWN)
        cuda_calls_revive(cuda_of(m->k));
    return channel_set_fault(m, fault, stop->why);
}

static kiln_status drain(kiln_module *m, const server_stop *stop, bool *is_reported)
{
    cuda_device *d = cuda_of(m->k);
    cuda_channel *c = cuda_module_of(m)->channel;
    channel_header header;
    kiln_status status = KILN_OK;
    cu_result r = d->cu->copy_out(&header, c->header, sizeof header);
    if (r)
        return cuda_fail(m->k, r, "reading what kernels printed");
    c->is_dirty = false;
    if (c->tail)
        cuda_printer_rest(d, c, header.end);
    if (c->tail) // it is another number then
        header.position = 0;
    if (header.position)
        channel_print_lines(m, c->ring,
                            header.position < CUDA_RING_BYTES ? header.position : CUDA_RING_BYTES);
    if (header.dropped)
        channel_print_lost(m, header.dropped, CUDA_RING_BYTES);
    if (c->fault->is_set && !*is_reported) {
        channel_fault fault;
        memcpy(&fault, (const void *)(uintptr_t)c->fault, sizeof fault);
        status = set_fault(m, &fault, stop);
        *is_reported = true;
    }
    if (header.position || header.dropped || header.fault_taken) {
        memset(c->ring, 0, header.position < CUDA_RING_BYTES ? header.position : CUDA_RING_BYTES);
        memset((void *)(uintptr_t)c->fault, 0, sizeof *c->fault);
        header.position = (uint32_t)c->read;
        header.dropped = header.fault_taken = 0;
        r = write_header(d, c, &header);
        if (r)
            return cuda_fail(m->k, r, "resetting what kernels printed");
    }
    return status;
}

// Lines that lie in the ring one after the other; what is behind them is zeros.
static uint32_t lines_there(const cuda_channel *c)
{
    uint32_t at = 0, bytes;
    while (at + sizeof bytes <= CUDA_RING_BYTES) {
        memcpy(&bytes, c->ring + at, sizeof bytes);
        bytes = CHANNEL_BYTES(bytes);
        if (bytes < sizeof(channel_lines) || bytes > CUDA_RING_BYTES - at)
            break;
        at += bytes;
    }
    return at;
}

void cuda_channel_salvage(kiln *k)
{
    for (kiln_module *m = k->modules; m; m = m->next) {
        cuda_channel *c = cuda_module_of(m)->channel;
        if (!c || !c->is_dirty)
            continue;
        if (c->tail)
            cuda_printer_salvage(cuda_of(k), c);
        else
            channel_print_lines(m, c->ring, lines_there(c));
        c->is_dirty = false;
    }
}

kiln_status cuda_channel_drain(kiln *k)
{
    kiln_status first = KILN_OK;
    bool is_reported = false;
    server_stop stop = {.m = NULL};
    bool has_stop = cuda_calls_stopped(k, &stop);
    cuda_of(k)->has_talked = false;
    for (kiln_module *m = k->modules; m; m = m->next) {
        const cuda_channel *c = cuda_module_of(m)->channel;
        kiln_status status = c && c->is_dirty ? drain(m, &stop, &is_reported) : KILN_OK;
        first = first ? first : status;
    }
    if (has_stop && !is_reported && !first) { // nobody has waited for the function
        channel_fault fault = {.site = stop.site, .values = {SERVER_STOPPED}};
        memcpy(fault.thread, stop.thread, sizeof fault.thread);
        memcpy(fault.block, stop.block, sizeof fault.block);
        first = set_fault(stop.m, &fault, &stop);
    }
    return first;
}
