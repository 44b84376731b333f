// The host's end of the channel (back/channel.h): the lines and the fault lie in mapped memory, the
// header on the GPU. They are read when everything has ended, so nobody writes meanwhile.
#include "rt/drv/cuda.h"

#include <stdio.h>
#include <stdlib.h>

#include "rt/print.h"

enum { RING_BYTES = 1 << 20 };

kiln_status cuda_channel_open(kiln_module *m)
{
    cuda_device *d = m->k->cuda;
    cuda_channel *c = arena_new_of(m->a, cuda_channel);
    void *memory = NULL;
    cu_ptr ring = 0;
    cu_result r = d->cu->host_alloc(&memory, RING_BYTES + sizeof(channel_fault),
                                    CU_HOST_PORTABLE | CU_HOST_MAPPED);
    if (r)
        return cuda_fail(m->k, r, "making room for what kernels print");
    memset(memory, 0, RING_BYTES + sizeof(channel_fault));
    c->ring = memory;
    c->fault = (volatile channel_fault *)(void *)(c->ring + RING_BYTES);
    m->channel = c;
    channel_header header = {.capacity = RING_BYTES};
    r = d->cu->host_device_pointer(&ring, memory, 0);
    if (!r)
        r = d->cu->alloc(&c->header, sizeof header);
    header.ring = ring;
    header.fault = ring + RING_BYTES;
    if (!r)
        r = d->cu->copy_in(c->header, &header, sizeof header);
    return r ? cuda_fail(m->k, r, "making room for what kernels print") : KILN_OK;
}

void cuda_channel_close(kiln_module *m)
{
    cuda_device *d = m->k->cuda;
    cuda_channel *c = m->channel;
    if (!c)
        return;
    if (c->header)
        d->cu->free(c->header);
    d->cu->host_free(c->ring);
    m->channel = NULL;
}

static void print_lines(kiln_module *m, uint32_t end)
{
    const uint8_t *at = m->channel->ring, *stop = at + (end < RING_BYTES ? end : RING_BYTES);
    print_out out = {0};
    while (at + sizeof(channel_line) <= stop) {
        channel_line line;
        memcpy(&line, at, sizeof line);
        if (line.bytes < sizeof line || line.bytes > (size_t)(stop - at) ||
            line.site >= m->site_count)
            break;
        const channel_site *site = &m->sites[line.site];
        uint64_t bits[COUNT(site->arguments)];
        uint32_t types[COUNT(site->arguments)];
        uint32_t count = (line.bytes - (uint32_t)sizeof line) / 8;
        if (count > site->argument_count)
            count = site->argument_count;
        memcpy(bits, at + sizeof line, count * sizeof bits[0]);
        for (uint32_t n = 0; n < count; n++)
            types[n] = site->arguments[n];
        out.len = 0;
        print_args args = {.types = types,
                           .bits = bits,
                           .count = count,
                           .strings = m->strings,
                           .string_count = m->string_count};
        print_format(&out, site->text, &args);
        if (out.len)
            context_print(m->k, out.at, out.len);
        at += line.bytes;
    }
    print_free(&out);
}

static kiln_status report(kiln_module *m)
{
    channel_fault fault;
    memcpy(&fault, (const void *)(uintptr_t)m->channel->fault, sizeof fault);
    if (fault.site >= m->site_count)
        return error_set(m->k, KILN_E_KERNEL, K6035, "a kernel failed, and its record is broken");
    const channel_site *site = &m->sites[fault.site];
    char where[400] = "";
    if (site->line)
        snprintf(where, sizeof where, "\n  at %s:%u:%u", site->file, site->line, site->column);
    if (site->op == IR_ASSERT)
        error_set(
            m->k, KILN_E_KERNEL, K6024,
            "kernel '%s': assertion failed: %.*s%s\n  in thread (%u, %u, %u) of block (%u, %u, %u)",
            site->kernel, (int)site->text.len, site->text.at, where, fault.thread[0],
            fault.thread[1], fault.thread[2], fault.block[0], fault.block[1], fault.block[2]);
    else if (site->op == IR_BOUNDS) {
        char told[256];
        channel_bounds_text(told, sizeof told, site->text, site->elem, fault.values[0],
                            fault.values[1]);
        error_set(m->k, KILN_E_KERNEL, K6020,
                  "kernel '%s': %s%s\n  in thread (%u, %u, %u) of block (%u, %u, %u)", site->kernel,
                  told, where, fault.thread[0], fault.thread[1], fault.thread[2], fault.block[0],
                  fault.block[1], fault.block[2]);
    } else
        error_set(m->k, KILN_E_KERNEL, K6025,
                  "kernel '%s': the kernel called trap()%s\n  in thread (%u, %u, %u) of block (%u, "
                  "%u, %u)",
                  site->kernel, where, fault.thread[0], fault.thread[1], fault.thread[2],
                  fault.block[0], fault.block[1], fault.block[2]);
    error_add_place(m->k, site->kernel, site->file, site->line, site->column);
    return KILN_E_KERNEL;
}

static kiln_status drain(kiln_module *m, bool *is_reported)
{
    cuda_device *d = m->k->cuda;
    cuda_channel *c = m->channel;
    channel_header header;
    kiln_status status = KILN_OK;
    cu_result r = d->cu->copy_out(&header, c->header, sizeof header);
    if (r)
        return cuda_fail(m->k, r, "reading what kernels printed");
    c->is_dirty = false;
    if (header.position)
        print_lines(m, header.position);
    if (header.dropped) {
        char text_of[128];
        int len =
            snprintf(text_of, sizeof text_of,
                     "… %u lines lost: the kernels printed more than %d bytes before a sync\n",
                     header.dropped, RING_BYTES);
        context_print(m->k, text_of,
                      (size_t)len < sizeof text_of ? (size_t)len : sizeof text_of - 1);
    }
    if (c->fault->is_set && !*is_reported) {
        status = report(m);
        *is_reported = true;
    }
    if (header.position || header.dropped || header.fault_taken) {
        memset(c->ring, 0, header.position < RING_BYTES ? header.position : RING_BYTES);
        memset((void *)(uintptr_t)c->fault, 0, sizeof *c->fault);
        header.position = header.dropped = header.fault_taken = 0;
        r = d->cu->copy_in(c->header, &header, sizeof header);
        if (r)
            return cuda_fail(m->k, r, "resetting what kernels printed");
    }
    return status;
}

kiln_status cuda_channel_drain(kiln *k)
{
    kiln_status first = KILN_OK;
    bool is_reported = false;
    k->cuda->has_talked = false;
    for (kiln_module *m = k->modules; m; m = m->next) {
        kiln_status status = m->channel && m->channel->is_dirty ? drain(m, &is_reported) : KILN_OK;
        first = first ? first : status;
    }
    return first;
}
