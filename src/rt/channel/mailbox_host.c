// The host's side of mailboxes. The GPU may change a mailbox at any time, so every word is loaded
// once, and what was loaded is what is checked and used. Start reading at mailbox_run.
#include "rt/channel/mailbox_host.h"

#define ALL_LANES (uint32_t)((UINT64_C(1) << MAILBOX_LANES) - 1) // lanes

static bool have_none_failed(const uint32_t *status)
{
    uint32_t all = 0;
    for (uint32_t l = 0; l < MAILBOX_LANES; l++)
        all |= status[l];
    return !all;
}

void mailbox_answer(const mailbox_packet *call)
{
    mailbox_rows *box = call->rows;
    uint32_t rows = mailbox_least(MAILBOX_ROWS_IN(call->kind), MAILBOX_ROWS);
    bool is_fine = call->lanes == ALL_LANES && rows && have_none_failed(call->words[0]);
    // Numbers begin again after the last one: no old reply may look like one of a later call.
    if (call->number == 1 || call->number == MAILBOX_LAST)
        for (uint32_t r = 0; r < MAILBOX_ROWS; r++)
            for (uint32_t l = 0; l < MAILBOX_LANES; l++)
                word_store(&box->reply[r][l], (uint64_t)0);
    if (call->kind & MAILBOX_IS_BULK)
        word_fence();
    if (is_fine) // the caller polls the last word
        word_store_row(box->reply[0], call->number, call->words[rows > 1],
                       mailbox_replies(rows) * MAILBOX_LANES);
    for (uint32_t r = 0; !is_fine && r < mailbox_replies(rows); r++) {
        const uint32_t *bits = call->words[rows > 1 ? r + 1 : 0];
        for (uint32_t left = call->lanes; left; left &= left - 1) {
            uint32_t l = word_lowest(left), status = call->words[0][l];
            uint32_t mark = status ? MAILBOX_FAILED : 0;
            word_store(&box->reply[r][l],
                       mailbox_word(call->number | mark, status ? status : bits[l]));
        }
    }
    word_store_release(&call->box->done, (uint64_t)call->number);
}

static void refuse(mailbox_packet *call, uint32_t status)
{
    for (uint32_t r = 0; r < MAILBOX_ROWS; r++)
        for (uint32_t l = 0; l < MAILBOX_LANES; l++)
            call->words[r][l] = r ? 0 : status;
    mailbox_answer(call);
}

// A new call whose header is there.
static bool find(const mailbox_host *host, uint32_t b, mailbox_packet *call)
{
    mailbox *box = &host->boxes[b];
    uint64_t first = word_load_acquire(&box->header[0]); // what a fence was before is there, too
    uint32_t number = mailbox_number(first);
    if (!number || number > MAILBOX_LAST || number == host->taken[b].number)
        return false;
    uint64_t second = word_load(&box->header[1]);
    if (mailbox_number(second) != number)
        return false;
    call->box = box;
    call->rows = &host->rows[b];
    call->number = number;
    call->lanes = mailbox_bits(first);
    call->kind = mailbox_bits(second);
    return true;
}

// All request words of the call; false: some are on their way.
static bool copy(mailbox_packet *call)
{
    for (uint32_t n = 0; call->kind & MAILBOX_HAS_WHO && n < MAILBOX_WHO; n++) {
        uint64_t word = word_load(&call->box->who[n]);
        if (mailbox_number(word) != call->number)
            return false;
        call->who[n] = mailbox_bits(word);
    }
    uint32_t rows = MAILBOX_ROWS_OUT(call->kind);
    if (call->lanes == ALL_LANES)
        return word_load_row(call->rows->request[0], call->number, call->words[0],
                             rows * MAILBOX_LANES);
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t left = call->lanes; left; left &= left - 1) {
            uint32_t l = word_lowest(left);
            uint64_t word = word_load(&call->rows->request[r][l]);
            if (mailbox_number(word) != call->number)
                return false;
            call->words[r][l] = mailbox_bits(word);
        }
    }
    return true;
}

// Others may look, too.
static void take(const mailbox_host *host, uint32_t b, uint32_t number)
{
    __atomic_store_n(&host->taken[b].number, number, __ATOMIC_RELAXED);
}

void mailbox_host_start(mailbox_host *host)
{
    for (uint32_t b = host->first; b < host->end; b++)
        take(host, b, mailbox_number(word_load(&host->boxes[b].done)));
}

static bool look(mailbox_host *host, uint32_t b, bool is_closing, mailbox_packet *call)
{
    const mailbox_functions *f = host->functions;
    if (!find(host, b, call))
        return false;
    bool is_known =
        call->lanes != 0 && f->kind(f->user, MAILBOX_FUNCTION(call->kind)) == call->kind &&
        MAILBOX_ROWS_OUT(call->kind) <= MAILBOX_ROWS && MAILBOX_ROWS_IN(call->kind) <= MAILBOX_ROWS;
    for (uint32_t r = 0; is_known && r < mailbox_replies(MAILBOX_ROWS_IN(call->kind)); r++)
        for (uint32_t l = 0; l < MAILBOX_LANES; l += 8)
            word_expect_store(&call->rows->reply[r][l]); // the GPU, which polls, has had them last
    for (uint32_t r = 1; is_known && r < MAILBOX_ROWS_OUT(call->kind); r++)
        for (uint32_t l = 0; l < MAILBOX_LANES; l += 8)
            word_expect(&call->rows->request[r][l]); // those of row 0 are on their way
    if (is_known && !copy(call))
        return false; // look again in the next round; the others do not wait for it
    take(host, b, call->number);
    if (!is_known)
        refuse(call, MAILBOX_BAD);
    else if (is_closing || word_load(&call->box->cancel) == call->number)
        refuse(call, MAILBOX_CANCELLED);
    else if (f->serve(f->user, call))
        mailbox_answer(call);
    return true;
}

void mailbox_expect(const mailbox_host *host, uint32_t first, uint32_t end)
{
    for (uint32_t b = first; b < end; b++)
        word_expect(&host->boxes[b]);
}

void mailbox_expect_calls(const mailbox_host *host, uint32_t first, uint32_t end)
{
    for (uint32_t b = first; b < end; b++) {
        uint32_t taken = __atomic_load_n(&host->taken[b].number, __ATOMIC_RELAXED);
        if (mailbox_number(word_hint(&host->boxes[b].header[0])) == taken)
            continue;
        for (uint32_t l = 0; l < MAILBOX_LANES; l += 8)
            word_expect(&host->rows[b].request[0][l]);
    }
}

static uint32_t round_of(mailbox_host *host, uint64_t state, mailbox_packet *call)
{
    uint32_t found = 0;
    for (uint32_t b = host->first; b < host->end && !host->is_left; b++)
        found += look(host, b, (state & MAILBOX_CLOSING) != 0, call);
    if (host->beat)
        word_count(host->beat);
    return found;
}

uint32_t mailbox_round(mailbox_host *host, mailbox_packet *call)
{
    return round_of(host, word_load_acquire(host->state), call);
}

void mailbox_run(mailbox_host *host, mailbox_packet *call)
{
    uint32_t idle = 0;
    for (;;) {
        uint64_t state = word_load_acquire(host->state); // before the round: it may be the last
        if (round_of(host, state, call))
            idle = 0;
        else if (state & MAILBOX_STOPPED)
            return;
        else
            word_idle(&idle);
    }
}

void mailbox_close(uint64_t *state)
{
    word_store_release(state, word_load(state) | MAILBOX_CLOSING);
}

void mailbox_stop(uint64_t *state)
{
    word_store_release(state, word_load(state) | MAILBOX_STOPPED);
}
