// When a module gets its machine code: at once from the program itself or the cache, else from the
// C compiler, which a thread of its own waits for. Until then launches run on the code of quick.c;
// for a kernel that has none, a launch that is surely small is interpreted (the same memory, the
// same bits) and any other one waits. The thread sees nothing but its job; the module takes the
// result in the program's own thread, at a launch, a question or its end. Start reading at
// tier_choose.
#include "dev/cpu/cpu.h"

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include "back/back.h"
#include "base/knobs.h"

// Lane-instructions that one core interprets in about 20 ms.
#define SMALL_WORK 1e7
enum { MOST_WAIT_MS = 10000 };

static void note_work(kiln_module *m, const ir_module *from)
{
    size_t n = 0;
    for (uint32_t k = 0; k < from->funcs.len; k++)
        if (from->funcs.at[k]->is_kernel)
            cpu_kernel_of(m->kernels[n++])->work = work_new(m->a, from->funcs.at[k]);
}

// Addresses differ between the interpreter and machine code: a kernel that keeps them gets one of
// both.
static bool is_small(const kiln_kernel *kernel, const rt_launch *l)
{
    return work_can_move(cpu_kernel_of(kernel)->work) && !l->is_cooperative &&
           work_of(kernel, l) < SMALL_WORK;
}

// --- the workers
static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    pthread_cond_t change;
    long limit, running;
    build_job *jobs; // that run
    bool is_leaving;
} workers = {.once = PTHREAD_ONCE_INIT,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .change = PTHREAD_COND_INITIALIZER};

static void before_fork(void)
{
    pthread_mutex_lock(&workers.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&workers.lock);
}

static void after_fork_in_child(void)
{
    workers.running = 0;
    workers.jobs = NULL; // and their compilers are the parent's
    pthread_cond_init(&workers.change, NULL);
    pthread_mutex_unlock(&workers.lock);
}

static void workers_make(void)
{
    workers.limit = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

// The process ends, or the library goes, without a word to us: no folder and no compiler is left
// behind, and none is waited for.
__attribute__((destructor)) static void workers_leave(void)
{
    pthread_mutex_lock(&workers.lock);
    workers.is_leaving = true;
    for (build_job *job = workers.jobs; job; job = job->next)
        child_stop(job);
    pthread_cond_broadcast(&workers.change);
    while (workers.running)
        pthread_cond_wait(&workers.change, &workers.lock);
    pthread_mutex_unlock(&workers.lock);
}

// As many compilers as there are cores; one that is waited for comes in addition.
static bool worker_begin(build_job *job)
{
    pthread_mutex_lock(&workers.lock);
    while (workers.running >= workers.limit && workers.running && !job->is_wanted &&
           !job->is_given_up && !workers.is_leaving)
        pthread_cond_wait(&workers.change, &workers.lock);
    bool begins = !job->is_given_up && !workers.is_leaving;
    workers.running += begins;
    if (begins) {
        job->next = workers.jobs;
        workers.jobs = job;
    }
    pthread_mutex_unlock(&workers.lock);
    return begins;
}

static void worker_end(build_job *job, bool has_begun)
{
    pthread_mutex_lock(&workers.lock);
    workers.running -= has_begun;
    for (build_job **at = &workers.jobs; has_begun && *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            break;
        }
    __atomic_store_n(&job->is_done, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&workers.change);
    pthread_mutex_unlock(&workers.lock);
}

static void *worker(void *job_pointer)
{
    build_job *job = job_pointer;
    bool begins = worker_begin(job);
    if (begins)
        build_object(job);
    worker_end(job, begins);
    return NULL;
}

// The program's signals are not for this thread. False: there is none.
static bool worker_start(build_job *job)
{
    sigset_t all, before;
    pthread_once(&workers.once, workers_make);
    sigfillset(&all);
    job->owner = getpid();
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool fine = pthread_create(&job->thread, NULL, worker, job) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fine;
}

// --- modules
// The first row says for which struct the code was made. False: some kernel has none.
static bool set_rows(kiln_module *m, const cpu_row *rows)
{
    size_t taken = 0;
    if (!rows || !rows->name || strcmp(rows->name, CPU_TABLE_MARK))
        return false;
    for (rows++; rows->name; rows++)
        for (size_t k = 0; k < m->kernel_count; k++)
            if (!strcmp(m->kernels[k]->name, rows->name)) {
                cpu_kernel_of(m->kernels[k])->native = rows;
                taken++;
            }
    return taken == m->kernel_count;
}

static void set_object(kiln_module *m, void *object)
{
    cpu_module_of(m)->native = object;
    if (object)
        set_rows(m, dlsym(object, "kiln_cpu_table"));
}

// The job is over: what it made is the module's.
static void use_job(kiln_module *m)
{
    build_job *job = cpu_module_of(m)->job;
    cpu_module_of(m)->job = NULL;
    build_keep(job, m->name);
    set_object(m, job->object);
    build_job_free(job);
}

// A thread that a fork has left behind never ends: the kernels stay on the interpreter.
static void end_job(kiln_module *m)
{
    if (cpu_module_of(m)->job->owner == getpid())
        pthread_join(cpu_module_of(m)->job->thread, NULL);
    else
        cpu_module_of(m)->job->object = cpu_module_of(m)->job->bytes = NULL;
    use_job(m);
}

static bool is_asked(const char *mode)
{
    return !strcmp(knob_text(KNOB_CPU), mode);
}

static void start_job(kiln_module *m, const char *code, size_t len)
{
    build_job *job = build_job_new(code, len);
    if (!job)
        bug_out_of_memory();
    cpu_module_of(m)->job = job;
    if (is_asked("wait") || !worker_start(job)) {
        build_object(job);
        use_job(m);
    }
}

static bool has_rows(const struct kiln_native *embedded)
{
    return embedded && embedded->name && !strcmp(embedded->name, CPU_TABLE_MARK);
}

// Machine code does not count its instructions, so a limit of them keeps everything interpreted.
bool tier_wants_code(const kiln_module *m, const struct kiln_native *embedded)
{
    return !host_of(m->k)->step_limit && !has_rows(embedded) && cpu_compiler(NULL) &&
           !is_asked("quick");
}

void tier_load(kiln_module *m, const rt_image *image)
{
    const cpu_row *embedded = (const void *)image->embedded;
    m->dev = arena_new_of(m->a, cpu_module);
    note_work(m, image->ir);
    if (host_of(m->k)->step_limit || set_rows(m, embedded))
        return;
    if (image->code_len) { // from the cache or, soon, from a job
        set_object(m, build_cached(image->code, image->code_len));
        if (!cpu_module_of(m)->native)
            start_job(m, image->code, image->code_len);
    }
    if (!cpu_module_of(m)->native && !is_asked("compiler"))
        quick_load(m, image->ir);
}

// Lets the worker see what has become of its job.
static void signal_worker(bool *what)
{
    pthread_mutex_lock(&workers.lock);
    *what = true;
    pthread_cond_broadcast(&workers.change);
    pthread_mutex_unlock(&workers.lock);
}

// kiln_cancel may be called by a signal handler and cannot wake a thread, so this polls.
enum { LOOK_MS = 20 };
static bool wait_for_job(build_job *job, const volatile int *cancel, uint64_t most_ms)
{
    bool is_done = false;
    uint64_t waited_ms = 0;
    pthread_mutex_lock(&workers.lock);
    while (!(is_done = __atomic_load_n(&job->is_done, __ATOMIC_ACQUIRE)) &&
           !__atomic_load_n(cancel, __ATOMIC_RELAXED) && waited_ms < most_ms) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        waited_ms += LOOK_MS; // rather too much: others wake it, too
        until.tv_nsec += LOOK_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&workers.change, &workers.lock, &until);
    }
    pthread_mutex_unlock(&workers.lock);
    return is_done;
}

bool tier_wait(kiln_module *m)
{
    if (!m->dev || !cpu_module_of(m)->job) // for kiln_check, or there is nothing to wait for
        return true;
    signal_worker(&cpu_module_of(m)->job->is_wanted);
    if (cpu_module_of(m)->job->owner == getpid() &&
        !wait_for_job(cpu_module_of(m)->job, &m->k->cancel, UINT64_MAX))
        return false;
    end_job(m);
    return true;
}

void tier_unload(kiln_module *m)
{
    if (!m->dev) // it was never loaded, or is for kiln_check
        return;
    if (cpu_module_of(m)->job && cpu_module_of(m)->job->owner == getpid()) {
        signal_worker(&cpu_module_of(m)->job->is_given_up);
        child_stop(cpu_module_of(m)->job);
    }
    if (cpu_module_of(m)->job)
        end_job(m);
    if (cpu_module_of(m)->native)
        dlclose(cpu_module_of(m)->native);
    cpu_module_of(m)->native = NULL;
    quick_free(m);
}

// A block of rows that are no whole warps was not expected: the interpreter takes any.
static const cpu_row *if_fits(const cpu_row *row, const rt_launch *l)
{
    bool fits = row && (!row->needs_rows || l->block[0] % 32 == 0 ||
                        (l->block[1] == 1 && l->block[2] == 1));
    return fits ? row : NULL;
}

// A compiler may take minutes for a very large kernel: after a while its launches are interpreted,
// unless addresses of both kinds would meet.
static void wait_a_while(const kiln_kernel *kernel)
{
    kiln_module *m = kernel->module;
    bool is_here = cpu_module_of(m)->job->owner == getpid();
    if (!work_can_move(cpu_kernel_of(kernel)->work) || !is_here) {
        tier_wait(m);
        return;
    }
    if (cpu_module_of(m)->job->was_waited_for)
        return;
    signal_worker(&cpu_module_of(m)->job->is_wanted);
    if (wait_for_job(cpu_module_of(m)->job, &m->k->cancel, MOST_WAIT_MS))
        end_job(m);
    else
        cpu_module_of(m)->job->was_waited_for = true;
}

const cpu_row *tier_choose(kiln_kernel *kernel, const rt_launch *l)
{
    kiln_module *m = kernel->module;
    const cpu_kernel *c = cpu_kernel_of(kernel);
    const cpu_module *made = cpu_module_of(m);
    if (!made) // for kiln_check
        return NULL;
    if (made->job && __atomic_load_n(&made->job->is_done, __ATOMIC_ACQUIRE))
        end_job(m);
    else if (made->job && !if_fits(c->quick, l) && !is_small(kernel, l))
        wait_a_while(kernel);
    return if_fits(c->native ? c->native : c->quick, l);
}
