// The heap that kernels allocate from (lib/libc/heap.h): a buffer of the context whose first bytes
// say where its tables and pages are. The launch hands its address to kernels as a hidden argument.
// Here it is made, emptied and counted; allocating is the kernels' own work. Invariant: pages begin
// at a multiple of their size, as kernels see addresses.
#include <stdlib.h>

#include "base/knobs.h"
#include "rt/memory/heap.h"
#include "rt/rt.h"

static const size_t LEAST = (size_t)128 << 10, MOST = (size_t)1 << 45;

// --- making
static uint64_t table_bytes(uint64_t pages)
{
    return sizeof(heap_header) + pages * (sizeof(uint64_t) + sizeof(uint32_t) + HEAP_BITMAP_BYTES);
}

void heap_plan(uint64_t address, uint64_t bytes, heap_header *h)
{
    uint64_t end = address + bytes, pages = bytes / HEAP_PAGE, first = 0;
    for (;; pages--) {
        first = (address + table_bytes(pages) + HEAP_PAGE - 1) / HEAP_PAGE * HEAP_PAGE;
        if (!pages || first + pages * HEAP_PAGE <= end)
            break;
    }
    memset(h, 0, sizeof *h);
    h->bytes = bytes;
    h->first = first - address;
    h->page_count = (uint32_t)pages;
    h->states = sizeof *h;
    h->bitmaps = h->states + pages * sizeof(uint64_t);
    h->runs = h->bitmaps + pages * HEAP_BITMAP_BYTES;
    // A small heap has no pages to spare for blocks that want one of their own.
    for (h->ways = 1; h->ways < HEAP_WAYS && h->ways * 64 < pages; h->ways *= 2)
        ;
    for (uint32_t c = 0; c < HEAP_CLASSES; c++)
        for (uint32_t w = 0; w < h->ways; w++)
            h->hints[c][w] = w;
}

static kiln_status write_header(kiln_buffer *b)
{
    heap_header h;
    heap_plan(b->address, b->count * b->elem_size, &h);
    return kiln_write(b, 0, &h, sizeof h / b->elem_size);
}

static kiln_status new_buffer(kiln *k, size_t bytes, kiln_buffer **out)
{
    kiln_status status = kiln_buffer_make(
        k, &(kiln_buffer_desc){.type = KILN_U64, .count = bytes / 8, .name = "heap"}, out);
    kiln_buffer *b = *out;
    if (status || !b->base || ((uintptr_t)b->base - b->address) % HEAP_PAGE == 0)
        return status;
    // Kernels may see it at its address on this host or at another one: both must be aligned.
    void *memory = NULL;
    kiln_buffer_free(b);
    if (posix_memalign(&memory, HEAP_PAGE, bytes))
        return error_no_memory(k, "the heap of kernels");
    heap_header h;
    heap_plan(0, bytes, &h);
    memset(memory, 0, h.first);
    status = kiln_buffer_wrap(k,
                              &(kiln_wrap_desc){.type = KILN_U64,
                                                .count = bytes / 8,
                                                .host = memory,
                                                .release = free,
                                                .user = memory,
                                                .name = "heap"},
                              out);
    if (status)
        free(memory);
    return status;
}

static kiln_status make(kiln *k)
{
    size_t bytes = k->heap_wanted;
    kiln_buffer *b = NULL;
    if (!bytes) {
        uint64_t asked = knob_size(KNOB_HEAP);
        bytes = asked < LEAST ? LEAST : asked > MOST ? MOST : (size_t)asked;
    }
    kiln_status status = new_buffer(k, bytes / 8 * 8, &b);
    if (!status)
        status = write_header(b);
    if (status) {
        kiln_buffer_free(b);
        return error_set(k, status, K6082,
                         "the heap of kernels, %zu bytes, cannot be made: %s\n  kiln_heap_set and "
                         "the switch KILN_HEAP say how large it is",
                         bytes,
                         status == KILN_E_NO_MEMORY ? "there is no memory" : "the device failed");
    }
    k->heap = b;
    return KILN_OK;
}

kiln_status heap_address(kiln *k, bool captures, uint64_t *address, uint64_t *bytes)
{
    if (!k->heap && captures)
        return error_set(k, KILN_E_LAUNCH, K6082,
                         "the heap of kernels cannot be made while a stream is captured: call "
                         "kiln_heap_reset before");
    kiln_status status = k->heap ? KILN_OK : make(k);
    if (status)
        return status;
    *address = k->heap->address;
    *bytes = k->heap->count * k->heap->elem_size;
    return KILN_OK;
}

// --- the program's calls
kiln_status kiln_heap_set(kiln *k, size_t bytes)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (bytes && (bytes < LEAST || bytes > MOST))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6082,
                         "kiln_heap_set: %zu bytes: a heap has from %zu (128 KiB) to %zu bytes",
                         bytes, LEAST, MOST);
    kiln_status status = context_may_wait(k, "kiln_heap_set");
    if (status)
        return status;
    if (k->heap && k->graphs)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6082,
                         "kiln_heap_set: a graph may hold the old heap's address: free the graphs "
                         "first, or call kiln_heap_reset, which keeps the memory");
    status = k->ops->sync(k, NULL);
    if (status)
        return status;
    kiln_buffer_free(k->heap);
    k->heap = NULL;
    k->heap_wanted = bytes;
    return bytes ? make(k) : KILN_OK;
}

kiln_status kiln_heap_reset(kiln *k)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!k->heap)
        return make(k);
    static const uint64_t zero = 0;
    heap_header h;
    kiln_status status = context_may_wait(k, "kiln_heap_reset");
    if (!status)
        status = k->ops->sync(k, NULL);
    heap_plan(k->heap->address, k->heap->count * 8, &h);
    if (!status)
        status = k->ops->fill(k->heap, 0, h.first / 8, &zero, NULL);
    return status ? status : write_header(k->heap);
}

// --- counting
uint32_t heap_chunk(uint32_t class)
{
    return class < 2 ? 16u << class : (class & 1 ? 4u : 3u) << (class / 2 + 3);
}

static void count_blocks(const heap_header *h, const uint64_t *states, const uint32_t *bitmaps,
                         const uint32_t *runs, kiln_heap_stats *out)
{
    for (uint32_t page = 0; page < h->page_count; page++) {
        uint32_t what = (uint32_t)(states[page] >> 32);
        if (what == HEAP_HEAD) {
            out->block_count++;
            out->used_bytes += (uint64_t)runs[page] * HEAP_PAGE;
        }
        for (uint32_t n = 0; what && what <= HEAP_CLASSES && n < HEAP_BITMAP_BYTES / 4; n++) {
            uint32_t bits =
                (uint32_t)__builtin_popcount(bitmaps[page * (HEAP_BITMAP_BYTES / 4) + n]);
            out->block_count += bits;
            out->used_bytes += (uint64_t)bits * heap_chunk(what - 1);
        }
    }
}

kiln_status kiln_heap_stats_of(kiln *k, kiln_heap_stats *out)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!out)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_heap_stats_of: out is NULL");
    memset(out, 0, sizeof *out);
    kiln_status status = k->heap ? context_may_use(k, "kiln_heap_stats_of") : KILN_OK;
    if (!status && k->heap)
        status = k->ops->sync(k, NULL);
    if (status || !k->heap)
        return status;
    heap_header plan, h;
    heap_plan(k->heap->address, k->heap->count * 8, &plan);
    size_t bytes = (table_bytes(plan.page_count) + 7) / 8 * 8;
    uint8_t *tables = malloc(bytes);
    if (!tables)
        return error_no_memory(k, "the tables of the heap");
    status = kiln_read(k->heap, 0, tables, bytes / 8);
    if (!status) { // where things are, the plan knows: a kernel may have written over the header
        memcpy(&h, tables, sizeof h);
        out->size_bytes = plan.bytes;
        out->peak_bytes = h.peak * HEAP_PAGE;
        out->failures = h.failures;
        out->bad_frees = h.mistakes;
        for (uint32_t w = 0; w < HEAP_WAYS; w++) {
            out->allocations += h.counts[w].made;
            out->frees += h.counts[w].freed;
        }
        count_blocks(&plan, (const uint64_t *)(const void *)(tables + plan.states),
                     (const uint32_t *)(const void *)(tables + plan.bitmaps),
                     (const uint32_t *)(const void *)(tables + plan.runs), out);
    }
    free(tables);
    return status;
}
