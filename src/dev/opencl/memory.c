// An OpenCL device's memory: buffers of shared virtual memory, whose addresses are the same for
// host and kernels, copies and fills.
#include "dev/opencl/opencl.h"

#include <stdlib.h>

#include "rt/graph/capture.h"

static void *at_address(uint64_t address)
{
    uintptr_t number = (uintptr_t)address;
    void *p;
    memcpy(&p, &number, sizeof p);
    return p;
}

kiln_status ocl_alloc(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc)
{
    ocl_device *d = ocl_of(b->k);
    kiln_status status = ocl_ready(b->k);
    if (status)
        return status;
    if (desc->is_mapped && !(d->svm & OCL_SVM_FINE))
        return error_set(b->k, KILN_E_UNSUPPORTED, K6038,
                         "%s has no memory that the host and kernels see at the same time",
                         b->k->device);
    uint64_t flags = OCL_READ_WRITE;
    if (desc->is_mapped)
        flags |= (uint64_t)1 << 10; // fine-grained
    size_t size = bytes ? bytes : 1;
    void *memory = d->cl->svm_alloc(d->context, flags, size, 0);
    if (!memory)
        return error_set(b->k, KILN_E_NO_MEMORY, K6004,
                         "no memory on %s for a buffer of %zu elements of %zu bytes", b->k->device,
                         b->count, b->elem_size);
    b->base = memory;
    b->address = (uint64_t)(uintptr_t)memory;
    b->is_mapped = desc->is_mapped;
    static const uint8_t zero;
    ocl_result r = OCL_OK;
    if (!desc->is_not_zeroed)
        r = d->cl->svm_fill(d->main, memory, &zero, 1, size, 0, NULL, NULL);
    if (!r)
        r = d->cl->finish(d->main);
    if (!r)
        return KILN_OK;
    d->cl->svm_free(d->context, memory);
    return ocl_fail(b->k, r, "making a buffer");
}

void ocl_free(kiln_buffer *b)
{
    ocl_device *d = ocl_of(b->k);
    if (!d->is_lost)
        ocl_sync(b->k, NULL); // a kernel may still use it
    if (!b->is_foreign)
        d->cl->svm_free(d->context, b->base);
}

kiln_status ocl_memory_info(kiln *k, kiln_memory_info *out)
{
    ocl_device *d = ocl_of(k);
    uint64_t bytes = 0;
    d->cl->device_info(d->found->device, OCL_MEMORY_BYTES, sizeof bytes, &bytes, NULL);
    out->total_bytes = bytes; // OpenCL does not report free memory
    return KILN_OK;
}

kiln_status ocl_memory_trim(kiln *k)
{
    return ocl_sync(k, NULL);
}

kiln_status ocl_host_alloc(kiln *k, size_t bytes, void **out)
{
    *out = calloc(1, bytes ? bytes : 1);
    return *out ? KILN_OK : error_no_memory(k, "host memory");
}

void ocl_host_free(kiln *k, void *memory)
{
    (void)k;
    free(memory);
}

// --- copies
static ocl_result copy_rows(ocl_device *d, ocl_queue q, const rt_copy *c)
{
    ocl_result r = OCL_OK;
    uint8_t *to = c->to_host ? c->to_host : at_address(c->to_address);
    const uint8_t *from = c->from_host ? c->from_host : at_address(c->from_address);
    for (size_t row = 0; row < c->rows && !r; row++)
        r = d->cl->svm_copy(q, 0, to + row * c->to_pitch, from + row * c->from_pitch, c->width, 0,
                            NULL, ocl_last_of(c->stream));
    if (!r)
        r = c->stream ? d->cl->flush(q) : d->cl->finish(q);
    return r;
}

// Memory of another OpenCL context is no memory of this one.
static kiln_status copy_between(const rt_copy *c)
{
    uint8_t *between = malloc(c->width * c->rows);
    if (!between)
        return error_no_memory(c->to->k, "a copy between devices");
    rt_copy out = *c, in = *c;
    out.to = NULL;
    out.to_host = between;
    in.from = NULL;
    in.from_host = between;
    out.to_pitch = in.from_pitch = c->width;
    out.stream = in.stream = NULL;
    kiln_status status = ocl_copy(c->from->k, &out);
    if (!status)
        status = ocl_copy(c->to->k, &in);
    free(between);
    return status;
}

kiln_status ocl_copy(kiln *k, const rt_copy *c)
{
    ocl_device *d = ocl_of(k);
    if (c->stream && c->stream->capture)
        return capture_copy(c->stream->capture, c);
    if (c->to && c->from && c->to->k != c->from->k)
        return copy_between(c);
    kiln_status status = ocl_ready(k);
    if (!status && !c->stream && (k->streams || d->has_talked))
        status = ocl_sync(k, NULL); // after all earlier work, on whatever stream
    if (status)
        return status;
    ocl_result r = copy_rows(d, ocl_queue_of(k, c->stream), c);
    return r ? ocl_fail(k, r, "copying") : KILN_OK;
}

kiln_status ocl_fill(kiln_buffer *b, size_t first, size_t count, const void *element,
                     kiln_stream *s)
{
    ocl_device *d = ocl_of(b->k);
    ocl_queue q = ocl_queue_of(b->k, s);
    size_t size = b->elem_size;
    if (s && s->capture)
        return capture_fill(s->capture, b, first, count, element);
    kiln_status status = ocl_ready(b->k);
    if (!status && !s && b->k->streams)
        status = ocl_sync(b->k, NULL);
    if (status)
        return status;
    uint8_t *to = b->base + first * size;
    ocl_result r = OCL_OK;
    if ((size & (size - 1)) == 0 && size <= 128) {
        r = d->cl->svm_fill(q, to, element, size, count * size, 0, NULL, ocl_last_of(s));
    } else { // the element, then what is there twice as long
        r = d->cl->svm_copy(q, 1, to, element, size, 0, NULL, NULL);
        for (size_t done = 1; done < count && !r;) {
            size_t more = done < count - done ? done : count - done;
            r = d->cl->svm_copy(q, 0, to + done * size, to, more * size, 0, NULL, ocl_last_of(s));
            done += more;
        }
    }
    if (!r)
        r = s ? d->cl->flush(q) : d->cl->finish(q);
    return r ? ocl_fail(b->k, r, "filling a buffer") : KILN_OK;
}
