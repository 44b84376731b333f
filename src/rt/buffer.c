// Buffers: zeroed memory of the device with an element type. On the interpreter a buffer is host
// memory and one row of the context's segment table.
#include <stdlib.h>

#include "rt/rt.h"

enum { ALIGNMENT = 64, ROW_LIMIT = 1 << 23 };

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

// A free row of the segment table, or 0.
static uint32_t row_new(kiln *k)
{
    if (k->free_row_count)
        return k->free_rows[--k->free_row_count];
    if (k->row_count < k->row_cap)
        return k->row_count++;
    if (k->row_count >= ROW_LIMIT)
        return 0;
    uint32_t cap = k->row_cap ? k->row_cap * 2 : 16;
    interp_buffer *rows = realloc(k->rows, cap * sizeof *rows);
    if (!rows)
        return 0;
    k->rows = rows;
    uint32_t *spare = realloc(k->free_rows, cap * sizeof *spare);
    if (!spare)
        return 0;
    k->free_rows = spare;
    memset(rows + k->row_cap, 0, (cap - k->row_cap) * sizeof *rows);
    k->row_cap = cap;
    return k->row_count++;
}

static kiln_status make(kiln *k, kiln_type type, size_t elem_size, size_t count, kiln_buffer **out)
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
    if (count > (((size_t)1 << (INTERP_SEGMENT_BITS - 1)) - ALIGNMENT) / elem_size)
        return error_set(k, KILN_E_NO_MEMORY, K6004,
                         "no memory for a buffer of %zu elements of %zu bytes", count, elem_size);
    size_t bytes = elem_size * count;
    void *memory = calloc(1, bytes + ALIGNMENT);
    kiln_buffer *b = memory ? handle_new(HANDLE_BUFFER) : NULL;
    uint32_t row = b ? row_new(k) : 0;
    if (!row) {
        free(memory);
        if (b)
            handle_free(HANDLE_BUFFER, b);
        return error_set(k, KILN_E_NO_MEMORY, K6004,
                         "no memory for a buffer of %zu elements of %zu bytes", count, elem_size);
    }
    b->k = k;
    b->type = type;
    b->elem_size = elem_size;
    b->count = count;
    b->memory = memory;
    b->base = (uint8_t *)(((uintptr_t)memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
    b->row = row;
    k->rows[row] = (interp_buffer){b->base, bytes};
    b->next = k->buffers;
    if (b->next)
        b->next->prev = b;
    k->buffers = b;
    *out = b;
    return KILN_OK;
}

kiln_status kiln_buffer_new(kiln *k, kiln_type type, size_t count, kiln_buffer **out)
{
    return make(k, type, kiln_type_size(type), count, out);
}

kiln_status kiln_buffer_new_bytes(kiln *k, size_t element_size, size_t count, kiln_buffer **out)
{
    return make(k, KILN_VOID, element_size, count, out);
}

void buffer_drop(kiln_buffer *b)
{
    kiln *k = b->k;
    k->rows[b->row] = (interp_buffer){NULL, 0};
    k->free_rows[k->free_row_count++] = b->row;
    free(b->memory);
    handle_free(HANDLE_BUFFER, b);
}

void kiln_buffer_free(kiln_buffer *b)
{
    if (!b)
        return;
    if (!handle_is(HANDLE_BUFFER, b)) {
        error_bad_handle(HANDLE_BUFFER, b);
        return;
    }
    if (b->prev)
        b->prev->next = b->next;
    else
        b->k->buffers = b->next;
    if (b->next)
        b->next->prev = b->prev;
    buffer_drop(b);
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

kiln_status kiln_write(kiln_buffer *b, size_t first, const void *from, size_t count)
{
    kiln_status status = check_range(b, first, from, count, "kiln_write");
    if (!status && count)
        memcpy(b->base + first * b->elem_size, from, count * b->elem_size);
    return status;
}

kiln_status kiln_read(const kiln_buffer *b, size_t first, void *to, size_t count)
{
    kiln_status status = check_range(b, first, to, count, "kiln_read");
    if (!status && count)
        memcpy(to, b->base + first * b->elem_size, count * b->elem_size);
    return status;
}

kiln_status kiln_fill(kiln_buffer *b, const void *element)
{
    kiln_status status =
        check_range(b, 0, element, handle_is(HANDLE_BUFFER, b) ? b->count : 0, "kiln_fill");
    if (status)
        return status;
    for (size_t k = 0; k < b->count; k++)
        memcpy(b->base + k * b->elem_size, element, b->elem_size);
    return KILN_OK;
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
