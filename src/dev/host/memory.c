// Buffers in the memory of this process, each a row of the segment table; copies and fills.
#include <stdlib.h>
#include <sys/mman.h>

#include "dev/host/host.h"
#include "kiln/dlpack.h"

enum { ALIGNMENT = GUARDED_ALIGNMENT, ROW_LIMIT = 1 << 23 };

typedef struct host_buffer {
    void *memory;  // as allocated
    size_t mapped; // bytes of it, with guard pages; 0: from malloc
    uint32_t row;
} host_buffer;

void host_free_old_tables(const host_device *d)
{
    while (d->table && d->table->older) {
        segment_table *old = d->table->older;
        d->table->older = old->older;
        free(old);
    }
}

// A free row of the segment table for the buffer, or 0. A kernel that runs goes on with the table
// that it began with.
static uint32_t row_new(const kiln_buffer *b)
{
    host_device *d = host_of(b->k);
    if (d->free_row_count)
        return d->free_rows[--d->free_row_count];
    if (d->row_count < d->row_cap)
        return d->row_count++;
    if (d->row_count >= ROW_LIMIT)
        return 0;
    uint32_t cap = d->row_cap ? d->row_cap * 2 : 16;
    uint32_t *spare = realloc(d->free_rows, cap * sizeof *spare);
    if (!spare)
        return 0;
    d->free_rows = spare;
    segment_table *table = calloc(1, sizeof *table + cap * sizeof *table->rows);
    if (!table)
        return 0;
    if (d->row_cap)
        memcpy(table->rows, d->rows, d->row_cap * sizeof *d->rows);
    table->older = d->table;
    d->table = table;
    d->rows = table->rows;
    d->row_cap = cap;
    if (!b->k->launches)
        host_free_old_tables(d);
    if (!d->row_count)
        d->row_count = 1; // row 0 is null
    return d->row_count++;
}

// Large pages for large buffers: kernels that stream through memory look up fewer of them. It is
// advice, so nothing is lost when the system does not take it.
static void advise_large_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)2 << 20, inside = page - 1;
    uintptr_t first = ((uintptr_t)memory + inside) & ~inside,
              end = ((uintptr_t)memory + bytes) & ~inside;
    if (memory && end > first + page)
        (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

kiln_status host_buffer_alloc(kiln_buffer *b, size_t bytes, const kiln_buffer_desc *desc)
{
    host_device *d = host_of(b->k);
    host_buffer *h = calloc(1, sizeof *h);
    bool is_possible = h && bytes <= ((size_t)1 << (INTERP_SEGMENT_BITS - 1)) - ALIGNMENT;
    size_t mapped = 0;
    uint8_t *base = NULL;
    void *memory = is_possible && d->guards_buffers ? guarded_new(bytes, &mapped, &base) : NULL;
    if (!memory && is_possible)
        memory = calloc(1, bytes + ALIGNMENT);
    if (!base)
        base = (uint8_t *)(((uintptr_t)memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
    advise_large_pages(memory, bytes);
    uint32_t row = memory ? row_new(b) : 0;
    if (!row) {
        guarded_free(memory, mapped);
        free(h);
        return error_set(b->k, KILN_E_NO_MEMORY, K6004,
                         "no memory for a buffer of %zu elements of %zu bytes", b->count,
                         b->elem_size);
    }
    *h = (host_buffer){memory, mapped, row};
    b->dev = h;
    b->base = base;
    b->address = interp_address(row, 0);
    b->is_mapped = desc->is_mapped;
    d->rows[row] = (interp_buffer){b->base, bytes};
    return KILN_OK;
}

void host_dlpack(const kiln *k, int32_t *type, int32_t *id)
{
    (void)k;
    *type = KILN_DL_CPU;
    *id = 0;
}

// Foreign memory begins where it begins: the address keeps what it is off by, so that accesses
// are found aligned or not as they are. The bytes up to there count as part of the row.
kiln_status host_buffer_wrap(kiln_buffer *b, size_t bytes, const kiln_wrap_desc *desc)
{
    enum { WIDEST = 16 }; // access of one thread
    host_device *d = host_of(b->k);
    if (desc->address)
        return error_set(b->k, KILN_E_UNSUPPORTED, K6044,
                         "%s has no memory but the host's: give its address as `host`",
                         b->k->device);
    if (bytes > ((size_t)1 << (INTERP_SEGMENT_BITS - 1)) - ALIGNMENT)
        return error_set(b->k, KILN_E_UNSUPPORTED, K6044,
                         "%zu bytes are more than a buffer of %s can have", bytes, b->k->device);
    size_t off = (uintptr_t)desc->host % WIDEST;
    host_buffer *h = calloc(1, sizeof *h);
    if (h)
        h->row = row_new(b);
    if (!h || !h->row) {
        free(h);
        return error_no_memory(b->k, "a buffer");
    }
    b->dev = h;
    b->base = desc->host;
    b->address = interp_address(h->row, off);
    b->is_mapped = true;
    if (desc->host)
        d->rows[h->row] = (interp_buffer){b->base - off, off + bytes};
    return KILN_OK;
}

void host_buffer_free(kiln_buffer *b)
{
    host_device *d = host_of(b->k);
    host_buffer *h = b->dev;
    d->rows[h->row] = (interp_buffer){NULL, 0};
    d->free_rows[d->free_row_count++] = h->row;
    guarded_free(h->memory, h->mapped);
    free(h);
}

kiln_status host_memory_info(kiln *k, kiln_memory_info *out)
{
    (void)k;
    (void)out;
    return KILN_OK;
}

kiln_status host_memory_trim(kiln *k)
{
    (void)k;
    return KILN_OK;
}

kiln_status host_memory_alloc(kiln *k, size_t bytes, void **out)
{
    *out = calloc(1, bytes ? bytes : 1);
    return *out ? KILN_OK : error_no_memory(k, "host memory");
}

void host_memory_free(kiln *k, void *memory)
{
    (void)k;
    free(memory);
}

// --- copies
static void copy_now(const rt_copy *c)
{
    const uint8_t *from =
        c->from_host ? c->from_host : c->from->base + (c->from_address - c->from->address);
    uint8_t *to = c->to_host ? c->to_host : c->to->base + (c->to_address - c->to->address);
    for (size_t row = 0; row < c->rows; row++)
        memmove(to + row * c->to_pitch, from + row * c->from_pitch, c->width);
}

kiln_status host_copy(kiln *k, const rt_copy *c)
{
    (void)k;
    if (c->stream && c->stream->capture)
        return capture_copy(c->stream->capture, c);
    copy_now(c);
    return KILN_OK;
}

static void fill_now(kiln_buffer *b, size_t first, size_t count, const void *element)
{
    for (size_t n = 0; n < count; n++)
        memcpy(b->base + (first + n) * b->elem_size, element, b->elem_size);
}

kiln_status host_fill(kiln_buffer *b, size_t first, size_t count, const void *element,
                      kiln_stream *s)
{
    if (!s || !s->capture) {
        fill_now(b, first, count, element);
        return KILN_OK;
    }
    return capture_fill(s->capture, b, first, count, element);
}
