// The functions that a kernel's calls of the host become on a GPU (Kiln C; also C11): the back end
// writes one use of MAILBOX_CALL or its kin for each shape of call and compiles this text with it.
// The lanes that call are the warp here: whoever emits the functions lets its votes, shuffles and
// barriers be among the lanes that have come together.
//
// `frame` is a lane's own memory. It holds the request words, and afterwards the reply words, of
// which the first is the status. For calls with counted objects, mailbox_counted rows follow at
// word MAILBOX_ROWS. Their bytes travel in the mailbox's slice of `data`: the objects of a lane one
// after the other, each padded to 16 bytes, in as many rounds as the slice needs. Of large objects
// the address travels, and the host copies them; one in memory that it cannot reach, a thread's own
// or a block's, is sent after all. `far` is the set of a lane's objects that are such.
//
// A lane that calls alone brings its large objects to the mailbox's wide slice itself, and the host
// uses them there: through the ring (mailbox_ring.h), or with the lanes that came with it, which
// stream them together. What went through the ring comes back through it. The first mailboxes have
// such a slice.
#ifndef KILN_CHANNEL_MAILBOX_CALL_H
#define KILN_CHANNEL_MAILBOX_CALL_H

#include "mailbox_ring.h"
#include "mailbox_warp.h"

// In the GPU's memory; the host writes it before the first launch that needs it.
typedef struct mailbox_calls {
    mailbox *boxes;
    mailbox_rows *rows;
    uint64_t *own, *dead;
    const uint64_t *beat;
    uint64_t *data; // MAILBOX_DATA bytes a mailbox; wide slices before it, the first one last
    uint64_t patience, silence;
    uint32_t count, first; // first: number of the module's first function
} mailbox_calls;

#define MAILBOX_DATA       8192 // bytes
#define MAILBOX_WIDE       131072
#define MAILBOX_WIDE_BOXES 64
#define MAILBOX_HUGE       2097152 // the wide slice of the first ones
#define MAILBOX_HUGE_BOXES 16
#define MAILBOX_DEEP       8    // loads under way
#define MAILBOX_STREAM     4096 // bytes that each helper streams, at most

typedef struct mailbox_counted { // a counted object of one lane
    uint64_t at;                 // its address
    uint32_t bytes;
    uint32_t flags;
} mailbox_counted;
#define MAILBOX_COUNTED_BACK   1u // the host may change it
#define MAILBOX_COUNTED_GLOBAL 2u // it is in global memory: the host and bulk copies reach it
#define MAILBOX_COUNTED_LOCAL  4u // it is in the lane's own memory: no other lane finds it
enum {
    MAILBOX_MOST_COUNTED = 8,
    MAILBOX_MOST_BYTES = 1 << 30,
    MAILBOX_FAR_BYTES = 4096, // times half the lanes that call: addresses travel from here on
    MAILBOX_LEAST_WIDE =
        MAILBOX_FAR_BYTES // smaller objects are copied: who checks them uses what was checked
};

// The functions of one call site, from its first number on.
enum {
    MAILBOX_SITE_CALL,
    MAILBOX_SITE_SEND,  // bytes for the call that follows
    MAILBOX_SITE_FETCH, // more bytes of the call before
    MAILBOX_SITE        // numbers of a site
};

// Of an object whose address travels there are 16 bytes: the address, its bytes, and, if it is in
// the wide slice, 1 + its place there in units of 16. Its place in 16 bytes is that of its address.
#define MAILBOX_FETCHED (UINT32_C(1) << 31) // with the place: the caller brings it back itself

// The last two request words of a call with counted objects, and of its reply: where this lane's
// bytes are in the slice, and how many. To fetch: 0, and how many have come.
#define MAILBOX_START  (UINT32_C(1) << 31) // with the place: these are the first bytes
#define MAILBOX_FAR_AT 16                  // and the set of those that are {address, bytes}

static inline mailbox_place mailbox_place_of(const mailbox_calls *calls, uint32_t site,
                                             uint32_t home)
{
    uint32_t count = calls->count;
    mailbox_place at = {
        calls->boxes, calls->rows, calls->own,      calls->dead,    calls->beat,
        count,        0,           calls->patience, calls->silence, calls->first + site};
    at.home = home < count ? home : home % count;
    return at;
}

static inline uint32_t mailbox_rank(uint32_t lanes) // how many of them come before this one
{
    return word_ones(lanes & (((uint32_t)1 << word_lane()) - 1));
}

static inline uint32_t mailbox_padded(uint32_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

// The wide slice of a mailbox: how many bytes it has, and how far it is before the slices.
static inline uint32_t mailbox_wide_bytes(uint32_t box)
{
    return box < MAILBOX_HUGE_BOXES ? MAILBOX_HUGE : box < MAILBOX_WIDE_BOXES ? MAILBOX_WIDE : 0;
}
static inline uint64_t mailbox_wide_start(uint32_t box)
{
    uint32_t huge = mailbox_least(box + 1, MAILBOX_HUGE_BOXES);
    return (uint64_t)huge * MAILBOX_HUGE + (uint64_t)(box + 1 - huge) * MAILBOX_WIDE;
}
#define MAILBOX_WIDE_ALL mailbox_wide_start(MAILBOX_WIDE_BOXES - 1) // bytes of all

static inline uint8_t *mailbox_wide(uint64_t *data, uint32_t box)
{
    return (uint8_t *)data - mailbox_wide_start(box);
}
// What an object takes of it.
static inline uint32_t mailbox_wide_part(const mailbox_counted *object)
{
    return mailbox_padded(object->bytes + (uint32_t)(object->at & 15));
}

// --- bytes between a lane's objects and its part of a slice
// Both at multiples of 16, by `helpers` lanes of which this one is number `rank`: several loads of
// 16 bytes are under way at a time.
static inline void mailbox_stream(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t rank,
                                  uint32_t helpers)
{
    const word_two *source = (const word_two *)(const void *)from;
    word_two *into = (word_two *)(void *)to;
    uint32_t whole = bytes / 16;
    for (uint32_t k = rank; k < whole; k += MAILBOX_DEEP * helpers) {
        word_two some[MAILBOX_DEEP];
        for (uint32_t w = 0; w < MAILBOX_DEEP; w++) { // there is always one to load
            uint64_t at = k + (uint64_t)w * helpers;
            some[w] = source[at < whole ? at : k];
        }
        for (uint32_t w = 0; w < MAILBOX_DEEP; w++)
            if (k + (uint64_t)w * helpers < whole)
                into[k + (uint64_t)w * helpers] = some[w];
    }
    for (uint32_t b = whole * 16 + rank; b < bytes; b += helpers)
        to[b] = from[b];
}

// The same by one lane, both at the same place in 16 bytes.
static inline void mailbox_stream_one(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    uint32_t head = mailbox_least((0u - (uint32_t)(uintptr_t)from) & 15, bytes);
    uint32_t whole = (bytes - head) / 16 * 16;
    mailbox_edge(to, from, head);
    mailbox_edge(to + head + whole, from + head + whole, bytes - head - whole);
    mailbox_stream(to + head, from + head, whole, 0, 1);
}

static inline void mailbox_put(uint64_t *to, const uint8_t *from, uint32_t bytes)
{
    const uint64_t *words = (const uint64_t *)(const void *)from;
    uint32_t whole = bytes / 8, k = 0;
    if (((uintptr_t)from & 15) == 0) {
        mailbox_stream((uint8_t *)to, from, bytes / 16 * 16, 0, 1);
        k = bytes / 16 * 2;
    }
    bool is_aligned = ((uintptr_t)from & 7) == 0;
    for (; is_aligned && k + 8 <= whole; k += 8) {
        uint64_t eight[8];
        for (uint32_t w = 0; w < 8; w++)
            eight[w] = words[k + w];
        for (uint32_t w = 0; w < 8; w++)
            to[k + w] = eight[w];
    }
    for (; is_aligned && k < whole; k++)
        to[k] = words[k];
    for (; k * 8 < bytes; k++) {
        uint64_t word = 0;
        for (uint32_t b = 0; b < 8 && k * 8 + b < bytes; b++)
            word |= (uint64_t)from[k * 8 + b] << 8 * b;
        to[k] = word;
    }
}

// Several loads at a time: each comes over the bus. They need no order: a fence
// was before them.
static inline void mailbox_get(uint8_t *to, const uint64_t *from, uint32_t bytes)
{
    bool is_aligned = ((uintptr_t)to & 7) == 0;
    uint32_t streamed = ((uintptr_t)to & 15) == 0 ? bytes / 64 * 64 : 0;
    mailbox_stream(to, (const uint8_t *)from, streamed, 0, 1);
    for (uint32_t k = streamed / 8; k * 8 < bytes; k += 8) {
        uint64_t words[8];
        uint32_t left = bytes - k * 8;
        for (uint32_t w = 0; w < 8; w++) // the slice is a multiple of it
            words[w] = from[k + w];
        for (uint32_t w = 0; w < 8; w++) {
            if (is_aligned && w * 8 + 8 <= left)
                ((uint64_t *)(void *)to)[k + w] = words[w];
            else
                for (uint32_t b = 0; b < 8 && w * 8 + b < left; b++)
                    to[(k + w) * 8 + b] = (uint8_t)(words[w] >> 8 * b);
        }
    }
}

// The objects of which the address travels: large ones that the host can copy. It copies one after
// the other; bytes of many lanes share the bus. Those of a block that do not come back may be
// streamed, where there is no ring.
static inline uint32_t mailbox_far(const mailbox_counted *objects, uint32_t count, uint32_t lanes,
                                   bool has_ring)
{
    uint32_t far = 0, least = MAILBOX_FAR_BYTES * ((word_ones(lanes) + 1) / 2);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t flags = objects[n].flags;
        bool is_far = flags & MAILBOX_COUNTED_GLOBAL ||
                      (!has_ring && !(flags & (MAILBOX_COUNTED_LOCAL | MAILBOX_COUNTED_BACK)));
        far |= is_far && objects[n].bytes >= least ? (uint32_t)1 << n : 0;
    }
    return far;
}

// All lanes stream large objects of the one that calls, at multiples of 16, while the wide slice
// has room. `far` is that lane's. The set of those that are there; each is behind the one before.
static inline uint32_t mailbox_stream_all(const mailbox_counted *objects, uint32_t count,
                                          uint32_t far, const mailbox_hold *hold, uint8_t *wide,
                                          uint32_t room)
{
    uint32_t helpers = word_ballot(true), lanes = word_ones(helpers), streamed = 0, start = 0;
    far = word_from(far, hold->leader);
    for (uint32_t n = 0; n < count; n++) {
        if (!(far >> n & 1))
            continue;
        uint64_t at = word_from(objects[n].at, hold->leader);
        uint32_t bytes = word_from(objects[n].bytes, hold->leader);
        if ((at & 15) || bytes > lanes * MAILBOX_STREAM || bytes > room - start)
            continue;
        mailbox_stream(wide + start, (const uint8_t *)(uintptr_t)at, bytes, mailbox_rank(helpers),
                       lanes);
        streamed |= (uint32_t)1 << n;
        start += mailbox_padded(bytes);
    }
    return streamed;
}

// The one lane that calls brings its large objects to the wide slice, or from there what the host
// may have changed. The set of those that are there; 0: somebody else has the ring.
static inline uint32_t mailbox_ring_all(const mailbox_counted *objects, uint32_t count,
                                        uint32_t far, const mailbox_ring *ring, uint8_t *wide,
                                        uint32_t room, bool is_back)
{
    uint32_t streamed = 0, start = 0;
    uint32_t *lock = ring_address(ring->at, uint32_t);
    bool has_ring = ring->bytes && ring_try(lock);
    if (!has_ring && !is_back)
        return 0;
    for (uint32_t n = 0; n < count; n++) {
        if (!(far >> n & 1) || objects[n].bytes > room ||
            mailbox_wide_part(&objects[n]) > room - start)
            continue; // the host copies it
        uint8_t *object = (uint8_t *)(uintptr_t)objects[n].at,
                *there = wide + start + (objects[n].at & 15);
        uint32_t bytes = objects[n].bytes;
        streamed |= (uint32_t)1 << n;
        start += mailbox_wide_part(&objects[n]);
        if (!is_back)
            mailbox_ring_copy(ring, there, object, bytes);
        else if (objects[n].flags & MAILBOX_COUNTED_BACK && has_ring)
            mailbox_ring_copy(ring, object, there, bytes);
        else if (objects[n].flags & MAILBOX_COUNTED_BACK)
            mailbox_stream_one(object, there, bytes);
    }
    if (has_ring)
        ring_leave(lock);
    return streamed;
}

// Bytes [from, from + bytes) of the lane's objects laid one after the other. `fetched`: what is in
// the wide slice and changed comes back through the ring.
static inline void mailbox_move(const mailbox_counted *objects, uint32_t count, uint32_t far,
                                uint32_t streamed, uint32_t fetched, uint32_t from, uint32_t bytes,
                                uint64_t *slice, bool is_back)
{
    uint32_t start = 0, wide = 0;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t length = objects[n].bytes;
        bool is_far = far >> n & 1;
        bool is_changed = objects[n].flags & MAILBOX_COUNTED_BACK;
        if (is_back && (is_far || !is_changed))
            continue;
        if (is_far) { // a round ends at a multiple of 16
            if (start >= from && start < from + bytes) {
                bool is_there = streamed >> n & 1;
                slice[(start - from) / 8] = objects[n].at;
                uint32_t place = is_there ? (wide / 16 + 1) | (is_changed ? fetched : 0) : 0;
                slice[(start - from) / 8 + 1] = length | (uint64_t)place << 32;
            }
            if (streamed >> n & 1)
                wide += mailbox_wide_part(&objects[n]);
            start += 16;
            continue;
        }
        uint32_t low = from > start ? from : start,
                 high = mailbox_least(from + bytes, start + length);
        uint8_t *object = (uint8_t *)(uintptr_t)objects[n].at;
        if (low < high && is_back)
            mailbox_get(object + (low - start), slice + (low - from) / 8, high - low);
        if (low < high && !is_back)
            mailbox_put(slice + (low - from) / 8, object + (low - start), high - low);
        start += mailbox_padded(length);
    }
}

// How much of them is sent, or comes back.
static inline uint64_t mailbox_bytes(const mailbox_counted *objects, uint32_t count, uint32_t far,
                                     bool is_back)
{
    uint64_t bytes = 0;
    for (uint32_t n = 0; n < count; n++) {
        bool is_far = far >> n & 1;
        if (!is_back || (objects[n].flags & MAILBOX_COUNTED_BACK && !is_far))
            bytes += is_far ? 16 : ((uint64_t)objects[n].bytes + 15) / 16 * 16;
    }
    return bytes;
}

// The next call of a mailbox that is still held, after mailbox_wait.
static inline void mailbox_again(mailbox_hold *hold)
{
    word_sync(); // all lanes have read their words
    if (word_lane() == hold->leader && (hold->number == 1 || hold->number == MAILBOX_LAST)) {
        while (word_load_acquire(&hold->box->done) != hold->number) {
        }
        if (hold->number == MAILBOX_LAST)
            mailbox_clear(hold->box, hold->rows);
    }
    word_sync();
    hold->number = mailbox_after(hold->number);
}

// Sends the next bytes of the lanes' objects: `sent` of `total` have gone. True: these are the
// last.
static inline bool mailbox_fill(uint64_t *slice, const mailbox_counted *objects, uint32_t count,
                                uint32_t far, uint32_t streamed, uint32_t fetched, uint32_t total,
                                uint32_t *sent, uint32_t *place)
{
    uint32_t busy = word_ballot(*sent < total), users = word_ones(busy);
    uint32_t part = MAILBOX_DATA / (users ? users : 1) / 64 * 64;
    uint32_t mine = mailbox_least(total - *sent, part);
    uint32_t start = *sent == 0 ? MAILBOX_START | far << MAILBOX_FAR_AT : 0;
    place[0] = mine ? mailbox_rank(busy) * part : 0;
    place[1] = mine;
    if (mine)
        mailbox_move(objects, count, far, streamed, fetched, *sent, mine, slice + place[0] / 8,
                     false);
    place[0] |= start;
    *sent += mine;
    return word_all(*sent >= total);
}

// What a call with counted objects carries.
// out[rows_out - 2 …) and in[rows_in - 2 …) are for the
// place of the bytes; without rows_in nobody waits for the call itself. `who` is MAILBOX_HAS_WHO or
// 0.
// `changes`: the host may change some. `ring` may be NULL.
static inline int32_t mailbox_carry_once(const mailbox_calls *calls, const mailbox_place *at,
                                         bool is_mine, uint32_t rows_out, uint32_t rows_in,
                                         uint32_t who, uint32_t *out, uint32_t *in,
                                         const mailbox_counted *objects, uint32_t count,
                                         bool changes, uint32_t far, const mailbox_ring *ring)
{
    uint64_t all = is_mine ? mailbox_bytes(objects, count, far, false) : 0;
    bool is_huge = all > MAILBOX_MOST_BYTES;
    is_mine = is_mine && !is_huge;
    uint32_t lanes = word_ballot(is_mine), total = is_mine ? (uint32_t)all : 0, sent = 0;
    uint32_t call = MAILBOX_KIND(MAILBOX_SITE_CALL, rows_out, rows_in) | MAILBOX_IS_BULK | who;
    uint32_t send = MAILBOX_KIND(MAILBOX_SITE_SEND, rows_out, 1) | MAILBOX_IS_BULK;
    uint32_t fetch = MAILBOX_KIND(MAILBOX_SITE_FETCH, rows_out, 3) | MAILBOX_IS_BULK;
    // Bytes that only go out need no fence behind the answer: nothing beside the rows is read, and
    // what the host has read is as settled as words are.
    uint32_t await_send = send & ~MAILBOX_IS_BULK,
             await_call = changes ? call : call & ~MAILBOX_IS_BULK;
    uint32_t answer[3];
    mailbox_hold hold;
    if (!lanes)
        return is_huge ? MAILBOX_BAD : MAILBOX_OK;
    int32_t status = mailbox_claim(at, lanes, &hold);
    if (status != MAILBOX_OK)
        return status;
    uint32_t box = (uint32_t)(hold.own - at->own), streamed = 0, fetched = 0;
    uint32_t room = word_ones(lanes) == 1 ? mailbox_wide_bytes(box) : 0;
    uint64_t *slice = calls->data + (uint64_t)box * (MAILBOX_DATA / 8);
    uint8_t *wide = mailbox_wide(calls->data, box);
    if (ring_has())
        if (ring && room) {
            if (is_mine && far)
                streamed = mailbox_ring_all(objects, count, far, ring, wide, room, false);
            streamed = word_from(streamed, hold.leader);
            fetched = streamed ? MAILBOX_FETCHED : 0;
        }
    if (room && !streamed)
        streamed = mailbox_stream_all(objects, count, far, &hold, wide, room);
    while (!mailbox_fill(slice, objects, count, far, streamed, fetched, total, &sent,
                         out + rows_out - 2)) {
        mailbox_post(&hold, is_mine, send, out);
        status = mailbox_wait(at, &hold, is_mine, await_send, answer);
        if (status != MAILBOX_OK)
            return status;
        mailbox_again(&hold);
    }
    mailbox_post(&hold, is_mine, call, out);
    if (!rows_in) {
        mailbox_leave(&hold, false);
        return is_huge ? MAILBOX_BAD : MAILBOX_OK;
    }
    status = mailbox_wait(at, &hold, is_mine, await_call, in);
    if (status != MAILBOX_OK)
        return status;
    if (ring_has())
        if (changes && fetched) {
            if (is_mine && !in[0])
                mailbox_ring_all(objects, count, far, ring, wide, room, true);
            word_sync(); // what has come is there for all lanes
            word_settle();
        }
    uint32_t got = 0, back = 0;
    if (changes && is_mine && !in[0])
        back = (uint32_t)mailbox_bytes(objects, count, far, true);
    uint32_t from = is_mine ? in[rows_in - 2] : 0, bytes = is_mine ? in[rows_in - 1] : 0;
    while (changes) {
        bytes = mailbox_least(bytes, back - got);
        if (bytes && (from % 64 || from > MAILBOX_DATA || bytes > MAILBOX_DATA - from)) {
            in[0] = MAILBOX_BAD; // no such place
            bytes = 0;
            back = got;
        }
        if (bytes)
            mailbox_move(objects, count, far, 0, 0, got, bytes, slice + from / 8, true);
        got += bytes;
        if (word_all(got >= back))
            break;
        mailbox_again(&hold);
        out[rows_out - 2] = 0;
        out[rows_out - 1] = got;
        mailbox_post(&hold, is_mine, fetch, out);
        status = mailbox_wait(at, &hold, is_mine, fetch, answer);
        if (status != MAILBOX_OK)
            return status;
        if (is_mine && (answer[0] || (!answer[2] && got < back))) { // it has lost them
            in[0] = answer[0] ? answer[0] : MAILBOX_BAD;
            back = got;
        }
        from = is_mine ? answer[1] : 0;
        bytes = is_mine ? answer[2] : 0;
    }
    // Without data that came back, nothing was touched since mailbox_wait has settled it.
    mailbox_release(&hold, changes ? MAILBOX_IS_BULK : 0);
    return is_huge ? MAILBOX_BAD : is_mine ? (int32_t)in[0] : MAILBOX_OK;
}

static inline int32_t mailbox_carry(const mailbox_calls *calls, const mailbox_place *at,
                                    bool is_mine, uint32_t rows_out, uint32_t rows_in, uint32_t who,
                                    uint32_t *out, uint32_t *in, const mailbox_counted *objects,
                                    uint32_t count, bool changes, const mailbox_ring *ring)
{
    int32_t result = MAILBOX_OK;
    uint32_t lanes = word_ballot(is_mine), far = 0;
    if (rows_in && is_mine) // who does not wait may write to them at once
        far = mailbox_far(objects, count, lanes, ring_has() && ring && ring->bytes);
    for (;;) {
        int32_t status = mailbox_carry_once(calls, at, is_mine, rows_out, rows_in, who, out, in,
                                            objects, count, changes, far, ring);
        if (is_mine)
            result = status;
        is_mine = is_mine && far && status == MAILBOX_NEAR;
        if (!word_ballot(is_mine))
            return result;
        far = 0;
    }
}

// --- the functions. `site` is the number of the site's first function, counted from the module's
// first, `home` where to look for a mailbox first. The words behind the request words say who
// calls, if `who` is MAILBOX_HAS_WHO.
#ifdef __KILN__
#    define MAILBOX_ENTRY kernel block(32) void
#else
#    define MAILBOX_ENTRY static inline void
#endif
#define MAILBOX_PARAMETERS           const mailbox_calls *calls, uint64_t frame, uint32_t site, uint32_t home
#define MAILBOX_WORDS(rows_out, who) ((rows_out) + ((who) != 0 ? MAILBOX_WHO : 0))
#define MAILBOX_ANSWERS(rows_in)     ((rows_in) ? (rows_in) : 1) // the status is always there

// is_warp: the lowest lane calls for all, and all get its answer.
#define MAILBOX_CALL(name, rows_out, rows_in, is_warp, has_who)                                    \
    MAILBOX_ENTRY name(MAILBOX_PARAMETERS)                                                         \
    {                                                                                              \
        mailbox_place at = mailbox_place_of(calls, site, home);                                    \
        uint32_t *words = (uint32_t *)(uintptr_t)frame;                                            \
        uint32_t out[MAILBOX_WORDS(rows_out, has_who) + 1], in[rows_in],                           \
            leader = word_lowest(word_ballot(true));                                               \
        for (uint32_t r = 0; r < MAILBOX_WORDS(rows_out, has_who); r++)                            \
            out[r] = words[r];                                                                     \
        for (uint32_t r = 0; r < (rows_in); r++)                                                   \
            in[r] = 0;                                                                             \
        bool is_mine = !(is_warp) || word_lane() == leader;                                        \
        in[0] = (uint32_t)mailbox_call(                                                            \
            &at, is_mine, MAILBOX_KIND(MAILBOX_SITE_CALL, rows_out, rows_in) | (has_who), out,     \
            in);                                                                                   \
        for (uint32_t r = 0; r < (rows_in); r++)                                                   \
            words[r] = (is_warp) ? word_from(in[r], leader) : in[r];                               \
    }

// Nobody waits: words[0] says whether it was sent.
#define MAILBOX_SEND(name, rows_out, rows_in, is_warp, has_who)                                    \
    MAILBOX_ENTRY name(MAILBOX_PARAMETERS)                                                         \
    {                                                                                              \
        mailbox_place at = mailbox_place_of(calls, site, home);                                    \
        uint32_t *words = (uint32_t *)(uintptr_t)frame;                                            \
        uint32_t out[MAILBOX_WORDS(rows_out, has_who) + 1],                                        \
            leader = word_lowest(word_ballot(true));                                               \
        for (uint32_t r = 0; r < MAILBOX_WORDS(rows_out, has_who); r++)                            \
            out[r] = words[r];                                                                     \
        bool is_mine = !(is_warp) || word_lane() == leader;                                        \
        words[0] = (uint32_t)mailbox_send(                                                         \
            &at, is_mine, MAILBOX_KIND(MAILBOX_SITE_CALL, rows_out, 0) | (has_who), out);          \
    }

// With `count` counted objects. changes: the host may change one of them. has_ring: behind the last
// of them the frame has a mailbox_ring.
#define MAILBOX_CARRY(name, rows_out, rows_in, is_warp, has_who, count, changes, has_ring)         \
    MAILBOX_ENTRY name(MAILBOX_PARAMETERS)                                                         \
    {                                                                                              \
        mailbox_place at = mailbox_place_of(calls, site, home);                                    \
        uint32_t *words = (uint32_t *)(uintptr_t)frame;                                            \
        const mailbox_counted *objects =                                                           \
            (const mailbox_counted *)(uintptr_t)(frame + sizeof(uint32_t) * MAILBOX_ROWS);         \
        const mailbox_ring *ring =                                                                 \
            (const mailbox_ring *)(const void *)(objects + MAILBOX_MOST_COUNTED);                  \
        uint32_t out[MAILBOX_WORDS(rows_out, has_who)], in[(rows_in) + 1],                         \
            leader = word_lowest(word_ballot(true));                                               \
        for (uint32_t r = 0; r < MAILBOX_WORDS(rows_out, has_who); r++)                            \
            out[r] = words[r];                                                                     \
        for (uint32_t r = 0; r < (rows_in) + 1; r++)                                               \
            in[r] = 0;                                                                             \
        bool is_mine = !(is_warp) || word_lane() == leader;                                        \
        in[0] = (uint32_t)mailbox_carry(calls, &at, is_mine, rows_out, rows_in, has_who, out, in,  \
                                        objects, count, changes, (has_ring) ? ring : NULL);        \
        for (uint32_t r = 0; r < MAILBOX_ANSWERS(rows_in); r++)                                    \
            words[r] = (is_warp) ? word_from(in[r], leader) : in[r];                               \
    }

#endif
