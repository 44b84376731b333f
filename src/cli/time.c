// Launches with a clock: repeats that start from the same buffers, Ctrl-C, a line of progress on
// terminals, and which code the time belongs to.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/knobs.h"
#include "base/term.h"
#include "cli/run.h"
#include "kiln/hostcall.h"
#include "rt/rt.h"

double run_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// --- progress

typedef struct progress {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool is_on, is_over, is_shown;
    const run *r;
    const run_launch *l;
    int round, rounds; // under the lock
    double start;
} progress;

// Share of the work that is done, or below 0 when it is not known.
static double share_done(const progress *p)
{
    const kiln *k = p->r->k;
    uint64_t all = __atomic_load_n(&k->blocks_all, __ATOMIC_RELAXED),
             taken = __atomic_load_n(&k->blocks_taken, __ATOMIC_RELAXED);
    double one = all ? (double)taken / (double)all : 0;
    double share = ((double)p->round + (one < 1 ? one : 1)) / (double)p->rounds;
    return share > 0.001 ? share : -1;
}

static void draw(progress *p)
{
    double seconds = (run_now_ms() - p->start) * 1e-3, share = share_done(p);
    p->is_shown = true;
    fprintf(stderr, "\r\033[K%s: ", kiln_kernel_name(p->l->kernel));
    const device_ops *ops = p->r->k->ops;
    const char *waits_for = ops->waits_for ? ops->waits_for(p->l->kernel) : NULL;
    if (waits_for)
        fprintf(stderr, "%s, %.0f s", waits_for, seconds);
    else if (share > 0)
        fprintf(stderr, "%.0f %%, %.0f s, about %.0f s left", share * 100, seconds,
                seconds / share * (1 - share));
    else
        fprintf(stderr, "%.0f s", seconds);
    fflush(stderr);
}

static void *show_progress(void *user)
{
    progress *p = user;
    pthread_mutex_lock(&p->lock);
    for (bool is_first = true; !p->is_over; is_first = false) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += is_first;
        until.tv_nsec += is_first ? 0 : 200000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->change, &p->lock, &until);
        if (!p->is_over && run_now_ms() - p->start > 900)
            draw(p);
    }
    if (p->is_shown)
        fprintf(stderr, "\r\033[K");
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void progress_start(progress *p, const run *r, const run_launch *l, int rounds)
{
    const char *asked = knob_text(KNOB_PROGRESS);
    *p = (progress){.r = r, .l = l, .rounds = rounds, .start = run_now_ms()};
    bool is_wanted = !strcmp(asked, "always") || (!strcmp(asked, "auto") && term_is_tty(stderr));
    if (!is_wanted || r->is_quiet)
        return;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->change, NULL);
    p->is_on = pthread_create(&p->thread, NULL, show_progress, p) == 0;
}

static void progress_step(progress *p, int round)
{
    if (!p->is_on)
        return;
    pthread_mutex_lock(&p->lock);
    p->round = round;
    pthread_mutex_unlock(&p->lock);
}

static void progress_end(progress *p)
{
    if (!p->is_on)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
}

// --- repeats

// What the kernel may write, as it is now; NULL in places that need none.
static unsigned char **save_buffers(const run_launch *l, kiln_status *st)
{
    unsigned char **saved = calloc(l->arg_count + 1, sizeof *saved);
    for (size_t i = 0; saved && i < l->arg_count && !*st; i++) {
        const run_arg *a = &l->args[i];
        if (a->info.kind != KILN_PARAM_POINTER || a->info.is_const)
            continue;
        saved[i] = malloc(a->shape.count * a->element.size + 1);
        *st = saved[i] ? kiln_read(a->buffer, 0, saved[i], a->shape.count) : KILN_E_NO_MEMORY;
    }
    return saved;
}

static kiln_status restore_buffers(const run_launch *l, unsigned char **saved)
{
    kiln_status st = KILN_OK;
    for (size_t i = 0; i < l->arg_count && !st; i++)
        if (saved[i])
            st = kiln_write(l->args[i].buffer, 0, saved[i], l->args[i].shape.count);
    return st;
}

static void free_saved(const run_launch *l, unsigned char **saved)
{
    for (size_t i = 0; saved && i < l->arg_count; i++)
        free(saved[i]);
    free(saved);
}

void run_note_length(const run *r, const run_launch *l, const char *name)
{
    for (size_t i = 0; i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        if (a->because[0] && a->info.kind == KILN_PARAM_POINTER && !strcmp(a->info.name, name))
            fprintf(stderr, "note: kiln %s chose %zu elements for '%s' (%s); %s=COUNT changes it\n",
                    r->verb, a->shape.count, name, a->because, name);
    }
}

// A fault may come from what was chosen here: say so beside it when it names the argument.
static void note_assumptions(const run *r, const run_launch *l)
{
    const char *error = kiln_last_error(r->k)->text;
    for (size_t i = 0; i < l->arg_count; i++) {
        const run_arg *a = &l->args[i];
        char quoted[128];
        snprintf(quoted, sizeof quoted, "'%.120s'", a->info.name);
        if (a->info.kind == KILN_PARAM_POINTER) {
            if (strstr(error, quoted))
                run_note_length(r, l, a->info.name);
        } else if (a->because[0]) {
            fprintf(stderr, "note: kiln %s chose %s (%s); %s=VALUE changes it\n", r->verb,
                    a->info.name, a->because, a->info.name);
        }
    }
    if (l->is_guess)
        fprintf(stderr, "note: kiln %s chose the grid (%s); --grid or --items changes it\n",
                r->verb, l->assumed);
}

static kiln_status launch_once(run *r, run_launch *l, const kiln_launch_desc *desc, int count,
                               double *ms)
{
    double start = run_now_ms();
    kiln_status st = KILN_OK;
    for (int i = 0; i < count && !st; i++)
        st = kiln_launch(l->kernel, desc);
    if (!st)
        st = kiln_sync(r->k);
    *ms = (run_now_ms() - start) / count;
    return st;
}

int run_time_rounds(run *r, run_launch *l, int rounds, int per_round, double *times_ms)
{
    kiln_arg args[128];
    kiln_launch_desc desc = {.args = args};
    int failed = run_args(r, l, args, COUNT(args));
    if (failed)
        return failed;
    run_describe(l, &desc);
    memset(times_ms, 0, (size_t)rounds * sizeof *times_ms);
    if (l->is_empty)
        return 0;
    kiln_status st = KILN_OK;
    bool is_repeated = rounds > 1 || per_round > 1;
    unsigned char **saved = is_repeated ? save_buffers(l, &st) : NULL;
    kiln_resources unused;
    progress p;
    run_catch_interrupt(r);
    progress_start(&p, r, l, rounds);
    if (is_repeated && !st) // that waits for the best code
        st = kiln_kernel_resources(l->kernel, &unused);
    for (int i = 0; i < rounds && !st; i++) {
        progress_step(&p, i);
        if (i && saved)
            st = restore_buffers(l, saved);
        if (!st)
            st = launch_once(r, l, &desc, per_round, &times_ms[i]);
    }
    progress_end(&p);
    run_catch_interrupt(NULL);
    free_saved(l, saved);
    fflush(stdout);
    if (!st)
        return 0;
    if (kiln_exit_status(r->k, &failed)) // the kernel ended the program by io_exit
        return failed;
    failed = cli_fail(r->k, st);
    if (st == KILN_E_KERNEL)
        note_assumptions(r, l);
    return failed;
}

int run_launch_all(run *r, run_launch *l, int repeat, double *times_ms)
{
    return run_time_rounds(r, l, repeat, 1, times_ms);
}

const char *run_code_of(const run *r, const run_launch *l)
{
    const device_ops *ops = r->k->ops;
    return ops->ran_on ? ops->ran_on(l->kernel) : "";
}
