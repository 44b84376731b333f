// malloc, calloc, realloc, aligned_alloc and free for kernels: from every lane, in divergent code,
// from all blocks at the same time. Nobody holds a lock: every step is one atomic, and a thread
// that stops leaves the heap whole. What runs out of memory gets NULL.
//
// The arena (docs/design/0012-heap.md): this header, then for each page its state, the length of
// the run that begins there, and a bitmap; then the pages. A page is free, or a slab of equal
// chunks, or part of a run of pages that is one large block. The state's upper half is what it is,
// the lower half how many chunks are taken or about to be: who has counted itself in finds a free
// bit, and the page stays what it is. Bits are cleared before the count goes down, so a free page
// has none.
//
// rt/memory/heap.c makes the header and reads the counters. Start at __k_allocate.
#pragma once

enum {
    __K_PAGE_SHIFT = 15,
    __K_PAGE = 1 << __K_PAGE_SHIFT,
    __K_CLASSES = 20,    // 16, 32, 48, 64, 96, 128 … 8192, 16384 bytes
    __K_LARGEST = 16384, // of a chunk
    __K_WORDS = 64,      // of a page's bitmap: a bit for each 16 bytes
    __K_WAYS = 32,       // places where blocks of a launch look for a slab, at most
    __K_TRIES = 1 << 20, // looks at a page that has a free bit: only a broken heap needs so many
    __K_BODY = __K_CLASSES + 1, // of a run; a slab is 1 + its class, a free page 0
    __K_HEAD = __K_CLASSES + 2
};

#ifdef __KILN_CHECK__
// kiln check hears of every block: 1 made, 2 freed, 3 how many bytes were asked for.
host u64 kiln_heap_note(u32 what, u64 address, u64 bytes);
enum { __K_MARGIN = 16, __K_CHECKS = 1 }; // bytes after a block that belong to nobody
#else
static u64 kiln_heap_note(u32 what, u64 address, u64 bytes)
{
    return what & address & bytes & 0;
}
enum { __K_MARGIN = 0, __K_CHECKS = 0 };
#endif

typedef struct __k_count {
    u64 made, freed;
} __k_count;

typedef struct __k_heap {
    u64 bytes;                 // of the arena
    u64 first;                 // from here to the first page
    u32 page_count, ways;      // ways: a power of two
    u64 states, runs, bitmaps; // from here to the tables
    u64 used, peak;            // pages
    u64 failures, mistakes;    // no memory; frees of what is no block
    u32 turn;                  // kiln check: a chunk that was freed is taken again late
    u32 unused;
    u32 hints[__K_CLASSES][__K_WAYS]; // pages where chunks were found last
    __k_count counts[__K_WAYS];
} __k_heap;

static u64 *__k_state(__k_heap *heap, u32 page)
{
    return (u64 *)((u8 *)heap + heap->states) + page;
}

static u32 *__k_run(__k_heap *heap, u32 page)
{
    return (u32 *)((u8 *)heap + heap->runs) + page;
}

static u32 *__k_bitmap(__k_heap *heap, u32 page)
{
    return (u32 *)((u8 *)heap + heap->bitmaps) + (u64)page * __K_WORDS;
}

static u8 *__k_page(__k_heap *heap, u32 page)
{
    return (u8 *)heap + heap->first + ((u64)page << __K_PAGE_SHIFT);
}

// Blocks of the launch spread over the ways, so that they do not meet at one page. (kiln run looks
// for the shape of a launch in what the kernel does with its block's index: this is not it.)
#ifdef __KILN_SHAPES__
#    define __K_BLOCK 0u
#else
#    define __K_BLOCK block_x()
#endif

static u32 __k_way(__k_heap *heap)
{
    return __K_BLOCK & (heap->ways - 1);
}

// --- size classes: 16 and 32 bytes, then 3 << j and 4 << j
static u32 __k_class_of(u32 bytes)
{
    if (bytes <= 32)
        return bytes > 16 ? 1 : 0;
    u32 k = 31 - leading_zeros(bytes - 1); // 2^k < bytes <= 2^(k + 1)
    bool is_three = bytes <= (3u << (k - 1)) && k < 13;
    return 2 * (k - 5) + (is_three ? 2 : 3);
}

// The chunk is `factor << shift` bytes.
static u32 __k_shift(u32 class)
{
    return class < 2 ? class : class / 2 + 3;
}

static u32 __k_factor(u32 class)
{
    return class < 2 ? 16 : class & 1 ? 4 : 3;
}

static u32 __k_chunk(u32 class)
{
    return __k_factor(class) << __k_shift(class);
}

static u32 __k_capacity(u32 class)
{
    u32 whole = (u32)__K_PAGE >> __k_shift(class);
    return class < 2 ? whole / 16 : class & 1 ? whole / 4 : whole / 3;
}

static u32 __k_index(u32 class, u32 within)
{
    u32 whole = within >> __k_shift(class);
    return class < 2 ? whole / 16 : class & 1 ? whole / 4 : whole / 3;
}

// --- pages
static void __k_count_pages(__k_heap *heap, u64 more)
{
    u64 now = atomic_add(&heap->used, more) + more;
    if (now > atomic_load(&heap->peak))
        atomic_max(&heap->peak, now);
}

// One chunk less. Whoever takes the last one away gives the page back.
static void __k_leave(__k_heap *heap, u32 page)
{
    u64 *state = __k_state(heap, page);
    u64 now = atomic_sub(state, (u64)1) - 1;
    u32 what = (u32)(now >> 32);
    if ((u32)now == 0 && what >= 1 && what <= __K_CLASSES && atomic_cas(state, now, (u64)0) == now)
        atomic_sub(&heap->used, (u64)1);
}

// A place in the page is ours once we have counted ourselves in and were not too many.
static bool __k_enter(__k_heap *heap, u32 page, u32 class)
{
    u64 *state = __k_state(heap, page);
    u64 seen = atomic_load(state);
    u32 capacity = __k_capacity(class);
    if (seen == 0) {
        seen = atomic_cas(state, (u64)0, ((u64)(class + 1) << 32) + 1);
        if (seen == 0) {
            __k_count_pages(heap, 1);
            return true;
        }
    }
    if (seen >> 32 != class + 1 || (u32)seen >= capacity)
        return false;
    seen = atomic_add(state, (u64)1);
    if (seen >> 32 == class + 1 && (u32)seen < capacity)
        return true;
    __k_leave(heap, page);
    return false;
}

// The lanes of a warp begin at bits of their own in one word, the warps at different words.
static u8 *__k_take_bit(__k_heap *heap, u32 page, u32 class)
{
    u32 capacity = __k_capacity(class), words = (capacity + 31) / 32;
    u32 start = thread_rank() & 31u, hash = (thread_rank() >> 5) * 2654435769u + __K_BLOCK * 40503u;
    if (__K_CHECKS) {
        u32 turn = atomic_add(&heap->turn, 1u);
        start = turn & 31u;
        hash = (turn >> 5) << 16;
    }
    u32 *bitmap = __k_bitmap(heap, page), word = (hash >> 16) % words;
    for (u32 tries = 0; tries < __K_TRIES; tries++) {
        u32 left = capacity - word * 32;
        u32 valid = left < 32 ? (1u << left) - 1 : 0xffffffffu;
        u32 open = ~atomic_load(&bitmap[word]) & valid;
        while (open) {
            u32 bit = (trailing_zeros(rotate_right(open, start)) + start) & 31u;
            u32 old = atomic_or(&bitmap[word], 1u << bit);
            if ((old >> bit & 1u) == 0)
                return __k_page(heap, page) + (u64)(word * 32 + bit) * __k_chunk(class);
            open = ~old & valid;
        }
        word = word + 1 == words ? 0 : word + 1;
    }
    return (u8 *)NULL;
}

static u8 *__k_take_chunk(__k_heap *heap, u32 class)
{
    u32 *hint = &heap->hints[class][__k_way(heap)];
    u32 pages = heap->page_count, page = atomic_load(hint);
    for (u32 step = 0; step < pages; step++) {
        if (__k_enter(heap, page, class)) {
            if (step)
                atomic_store(hint, page);
            return __k_take_bit(heap, page, class);
        }
        page = page + 1 >= pages ? 0 : page + 1;
    }
    return (u8 *)NULL;
}

// --- runs of pages, from the end of the arena down: slabs grow from its start
static bool __k_claim(__k_heap *heap, u32 page, u32 count)
{
    u32 done = 0;
    u64 body = (u64)__K_BODY << 32;
    while (done < count && atomic_cas(__k_state(heap, page + done), (u64)0, body) == 0)
        done++;
    if (done == count)
        return true;
    while (done > 0) {
        done--;
        atomic_sub(__k_state(heap, page + done), body);
    }
    return false;
}

static u8 *__k_take_run(__k_heap *heap, u64 bytes, u64 align)
{
    u64 wanted = bytes ? (bytes + (__K_PAGE - 1)) >> __K_PAGE_SHIFT : 1; // a block of its own
    u32 count = (u32)wanted, open = 0;
    if (wanted > heap->page_count)
        return (u8 *)NULL;
    for (u32 page = heap->page_count; page > 0;) {
        page--;
        open = atomic_load(__k_state(heap, page)) == 0 ? open + 1 : 0;
        u8 *at = __k_page(heap, page);
        if (open < count || ((u64)at & (align - 1)) != 0)
            continue;
        if (__k_claim(heap, page, count)) {
            atomic_store(__k_run(heap, page), count);
            atomic_add(__k_state(heap, page), (u64)(__K_HEAD - __K_BODY) << 32);
            __k_count_pages(heap, wanted);
            return at;
        }
        open = 0; // somebody was faster
    }
    return (u8 *)NULL;
}

static bool __k_free_run(__k_heap *heap, u32 page)
{
    u64 *state = __k_state(heap, page), step = (u64)(__K_HEAD - __K_BODY) << 32;
    u32 count = atomic_load(__k_run(heap, page));
    if (atomic_sub(state, step) >> 32 != __K_HEAD) {
        atomic_add(state, step);
        return false;
    }
    for (u32 n = count; n > 0; n--)
        atomic_sub(__k_state(heap, page + n - 1), (u64)__K_BODY << 32);
    atomic_sub(&heap->used, (u64)count);
    return true;
}

// --- blocks
// The page of a block and what it is (0: no block begins there).
typedef struct __k_block {
    u32 page, what, within;
} __k_block;

static __k_block __k_find(__k_heap *heap, const void *pointer)
{
    __k_block b = {0, 0, 0};
    u64 offset = (u64)pointer - (u64)heap - heap->first;
    if (offset >> __K_PAGE_SHIFT >= heap->page_count)
        return b;
    b.page = (u32)(offset >> __K_PAGE_SHIFT);
    b.within = (u32)offset & (__K_PAGE - 1);
    u32 what = (u32)(atomic_load(__k_state(heap, b.page)) >> 32);
    if (what == __K_HEAD && b.within == 0)
        b.what = what;
    if (what == 0 || what > __K_CLASSES)
        return b;
    u32 index = __k_index(what - 1, b.within);
    bool is_taken = (atomic_load(&__k_bitmap(heap, b.page)[index / 32]) >> (index & 31u) & 1u) != 0;
    if (index < __k_capacity(what - 1) && index * __k_chunk(what - 1) == b.within && is_taken)
        b.what = what;
    return b;
}

static u64 __k_block_bytes(__k_heap *heap, const void *pointer)
{
    if (__K_CHECKS)
        return kiln_heap_note(3, (u64)pointer, 0);
    __k_block b = __k_find(heap, pointer);
    if (b.what == __K_HEAD)
        return (u64)atomic_load(__k_run(heap, b.page)) << __K_PAGE_SHIFT;
    return b.what ? (u64)__k_chunk(b.what - 1) : 0;
}

static void *__k_allocate(u64 bytes, u64 align)
{
    __k_heap *heap = (__k_heap *)heap_arena();
    u8 *made = (u8 *)NULL;
    u64 whole = bytes + __K_MARGIN;
    if (whole < bytes || whole > heap->bytes) {
        whole = 0;
    } else if (whole <= __K_LARGEST && align <= __K_LARGEST) {
        // A chunk whose size is a power of two is aligned to it.
        u32 least = align > 16 && whole < align ? (u32)align : (u32)whole, class;
        class = __k_class_of(least);
        if (align > 16 && __k_factor(class) == 3)
            class = class + 1;
        made = __k_take_chunk(heap, class);
    } else {
        made = __k_take_run(heap, whole, align);
    }
    if (made == NULL) {
        atomic_add(&heap->failures, (u64)1);
        return NULL;
    }
    atomic_add(&heap->counts[__k_way(heap)].made, (u64)1);
    fence_device(); // what the last owner did to the memory is over
    if (__K_CHECKS)
        kiln_heap_note(1, (u64)made, bytes);
    return made;
}

static void *malloc(u64 bytes)
{
    return __k_allocate(bytes, 16);
}

// NULL for an alignment that is no power of two.
static void *aligned_alloc(u64 align, u64 bytes)
{
    if (align == 0 || (align & (align - 1)) != 0)
        return NULL;
    return __k_allocate(bytes, align);
}

static void *calloc(u64 count, u64 size)
{
    u64 bytes = count * size;
    if (mul_high(count, size) != 0)
        bytes = 0xffffffffffffffffull; // more than there is
    void *made = malloc(bytes);
    if (made == NULL)
        return NULL;
    u64 *words = (u64 *)made;
    for (u64 n = 0; n < bytes / 8; n++)
        words[n] = 0;
    for (u64 n = bytes / 8 * 8; n < bytes; n++)
        ((u8 *)made)[n] = 0;
    return made;
}

// What is no block, or was freed, is left alone and counted; kiln check reports it.
static void free(void *pointer)
{
    if (pointer == NULL)
        return;
    if (__K_CHECKS && kiln_heap_note(2, (u64)pointer, 0) != 0)
        return;
    __k_heap *heap = (__k_heap *)heap_arena();
    __k_block b = __k_find(heap, pointer);
    bool is_freed = false;
    fence_device(); // what this thread did to the memory comes before the next owner
    if (b.what == __K_HEAD) {
        is_freed = __k_free_run(heap, b.page);
    } else if (b.what != 0) {
        u32 index = __k_index(b.what - 1, b.within), bit = 1u << (index & 31u);
        is_freed = (atomic_and(&__k_bitmap(heap, b.page)[index / 32], ~bit) & bit) != 0;
        if (is_freed)
            __k_leave(heap, b.page);
    }
    if (is_freed)
        atomic_add(&heap->counts[__k_way(heap)].freed, (u64)1);
    else
        atomic_add(&heap->mistakes, (u64)1);
}

static void *realloc(void *pointer, u64 bytes)
{
    if (pointer == NULL)
        return malloc(bytes);
    u64 had = __k_block_bytes((__k_heap *)heap_arena(), pointer);
    // It stays where it is while it fits and does not waste half. kiln check sees it move.
    if (!__K_CHECKS && bytes <= had && (had <= 16 || bytes > had / 2))
        return pointer;
    void *made = malloc(bytes);
    if (made == NULL) // a full heap has what it has given already
        return bytes <= had ? pointer : NULL;
    // kiln check knows of every byte whether it is set, of a word only whether all of it is.
    u64 kept = had < bytes ? had : bytes, words = __K_CHECKS ? 0 : kept / 8;
    for (u64 n = 0; n < words; n++)
        ((u64 *)made)[n] = ((const u64 *)pointer)[n];
    for (u64 n = words * 8; n < kept; n++)
        ((u8 *)made)[n] = ((const u8 *)pointer)[n];
    free(pointer);
    return made;
}
