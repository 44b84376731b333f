// tier: launches before, while and after the cpu device's C compiler works, without and with the
// machine code that is there from the start; modules and programs that end meanwhile. The compiler
// is a script that waits for a file, so nothing here depends on how fast it is. Ends with "cpu: N
// passed, N failed, N skipped". Start reading at main.
//
//     tier FOLDER        for the script and everything that is written; made when it is not there
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dev/cpu/cpu.h"

enum { ITEMS = 512, MODULES = 12 };

#define HEAD "#include <kiln/kernel.h>\n"

static const char small_kernel[] =
    HEAD "kernel block(64) void f(u32 *out, u32 n) { u32 i = global_x(); f32 a = (f32)i * 0.37f; "
         "for (u32 k = 0; k < 20; k++) a = fma(a, 0.75f, 1.0f / (a + 3.0f)); out[i] = "
         "bits_f32(a) + warp_sum(i) + ADD; }\n";
static const char loop_kernel[] =
    HEAD "kernel block(64) void f(u32 *out, u32 n) { u32 i = global_x(), a = i; for (u32 k = 0; k "
         "< n; k++) a = a * 1664525u + k; out[i] = a; }\n";
static const char address_kernel[] = HEAD
    "kernel block(64) void f(u32 *out, u32 n) { u32 i = global_x(); u64 at = (u64)(out + i) ^ n; "
    "*(u32 *)at = i + n; }\n";
static const char unknown_kernel[] = HEAD
    "kernel block(64) void f(u32 *out, u32 n) { u32 i = global_x(), a = i + 1, k = 0; while (a "
    "> 1) { a = a % 2 ? 3 * a + 1 : a / 2; k++; } out[i] = k + n; }\n";
static const char stride_kernel[] =
    HEAD "kernel block(64) void f(u32 *out, u32 n) { for (u32 i = global_x(); i < n; i += "
         "grid_dim_x() * 64) out[i % 512] = i; }\n";
static const char endless_kernel[] =
    HEAD "kernel block(64) void f(u32 *out, u32 n) { while (out[0] == 0) out[1] = out[1] + n; }\n";

// ThreadSanitizer cannot follow a fork beside threads, and calls a thread that nobody joins a leak.
#ifdef __SANITIZE_THREAD__
static const bool is_watched = true;
#else
static const bool is_watched = false;
#endif

static int passed, failed, skipped;
static char folder[512], gate[600], broken[600], temporary[600], numbers[600];

static void expect(bool ok, const char *name, const char *what)
{
    passed += ok;
    failed += !ok;
    if (!ok)
        fprintf(stderr, "%s: %s\n", name, what);
}

static void skip(const char *why)
{
    skipped++;
    printf("skipped: %s\n", why);
}

// --- the compiler
static void make_file(const char *path, const char *contents, mode_t mode)
{
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
    size_t len = strlen(contents);
    if (file < 0 || write(file, contents, len) != (ssize_t)len || close(file))
        fprintf(stderr, "cannot write %s\n", path);
}

static void gate_open(void)
{
    make_file(gate, "", 0600);
}

static void gate_close(void)
{
    unlink(gate);
}

static void *open_soon(void *unused)
{
    (void)unused;
    usleep(100000);
    gate_open();
    return NULL;
}

static void set_up(const char *where)
{
    char path[600], script[3000];
    snprintf(folder, sizeof folder, "%s", where);
    snprintf(gate, sizeof gate, "%s/gate", folder);
    snprintf(broken, sizeof broken, "%s/broken", folder);
    snprintf(temporary, sizeof temporary, "%s/tmp", folder);
    snprintf(numbers, sizeof numbers, "%s/numbers", folder);
    unlink(numbers);
    mkdir(folder, 0700);
    mkdir(temporary, 0700);
    snprintf(script, sizeof script,
             "#!/bin/sh\necho $$ >> '%s'\nwhile [ ! -e '%s' ]; do sleep 0.01; done\n"
             "[ ! -e '%s' ] || exit 1\nexec cc \"$@\"\n",
             numbers, gate, broken);
    snprintf(path, sizeof path, "%s/cc", folder);
    make_file(path, script, 0700);
    setenv("KILN_CC", path, 1);
    setenv("TMPDIR", temporary, 1);
    snprintf(path, sizeof path, "%s/cache", folder);
    setenv("KILN_CACHE_DIR", path, 1);
    setenv("KILN_CACHE", "off", 1);
    setenv("KILN_CPU", "compiler", 1);
    unsetenv("KILN_STEPS");
}

static bool left_nothing(void)
{
    DIR *d = opendir(temporary);
    bool is_empty = d != NULL;
    for (struct dirent *e; d && (e = readdir(d));)
        is_empty &= strncmp(e->d_name, "kiln-cpu-", 9) != 0;
    if (d)
        closedir(d);
    return is_empty;
}

// Nobody may have taken note of its end yet.
static bool runs(int number)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", number);
    FILE *in = fopen(path, "r");
    bool is_there = in && fscanf(in, "%*d (%*[^)]) %c", &state) == 1;
    if (in)
        fclose(in);
    return is_there && state != 'Z';
}

// Compilers that were started since the last call and still run.
static int running_compilers(void)
{
    FILE *in = fopen(numbers, "r");
    int number, count = 0;
    while (in && fscanf(in, "%d", &number) == 1)
        count += runs(number);
    if (in)
        fclose(in);
    return count;
}

// Waits until a compiler has been started.
static void wait_for_compiler(void)
{
    for (int i = 0; i < 6000 && !running_compilers(); i++)
        usleep(10000);
}

// Seconds. Who waits for a compiler behind the gate waits for ever, so this may be generous.
enum { PATIENCE = 60 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// At once, or soon after the process is gone.
static void nothing_remains(const char *name)
{
    for (int i = 0; i < 6000 && (running_compilers() || !left_nothing()); i++)
        usleep(10000);
    expect(!running_compilers(), name, "a compiler still runs");
    expect(left_nothing(), name, "a folder is left");
    unlink(numbers);
}

// --- a kernel and its data
typedef struct thing {
    kiln *k;
    kiln_module *m;
    kiln_kernel *kernel;
    kiln_buffer *out;
} thing;

static bool compile(thing *t, const char *source, int add)
{
    char define[32];
    snprintf(define, sizeof define, "ADD=%d", add);
    const char *defines[] = {define, NULL};
    return !kiln_compile(t->k, &(kiln_compile_desc){.source = source, .define = defines}, &t->m) &&
           !kiln_module_kernel(t->m, "f", &t->kernel) &&
           !kiln_buffer_new(t->k, KILN_U32, ITEMS, &t->out);
}

static thing make(const char *device, const char *source, int add)
{
    thing t = {0};
    if (kiln_open(device, &t.k) || !compile(&t, source, add)) {
        fprintf(stderr, "%s\n", kiln_last_error(t.k)->text);
        exit(1);
    }
    return t;
}

static kiln_status start(const thing *t, uint32_t n)
{
    kiln_arg args[] = {kiln_arg_buffer(t->out), kiln_arg_i64(KILN_U32, n)};
    return kiln_launch(t->kernel,
                       &(kiln_launch_desc){.grid = {ITEMS / 64}, .args = args, .arg_count = 2});
}

static bool gives(const thing *t, uint32_t n, const uint32_t want[ITEMS])
{
    static const uint32_t zero;
    uint32_t got[ITEMS];
    return !kiln_fill(t->out, &zero) && !start(t, n) && !kiln_read(t->out, 0, got, ITEMS) &&
           !memcmp(got, want, sizeof got);
}

static void wanted(const char *source, int add, uint32_t n, uint32_t want[ITEMS])
{
    thing t = make("interp", source, add);
    bool is_known = !start(&t, n) && !kiln_read(t.out, 0, want, ITEMS);
    expect(is_known, "interp", kiln_last_error(t.k)->text);
    kiln_close(t.k);
}

static void wait_for_code(const thing *t)
{
    kiln_resources unused;
    kiln_kernel_resources(t->kernel, &unused);
}

// --- cases
static void before_and_after(const char *source, uint32_t n)
{
    uint32_t want[ITEMS];
    wanted(source, 1, n, want);
    gate_close();
    thing t = make("cpu", source, 1);
    expect(gives(&t, n, want), "before", "another result");
    expect(cpu_module_of(t.m)->job && !cpu_kernel_of(t.kernel)->native, "before",
           "it did not start without the compiler");
    gate_open();
    for (int i = 0; i < 20; i++, usleep(5000))
        expect(gives(&t, n, want), "during", "another result");
    wait_for_code(&t);
    expect(!cpu_module_of(t.m)->job && cpu_kernel_of(t.kernel)->native, "after",
           "there is no machine code");
    expect(gives(&t, n, want), "after", "another result");
    kiln_close(t.k);
}

// A launch that may be long, or that keeps addresses, waits.
static void waits(const char *name, const char *source, uint32_t n)
{
    uint32_t want[ITEMS];
    pthread_t id;
    wanted(source, 2, n, want);
    gate_close();
    thing t = make("cpu", source, 2);
    pthread_create(&id, NULL, open_soon, NULL);
    expect(gives(&t, n, want), name, "another result");
    expect(cpu_kernel_of(t.kernel)->native != NULL, name, "it did not wait for machine code");
    pthread_join(id, NULL);
    kiln_close(t.k);
}

// The gate stays closed: who waits for the compiler waits for ever.
static void ends_meanwhile(bool by_close)
{
    gate_close();
    unlink(numbers);
    thing t = make("cpu", small_kernel, 3);
    wait_for_compiler();
    expect(running_compilers() == 1, "end while compiling", "no compiler was started");
    double start_time = now();
    if (!by_close)
        kiln_module_free(t.m);
    kiln_close(t.k);
    expect(now() - start_time < PATIENCE, "end while compiling", "it waited");
    nothing_remains("end while compiling");
}

// What a process has left that was killed long ago goes, and nothing else.
static void sweeps(const char *self)
{
    static const char *const names[] = {"kiln-cpu-999999999-old", "kiln-cpu-999999999-new",
                                        "kiln-cpu-1-mine"};
    char path[700], file[720];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", temporary, names[i]);
        mkdir(path, 0700);
        snprintf(file, sizeof file, "%s/kernel.c", path);
        make_file(file, "", 0600);
        struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
        if (i != 1)
            utimensat(AT_FDCWD, path, times, 0);
    }
    gate_open();
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, folder, "leave", (char *)NULL);
        _exit(1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    expect(status == 0, "sweep", "the program has failed");
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", temporary, names[i]);
        expect((access(path, F_OK) == 0) == (i > 0), "sweep", names[i]);
        snprintf(file, sizeof file, "%s/kernel.c", path);
        unlink(file);
        rmdir(path);
    }
}

// More than there are workers; the last ones never get one before the end.
static void many(void)
{
    uint32_t want[MODULES][ITEMS];
    thing all[MODULES];
    pthread_t id;
    for (int i = 0; i < MODULES; i++)
        wanted(small_kernel, i, 0, want[i]);
    gate_close();
    for (int i = 0; i < MODULES; i++) {
        all[i] = i ? all[0] : make("cpu", small_kernel, i);
        if (i && !compile(&all[i], small_kernel, i))
            exit(1);
    }
    for (int i = 0; i < MODULES; i++)
        expect(gives(&all[i], 0, want[i]) && cpu_module_of(all[i].m)->job, "many before",
               "another result");
    pthread_create(&id, NULL, open_soon, NULL);
    for (int i = MODULES - 1; i >= MODULES / 2; i--) {
        wait_for_code(&all[i]);
        expect(cpu_kernel_of(all[i].kernel)->native && gives(&all[i], 0, want[i]), "many after",
               "another result");
    }
    pthread_join(id, NULL);
    kiln_close(all[0].k);
    expect(left_nothing(), "many", "a folder is left");
}

static void *use_context(void *want)
{
    thing t = make("cpu", small_kernel, 5);
    bool same = true;
    for (int i = 0; i < 30; i++, usleep(2000))
        same &= gives(&t, 0, want);
    wait_for_code(&t);
    same &= gives(&t, 0, want) && cpu_kernel_of(t.kernel)->native;
    kiln_close(t.k);
    return same ? want : NULL;
}

static void contexts(void)
{
    uint32_t want[ITEMS];
    pthread_t ids[4];
    void *same;
    wanted(small_kernel, 5, 0, want);
    gate_open();
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, use_context, want);
    for (int i = 0; i < 4; i++) {
        pthread_join(ids[i], &same);
        expect(same != NULL, "contexts", "another result");
    }
}

static void compiler_fails(void)
{
    uint32_t want[ITEMS];
    wanted(loop_kernel, 6, 5000, want);
    gate_open();
    make_file(broken, "", 0600);
    thing t = make("cpu", loop_kernel, 6);
    expect(gives(&t, 5000, want), "failing compiler", "another result");
    expect(!cpu_kernel_of(t.kernel)->native && !cpu_module_of(t.m)->job, "failing compiler",
           "it has code");
    kiln_close(t.k);
    unlink(broken);
    expect(left_nothing(), "failing compiler", "a folder is left");
}

static void cached(void)
{
    uint32_t want[ITEMS];
    wanted(small_kernel, 7, 0, want);
    setenv("KILN_CACHE", "on", 1);
    gate_open();
    thing t = make("cpu", small_kernel, 7);
    wait_for_code(&t);
    kiln_close(t.k);
    gate_close();
    t = make("cpu", small_kernel, 7);
    expect(!cpu_module_of(t.m)->job && cpu_kernel_of(t.kernel)->native, "cached",
           "it is not ready at once");
    expect(gives(&t, 0, want), "cached", "another result");
    kiln_close(t.k);
    setenv("KILN_CACHE", "off", 1);
}

static void waits_if_told(void)
{
    setenv("KILN_CPU", "wait", 1);
    gate_open();
    thing t = make("cpu", small_kernel, 8);
    expect(!cpu_module_of(t.m)->job && cpu_kernel_of(t.kernel)->native, "KILN_CPU=wait",
           "it is not ready at once");
    kiln_close(t.k);
    setenv("KILN_CPU", "compiler", 1);
}

// --- with machine code from the start
static void quick_at_once(const char *name, const char *source, uint32_t n)
{
    uint32_t want[ITEMS];
    wanted(source, 12, n, want);
    gate_close();
    thing t = make("cpu", source, 12);
    expect(cpu_kernel_of(t.kernel)->quick != NULL, name, "there is no quick code");
    expect(gives(&t, n, want), name, "another result of quick code");
    expect(cpu_module_of(t.m)->job && !cpu_kernel_of(t.kernel)->native, name,
           "it waited for the compiler");
    gate_open();
    for (int i = 0; i < 20; i++, usleep(5000))
        expect(gives(&t, n, want), name, "another result while the compiler works");
    wait_for_code(&t);
    expect(!cpu_module_of(t.m)->job && cpu_kernel_of(t.kernel)->native, name,
           "there is no better code");
    expect(gives(&t, n, want), name, "another result of better code");
    kiln_close(t.k);
}

static void quick_alone(void)
{
    uint32_t want[ITEMS];
    wanted(loop_kernel, 13, 5000, want);
    gate_close();
    setenv("KILN_CPU", "quick", 1);
    thing t = make("cpu", loop_kernel, 13);
    wait_for_code(&t);
    expect(!cpu_module_of(t.m)->job && !cpu_kernel_of(t.kernel)->native &&
               cpu_kernel_of(t.kernel)->quick,
           "KILN_CPU=quick", "a compiler runs");
    expect(gives(&t, 5000, want), "KILN_CPU=quick", "another result");
    kiln_close(t.k);
    setenv("KILN_CPU", "background", 1);
}

// Processor time to compile a loop over `count` variables, each of which is asked for by others.
static double time_of_loop(int count)
{
    size_t size = (size_t)count * 120 + 1000, at = 0;
    char *source = malloc(size);
    at += (size_t)snprintf(source + at, size - at,
                           HEAD "kernel block(64) void f(u32 *out, u32 n) { u32 i = global_x();\n");
    for (int v = 0; v < count; v++)
        at += (size_t)snprintf(source + at, size - at, "u32 v%d = out[i + %d];\n", v, v);
    at += (size_t)snprintf(source + at, size - at, "for (u32 r = 0; r < n; r++) {\n");
    for (int v = 0; v < count; v++)
        at += (size_t)snprintf(source + at, size - at, "v%d = v%d * 3u + v%d;\n", v, v,
                               (v * 7 + 1) % count);
    at += (size_t)snprintf(source + at, size - at, "}\n");
    for (int v = 0; v < count; v++)
        at += (size_t)snprintf(source + at, size - at, "out[i + %d] = v%d;\n", v, v);
    snprintf(source + at, size - at, "}\n");
    clock_t before = clock();
    thing t = make("cpu", source, 0);
    double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    kiln_close(t.k);
    free(source);
    return seconds;
}

// Four times as much takes about four times as long, whether there is code for it in the end or
// not; work that grows with the square takes 16 times as long. The least of several tries counts,
// because other programs on the machine cost processor time, too.
static void large_kernels(void)
{
    setenv("KILN_CPU", "quick", 1);
    double small = HUGE_VAL, large = HUGE_VAL;
    for (int tries = 0; tries < 10 && !(large < 12 * small + 0.05); tries++) {
        small = fmin(small, time_of_loop(400));
        large = fmin(large, time_of_loop(1600));
    }
    char what[100];
    snprintf(what, sizeof what, "400 variables take %.3f s, 1600 take %.3f s", small, large);
    expect(large < 12 * small + 0.05, "large kernels", what);
    setenv("KILN_CPU", "background", 1);
}

// In a process that may not run memory it has written: as if there were no quick code.
static void not_allowed(void)
{
    enum { SET_NO_NEW_CODE = 65 }; // PR_SET_MDWE, newer than some headers
    uint32_t want[ITEMS];
    int status = 1;
    wanted(loop_kernel, 14, 5000, want);
    gate_open();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (prctl(SET_NO_NEW_CODE, 1L, 0L, 0L, 0L))
            _exit(2);
        thing t = make("cpu", loop_kernel, 14);
        bool fine = !cpu_kernel_of(t.kernel)->quick && gives(&t, 5000, want) &&
                    cpu_kernel_of(t.kernel)->native;
        kiln_close(t.k);
        _exit(fine ? 0 : 1);
    }
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        skip("memory that may not be run, which this kernel cannot forbid");
    else
        expect(status == 0, "no memory that may be run", "the child has failed");
}

static void with_quick(void)
{
    const char *why;
    setenv("KILN_CPU", "background", 1);
    if (!quick_is_here(&why)) {
        skip(why);
        return;
    }
    quick_at_once("quick small", small_kernel, 0);
    quick_at_once("quick long", loop_kernel, 100000);
    quick_at_once("quick unknown", unknown_kernel, 7);
    quick_at_once("quick address", address_kernel, 0);
    quick_alone();
    large_kernels();
    contexts();
    many();
    ends_meanwhile(false);
    ends_meanwhile(true);
    if (!is_watched)
        not_allowed();
    setenv("KILN_CPU", "compiler", 1);
}

static void *cancel_soon(void *k)
{
    usleep(50000);
    kiln_cancel(k);
    return NULL;
}

// While the launch waits for the compiler.
static void cancelled(void)
{
    pthread_t ids[2];
    gate_close();
    thing t = make("cpu", endless_kernel, 9);
    pthread_create(&ids[0], NULL, cancel_soon, t.k);
    pthread_create(&ids[1], NULL, open_soon, NULL);
    expect(start(&t, 1000000000) == KILN_E_CANCELLED, "cancelled", "it was not");
    pthread_join(ids[0], NULL);
    pthread_join(ids[1], NULL);
    kiln_close(t.k);
}

// A child process has no worker: what it inherits half-made stays interpreted, the rest works.
static void forked(void)
{
    uint32_t want[ITEMS];
    int status = 1;
    wanted(loop_kernel, 10, 5000, want);
    gate_close();
    thing t = make("cpu", loop_kernel, 10);
    wait_for_compiler();
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool fine = gives(&t, 5000, want) && !cpu_kernel_of(t.kernel)->native;
        kiln_close(t.k);
        gate_open();
        t = make("cpu", loop_kernel, 10);
        fine = fine && gives(&t, 5000, want) && cpu_kernel_of(t.kernel)->native;
        kiln_close(t.k);
        _exit(fine ? 0 : 1);
    }
    waitpid(child, &status, 0);
    expect(status == 0, "forked", "the child has failed");
    gate_open();
    expect(gives(&t, 5000, want) && cpu_kernel_of(t.kernel)->native, "forked",
           "the parent has failed");
    kiln_close(t.k);
}

// A program that returns without closing anything, or is ended by a signal.
static void leaves(const char *self, int signal)
{
    int status = 1;
    gate_close();
    unlink(numbers);
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, folder, signal ? "stay" : "leave", (char *)NULL);
        _exit(1);
    }
    if (signal) {
        wait_for_compiler();
        kill(child, signal);
    }
    double start_time = now();
    waitpid(child, &status, 0);
    expect(now() - start_time < PATIENCE, "leaving", "it waited");
    expect(signal ? WIFSIGNALED(status) && WTERMSIG(status) == signal : status == 0, "leaving",
           "the program has failed");
    nothing_remains("leaving");
}

int main(int argc, char **argv)
{
    alarm(600);
    if (argc < 2)
        return 2;
    set_up(argv[1]);
    if (argc > 2) {
        static thing t; // found by a leak checker
        t = make("cpu", small_kernel, 11);
        if (!strcmp(argv[2], "stay"))
            pause();
        return start(&t, 0) != KILN_OK;
    }
    before_and_after(small_kernel, 0);
    before_and_after(loop_kernel, 50);
    before_and_after(stride_kernel, 5000);
    waits("a long loop", loop_kernel, 100000);
    waits("a long loop of all threads", stride_kernel, 5000000);
    waits("a loop of unknown length", unknown_kernel, 7);
    waits("an address", address_kernel, 0);
    ends_meanwhile(false);
    ends_meanwhile(true);
    many();
    contexts();
    compiler_fails();
    cached();
    waits_if_told();
    cancelled();
    with_quick();
    if (!is_watched) {
        forked();
        leaves(argv[0], 0);
        leaves(argv[0], SIGKILL);
        leaves(argv[0], SIGTERM);
        sweeps(argv[0]);
    } else {
        skip("processes, which ThreadSanitizer does not follow");
    }
    printf("cpu: %d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0;
}
