// Large objects between a GPU's memory and memory of the host that it maps (Kiln C; also C11): one
// lane copies them through a ring in its block's shared memory, by bulk copies that it only starts.
// A warp's own loads and stores move a tenth of that.
//
// The ring is dynamic shared memory that the kernel itself has no use for, where the launch had
// room for it: a lock that the kernel's first instructions have cleared, a word of state, a barrier
// for each stage, the stages. Whoever does not get the lock goes another way: nobody waits for the
// ring. Start at mailbox_ring_copy.
#ifndef KILN_CHANNEL_MAILBOX_RING_H
#define KILN_CHANNEL_MAILBOX_RING_H

#include "word.h"

#define MAILBOX_RING_STAGES 8
#define MAILBOX_RING_LAG    2     // stages that are being written out before one is filled again
#define MAILBOX_RING_STAGE  2048  // bytes, at least
#define MAILBOX_RING_COPIES 4     // that an object is made of, at least,
#define MAILBOX_RING_COPY   4096  // where each has so many bytes
#define MAILBOX_RING_MOST   16384 // bytes of a copy: larger ones in and out hold each other up
#define MAILBOX_RING_ALIGN  128
#define MAILBOX_RING_HEAD   128 // bytes before the stages
#define MAILBOX_RING_READY  (UINT32_C(1) << 31)
// What of it makes sense.
#define MAILBOX_RING_LEAST                                                                         \
    (MAILBOX_RING_HEAD + MAILBOX_RING_STAGES * MAILBOX_RING_STAGE + MAILBOX_RING_ALIGN)

typedef struct mailbox_ring {
    uint64_t at;    // address, at a multiple of MAILBOX_RING_ALIGN
    uint32_t bytes; // 0: there is none
    uint32_t unused;
} mailbox_ring;

#ifdef __KILN__
#    define ring_has()             (target_sm() >= 90)
#    define ring_try(lock)         (atomic_swap_at(lock, 1u, order_acquire, scope_block) == 0u)
#    define ring_leave(lock)       atomic_store_at(lock, 0u, order_release, scope_block)
#    define ring_address(at, type) ((type *)(uintptr_t)(at))
#    define ring_barrier           mbarrier
#    define ring_start(barrier)    mbarrier_init(barrier, 1u)
#    define ring_started()         mbarrier_fence_init()
#    define ring_see()             fence_async_all()
#    define ring_load(to, from, bytes, b)                                                          \
        (mbarrier_arrive_expect(b, bytes), bulk_load(to, from, bytes, b))
#    define ring_wait(b, parity)        mbarrier_wait(b, parity)
#    define ring_store(to, from, bytes) (fence_async(), bulk_store(to, from, bytes), bulk_commit())
#    define ring_wait_read()            bulk_wait_read(MAILBOX_RING_LAG)
#    define ring_end()                  bulk_wait(0)
#else
#    include <string.h>
#    define ring_has()                    true
#    define ring_try(lock)                (__atomic_exchange_n(lock, 1u, __ATOMIC_ACQUIRE) == 0)
#    define ring_leave(lock)              __atomic_store_n(lock, 0u, __ATOMIC_RELEASE)
#    define ring_address(at, type)        ((type *)(void *)(uintptr_t)(at))
#    define ring_barrier                  uint64_t
#    define ring_start(barrier)           (void)(*(barrier) = 0)
#    define ring_started()                ((void)0)
#    define ring_see()                    ((void)0)
#    define ring_load(to, from, bytes, b) ((void)(b), (void)memcpy(to, from, bytes))
#    define ring_wait(b, parity)          ((void)(b), (void)(parity))
#    define ring_store(to, from, bytes)   (void)memcpy(to, from, bytes)
#    define ring_wait_read()              ((void)0)
#    define ring_end()                    ((void)0)
#endif

// Less than 16 bytes: all loads are under way together.
static inline void mailbox_edge(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    uint8_t all[15];
    if (!bytes)
        return;
    for (uint32_t b = 0; b < 15; b++) // there is always one to load
        all[b] = from[b < bytes ? b : 0];
    for (uint32_t b = 0; b < 15; b++)
        if (b < bytes)
            to[b] = all[b];
}

// One lane, which has the lock. Both addresses are of global memory and have the same place in 16
// bytes. What the lane has seen of `from` is copied; it sees all of `to` afterwards.
static inline void mailbox_ring_copy(const mailbox_ring *ring, uint8_t *to, const uint8_t *from,
                                     uint32_t bytes)
{
    uint32_t *state = ring_address(ring->at, uint32_t) + 1;
    ring_barrier *barriers = ring_address(ring->at + 64, ring_barrier);
    uint8_t *stages = ring_address(ring->at + MAILBOX_RING_HEAD, uint8_t);
    uint32_t head = (0u - (uint32_t)(uintptr_t)from) & 15, parity = *state;
    head = head < bytes ? head : bytes;
    uint32_t whole = (bytes - head) & ~15u;
    // Small objects are several copies, too: the first one is on its way while others come.
    uint32_t most = (ring->bytes - MAILBOX_RING_HEAD) / MAILBOX_RING_STAGES & ~127u;
    uint32_t size = (whole / MAILBOX_RING_COPIES + 127) & ~127u;
    size = size < MAILBOX_RING_COPY ? MAILBOX_RING_COPY : size;
    size = size < most ? size : most;
    size = size < MAILBOX_RING_MOST ? size : MAILBOX_RING_MOST;
    if (!(parity & MAILBOX_RING_READY)) {
        for (uint32_t s = 0; s < MAILBOX_RING_STAGES; s++)
            ring_start(&barriers[s]);
        ring_started();
        parity = MAILBOX_RING_READY;
    }
    ring_see();
    uint32_t count = (whole + size - 1) / size, loaded = 0;
    to += head;
    from += head;
    for (; loaded < count && loaded < MAILBOX_RING_STAGES; loaded++) {
        uint32_t start = loaded * size, len = whole - start < size ? whole - start : size;
        ring_load(stages + (uint64_t)loaded * most, from + start, len, &barriers[loaded]);
    }
    mailbox_edge(to - head, from - head, head);
    mailbox_edge(to + whole, from + whole, bytes - head - whole);
    for (uint32_t c = 0; c < count; c++) {
        uint32_t s = c % MAILBOX_RING_STAGES, start = c * size;
        uint32_t len = whole - start < size ? whole - start : size;
        ring_wait(&barriers[s], parity >> s & 1);
        parity ^= UINT32_C(1) << s;
        ring_store(to + start, stages + (uint64_t)s * most, len);
        if (c >= MAILBOX_RING_LAG && loaded < count) { // into the stage that was left so long ago
            start = loaded * size;
            len = whole - start < size ? whole - start : size;
            s = loaded % MAILBOX_RING_STAGES;
            ring_wait_read();
            ring_load(stages + (uint64_t)s * most, from + start, len, &barriers[s]);
            loaded++;
        }
    }
    ring_end();
    *state = parity;
}

#endif
