// Runs a grid of a kernel's machine code. Host threads take blocks in order; a block's warps run
// one after another, or, when they may wait for one another, as fibers. When blocks fail at the
// same time the lowest one's error is reported, as the interpreter does. Start reading at
// cpu_launch.
#include "dev/cpu/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "rt/channel/format.h"
#include "rt/host/host.h"

// A second thread takes 15 to 50 us to wake up, about as long as 2^21 instructions of lanes take.
enum {
    LANES = 32,
    WORTH_THREADS = 1 << 21,
    MOST_OF_A_CHUNK = 1024 /* blocks */,
    USUAL_CACHE = 32 << 20
};

typedef struct grid {
    kiln_kernel *kernel;
    const cpu_row *row;
    const rt_launch *launch;
    const uint64_t *args;
    uint32_t *threads; // [axis][warp][lane]
    uint32_t warp_count, thread_count;
    bool streams; // its results are larger than the caches
    uint64_t block_count, next, failed, chunk;
    pthread_mutex_t lock; // of the rest
    interp_error error;
    fault_note fault; // of error: a signal
    uint32_t fault_warp;
} grid;

typedef enum state { STATE_READY, STATE_AT_BARRIER, STATE_DONE } state;

typedef struct runner runner;
typedef struct task { // one warp; the cpu_warp is first, so that callbacks find the rest
    cpu_warp w;
    runner *r;
    fiber f;
    state state;
    uint32_t site;
} task;

struct runner { // one host thread's work
    grid *g;
    task *tasks;
    uint8_t *memory, *shared, *fault_stack;
    uint64_t shared_size, local_size;
    uint64_t rank;     // of the block that runs
    uint32_t block[3]; // where it is
    uint32_t made;     // fibers
    task *now;         // the one that runs
    bool is_failed;
    uint8_t *counted; // what a host function is given a copy of
    uint64_t counted_size;
    interp_error error;
    fault_note fault;
};

// --- what a kernel calls
static void thread_of(const task *t, uint32_t lane, uint32_t out[3])
{
    const uint32_t *dim = t->w.block_dim;
    uint32_t rank = t->w.warp * LANES + lane;
    out[0] = rank % dim[0];
    out[1] = rank / dim[0] % dim[1];
    out[2] = rank / dim[0] / dim[1];
}

void cpu_add_text(interp_error *e, const char *format, ...)
{
    size_t used = strlen(e->text);
    va_list args;
    va_start(args, format);
    vsnprintf(e->text + used, sizeof e->text - used, format, args);
    va_end(args);
}

static void fail(task *t, diag_code code, const channel_site *site, uint32_t lane, const char *what)
{
    runner *r = t->r;
    t->w.warp_end = 0; // no further warp
    if (r->is_failed)
        return;
    r->is_failed = true;
    interp_error *e = &r->error;
    *e = (interp_error){.code = code, .file = site ? site->file : "", .block_rank = r->rank};
    cpu_add_text(e, "kernel '%s': %s", r->g->kernel->name, what);
    if (site && site->line) {
        e->line = site->line;
        e->column = site->column;
        cpu_add_text(e, "\n  at %s:%u:%u", site->file, site->line, site->column);
    }
    uint32_t thread[3];
    thread_of(t, lane, thread);
    cpu_add_text(e, "\n  in thread (%u, %u, %u) of block (%u, %u, %u)", thread[0], thread[1],
                 thread[2], t->w.block[0], t->w.block[1], t->w.block[2]);
}

static void on_fault(cpu_warp *w, uint32_t kind, uint32_t number, uint32_t lanes)
{
    task *t = (task *)(void *)w;
    const kiln_module *m = t->r->g->kernel->module;
    const channel_site *site =
        kind != CPU_UNREACHABLE && number < m->site_count ? &m->sites[number] : NULL;
    uint32_t lane = lanes ? (uint32_t)__builtin_ctz(lanes) : 0;
    char what[700] = "";
    switch ((cpu_fault)kind) {
    case CPU_ASSERT:
        if (site)
            snprintf(what, sizeof what, "%s%.*s", channel_assert_prefix(site->text),
                     (int)site->text.len, site->text.at);
        fail(t, site ? channel_assert_code(site->text) : K6024, site, lane, what);
        break;
    case CPU_TRAP: fail(t, K6025, site, lane, "the kernel called trap()"); break;
    case CPU_UNREACHABLE:
        fail(t, K6026, NULL, lane, "code marked unreachable() was reached");
        break;
    case CPU_BOUNDS:
        if (site)
            channel_bounds_text(what, sizeof what, site->text, site->elem, w->values[0],
                                w->values[1]);
        fail(t, K6020, site, lane, what);
        break;
    }
}

static void on_print(cpu_warp *w, uint32_t number, uint32_t lanes, const uint64_t *args)
{
    task *t = (task *)(void *)w;
    const kiln_module *m = t->r->g->kernel->module;
    if (number >= m->site_count)
        return;
    const channel_site *site = &m->sites[number];
    bool was_guarded = fault_pause(); // takes memory and a lock, and calls the program
    uint32_t types[COUNT(site->arguments)];
    for (uint32_t k = 0; k < site->argument_count; k++)
        types[k] = site->arguments[k];
    print_out out = {0};
    for (; lanes; lanes &= lanes - 1) {
        uint64_t bits[COUNT(site->arguments)];
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        for (uint32_t k = 0; k < site->argument_count; k++)
            bits[k] = args[k * LANES + lane];
        print_args list = {.types = types,
                           .bits = bits,
                           .count = site->argument_count,
                           .strings = m->strings,
                           .string_count = m->string_count};
        out.len = 0;
        print_format(&out, site->text, &list);
        if (out.len && !out.is_full)
            context_print(m->k, out.at, out.len);
    }
    if (out.is_full)
        fail(t, K6004, site, 0, "printf ran out of host memory");
    print_free(&out);
    fault_resume(was_guarded);
}

// --- host functions
// A byte of this lane's own arrays, whose words lie LANES words apart (back/cpu/memory.h).
static uint8_t *local_byte(const cpu_warp *w, uint64_t offset, uint32_t lane)
{
    return w->local + (offset & ~UINT64_C(3)) * LANES + lane * 4 + (offset & 3);
}

enum { LOCAL_POINTER = 63, MOST_COUNTED = 1 << 30 };
// Copies counted objects from, or back to, where the kernel has them. What it points to may not be
// there: then a signal ends the kernel, and the runner keeps `copy`.
static void move_counted(const cpu_warp *w, uint64_t pointer, uint32_t lane, uint8_t *copy,
                         uint64_t bytes, bool is_back)
{
    if (!(pointer >> LOCAL_POINTER)) {
        void *there = (void *)(uintptr_t)pointer;
        memcpy(is_back ? there : copy, is_back ? copy : there, bytes);
        return;
    }
    for (uint64_t n = 0; n < bytes; n++) {
        uint8_t *there = local_byte(w, (pointer << 1 >> 1) + n, lane);
        *(is_back ? there : copy + n) = *(is_back ? copy + n : there);
    }
}

// Room for all counted objects of one call; they are the kernel's own copies.
static bool counted_room(runner *r, const host_shape *s, host_lane *call)
{
    uint64_t bytes = 0;
    for (uint32_t p = 0; p < s->param_count; p++)
        if (host_is_counted(s->params[p].kind)) {
            uint64_t more = call->in[s->params[p].first + 1];
            if (more > MOST_COUNTED || (bytes += (more + 15) / 16 * 16) > MOST_COUNTED)
                return false;
        }
    if (bytes > r->counted_size) {
        free(r->counted);
        r->counted = malloc(bytes);
        r->counted_size = r->counted ? bytes : 0;
    }
    uint64_t at = 0;
    for (uint32_t p = 0; p < s->param_count && (r->counted || !bytes); p++) {
        uint64_t more = call->in[s->params[p].first + 1];
        if (!host_is_counted(s->params[p].kind) || !more)
            continue;
        call->counted[p] = r->counted + at;
        at += (more + 15) / 16 * 16;
    }
    return r->counted || !bytes;
}

static void move_all_counted(const cpu_warp *w, const host_shape *s, const host_lane *call,
                             uint32_t lane, bool is_back)
{
    for (uint32_t p = 0; p < s->param_count; p++)
        if (call->counted[p] && (!is_back || s->params[p].kind == 'm'))
            move_counted(w, call->in[s->params[p].first], lane, call->counted[p],
                         call->in[s->params[p].first + 1], is_back);
}

static int on_host(cpu_warp *w, uint32_t number, uint32_t lanes, const uint64_t *args,
                   uint64_t *got)
{
    task *t = (task *)(void *)w;
    const kiln_kernel *kernel = t->r->g->kernel;
    const host_site *at = host_site_of(kernel->module, number);
    const channel_site *site = at ? &kernel->module->sites[number] : NULL;
    char why[512] = "the host function is not known";
    bool is_fine = at != NULL;
    for (uint32_t left = lanes, given; left && is_fine; left &= ~given) {
        const host_shape *s = &at->shape;
        host_lane call = {{0}, {0}, {NULL}, {0}, {0}};
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        given = s->is_warp ? left : 1u << lane;
        for (uint32_t k = 0; k < s->in_count; k++)
            call.in[k] = args[k * LANES + lane];
        thread_of(t, lane, call.thread);
        memcpy(call.block, w->block, sizeof call.block);
        if (!counted_room(t->r, s, &call)) {
            fail(t, K6004, site, lane, "there is no host memory for what a host function is given");
            return 0;
        }
        move_all_counted(w, s, &call, lane, false);
        bool was_guarded = fault_pause();
        is_fine = host_call(kernel->name, at, &call, why, sizeof why);
        fault_resume(was_guarded);
        move_all_counted(w, s, &call, lane, true);
        for (uint32_t rest = given; rest; rest &= rest - 1)
            for (uint32_t k = 0; k < s->out_count; k++)
                got[k * LANES + (uint32_t)__builtin_ctz(rest)] = call.out[k];
        if (!is_fine)
            fail(t, K6048, site, lane, why);
    }
    if (!at)
        fail(t, K6048, NULL, 0, why);
    return is_fine;
}

static uint64_t on_time(cpu_warp *w, uint32_t kind)
{
    (void)w;
    (void)kind;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_barrier(cpu_warp *w, uint32_t site)
{
    task *t = (task *)(void *)w;
    t->state = STATE_AT_BARRIER;
    t->site = site;
    // Usually the next warp has not come here yet, or this is the last one and all may pass: then
    // it goes on without a detour.
    runner *r = t->r;
    task *next = t + 1;
    if (t == &r->tasks[r->g->warp_count - 1]) {
        for (next = r->tasks; next <= t; next++)
            if (next->state != STATE_AT_BARRIER || next->site != site)
                break;
        if (next > t)
            for (next = t;; next--) {
                next->state = STATE_READY;
                if (next == r->tasks)
                    break;
            }
        else
            next = NULL;
    }
    if (next && next->state == STATE_READY) {
        r->now = next;
        if (fiber_pass(&t->f, &next->f))
            return;
    }
    fiber_stop(&t->f);
}

static void on_yield(cpu_warp *w)
{
    task *t = (task *)(void *)w;
    fiber_stop(&t->f);
}

static void no_barrier(cpu_warp *w, uint32_t site)
{
    (void)w;
    (void)site;
}

static void no_yield(cpu_warp *w)
{
    (void)w;
}

// --- a block
static void fiber_body(void *task_pointer)
{
    task *t = task_pointer;
    t->r->g->row->run(&t->w);
    t->state = STATE_DONE;
    fiber_stop(&t->f);
}

// What stays the same for all warps a task runs.
static void task_init(runner *r, task *t, bool is_alone)
{
    const grid *g = r->g;
    cpu_warp *w = &t->w;
    t->r = r;
    w->args = g->args;
    w->shared = r->shared;
    w->dynamic = r->shared + g->row->shared_bytes;
    w->cancel = &g->kernel->module->k->cancel;
    w->barrier = is_alone ? no_barrier : on_barrier;
    w->yield = is_alone ? no_yield : on_yield;
    w->fault = on_fault;
    w->print = on_print;
    w->host = on_host;
    w->time = on_time;
    memcpy(w->block_dim, g->launch->block, sizeof w->block_dim);
    memcpy(w->grid_dim, g->launch->grid, sizeof w->grid_dim);
    w->dynamic_bytes = (uint32_t)g->launch->shared_bytes;
    w->threads = g->thread_count;
    w->streams = g->streams;
}

static void set_warp(runner *r, task *t, uint32_t warp, uint32_t end)
{
    const grid *g = r->g;
    uint32_t left = g->thread_count - warp * LANES;
    cpu_warp *w = &t->w;
    for (uint32_t axis = 0; axis < 3; axis++)
        w->thread[axis] = g->threads + ((size_t)axis * g->warp_count + warp) * LANES;
    w->warp = warp;
    w->warp_end = end;
    w->live = left >= LANES ? 0xffffffffu : (1u << left) - 1;
}

static void set_block(const runner *r, task *t)
{
    memcpy(t->w.block, r->block, sizeof t->w.block);
}

static void first_block(runner *r, uint64_t rank)
{
    const uint32_t *grid_dim = r->g->launch->grid;
    r->rank = rank;
    r->block[0] = (uint32_t)(rank % grid_dim[0]);
    r->block[1] = (uint32_t)(rank / grid_dim[0] % grid_dim[1]);
    r->block[2] = (uint32_t)(rank / grid_dim[0] / grid_dim[1]);
}

// Small blocks feel three divisions.
static void next_block(runner *r)
{
    const uint32_t *grid_dim = r->g->launch->grid;
    r->rank++;
    if (++r->block[0] < grid_dim[0])
        return;
    r->block[0] = 0;
    if (++r->block[1] < grid_dim[1])
        return;
    r->block[1] = 0;
    r->block[2]++;
}

// All warps have stopped and none is ready: they may pass, or one waits at another barrier. Warps
// that have returned count as arrived. False: the block has ended.
static bool open_barrier(runner *r)
{
    task *waiting = NULL, *other = NULL;
    for (uint32_t k = 0; k < r->g->warp_count; k++)
        if (!waiting && r->tasks[k].state == STATE_AT_BARRIER)
            waiting = &r->tasks[k];
    if (!waiting)
        return false;
    for (uint32_t k = 0; k < r->g->warp_count; k++)
        if (r->tasks[k].state != STATE_DONE &&
            (r->tasks[k].state != STATE_AT_BARRIER || r->tasks[k].site != waiting->site))
            other = &r->tasks[k];
    if (other && __atomic_load_n(waiting->w.cancel, __ATOMIC_RELAXED))
        return false; // some have left because of that
    if (other) {
        char what[160];
        uint32_t a[3], b[3];
        thread_of(waiting, 0, a);
        thread_of(other, 0, b);
        snprintf(what, sizeof what,
                 "thread (%u, %u, %u) waits at a barrier that thread (%u, %u, %u) does not reach: "
                 "it waits at another",
                 a[0], a[1], a[2], b[0], b[1], b[2]);
        fail(waiting, K6027, NULL, 0, what);
        return false;
    }
    for (uint32_t k = 0; k < r->g->warp_count; k++)
        if (r->tasks[k].state == STATE_AT_BARRIER)
            r->tasks[k].state = STATE_READY;
    return true;
}

static void run_together(runner *r)
{
    uint32_t count = r->g->warp_count;
    for (uint32_t k = 0; k < count; k++) {
        set_warp(r, &r->tasks[k], k, k + 1);
        set_block(r, &r->tasks[k]);
        r->tasks[k].state = STATE_READY;
        fiber_start(&r->tasks[k].f, fiber_body, &r->tasks[k]);
    }
    for (bool goes_on = true; goes_on && !r->is_failed;) {
        bool is_ready = false;
        for (uint32_t k = 0; k < count && !r->is_failed; k++)
            if (r->tasks[k].state == STATE_READY) {
                r->now = &r->tasks[k];
                fiber_enter(&r->tasks[k].f);
                is_ready |= r->tasks[k].state == STATE_READY;
            }
        goes_on = is_ready || open_barrier(r);
    }
}

static void run_block(runner *r)
{
    const grid *g = r->g;
    if (r->shared_size)
        memset(r->shared, 0, r->shared_size);
    if (g->row->needs_fibers && g->warp_count > 1) {
        run_together(r);
        return;
    }
    task *t = r->now = &r->tasks[0];
    set_block(r, t);
    set_warp(r, t, 0, g->warp_count);
    g->row->run(&t->w);
}

// --- a host thread
enum { MOST_ALIGN = 4096 }; // that _Alignas may ask for

static bool runner_make(runner *r, grid *g)
{
    uint32_t tasks = g->row->needs_fibers ? g->warp_count : 1;
    uint64_t local = (g->row->local_bytes + 63) & ~(uint64_t)63;
    *r = (runner){.g = g, .local_size = local};
    r->shared_size = g->row->shared_bytes + g->launch->shared_bytes;
    r->tasks = calloc(tasks, sizeof *r->tasks);
    uint64_t shared = (r->shared_size + 63) & ~(uint64_t)63;
    r->memory = malloc((size_t)(MOST_ALIGN + shared + local * tasks + 64) + fault_stack_bytes());
    bool fine = r->tasks && r->memory;
    if (fine) {
        r->shared = r->memory + ((MOST_ALIGN - 1) & (0 - (uintptr_t)r->memory));
        uint8_t *locals = r->shared + shared;
        for (uint32_t k = 0; k < tasks; k++)
            r->tasks[k].w.local = locals + k * local;
        r->fault_stack = locals + local * tasks;
    }
    while (fine && g->row->needs_fibers && g->warp_count > 1 && r->made < tasks) {
        fine = fiber_make(&r->tasks[r->made].f);
        r->made += fine;
    }
    for (uint32_t k = 0; fine && k < tasks; k++)
        task_init(r, &r->tasks[k], tasks == 1 || !g->row->needs_fibers);
    if (!fine) {
        r->is_failed = true;
        r->error = (interp_error){.code = K6004, .file = ""};
        cpu_add_text(&r->error, "kernel '%s': no host memory for one block", g->kernel->name);
    }
    return fine;
}

static void runner_free(runner *r)
{
    for (uint32_t k = 0; k < r->made; k++)
        fiber_free(&r->tasks[k].f);
    free(r->tasks);
    free(r->memory);
    free(r->counted);
}

static void run_blocks(void *runner_pointer)
{
    runner *r = runner_pointer;
    grid *g = r->g;
    const volatile int *cancel = &g->kernel->module->k->cancel;
    while (!r->is_failed) {
        uint64_t first = __atomic_fetch_add(&g->next, g->chunk, __ATOMIC_RELAXED);
        uint64_t end = first + g->chunk < g->block_count ? first + g->chunk : g->block_count;
        if (first >= g->block_count)
            break;
        __atomic_store_n(&g->kernel->module->k->blocks_taken, first, __ATOMIC_RELAXED);
        for (first_block(r, first); !r->is_failed && r->rank < end &&
                                    r->rank <= __atomic_load_n(&g->failed, __ATOMIC_RELAXED);
             next_block(r)) {
            run_block(r);
            if (__atomic_load_n(cancel, __ATOMIC_RELAXED) && !r->is_failed) {
                r->is_failed = true;
                r->error = (interp_error){.code = K6029, .file = "", .block_rank = r->rank};
                cpu_add_text(&r->error, "kernel '%s': the launch was cancelled", g->kernel->name);
            }
        }
    }
}

static void run_in_fiber(void *fiber_pointer)
{
    fiber_enter(fiber_pointer);
}

typedef struct own_stack { // for a thread with a small one
    fiber f;
    runner *r;
} own_stack;

static void run_and_stop(void *own_pointer)
{
    own_stack *own = own_pointer;
    run_blocks(own->r);
    fiber_stop(&own->f);
}

// True: it ran to its end, or to a failure that is noted.
static bool run_guarded(runner *r)
{
    own_stack own = {.r = r};
    if (r->made || fault_has_room())
        return fault_run(r->fault_stack, r->made > 0, run_blocks, r, &r->fault);
    if (!fiber_make(&own.f)) {
        r->is_failed = true;
        r->error = (interp_error){.code = K6004, .file = ""};
        cpu_add_text(&r->error, "kernel '%s': no host memory for one block", r->g->kernel->name);
        return true;
    }
    fiber_start(&own.f, run_and_stop, &own);
    bool fine = fault_run(r->fault_stack, true, run_in_fiber, &own.f, &r->fault);
    fiber_free(&own.f);
    return fine;
}

static void work(void *grid_pointer, uint32_t index)
{
    (void)index;
    grid *g = grid_pointer;
    runner r;
    if (runner_make(&r, g) && !run_guarded(&r)) {
        r.is_failed = true;
        r.error = (interp_error){.code = K6020, .file = "", .block_rank = r.rank};
    }
#ifdef __x86_64__
    __asm__ volatile("sfence" ::: "memory"); // what went past the caches is there
#endif
    if (r.is_failed) {
        pthread_mutex_lock(&g->lock);
        if (r.error.block_rank < g->failed) {
            __atomic_store_n(&g->failed, r.error.block_rank, __ATOMIC_RELAXED);
            g->error = r.error;
            g->fault = r.fault;
            g->fault_warp = r.fault.signal ? r.now->w.warp : 0;
        }
        pthread_mutex_unlock(&g->lock);
    }
    runner_free(&r);
}

// --- the grid
static uint32_t *thread_table(const grid *g)
{
    uint32_t *table = malloc((size_t)3 * g->warp_count * LANES * sizeof *table);
    const uint32_t *dim = g->launch->block;
    uint32_t count = g->warp_count * LANES;
    for (uint32_t rank = 0; table && rank < count; rank++) {
        table[rank] = rank % dim[0];
        table[count + rank] = rank / dim[0] % dim[1];
        table[2 * count + rank] = rank / dim[0] / dim[1];
    }
    return table;
}

// Few blocks may be much work, and many next to none. Of code that was embedded the work is not
// known.
static uint32_t threads_for(const grid *g)
{
    uint64_t threads = host_of(g->kernel->module->k)->threads;
    bool is_known = cpu_kernel_of(g->kernel)->work != NULL;
    if (!interp_is_parallel(interp_kernel_of(g->kernel)->program) || g->block_count < 2 ||
        (is_known && work_of(g->kernel, g->launch) < WORTH_THREADS))
        return 1;
    if (!threads) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores < 1 ? 1 : (uint64_t)cores;
    }
    threads = threads > 256 ? 256 : threads;
    return (uint32_t)(threads < g->block_count ? threads : g->block_count);
}

// Of the core that asks. sysconf says what all cores of the chip have together.
static uint64_t last_cache(void)
{
    static uint64_t known; // atomic
    uint64_t bytes = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (bytes)
        return bytes;
    unsigned kib = 0;
    FILE *in = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (in) {
        if (fscanf(in, "%uK", &kib) != 1)
            kib = 0;
        fclose(in);
    }
    bytes = kib ? (uint64_t)kib << 10 : USUAL_CACHE;
    __atomic_store_n(&known, bytes, __ATOMIC_RELAXED);
    return bytes;
}

// What the kernel writes would push everything else out of the caches, itself, too.
static bool is_larger_than_caches(const kiln_kernel *kernel, const rt_launch *l)
{
    double most = (double)last_cache(), room = 0;
    if (!cpu_kernel_of(kernel)->work || work_stores(kernel, l) < most)
        return false;
    const host_device *k = host_of(kernel->module->k);
    for (size_t n = 0; n < kernel->param_count; n++) {
        uint64_t row = l->args[n].bits >> INTERP_SEGMENT_BITS;
        if (kernel->params[n].info.kind == KILN_PARAM_POINTER && !kernel->params[n].info.is_const &&
            row && row < k->row_count)
            room += (double)k->rows[row].size;
    }
    return room >= most;
}

// The interpreter's addresses as this host's.
static uint64_t *make_args(const kiln_kernel *kernel, const rt_launch *l)
{
    const host_device *k = host_of(kernel->module->k);
    uint64_t *args = malloc((kernel->param_count + 1) * sizeof *args);
    for (size_t n = 0; args && n < kernel->param_count; n++) {
        uint64_t bits = l->args[n].bits;
        uint64_t row = bits >> INTERP_SEGMENT_BITS;
        if (l->args[n].bytes)
            args[n] = (uint64_t)(uintptr_t)l->args[n].bytes;
        else if (kernel->params[n].info.kind == KILN_PARAM_POINTER && row && row < k->row_count)
            args[n] = (uint64_t)(uintptr_t)k->rows[row].base +
                      (bits & (((uint64_t)1 << INTERP_SEGMENT_BITS) - 1));
        else
            args[n] = bits;
    }
    return args;
}

kiln_status cpu_launch(kiln_kernel *kernel, const cpu_row *row, const rt_launch *l)
{
    kiln *k = kernel->module->k;
    grid g = {.kernel = kernel, .row = row, .launch = l, .failed = UINT64_MAX};
    g.thread_count = l->block[0] * l->block[1] * l->block[2];
    g.warp_count = (g.thread_count + LANES - 1) / LANES;
    g.block_count = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    g.args = make_args(kernel, l);
    g.threads = thread_table(&g);
    if (!g.args || !g.threads) {
        free((void *)(uintptr_t)g.args);
        free(g.threads);
        return error_no_memory(k, "a launch");
    }
    pthread_mutex_init(&g.lock, NULL);
    g.streams = is_larger_than_caches(kernel, l);
    uint32_t threads = threads_for(&g);
    uint64_t share = g.block_count / (threads * 8u);
    g.chunk = threads == 1              ? g.block_count
              : share > MOST_OF_A_CHUNK ? MOST_OF_A_CHUNK
              : share                   ? share
                                        : 1;
    fault_begin();
    pool_run(threads, work, &g);
    fault_end();
    pthread_mutex_destroy(&g.lock);
    if (g.fault.signal)
        blame_fault(kernel, l, &g.fault, g.failed, g.fault_warp, &g.error);
    free((void *)(uintptr_t)g.args);
    free(g.threads);
    if (g.failed == UINT64_MAX && !g.error.code)
        return k->has_lost_print ? error_no_memory(k, "the kernel's output") : KILN_OK;
    return interp_set_error(kernel, &g.error);
}
