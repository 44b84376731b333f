// The mailbox protocol, run by threads: its source of the GPU's side plays warps of several lanes,
// the host's side serves them as it would on a GPU. Calls, messages that nobody waits for and data
// beside the rows, with stalls and lost patience; then hosts that are slow, stalled, closing or
// dead, and mailboxes that were forged. ThreadSanitizer runs this, too.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/played.h"
#include "tests/test.h"

enum { BOXES = 4, WARPS = 4, HOSTS = 2, MOST_CALLS = 400, DATA_WORDS = 8 };

#include "rt/channel/mailbox_host.h"
#include "rt/channel/mailbox_warp.h"

enum { ADD = 1, TELL, TURN, NOTHING }; // functions

typedef struct world {
    mailbox *boxes;
    mailbox_rows *rows;
    uint64_t own[BOXES], dead, state, beats[HOSTS];
    mailbox_taken taken[BOXES];
    uint32_t data[BOXES][DATA_WORDS];
    uint32_t served[WARPS * MOST_CALLS]; // how often, by the id of the call; atomic
    uint32_t outcomes[4];                // answered, cancelled, timed out, host down; atomic
    uint32_t wrong, is_stalled;          // atomic
    uint32_t calls, stall, hasty;
    uint64_t silence;
} world;

typedef struct actor {
    world *w;
    played_warp *warp;
    uint32_t index, lane, random;
    pthread_t thread;
} actor;

static uint32_t mixed(uint32_t id, uint32_t lane, uint32_t row)
{
    uint32_t x = id * 2654435761u ^ lane * 40503u ^ row * 97u;
    return x ^ x >> 15;
}
static uint32_t draw(uint32_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random;
}
static void count(uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

static uint32_t kind_of(void *unused, uint32_t function)
{
    (void)unused;
    static const uint32_t kinds[] = {0, MAILBOX_KIND(ADD, 3, 2), MAILBOX_KIND(TELL, 2, 0),
                                     MAILBOX_KIND(TURN, 1, 1) | MAILBOX_IS_BULK};
    return function < NOTHING ? kinds[function] : 0;
}

static bool serve(void *user, mailbox_packet *call)
{
    world *w = user;
    uint32_t function = MAILBOX_FUNCTION(call->kind), first = (uint32_t)__builtin_ctz(call->lanes);
    uint32_t id = call->words[0][first], *data = w->data[call->box - w->boxes];
    bool is_good = id < WARPS * MOST_CALLS;
    for (uint32_t n = 0; w->stall && n < w->stall; n++)
        sched_yield();
    while (__atomic_load_n(&w->is_stalled, __ATOMIC_ACQUIRE))
        sched_yield();
    for (uint32_t l = 0; is_good && l < MAILBOX_LANES; l++)
        for (uint32_t r = 0; call->lanes >> l & 1 && r < MAILBOX_ROWS_OUT(call->kind); r++) {
            is_good &= call->words[r][l] == (r ? mixed(id, l, r) : id);
            call->words[r][l] = 0;
        }
    for (uint32_t n = 0; function == TURN && n < DATA_WORDS; n++) {
        is_good &= data[n] == id + n;
        data[n] = ~(id + n);
    }
    if (!is_good)
        count(&w->wrong);
    else
        count(&w->served[id]);
    for (uint32_t l = 0; l < MAILBOX_LANES; l++)
        call->words[0][l] = MAILBOX_OK, call->words[1][l] = mixed(id, l, 100);
    return true;
}

static int32_t turn(mailbox_place *at, world *w, bool is_mine, uint32_t id, uint32_t *in)
{
    mailbox_hold hold;
    uint32_t out[1] = {id}, kind = kind_of(NULL, TURN);
    int32_t status = mailbox_claim(at, word_ballot(is_mine), &hold);
    if (status != MAILBOX_OK)
        return status;
    uint32_t *data = w->data[hold.own - w->own];
    for (uint32_t n = word_lane(); n < DATA_WORDS; n += my_warp->count)
        data[n] = id + n;
    mailbox_post(&hold, is_mine, kind, out);
    status = mailbox_wait(at, &hold, is_mine, kind, in);
    if (status != MAILBOX_OK)
        return status;
    for (uint32_t n = word_lane(); in[0] == MAILBOX_OK && is_mine && n < DATA_WORDS;
         n += my_warp->count)
        if (data[n] != ~(id + n))
            count(&w->wrong);
    mailbox_release(&hold, kind);
    return is_mine ? (int32_t)in[0] : MAILBOX_OK;
}

static void *lane_main(void *user)
{
    actor *a = user;
    world *w = a->w;
    uint32_t random = a->random; // the same in all lanes of a warp
    my_warp = a->warp;
    my_lane = a->lane;
    for (uint32_t n = 0; n < w->calls; n++) {
        mailbox_place at = {w->boxes, w->rows, w->own, &w->dead,   w->beats,
                            BOXES,    0,       0,      w->silence, 0};
        uint32_t id = a->index * MOST_CALLS + n, in[2] = {0, 0};
        uint32_t mask = draw(&random) | 1u << draw(&random) % my_warp->count;
        uint32_t function = ADD + draw(&random) % 3;
        at.home = draw(&random) % BOXES;
        at.patience = w->hasty && draw(&random) % w->hasty == 0 ? 1 + draw(&random) % 20000 : 0;
        mask &= (1u << my_warp->count) - 1;
        bool is_mine = mask >> my_lane & 1;
        uint32_t out[3] = {id, mixed(id, my_lane, 1), mixed(id, my_lane, 2)};
        int32_t status = function == ADD ? mailbox_call(&at, is_mine, kind_of(NULL, ADD), out, in)
                         : function == TELL ? mailbox_send(&at, is_mine, kind_of(NULL, TELL), out)
                                            : turn(&at, w, is_mine, id, in);
        if (function == ADD && is_mine && status == MAILBOX_OK && in[1] != mixed(id, my_lane, 100))
            count(&w->wrong);
        if (my_lane != (uint32_t)__builtin_ctz(mask))
            continue;
        switch (status) {
        case MAILBOX_OK:
            count(&w->outcomes[0]);
            if (function != TELL && __atomic_load_n(&w->served[id], __ATOMIC_RELAXED) != 1)
                count(&w->wrong);
            break;
        case MAILBOX_CANCELLED: count(&w->outcomes[1]); break;
        case MAILBOX_TIMED_OUT: count(&w->outcomes[2]); break;
        case MAILBOX_HOST_DOWN: count(&w->outcomes[3]); break;
        default: count(&w->wrong); break;
        }
    }
    return NULL;
}

static void *host_main(void *user)
{
    actor *a = user;
    mailbox_functions functions = {kind_of, serve, a->w};
    mailbox_packet *call = calloc(1, sizeof *call);
    mailbox_host host = {a->w->boxes,
                         a->w->rows,
                         a->w->taken,
                         &a->w->state,
                         &a->w->beats[a->index],
                         a->index * BOXES / HOSTS,
                         (a->index + 1) * BOXES / HOSTS,
                         &functions,
                         false};
    if (!call)
        return NULL;
    mailbox_host_start(&host);
    mailbox_run(&host, call);
    free(call);
    return NULL;
}

typedef struct crowd {
    actor lanes[WARPS * LANES], hosts[HOSTS];
    played_warp warps[WARPS];
    uint32_t lane_count;
} crowd;

static world *world_new(uint32_t calls)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->boxes = calloc(BOXES, sizeof *w->boxes);
    w->rows = aligned_alloc(64, BOXES * sizeof *w->rows);
    assert_true(w->boxes && w->rows);
    memset(w->rows, 0, BOXES * sizeof *w->rows);
    w->calls = calls;
    w->silence = UINT64_C(600000000000);
    for (uint32_t b = 0; b < BOXES; b++) // near the end of the numbers, too
        w->boxes[b].done = w->own[b] = b % 2 ? MAILBOX_LAST - 5 : 0;
    return w;
}
static void world_free(world *w)
{
    free(w->boxes);
    free(w->rows);
    free(w);
}

static void hosts_start(crowd *c, world *w)
{
    for (uint32_t h = 0; h < HOSTS; h++) {
        c->hosts[h] = (actor){w, NULL, h, 0, 0, 0};
        assert_int_equal(pthread_create(&c->hosts[h].thread, NULL, host_main, &c->hosts[h]), 0);
    }
}
static void warps_start(crowd *c, world *w, uint32_t seed)
{
    c->lane_count = 0;
    for (uint32_t n = 0; n < WARPS; n++) {
        played_warp *warp = &c->warps[n];
        warp->count = n == 0 ? LANES : n == 1 ? 2 : 1;
        assert_int_equal(pthread_barrier_init(&warp->barrier, NULL, warp->count), 0);
        for (uint32_t l = 0; l < warp->count; l++) {
            actor *a = &c->lanes[c->lane_count++];
            *a = (actor){w, warp, n, l, seed * 7919 + n * 104729 + 1, 0};
            assert_int_equal(pthread_create(&a->thread, NULL, lane_main, a), 0);
        }
    }
}
static void warps_end(crowd *c)
{
    for (uint32_t n = 0; n < c->lane_count; n++)
        pthread_join(c->lanes[n].thread, NULL);
    for (uint32_t n = 0; n < WARPS; n++)
        pthread_barrier_destroy(&c->warps[n].barrier);
}
static void hosts_end(crowd *c, world *w)
{
    mailbox_stop(&w->state);
    for (uint32_t h = 0; h < HOSTS; h++)
        pthread_join(c->hosts[h].thread, NULL);
}

static void play(uint32_t seed, uint32_t calls, uint32_t stall, uint32_t hasty)
{
    world *w = world_new(calls);
    crowd c;
    w->stall = stall;
    w->hasty = hasty;
    hosts_start(&c, w);
    warps_start(&c, w, seed);
    warps_end(&c);
    hosts_end(&c, w);
    uint32_t missing = 0, twice = 0;
    for (uint32_t id = 0; id < WARPS * MOST_CALLS; id++) {
        missing += id % MOST_CALLS < calls && w->served[id] == 0;
        twice += w->served[id] > 1;
    }
    assert_int_equal(w->wrong, 0);
    assert_int_equal(twice, 0);
    assert_true(missing <= w->outcomes[2]);
    assert_int_equal(w->outcomes[0] + w->outcomes[2], WARPS * calls);
    if (!hasty)
        assert_int_equal(w->outcomes[2], 0);
    world_free(w);
}

TEST(mailboxes_lose_nothing)
{
    play(1, 120, 0, 0);
    play(2, 60, 3, 0);
}

TEST(mailboxes_outlive_impatient_callers)
{
    play(3, 60, 0, 4);
    play(4, 40, 20, 2);
}

TEST(mailboxes_of_a_closing_host_end_all_calls)
{
    world *w = world_new(40);
    crowd c;
    hosts_start(&c, w);
    warps_start(&c, w, 5);
    mailbox_close(&w->state); // at any time; calls before are answered, calls after cancelled
    warps_end(&c);
    hosts_end(&c, w);
    assert_int_equal(w->wrong, 0);
    assert_int_equal(w->outcomes[0] + w->outcomes[1], WARPS * 40);
    world_free(w);
}

TEST(mailboxes_of_a_dead_host_end_all_calls)
{
    world *w = world_new(20);
    crowd c;
    w->silence = 2000000;
    warps_start(&c, w, 6); // nobody serves
    warps_end(&c);
    assert_int_equal(w->wrong, 0);
    assert_int_equal(w->dead, 1);
    assert_true(w->outcomes[3] != 0); // those that nobody waits for may have found a mailbox
    assert_int_equal(w->outcomes[0] + w->outcomes[3], WARPS * 20);
    world_free(w);
}

TEST(mailboxes_of_a_stalled_host_are_used_again)
{
    world *w = world_new(12);
    crowd c;
    w->hasty = 1; // all callers lose patience
    w->is_stalled = 1;
    hosts_start(&c, w);
    warps_start(&c, w, 7);
    warps_end(&c);
    assert_true(w->outcomes[2] != 0);
    __atomic_store_n(&w->is_stalled, 0, __ATOMIC_RELEASE);
    w->hasty = 0; // the replies come late; the same mailboxes serve new calls
    hosts_end(&c, w);
    memset(w->served, 0, sizeof w->served);
    memset(w->outcomes, 0, sizeof w->outcomes);
    w->state = 0;
    hosts_start(&c, w);
    warps_start(&c, w, 8);
    warps_end(&c);
    hosts_end(&c, w);
    assert_int_equal(w->wrong, 0);
    assert_int_equal(w->outcomes[0], WARPS * 12);
    world_free(w);
}

// --- what a GPU may not do
typedef struct forged {
    const char *what;
    uint64_t header[2];
    bool is_found;
    uint32_t status; // of lane 3
} forged;

TEST(mailboxes_are_checked_by_the_host)
{
    enum { NUMBER = 7, LANE_3 = 8, UNTOUCHED = 99 };
#define HEADER(bits, kind)                                                                         \
    {                                                                                              \
        mailbox_word(NUMBER, bits), mailbox_word(NUMBER, kind)                                     \
    }
    static const uint32_t good = MAILBOX_KIND(ADD, 3, 2);
    const forged rows[] = {
        {"a call", HEADER(LANE_3, good), true, MAILBOX_OK},
        {"fresh memory", {0, 0}, false, UNTOUCHED},
        {"half a header", {mailbox_word(NUMBER, LANE_3), 0}, false, UNTOUCHED},
        {"a number that is none",
         {mailbox_word(UINT32_MAX, LANE_3), mailbox_word(UINT32_MAX, good)},
         false,
         UNTOUCHED},
        {"no lanes", HEADER(0, good), true, UNTOUCHED},
        {"a function that does not exist", HEADER(LANE_3, MAILBOX_KIND(999, 1, 1)), true,
         MAILBOX_BAD},
        {"function 0", HEADER(LANE_3, MAILBOX_KIND(0, 0, 1)), true, MAILBOX_BAD},
        {"too many rows", HEADER(LANE_3, MAILBOX_KIND(ADD, 63, 63)), true, MAILBOX_BAD},
        {"rows of another function", HEADER(LANE_3, MAILBOX_KIND(ADD, 2, 2)), true, MAILBOX_BAD},
        {"all bits", HEADER(UINT32_MAX, UINT32_MAX), true, MAILBOX_BAD},
        {"words that never come", HEADER(LANE_3 | 1, good), false, UNTOUCHED},
    };
#undef HEADER
    mailbox_packet *call = calloc(1, sizeof *call);
    assert_non_null(call);
    for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++) {
        world *w = world_new(1);
        mailbox *box = &w->boxes[0];
        mailbox_rows *of = &w->rows[0];
        mailbox_functions functions = {kind_of, serve, w};
        mailbox_host host = {w->boxes, w->rows, w->taken,   &w->state, NULL,
                             0,        BOXES,   &functions, false};
        for (uint32_t r = 0; r < 3; r++)
            of->request[r][3] = mailbox_word(NUMBER, r ? mixed(1, 3, r) : 1);
        of->reply[0][3] = mailbox_word(0, UNTOUCHED);
        memcpy(box->header, rows[n].header, sizeof box->header);
        mailbox_host_start(&host);
        bool is_found = mailbox_round(&host, call) == 1;
        bool is_again = mailbox_round(&host, call) != 0;
        uint32_t bits = mailbox_bits(of->reply[0][3]), number = mailbox_number(of->reply[0][3]);
        uint32_t status = number == NUMBER && bits == mixed(1, 3, 100) ? MAILBOX_OK : bits;
        bool is_marked = (number & MAILBOX_FAILED) != 0, is_failed = status == MAILBOX_BAD;
        if (is_found != rows[n].is_found || is_again || w->wrong || status != rows[n].status ||
            is_marked != is_failed || (is_found && box->done != NUMBER))
            fail_msg("%s: found %d, again %d, status %u", rows[n].what, is_found, is_again, status);
        world_free(w);
    }
    free(call);
}

// --- a function that blocks is left to another thread
static bool put_off(void *user, mailbox_packet *call)
{
    memcpy(user, call, sizeof *call);
    return false;
}
static void *answer_main(void *user)
{
    mailbox_packet *call = user;
    for (uint32_t l = 0; l < MAILBOX_LANES; l++)
        call->words[0][l] = MAILBOX_OTHER, call->words[1][l] = l;
    mailbox_answer(call);
    return NULL;
}

TEST(mailboxes_are_answered_by_any_thread)
{
    world *w = world_new(1);
    mailbox_packet *call = calloc(2, sizeof *call);
    assert_non_null(call);
    mailbox_rows *rows = &w->rows[1];
    mailbox *box = &w->boxes[1]; // its next number is the last but four
    mailbox_functions functions = {kind_of, put_off, &call[1]};
    mailbox_host host = {w->boxes, w->rows, w->taken, &w->state, NULL, 0, BOXES, &functions, false};
    mailbox_host_start(&host);
    uint32_t number = mailbox_after((uint32_t)w->own[1]);
    for (uint32_t r = 0; r < 3; r++)
        rows->request[r][31] = mailbox_word(number, r);
    box->header[0] = mailbox_word(number, UINT32_C(1) << 31);
    box->header[1] = mailbox_word(number, kind_of(NULL, ADD));
    assert_int_equal(mailbox_round(&host, &call[0]), 1);
    assert_int_equal(mailbox_round(&host, &call[0]), 0); // not twice
    assert_int_equal(rows->reply[0][31], 0);
    assert_true(box->done != number);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, answer_main, &call[1]), 0);
    pthread_join(thread, NULL);
    assert_true(box->done == number);
    assert_int_equal(mailbox_number(rows->reply[0][31]), number | MAILBOX_FAILED);
    assert_int_equal(mailbox_bits(rows->reply[0][31]), MAILBOX_OTHER);
    assert_int_equal(rows->reply[0][30], 0);
    free(call);
    world_free(w);
}

TEST(mailbox_numbers_skip_what_memory_may_hold)
{
    assert_int_equal(mailbox_after(0), 1);
    assert_int_equal(mailbox_after(MAILBOX_LAST), 1);
    assert_true(mailbox_word(MAILBOX_LAST, UINT32_MAX) != MAILBOX_BUSY);
    assert_true((mailbox_word(MAILBOX_LAST, 0) & MAILBOX_FAILED) == 0);
}

#ifdef WORD_HAS_ROWS
typedef bool row_load(const uint64_t *from, uint32_t number, uint32_t *bits, uint32_t count);
typedef void row_store(uint64_t *to, uint32_t number, const uint32_t *bits, uint32_t count);

static void check_rows(row_load *load, row_store *store)
{
    enum { COUNT_OF = 3 * MAILBOX_LANES };
    _Alignas(64) uint64_t words[COUNT_OF + 8];
    uint32_t bits[COUNT_OF], got[COUNT_OF + 1];
    for (uint32_t count = MAILBOX_LANES; count <= COUNT_OF; count += MAILBOX_LANES) {
        memset(words, 0xa5, sizeof words);
        memset(got, 0xa5, sizeof got);
        for (uint32_t l = 0; l < count; l++)
            bits[l] = l * 2654435761u;
        store(words, 7, bits, count);
        for (uint32_t l = 0; l < count; l++)
            assert_true(words[l] == mailbox_word(7, bits[l]));
        assert_true(words[count] == UINT64_C(0xa5a5a5a5a5a5a5a5));
        assert_true(load(words, 7, got, count));
        assert_memory_equal(got, bits, count * sizeof *bits);
        assert_true(got[count] == 0xa5a5a5a5);
        for (uint32_t l = 0; l < count; l++) { // each word counts
            words[l] ^= 8;
            assert_false(load(words, 7, got, count));
            words[l] ^= 8;
        }
    }
}

TEST(mailbox_rows_are_the_same_in_accesses_of_any_width)
{
    check_rows(word_load_2, word_store_2);
    if (__builtin_cpu_supports("avx512f"))
        check_rows(word_load_8, word_store_8);
    check_rows(word_load_row, word_store_row);
}
#endif
