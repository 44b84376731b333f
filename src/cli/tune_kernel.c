// kiln tune FILE KERNEL: all combinations of the file's tune() values. They are compiled side by
// side; what does not compile, does not fit the device or is the same code as another one is sorted
// out before anything runs. The others run one after the other with the arguments of the default,
// which kiln run would make, and count when they give the default's results. Start at tune_kernel.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/run.h"
#include "cli/tune.h"
#include "rt/rt.h"

enum { MOST_CANDIDATES = 4096, MOST_WORKERS = 16, MOST_TUNES = 63 };

typedef struct variant { // of the kernel: a candidate's compile
    char words[TUNED_FIELD];
    const char *tunes[MOST_TUNES + 1]; // into `words`
    signature_file *signature;
    uint64_t hash; // of its IR
} variant;

typedef struct job {
    run *r;
    run_launch *l;
    tune_session s;
    variant *variants;
    unsigned char **first, **right; // per argument: what it starts from, and the default's results
    kiln_arg args[128];
    kiln_launch_desc desc;
    kiln_module *module; // of the candidate that runs
    size_t next;         // for the workers, under the lock
    pthread_mutex_t lock;
} job;

// --- the space
static bool is_pinned(const cli_compile *c, const char *name, int64_t *value)
{
    size_t len = strlen(name);
    for (int n = 0; n < c->tune_count; n++)
        if (!strncmp(c->tunes[n], name, len) && c->tunes[n][len] == '=') {
            *value = strtoll(c->tunes[n] + len + 1, NULL, 0);
            return true;
        }
    return false;
}

// Candidate `index` as "A=1 B=2": the last tunable changes fastest, the first candidate has all
// defaults. False: it does not fit.
static bool write_choice(const run *r, size_t index, char out[TUNED_FIELD])
{
    size_t count = signature_tune_count(r->signature), used = 0, step = 1;
    for (size_t n = 0; n < count; n++) {
        int64_t value;
        const signature_tune *t = signature_tune_at(r->signature, n);
        step *= is_pinned(&r->compile, t->name, &value) ? 1 : t->value_count;
    }
    for (size_t n = 0; n < count; n++) {
        const signature_tune *t = signature_tune_at(r->signature, n);
        int64_t value;
        if (!is_pinned(&r->compile, t->name, &value)) {
            step /= t->value_count;
            value = t->values[index / step % t->value_count];
        }
        int len = snprintf(out + used, TUNED_FIELD - used, "%s%s=%lld", n ? " " : "", t->name,
                           (long long)value);
        if (len < 0 || (size_t)len >= TUNED_FIELD - used)
            return false;
        used += (size_t)len;
    }
    return true;
}

static int make_space(job *j)
{
    const run *r = j->r;
    size_t count = signature_tune_count(r->signature), all = 1;
    if (!count) {
        fprintf(stderr,
                "kiln tune: %s has no tune(NAME, default, others…): there is nothing to choose\n",
                r->path);
        return EXIT_KERNEL;
    }
    for (size_t n = 0; n < count; n++) {
        int64_t value;
        const signature_tune *t = signature_tune_at(r->signature, n);
        if (!is_pinned(&r->compile, t->name, &value) &&
            __builtin_mul_overflow(all, t->value_count, &all))
            all = SIZE_MAX;
        if (all > MOST_CANDIDATES || count > MOST_TUNES)
            return cli_usage("tune",
                             "%s has more than %d combinations of values; --tune %s=%lld holds one "
                             "of them",
                             r->path, MOST_CANDIDATES, t->name, (long long)t->values[0]);
    }
    j->s.count = all;
    j->s.all = calloc(all, sizeof *j->s.all);
    j->variants = calloc(all, sizeof *j->variants);
    if (!j->s.all || !j->variants)
        return EXIT_WORLD;
    for (size_t n = 0; n < all; n++) {
        variant *v = &j->variants[n];
        if (!write_choice(r, n, j->s.all[n].choice))
            return cli_usage("tune", "the names of the tunables of %s are too long", r->path);
        memcpy(v->words, j->s.all[n].choice, sizeof v->words);
        size_t words = 0;
        for (char *at = v->words; at && *at;) {
            v->tunes[words++] = at;
            at = strchr(at, ' ');
            if (at)
                *at++ = 0;
        }
    }
    return 0;
}

// --- sorting out
static void describe(const job *j, size_t index, kiln_compile_desc *out)
{
    const run *r = j->r;
    cli_compile_desc(&r->compile, r->path, out);
    out->source = r->source;
    out->source_len = r->source_len;
    out->tune = j->variants[index].tunes;
}

static void prune(tune_candidate *c, tune_state state, const char *what, const char *why)
{
    c->state = state;
    snprintf(c->why, sizeof c->why, "%s%.180s", what, why);
    c->why[strcspn(c->why, "\n")] = 0;
}

// The first error's sentence: "error[K2040]: …".
static const char *sentence(const char *log)
{
    const char *error = strstr(log, "error");
    return error ? error : log;
}

static uint64_t hash_of(const variant *v, const char *kernel)
{
    arena *a = arena_new();
    const ir_func *f = signature_func(v->signature, kernel);
    text out = {.in = a};
    uint64_t hash = (uint64_t)signature_shared_bytes(v->signature);
    if (a && f) {
        ir_print_func(f, &out);
        hash = hash_bytes(hash + 1, out.at, out.len);
    }
    arena_free(a);
    return a && f ? hash : 0;
}

static bool has_room(const kiln *k, kiln_kernel *kernel, size_t dynamic, const uint32_t block[3],
                     tune_candidate *c)
{
    kiln_resources used;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads > k->caps.block_threads)
        snprintf(c->why, sizeof c->why, "a block of %llu threads; the device has at most %u",
                 (unsigned long long)threads, k->caps.block_threads);
    else if (kiln_kernel_resources(kernel, &used))
        snprintf(c->why, sizeof c->why, "%.190s", kiln_last_error(k)->text);
    else if (used.shared_bytes + dynamic > k->caps.shared_bytes)
        snprintf(c->why, sizeof c->why, "%zu bytes of shared memory; a block has at most %zu",
                 used.shared_bytes + dynamic, k->caps.shared_bytes);
    else if (used.block_threads && threads > used.block_threads)
        snprintf(c->why, sizeof c->why,
                 "%u registers of %llu threads; only %u threads have room for them", used.registers,
                 (unsigned long long)threads, used.block_threads);
    else
        return true;
    return false;
}

// Compiles the candidate on a handle of this thread, so that its code is in the cache when it is
// loaded for the run.
static void warm(kiln *k, const kiln_compile_desc *desc, tune_candidate *c)
{
    kiln_module *m;
    if (!kiln_compile(k, desc, &m))
        kiln_module_free(m);
    else
        prune(c, TUNE_PRUNED, "", sentence(kiln_last_error(k)->text));
}

static void *work(void *user)
{
    job *j = user;
    const kiln *main_k = j->r->k;
    kiln *k = NULL;
    bool is_warmed = main_k->ops->keeps_code && !kiln_open(main_k->device, &k);
    for (;;) {
        pthread_mutex_lock(&j->lock);
        size_t n = j->next++;
        pthread_mutex_unlock(&j->lock);
        if (n >= j->s.count || tune_is_interrupted())
            break;
        kiln_compile_desc desc;
        describe(j, n, &desc);
        variant *v = &j->variants[n];
        v->signature = signature_new(&desc, main_k->target);
        if (!v->signature)
            prune(&j->s.all[n], TUNE_FAILED, "there is no memory", "");
        else if (signature_error(v->signature))
            prune(&j->s.all[n], TUNE_PRUNED, "", sentence(signature_error(v->signature)));
        else
            v->hash = hash_of(v, j->l->kernel_name);
        if (is_warmed && v->hash && n)
            warm(k, &desc, &j->s.all[n]);
    }
    kiln_close(k);
    return NULL;
}

static int by_hash(const void *a, const void *b)
{
    const variant *x = *(const variant *const *)a, *y = *(const variant *const *)b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x > y) - (x < y);
}

// Values that the kernel does not use make no other code.
static bool find_same(job *j)
{
    const variant **order = malloc((j->s.count + 1) * sizeof *order);
    if (!order)
        return false;
    for (size_t n = 0; n < j->s.count; n++)
        order[n] = &j->variants[n];
    qsort((void *)(uintptr_t)order, j->s.count, sizeof *order, by_hash);
    for (size_t n = 0, first = 0; n < j->s.count; n++) {
        if (order[n]->hash != order[first]->hash)
            first = n;
        tune_candidate *c = &j->s.all[order[n] - j->variants];
        if (n != first && order[n]->hash && c->state == TUNE_WAITS)
            prune(c, TUNE_SAME, "as ", j->s.all[order[first] - j->variants].choice);
    }
    free((void *)(uintptr_t)order);
    return true;
}

static int sort_out(job *j)
{
    pthread_t workers[MOST_WORKERS];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = cores > 0 ? (size_t)cores : 1, started = 0;
    wanted = wanted < MOST_WORKERS ? wanted : MOST_WORKERS;
    wanted = wanted < j->s.count ? wanted : j->s.count;
    while (started + 1 < wanted && !pthread_create(&workers[started], NULL, work, j))
        started++;
    work(j); // this thread is one of them
    for (size_t n = 0; n < started; n++)
        pthread_join(workers[n], NULL);
    return find_same(j) ? 0 : EXIT_WORLD;
}

// --- running
static bool is_output(const run_arg *a)
{
    return a->info.kind == KILN_PARAM_POINTER && !a->info.is_const;
}

static size_t bytes_of(const run_arg *a)
{
    return a->shape.count * a->element.size;
}

static kiln_status reset(void *user)
{
    job *j = user;
    kiln_status status = KILN_OK;
    for (size_t i = 0; i < j->l->arg_count && !status; i++)
        if (j->first[i])
            status = kiln_write(j->l->args[i].buffer, 0, j->first[i], j->l->args[i].shape.count);
    return status;
}

static kiln_status launch(void *user)
{
    job *j = user;
    return kiln_launch(j->l->kernel, &j->desc);
}

static tune_state fail(job *j, tune_candidate *c)
{
    snprintf(c->why, sizeof c->why, "%.190s", sentence(kiln_last_error(j->r->k)->text));
    return TUNE_FAILED;
}

// Reads what the kernel has written, and compares it with what the default wrote.
static tune_state look(job *j, tune_candidate *c, bool is_default)
{
    for (size_t i = 0; i < j->l->arg_count; i++) {
        const run_arg *a = &j->l->args[i];
        if (!is_output(a))
            continue;
        unsigned char *got = is_default ? j->right[i] : malloc(bytes_of(a) + 1);
        double most = 0;
        size_t wrong = 0;
        kiln_status status = got ? kiln_read(a->buffer, 0, got, a->shape.count) : KILN_E_NO_MEMORY;
        if (!status && !is_default)
            wrong = run_count_wrong(j->r, a, got, j->right[i], &most);
        if (!is_default)
            free(got);
        if (status)
            return fail(j, c);
        if (wrong) {
            snprintf(c->why, sizeof c->why,
                     "%zu values of '%.40s' are not the default's; largest difference %.3g", wrong,
                     a->info.name, most);
            return TUNE_WRONG;
        }
    }
    return TUNE_TIMED;
}

// The candidate's module in place of the one before.
static tune_state load(job *j, size_t index)
{
    run *r = j->r;
    tune_candidate *c = &j->s.all[index];
    kiln_compile_desc desc;
    kiln_module *m = NULL;
    describe(j, index, &desc);
    if (kiln_compile(r->k, &desc, &m))
        return fail(j, c);
    kiln_module_free(j->module);
    j->module = r->module = m;
    r->signature = j->variants[index].signature;
    if (run_retarget(r, j->l)) {
        snprintf(c->why, sizeof c->why, "its grid is not known: --items says how many threads");
        return TUNE_FAILED;
    }
    run_describe(j->l, &j->desc);
    return has_room(r->k, j->l->kernel, j->desc.shared_bytes, j->l->block, c) ? TUNE_TIMED
                                                                              : TUNE_PRUNED;
}

static tune_state begin(void *user, size_t index)
{
    job *j = user;
    tune_candidate *c = &j->s.all[index];
    tune_state state = load(j, index);
    if (state != TUNE_TIMED)
        return state;
    kiln_status status = tune_is_interrupted() ? KILN_E_CANCELLED : reset(j);
    if (!status)
        status = launch(j);
    if (!status)
        status = kiln_sync(j->r->k);
    return status ? fail(j, c) : look(j, c, !index);
}

static int keep_buffers(job *j)
{
    size_t count = j->l->arg_count;
    j->first = calloc(count + 1, sizeof *j->first);
    j->right = calloc(count + 1, sizeof *j->right);
    for (size_t i = 0; j->first && j->right && i < count; i++) {
        const run_arg *a = &j->l->args[i];
        if (!is_output(a))
            continue;
        j->first[i] = malloc(bytes_of(a) + 1);
        j->right[i] = malloc(bytes_of(a) + 1);
        if (!j->first[i] || !j->right[i])
            return EXIT_WORLD;
        kiln_status status = kiln_read(a->buffer, 0, j->first[i], a->shape.count);
        if (status)
            return cli_fail(j->r->k, status);
    }
    return j->first && j->right ? 0 : EXIT_WORLD;
}

static void drop_print(void *user, const char *bytes, size_t len)
{
    (void)user;
    (void)bytes;
    (void)len;
}

static int name_program(const run *r, const run_launch *l, char out[TUNED_PROGRAM])
{
    arena *a = arena_new();
    str source = {r->source, r->source_len};
    const char *reason = "there is no memory";
    bool is_read = a && (r->source || file_read(a, r->path, 64 << 20, &source, &reason));
    if (is_read)
        tuned_program(source.at, source.len, r->compile.defines, l->kernel_name, out);
    else
        fprintf(stderr, "kiln tune: %s: %s\n", r->path, reason);
    arena_free(a);
    return is_read ? 0 : EXIT_WORLD;
}

static void drop_variants(job *j, const signature_file *kept)
{
    for (size_t n = 0; j->variants && n < j->s.count; n++)
        if (j->variants[n].signature != kept)
            signature_free(j->variants[n].signature);
    free(j->variants);
    free(j->s.all);
}

static int tune(job *j)
{
    char program[TUNED_PROGRAM];
    char device[TUNED_FIELD];
    run *r = j->r;
    kiln_module *opened = r->module;
    signature_file *signature = r->signature;
    int failed = name_program(r, j->l, program);
    if (!failed)
        failed = make_space(j);
    if (!failed)
        failed = keep_buffers(j);
    if (!failed)
        failed = run_args(r, j->l, j->args, COUNT(j->args));
    if (!failed && tuned_device(r->k, device, &j->s.driver))
        failed = EXIT_WORLD;
    if (failed)
        return failed;
    j->desc.args = j->args;
    j->s.title = j->l->kernel_name;
    j->s.device = device;
    j->s.program = program;
    run_sizes(r, j->l, j->s.shape, sizeof j->s.shape);
    tune_catch_interrupt(r->k);
    failed = sort_out(j);
    bool is_timed = !failed && tune_all(&j->s);
    tune_catch_interrupt(NULL);
    r->module = opened;
    r->signature = signature;
    kiln_module_free(j->module);
    if (!failed && is_timed)
        return tune_finish(&j->s);
    if (!failed && !tune_is_interrupted())
        fprintf(stderr, "kiln tune: the default, %s, cannot be timed: %s\n", j->s.all[0].choice,
                j->s.all[0].why);
    return failed ? failed : tune_is_interrupted() ? EXIT_INTERRUPT : EXIT_KERNEL;
}

static int prepare(run *r)
{
    if (r->launch_count > 1)
        return cli_usage("tune", "one launch at a time is tuned, so no --");
    int failed = run_open(r);
    if (failed)
        return failed;
    kiln_on_print(r->k, drop_print, NULL);
    run_launch *l = &r->launches[0];
    failed = run_prepare(r, l);
    if (failed)
        return failed;
    l->kernel_name = kiln_kernel_name(l->kernel);
    return l->is_empty ? cli_usage("tune", "a size is 0: there is nothing to time") : 0;
}

int tune_kernel(int argc, char **argv)
{
    run r = {.verb = "tune", .seed = 1};
    setenv("KILN_CPU", "wait", 0); // no interpreted launches among those that are timed
    int failed = run_parse(&r, argc, argv);
    if (!failed) {
        failed = prepare(&r);
        job j = {.r = &r, .lock = PTHREAD_MUTEX_INITIALIZER};
        if (!failed) {
            j.l = &r.launches[0];
            j.s.k = r.k;
            j.s.user = &j;
            j.s.begin = begin;
            j.s.reset = reset;
            j.s.launch = launch;
            j.s.repeat = r.repeat;
            j.s.is_json = r.json;
            failed = tune(&j);
        }
        for (size_t i = 0; j.l && i < j.l->arg_count; i++) {
            free(j.first ? j.first[i] : NULL);
            free(j.right ? j.right[i] : NULL);
        }
        free(j.first);
        free(j.right);
        drop_variants(&j, NULL);
        run_close(&r);
    }
    run_free(&r);
    return failed;
}
