// Foreign memory and contexts on a GPU. They are used, never freed:
// host memory is pinned while a buffer lives, device memory is an address that the driver knows.
#include "dev/cuda/cuda.h"
#include "kiln/dlpack.h"

// Attributes of a pointer, and what the driver says about host memory that is pinned already:
// by a registration; memory that it allocated itself is an invalid value.
enum { POINTER_TYPE = 2, POINTER_MANAGED = 8, POINTER_ORDINAL = 9 };
enum { ALREADY_PINNED = 712 };

static kiln_status wrap_host(kiln_buffer *b, size_t bytes, void *host)
{
    cuda_device *d = cuda_of(b->k);
    cu_ptr at = 0;
    if (!d->cu->host_register || !d->cu->host_unregister)
        return cuda_no_entry(b->k, "foreign host memory");
    cu_result r =
        bytes ? d->cu->host_register(host, bytes, CU_HOST_PORTABLE | CU_HOST_MAPPED) : CU_OK;
    void *pinned = bytes && !r ? host : NULL;
    bool may_be_pinned = r == ALREADY_PINNED || r == CU_INVALID_VALUE;
    if (bytes && (!r || may_be_pinned))
        r = d->cu->host_device_pointer(&at, host, 0);
    if (r) {
        if (pinned)
            d->cu->host_unregister(pinned);
        return cuda_fail(b->k, r, "pinning foreign host memory");
    }
    b->dev = pinned; // by us
    b->base = host;
    b->address = at;
    b->is_mapped = true;
    return KILN_OK;
}

// The driver knows each address of its memory, and whose it is.
static kiln_status check_address(kiln_buffer *b, cu_ptr at)
{
    cuda_device *d = cuda_of(b->k);
    unsigned type = 0, is_managed = 0;
    int ordinal = d->ordinal;
    if (!d->cu->pointer_attribute)
        return KILN_OK;
    cu_result r = d->cu->pointer_attribute(&type, POINTER_TYPE, at);
    if (r == CU_INVALID_VALUE)
        return error_set(b->k, KILN_E_BAD_ARGUMENT, K6044,
                         "kiln_buffer_wrap: the driver knows no memory at address 0x%llx",
                         (unsigned long long)at);
    if (r)
        return cuda_fail(b->k, r, "asking about foreign memory");
    d->cu->pointer_attribute(&is_managed, POINTER_MANAGED, at);
    r = d->cu->pointer_attribute(&ordinal, POINTER_ORDINAL, at);
    if (!r && !is_managed && type == CU_MEMORY_DEVICE && ordinal != d->ordinal)
        return error_set(b->k, KILN_E_BAD_ARGUMENT, K6044,
                         "kiln_buffer_wrap: the memory at 0x%llx is of cuda:%d, not of %s",
                         (unsigned long long)at, ordinal, b->k->device);
    return KILN_OK;
}

kiln_status cuda_wrap(kiln_buffer *b, size_t bytes, const kiln_wrap_desc *desc)
{
    kiln_status status = cuda_ready(b->k);
    if (status || (!desc->host && !desc->address))
        return status;
    if (desc->host)
        return wrap_host(b, bytes, desc->host);
    status = bytes ? check_address(b, desc->address) : KILN_OK;
    b->address = desc->address;
    return status;
}

void cuda_dlpack(const kiln *k, int32_t *type, int32_t *id)
{
    *type = KILN_DL_CUDA;
    *id = cuda_of(k)->ordinal;
}

void cuda_unwrap(kiln_buffer *b)
{
    cuda_device *d = cuda_of(b->k);
    if (!d->is_lost)
        cuda_sync(b->k, NULL); // a kernel may still use it
    if (b->dev)
        d->cu->host_unregister(b->dev);
}

kiln_status cuda_enter_given(kiln *k)
{
    cuda_device *d = cuda_of(k);
    cu_device device = -1;
    void *given = k->given->context;
    memcpy(&d->context, &given, sizeof given);
    cu_result r = d->cu->context_set(d->context);
    if (!r && d->cu->context_device)
        r = d->cu->context_device(&device);
    if (r)
        return cuda_fail(k, r, "entering a foreign context");
    if (device != d->device)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6044,
                         "kiln_open_on: the context is of GPU %d, not of %s", (int)device,
                         k->device);
    return KILN_OK;
}
