// Buffers: zeroed memory of the device with an element type; writing, reading, filling them. A
// buffer counts its references. The program's are those of kiln_buffer_retain: when the last is
// freed, the handle is dead. The memory stays while graphs or exports still hold it.
#include <stdio.h>

#include "rt/rt.h"

static const size_t SIZE_LIMIT = (size_t)1 << 46;

static const struct {
    const char *name;
    uint8_t size;
} types[] = {[KILN_VOID] = {"void", 1}, [KILN_BOOL] = {"bool", 1}, [KILN_I8] = {"i8", 1},
             [KILN_U8] = {"u8", 1},     [KILN_I16] = {"i16", 2},   [KILN_U16] = {"u16", 2},
             [KILN_I32] = {"i32", 4},   [KILN_U32] = {"u32", 4},   [KILN_I64] = {"i64", 8},
             [KILN_U64] = {"u64", 8},   [KILN_F16] = {"f16", 2},   [KILN_BF16] = {"bf16", 2},
             [KILN_F8E4] = {"f8e4", 1}, [KILN_F8E5] = {"f8e5", 1}, [KILN_F32] = {"f32", 4},
             [KILN_F64] = {"f64", 8}};

size_t kiln_type_size(kiln_type type)
{
    return (unsigned)type < COUNT(types) ? types[type].size : 0;
}

const char *kiln_type_name(kiln_type type)
{
    return (unsigned)type < COUNT(types) ? types[type].name : "unknown";
}

// `foreign`: over foreign memory; NULL: over memory of its own.
static kiln_status make(kiln *k, const kiln_buffer_desc *desc, size_t elem_size,
                        const kiln_wrap_desc *foreign, kiln_buffer **out)
{
    if (!out)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003,
                         "a buffer needs a place for its handle (out is NULL)");
    *out = NULL;
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!elem_size)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "a buffer's elements must have a type or a size above 0");
    if (desc->count > SIZE_LIMIT / elem_size)
        return error_set(k, KILN_E_NO_MEMORY, K6004,
                         "no memory for a buffer of %zu elements of %zu bytes", desc->count,
                         elem_size);
    kiln_status status = context_may_use(k, "a call that makes a buffer");
    if (status)
        return status;
    export_collect(k);
    kiln_buffer *b = handle_new(HANDLE_BUFFER);
    if (!b)
        return error_no_memory(k, "a buffer's handle");
    b->k = k;
    b->references = 1;
    b->type = desc->type;
    b->elem_size = elem_size;
    b->count = desc->count;
    snprintf(b->name, sizeof b->name, "%s", desc->name ? desc->name : "");
    b->is_foreign = foreign != NULL;
    b->is_read_only = foreign && foreign->is_read_only;
    status = foreign ? k->ops->wrap(b, elem_size * desc->count, foreign)
                     : k->ops->alloc(b, elem_size * desc->count, desc);
    if (status) {
        handle_free(HANDLE_BUFFER, b);
        return status;
    }
    if (foreign) {
        b->release = foreign->release;
        b->release_user = foreign->user;
    } else {
        k->used_bytes += elem_size * desc->count;
    }
    if (k->used_bytes > k->used_peak)
        k->used_peak = k->used_bytes;
    LIST_ADD(k->buffers, b);
    *out = b;
    return KILN_OK;
}

kiln_status kiln_buffer_new(kiln *k, kiln_type type, size_t count, kiln_buffer **out)
{
    return make(k, &(kiln_buffer_desc){.type = type, .count = count}, kiln_type_size(type), NULL,
                out);
}

kiln_status kiln_buffer_new_bytes(kiln *k, size_t element_size, size_t count, kiln_buffer **out)
{
    return make(k, &(kiln_buffer_desc){.count = count}, element_size, NULL, out);
}

kiln_status kiln_buffer_make(kiln *k, const kiln_buffer_desc *desc, kiln_buffer **out)
{
    static const kiln_buffer_desc none;
    if (!desc)
        desc = &none;
    if (desc->type != KILN_VOID && desc->element_size &&
        desc->element_size != kiln_type_size(desc->type))
        return error_set(handle_is(HANDLE_CONTEXT, k) ? k : NULL, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_buffer_make: %s has %zu bytes, element_size says %zu",
                         kiln_type_name(desc->type), kiln_type_size(desc->type),
                         desc->element_size);
    return make(k, desc, desc->type != KILN_VOID ? kiln_type_size(desc->type) : desc->element_size,
                NULL, out);
}

kiln_status kiln_buffer_wrap(kiln *k, const kiln_wrap_desc *desc, kiln_buffer **out)
{
    if (out)
        *out = NULL;
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!desc)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_buffer_wrap: the description is NULL");
    size_t size = kiln_type_size(desc->type);
    if (desc->type != KILN_VOID && desc->element_size && desc->element_size != size)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_buffer_wrap: %s has %zu bytes, element_size says %zu",
                         kiln_type_name(desc->type), size, desc->element_size);
    if (desc->count && !desc->host == !desc->address)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_buffer_wrap: exactly one of `host` and `address` says where the "
                         "memory is");
    if (!k->ops->wrap)
        return error_set(k, KILN_E_UNSUPPORTED, K6038, "%s does not accept foreign memory",
                         k->device);
    size = desc->type != KILN_VOID ? size : desc->element_size;
    if (size && ((uintptr_t)desc->host | desc->address) % (desc->type != KILN_VOID ? size : 1))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6044,
                         "kiln_buffer_wrap: the memory is not aligned to the %zu bytes of %s", size,
                         kiln_type_name(desc->type));
    const kiln_buffer_desc plain = {.type = desc->type, .count = desc->count, .name = desc->name};
    return make(k, &plain, size, desc, out);
}

// --- references
void buffer_drop(kiln_buffer *b)
{
    LIST_REMOVE(b->k->buffers, b);
    if (!b->is_foreign)
        b->k->used_bytes -= b->elem_size * b->count;
    b->k->ops->free(b);
    void (*release)(void *user) = b->release;
    void *user = b->release_user;
    handle_free(HANDLE_BUFFER, b);
    if (release)
        release(user);
}

void buffer_drop_unused(kiln_buffer *b)
{
    if (!b->references && !b->holds && !export_has(b))
        buffer_drop(b);
}

void buffer_retain_use(kiln_buffer *b)
{
    b->holds++;
}

void buffer_release(kiln_buffer *b)
{
    b->holds--;
    buffer_drop_unused(b);
}

kiln_status kiln_buffer_retain(kiln_buffer *b)
{
    if (!handle_is(HANDLE_BUFFER, b))
        return error_bad_handle(HANDLE_BUFFER, b);
    if (b->references == UINT32_MAX)
        return error_set(b->k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_buffer_retain: the buffer has %u references: no more are possible",
                         b->references);
    b->references++;
    return KILN_OK;
}

static void drop_late(void *buffer)
{
    buffer_release(buffer);
}

void kiln_buffer_free(kiln_buffer *b)
{
    if (!handle_can_free(HANDLE_BUFFER, b))
        return;
    export_collect(b->k);
    if (--b->references)
        return;
    if (context_keeps(b->k, &b->late, drop_late, b)) {
        buffer_retain_use(b);
        return;
    }
    handle_retire(b);
    buffer_drop_unused(b);
}

static kiln_status check_range(const kiln_buffer *b, size_t first, const void *host, size_t count,
                               const char *call)
{
    if (!handle_is(HANDLE_BUFFER, b))
        return error_bad_handle(HANDLE_BUFFER, b);
    if (!host && count)
        return error_set(b->k, KILN_E_BAD_ARGUMENT, K6003, "%s: the host pointer is NULL", call);
    if (first > b->count || count > b->count - first)
        return error_set(b->k, KILN_E_BAD_ARGUMENT, K6017,
                         "%s: elements %zu to %zu of a buffer of %zu", call, first,
                         first + count < first ? SIZE_MAX : first + count, b->count);
    return KILN_OK;
}

kiln_status buffer_check_writable(const kiln_buffer *b, const char *call)
{
    if (!handle_is(HANDLE_BUFFER, b))
        return error_bad_handle(HANDLE_BUFFER, b);
    return b->is_read_only
               ? error_set(b->k, KILN_E_BAD_ARGUMENT, K6045, "%s: the buffer is read-only", call)
               : KILN_OK;
}

kiln_status kiln_write(kiln_buffer *b, size_t first, const void *from, size_t count)
{
    kiln_status status = check_range(b, first, from, count, "kiln_write");
    if (!status)
        status = buffer_check_writable(b, "kiln_write");
    if (!status && count)
        status = context_may_use(b->k, "kiln_write");
    if (status || !count)
        return status;
    return b->k->ops->copy(b->k, &(rt_copy){.to = b,
                                            .to_address = b->address + first * b->elem_size,
                                            .from_host = from,
                                            .width = count * b->elem_size,
                                            .rows = 1});
}

kiln_status kiln_read(const kiln_buffer *b, size_t first, void *to, size_t count)
{
    kiln_status status = check_range(b, first, to, count, "kiln_read");
    if (!status && count)
        status = context_may_use(b->k, "kiln_read");
    if (status || !count)
        return status;
    return b->k->ops->copy(b->k, &(rt_copy){.from = b,
                                            .from_address = b->address + first * b->elem_size,
                                            .to_host = to,
                                            .width = count * b->elem_size,
                                            .rows = 1});
}

kiln_status kiln_fill(kiln_buffer *b, const void *element)
{
    kiln_status status =
        check_range(b, 0, element, handle_is(HANDLE_BUFFER, b) ? b->count : 0, "kiln_fill");
    if (!status)
        status = buffer_check_writable(b, "kiln_fill");
    if (!status)
        status = context_may_use(b->k, "kiln_fill");
    return status || !b->count ? status : b->k->ops->fill(b, 0, b->count, element, NULL);
}

kiln_status kiln_fill_async(kiln_buffer *b, size_t first, size_t count, const void *element,
                            kiln_stream *stream)
{
    kiln_status status = check_range(b, first, element, count, "kiln_fill_async");
    if (!status)
        status = buffer_check_writable(b, "kiln_fill_async");
    if (!status)
        status = stream_check(b->k, stream);
    if (!status && !stream)
        status = context_may_use(b->k, "kiln_fill_async without a stream");
    if (!status && count && stream && stream->is_capturing && !uses_add_buffer(&stream->uses, b))
        status = error_no_memory(b->k, "a graph");
    return status || !count ? status : b->k->ops->fill(b, first, count, element, stream);
}

void *kiln_buffer_host(const kiln_buffer *b)
{
    if (handle_is(HANDLE_BUFFER, b))
        return b->is_mapped ? b->base : NULL;
    error_bad_handle(HANDLE_BUFFER, b);
    return NULL;
}

uint64_t kiln_buffer_address(const kiln_buffer *b)
{
    if (handle_is(HANDLE_BUFFER, b))
        return b->k->caps.has_addresses ? b->address : 0;
    error_bad_handle(HANDLE_BUFFER, b);
    return 0;
}

size_t kiln_buffer_count(const kiln_buffer *b)
{
    if (handle_is(HANDLE_BUFFER, b))
        return b->count;
    error_bad_handle(HANDLE_BUFFER, b);
    return 0;
}

size_t kiln_buffer_bytes(const kiln_buffer *b)
{
    return kiln_buffer_count(b) * (handle_is(HANDLE_BUFFER, b) ? b->elem_size : 0);
}

kiln_type kiln_buffer_type(const kiln_buffer *b)
{
    if (handle_is(HANDLE_BUFFER, b))
        return b->type;
    error_bad_handle(HANDLE_BUFFER, b);
    return KILN_VOID;
}
