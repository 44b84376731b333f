// The heap's layout, as lib/libc/heap.h has it for kernels; a unit test compares the two.
#ifndef KILN_RT_HEAP_H
#define KILN_RT_HEAP_H

#include <stdint.h>

enum {
    HEAP_PAGE = 1 << 15,
    HEAP_CLASSES = 20,
    HEAP_WAYS = 32,
    HEAP_BITMAP_BYTES = 256,
    HEAP_HEAD = HEAP_CLASSES + 2
};

typedef struct heap_header {
    uint64_t bytes, first;
    uint32_t page_count, ways;
    uint64_t states, runs, bitmaps;
    uint64_t used, peak, failures, mistakes;
    uint32_t turn, unused;
    uint32_t hints[HEAP_CLASSES][HEAP_WAYS];
    struct {
        uint64_t made, freed;
    } counts[HEAP_WAYS];
} heap_header;

// The host function through which kernels compiled for kiln check tell of their blocks.
#define HEAP_NOTE "kiln_heap_note"

// The header of an empty heap of so many bytes at that address.
void heap_plan(uint64_t address, uint64_t bytes, heap_header *h);
uint32_t heap_chunk(uint32_t size_class); // bytes of it

#endif
