// A GPU's memory: buffers from the driver's pool (freed memory is kept and used again), pinned and
// mapped host memory, copies, fills, tensor maps. Buffers are made and freed in a stream of their
// own: a new one is ready when the call returns, whatever the other streams do, and a freed one is
// used again only after all work that was given before.
#include "dev/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>

// --- out of memory: who holds it?
enum { HOLDERS = 5 };

static size_t bytes_of(const kiln_buffer *b)
{
    return b->elem_size * b->count;
}

static size_t largest(const kiln *k, const kiln_buffer *out[HOLDERS])
{
    size_t count = 0;
    for (const kiln_buffer *b = k->buffers; b; b = b->next) {
        size_t at = HOLDERS - 1;
        if (count < HOLDERS)
            at = count++;
        else if (bytes_of(out[at]) >= bytes_of(b))
            continue;
        for (; at > 0 && bytes_of(out[at - 1]) < bytes_of(b); at--)
            out[at] = out[at - 1];
        out[at] = b;
    }
    return count;
}

static void put_size(char *out, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit + 1 < COUNT(units); unit++)
        value /= 1024;
    snprintf(out, size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static kiln_status no_memory(kiln_buffer *wanted, size_t bytes)
{
    kiln *k = wanted->k;
    const kiln_buffer *holders[HOLDERS] = {0};
    char list[512] = "", want[32], have[32], all[32];
    size_t len = 0, free_bytes = 0, total = 0;
    cuda_of(k)->cu->memory_info(&free_bytes, &total);
    put_size(want, sizeof want, bytes);
    put_size(have, sizeof have, free_bytes);
    put_size(all, sizeof all, total);
    size_t count = largest(k, holders);
    for (size_t n = 0; n < count && len + 80 < sizeof list; n++) {
        char size[32];
        put_size(size, sizeof size, bytes_of(holders[n]));
        len += (size_t)snprintf(list + len, sizeof list - len, "\n  %s: %s%s%s[%zu]", size,
                                holders[n]->name, holders[n]->name[0] ? " " : "",
                                holders[n]->type ? kiln_type_name(holders[n]->type) : "struct",
                                holders[n]->count);
    }
    return error_set(k, KILN_E_NO_MEMORY, K6004,
                     "no memory on %s for a buffer of %s (%s[%zu]): %s of %s are free%s%s",
                     k->device, want, wanted->type ? kiln_type_name(wanted->type) : "struct",
                     wanted->count, have, all, count ? "; the largest buffers of this handle:" : "",
                     list);
}

// --- buffers
// The memory stream is never captured.
static cu_result get(cuda_device *d, cu_ptr *at, size_t bytes, bool zeroes)
{
    int mode = cuda_relax(d->cu);
    cu_result r = d->pool ? d->cu->alloc_async(at, bytes, d->memory) : d->cu->alloc(at, bytes);
    if (!r && zeroes)
        r = d->cu->fill8_async(*at, 0, bytes, d->memory);
    if (!r)
        r = d->cu->stream_sync(d->memory);
    cuda_strict(d->cu, mode);
    return r;
}

static kiln_status alloc_mapped(kiln_buffer *b, size_t bytes)
{
    cuda_device *d = cuda_of(b->k);
    cu_ptr at = 0;
    void *memory = NULL;
    int mode = cuda_relax(d->cu);
    cu_result r = d->cu->host_alloc(&memory, bytes, CU_HOST_PORTABLE | CU_HOST_MAPPED);
    if (!r)
        r = d->cu->host_device_pointer(&at, memory, 0);
    cuda_strict(d->cu, mode);
    if (r)
        return cuda_fail(b->k, r, "making a mapped buffer");
    memset(memory, 0, bytes);
    b->base = memory;
    b->address = at;
    b->is_mapped = true;
    return KILN_OK;
}

kiln_status cuda_alloc(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc)
{
    cuda_device *d = cuda_of(b->k);
    kiln_status status = cuda_ready(b->k);
    if (status)
        return status;
    size_t wanted = bytes ? bytes : 1;
    if (desc->is_mapped)
        return alloc_mapped(b, wanted);
    cu_ptr at = 0;
    bool zeroes = !desc->is_not_zeroed && bytes;
    cu_result r = get(d, &at, wanted, zeroes);
    if (r == CU_OUT_OF_MEMORY) { // what was freed may still be waiting for work to end
        status = cuda_memory_trim(b->k);
        if (status)
            return status;
        r = get(d, &at, wanted, zeroes);
    }
    if (r == CU_OUT_OF_MEMORY)
        return no_memory(b, bytes);
    b->address = at;
    return r ? cuda_fail(b->k, r, "making a buffer") : KILN_OK;
}

// The memory stream goes on after everything that was given to the others.
static void after_all(kiln *k)
{
    cuda_device *d = cuda_of(k);
    for (cuda_stream *s = &d->main; s; s = s->next)
        if (s->launched != s->known_done && !cuda_is_captured(d->cu, s) &&
            d->cu->event_record(d->order, s->native) == CU_OK)
            d->cu->stream_wait(d->memory, d->order, 0);
}

void cuda_free(kiln_buffer *b)
{
    cuda_device *d = cuda_of(b->k);
    cuda_enter(d);
    int mode = cuda_relax(d->cu);
    if (b->is_foreign) {
        cuda_unwrap(b);
    } else if (b->is_mapped) {
        cuda_sync(b->k, NULL);
        d->cu->host_free(b->base);
    } else if (b->address && d->pool) {
        after_all(b->k);
        d->cu->free_async(b->address, d->memory);
    } else if (b->address) {
        d->cu->free(b->address);
    }
    cuda_strict(d->cu, mode);
    b->address = 0;
}

kiln_status cuda_memory_info(kiln *k, kiln_memory_info *out)
{
    cuda_device *d = cuda_of(k);
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    size_t free_bytes = 0, total = 0;
    int mode = cuda_relax(d->cu);
    cu_result r = d->cu->memory_info(&free_bytes, &total);
    if (!r && d->pool) {
        d->cu->pool_get(d->pool, CU_POOL_RESERVED_CURRENT, &out->reserved_bytes);
        d->cu->pool_get(d->pool, CU_POOL_RESERVED_HIGH, &out->reserved_peak);
    }
    cuda_strict(d->cu, mode);
    out->free_bytes = free_bytes;
    out->total_bytes = total;
    return r ? cuda_fail(k, r, "asking for the memory's state") : KILN_OK;
}

kiln_status cuda_memory_trim(kiln *k)
{
    cuda_device *d = cuda_of(k);
    kiln_status status = cuda_sync(k, NULL);
    if (status)
        return status;
    int mode = cuda_relax(d->cu);
    cu_result r = d->cu->stream_sync(d->memory);
    if (!r && d->pool)
        r = d->cu->pool_trim(d->pool, 0);
    cuda_strict(d->cu, mode);
    return r ? cuda_fail(k, r, "giving memory back") : KILN_OK;
}

kiln_status cuda_host_alloc(kiln *k, size_t bytes, void **out)
{
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    const cuda_api *cu = cuda_of(k)->cu;
    int mode = cuda_relax(cu);
    cu_result r = cu->host_alloc(out, bytes ? bytes : 1, CU_HOST_PORTABLE);
    cuda_strict(cu, mode);
    if (r == CU_OUT_OF_MEMORY)
        return error_set(k, KILN_E_NO_MEMORY, K6004, "no memory for %zu pinned bytes on the host",
                         bytes);
    return r ? cuda_fail(k, r, "pinning host memory") : KILN_OK;
}

void cuda_host_free(kiln *k, void *memory)
{
    const cuda_api *cu = cuda_of(k)->cu;
    cuda_enter(cuda_of(k));
    int mode = cuda_relax(cu);
    cu->host_free(memory);
    cuda_strict(cu, mode);
}

// --- copies
static cu_result copy_rows(cuda_device *d, const rt_copy *c, cu_stream stream)
{
    cu_copy_2d copy = {.src_kind = c->from ? CU_MEMORY_DEVICE : CU_MEMORY_HOST,
                       .src_host = c->from_host,
                       .src_device = c->from_address,
                       .src_pitch = c->from_pitch,
                       .dst_kind = c->to ? CU_MEMORY_DEVICE : CU_MEMORY_HOST,
                       .dst_host = c->to_host,
                       .dst_device = c->to_address,
                       .dst_pitch = c->to_pitch,
                       .width = c->width,
                       .height = c->rows};
    return d->cu->copy_2d_async(&copy, stream);
}

static cu_result copy_line(cuda_device *d, const rt_copy *c, cu_stream stream)
{
    if (!c->from)
        return d->cu->copy_in_async(c->to_address, c->from_host, c->width, stream);
    if (!c->to)
        return d->cu->copy_out_async(c->to_host, c->from_address, c->width, stream);
    cu_context to = cuda_of(c->to->k)->context, from = cuda_of(c->from->k)->context;
    if (to == from)
        return d->cu->copy_device_async(c->to_address, c->from_address, c->width, stream);
    return d->cu->copy_peer_async(c->to_address, to, c->from_address, from, c->width, stream);
}

kiln_status cuda_copy(kiln *k, const rt_copy *c)
{
    cuda_device *d = cuda_of(k);
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    // A copy without a stream comes after all earlier work, on whatever stream, of both sides.
    if (!c->stream) {
        kiln *other = c->to && c->to->k != k       ? c->to->k
                      : c->from && c->from->k != k ? c->from->k
                                                   : NULL;
        status = k->streams ? cuda_sync(k, NULL) : KILN_OK;
        if (!status && other)
            status = cuda_sync(other, NULL);
        if (status)
            return status;
        cuda_enter(d);
    }
    cu_stream stream = cuda_stream_of(k, c->stream)->native;
    cu_result r = c->rows > 1 ? copy_rows(d, c, stream) : copy_line(d, c, stream);
    if (!r && !c->stream)
        r = d->cu->stream_sync(stream);
    if (r)
        return cuda_fail(k, r, "copying");
    if (c->stream)
        return KILN_OK;
    d->main.known_done = d->main.launched;
    return d->has_talked ? cuda_sync(k, NULL) : KILN_OK;
}

// Elements that the driver cannot repeat by itself: one is written, then what is there is doubled.
static cu_result fill_any(cuda_device *d, cu_ptr at, size_t size, size_t count, const void *element,
                          cu_stream stream)
{
    cu_result r = d->cu->copy_in_async(at, element, size, stream);
    for (size_t done = 1; done < count && !r; done *= 2) {
        size_t more = done < count - done ? done : count - done;
        r = d->cu->copy_device_async(at + done * size, at, more * size, stream);
    }
    return r;
}

kiln_status cuda_fill(kiln_buffer *b, size_t first, size_t count, const void *element,
                      kiln_stream *s)
{
    kiln *k = b->k;
    cuda_device *d = cuda_of(k);
    kiln_status status = cuda_ready(k);
    if (status || !count)
        return status;
    if (!s && k->streams && (status = cuda_sync(k, NULL)) != KILN_OK)
        return status;
    cu_stream stream = cuda_stream_of(k, s)->native;
    cu_ptr at = b->address + first * b->elem_size;
    const unsigned char *bytes = element;
    bool is_one_byte = true;
    for (size_t n = 1; n < b->elem_size; n++)
        is_one_byte = is_one_byte && bytes[n] == bytes[0];
    cu_result r;
    if (is_one_byte) {
        r = d->cu->fill8_async(at, bytes[0], count * b->elem_size, stream);
    } else if (b->elem_size == 2) {
        unsigned short v;
        memcpy(&v, element, sizeof v);
        r = d->cu->fill16_async(at, v, count, stream);
    } else if (b->elem_size == 4) {
        unsigned v;
        memcpy(&v, element, sizeof v);
        r = d->cu->fill32_async(at, v, count, stream);
    } else if (s && s->is_capturing) {
        return error_set(k, KILN_E_UNSUPPORTED, K6037,
                         "a fill with elements of %zu different bytes cannot be recorded; fill "
                         "before the capture",
                         b->elem_size);
    } else {
        r = fill_any(d, at, b->elem_size, count, element, stream);
    }
    if (!r && !s)
        r = d->cu->stream_sync(stream);
    return r ? cuda_fail(k, r, "filling a buffer") : KILN_OK;
}

// --- tensor maps
static int map_type(kiln_type type)
{
    static const signed char types[] = {
        [KILN_VOID] = -1, [KILN_BOOL] = 0, [KILN_I8] = 0,  [KILN_U8] = 0,
        [KILN_I16] = 1,   [KILN_U16] = 1,  [KILN_I32] = 3, [KILN_U32] = 2,
        [KILN_I64] = 5,   [KILN_U64] = 4,  [KILN_F16] = 6, [KILN_BF16] = 9,
        [KILN_F8E4] = 0,  [KILN_F8E5] = 0, [KILN_F32] = 7, [KILN_F64] = 8};
    return (size_t)type < COUNT(types) ? types[type] : -1;
}

kiln_status cuda_tensor_map(kiln *k, const kiln_tensor_map_desc *desc, kiln_tensor_map *out)
{
    cuda_device *d = cuda_of(k);
    kiln_status status = cuda_ready(k);
    if (status)
        return status;
    if (!d->cu->tensor_map_tiled)
        return cuda_no_entry(k, "tensor maps");
    tensor_layout l;
    status = tensor_layout_of(k, desc, &l);
    if (status)
        return status;
    cu_tensor_map encoded;
    void *base = (void *)(uintptr_t)l.address;
    cu_result r = d->cu->tensor_map_tiled(&encoded, map_type(l.type), desc->rank, base, desc->size,
                                          l.strides, desc->box, l.steps, 0, (int)l.swizzle,
                                          (int)l.promotion, desc->fills_nan);
    if (r)
        return cuda_fail(k, r, "making a tensor map");
    memcpy(out->opaque, encoded.opaque, sizeof out->opaque);
    return KILN_OK;
}
