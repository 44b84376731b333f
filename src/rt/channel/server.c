// The threads that serve mailboxes. The mailboxes are dealt to a few shares, in groups; a share has
// one owner, which walks along its mailboxes and makes the calls it finds. The watcher looks
// at the owners: one that is within a function for a millisecond loses its share to another
// thread, answers its call when the function returns, and is there for the next such case. The
// watcher also counts the beat by which the GPU knows that the host is alive. After a silence the
// owner of the first share alone looks at all mailboxes, and the others sleep until it wakes them.
// Start at own and watch.
#define _GNU_SOURCE // prctl
#include "rt/channel/server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#    include <sys/prctl.h>
#    include <sys/syscall.h>
#endif

enum {
    GROUP = 4,           // mailboxes that go to one share together
    LIVELY = 250,        // walks without a call, and a group is silent
    PARTS = 8,           // walks in which each silent group is looked at once
    PAUSES = 5,          // behind a group without a call
    MOST_SHARES = 4,     // more make the bus slower, not faster
    MOST_THREADS = 2056, // each call of a mailbox may block in one, and somebody still looks
    SITES = UINT16_MAX / MAILBOX_SITE, // call sites of all modules
    SPIN_US = 200,                     // after the last call a thread looks without a pause
    QUIET_US = 2000,                   // after it the threads of all shares but one sleep
    WATCH_US = 500,
    QUIET_ROUNDS = 100 // of the watcher; then it looks less often
};
#define NOBODY UINT32_MAX // more than an enum of C11 may hold

typedef struct share {
    _Alignas(128) uint64_t rounds; // atomic: that were completed
    uint32_t is_asleep;            // atomic: its owner waits for noise
    uint32_t owner;                // atomic: number of a worker; changed under the lock
    // The owner's, as is what they point to.
    _Alignas(128) uint32_t walk, lively_count, group_count;
    uint8_t *silence; // of each group: walks since there was a call, at most LIVELY
    uint16_t *lively; // groups that have had calls lately
} share;

typedef struct worker {
    _Alignas(128) uint64_t now; // atomic: odd within a function; grows with every call
    uint32_t is_suspect;        // atomic: its share may go, or has gone, to another worker
    server *s;
    pthread_t thread;
    uint32_t number, share; // share: NOBODY's when it is spare; under the lock
    mailbox_host host;      // is_left: its share has gone to another one
    mailbox_functions functions;
    mailbox_packet call;
} worker;

struct server {
    kiln *k;
    server_place place;
    uint64_t state;       // of the mailboxes: closing
    mailbox_taken *taken; // whole cache lines
    serve_bytes **bytes;  // per mailbox; made on first need by the mailbox's owner
    serve_row **rows;     // [SITES]
    share shares[MOST_SHARES];
    uint32_t share_count;
    uint32_t boxes;       // atomic: that are looked at
    uint32_t is_awake;    // atomic
    uint32_t is_stopping; // atomic
    uint32_t sleepers;    // atomic: owners that wait for `noise` to change
    uint32_t noise;       // atomic
    uint32_t in_service;  // atomic: calls that are being made by threads that have lost their share
    bool has_barrier;     // the watcher can make all threads' stores visible
    pthread_mutex_t lock; // of what follows, and of sleeping
    pthread_cond_t changed;
    worker *workers[MOST_THREADS];
    uint32_t worker_count;
    pthread_t watcher;
    bool has_watcher;
    server_stop stop;
};

#define LOAD(x)     __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELEASE)
#define ADD(x, v)   ((void)__atomic_fetch_add(&(x), v, __ATOMIC_ACQ_REL))

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000;
}

static void nap(uint32_t us)
{
    nanosleep(&(struct timespec){0, (long)us * 1000}, NULL);
}

// A short nap is short only when the system is told so.
static void expect_short_naps(void)
{
#if defined(__linux__)
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
#endif
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// A thread that leaves a function says so and then looks whether it is suspected; the watcher
// suspects it and then looks whether it has left. One of them must see the other, which takes a
// fence on both sides. Calls are many and the watcher's looks are few: where the system can make
// the other threads' fences, threads that serve have none.
enum { MAKE_FENCES = 8, WILL_MAKE_FENCES = 16 }; // of the system's header, which may be older
static bool get_barrier(void)
{
#if defined(__linux__) && defined(SYS_membarrier)
    return !syscall(SYS_membarrier, WILL_MAKE_FENCES, 0, 0);
#else
    return false;
#endif
}

static void fence(void)
{
#if defined(__SANITIZE_THREAD__) // knows no fences; a locked operation on x86 is one
    unsigned word = 0;
    __atomic_exchange_n(&word, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static void fence_of_server(const server *s)
{
    if (s->has_barrier)
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    else
        fence();
}

static bool fence_of_watcher(const server *s)
{
    fence();
#if defined(__linux__) && defined(SYS_membarrier)
    return !s->has_barrier || !syscall(SYS_membarrier, MAKE_FENCES, 0, 0);
#else
    return !s->has_barrier;
#endif
}

// --- functions. The first number is 1.
static serve_row *row_of(const server *s, uint32_t function)
{
    return function ? LOAD(s->rows[(function - 1) / MAILBOX_SITE]) : NULL;
}

uint32_t server_add(server *s, kiln_module *m)
{
    uint32_t slot = 0, run = 0;
    for (; slot < SITES && run < m->site_count; slot++)
        run = s->rows[slot] ? 0 : run + 1;
    if (run < m->site_count)
        return 0;
    slot -= run;
    for (uint32_t n = 0; n < m->site_count; n++) {
        serve_row *row = m->sites[n].op == IR_HOST ? malloc(sizeof *row) : NULL;
        if (row && !serve_row_init(row, m, n, 1 + (slot + n) * MAILBOX_SITE)) {
            free(row);
            row = NULL;
        }
        STORE(s->rows[slot + n], row);
    }
    return 1 + slot * MAILBOX_SITE;
}

void server_remove(server *s, const kiln_module *m)
{
    for (uint32_t n = 0; n < SITES; n++)
        if (s->rows[n] && s->rows[n]->m == m) {
            free(s->rows[n]);
            STORE(s->rows[n], NULL);
        }
}

static uint32_t kind_of(void *user, uint32_t function)
{
    const worker *w = user;
    const serve_row *row = row_of(w->s, function);
    return row ? row->kinds[(function - 1) % MAILBOX_SITE] : 0;
}

static serve_bytes *bytes_of(server *s, const serve_row *row, uint32_t box)
{
    if (row->rows.counted && !s->bytes[box])
        s->bytes[box] = calloc(1, sizeof *s->bytes[box]);
    return s->bytes[box];
}

// The watcher has come to a decision when the lock is free.
static bool has_lost_share(worker *w)
{
    server *s = w->s;
    pthread_mutex_lock(&s->lock);
    bool has_lost = s->shares[w->share].owner != w->number;
    STORE(w->is_suspect, 0);
    pthread_mutex_unlock(&s->lock);
    return has_lost;
}

static bool serve(void *user, mailbox_packet *call)
{
    worker *w = user;
    server *s = w->s;
    uint32_t box = (uint32_t)(call->box - s->place.boxes);
    const serve_row *row = row_of(s, MAILBOX_FUNCTION(call->kind));
    serve_bytes *bytes = row ? bytes_of(s, row, box) : NULL;
    serve_place place = {s->place.data + (size_t)box * (MAILBOX_DATA / 8),
                         mailbox_wide(s->place.data, box), mailbox_wide_bytes(box), s->place.far};
    server_stop stop; // to clear its text takes longer than a call
    stop.m = NULL;
    STORE(w->now, w->now + 1);
    if (!row || (row->rows.counted && !bytes))
        for (uint32_t l = 0; l < MAILBOX_LANES; l++)
            call->words[0][l] = row ? SERVER_NO_MEMORY : MAILBOX_BAD;
    else
        serve_call(row, bytes, &place, call, &stop);
    if (stop.m) {
        pthread_mutex_lock(&s->lock);
        if (!s->stop.m)
            s->stop = stop;
        pthread_mutex_unlock(&s->lock);
    }
    STORE(w->now, w->now + 1);
    fence_of_server(s);
    if (LOAD(w->is_suspect))
        w->host.is_left = has_lost_share(w);
    return true;
}

// --- owners. A walk looks at the groups of a share that have had calls lately, and at a part of
// the silent ones: a launch has more mailboxes than warps that call at the same time, and a look at
// each of them would take longer than the calls.
static void expect(const worker *w, uint32_t group, uint32_t boxes, bool are_calls)
{
    uint32_t first = (group * w->s->share_count + w->share) * GROUP,
             end = mailbox_least(boxes, first + GROUP);
    if (are_calls)
        mailbox_expect_calls(&w->host, first, end);
    else
        mailbox_expect(&w->host, first, end);
}

// False: the worker has lost the share.
static bool look(worker *w, uint32_t group, uint32_t boxes, uint32_t *found)
{
    server *s = w->s;
    share *of = &s->shares[w->share];
    mailbox_host *host = &w->host;
    host->first = (group * s->share_count + w->share) * GROUP;
    host->end = mailbox_least(boxes, host->first + GROUP);
    uint32_t calls = mailbox_round(host, &w->call);
    *found += calls;
    if (host->is_left) { // and the answer has gone
        ADD(s->in_service, UINT32_MAX);
        return false;
    }
    if (calls && of->silence[group] == LIVELY && of->lively_count < of->group_count)
        of->lively[of->lively_count++] = (uint16_t)group;
    if (calls)
        of->silence[group] = 0;
    else if (of->silence[group] < LIVELY)
        of->silence[group]++;
    return true;
}

static void find_lively(share *of, uint32_t groups)
{
    of->lively_count = 0;
    for (uint32_t g = 0; g < groups; g++)
        if (of->silence[g] < LIVELY)
            of->lively[of->lively_count++] = (uint16_t)g;
}

// Of a whole walk no group is left out. While a group is looked at, the words of the calls in the
// next one and the headers of the one after it are on their way; after the last comes the first.
static bool walk(worker *w, bool is_whole, uint32_t *found)
{
    server *s = w->s;
    share *of = &s->shares[w->share];
    uint32_t boxes = LOAD(s->boxes), all = (boxes + GROUP - 1) / GROUP,
             groups = (all + s->share_count - 1 - w->share) / s->share_count;
    *found = 0;
    if (is_whole) { // those of the last launch are not those of this one
        memset(of->silence, LIVELY, groups);
        of->walk = 0;
    }
    if (of->walk == 0)
        find_lively(of, groups);
    uint32_t count = of->lively_count; // those that become lively meanwhile have been looked at
    for (uint32_t n = 0, next = count > 1, later; n < count; n++, next = later) {
        later = next + 1 < count ? next + 1 : 0;
        expect(w, of->lively[later], boxes, false);
        expect(w, of->lively[next], boxes, true);
        uint32_t before = *found;
        if (!look(w, of->lively[n], boxes, found))
            return false;
        // A look takes the line away from the GPU, which is about to write to it.
        for (uint32_t p = 0; *found == before && count > 1 && p < PAUSES; p++)
            relax();
    }
    for (uint32_t g = of->walk; g < groups; g += is_whole ? 1 : PARTS)
        if (of->silence[g] == LIVELY && !look(w, g, boxes, found))
            return false;
    of->walk = is_whole ? 0 : (of->walk + 1) % PARTS;
    if (of->walk == 0) // all of them have been looked at
        STORE(of->rounds, of->rounds + 1);
    return true;
}

static bool has_work(const server *s, uint32_t n)
{
    return LOAD(s->is_awake) && n * GROUP < LOAD(s->boxes);
}

static void sleep_until_work(worker *w)
{
    server *s = w->s;
    pthread_mutex_lock(&s->lock);
    while (!has_work(s, w->share) && !LOAD(s->is_stopping))
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void make_noise(server *s)
{
    pthread_mutex_lock(&s->lock);
    STORE(s->noise, s->noise + 1);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

// A call that nobody has found yet in a mailbox of this share, or of any.
enum { ANY_SHARE = MOST_SHARES };
static bool has_calls(const server *s, uint32_t of)
{
    uint32_t boxes = LOAD(s->boxes);
    for (uint32_t b = 0; b < boxes; b++)
        if ((of == ANY_SHARE || b / GROUP % s->share_count == of) &&
            mailbox_number(word_load(&s->place.boxes[b].header[0])) !=
                __atomic_load_n(&s->taken[b].number, __ATOMIC_RELAXED))
            return true;
    return false;
}

static void sleep_until_noise(server *s, uint32_t of)
{
    pthread_mutex_lock(&s->lock);
    uint32_t seen = LOAD(s->noise);
    ADD(s->sleepers, 1);
    STORE(s->shares[of].is_asleep, 1);
    while (LOAD(s->noise) == seen && LOAD(s->is_awake) && !LOAD(s->is_stopping))
        pthread_cond_wait(&s->changed, &s->lock);
    STORE(s->shares[of].is_asleep, 0);
    ADD(s->sleepers, UINT32_MAX);
    pthread_mutex_unlock(&s->lock);
}

// Naps grow with the silence; the first call after it waits for one.
static uint32_t nap_after(uint64_t silence)
{
    return silence < 5000 ? 20 : silence < 20000 ? 50 : 200;
}

static void own(worker *w)
{
    server *s = w->s;
    uint64_t last = now_us();
    uint32_t idle = 0, rounds = 0, found;
    bool has_slept = true; // what has come meanwhile is found by one walk
    w->host.is_left = false;
    while (!LOAD(s->is_stopping)) {
        if (!has_work(s, w->share)) {
            sleep_until_work(w);
            has_slept = true;
            last = now_us();
        }
        // The owner of the first share looks for those that sleep; in silence one look is enough.
        bool looks_for_all = !w->share && LOAD(s->sleepers) && (idle > 64 || ++rounds % 64 == 0);
        if (looks_for_all && !has_calls(s, ANY_SHARE)) {
            found = s->shares[0].walk = 0;
            STORE(s->shares[0].rounds, s->shares[0].rounds + 1);
        } else if (!walk(w, has_slept, &found)) {
            return;
        } else if (looks_for_all && has_calls(s, ANY_SHARE)) { // its own were first
            make_noise(s);
        }
        has_slept = false;
        if (found)
            idle = 0;
        if (idle > 256) // a warp that calls again and again does so within that
            relax();
        if (++idle % 64)
            continue;
        uint64_t now = now_us();
        last = idle == 64 ? now : last;
        uint64_t silence = now - last;
        if (silence > QUIET_US && w->share) {
            sleep_until_noise(s, w->share);
            has_slept = true;
            last = now_us();
            idle = 0;
        } else if (silence > SPIN_US) {
            nap(nap_after(silence));
            has_slept = true;
            idle |= 63; // look at the clock after the next round
        }
    }
}

static void *worker_main(void *user)
{
    worker *w = user;
    server *s = w->s;
    context_call base;
    context_serve(&base, s->k);
    expect_short_naps();
    pthread_mutex_lock(&s->lock);
    while (!LOAD(s->is_stopping)) {
        if (w->share == NOBODY) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        pthread_mutex_unlock(&s->lock);
        own(w);
        pthread_mutex_lock(&s->lock);
        if (w->host.is_left)
            w->share = NOBODY;
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

// A thread for a share, under the lock; NULL: there is none. It starts when the lock is free.
static worker *worker_for(server *s, uint32_t n)
{
    for (uint32_t k = 0; k < s->worker_count; k++)
        if (s->workers[k]->share == NOBODY) {
            s->workers[k]->share = n;
            return s->workers[k];
        }
    worker *w = s->worker_count < MOST_THREADS ? aligned_alloc(_Alignof(worker), sizeof *w) : NULL;
    if (!w)
        return NULL;
    *w = (worker){.s = s, .number = s->worker_count + 1, .share = n};
    w->functions = (mailbox_functions){kind_of, serve, w};
    w->host = (mailbox_host){.boxes = s->place.boxes,
                             .rows = s->place.rows,
                             .taken = s->taken,
                             .state = &s->state,
                             .functions = &w->functions};
    if (pthread_create(&w->thread, NULL, worker_main, w)) {
        free(w);
        return NULL;
    }
    return s->workers[s->worker_count++] = w;
}

// --- the watcher
// `now` is what the owner of share n was seen at: within a function, for long.
static void replace(server *s, uint32_t n, uint64_t now)
{
    pthread_mutex_lock(&s->lock);
    worker *old = s->workers[s->shares[n].owner - 1], *w = worker_for(s, n); // waits for the lock
    STORE(old->is_suspect, 1);
    if (w && fence_of_watcher(s) && LOAD(old->now) == now) {
        ADD(s->in_service, 1);
        STORE(s->shares[n].owner, w->number);
    } else { // the function has returned
        STORE(old->is_suspect, 0);
        if (w)
            w->share = NOBODY;
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

// Calls are answered with CANCELLED from now on; a launch may have begun since, and forgotten it.
static void close_calls(server *s)
{
    pthread_mutex_lock(&s->lock);
    if (__atomic_load_n(&s->k->cancel, __ATOMIC_RELAXED) && !word_load(&s->state))
        mailbox_close(&s->state);
    pthread_mutex_unlock(&s->lock);
}

static void *watch(void *user)
{
    server *s = user;
    uint64_t seen[MOST_SHARES] = {0};
    uint32_t quiet = 0; // rounds without a call
    while (!LOAD(s->is_stopping)) {
        if (!LOAD(s->is_awake)) {
            pthread_mutex_lock(&s->lock);
            while (!LOAD(s->is_awake) && !LOAD(s->is_stopping))
                pthread_cond_wait(&s->changed, &s->lock);
            pthread_mutex_unlock(&s->lock);
        }
        word_count(s->place.beat);
        if (__atomic_load_n(&s->k->cancel, __ATOMIC_RELAXED))
            close_calls(s);
        for (uint32_t n = 0; n < s->share_count; n++) {
            uint32_t owner = LOAD(s->shares[n].owner); // this thread alone changes it from now on
            uint64_t now = owner ? LOAD(s->workers[owner - 1]->now) : 0;
            if (now & 1 && now == seen[n])
                replace(s, n, now);
            if (now & 1 || now != seen[n])
                quiet = 0;
            seen[n] = now;
        }
        nap(++quiet < QUIET_ROUNDS ? WATCH_US : 12 * WATCH_US);
        quiet -= quiet > QUIET_ROUNDS;
    }
    return NULL;
}

// --- the service
static uint32_t shares_for(uint32_t boxes, uint32_t threads)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t most = cores < 8 ? 1 : cores < 16 ? 2 : MOST_SHARES;
    if (threads)
        most = threads < MOST_SHARES ? threads : MOST_SHARES;
    uint32_t groups = (boxes + GROUP - 1) / GROUP;
    return groups < most ? groups : most;
}

static bool make_groups(server *s)
{
    uint32_t all = (s->place.count + GROUP - 1) / GROUP, line = 128,
             groups = ((all + s->share_count - 1) / s->share_count + line - 1) / line * line;
    for (uint32_t n = 0; n < s->share_count; n++) {
        share *of = &s->shares[n];
        of->silence = aligned_alloc(line, groups * (sizeof *of->silence + sizeof *of->lively));
        if (!of->silence)
            return false;
        memset(of->silence, LIVELY, groups);
        of->lively = (uint16_t *)(void *)(of->silence + groups);
        of->group_count = groups;
    }
    return true;
}

server *server_new(kiln *k, const server_place *place)
{
    server *s = aligned_alloc(_Alignof(server), sizeof *s); // what threads share has its own lines
    if (!s)
        return NULL;
    *s = (server){.k = k,
                  .place = *place,
                  .share_count = shares_for(place->count, place->threads),
                  .has_barrier = get_barrier()};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    size_t taken = (place->count + 3u) / 4 * 4 * sizeof *s->taken;
    s->taken = aligned_alloc(4 * sizeof *s->taken, taken);
    if (s->taken)
        memset(s->taken, 0, taken);
    s->bytes = calloc(place->count, sizeof *s->bytes);
    s->rows = calloc(SITES + 1, sizeof *s->rows);
    if (s->taken && s->bytes && s->rows && make_groups(s))
        return s;
    server_free(s);
    return NULL;
}

void server_free(server *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    STORE(s->is_stopping, 1);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (s->has_watcher) // it makes threads: it goes first
        pthread_join(s->watcher, NULL);
    for (uint32_t n = 0; n < s->worker_count; n++) {
        pthread_join(s->workers[n]->thread, NULL);
        free(s->workers[n]);
    }
    for (uint32_t b = 0; s->bytes && b < s->place.count; b++)
        serve_bytes_free(s->bytes[b]);
    for (uint32_t n = 0; s->rows && n < SITES; n++)
        free(s->rows[n]);
    for (uint32_t n = 0; n < s->share_count; n++)
        free(s->shares[n].silence);
    free(s->taken);
    free(s->bytes);
    free(s->rows);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
}

// Under the lock.
static bool start_threads(server *s)
{
    if (!s->has_watcher && pthread_create(&s->watcher, NULL, watch, s))
        return false;
    s->has_watcher = true;
    for (uint32_t n = 0; n < s->share_count; n++) {
        worker *w = s->shares[n].owner ? NULL : worker_for(s, n);
        if (w)
            STORE(s->shares[n].owner, w->number);
        if (!s->shares[n].owner)
            return false;
    }
    return true;
}

// Every thread has looked at all its mailboxes since.
static void wait_for_rounds(server *s)
{
    uint64_t rounds[MOST_SHARES];
    for (uint32_t n = 0; n < s->share_count; n++)
        rounds[n] = LOAD(s->shares[n].rounds);
    for (uint32_t n = 0, us = 5; n < s->share_count;) {
        bool is_idle = LOAD(s->shares[n].is_asleep) && !has_calls(s, n);
        if (!has_work(s, n) || is_idle || LOAD(s->shares[n].rounds) - rounds[n] >= 2) {
            n++;
            continue;
        }
        if (LOAD(s->sleepers)) // again and again: one may have looked and sleep since
            make_noise(s);
        nap(us);
        us = us < 500 ? us * 2 : us;
    }
}

bool server_wake(server *s, uint32_t boxes)
{
    if (LOAD(s->is_awake) && boxes <= s->boxes)
        return true;
    pthread_mutex_lock(&s->lock);
    bool was_closed = false;
    if (!LOAD(s->is_awake)) {
        was_closed = word_load(&s->state) != 0;
        __atomic_store_n(&s->k->cancel, 0, __ATOMIC_RELAXED);
        word_store(&s->state, (uint64_t)0);
        s->stop.m = NULL;
    }
    bool is_fine = start_threads(s);
    if (is_fine) {
        uint32_t most = boxes < s->place.count ? boxes : s->place.count;
        if (most > s->boxes)
            STORE(s->boxes, most);
        STORE(s->is_awake, 1);
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (is_fine && was_closed) // a round that has begun may not know yet
        wait_for_rounds(s);
    return is_fine;
}

void server_rest(server *s)
{
    if (!LOAD(s->is_awake))
        return;
    wait_for_rounds(s);
    for (uint32_t us = 5; LOAD(s->in_service); us = us < 500 ? us * 2 : us)
        nap(us);
    STORE(s->is_awake, 0);
}

bool server_take_stop(server *s, server_stop *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->stop;
    s->stop.m = NULL;
    pthread_mutex_unlock(&s->lock);
    return out->m != NULL;
}

uint32_t server_pending(const server *s, char *out, size_t size)
{
    enum { SHOWN = 4 };
    uint32_t count = 0;
    size_t len = 0;
    out[0] = 0;
    for (uint32_t b = 0; b < s->place.count; b++) {
        const mailbox *box = &s->place.boxes[b];
        uint64_t first = word_load_acquire(&box->header[0]), second = word_load(&box->header[1]);
        uint32_t number = mailbox_number(first), kind = mailbox_bits(second);
        const serve_row *row = row_of(s, MAILBOX_FUNCTION(kind));
        if (!number || number == mailbox_number(word_load(&box->done)) ||
            number != mailbox_number(second) || !row || count++ >= SHOWN || len >= size)
            continue;
        uint32_t thread = mailbox_bits(word_load(&box->who[0]));
        len += (size_t)snprintf(out + len, size - len, "%s'%.*s'", len ? ", " : "",
                                (int)row->shape.name.len, row->shape.name.at);
        if (row->rows.has_who && len < size)
            len += (size_t)snprintf(out + len, size - len, " of thread (%u, %u, %u) of block %u",
                                    thread & 1023, thread >> 10 & 1023, thread >> 20,
                                    mailbox_bits(word_load(&box->who[2])));
    }
    if (count > SHOWN && len < size)
        snprintf(out + len, size - len, " and %u more", count - SHOWN);
    return count;
}
