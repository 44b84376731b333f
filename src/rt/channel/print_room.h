// Where a line of printf goes (Kiln C; also C11): room in the channel's ring, for which a lane
// waits while the host reads; or, when nobody reads while kernels run, in the bytes that are left.
// The back end compiles this into kernels that print (back/ptx/host.c).
#ifndef KILN_CHANNEL_PRINT_ROOM_H
#define KILN_CHANNEL_PRINT_ROOM_H

#include "word.h"

#ifdef __KILN__
#    define print_add32(p, v) atomic_add(p, v)
#    define print_add64(p, v) atomic_add(p, v)
#    define print_load32(p)   atomic_load(p)
#    define print_keep(p, v)  atomic_store_at(p, v, order_relaxed, scope_device)
#else
#    define print_add32(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#    define print_add64(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#    define print_load32(p)   __atomic_load_n(p, __ATOMIC_RELAXED)
#    define print_keep(p, v)  __atomic_store_n(p, v, __ATOMIC_RELAXED)
#endif

#define PRINT_SKIP (UINT32_C(1) << 31)

typedef struct print_channel { // channel_header of back/channel.h
    uint64_t ring;
    uint32_t capacity, position, dropped, fault_taken;
    uint64_t fault, tail, end;
} print_channel;

// The bytes from `at` on are the host's to go past.
static inline void print_skip(uint64_t at, uint32_t bytes)
{
    word_store_release((uint64_t *)(uintptr_t)at, (uint64_t)(bytes | PRINT_SKIP));
}

// For `bytes` of all lanes, without waiting; UINT64_MAX: they are lost. With a tail: counted since
// the beginning.
static inline uint64_t print_take(print_channel *c, uint32_t bytes, uint32_t lines)
{
    if (c->tail)
        return print_add64(&c->end, (uint64_t)bytes);
    // Looking first keeps the position from growing past 32 bits.
    uint32_t at = print_load32(&c->position);
    if (at < c->capacity)
        at = print_add32(&c->position, bytes);
    if (at < c->capacity && bytes <= c->capacity - at)
        return at;
    print_add32(&c->dropped, lines);
    return UINT64_MAX;
}

// Everything before `at` has been or will be read: nobody waits for a line that comes later. The
// lanes go round together, so that others of their warp can write theirs meanwhile.
static inline void print_wait(print_channel *c, uint64_t at, uint32_t bytes, uint32_t leader)
{
    uint32_t has_room = 0, nap = 64;
    while (!has_room) {
        if (word_lane() == leader) {
            uint32_t end = (uint32_t)at + bytes, seen = print_load32(&c->position);
            has_room = (int32_t)(end - seen) <= (int32_t)c->capacity;
            if (!has_room) {
                seen = (uint32_t)word_load_acquire((uint64_t *)(uintptr_t)c->tail);
                print_keep(&c->position, seen);
                has_room = (int32_t)(end - seen) <= (int32_t)c->capacity;
                if (!has_room) // the bus is for lines
                    word_pause(nap);
                nap = nap < 4096 ? nap * 2 : nap;
            }
        }
        has_room = word_from(has_room, leader);
    }
}

// The address of `bytes` zeros, a multiple of 8, for each lane that comes here; 0: its line is
// lost.
static inline uint64_t print_room(print_channel *c, uint32_t bytes)
{
    uint32_t lanes = word_ballot(true), leader = 0, count = 0, rank = 0;
    while (!(lanes >> leader & 1))
        leader++;
    for (uint32_t left = lanes; left; left &= left - 1)
        count++;
    for (uint32_t left = lanes & (((uint32_t)1 << word_lane()) - 1); left; left &= left - 1)
        rank++;
    uint32_t all = bytes * count, is_whole = 0;
    uint64_t at = 0;
    while (!is_whole) {
        if (word_lane() == leader)
            at = print_take(c, all, count);
        at = word_from(at, leader);
        if (at == UINT64_MAX)
            return 0;
        is_whole = 1;
        if (c->tail) {
            print_wait(c, at, all, leader);
            at %= c->capacity;
            is_whole = all <= c->capacity - at;
            if (!is_whole && word_lane() == leader) { // lines of a warp are in one piece
                print_skip(c->ring + at, (uint32_t)(c->capacity - at));
                print_skip(c->ring, (uint32_t)(all - (c->capacity - at)));
            }
        }
    }
    return c->ring + at + (uint64_t)rank * bytes;
}

#ifdef __KILN__
kernel block(32) void kiln_print_room(print_channel *channel, u64 frame, u32 bytes, u32 unused)
{
    *(u64 *)(uintptr_t)frame = print_room(channel, bytes);
}
#endif

#endif
