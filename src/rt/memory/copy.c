// Copies between buffers and host memory, pinned host memory, what memory is left, tensor maps.
#include <stdlib.h>

#include "rt/rt.h"

struct host_block {
    struct host_block *next;
    void *memory;
};

// --- copies
typedef struct side { // one end of a copy
    const kiln_buffer *buffer;
    const void *host;
    size_t first, pitch;
    const char *name;
} side;

static kiln_status check_side(kiln *k, const side *s, size_t count, size_t rows)
{
    if (!s->buffer)
        return s->host || !count
                   ? KILN_OK
                   : error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                               "kiln_copy: '%s' is neither a buffer nor host memory", s->name);
    const kiln_buffer *b = s->buffer;
    if (s->pitch < count && rows > 1)
        return error_set(
            k, KILN_E_BAD_ARGUMENT, K6003,
            "kiln_copy: '%s' has %zu elements from row to row, fewer than the %zu of a row",
            s->name, s->pitch, count);
    size_t extent = rows && count ? (rows - 1) * s->pitch + count : 0;
    if (rows > 1 && s->pitch && (rows - 1) > (SIZE_MAX - count) / s->pitch)
        extent = SIZE_MAX;
    if (s->first > b->count || extent > b->count - s->first)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6017,
                         "kiln_copy: '%s' needs %zu elements from %zu, the buffer has %zu", s->name,
                         extent, s->first, b->count);
    return KILN_OK;
}

static kiln_status check_buffers(const kiln_copy_desc *d, kiln **k)
{
    if (d->to && !handle_is(HANDLE_BUFFER, d->to))
        return error_bad_handle(HANDLE_BUFFER, d->to);
    if (d->from && !handle_is(HANDLE_BUFFER, d->from))
        return error_bad_handle(HANDLE_BUFFER, d->from);
    if (d->to && buffer_check_writable(d->to, "kiln_copy"))
        return KILN_E_BAD_ARGUMENT;
    if ((d->to && d->to_host) || (d->from && d->from_host))
        return error_set(d->to ? d->to->k : d->from->k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_copy: '%s' is a buffer and host memory at the same time",
                         d->to && d->to_host ? "to" : "from");
    if (!d->to && !d->from)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_copy: at least one side must be a buffer");
    *k = d->to ? d->to->k : d->from->k;
    if (d->to && d->from && d->to->elem_size != d->from->elem_size)
        return error_set(*k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_copy: the buffers' elements have %zu and %zu bytes",
                         d->to->elem_size, d->from->elem_size);
    if (d->stream && handle_is(HANDLE_STREAM, d->stream) && d->from && d->stream->k == d->from->k)
        *k = d->from->k;
    return KILN_OK;
}

static kiln_view rows_of(const side *s, size_t count, size_t rows)
{
    return (kiln_view){.buffer = (kiln_buffer *)(uintptr_t)s->buffer,
                       .first = s->first,
                       .rank = 2,
                       .sizes = {rows, count},
                       .has_strides = true,
                       .strides = {(int64_t)s->pitch, 1}};
}

// Drivers copy in any order: where both sides share elements, the result is undefined. Elements may
// be copied onto themselves.
static bool is_torn(const side *to, const side *from, size_t count, size_t rows)
{
    if (!to->buffer || !from->buffer ||
        (to->buffer == from->buffer && to->first == from->first &&
         (rows == 1 || to->pitch == from->pitch)))
        return false;
    return kiln_view_overlaps(rows_of(to, count, rows), rows_of(from, count, rows));
}

// Between two kinds of devices the bytes go through the host.
static kiln_status copy_through_host(const kiln_copy_desc *d)
{
    size_t size = d->from->elem_size, rows = d->rows ? d->rows : 1;
    void *between = malloc(d->count * size * rows + 1);
    if (!between)
        return error_no_memory(d->to->k, "a copy between devices");
    kiln_copy_desc out = {.to_host = between,
                          .from = d->from,
                          .from_first = d->from_first,
                          .count = d->count,
                          .rows = rows,
                          .from_pitch = d->from_pitch};
    kiln_copy_desc in = {.to = d->to,
                         .to_first = d->to_first,
                         .from_host = between,
                         .count = d->count,
                         .rows = rows,
                         .to_pitch = d->to_pitch};
    kiln_status status = kiln_copy(&out);
    if (!status)
        status = kiln_copy(&in);
    free(between);
    return status;
}

kiln_status kiln_copy(const kiln_copy_desc *d)
{
    kiln *k = NULL;
    if (!d)
        return error_set(NULL, KILN_E_BAD_ARGUMENT, K6003, "kiln_copy: the description is NULL");
    kiln_status status = check_buffers(d, &k);
    if (!status)
        status = stream_check(k, d->stream);
    if (!status && !d->stream && d->to)
        status = context_may_use(d->to->k, "kiln_copy without a stream");
    if (!status && !d->stream && d->from)
        status = context_may_use(d->from->k, "kiln_copy without a stream");
    if (status)
        return status;
    size_t rows = d->rows ? d->rows : 1, size = d->to ? d->to->elem_size : d->from->elem_size;
    side to = {d->to, d->to_host, d->to_first, d->to_pitch ? d->to_pitch : d->count, "to"};
    side from = {d->from, d->from_host, d->from_first, d->from_pitch ? d->from_pitch : d->count,
                 "from"};
    status = check_side(k, &to, d->count, rows);
    if (!status)
        status = check_side(k, &from, d->count, rows);
    if (status || !d->count)
        return status;
    if (is_torn(&to, &from, d->count, rows))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_copy: 'to' and 'from' share elements: copy by way of another "
                         "buffer");
    if (d->to && d->from && d->to->k->ops != d->from->k->ops)
        return copy_through_host(d);
    if (rows > 1 && to.pitch == d->count && from.pitch == d->count) { // no gaps: one long row
        kiln_copy_desc line = *d;
        line.count *= rows;
        line.rows = line.to_pitch = line.from_pitch = 0;
        return kiln_copy(&line);
    }
    rt_copy c = {.to = d->to,
                 .from = d->from,
                 .width = d->count * size,
                 .rows = rows,
                 .to_pitch = to.pitch * size,
                 .from_pitch = from.pitch * size,
                 .stream = d->stream};
    if (d->to)
        c.to_address = d->to->address + d->to_first * size;
    else
        c.to_host = (char *)d->to_host + d->to_first * size;
    if (d->from)
        c.from_address = d->from->address + d->from_first * size;
    else
        c.from_host = (const char *)d->from_host + d->from_first * size;
    if (d->stream && d->stream->is_capturing &&
        (!uses_add_buffer(&d->stream->uses, d->to) || !uses_add_buffer(&d->stream->uses, d->from)))
        return error_no_memory(k, "a graph");
    return k->ops->copy(k, &c);
}

// --- host memory
kiln_status kiln_host_alloc(kiln *k, size_t bytes, void **out)
{
    if (out)
        *out = NULL;
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!out)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_host_alloc: out is NULL");
    kiln_status status = context_may_use(k, "kiln_host_alloc");
    if (status)
        return status;
    struct host_block *block = malloc(sizeof *block);
    if (!block)
        return error_no_memory(k, "host memory");
    status = k->ops->host_alloc(k, bytes, &block->memory);
    if (status) {
        free(block);
        return status;
    }
    block->next = k->host_blocks;
    k->host_blocks = block;
    *out = block->memory;
    return KILN_OK;
}

void kiln_host_free(kiln *k, void *memory)
{
    if (!handle_is(HANDLE_CONTEXT, k)) {
        error_bad_handle(HANDLE_CONTEXT, k);
        return;
    }
    if (context_may_use(k, "kiln_host_free"))
        return;
    for (struct host_block **at = &k->host_blocks; memory && *at; at = &(*at)->next)
        if ((*at)->memory == memory) {
            struct host_block *block = *at;
            *at = block->next;
            k->ops->host_free(k, memory);
            free(block);
            return;
        }
    if (memory)
        error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                  "kiln_host_free: this memory did not come from kiln_host_alloc");
}

void host_drop_all(kiln *k)
{
    while (k->host_blocks) {
        struct host_block *block = k->host_blocks;
        k->host_blocks = block->next;
        k->ops->host_free(k, block->memory);
        free(block);
    }
}

// --- what is left
kiln_status kiln_memory_info_of(kiln *k, kiln_memory_info *out)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!out)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_memory_info_of: out is NULL");
    *out = (kiln_memory_info){.used_bytes = k->used_bytes, .used_peak = k->used_peak};
    for (const kiln_buffer *b = k->buffers; b; b = b->next)
        out->buffer_count++;
    return k->ops->memory_info(k, out);
}

kiln_status kiln_memory_trim(kiln *k)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    kiln_status status = context_may_use(k, "kiln_memory_trim");
    return status ? status : k->ops->memory_trim(k);
}

// --- tensor maps
static bool is_number(kiln_type type)
{
    return type != KILN_VOID && kiln_type_size(type) != 0;
}

static kiln_status bad_map(kiln *k, const char *what, uint64_t number, uint32_t dimension)
{
    return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                     "kiln_tensor_map_make: dimension %u has %s %llu", dimension, what,
                     (unsigned long long)number);
}

static kiln_status check_swizzle(kiln *k, const kiln_tensor_map_desc *desc, size_t row)
{
    uint32_t swizzle = desc->swizzle_bytes, promotion = desc->promotion_bytes;
    if (swizzle && swizzle != 32 && swizzle != 64 && swizzle != 128)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_tensor_map_make: a swizzle of %u bytes; 0, 32, 64 and 128 are "
                         "possible",
                         swizzle);
    if (promotion && promotion != 64 && promotion != 128 && promotion != 256)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_tensor_map_make: a promotion to %u bytes; 0, 64, 128 and 256 are "
                         "possible",
                         promotion);
    if (row % 16)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_tensor_map_make: a box row of %zu bytes; it must be a multiple of "
                         "16",
                         row);
    if (swizzle && row > swizzle)
        return error_set(
            k, KILN_E_BAD_ARGUMENT, K6003,
            "kiln_tensor_map_make: a box row of %zu bytes is wider than the swizzle's %u", row,
            swizzle);
    return KILN_OK;
}

kiln_status tensor_layout_of(kiln *k, const kiln_tensor_map_desc *desc, tensor_layout *out)
{
    *out = (tensor_layout){.type = desc->type ? desc->type : desc->buffer->type};
    size_t size = kiln_type_size(out->type);
    uint64_t dense = size;
    if (!is_number(out->type))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_tensor_map_make: the elements need a number type");
    if (desc->first > desc->buffer->count * desc->buffer->elem_size / size)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6017,
                         "kiln_tensor_map_make: element %zu of a buffer of %zu", desc->first,
                         desc->buffer->count * desc->buffer->elem_size / size);
    out->address = desc->buffer->address + desc->first * size;
    if (out->address % 16)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_tensor_map_make: element %zu is not at a multiple of 16 bytes",
                         desc->first);
    for (uint32_t n = 0; n < desc->rank; n++) {
        out->steps[n] = desc->element_stride[n] ? desc->element_stride[n] : 1;
        dense = n && desc->stride_bytes[n] ? desc->stride_bytes[n] * desc->size[n]
                                           : dense * desc->size[n];
        if (n + 1 < desc->rank)
            out->strides[n] = desc->stride_bytes[n + 1] ? desc->stride_bytes[n + 1] : dense;
        if (n + 1 < desc->rank && out->strides[n] % 16)
            return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                             "kiln_tensor_map_make: dimension %u has a stride of %llu bytes; it "
                             "must be a multiple of 16",
                             n + 1, (unsigned long long)out->strides[n]);
        if (!desc->box[n] || desc->box[n] > 256)
            return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                             "kiln_tensor_map_make: the box has %u elements along dimension %u; 1 "
                             "to 256 are possible",
                             desc->box[n], n);
        if (!desc->size[n] || desc->size[n] > (uint64_t)1 << 32)
            return bad_map(k, "an impossible size of", desc->size[n], n);
        if (out->steps[n] > 8)
            return bad_map(k, "an element stride above 8:", out->steps[n], n);
    }
    out->swizzle = desc->swizzle_bytes == 128 ? 3 : desc->swizzle_bytes / 32;
    out->promotion = desc->promotion_bytes == 256 ? 3 : desc->promotion_bytes / 64;
    return check_swizzle(k, desc, desc->box[0] * size);
}

kiln_status kiln_tensor_map_make(kiln *k, const kiln_tensor_map_desc *desc, kiln_tensor_map *out)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!desc || !out)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_tensor_map_make: %s is NULL",
                         desc ? "out" : "the description");
    if (!handle_is(HANDLE_BUFFER, desc->buffer))
        return error_bad_handle(HANDLE_BUFFER, desc->buffer);
    if (!k->ops->tensor_map)
        return error_set(k, KILN_E_UNSUPPORTED, K6038, "%s has no tensor maps", k->device);
    if (desc->buffer->k != k)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6014,
                         "kiln_tensor_map_make: the buffer belongs to another kiln handle");
    if (desc->rank < 1 || desc->rank > 5)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003,
                         "kiln_tensor_map_make: a tensor has 1 to 5 dimensions, not %u",
                         desc->rank);
    return k->ops->tensor_map(k, desc, out);
}
