// Judges random kernels: a file of them is one run of the host's compiler, one child process and
// one module for each way to run them. The child tells where it is in shared memory. When it dies
// there, the kernel is named, and another child goes on behind it; a module that kills the compiler
// is compiled again kernel by kernel, one that it refuses in halves. Start reading at fuzz_judge.
#include "fuzz/judge.h"

#include "host/corpus.h"
#include "host/limit.h"
#include "host/validate.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Of processor time; more is a hang.
enum { HOST_SECONDS = 10, KERNEL_SECONDS = 30, MODULE_SECONDS = 300 };
enum { MOST_DEATHS = 5 }; // of a file: then it is left
enum { MOST_WAITS = 60 };
// On the clock, for devices that the processor only waits for.
// Compiling is work of the processor, which others may need, too: the driver takes a minute of its
// time for some kernels that are not optimised (csmith 21000489: 61,000 lines of PTX).
enum { DEVICE_KERNEL_SECONDS = 40, DEVICE_MODULE_SECONDS = 900 };

// OpenCL may compile when a kernel is launched (PoCL: for the size of its block). A launch then has
// a compiler's time.
static bool launch_compiles(const fuzz_way *w)
{
    return strncmp(w->device, "opencl", 6) == 0;
}

static const char *const kind_names[] = {"fine",
                                         "no result on the host",
                                         "not fixed in C",
                                         "Kiln refuses it",
                                         "the launch failed",
                                         "not the host's result",
                                         "Kiln crashed or hung"};

const char *fuzz_kind_name(fuzz_kind kind)
{
    return kind_names[kind];
}

static const char *const folders[] = {"include", "tests/run", NULL};

bool fuzz_add_devices(fuzz_setup *setup, const char *devices)
{
    while (*devices) {
        int len = (int)strcspn(devices, ","), name = (int)strcspn(devices, ",/%");
        bool is_cpu = strncmp(devices, "cpu", 3) == 0 && name == 3;
        bool is_x86 = strncmp(devices, "x86", 3) == 0 && name == 3;
        const char *share = memchr(devices, '%', (size_t)len);
        for (int level = 0; len && level < 2; level++) {
            if (setup->way_count == FUZZ_MAX_WAYS)
                return false;
            fuzz_way *w = &setup->ways[setup->way_count++];
            *w = (fuzz_way){.cpu = is_cpu ? "wait" : "quick",
                            .exits = devices[name] == '/' ? "plain" : "device",
                            .optimise = level ? 1 : -1,
                            .share = share ? (unsigned)strtoul(share + 1, NULL, 10) : 1};
            w->share += !w->share;
            snprintf(w->name, sizeof w->name, "%.*s %s", len > 31 ? 31 : len, devices,
                     level ? "optimised" : "plain");
            snprintf(w->device, sizeof w->device, "%.*s", is_x86 ? 3 : name,
                     is_x86 ? "cpu" : devices);
        }
        devices += len + (devices[len] == ',');
    }
    return true;
}

char *fuzz_file(const char *prelude, const char *const *programs, int count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s\n", prelude);
    for (int i = 0; i < count; i++)
        if (programs[i])
            fputs(programs[i], out);
    fclose(out);
    return text;
}

// --- times
static unsigned long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

// Adds what has passed since *from, which becomes now.
static void add_time(atomic_ullong *to, unsigned long long *from)
{
    unsigned long long now = now_ms();
    atomic_fetch_add(to, now - *from);
    *from = now;
}

// --- what the parent and its children share
typedef struct progress {
    bool on_host;    // the child runs `kernel` on the host
    int way, kernel; // otherwise: where it is; kernel -1: in the compiler, with the whole module
    int resume;      // the way's kernel to begin with
    int alone;       // this way compiles kernel by kernel before this one
    bool compiles;   // it does so now
    unsigned deaths;
    bool again; // the child ended to wait for memory of the device: another one goes on
    int waits;
    bool done;
    fuzz_verdict verdicts[];
} progress;

typedef struct batch {
    const fuzz_setup *setup;
    const char *prelude;
    const char *const *programs;
    const char **chosen; // those that take part in the way; NULL: not this one
    int count;
    corpus_file file;
    corpus_data *want;
    progress *at;
} batch;

// By its seed, not by its place: files are smaller than some shares.
static bool is_one_in(unsigned share, const batch *b, int i)
{
    unsigned long long x = (b->setup->seed + (unsigned)i) * 0x9e3779b97f4a7c15u;
    return share && (x >> 32) % share == 0;
}

static bool takes_part(const batch *b, int way, int i)
{
    return b->at->verdicts[i].kind == FUZZ_FINE && is_one_in(b->setup->ways[way].share, b, i);
}

static void tell(batch *b, int i, fuzz_kind kind, const char *why)
{
    fuzz_verdict *v = &b->at->verdicts[i];
    v->way = b->at->way;
    snprintf(v->why, sizeof v->why, "%s", why);
    v->kind = kind;
}

// --- in the child
static const char *first_error(const char *text) // warnings may stand before it
{
    const char *error = strstr(text, "error[");
    return error ? error : text;
}

static kiln_module *compile(kiln *k, const batch *b, int way, const char *const *programs, int n)
{
    char *source = fuzz_file(b->prelude, programs, n);
    kiln_module *m = NULL;
    kiln_compile_desc desc = {.source = source,
                              .path = "tests/run/fuzz.c",
                              .optimise = b->setup->ways[way].optimise,
                              .include = folders};
    if (!source || kiln_compile(k, &desc, &m) != KILN_OK)
        m = NULL;
    free(source);
    return m;
}

// After which pass does the kernel do something else? The sentence goes to the end of `why`.
static bool is_same_after_passes(batch *b, int i, char *why, size_t size)
{
    char *source = fuzz_file(b->prelude, &b->programs[i], 1);
    size_t used = strlen(why);
    validate_source from = {.path = "tests/run/fuzz.c", .text = source, .include = folders};
    validator *v = source ? validate_new(&from, why + used, size - used) : NULL;
    bool ok = v && validate_case(v, &b->file.cases[i], &b->want[i], why + used, size - used);
    if (ok)
        why[used] = 0;
    validate_free(v);
    free(source);
    return ok;
}

// A GPU's memory is shared with other jobs, and recursion takes much of it: this process ends, and
// another one goes on with kernel i. False: it has waited long enough.
static bool wait_for_memory(batch *b, int i, const char *problem)
{
    static const char *const codes[] = {"CUDA_ERROR_OUT_OF_MEMORY", "CL_OUT_OF_HOST_MEMORY",
                                        "CL_MEM_OBJECT_ALLOCATION_FAILURE"};
    bool is_memory = false;
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++)
        is_memory |= strstr(problem, codes[k]) != NULL;
    if (!is_memory || b->at->waits++ == MOST_WAITS)
        return false;
    b->at->again = true;
    b->at->resume = i;
    _exit(1);
}

// A device may be of no use after a failure: the next kernel gets a new process.
static void run_one(kiln *k, kiln_module *m, batch *b, int i)
{
    corpus_case *c = &b->file.cases[i];
    corpus_data got = {0};
    const fuzz_way *way = &b->setup->ways[b->at->way];
    const uint64_t *expected = b->setup->expected;
    char why[500] = "";
    corpus_learn_sizes(m, c);
    const char *problem = corpus_data_new(c, &got) ? corpus_run(k, m, c, &got) : "no memory";
    if (problem && !wait_for_memory(b, i, problem)) {
        tell(b, i, FUZZ_FAILED, problem);
        _exit(1);
    }
    bool is_share = way->optimise > 0 && strcmp(way->device, "interp") == 0 &&
                    is_one_in(b->setup->validate, b, i);
    if (expected) {
        if (corpus_hash(c, &got) != expected[i])
            tell(b, i, FUZZ_WRONG, "not what was expected");
    } else if (corpus_compare(c, &b->want[i], &got, why, sizeof why - 300)) {
        strcat(why, "; ");
        if (way->optimise > 0 && is_same_after_passes(b, i, why, sizeof why))
            strcat(why, "no pass changed it on interp");
        tell(b, i, FUZZ_WRONG, why);
    } else if (is_share && !is_same_after_passes(b, i, why, sizeof why)) {
        tell(b, i, FUZZ_WRONG, why);
    }
    corpus_data_free(c, &got);
}

// Not every device has all that the generators write (K1036: recursion on OpenCL, K4301: OpenCL,
// K4302: the target).
static bool device_lacks_it(const char *error)
{
    static const char *const codes[] = {"[K1036]", "[K4301]", "[K4302]"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strstr(error, codes[i]))
            return true;
    return false;
}

// The device of the way before when it is the same one: a GPU's context takes a while to make.
static kiln *open_device(batch *b, const fuzz_way *way)
{
    static const fuzz_way *before;
    static kiln *k;
    if (before && strcmp(before->device, way->device) == 0 && strcmp(before->cpu, way->cpu) == 0 &&
        strcmp(before->exits, way->exits) == 0)
        return k;
    if (before)
        kiln_close(k);
    setenv("KILN_CPU", way->cpu, 1);
    setenv("KILN_EXITS", way->exits, 1);
    if (kiln_open(way->device, &k) != KILN_OK &&
        !wait_for_memory(b, b->at->resume, kiln_last_error(NULL)->text)) {
        fprintf(stderr, "%s: %s\n", way->device, kiln_last_error(NULL)->text);
        _exit(2);
    }
    before = way;
    return k;
}

// A file that is refused is halved until what is refused is alone: the others are compiled
// together.
static void run_range(kiln *k, batch *b, int way, int first, int end)
{
    int count = 0, last = first;
    for (int i = first; i < end; i++)
        if (b->chosen[i]) {
            count++;
            last = i;
        }
    if (!count)
        return;
    fuzz_times *times = b->setup->times;
    unsigned long long began = now_ms();
    kiln_module *m = NULL;
    b->at->kernel = count == 1 ? last : -1;
    b->at->resume = first;
    if (count == 1 || first >= b->at->alone) {
        b->at->compiles = true;
        limit_time(MODULE_SECONDS);
        m = compile(k, b, way, b->chosen + first, end - first);
        b->at->compiles = false;
    }
    add_time(&times->compile[way], &began);
    if (!m && count > 1) {
        int middle = first + (end - first) / 2;
        run_range(k, b, way, first, middle);
        run_range(k, b, way, middle, end);
        return;
    }
    if (!m && !device_lacks_it(kiln_last_error(k)->text))
        tell(b, last, FUZZ_REFUSED, first_error(kiln_last_error(k)->text));
    for (int i = first; i < end && m; i++) {
        if (!b->chosen[i])
            continue;
        b->at->kernel = i;
        limit_time(launch_compiles(&b->setup->ways[way]) ? MODULE_SECONDS : KERNEL_SECONDS);
        run_one(k, m, b, i);
        b->at->verdicts[i].ran++;
        atomic_fetch_add(&times->ran[way], 1);
    }
    limit_time(0);
    kiln_module_free(m);
    add_time(&times->run[way], &began);
}

static void run_way(batch *b, int way)
{
    bool any = false;
    int first = b->at->resume;
    for (int i = 0; i < b->count; i++) {
        b->chosen[i] = takes_part(b, way, i) && i >= first ? b->programs[i] : NULL;
        any |= b->chosen[i] != NULL;
    }
    if (!any)
        return;
    unsigned long long began = now_ms();
    kiln *k = open_device(b, &b->setup->ways[way]);
    add_time(&b->setup->times->open[way], &began);
    for (int end; first < b->count; first = end) {
        unsigned most = b->setup->module;
        for (end = first; end < b->count && (most || !b->setup->module); end++)
            most -= b->chosen[end] != NULL;
        run_range(k, b, way, first, end);
    }
}

static void run_host(batch *b, const char *so_path)
{
    void *so = dlopen(so_path, RTLD_NOW | RTLD_LOCAL);
    const host_kernel *table = so ? (const host_kernel *)dlsym(so, "host_kernels_fuzz") : NULL;
    if (!table) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(2);
    }
    for (int i = 0; i < b->count; i++) {
        corpus_case *c = &b->file.cases[i];
        for (int n = 0; n < c->arg_count; n++)
            c->args[n].size = table[i].sizes[n];
        if (b->at->verdicts[i].kind != FUZZ_FINE)
            continue;
        b->at->kernel = i;
        limit_time(HOST_SECONDS);
        const char *problem = corpus_data_new(c, &b->want[i])
                                  ? corpus_run_host(c, &table[i], &b->want[i])
                                  : "no memory";
        if (problem)
            tell(b, i, FUZZ_NO_HOST, problem);
        else if (table[i].check && !table[i].check(b->want[i].args))
            tell(b, i, FUZZ_LEFT, "its own check says so");
        else
            b->at->verdicts[i].host = corpus_hash(c, &b->want[i]);
    }
}

static void child(batch *b, const char *so_path)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); // who waits for the result is gone
    setenv("KILN_CACHE", "off", 1);   // random kernels would drive real ones out
    b->at->on_host = true;
    b->at->compiles = false;
    unsigned long long began = now_ms();
    for (int i = 0; i < b->count && b->setup->expected; i++)
        if (!b->setup->expected[i])
            b->at->verdicts[i].kind = FUZZ_LEFT;
    if (!b->setup->expected)
        run_host(b, so_path);
    add_time(&b->setup->times->host, &began);
    b->at->on_host = false;
    for (; b->at->way < b->setup->way_count; b->at->way++) {
        run_way(b, b->at->way);
        b->at->resume = 0;
        b->at->alone = 0;
    }
    b->at->done = true;
    _exit(0);
}

// --- in the parent
static bool compile_host(const fuzz_setup *setup, const corpus_file *f, const char *text)
{
    const char *work = setup->work;
    char path[512], command[1600];
    snprintf(path, sizeof path, "%s/fuzz.c", work);
    FILE *out = fopen(path, "w");
    if (!out)
        return false;
    fputs(text, out);
    fclose(out);
    snprintf(path, sizeof path, "%s/wrap.c", work);
    out = fopen(path, "w");
    if (!out)
        return false;
    corpus_wrapper(f, "fuzz.c", out);
    fclose(out);
    snprintf(command, sizeof command,
             "%s -w -Werror=implicit-function-declaration -std=c11 -O0 -fPIC -shared "
             "-ffp-contract=off -fwrapv -fno-strict-aliasing -fno-math-errno -frounding-math "
             "-Iinclude -Itests -Itests/run %s/wrap.c -o %s/fuzz.so -lm 2>%s/host.log",
             setup->host, work, work, work);
    unsigned long long began = now_ms();
    bool ok = system(command) == 0;
    add_time(&setup->times->host, &began);
    return ok;
}

static bool is_waited_for(const fuzz_way *w)
{
    return strcmp(w->device, "interp") != 0 && strcmp(w->device, "cpu") != 0;
}

// Waits for the child. One that a device keeps waiting ends here: no limit of processor time does
// that. *hung: it was.
static bool wait_for_child(const batch *b, pid_t pid, int *status, bool *hung)
{
    const progress *p = b->at;
    int way = -1, kernel = -2;
    bool compiles = false;
    unsigned long long since = 0;
    *hung = false;
    for (;;) {
        pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended)
            return ended == pid;
        if (way != p->way || kernel != p->kernel || compiles != p->compiles) {
            way = p->way;
            kernel = p->kernel;
            compiles = p->compiles;
            since = now_ms();
        }
        const fuzz_way *w = way < b->setup->way_count ? &b->setup->ways[way] : NULL;
        bool is_long = kernel < 0 || compiles || (w && launch_compiles(w));
        unsigned limit = is_long ? DEVICE_MODULE_SECONDS : DEVICE_KERNEL_SECONDS;
        if (!*hung && !p->on_host && w && is_waited_for(w) && now_ms() - since > limit * 1000ull) {
            *hung = true;
            kill(pid, SIGKILL);
        }
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
}

static void name_the_dead(batch *b, int status, bool hung)
{
    progress *p = b->at;
    char why[60] = "the process ended";
    if (hung)
        snprintf(why, sizeof why, "the device did not end");
    else if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "the process ended by %s",
                 limit_was_met(status) ? "the time limit" : strsignal(WTERMSIG(status)));
    if (p->kernel < 0) { // the compiler died of one of them
        p->alone = p->resume + (b->setup->module ? (int)b->setup->module : b->count);
        return;
    }
    if (p->verdicts[p->kernel].kind == FUZZ_FINE) {
        tell(b, p->kernel, p->on_host ? FUZZ_NO_HOST : FUZZ_DIED, why);
        p->deaths++; // the rest would take as long
        p->done = p->deaths == MOST_DEATHS || p->deaths == b->setup->most_deaths;
    }
    if (!p->on_host)
        p->resume = p->kernel + 1;
}

static bool run_children(batch *b, const char *so_path)
{
    while (!b->at->done) {
        pid_t pid = fork();
        int status = 0;
        bool hung = false;
        if (pid == 0)
            child(b, so_path);
        if (pid < 0 || !wait_for_child(b, pid, &status, &hung) ||
            (WIFEXITED(status) && WEXITSTATUS(status) == 2))
            return false;
        if (b->at->again) {
            b->at->again = false;
            sleep(1);
        } else if (!b->at->done) {
            name_the_dead(b, status, hung);
        }
    }
    return true;
}

bool fuzz_judge(const fuzz_setup *setup, const char *prelude, const char *const *programs,
                int count, fuzz_verdict *verdicts)
{
    batch b = {.setup = setup,
               .prelude = prelude,
               .programs = programs,
               .count = count,
               .file = {.name = "fuzz", .path = "fuzz.c"}};
    char so_path[512], *text = fuzz_file(prelude, programs, count);
    size_t size = sizeof *b.at + sizeof *verdicts * (size_t)count;
    snprintf(so_path, sizeof so_path, "%s%s/fuzz.so", setup->work[0] == '/' ? "" : "./",
             setup->work);
    b.want = calloc((size_t)count, sizeof *b.want);
    b.chosen = calloc((size_t)count, sizeof *b.chosen);
    b.at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool ok = text && b.want && b.chosen && b.at != MAP_FAILED &&
              corpus_parse(text, &b.file) == NULL && b.file.case_count == count &&
              (setup->expected || compile_host(setup, &b.file, text)) && run_children(&b, so_path);
    if (ok)
        memcpy(verdicts, b.at->verdicts, sizeof *verdicts * (size_t)count);
    if (b.at != MAP_FAILED)
        munmap(b.at, size);
    corpus_free(&b.file);
    free(b.want);
    free(b.chosen);
    free(text);
    return ok;
}
