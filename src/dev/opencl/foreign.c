// Foreign memory, queues and contexts on an OpenCL device. Memory is shared virtual memory, whose
// address kernels take; a cl_mem has no address and cannot be a buffer. Queues and contexts are
// retained while Kiln uses them.
#include "dev/opencl/opencl.h"

enum { MOST_DEVICES = 16 };

kiln_status ocl_wrap(kiln_buffer *b, size_t bytes, const kiln_wrap_desc *desc)
{
    ocl_device *d = ocl_of(b->k);
    kiln_status status = ocl_ready(b->k);
    if (status)
        return status;
    if (desc->host && bytes && !(d->svm & OCL_SVM_SYSTEM))
        return error_set(b->k, KILN_E_UNSUPPORTED, K6044,
                         "kernels of %s do not reach all memory of the host; memory of clSVMAlloc "
                         "can be wrapped as `address`",
                         b->k->device);
    uint64_t address = desc->address ? desc->address : (uint64_t)(uintptr_t)desc->host;
    uintptr_t number = (uintptr_t)address;
    memcpy(&b->base, &number, sizeof number);
    b->address = address;
    b->is_mapped = desc->host != NULL;
    return KILN_OK;
}

// A queue that does its work in order, of the device's context.
static kiln_status check_queue(kiln *k, ocl_queue q)
{
    ocl_device *d = ocl_of(k);
    ocl_context of = NULL;
    uint64_t properties = 0;
    if (!q)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "the queue is NULL");
    ocl_result r = d->cl->queue_info(q, OCL_QUEUE_CONTEXT, sizeof of, &of, NULL);
    if (!r)
        r = d->cl->queue_info(q, OCL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    if (r)
        return ocl_fail(k, r, "asking about a foreign queue");
    if (of != d->context)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6044,
                         "the queue is of another context; kiln_open_on takes that context");
    if (properties & OCL_QUEUE_OUT_OF_ORDER)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6044,
                         "the queue works out of order; a stream's work is in order");
    return KILN_OK;
}

kiln_status ocl_adopt_queue(kiln *k, void *native, ocl_queue *out)
{
    ocl_queue q;
    memcpy(&q, &native, sizeof q);
    kiln_status status = check_queue(k, q);
    if (status)
        return status;
    ocl_result r = ocl_of(k)->cl->queue_retain(q);
    if (r)
        return ocl_fail(k, r, "retaining a foreign queue");
    *out = q;
    return KILN_OK;
}

// The given context, and the first of its devices that Kiln knows; *ordinal becomes its number. The
// device that was asked for is taken where the context has it.
kiln_status ocl_adopt_context(kiln *k, const ocl_api *cl, int *ordinal, ocl_context *out)
{
    ocl_context given;
    ocl_device_id devices[MOST_DEVICES] = {NULL};
    size_t bytes = 0, found = SIZE_MAX;
    memcpy(&given, &k->given->context, sizeof given);
    ocl_result r = cl->context_info(given, OCL_CONTEXT_DEVICES, sizeof devices, devices, &bytes);
    if (r)
        return error_set(NULL, KILN_E_DRIVER, K6034,
                         "the driver reports an error while asking about a foreign context [%d]",
                         (int)r);
    for (size_t n = 0; n < bytes / sizeof *devices && n < MOST_DEVICES; n++)
        for (size_t i = 0; ocl_found_at(i); i++)
            if (ocl_found_at(i)->device == devices[n] &&
                (found == SIZE_MAX || i == (size_t)*ordinal))
                found = i;
    if (found == SIZE_MAX)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6044,
                         "kiln_open_on: the context has no device that Kiln knows");
    r = cl->context_retain(given);
    if (r)
        return error_set(NULL, KILN_E_DRIVER, K6034,
                         "the driver reports an error while retaining a foreign context [%d]",
                         (int)r);
    *ordinal = (int)found;
    *out = given;
    return KILN_OK;
}
