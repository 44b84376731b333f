// Candidates, one after the other (tune.h): Ctrl-C, progress, times by the device's events, the
// final table. Start reading at tune_all.
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/knobs.h"
#include "base/term.h"
#include "cli/run.h"
#include "cli/tune.h"

enum { ROUNDS = 9, LEAST_ROUNDS = 3, MOST_PER_ROUND = 1000 };
#define ROUND_US   5000.0 // launches of a round take about so long together
#define ALL_US     1e6    // and all rounds of a slow candidate
#define FAR_SLOWER 2.0    // than the best one: its first round is enough
#define NOISE      0.01   // a candidate that gains less than that is not better than the default
#define LINE_MS    5000.0 // between two lines that are no terminal's

// --- Ctrl-C
static volatile sig_atomic_t interrupted;
static kiln *volatile running;

static void cancel(void)
{
    if (!running)
        return;
    kiln_cancel(running);
    alarm(1); // a launch that begins just now does not see it: again
}

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
    cancel();
}

static void on_alarm(int number)
{
    (void)number;
    cancel();
}

// A second Ctrl-C ends the process.
void tune_catch_interrupt(kiln *k)
{
    kiln_device_info info;
    alarm(0);
    running = k && !kiln_device_info_of(k, &info) && info.caps.can_cancel ? k : NULL;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = k ? on_alarm : SIG_DFL}, NULL);
    struct sigaction action = {.sa_handler = k ? on_interrupt : SIG_DFL,
                               .sa_flags = k ? (int)SA_RESETHAND : 0};
    sigaction(SIGINT, &action, NULL);
}

bool tune_is_interrupted(void)
{
    return interrupted;
}

// --- progress
static void print_best(const tune_session *s)
{
    if (s->all[s->best].state == TUNE_TIMED)
        fprintf(stderr, "; best %.4g us (%s)", s->all[s->best].us, s->all[s->best].choice);
    if (s->all[0].state == TUNE_TIMED && s->best)
        fprintf(stderr, ", default %.4g us", s->all[0].us);
}

void tune_progress(tune_session *s, const char *doing, size_t done, size_t of)
{
    const char *asked = knob_text(KNOB_PROGRESS);
    bool is_always = !strcmp(asked, "always"), is_tty = term_is_tty(stderr);
    double now = run_now_ms(), spent = (now - s->start_ms) * 1e-3;
    if (!strcmp(asked, "never") || (!is_always && !is_tty && now - s->shown_ms < LINE_MS))
        return;
    s->shown_ms = now;
    s->is_drawn = is_tty;
    fprintf(stderr, "%s%s: %s %zu of %zu", is_tty ? "\r\033[K" : "", s->title, doing, done + 1, of);
    if (done)
        fprintf(stderr, ", about %.0f s left", spent / (double)done * (double)(of - done));
    print_best(s);
    fputs(is_tty ? "" : "\n", stderr);
    fflush(stderr);
}

void tune_progress_end(tune_session *s)
{
    if (s->is_drawn)
        fputs("\r\033[K", stderr);
    s->is_drawn = false;
}

// --- times
typedef struct stopwatch {
    kiln_event *start, *end;
} stopwatch;

static kiln_status time_round(tune_session *s, const stopwatch *w, int count, double *us)
{
    double ms = 0;
    kiln_status status = s->reset(s->user);
    if (!status)
        status = kiln_event_record(w->start, NULL);
    for (int n = 0; n < count && !status; n++)
        status = s->launch(s->user);
    if (!status)
        status = kiln_event_record(w->end, NULL);
    if (!status)
        status = kiln_sync(s->k);
    if (!status)
        status = kiln_event_elapsed(w->start, w->end, &ms);
    *us = ms > 0 ? ms * 1e3 / count : 1e-6; // a clock may be too coarse
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double least_us(const tune_session *s)
{
    const tune_candidate *best = &s->all[s->best];
    return best->state == TUNE_TIMED ? best->us : (double)INFINITY;
}

static kiln_status time_candidate(tune_session *s, const stopwatch *w, tune_candidate *c)
{
    double once = 0, times[64];
    kiln_status status = time_round(s, w, 1, &once);
    if (status)
        return status;
    c->us = once;
    c->rounds = c->per_round = 1;
    if (!s->repeat && once > least_us(s) * FAR_SLOWER)
        return KILN_OK;
    double at_least = once > 1e-3 ? once : 1e-3;
    c->per_round =
        ROUND_US / at_least < MOST_PER_ROUND ? (int)(ROUND_US / at_least) : MOST_PER_ROUND;
    c->per_round = c->per_round ? c->per_round : 1;
    c->rounds = s->repeat ? s->repeat : ROUNDS;
    while (!s->repeat && c->rounds > LEAST_ROUNDS && c->rounds * c->per_round * once > ALL_US)
        c->rounds--;
    c->rounds = c->rounds < (int)COUNT(times) ? c->rounds : (int)COUNT(times);
    for (int n = 0; n < c->rounds && !status && !interrupted; n++)
        status = time_round(s, w, c->per_round, &times[n]);
    if (status || interrupted)
        return status ? status : KILN_E_CANCELLED;
    qsort(times, (size_t)c->rounds, sizeof *times, by_value);
    int half = c->rounds / 2;
    c->us = c->rounds % 2 ? times[half] : (times[half - 1] + times[half]) / 2;
    return KILN_OK;
}

static void try_candidate(tune_session *s, const stopwatch *w, size_t index)
{
    tune_candidate *c = &s->all[index];
    tune_state state = s->begin(s->user, index);
    kiln_status status = state == TUNE_TIMED ? time_candidate(s, w, c) : KILN_OK;
    if (interrupted && (status || state != TUNE_TIMED))
        return; // it still waits
    if (status) {
        snprintf(c->why, sizeof c->why, "%.190s", kiln_last_error(s->k)->text);
        state = TUNE_FAILED;
    }
    c->state = state;
    c->why[strcspn(c->why, "\n")] = 0;
    if (state == TUNE_TIMED && c->us < least_us(s))
        s->best = index;
}

// A fault of a GPU's kernel ends all work in its context: nothing that follows can be timed.
static bool is_lost(tune_session *s)
{
    return kiln_sync(s->k) != KILN_OK && kiln_sync(s->k) != KILN_OK;
}

bool tune_all(tune_session *s)
{
    stopwatch w = {NULL, NULL};
    if (kiln_event_new(s->k, &w.start) || kiln_event_new(s->k, &w.end)) {
        cli_fail(s->k, kiln_last_error(s->k)->status);
        kiln_event_free(w.start);
        return false;
    }
    size_t done = 0, waiting = 0;
    for (size_t n = 0; n < s->count; n++)
        waiting += s->all[n].state == TUNE_WAITS;
    s->start_ms = s->shown_ms = run_now_ms();
    for (size_t n = 0; n < s->count && !interrupted; n++) {
        if (s->all[n].state != TUNE_WAITS)
            continue;
        tune_progress(s, "candidate", done++, waiting);
        try_candidate(s, &w, n);
        if (s->all[n].state == TUNE_FAILED && is_lost(s)) {
            tune_progress_end(s);
            fprintf(stderr,
                    "kiln tune: %s: %s\nkiln tune: the device takes no more work; the "
                    "candidates after that one are not tried (--tune leaves a value out)\n",
                    s->all[n].choice, s->all[n].why);
            break;
        }
        if (!n && s->all[0].state != TUNE_TIMED)
            break;
    }
    tune_progress_end(s);
    s->is_interrupted = interrupted;
    kiln_event_free(w.start);
    kiln_event_free(w.end);
    // What is nearly as fast as the default is not worth another choice.
    if (s->all[0].state == TUNE_TIMED && s->all[s->best].us > s->all[0].us * (1 - NOISE))
        s->best = 0;
    return s->all[0].state == TUNE_TIMED;
}

// --- the end
static size_t count_of(const tune_session *s, tune_state state)
{
    size_t count = 0;
    for (size_t n = 0; n < s->count; n++)
        count += s->all[n].state == state;
    return count;
}

static int save(tune_session *s)
{
    char why[300];
    const tune_candidate *best = &s->all[s->best];
    size_t failed = count_of(s, TUNE_FAILED) + count_of(s, TUNE_WRONG);
    tuned_table t = {0};
    tuned_row row = {.device = s->device,
                     .driver = s->driver,
                     .program = s->program,
                     .shape = s->shape,
                     .choice = best->choice,
                     .us = best->us,
                     .default_us = s->all[0].us,
                     .tried = (uint32_t)count_of(s, TUNE_TIMED),
                     .failed = (uint32_t)failed};
    bool ok = tuned_add(&t, &row);
    snprintf(why, sizeof why, "there is no memory");
    ok = ok && tuned_merge(&t, why, sizeof why);
    tuned_free(&t);
    s->is_saved = ok;
    if (ok)
        return EXIT_FINE;
    fprintf(stderr, "kiln tune: the result is not saved: %s\n", why);
    return EXIT_WORLD;
}

static const char *const state_names[] = {
    [TUNE_WAITS] = "not tried", [TUNE_TIMED] = "timed",   [TUNE_PRUNED] = "pruned",
    [TUNE_SAME] = "same code",  [TUNE_FAILED] = "failed", [TUNE_WRONG] = "wrong"};

static void print_json(const tune_session *s)
{
    printf("{\"tune\": \"");
    cli_put_json(s->title);
    printf("\", \"device\": \"");
    cli_put_json(s->device);
    printf("\", \"driver\": %d, \"program\": \"", s->driver);
    cli_put_json(s->program);
    printf("\", \"shape\": \"%s\", \"best\": \"%s\", \"us\": %.6g, \"default_us\": %.6g, "
           "\"saved\": %s, \"candidates\": [\n",
           s->shape, s->all[s->best].choice, s->all[s->best].us, s->all[0].us,
           s->is_saved ? "true" : "false");
    for (size_t n = 0; n < s->count; n++) {
        const tune_candidate *c = &s->all[n];
        printf("  {\"choice\": \"%s\", \"state\": \"%s\"", c->choice, state_names[c->state]);
        if (c->state == TUNE_TIMED)
            printf(", \"us\": %.6g, \"rounds\": %d, \"launches_per_round\": %d", c->us, c->rounds,
                   c->per_round);
        printf(", \"why\": \"");
        cli_put_json(c->why);
        printf("\"}%s\n", n + 1 < s->count ? "," : "");
    }
    printf("]}\n");
}

// Timed ones first, the fastest at the top; then the others as they were made.
static int by_time(const void *a, const void *b)
{
    const tune_candidate *x = *(const tune_candidate *const *)a,
                         *y = *(const tune_candidate *const *)b;
    bool x_timed = x->state == TUNE_TIMED, y_timed = y->state == TUNE_TIMED;
    if (x_timed != y_timed)
        return x_timed ? -1 : 1;
    if (x_timed && x->us != y->us)
        return x->us < y->us ? -1 : 1;
    return (x > y) - (x < y);
}

static void print_text(const tune_session *s)
{
    const tune_candidate **order = malloc((s->count + 1) * sizeof *order);
    size_t width = 6;
    for (size_t n = 0; n < s->count; n++) {
        size_t len = strlen(s->all[n].choice);
        width = len > width ? len : width;
        if (order)
            order[n] = &s->all[n];
    }
    if (order)
        qsort((void *)(uintptr_t)order, s->count, sizeof *order, by_time);
    printf("%s on %s%s%s\n", s->title, s->device, *s->shape ? ", " : "", s->shape);
    printf("  %-*s %12s %10s\n", (int)width, "choice", "us", "default/");
    for (size_t n = 0; n < s->count; n++) {
        const tune_candidate *c = order ? order[n] : &s->all[n];
        const char *mark = c == &s->all[s->best] ? "best" : "";
        const char *of_default = c == s->all ? "default" : "";
        if (c->state == TUNE_SAME)
            continue;
        if (c->state == TUNE_TIMED)
            printf("  %-*s %12.4g %9.3fx  %s%s%s\n", (int)width, c->choice, c->us,
                   s->all[0].us / c->us, mark, *mark && *of_default ? ", " : "", of_default);
        else
            printf("  %-*s %12s%s%s\n", (int)width, c->choice, state_names[c->state],
                   *c->why ? ": " : "", c->why);
    }
    free((void *)(uintptr_t)order);
    size_t same = count_of(s, TUNE_SAME);
    if (same)
        printf("%zu more make%s the same code as one of these\n", same, same == 1 ? "s" : "");
    if (s->is_interrupted)
        printf("interrupted: %zu of %zu candidates were tried\n",
               s->count - count_of(s, TUNE_WAITS), s->count);
    if (s->is_saved)
        printf("saved: %s (%.3f times as fast as the default)\n", s->all[s->best].choice,
               s->all[0].us / s->all[s->best].us);
}

int tune_finish(tune_session *s)
{
    int code = save(s);
    if (s->is_json)
        print_json(s);
    else
        print_text(s);
    fflush(stdout);
    return s->is_interrupted ? EXIT_INTERRUPT : code;
}
