// Lines of printf (Kiln C; also C11): the lanes that print together make one record in the
// channel's ring, for which they wait while the host reads; or, when nobody reads while kernels
// run, in the bytes that are left. The back end compiles this into kernels that print
// (back/ptx/host.c).
//
// A record is {bytes | PACKED, site}, {lanes, 0}, and a row for each argument: of all lanes one
// after the other, 4 or 8 bytes each, padded to 8. The first word is stored last, with release
// order.
#ifndef KILN_CHANNEL_PRINT_ROOM_H
#define KILN_CHANNEL_PRINT_ROOM_H

#include "word.h"

#ifdef __KILN__
#    define print_add32(p, v) atomic_add(p, v)
#    define print_add64(p, v) atomic_add(p, v)
#    define print_load32(p)   atomic_load(p)
#    define print_seen(p)     atomic_load_at(p, order_acquire, scope_device)
#    define print_keep(p, v)  atomic_store_at(p, v, order_release, scope_device)
#else
#    define print_add32(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#    define print_add64(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#    define print_load32(p)   __atomic_load_n(p, __ATOMIC_RELAXED)
#    define print_seen(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#    define print_keep(p, v)  __atomic_store_n(p, v, __ATOMIC_RELEASE)
#endif

#ifndef PRINT_SILENCE
#    define PRINT_SILENCE UINT64_C(20000000000) // cycles without a line read: nobody reads
#endif
#define PRINT_SKIP   (UINT32_C(1) << 31)
#define PRINT_PACKED (UINT32_C(1) << 30)

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
// lanes go round together, so that others of their warp can write theirs meanwhile. False: nobody
// reads (a graph that another library launches again). The first to notice tells the others, by
// counting lines that are lost.
static inline bool print_wait(print_channel *c, uint64_t at, uint32_t bytes, uint32_t leader)
{
    enum { ROOM = 1, LOST };
    uint32_t has_room = 0, nap = 64, last = 0;
    uint64_t since = word_now();
    while (!has_room) {
        if (word_lane() == leader) {
            uint32_t end = (uint32_t)at + bytes, seen = print_seen(&c->position);
            has_room = (int32_t)(end - seen) <= (int32_t)c->capacity;
            if (!has_room) {
                seen = (uint32_t)word_load_acquire((uint64_t *)(uintptr_t)c->tail);
                print_keep(&c->position, seen);
                has_room = (int32_t)(end - seen) <= (int32_t)c->capacity;
                if (!has_room && seen != last)
                    since = word_now();
                else if (!has_room &&
                         (print_load32(&c->dropped) || word_now() - since > PRINT_SILENCE))
                    has_room = LOST;
                last = seen;
                if (!has_room) // the bus is for lines
                    word_pause(nap);
                nap = nap < 4096 ? nap * 2 : nap;
            }
        }
        has_room = word_from(has_room, leader);
    }
    word_sync(); // the host's zeros are before the lines of all lanes
    return has_room == ROOM;
}

// The address of `bytes` zeros, a multiple of 8, for the lanes that come here together; 0: their
// lines are lost. The capacity of a ring is a power of two.
static inline uint64_t print_room(print_channel *c, uint32_t bytes, uint32_t lines, uint32_t leader)
{
    uint32_t is_whole = 0;
    uint64_t at = 0;
    while (!is_whole) {
        if (word_lane() == leader)
            at = print_take(c, bytes, lines);
        at = word_from(at, leader);
        if (at == UINT64_MAX)
            return 0;
        is_whole = 1;
        if (c->tail) {
            if (!print_wait(c, at, bytes, leader)) {
                if (word_lane() == leader)
                    print_add32(&c->dropped, lines);
                return 0;
            }
            at &= c->capacity - 1u;
            is_whole = bytes <= c->capacity - at;
            if (!is_whole && word_lane() == leader) { // a record is in one piece
                print_skip(c->ring + at, (uint32_t)(c->capacity - at));
                print_skip(c->ring, (uint32_t)(bytes - (c->capacity - at)));
            }
        }
    }
    return c->ring + at;
}

// A line of each lane that comes here; `words` are its arguments, `wide` the set of those that have
// two. Constants of these make loops that are unrolled.
static inline void print_line(print_channel *c, const uint32_t *words, uint32_t site,
                              uint32_t count, uint32_t wide)
{
    uint32_t lanes = word_ballot(true), lines = word_ones(lanes), leader = word_lowest(lanes),
             rank = word_ones(lanes & (((uint32_t)1 << word_lane()) - 1));
    uint32_t narrow_row = (lines * 4 + 7) / 8 * 8, row = 16, word = 0;
    uint32_t wides = word_ones(wide), bytes = 16 + wides * lines * 8 + (count - wides) * narrow_row;
    uint64_t at = print_room(c, bytes, lines, leader);
    if (!at)
        return;
    for (uint32_t k = 0; k < count; k++) {
        uint64_t place = at + row;
        if (wide >> k & 1) {
            ((uint64_t *)(uintptr_t)place)[rank] = (uint64_t)words[word + 1] << 32 | words[word];
            row += lines * 8;
            word += 2;
        } else {
            ((uint32_t *)(uintptr_t)place)[rank] = words[word++];
            row += narrow_row;
        }
    }
    word_sync(); // the other lanes' arguments go with the leader's store
    if (word_lane() == leader) {
        ((uint64_t *)(uintptr_t)at)[1] = lines;
        word_store_release((uint64_t *)(uintptr_t)at,
                           (uint64_t)site << 32 | (bytes | PRINT_PACKED));
    }
    word_sync(); // a fence of any lane comes after the record: its next call is served behind it
}

#ifdef __KILN__
#    define PRINT_LINE(name, count, wide)                                                          \
        kernel block(32) void name(print_channel *channel, u64 frame, u32 site, u32 unused)        \
        {                                                                                          \
            u32 words[(count)*2 + 1];                                                              \
            for (u32 w = 0; w < (count) + popcount(wide); w++)                                     \
                words[w] = ((const u32 *)(uintptr_t)frame)[w];                                     \
            print_line(channel, words, site, count, wide);                                         \
        }
#endif

#endif
