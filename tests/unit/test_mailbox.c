// The protocol of mailboxes, run by threads: warps that claim, post, poll and give up, hosts that
// find and answer, in random interleavings and with stalls. Every call is served exactly once, no
// reply is lost, torn or somebody else's. ThreadSanitizer runs this, too.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "rt/channel/mailbox.h"
#include "tests/test.h"

enum { BOXES = 5, WARPS = 7, HOSTS = 2, ROWS = 5, MOST_CALLS = 4000 };

typedef struct world {
    mailbox boxes[BOXES];
    uint64_t own[BOXES];
    uint32_t calls_of_warp, next_id;
    uint32_t served[WARPS * MOST_CALLS]; // how often, by number of the call; atomic
    uint32_t given_up, wrong, answered;
    int running; // warps; atomic
    uint32_t stall;
} world;

typedef struct actor {
    world *w;
    uint32_t index, random;
    pthread_t thread;
} actor;

static uint32_t draw(actor *a)
{
    a->random ^= a->random << 13;
    a->random ^= a->random >> 17;
    a->random ^= a->random << 5;
    return a->random;
}

static void dawdle(actor *a)
{
    uint32_t n = draw(a) % 16;
    if (n == 0)
        sched_yield();
    for (volatile uint32_t k = 0; k < n * 8; k++) {
    }
}

static uint32_t mixed(uint32_t id, uint32_t lane, uint32_t row)
{
    uint32_t x = id * 2654435761u ^ lane * 40503u ^ row * 97u;
    return x ^ x >> 15;
}

// Function f takes f rows; others do not exist.
static int rows_of(uint32_t function)
{
    return function >= 1 && function < ROWS ? (int)function : -1;
}

static void post_all(actor *a, mailbox *m, uint32_t sequence, uint32_t lanes, uint32_t function,
                     uint32_t id)
{
    bool header_first = draw(a) & 1; // the bus may reorder them
    if (header_first)
        mailbox_post(m, sequence, lanes, function);
    for (uint32_t r = 0; r < function; r++)
        for (uint32_t left = lanes; left; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(left);
            if (draw(a) % 8 == 0)
                dawdle(a);
            mailbox_store(&m->request[r][lane], sequence, r ? mixed(id, lane, r) : id);
        }
    if (!header_first)
        mailbox_post(m, sequence, lanes, function);
}

static bool poll_all(actor *a, const mailbox *m, uint32_t sequence, uint32_t lanes,
                     uint32_t function, uint32_t id, uint32_t patience)
{
    uint32_t done = 0, words[ROWS];
    for (uint32_t tries = 0; done != lanes; tries++) {
        if (tries > patience)
            return false;
        for (uint32_t left = lanes & ~done; left; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(left);
            if (!mailbox_poll(m, sequence, lane, function, words))
                continue;
            done |= 1u << lane;
            for (uint32_t r = 0; r < function; r++)
                if (words[r] != mixed(id, lane, r + 100))
                    __atomic_fetch_add(&a->w->wrong, 1, __ATOMIC_RELAXED);
        }
        dawdle(a);
        if (tries > 100)
            sched_yield();
    }
    return true;
}

static void *warp_main(void *user)
{
    actor *a = user;
    world *w = a->w;
    for (uint32_t n = 0; n < w->calls_of_warp; n++) {
        uint32_t box = draw(a) % BOXES, sequence;
        while (!(sequence = mailbox_claim(&w->own[box], &w->boxes[box]))) {
            box = (box + 1) % BOXES;
            dawdle(a);
            if (box == 0)
                sched_yield();
        }
        uint32_t lanes = draw(a) | 1u << draw(a) % 32, function = 1 + draw(a) % (ROWS - 1);
        uint32_t id = a->index * MOST_CALLS + n;
        bool is_hasty = draw(a) % 16 == 0;
        post_all(a, &w->boxes[box], sequence, lanes, function, id);
        if (poll_all(a, &w->boxes[box], sequence, lanes, function, id,
                     is_hasty ? draw(a) % 4 : UINT32_MAX)) {
            mailbox_release(&w->own[box], sequence);
            __atomic_fetch_add(&w->answered, 1, __ATOMIC_RELAXED);
        } else {
            mailbox_give_up(&w->own[box], &w->boxes[box], sequence);
            __atomic_fetch_add(&w->given_up, 1, __ATOMIC_RELAXED);
        }
    }
    __atomic_fetch_sub(&w->running, 1, __ATOMIC_RELEASE);
    return NULL;
}

static bool serve(actor *a, mailbox *m, uint32_t *last, mailbox_call *call)
{
    world *w = a->w;
    if (!mailbox_find(m, *last, rows_of, call))
        return false;
    if (w->stall && draw(a) % w->stall == 0)
        for (int k = 0; k < 50; k++)
            sched_yield();
    uint32_t function = call->function, id = call->words[0][__builtin_ctz(call->lanes)];
    bool is_good = function >= 1 && function < ROWS && id < WARPS * MOST_CALLS;
    for (uint32_t left = call->lanes; is_good && left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        is_good = call->words[0][lane] == id;
        for (uint32_t r = 1; r < function; r++)
            is_good = is_good && call->words[r][lane] == mixed(id, lane, r);
    }
    if (is_good)
        __atomic_fetch_add(&w->served[id], 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&w->wrong, 1, __ATOMIC_RELAXED);
    for (uint32_t r = 0; r < function; r++)
        for (uint32_t left = call->lanes; left; left &= left - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(left);
            mailbox_reply(m, call->sequence, lane, r, mixed(id, lane, r + 100));
            if (draw(a) % 32 == 0)
                dawdle(a);
        }
    mailbox_finish(m, call->sequence);
    *last = call->sequence;
    return true;
}

static void *host_main(void *user)
{
    actor *a = user;
    world *w = a->w;
    uint32_t last[BOXES] = {0};
    mailbox_call call;
    for (bool is_last = false;;) {
        bool found = false;
        for (uint32_t b = a->index; b < BOXES; b += HOSTS)
            found |= serve(a, &w->boxes[b], &last[b], &call);
        if (is_last && !found)
            return NULL;
        is_last = !__atomic_load_n(&w->running, __ATOMIC_ACQUIRE); // then look once more
        if (!found)
            sched_yield();
    }
}

static void play(uint32_t seed, uint32_t calls, uint32_t stall)
{
    world *w = calloc(1, sizeof *w);
    actor actors[WARPS + HOSTS];
    assert_non_null(w);
    w->calls_of_warp = calls;
    w->running = WARPS;
    w->stall = stall;
    for (uint32_t b = 0; b < BOXES; b++) // near the wrap of the numbers, too
        w->own[b] = b % 2 ? UINT32_MAX - 40 : 0;
    for (uint32_t n = 0; n < WARPS + HOSTS; n++) {
        actors[n] = (actor){w, n < WARPS ? n : n - WARPS, seed * 7919 + n * 104729 + 1, 0};
        assert_int_equal(
            pthread_create(&actors[n].thread, NULL, n < WARPS ? warp_main : host_main, &actors[n]),
            0);
    }
    for (uint32_t n = 0; n < WARPS + HOSTS; n++)
        pthread_join(actors[n].thread, NULL);
    uint32_t missing = 0;
    for (uint32_t warp = 0; warp < WARPS; warp++)
        for (uint32_t n = 0; n < calls; n++)
            missing += w->served[warp * MOST_CALLS + n] != 1;
    assert_int_equal(w->wrong, 0);
    assert_int_equal(missing, 0);
    assert_int_equal(w->answered + w->given_up, WARPS * calls);
    free(w);
}

TEST(mailboxes_lose_nothing)
{
    play(1, 400, 0);
    play(2, 300, 8);
    for (uint32_t seed = 3; seed < 40; seed++)
        play(seed, 20, seed % 4);
}

TEST(mailboxes_are_checked_by_the_host)
{
    mailbox *m = calloc(1, sizeof *m);
    mailbox_call call;
    uint64_t own = 0;
    assert_non_null(m);
    assert_false(mailbox_find(m, 0, rows_of, &call)); // fresh memory
    uint32_t s = mailbox_claim(&own, m);
    assert_int_equal(s, 1);
    assert_int_equal(mailbox_claim(&own, m), 0); // taken
    m->header[0] = (uint64_t)0xffffffffu << 32 | s;
    assert_false(mailbox_find(m, 0, rows_of, &call)); // half a header
    m->header[1] = (uint64_t)999 << 32 | s;
    assert_true(mailbox_find(m, 0, rows_of, &call)); // a function that does not exist: no rows
    assert_int_equal(call.function, 999);
    m->header[1] = (uint64_t)2 << 32 | s;
    assert_false(mailbox_find(m, 0, rows_of, &call)); // the words are not there
    for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t r = 0; r < 2; r++)
            mailbox_store(&m->request[r][lane], s, lane);
    assert_true(mailbox_find(m, 0, rows_of, &call));
    assert_false(mailbox_find(m, s, rows_of, &call)); // answered already
    mailbox_give_up(&own, m, s);
    assert_int_equal(mailbox_claim(&own, m), 0); // the host may still write
    assert_true(own == (s | MAILBOX_GIVEN_UP));
    mailbox_finish(m, s);
    assert_int_equal(mailbox_claim(&own, m), 2);
    assert_int_equal(mailbox_after(UINT32_MAX - 1), 1);
    free(m);
}
