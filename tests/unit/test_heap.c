// The allocator of kernels (lib/libc/heap.h), its very text, run by threads of the host: every
// thread is a warp's lane of another block, and the operations are real atomics in any order.
// Blocks keep their contents and never overlap, everything comes back, and ThreadSanitizer sees no
// race between the owners of a block. The layout is the one of rt/memory/heap.h.
#include <pthread.h>
#include <sched.h>

#include <kiln/kernel.h>

#include "rt/memory/heap.h"
#include "tests/test.h"

static void *arena_at;
static _Thread_local u32 own_block, own_thread;

// In the place of the builtins: the heap, and where a thread is. The host's atomics are ordered.
#undef heap_arena
#define heap_arena() arena_at
#define block_x()    own_block
#undef fence_device
#define fence_device() ((void)0)

// Other threads come in between any two steps.
static _Thread_local u32 pause_state;
static void pause_sometimes(void)
{
    pause_state = pause_state * 1664525u + 1013904223u;
    if (pause_state >> 29 == 0)
        sched_yield();
}
#undef atomic_load
#define atomic_load(p) (pause_sometimes(), KILN_BY_NUM(kiln_atomic_load, *(p))(KILN_AT(p)))
#undef atomic_add
#define atomic_add(p, v) (pause_sometimes(), KILN_BY_NUM(kiln_atomic_add, *(p))(KILN_AT(p), v))
#undef atomic_sub
#define atomic_sub(p, v) (pause_sometimes(), KILN_BY_NUM(kiln_atomic_sub, *(p))(KILN_AT(p), v))
#undef atomic_or
#define atomic_or(p, v) (pause_sometimes(), KILN_BY_INT(kiln_atomic_or, *(p))(KILN_AT(p), v))
#undef atomic_and
#define atomic_and(p, v) (pause_sometimes(), KILN_BY_INT(kiln_atomic_and, *(p))(KILN_AT(p), v))
#undef atomic_cas
#define atomic_cas(p, old, v)                                                                      \
    (pause_sometimes(), KILN_BY_INT(kiln_atomic_cas, *(p))(KILN_AT(p), old, v))

static u32 rank_here(void)
{
    return own_thread;
}
#define thread_rank   rank_here
#define malloc        heap_malloc
#define calloc        heap_calloc
#define realloc       heap_realloc
#define aligned_alloc heap_aligned_alloc
#define free          heap_free
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-align" // the tables lie at offsets of the arena
#include "lib/libc/heap.h"
#pragma GCC diagnostic pop
#undef malloc
#undef calloc
#undef realloc
#undef aligned_alloc
#undef free

enum { THREADS = 4, SLOTS = 24 };

static void *memory_of; // as allocated

static void heap_open(size_t bytes)
{
    heap_header h;
    memory_of = calloc(1, bytes + HEAP_PAGE);
    assert_non_null(memory_of);
    arena_at = (void *)(((uintptr_t)memory_of + HEAP_PAGE - 1) / HEAP_PAGE * HEAP_PAGE);
    heap_plan((uintptr_t)arena_at, bytes, &h);
    memcpy(arena_at, &h, sizeof h);
}

// Nothing is left: no page, no bit.
static void heap_close(void)
{
    __k_heap *heap = arena_at;
    assert_int_equal(heap->used, 0);
    for (u32 page = 0; page < heap->page_count; page++) {
        assert_int_equal(*__k_state(heap, page), 0);
        for (u32 n = 0; n < __K_WORDS; n++)
            assert_int_equal(__k_bitmap(heap, page)[n], 0);
    }
    free(memory_of);
}

TEST(heap_layout_is_the_hosts)
{
    assert_int_equal(sizeof(__k_heap), sizeof(heap_header));
    assert_int_equal(offsetof(__k_heap, hints), offsetof(heap_header, hints));
    assert_int_equal(offsetof(__k_heap, counts), offsetof(heap_header, counts));
    assert_int_equal(offsetof(__k_heap, mistakes), offsetof(heap_header, mistakes));
    assert_int_equal(__K_PAGE, HEAP_PAGE);
    assert_int_equal(__K_WORDS * 4, HEAP_BITMAP_BYTES);
    assert_int_equal(__K_HEAD, HEAP_HEAD);
    for (u32 c = 0; c < __K_CLASSES; c++)
        assert_int_equal(__k_chunk(c), heap_chunk(c));
}

TEST(heap_classes_fit)
{
    for (u32 bytes = 0; bytes <= __K_LARGEST; bytes++) {
        u32 class = __k_class_of(bytes), chunk = __k_chunk(class);
        assert_true(class < __K_CLASSES && chunk >= bytes);
        assert_true(chunk <= bytes + bytes / 2 + 16 || bytes > 8192); // at most a third is lost
        assert_true(__k_capacity(class) * chunk <= __K_PAGE && __k_capacity(class) >= 2);
        assert_int_equal(__k_index(class, chunk + chunk / 2), 1);
    }
}

// --- threads
typedef struct owned {
    u64 *at, words;
} owned;

typedef struct worker {
    pthread_t thread;
    u32 index, random, rounds, wrong;
    u32 least, most; // words of a block
    bool makes_large;
    bool is_crowd; // all begin at the same page and bit
    owned slots[SLOTS];
} worker;

static u32 draw(worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 17;
    w->random ^= w->random << 5;
    return w->random;
}

static void put(worker *w, owned *o, u64 from)
{
    for (u64 n = from; n < o->words; n++)
        o->at[n] = (u64)w->index << 48 | (u64)(o - w->slots) << 32 | n;
}

static void look(worker *w, const owned *o, u64 words)
{
    for (u64 n = 0; n < words; n++)
        w->wrong += o->at[n] != ((u64)w->index << 48 | (u64)(o - w->slots) << 32 | n);
}

static void *churn(void *worker_pointer)
{
    worker *w = worker_pointer;
    own_block = w->is_crowd ? 0 : w->index;
    own_thread = w->is_crowd ? 0 : w->index * 33;
    pause_state = w->random;
    for (u32 round = 0; round < w->rounds; round++) {
        owned *o = &w->slots[draw(w) % SLOTS];
        u64 words = draw(w) % (w->most - w->least) + w->least;
        if (w->makes_large && draw(w) % 16 == 0)
            words = draw(w) % 12000 + 1;
        if (!o->at) {
            u32 what = draw(w) % 8;
            *o = (owned){what == 0   ? heap_calloc(words, 8)
                         : what == 1 ? heap_aligned_alloc(256, words * 8)
                                     : heap_malloc(words * 8),
                         words};
            w->wrong += what == 1 && (uintptr_t)o->at % 256 != 0;
            w->wrong += what == 0 && o->at && o->at[words - 1] != 0;
            if (!o->at)
                o->words = 0;
            put(w, o, 0);
        } else if (draw(w) % 4 == 0) {
            u64 kept = words < o->words ? words : o->words;
            u64 *moved = heap_realloc(o->at, words * 8);
            if (moved) {
                *o = (owned){moved, words};
                look(w, o, kept);
                put(w, o, kept);
            }
        } else {
            look(w, o, o->words);
            heap_free(o->at);
            *o = (owned){0};
        }
    }
    for (u32 k = 0; k < SLOTS; k++) {
        look(w, &w->slots[k], w->slots[k].words);
        heap_free(w->slots[k].at);
    }
    return NULL;
}

static u64 run_workers(size_t bytes, const worker *like)
{
    static worker workers[THREADS];
    heap_open(bytes);
    memset(workers, 0, sizeof workers);
    for (u32 n = 0; n < THREADS; n++) {
        workers[n] = *like;
        workers[n].index = n;
        workers[n].random = n * 77 + 5;
        assert_int_equal(pthread_create(&workers[n].thread, NULL, churn, &workers[n]), 0);
    }
    for (u32 n = 0; n < THREADS; n++) {
        pthread_join(workers[n].thread, NULL);
        assert_int_equal(workers[n].wrong, 0);
    }
    const __k_heap *heap = arena_at;
    u64 failures = heap->failures, made = 0, freed = 0;
    assert_int_equal(heap->mistakes, 0);
    for (u32 n = 0; n < __K_WAYS; n++) {
        made += heap->counts[n].made;
        freed += heap->counts[n].freed;
    }
    assert_true(made == freed && made > like->rounds / 8);
    heap_close();
    return failures;
}

TEST(heap_threads_do_not_meet)
{
    worker like = {.rounds = 5000, .least = 1, .most = 40};
    assert_int_equal(run_workers((size_t)8 << 20, &like), 0);
    like.is_crowd = true;
    assert_int_equal(run_workers((size_t)8 << 20, &like), 0);
}

TEST(heap_threads_race_for_the_last_pages)
{
    worker like = {.rounds = 4000, .least = 1, .most = 40, .makes_large = true, .is_crowd = true};
    run_workers((size_t)192 << 10, &like); // five pages: classes and runs take turns
    run_workers((size_t)1 << 20, &like);
}

// Few chunks a page: who counts itself in is often one too many.
TEST(heap_threads_race_for_the_last_chunks)
{
    worker like = {.rounds = 6000, .least = 1030, .most = 1500, .is_crowd = true};
    run_workers((size_t)256 << 10, &like);
}
