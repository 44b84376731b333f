// The host's side of mailboxes: finds calls, checks them, has them served, answers. What is in a
// mailbox comes from a GPU and is not trusted: it is copied first and bounded then, a call that
// makes no sense is answered with BAD, and one that is incomplete costs a look in every round.
#ifndef KILN_CHANNEL_MAILBOX_HOST_H
#define KILN_CHANNEL_MAILBOX_HOST_H

#include "mailbox.h"

// One call, copied out of its mailbox. `words` are the request and then the reply: row 0 is the
// status, results follow. Only the rows and lanes of the call have a meaning.
typedef struct mailbox_packet {
    mailbox *box;
    mailbox_rows *rows;
    uint32_t number, lanes, kind;
    uint32_t who[MAILBOX_WHO]; // where the kind has it
    _Alignas(16) uint32_t words[MAILBOX_ROWS][MAILBOX_LANES];
} mailbox_packet;

typedef struct mailbox_functions {
    // The kind that calls of this function have; 0: there is no such function, as number 0.
    uint32_t (*kind)(void *user, uint32_t function);
    // Turns the request into the reply. False: somebody else will do that and call mailbox_answer;
    // the call must be copied for that.
    bool (*serve)(void *user, mailbox_packet *call);
    void *user;
} mailbox_functions;

// `state`; the program alone changes it.
enum { MAILBOX_CLOSING = 1, MAILBOX_STOPPED = 2 };

// The number of the last call that was found in a mailbox. Four mailboxes have a cache line of
// these: threads with other mailboxes do not wait for it.
typedef struct mailbox_taken {
    _Alignas(16) uint32_t number;
} mailbox_taken;

// One thread's share of the mailboxes: [first, end). `taken` has a row for each of all mailboxes,
// `state` is shared by all threads, `beat` is this thread's own or NULL. Who sets `is_left` while a
// call is served ends the round behind it.
typedef struct mailbox_host {
    mailbox *boxes;
    mailbox_rows *rows;
    mailbox_taken *taken;
    uint64_t *state, *beat;
    uint32_t first, end;
    const mailbox_functions *functions;
    bool is_left;
} mailbox_host;

// Before the first round: calls that were answered already are not found again.
void mailbox_host_start(mailbox_host *host);
// Looks at every mailbox once and serves what is there; how many calls were found.
uint32_t mailbox_round(mailbox_host *host, mailbox_packet *call);
// Mailboxes that will be looked at soon: their headers are on their way from then on. Then the
// words of the calls in them. Not the lines of their replies: the GPU polls them, and would have
// them back before they are written.
void mailbox_expect(const mailbox_host *host, uint32_t first, uint32_t end);
void mailbox_expect_calls(const mailbox_host *host, uint32_t first, uint32_t end);
// Rounds until somebody stops it; calls that were posted before that are served.
void mailbox_run(mailbox_host *host, mailbox_packet *call);
// The reply of a call is in its words: stores it. By any thread, once.
void mailbox_answer(const mailbox_packet *call);

// From now on calls are answered with CANCELLED. Kernels still run: rounds must go on.
void mailbox_close(uint64_t *state);
// The kernels have ended: each thread makes a last round.
void mailbox_stop(uint64_t *state);

#endif
