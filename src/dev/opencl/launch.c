// A launch on an OpenCL device, and the host's end of the channel (back/channel.h): one piece of
// memory with the header, the lines and the fault, read when everything has ended.
#include "dev/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>

#include "rt/channel/reader.h"
#include "rt/channel/server.h"
#include "rt/graph/capture.h"

static const void *at_address(uint64_t address)
{
    uintptr_t number = (uintptr_t)address;
    const void *p;
    memcpy(&p, &number, sizeof p);
    return p;
}

// --- arguments
// Buffers whose addresses the kernel may find in memory must be named, too.
static ocl_result name_buffers(const kiln_kernel *kernel)
{
    const kiln *k = kernel->module->k;
    size_t count = 0, n = 0;
    for (const kiln_buffer *b = k->buffers; b; b = b->next)
        count++;
    void **list = malloc((count + 2) * sizeof *list), *mailboxes = ocl_calls_memory(ocl_of(k));
    if (!list)
        return OCL_NO_HOST_MEMORY;
    for (const kiln_buffer *b = k->buffers; b; b = b->next)
        list[n++] = b->base;
    if (kernel->calls_host && mailboxes)
        list[n++] = mailboxes;
    ocl_result r = n ? ocl_of(k)->cl->set_exec(ocl_function_of(kernel)->native, OCL_SVM_POINTERS,
                                               n * sizeof *list, list)
                     : OCL_OK;
    free(list);
    return r;
}

static ocl_result set_args(const kiln_kernel *kernel, const rt_launch *l)
{
    const ocl_api *cl = ocl_of(kernel->module->k)->cl;
    ocl_kernel f = ocl_function_of(kernel)->native;
    ocl_result r = OCL_OK;
    uint32_t n = 0;
    for (; n < kernel->param_count && !r; n++) {
        const rt_param *p = &kernel->params[n];
        const rt_arg *a = &l->args[n];
        if (p->info.kind == KILN_PARAM_POINTER)
            r = cl->set_pointer(f, n, at_address(a->bits));
        else if (a->bytes)
            r = cl->set_arg(f, n, p->info.size, a->bytes);
        else
            r = cl->set_arg(f, n, p->info.size == 8 ? 8 : 4, &a->bits);
    }
    size_t shared = (size_t)kernel->shared_bytes + l->shared_bytes;
    uint32_t dynamic = (uint32_t)l->shared_bytes;
    if (!r)
        r = cl->set_arg(f, n++, shared ? (shared + 15) & ~(size_t)15 : 16, NULL);
    if (!r)
        r = cl->set_arg(f, n++, sizeof dynamic, &dynamic);
    if (!r && kernel->talks)
        r = cl->set_pointer(f, n, ocl_module_of(kernel->module)->channel.memory);
    if (!r && (ocl_function_of(kernel)->follows_pointers || kernel->calls_host))
        r = name_buffers(kernel);
    return r;
}

// --- launching
static kiln_status refused(const kiln_kernel *kernel, const rt_launch *l, ocl_result r)
{
    kiln *k = kernel->module->k;
    char driver[64];
    ocl_describe(r, driver, sizeof driver);
    error_set(k, KILN_E_LAUNCH, K6034,
              "kernel '%s' cannot be launched with grid %u x %u x %u, block %u x %u x %u, %zu "
              "bytes of dynamic shared memory [%s]",
              kernel->name, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
              l->block[2], l->shared_bytes, driver);
    error_add_kernel(k, kernel);
    return KILN_E_LAUNCH;
}

kiln_status ocl_launch(kiln_kernel *kernel, const rt_launch *l)
{
    kiln *k = kernel->module->k;
    ocl_device *d = ocl_of(k);
    kiln_status status = ocl_ready(k);
    if (status)
        return status;
    if (l->is_cooperative)
        return error_set(k, KILN_E_UNSUPPORTED, K6038, "%s runs no cooperative launches",
                         k->device);
    if (l->stream && l->stream->capture)
        return capture_launch(l->stream->capture, kernel, l);
    if (kernel->calls_host && (status = ocl_calls_start(kernel, l)) != KILN_OK)
        return status;
    if (kernel->talks) {
        ocl_module_of(kernel->module)->channel.is_dirty = true;
        d->has_talked = true;
    }
    size_t global[3], local[3];
    for (int axis = 0; axis < 3; axis++) {
        local[axis] = l->block[axis];
        global[axis] = (size_t)l->grid[axis] * l->block[axis];
    }
    ocl_queue q = ocl_queue_of(k, l->stream);
    pthread_mutex_lock(&d->lock);
    ocl_result r = set_args(kernel, l);
    if (!r)
        r = d->cl->launch(q, ocl_function_of(kernel)->native, 3, NULL, global, local, 0, NULL,
                          ocl_last_of(l->stream));
    if (!r)
        r = d->cl->flush(q);
    snprintf(d->last_kernel, sizeof d->last_kernel, "%s", kernel->name);
    pthread_mutex_unlock(&d->lock);
    return r ? refused(kernel, l, r) : KILN_OK;
}

// --- the channel
enum { HEADER_BYTES = offsetof(channel_header, calls) }; // calls of the host are behind the fault
_Static_assert((int)HEADER_BYTES <= (int)OCL_CHANNEL_HEAD, "the lines begin behind it");
_Static_assert(OCL_CHANNEL_HEAD + OCL_RING_BYTES + sizeof(channel_fault) <= OCL_CALLS_AT, "fault");
static const size_t channel_bytes = OCL_CALLS_AT + OCL_CALLS_BYTES;

kiln_status ocl_channel_open(kiln_module *m)
{
    ocl_device *d = ocl_of(m->k);
    ocl_channel *c = &ocl_module_of(m)->channel;
    uint8_t head[OCL_CHANNEL_HEAD + 1] = {0};
    channel_header header = {.capacity = OCL_RING_BYTES};
    memcpy(head, &header, HEADER_BYTES);
    c->memory = d->cl->svm_alloc(d->context, OCL_READ_WRITE, channel_bytes, 0);
    if (!c->memory)
        return error_no_memory(m->k, "what kernels print");
    ocl_result r = d->cl->svm_fill(d->main, c->memory, head + OCL_CHANNEL_HEAD, 1, channel_bytes, 0,
                                   NULL, NULL);
    if (!r)
        r = d->cl->svm_copy(d->main, 1, c->memory, head, OCL_CHANNEL_HEAD, 0, NULL, NULL);
    return r ? ocl_fail(m->k, r, "making room for what kernels print") : KILN_OK;
}

void ocl_channel_close(kiln_module *m)
{
    ocl_device *d = ocl_of(m->k);
    ocl_channel *c = &ocl_module_of(m)->channel;
    if (c->memory)
        d->cl->svm_free(d->context, c->memory);
    *c = (ocl_channel){0};
}

static kiln_status drain(kiln_module *m, const char *why, bool *is_reported)
{
    ocl_device *d = ocl_of(m->k);
    ocl_channel *c = &ocl_module_of(m)->channel;
    channel_header header = {0};
    channel_fault fault = {0};
    kiln_status status = KILN_OK;
    c->is_dirty = false;
    ocl_result r = d->cl->svm_copy(d->main, 1, &header, c->memory, HEADER_BYTES, 0, NULL, NULL);
    size_t used = header.position < OCL_RING_BYTES ? header.position : OCL_RING_BYTES;
    uint8_t *lines = r || !used ? NULL : malloc(used);
    if (lines)
        r = d->cl->svm_copy(d->main, 1, lines, c->memory + OCL_CHANNEL_HEAD, used, 0, NULL, NULL);
    if (!r && lines)
        channel_print_lines(m, lines, used);
    free(lines);
    if (!r && header.dropped)
        channel_print_lost(m, header.dropped, OCL_RING_BYTES);
    if (!r && header.fault_taken)
        r = d->cl->svm_copy(d->main, 1, &fault, c->memory + OCL_CHANNEL_HEAD + OCL_RING_BYTES,
                            sizeof fault, 0, NULL, NULL);
    if (!r && fault.is_set && !*is_reported) {
        status = channel_set_fault(m, &fault, why);
        *is_reported = true;
    }
    header.position = header.dropped = header.fault_taken = 0;
    static const uint8_t zero;
    if (!r && used) // a line that was cut off must not be read again
        r = d->cl->svm_fill(d->main, c->memory + OCL_CHANNEL_HEAD, &zero, 1, used, 0, NULL, NULL);
    if (!r)
        r = d->cl->svm_copy(d->main, 1, c->memory, &header, HEADER_BYTES, 0, NULL, NULL);
    return r ? ocl_fail(m->k, r, "reading what kernels printed") : status;
}

kiln_status ocl_channel_drain(kiln *k)
{
    kiln_status first = KILN_OK;
    bool is_reported = false;
    server_stop stop = {.m = NULL};
    bool has_stop = ocl_calls_stopped(k, &stop);
    ocl_of(k)->has_talked = false;
    for (kiln_module *m = k->modules; m; m = m->next) {
        bool is_dirty = ocl_module_of(m)->channel.is_dirty;
        kiln_status status = is_dirty ? drain(m, stop.why, &is_reported) : KILN_OK;
        first = first ? first : status;
    }
    if (has_stop && !is_reported && !first) { // nobody has waited for the function
        channel_fault fault = {.site = stop.site, .values = {SERVER_STOPPED}};
        memcpy(fault.thread, stop.thread, sizeof fault.thread);
        memcpy(fault.block, stop.block, sizeof fault.block);
        first = channel_set_fault(stop.m, &fault, stop.why);
    }
    return first;
}
