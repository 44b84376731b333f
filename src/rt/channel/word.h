// The accesses that the mailbox protocol is written in, for each place where its source runs:
// as Kiln C for a GPU, as C11 for the host, and for the model checker, which brings its own header
// (WORD_HEADER). Every shared word is 64 bits and naturally aligned.
//
//   word_load, word_store                  relaxed, seen by host and GPU
//   word_load_acquire, word_store_release  the same with order
//   word_swap_acquire, word_give           exchange and release store in the GPU's own memory
//   word_settle, word_give_settled         the same release in two parts: what was before the first
//                                          is before the second, which is relaxed
//   word_fence                             acquire and release, host and GPU
//   word_ones, word_lowest, word_highest   of 32 bits: how many are set, and the place of one
//   word_lane … word_sync                  what the lanes of one warp say to each other
//   word_now, word_is_over, word_pause     a clock, and waiting without an access
//   word_beat                              the count of the host's rounds, after it was `last`
//   word_count, word_idle                  the host counts a round; it has found nothing to do
//   word_expect, word_expect_store         will be loaded, or stored, soon: no access
//   word_hint                              what is probably there: no access, either
//   word_two                               16 bytes of data beside the words
//   word_load_row, word_store_row          words {number, bits} of all lanes of a few rows,
//   relaxed;
//                                          false: one has another number
//
// An exchange on a word that the host sees too does not exist here: such an exchange is not atomic.
#ifndef KILN_CHANNEL_WORD_H
#define KILN_CHANNEL_WORD_H

#if defined(__KILN__)
#    include <kiln/kernel.h>
typedef u64x2 word_two; // 16 bytes, in one access that is not atomic
#    define word_load(p)             atomic_load_at(p, order_relaxed, scope_system)
#    define word_load_acquire(p)     atomic_load_at(p, order_acquire, scope_system)
#    define word_store(p, v)         atomic_store_at(p, v, order_relaxed, scope_system)
#    define word_store_release(p, v) atomic_store_at(p, v, order_release, scope_system)
#    define word_swap_acquire(p, v)  atomic_swap_at(p, v, order_acquire, scope_device)
#    define word_give(p, v)          atomic_store_at(p, v, order_release, scope_device)
#    define word_settle()            fence_at(order_acq_rel, scope_device)
#    define word_give_settled(p, v)  atomic_store_at(p, v, order_relaxed, scope_device)
#    define word_fence()             fence_at(order_acq_rel, scope_system)
#    define word_ones(x)             popcount(x)
#    define word_lowest(x)           popcount(((x) & (0u - (x))) - 1u)
#    define word_highest(x)          (31u - leading_zeros(x))
#    define word_lane()              lane()
#    define word_ballot(is)          warp_ballot(is)
#    define word_all(is)             warp_all(is)
#    define word_from(v, from)       shuffle(v, from)
#    define word_sync()              warp_sync()
#    define word_now()               clock_cycles()
#    define word_is_over(t, limit)   ((t) >= (limit))
#    define word_beat(p, last)       word_load(p)

static inline void word_pause(uint32_t cycles)
{
    u64 start = clock_cycles();
    while (clock_cycles() - start < cycles) {
    }
}
#else
#    include <stdbool.h>
#    include <stdint.h>
typedef struct word_two {
    uint64_t x, y;
} word_two;
#    define word_ones(x)    (uint32_t) __builtin_popcount(x)
#    define word_lowest(x)  (uint32_t) __builtin_ctz(x)
#    define word_highest(x) (31u - (uint32_t)__builtin_clz(x))
#    ifdef WORD_HEADER
#        include WORD_HEADER
#    else
#        include <time.h>
#        define word_load_acquire(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#        define word_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#        define word_swap_acquire(p, v)  __atomic_exchange_n(p, v, __ATOMIC_ACQUIRE)
#        define word_give(p, v)          __atomic_store_n(p, v, __ATOMIC_RELEASE)
#        ifdef __SANITIZE_THREAD__ // does not follow fences: the words have their order instead
#            define word_load(p)            word_load_acquire(p)
#            define word_store(p, v)        word_store_release(p, v)
#            define word_settle()           ((void)0)
#            define word_give_settled(p, v) word_store_release(p, v)
#            define word_fence()            ((void)0)
#        else
#            define word_load(p)            __atomic_load_n(p, __ATOMIC_RELAXED)
#            define word_store(p, v)        __atomic_store_n(p, v, __ATOMIC_RELAXED)
#            define word_settle()           __atomic_thread_fence(__ATOMIC_ACQ_REL)
#            define word_give_settled(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#            define word_fence()            __atomic_thread_fence(__ATOMIC_ACQ_REL)
#        endif
#        define word_is_over(t, limit) ((t) >= (limit))
#        define word_beat(p, last)     word_load(p)
#        ifndef word_ballot // a thread is a warp of one lane, unless a test brings more
#            define word_lane()        0u
#            define word_ballot(is)    ((is) ? 1u : 0u)
#            define word_all(is)       (is)
#            define word_from(v, from) ((void)(from), (v))
#            define word_sync()        ((void)0)
#        endif

static inline uint64_t word_now(void) // nanoseconds
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static inline void word_pause(uint32_t nanoseconds)
{
    if (nanoseconds) // the other side may need this core
        nanosleep(&(struct timespec){0, (long)nanoseconds}, NULL);
}
#        define word_expect(p) __builtin_prefetch(p)
#        define word_hint(p)   word_load(p)
static inline void word_count(uint64_t *beat)
{
    word_store(beat, word_load(beat) + 1);
}
#        if defined(__x86_64__)
#            define word_expect_store(p) __asm__ volatile("prefetchw %0" : : "m"(*(p)))
#        else
#            define word_expect_store(p) __builtin_prefetch(p, 1)
#        endif
#        if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#            include "word_rows.h"
#        endif
// Answers come fast after a call and cost little after a silence.
static inline void word_idle(uint32_t *rounds)
{
    *rounds += *rounds < UINT32_MAX;
    if (*rounds > 200)
        word_pause(*rounds < 1000 ? 20000 : *rounds < 20000 ? 50000 : 200000);
}
#    endif

#    ifndef WORD_HAS_ROWS
static inline bool word_load_row(const uint64_t *from, uint32_t number, uint32_t *bits,
                                 uint32_t count)
{
    for (uint32_t l = 0; l < count; l++) {
        uint64_t word = word_load(&from[l]);
        if ((uint32_t)word != number)
            return false;
        bits[l] = (uint32_t)(word >> 32);
    }
    return true;
}
static inline void word_store_row(uint64_t *to, uint32_t number, const uint32_t *bits,
                                  uint32_t count)
{
    for (uint32_t l = 0; l < count; l++)
        word_store(&to[l], (uint64_t)bits[l] << 32 | number);
}
#    endif
#endif

#endif
