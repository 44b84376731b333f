// The threads of the model: warps that call, hosts that serve, the program that closes and stops.
// They run the real source of the protocol, with the checker's memory beneath it. Whatever differs
// between two warps stays out of here, so that the checker may exchange them.
#define WORD_HEADER "tests/model/word.h"
#include "rt/channel/mailbox_host.c"
#include "rt/channel/mailbox_warp.h"

// These words are addresses alone: what they hold is the checker's.
static mailbox boxes[MODEL_BOXES];
static mailbox_rows rows[MODEL_BOXES];
static uint64_t own[MODEL_BOXES], data[MODEL_BOXES], dead, state;

static bool is_within(const void *address, const void *start, size_t bytes, size_t *word)
{
    uintptr_t offset = (uintptr_t)address - (uintptr_t)start;
    *word = offset / sizeof(uint64_t);
    return offset < bytes;
}

bool model_where(const void *address, uint8_t *box, uint8_t *at)
{
    enum { ALL = sizeof(mailbox) / sizeof(uint64_t), ROWS = MODEL_ROWS * MODEL_LANES };
    enum {
        WHO = offsetof(mailbox, who) / sizeof(uint64_t),
        CANCEL = offsetof(mailbox, cancel) / sizeof(uint64_t),
        DONE = offsetof(mailbox, done) / sizeof(uint64_t)
    };
    size_t word;
    *box = MODEL_BOXES;
    *at = address == &dead ? AT_DEAD : AT_STATE;
    if (address == &dead || address == &state)
        return true;
    *at = is_within(address, own, sizeof own, &word) ? AT_OWN : AT_DATA;
    *box = (uint8_t)word;
    if (*at == AT_OWN || is_within(address, data, sizeof data, &word)) {
        *box = (uint8_t)word;
        return true;
    }
    if (is_within(address, rows, sizeof rows, &word)) { // requests, then replies
        *box = (uint8_t)(word / (2 * ROWS));
        *at = (uint8_t)(AT_REQUEST + word % (2 * ROWS));
        return true;
    }
    if (!is_within(address, boxes, sizeof boxes, &word))
        return false;
    *box = (uint8_t)(word / ALL);
    word %= ALL;
    *at = (uint8_t)(word < 2         ? AT_HEADER + word
                    : word == WHO    ? AT_WHO
                    : word == CANCEL ? AT_CANCEL
                    : word == DONE   ? AT_DONE
                                     : AT_WORDS);
    return *at != AT_WORDS;
}

static uint32_t kind_of(void *unused, uint32_t function)
{
    (void)unused;
    bool is_whole = function == 1;
    if (function != 1 && function != 2)
        return 0;
    return MAILBOX_KIND(function, is_whole ? model_now.rows_out : 1,
                        is_whole || !model_now.rows_in ? model_now.rows_in : 1) |
           (model_now.has_data ? MAILBOX_IS_BULK : 0) |
           (model_now.has_who && is_whole ? MAILBOX_HAS_WHO : 0);
}

// Word r of lane l has the value r * 8 + l + 1 on the way out and 100 more on the way back.
static uint32_t value_of(uint32_t r, uint32_t l)
{
    return r * 8 + l + 1;
}

static int32_t call_with_data(const mailbox_place *at, bool is_mine, uint32_t kind,
                              const uint32_t *out, uint32_t *in)
{
    mailbox_hold hold;
    int32_t status = mailbox_claim(at, word_ballot(is_mine), &hold);
    if (status != MAILBOX_OK)
        return status;
    uint64_t *word = &data[hold.own - own];
    if (word_lane() + 1 == model_now.lanes) // not the leader: its data must come along
        model_ask(OP_WRITE, word, 7, 0, 1);
    mailbox_post(&hold, is_mine, kind, out);
    bool is_back = !model_now.is_one_way; // as mailbox_call.h does
    status = mailbox_wait(at, &hold, is_mine, is_back ? kind : kind & ~MAILBOX_IS_BULK, in);
    if (status != MAILBOX_OK)
        return status;
    if (is_back && is_mine && in[0] == MAILBOX_OK && model_ask(OP_READ, word, 0, 0, 1) != 107)
        model_ask(OP_RESULT, NULL, FOUND_VALUE, 1, 0);
    mailbox_release(&hold, is_back ? kind : 0);
    return (int32_t)in[0];
}

void model_warp(void *unused)
{
    (void)unused;
    mailbox_place at = {boxes, rows, own, &dead, NULL, model_now.boxes, 0, 0, OVER_SILENCE, 0};
    at.patience = model_now.has_patience ? OVER_PATIENCE : 0;
    bool is_mine = model_now.mask >> word_lane() & 1;
    for (uint32_t n = 0; n < model_now.calls; n++) {
        uint32_t out[MODEL_ROWS + MAILBOX_WHO], in[MODEL_ROWS] = {0};
        int32_t status;
        uint32_t kind = kind_of(NULL, model_rows(2, n) == 2 ? 1 : 2);
        model_ask(OP_BEGIN, NULL, 0, 0, 0);
        for (uint32_t r = 0; r < MODEL_ROWS + MAILBOX_WHO; r++)
            out[r] = r < MAILBOX_ROWS_OUT(kind) ? value_of(r, word_lane()) : 77;
        if (model_now.is_any_home && model_now.boxes > 1)
            at.home = (uint32_t)model_ask(OP_CHOOSE, NULL, model_now.boxes, 0, 0);
        if (model_now.is_send)
            status = mailbox_send(&at, is_mine, kind, out);
        else if (model_now.has_data)
            status = call_with_data(&at, is_mine, kind, out, in);
        else
            status = mailbox_call(&at, is_mine, kind, out, in);
        for (uint32_t r = 1; is_mine && status == MAILBOX_OK && r < MAILBOX_ROWS_IN(kind); r++)
            if (in[r] != value_of(r, word_lane()) + 100)
                model_ask(OP_RESULT, NULL, FOUND_VALUE, 1, 0);
        model_ask(OP_RESULT, NULL, (uint64_t)(uint32_t)status, 0, 0);
        (void)word_ballot(true); // the lanes stay together, without order of memory
    }
    model_ask(OP_EXIT, NULL, 0, 0, 0);
}

static bool serve(void *unused, mailbox_packet *call)
{
    (void)unused;
    uint64_t *word = &data[call->box - boxes];
    bool is_right = call->lanes == model_now.mask;
    for (uint32_t l = 0; l < MODEL_LANES; l++)
        for (uint32_t r = 0; call->lanes >> l & 1 && r < MAILBOX_ROWS_OUT(call->kind); r++)
            is_right &= call->words[r][l] == value_of(r, l);
    is_right &= !(call->kind & MAILBOX_HAS_WHO) || call->who[0] == 77;
    if (model_now.has_data)
        is_right &= model_ask(OP_READ, word, 0, 0, 1) == 7;
    model_ask(OP_SERVE, NULL, is_right, 0, 0);
    if (model_now.has_data && !model_now.is_one_way)
        model_ask(OP_WRITE, word, 107, 0, 1);
    for (uint32_t l = 0; l < MODEL_LANES; l++)
        for (uint32_t r = 0; r < MODEL_ROWS; r++)
            call->words[r][l] = r ? value_of(r, l) + 100 : MAILBOX_OK;
    return true;
}

void model_host(void *index)
{
    mailbox_taken taken[MODEL_BOXES] = {{0}};
    uint32_t n = model_now.boxes, h = (uint32_t)(uintptr_t)index;
    mailbox_functions functions = {kind_of, serve, NULL};
    mailbox_host host = {boxes, rows, taken, &state, &state, 0, 0, &functions, false};
    mailbox_packet call = {0};
    host.first = h * n / model_now.hosts;
    host.end = (h + 1) * n / model_now.hosts;
    mailbox_host_start(&host);
    mailbox_run(&host, &call);
    model_ask(OP_EXIT, NULL, 0, 0, 0);
}

void model_program(void *unused)
{
    (void)unused;
    if (model_now.may_close)
        mailbox_close(&state);
    model_ask(OP_JOIN, NULL, 0, 0, 0);
    mailbox_stop(&state);
    model_ask(OP_EXIT, NULL, 0, 0, 0);
}
