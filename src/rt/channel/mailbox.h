// Mailboxes: how the warps of a GPU call the host while they run. This is what both sides know: the
// layout, the numbers of calls, the codes. The GPU's side is mailbox_warp.h, the host's
// mailbox_host.c; docs/hostcalls.md explains the protocol and its proof.
//
// A mailbox is a header, rows of request words and rows of reply words in host memory that the GPU
// maps, and a word `own` in the GPU's memory. Headers lie close together, since the host looks at
// all of them again and again. A shared word has one writer, and no word that both sides see is
// exchanged. Every word is {number of the call, 32 bits}: it proves by itself to which
// call it belongs, so words may arrive in any order, and a call needs no fence. A row holds the
// same word of all 32 lanes: one access of the warp is 256 bytes.
//
//   own             meaning
//   s               free; the last call was number s
//   BUSY            a warp has it
//   s | GIVEN_UP    the caller left; free as soon as the host is through with s (`done`)
//
// The upper half of a free `own` is how long the next caller waits before it polls.
#ifndef KILN_CHANNEL_MAILBOX_H
#define KILN_CHANNEL_MAILBOX_H

#include "word.h"

#ifndef MAILBOX_ROWS
#    define MAILBOX_ROWS       56 // 128 bytes in the smallest numbers, and what goes with them
#    define MAILBOX_LANES      32
#    define MAILBOX_WHO        4                    // words that say who calls
#    define MAILBOX_LINE(kind) 8u                   // words of a header that lanes write together
#    define MAILBOX_LAST       (MAILBOX_FAILED - 2) // the number after it is 1
// how long a caller waits, in cycles of the GPU
#    define MAILBOX_FIRST_POLL 6000 // most before the first poll
#    define MAILBOX_NAP        25   // between polls, doubling up to
#    define MAILBOX_LONG_NAP   8000
#endif

#define MAILBOX_FAILED   (UINT32_C(1) << 31) // with the number of a reply word: it is the status
#define MAILBOX_BUSY     UINT64_MAX
#define MAILBOX_GIVEN_UP (UINT64_C(1) << 63)

// What became of a call; the codes up to OTHER are the host's. A lane whose call went well gets its
// results, one that failed gets the status in their place, marked with FAILED.
enum {
    MAILBOX_OK,
    MAILBOX_BAD,            // the host does not know such a call
    MAILBOX_CANCELLED,      // the host is closing, or the caller has left
    MAILBOX_NEAR,           // the host cannot reach an object by its address: send its bytes
    MAILBOX_OTHER = 16,     // from here on a function's own
    MAILBOX_TIMED_OUT = -1, // the caller's: it has waited long enough
    MAILBOX_HOST_DOWN = -2  // nobody serves mailboxes any more
};

// A call's second header word.
#define MAILBOX_FUNCTION(bits) ((bits)&0xffffu)
#define MAILBOX_ROWS_OUT(bits) ((bits) >> 16 & 63)
#define MAILBOX_ROWS_IN(bits)  ((bits) >> 22 & 63)
#define MAILBOX_IS_BULK        (UINT32_C(1) << 28) // data beside the rows: fences are needed
#define MAILBOX_HAS_WHO        (UINT32_C(1) << 29) // the header says who calls
#define MAILBOX_KIND(function, rows_out, rows_in)                                                  \
    ((uint32_t)(function) | (uint32_t)(rows_out) << 16 | (uint32_t)(rows_in) << 22)

typedef struct mailbox {       // host memory, mapped: the header
    uint64_t header[2];        // GPU: {s, lanes}, {s, kind}
    uint64_t who[MAILBOX_WHO]; // GPU
    uint64_t cancel;           // GPU: s, when the caller has left
    uint64_t unused[5 - MAILBOX_WHO];
    uint64_t done; // host: s, when it will not write to s any more; on a line of its own
    uint64_t unused_too[7];
} mailbox;

typedef struct mailbox_rows {                      // host memory, mapped
    uint64_t request[MAILBOX_ROWS][MAILBOX_LANES]; // GPU
    uint64_t reply[MAILBOX_ROWS][MAILBOX_LANES];   // host
} mailbox_rows;

static inline uint32_t mailbox_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
static inline uint64_t mailbox_word(uint32_t number, uint32_t bits)
{
    return (uint64_t)bits << 32 | number;
}
static inline uint32_t mailbox_number(uint64_t word)
{
    return (uint32_t)word;
}
static inline uint32_t mailbox_bits(uint64_t word)
{
    return (uint32_t)(word >> 32);
}
// Rows of a reply on the bus: results, or one that only says that it went well. `rows` counts the
// status, too.
static inline uint32_t mailbox_replies(uint32_t rows)
{
    return rows > 1 ? rows - 1 : rows;
}
// 0 is what fresh memory holds, and all ones is BUSY's: no call has these numbers.
static inline uint32_t mailbox_after(uint32_t number)
{
    return number >= MAILBOX_LAST ? 1 : number + 1;
}

#endif
