// The GPU's side of a call (Kiln C; also C11): the lanes of a warp claim a mailbox, store their
// request, poll for the reply and give the mailbox back. All lanes of the warp come here together;
// those with `is_mine` call, the lowest of them leads. Whoever holds a mailbox never waits for
// another one. Start reading at mailbox_call.
#ifndef KILN_CHANNEL_MAILBOX_WARP_H
#define KILN_CHANNEL_MAILBOX_WARP_H

#include "mailbox.h"

typedef struct mailbox_place {
    mailbox *boxes;
    mailbox_rows *rows;
    uint64_t *own;        // [count], in the GPU's memory
    uint64_t *dead;       // in the GPU's memory: set by who finds that the host is gone
    const uint64_t *beat; // the host counts its rounds here
    uint32_t count, home; // home: where this warp looks first
    uint64_t patience;    // of one call, in cycles; 0: for ever
    uint64_t silence;     // so long without a beat, in cycles, and the host is dead
    uint32_t first;       // number of the function that the kernel calls 0
} mailbox_place;

typedef struct mailbox_hold { // a mailbox that a warp has claimed
    mailbox *box;
    mailbox_rows *rows;
    uint64_t *own;
    uint32_t number, delay;
    uint32_t lanes, leader;
    uint32_t first;
} mailbox_hold;

typedef struct mailbox_watch { // of one wait
    uint64_t start, heard;     // when the call began; when the beat was last seen to change
    uint64_t beat;
} mailbox_watch;

static inline mailbox_watch mailbox_watch_start(void)
{
    uint64_t now = word_now();
    mailbox_watch w = {now, now, UINT64_MAX}; // the beat is over the bus: not before it must be
    return w;
}

// OK: go on waiting.
static inline int32_t mailbox_watch_look(const mailbox_place *at, mailbox_watch *w)
{
    uint64_t now = word_now();
    if (word_load(at->dead))
        return MAILBOX_HOST_DOWN;
    if (at->patience && word_is_over(now - w->start, at->patience))
        return MAILBOX_TIMED_OUT;
    if (!word_is_over(now - w->heard, at->silence))
        return MAILBOX_OK;
    uint64_t beat = word_beat(at->beat, w->beat);
    if (beat == w->beat) {
        word_store(at->dead, (uint64_t)1); // nobody else has to find out
        return MAILBOX_HOST_DOWN;
    }
    w->beat = beat;
    w->heard = now;
    return MAILBOX_OK;
}

// True: the warp has it now, and `was` says what `own` was.
static inline bool mailbox_try(const mailbox_place *at, uint32_t box, uint64_t *was)
{
    *was = word_swap_acquire(&at->own[box], MAILBOX_BUSY);
    if (*was == MAILBOX_BUSY)
        return false;
    // With the first and the last number the host clears old replies: they must be seen cleared.
    uint32_t last = mailbox_number(*was);
    bool is_host_first = (*was & MAILBOX_GIVEN_UP) != 0 || last == 1 || last == MAILBOX_LAST;
    if (is_host_first && word_load_acquire(&at->boxes[box].done) != last) {
        word_give(&at->own[box], *was);
        return false;
    }
    return true;
}

// Numbers begin again: a word that was not written since would look as if it belonged to the call.
static inline void mailbox_clear(mailbox *box, mailbox_rows *rows)
{
    for (uint32_t r = 0; r < MAILBOX_ROWS; r++)
        for (uint32_t l = 0; l < MAILBOX_LANES; l++)
            word_store(&rows->request[r][l], (uint64_t)0);
    for (uint32_t n = 0; n < MAILBOX_WHO; n++)
        word_store(&box->who[n], (uint64_t)0);
    word_store(&box->cancel, (uint64_t)0);
    word_fence();
}

static inline int32_t mailbox_claim(const mailbox_place *at, uint32_t lanes, mailbox_hold *hold)
{
    uint32_t leader = word_lowest(lanes), box = at->home;
    uint64_t was = 0;
    int32_t status = MAILBOX_OK;
    mailbox_watch watch = mailbox_watch_start();
    uint32_t nap = MAILBOX_NAP, is_mine = 0;
    // All lanes go round together. Would the others wait for the leader in one place, a GPU might
    // let lanes of this warp that hold a mailbox wait with them.
    while (!is_mine && status == MAILBOX_OK) {
        if (word_lane() == leader) {
            is_mine = mailbox_try(at, box, &was);
            if (!is_mine)
                box = box + 1 == at->count ? 0 : box + 1;
            if (!is_mine && box == at->home) { // all were taken
                status = mailbox_watch_look(at, &watch);
                word_pause(nap);
                nap = mailbox_least(nap * 2, MAILBOX_LONG_NAP);
            }
        }
        is_mine = word_from(is_mine, leader);
        status = word_from(status, leader);
    }
    if (word_lane() == leader && is_mine && mailbox_number(was) == MAILBOX_LAST)
        mailbox_clear(&at->boxes[box], &at->rows[box]);
    box = word_from(box, leader);
    was = word_from(was, leader);
    word_sync(); // what the leader has acquired is acquired for all
    hold->box = &at->boxes[box];
    hold->rows = &at->rows[box];
    hold->own = &at->own[box];
    hold->number = mailbox_after(mailbox_number(was));
    hold->delay = mailbox_bits(was & ~MAILBOX_GIVEN_UP);
    hold->lanes = lanes;
    hold->leader = leader;
    hold->first = at->first;
    return status;
}

// The header's words, each by another lane: one access of the warp is one packet on the bus, of a
// whole line. The host looks at the line again and again, and would take it away between packets.
static inline void mailbox_post_line(const mailbox_hold *hold, bool is_mine, uint32_t kind,
                                     const uint32_t *out)
{
    uint32_t rank = word_ones(hold->lanes & (((uint32_t)1 << word_lane()) - 1)),
             who = kind & MAILBOX_HAS_WHO ? MAILBOX_WHO : 0,
             bits = rank == 0 ? hold->lanes : kind + hold->first;
    for (uint32_t n = 0; n < who; n++) {
        uint32_t word = word_from(out[MAILBOX_ROWS_OUT(kind) + n], hold->leader);
        bits = rank == 2 + n ? word : bits;
    }
    uint64_t word = rank < 2 + who ? mailbox_word(hold->number, bits) : 0;
    if (is_mine && rank < MAILBOX_LINE(kind))
        word_store((uint64_t *)hold->box + rank, word);
}

// `out`: the request words; then, for kinds that have them, the words that say who calls.
static inline void mailbox_post(const mailbox_hold *hold, bool is_mine, uint32_t kind,
                                const uint32_t *out)
{
    if (is_mine)
        for (uint32_t r = 0; r < MAILBOX_ROWS_OUT(kind); r++)
            word_store(&hold->rows->request[r][word_lane()], mailbox_word(hold->number, out[r]));
    if (kind & MAILBOX_IS_BULK)
        word_sync(); // the other lanes' data go with the leader's fence
    if (!(kind & MAILBOX_IS_BULK) && word_ones(hold->lanes) >= MAILBOX_LINE(kind)) {
        mailbox_post_line(hold, is_mine, kind, out);
    } else if (word_lane() == hold->leader) {
        if (kind & MAILBOX_IS_BULK)
            word_fence();
        for (uint32_t n = 0; kind & MAILBOX_HAS_WHO && n < MAILBOX_WHO; n++)
            word_store(&hold->box->who[n],
                       mailbox_word(hold->number, out[MAILBOX_ROWS_OUT(kind) + n]));
        word_store(&hold->box->header[0], mailbox_word(hold->number, hold->lanes));
        word_store(&hold->box->header[1], mailbox_word(hold->number, kind + hold->first));
    }
}

// This lane's own status and results; false: not all are there.
static inline bool mailbox_poll(const mailbox_hold *hold, bool is_mine, uint32_t rows, uint32_t *in)
{
    bool is_there = true;
    uint32_t status = MAILBOX_OK;
    if (is_mine) { // asked once, and before any is looked at: all rows are on the bus together
        uint64_t words[MAILBOX_ROWS];
        for (uint32_t r = 0; r < mailbox_replies(rows); r++)
            words[r] = word_load(&hold->rows->reply[r][word_lane()]);
        for (uint32_t r = 0; r < mailbox_replies(rows); r++) {
            uint32_t number = mailbox_number(words[r]);
            is_there &= (number & ~MAILBOX_FAILED) == hold->number;
            status = number & MAILBOX_FAILED ? mailbox_bits(words[r]) : status;
            if (rows > 1)
                in[r + 1] = mailbox_bits(words[r]);
        }
        in[0] = status;
    }
    return word_all(is_there);
}

// One lane looks at the word that the host writes last: 31 words less on the bus for every look.
static inline int32_t mailbox_await(const mailbox_place *at, const mailbox_hold *hold,
                                    uint32_t rows, mailbox_watch *watch)
{
    int32_t status = MAILBOX_OK;
    uint32_t last = word_highest(hold->lanes), nap = MAILBOX_NAP, is_there = 0;
    const uint64_t *word = &hold->rows->reply[mailbox_replies(rows) - 1][last];
    while (!is_there && status == MAILBOX_OK) { // together, as in mailbox_claim
        if (word_lane() == hold->leader) {
            is_there = (mailbox_number(word_load(word)) & ~MAILBOX_FAILED) == hold->number;
            if (!is_there && (status = mailbox_watch_look(at, watch)) == MAILBOX_OK)
                word_pause(nap);
            // an answer that came late is found a sixteenth later, at most
            nap = MAILBOX_NAP + (uint32_t)((word_now() - watch->start) / 16);
            nap = mailbox_least(nap, MAILBOX_LONG_NAP);
        }
        is_there = word_from(is_there, hold->leader);
        status = word_from(status, hold->leader);
    }
    return status;
}

// The mailbox and the data beside it are the next caller's from here on. Without such data the
// request words are all that the next caller must not overtake: mailbox_wait has settled them.
static inline void mailbox_release(const mailbox_hold *hold, uint32_t kind)
{
    word_sync(); // all lanes have read their words
    if (word_lane() != hold->leader)
        return;
    uint64_t free = mailbox_word(hold->number, hold->delay);
    if (kind & MAILBOX_IS_BULK)
        word_give(hold->own, free);
    else
        word_give_settled(hold->own, free);
}

// The host may still write to this call: the next owner waits for `done`.
static inline void mailbox_leave(const mailbox_hold *hold, bool is_cancelled)
{
    word_sync();
    if (word_lane() == hold->leader) {
        if (is_cancelled)
            word_store(&hold->box->cancel, (uint64_t)hold->number);
        word_give(hold->own, mailbox_word(hold->number, hold->delay) | MAILBOX_GIVEN_UP);
    }
}

// Not OK: the mailbox is gone. Else the caller has it still, and mailbox_release gives it back.
static inline int32_t mailbox_wait(const mailbox_place *at, mailbox_hold *hold, bool is_mine,
                                   uint32_t kind, uint32_t *in)
{
    uint32_t rows = MAILBOX_ROWS_IN(kind), delay = hold->delay;
    mailbox_watch watch = mailbox_watch_start();
    if (!(kind & MAILBOX_IS_BULK)) { // while the host works this costs nothing
        // the other lanes' words, too
        word_sync();
        word_settle();
    }
    word_pause(delay); // a poll that travels just ahead of the reply costs a second one
    bool is_there = mailbox_poll(hold, is_mine, rows, in);
    // Four of five first polls find the reply; an answer is rarely later than the second.
    if (is_there)
        delay -= delay / 128 + (delay != 0);
    else
        delay += 8 + delay / 32;
    hold->delay = mailbox_least(delay, MAILBOX_FIRST_POLL);
    is_there = is_there || mailbox_poll(hold, is_mine, rows, in);
    while (!is_there) {
        int32_t status = mailbox_await(at, hold, rows, &watch);
        if (status != MAILBOX_OK) {
            mailbox_leave(hold, true);
            return status;
        }
        is_there = mailbox_poll(hold, is_mine, rows, in);
    }
    if (kind & MAILBOX_IS_BULK)
        word_fence();
    return MAILBOX_OK;
}

// Calls with out[0 … ROWS_OUT) and gives in[0 … ROWS_IN); in[0] is the status, which is the result,
// too. ROWS_IN is at least 1. A kind that is a constant makes loops that are unrolled. For data
// beside the rows: mailbox_claim, the data, mailbox_post, mailbox_wait, the data, mailbox_release.
static inline int32_t mailbox_call(const mailbox_place *at, bool is_mine, uint32_t kind,
                                   const uint32_t *out, uint32_t *in)
{
    uint32_t lanes = word_ballot(is_mine);
    mailbox_hold hold;
    if (!lanes)
        return MAILBOX_OK;
    int32_t status = mailbox_claim(at, lanes, &hold);
    if (status != MAILBOX_OK)
        return status;
    mailbox_post(&hold, is_mine, kind, out);
    status = mailbox_wait(at, &hold, is_mine, kind, in);
    if (status != MAILBOX_OK)
        return status;
    mailbox_release(&hold, kind);
    return is_mine ? (int32_t)in[0] : MAILBOX_OK;
}

// The same, and nobody waits for a reply: the host acts before it stops.
static inline int32_t mailbox_send(const mailbox_place *at, bool is_mine, uint32_t kind,
                                   const uint32_t *out)
{
    uint32_t lanes = word_ballot(is_mine);
    mailbox_hold hold;
    if (!lanes)
        return MAILBOX_OK;
    int32_t status = mailbox_claim(at, lanes, &hold);
    if (status != MAILBOX_OK)
        return status;
    mailbox_post(&hold, is_mine, kind, out);
    mailbox_leave(&hold, false);
    return MAILBOX_OK;
}

#endif
