// Handles: fixed-size records in blocks that live as long as the process. A freed record keeps a
// poisoned magic until it is used again, oldest first, so that a stale handle is found out. Blocks
// are aligned and known by their address, so that any number can be asked about: what does not
// point to a record of its kind is never read. Start reading at handle_is.
#include <pthread.h>
#include <stdlib.h>

#include "rt/rt.h"

typedef struct link { // a free record: the magic stays where it is
    uint64_t magic;
    struct link *next;
} link;

typedef struct block {
    handle_kind kind;
    uint32_t record_size, count, bytes; // bytes: of all records
    _Alignas(16) uint8_t records[];
} block;

static const uint64_t magics[HANDLE_KIND_COUNT] = {
    0x6b696c6e2d637478, 0x6b696c6e2d6d6f64, 0x6b696c6e2d6b726e, 0x6b696c6e2d627566,
    0x6b696c6e2d737472, 0x6b696c6e2d657674, 0x6b696c6e2d677261, 0x6b696c6e2d676766};
static const uint64_t poison = 0xdead6b696c6edead;
static const uint64_t retired = 0xdead6b65657065ad; // dead for the program, held by the library
static const uint32_t sizes[HANDLE_KIND_COUNT] = {
    sizeof(kiln),        sizeof(kiln_module), sizeof(kiln_kernel), sizeof(kiln_buffer),
    sizeof(kiln_stream), sizeof(kiln_event),  sizeof(kiln_graph),  sizeof(kiln_gguf)};
enum { BLOCK = 32 << 10, KEEP_FREE = 16 };
_Static_assert(sizeof(kiln_stream) <= BLOCK - 64, "a record fits");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_id; // under the lock
static struct {
    link *first, *last;
    size_t count;
} spare[HANDLE_KIND_COUNT];

// --- the blocks: a table by hash, half empty. It is read without the lock, so it only gets more
// entries, and a larger one takes its place as a whole. The smaller ones stay for concurrent
// readers.
typedef struct block_table {
    size_t cap, count;         // cap is a power of two
    struct block_table *older; // found by a leak checker
    block *at[];
} block_table;
static block_table *blocks;

static size_t slot_of(const block_table *t, uintptr_t address)
{
    return (size_t)((address / BLOCK * 0x9e3779b97f4a7c15u) >> 20) & (t->cap - 1);
}

static void enter(block_table *t, block *b)
{
    size_t k = slot_of(t, (uintptr_t)b);
    while (t->at[k])
        k = (k + 1) & (t->cap - 1);
    t->count++;
    __atomic_store_n(&t->at[k], b, __ATOMIC_RELEASE);
}

static bool add_block(block *b)
{
    if (!blocks || blocks->count * 2 >= blocks->cap) {
        size_t cap = blocks ? blocks->cap * 2 : 64;
        block_table *larger = calloc(1, sizeof *larger + cap * sizeof *larger->at);
        if (!larger)
            return false;
        larger->cap = cap;
        larger->older = blocks;
        for (size_t k = 0; blocks && k < blocks->cap; k++)
            if (blocks->at[k])
                enter(larger, blocks->at[k]);
        __atomic_store_n(&blocks, larger, __ATOMIC_RELEASE);
    }
    enter(blocks, b);
    return true;
}

static inline const block *find_block(const void *handle)
{
    const block_table *t = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);
    uintptr_t start = (uintptr_t)handle & ~(uintptr_t)(BLOCK - 1);
    for (size_t k = t ? slot_of(t, start) : 0; t; k = (k + 1) & (t->cap - 1)) {
        const block *b = __atomic_load_n(&t->at[k], __ATOMIC_ACQUIRE);
        if (!b || (uintptr_t)b == start)
            return b;
    }
    return NULL;
}

// --- records
static void push(handle_kind kind, void *record)
{
    link *l = record;
    l->next = NULL;
    if (spare[kind].last)
        spare[kind].last->next = l;
    else
        spare[kind].first = l;
    spare[kind].last = l;
    spare[kind].count++;
}

static bool grow(handle_kind kind)
{
    block *b = aligned_alloc(BLOCK, BLOCK);
    if (!b)
        return false;
    b->kind = kind;
    b->record_size = (sizes[kind] + 15) & ~15u;
    b->count = (uint32_t)(BLOCK - sizeof *b) / b->record_size;
    b->bytes = b->count * b->record_size;
    for (uint32_t k = 0; k < b->count; k++)
        __atomic_store_n((uint64_t *)(void *)(b->records + k * b->record_size), poison,
                         __ATOMIC_RELAXED);
    if (!add_block(b)) {
        free(b);
        return false;
    }
    for (uint32_t k = 0; k < b->count; k++)
        push(kind, b->records + k * b->record_size);
    return true;
}

void *handle_new(handle_kind kind)
{
    pthread_mutex_lock(&lock);
    link *l = NULL;
    uint64_t id = ++last_id;
    if (spare[kind].count > KEEP_FREE || grow(kind) || spare[kind].count) {
        l = spare[kind].first;
        spare[kind].first = l->next;
        if (!l->next)
            spare[kind].last = NULL;
        spare[kind].count--;
    }
    pthread_mutex_unlock(&lock);
    if (!l)
        return NULL;
    memset((uint8_t *)l + 8, 0, sizes[kind] - 8);
    memcpy((uint8_t *)l + 8, &id, sizeof id);
    __atomic_store_n(&l->magic, magics[kind], __ATOMIC_RELEASE);
    return l;
}

void handle_free(handle_kind kind, void *handle)
{
    __atomic_store_n((uint64_t *)handle, poison, __ATOMIC_RELEASE);
    pthread_mutex_lock(&lock);
    push(kind, handle);
    pthread_mutex_unlock(&lock);
}

void handle_retire(void *handle)
{
    __atomic_store_n((uint64_t *)handle, retired, __ATOMIC_RELEASE);
}

// The magic of a record of that kind; 0: it points to none.
static inline uint64_t magic_of(handle_kind kind, const void *handle)
{
    const block *b = handle ? find_block(handle) : NULL;
    uint32_t at =
        b ? (uint32_t)((const uint8_t *)handle - b->records) : 0; // above all: before them
    bool is_record = b && b->kind == kind && at < b->bytes && at % b->record_size == 0;
    return is_record ? __atomic_load_n((const uint64_t *)handle, __ATOMIC_ACQUIRE) : 0;
}

bool handle_is(handle_kind kind, const void *handle)
{
    return magic_of(kind, handle) == magics[kind];
}

bool handle_can_free(handle_kind kind, const void *handle)
{
    if (handle && !handle_is(kind, handle))
        error_bad_handle(kind, handle);
    return handle && handle_is(kind, handle);
}

uint64_t handle_id(handle_kind kind, const void *handle)
{
    uint64_t id = 0, magic = magic_of(kind, handle);
    if (magic == magics[kind] || magic == retired)
        memcpy(&id, (const uint8_t *)handle + 8, sizeof id);
    return id;
}
