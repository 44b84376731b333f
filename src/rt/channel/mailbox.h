// Mailboxes: how the warps of a GPU call the host while they run. One writer for every word that
// both sides see, no read-modify-write across the bus, no fence on the way of a call.
//
// A mailbox is a header, rows of request words and rows of reply words in host memory that the GPU
// maps, and a word `own` in the GPU's memory. Every word of 8 bytes is {sequence number, 32 bits}:
// it proves by itself to which call it belongs, so words may arrive in any order. Rows hold word r
// of all 32 lanes side by side: one access of the warp is one row of 256 bytes.
//
//   own       who      meaning
//   s         GPU      free; the last call was number s
//   BUSY      GPU      a warp has it
//   s|GIVEN_UP GPU     the caller went away; the host may still write the reply of call s
//
// A call: exchange own with BUSY (acquire, device scope); s + 1 is the call's number; the lanes
// store their request words, the leader the header; all poll their reply words until each carries
// the number; own = s + 1 (release). The host looks at headers, skips a call whose words are not
// all there yet, copies them out, acts, stores the reply words and then `done` (release).
//
// Time-out: own = s|GIVEN_UP, cancel = s. Who meets that in a claim takes the mailbox only when
// `done` says that the host is through with s. So no mailbox is used again while the host may
// still write to it.
#ifndef KILN_CHANNEL_MAILBOX_H
#define KILN_CHANNEL_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

enum { MAILBOX_LANES = 32, MAILBOX_ROWS = 34 }; // a status, 128 bytes, and what is left
#define MAILBOX_BUSY     UINT64_MAX
#define MAILBOX_GIVEN_UP (UINT64_C(1) << 32)

typedef struct mailbox { // host memory, mapped
    uint64_t header[2];  // GPU: {s, lanes}, {s, function}
    uint32_t cancel;     // GPU
    uint32_t unused[11];
    uint32_t done; // host, on a line of its own
    uint32_t unused_too[15];
    uint64_t request[MAILBOX_ROWS][MAILBOX_LANES]; // GPU
    uint64_t reply[MAILBOX_ROWS][MAILBOX_LANES];   // host; row 0 is the status
} mailbox;

// --- accesses. The GPU's are ld and st .relaxed.sys, atom.exch.acquire.gpu, st.release.gpu.
static inline uint64_t mailbox_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
static inline void mailbox_store(uint64_t *word, uint32_t sequence, uint32_t bits)
{
    __atomic_store_n(word, (uint64_t)bits << 32 | sequence, __ATOMIC_RELAXED);
}
static inline bool mailbox_is(uint64_t word, uint32_t sequence)
{
    return (uint32_t)word == sequence;
}
// 0 is what fresh memory holds, and all ones is BUSY's: no call has these numbers.
static inline uint32_t mailbox_after(uint32_t sequence)
{
    sequence++;
    return sequence == 0 || sequence == UINT32_MAX ? 1 : sequence;
}

// --- the GPU's side, for the leader of a warp
// The number of the new call, or 0: somebody has it.
static inline uint32_t mailbox_claim(uint64_t *own, const mailbox *m)
{
    uint64_t was = __atomic_exchange_n(own, MAILBOX_BUSY, __ATOMIC_ACQUIRE);
    if (was == MAILBOX_BUSY)
        return 0;
    uint32_t last = (uint32_t)was;
    if (was & MAILBOX_GIVEN_UP && __atomic_load_n(&m->done, __ATOMIC_ACQUIRE) != last) {
        __atomic_store_n(own, was, __ATOMIC_RELEASE); // still the host's
        return 0;
    }
    return mailbox_after(last);
}
static inline void mailbox_post(mailbox *m, uint32_t sequence, uint32_t lanes, uint32_t function)
{
    mailbox_store(&m->header[0], sequence, lanes);
    mailbox_store(&m->header[1], sequence, function);
}
static inline void mailbox_release(uint64_t *own, uint32_t sequence)
{
    __atomic_store_n(own, (uint64_t)sequence, __ATOMIC_RELEASE);
}
static inline void mailbox_give_up(uint64_t *own, mailbox *m, uint32_t sequence)
{
    __atomic_store_n(&m->cancel, sequence, __ATOMIC_RELAXED);
    __atomic_store_n(own, sequence | MAILBOX_GIVEN_UP, __ATOMIC_RELEASE);
}
// A lane's own reply words; false: not all are there.
static inline bool mailbox_poll(const mailbox *m, uint32_t sequence, uint32_t lane, uint32_t rows,
                                uint32_t *words)
{
    bool is_there = true;
    for (uint32_t r = 0; r < rows; r++) {
        uint64_t word = mailbox_load(&m->reply[r][lane]);
        is_there &= mailbox_is(word, sequence);
        words[r] = (uint32_t)(word >> 32);
    }
    return is_there;
}

// --- the host's side; `served` is the number of the last call that was answered
typedef struct mailbox_call {
    uint32_t sequence, lanes, function;
    uint32_t words[MAILBOX_ROWS][MAILBOX_LANES];
} mailbox_call;

// A new call whose words are all there, copied out. `rows_of` gives the request rows of a function,
// or a negative number for one that does not exist: then only the header counts.
static inline bool mailbox_find(const mailbox *m, uint32_t served,
                                int (*rows_of)(uint32_t function), mailbox_call *out)
{
    uint64_t first = mailbox_load(&m->header[0]), second = mailbox_load(&m->header[1]);
    uint32_t sequence = (uint32_t)first;
    if (!sequence || sequence == served || !mailbox_is(second, sequence))
        return false;
    *out = (mailbox_call){sequence, (uint32_t)(first >> 32), (uint32_t)(second >> 32), {{0}}};
    int rows = rows_of(out->function);
    for (int r = 0; r < rows && r < MAILBOX_ROWS; r++)
        for (uint32_t left = out->lanes; left; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(left);
            uint64_t word = mailbox_load(&m->request[r][lane]);
            if (!mailbox_is(word, sequence))
                return false; // on its way: look again later
            out->words[r][lane] = (uint32_t)(word >> 32);
        }
    return true;
}
static inline void mailbox_reply(mailbox *m, uint32_t sequence, uint32_t lane, uint32_t row,
                                 uint32_t bits)
{
    mailbox_store(&m->reply[row][lane], sequence, bits);
}
static inline void mailbox_finish(mailbox *m, uint32_t sequence)
{
    __atomic_store_n(&m->done, sequence, __ATOMIC_RELEASE);
}

#endif
