// From a module's C text to a shared object: the disk cache has it, or the system's C compiler
// makes it in a private folder, which is removed at once. Nothing here is an error: without a
// compiler the kernels stay on the interpreter. What build_object reads is in its job, not in the
// environment, for it may run beside the program. Start reading at build_object.
#include "dev/cpu/cpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/knobs.h"
#include "rt/cache/cache.h"

extern char **environ;

static const char *const flags[] = {"-std=gnu11",
                                    "-w",
                                    "-O1",
                                    "-ffp-contract=off",
                                    "-fwrapv",
                                    "-fno-math-errno",
                                    "-fno-strict-aliasing",
                                    "-fno-trapping-math",
                                    "-fno-asynchronous-unwind-tables",
                                    "-fstack-clash-protection", // no jump over a guard page
                                    "-fPIC",
                                    "-shared",
                                    "-fvisibility=hidden"};
// The first try leaves out what costs time and is hardly ever needed (see back/cpu/prelude.c); the
// second one leaves out nothing.
static const char *const extra[2][3] = {{"-nostdlib", "-lm", "-lgcc"}, {"-DKILN_ALL", "-lm", NULL}};

// --- the compiler
static struct {
    pthread_once_t once;
    char path[512];
    char machine[4096]; // what -march=native depends on
    const char *march;
} found = {.once = PTHREAD_ONCE_INIT};

static bool find_program(const char *name, char *out, size_t size)
{
    if (strchr(name, '/')) {
        snprintf(out, size, "%s", name);
        return access(out, X_OK) == 0;
    }
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t len = strcspn(path, ":");
        snprintf(out, size, "%.*s/%s", (int)len, path, name);
        if (access(out, X_OK) == 0)
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

// The compiler runs on the processor itself; this process may run under valgrind, which knows
// AVX2, but not AVX-512.
static const char *find_march(const char *machine)
{
#if defined(__x86_64__)
    if (strstr(machine, " avx512f ") && !__builtin_cpu_supports("avx512f"))
        return "-march=x86-64-v3";
#endif
    (void)machine;
    return "-march=native";
}

static void find_machine(void)
{
    FILE *in = fopen("/proc/cpuinfo", "r");
    char line[4096];
    size_t used = 0;
    while (in && fgets(line, sizeof line, in) && line[0] != '\n')
        if (!strncmp(line, "flags", 5) || !strncmp(line, "model name", 10) ||
            !strncmp(line, "Features", 8))
            used += (size_t)snprintf(found.machine + used,
                                     used < sizeof found.machine ? sizeof found.machine - used : 0,
                                     "%s", line);
    if (in)
        fclose(in);
    found.march = find_march(found.machine);
}

static void find_compiler(void)
{
    static const char *const names[] = {"cc", "gcc", "clang"};
    const char *asked = knob_text(KNOB_CC);
    bool has = false;
    if (*asked)
        has = find_program(asked, found.path, sizeof found.path);
    for (size_t k = 0; !*asked && !has && k < COUNT(names); k++)
        has = find_program(names[k], found.path, sizeof found.path);
    if (!has)
        found.path[0] = 0;
    find_machine();
}

const char *cpu_compiler(const char **why)
{
    pthread_once(&found.once, find_compiler);
    if (why)
        *why = found.path[0]         ? "found"
               : *knob_text(KNOB_CC) ? "$KILN_CC is no program that can be run"
                                     : "no cc, gcc or clang on $PATH";
    return found.path[0] ? found.path : NULL;
}

// --- running it
static bool run_compiler(build_job *job, const char *source, const char *out, int try)
{
    const char *argv[COUNT(flags) + COUNT(extra[0]) + 8];
    size_t n = 0;
    argv[n++] = found.path;
    argv[n++] = found.march;
    for (size_t k = 0; k < COUNT(flags); k++)
        argv[n++] = flags[k];
    argv[n++] = source;
    argv[n++] = "-o";
    argv[n++] = out;
    for (size_t k = 0; k < COUNT(extra[0]) && extra[try][k]; k++)
        argv[n++] = extra[try][k];
    return child_run(job, argv, n);
}

static bool write_all(const char *path, const void *bytes, size_t len)
{
    FILE *out = fopen(path, "wb");
    bool fine = out && fwrite(bytes, 1, len, out) == len;
    return (out ? fclose(out) == 0 : false) && fine;
}

static void *read_all(const char *path, size_t *len)
{
    struct stat s;
    FILE *in = fopen(path, "rb");
    void *bytes = NULL;
    if (in && !fstat(fileno(in), &s) && s.st_size > 0)
        bytes = malloc((size_t)s.st_size);
    *len = bytes ? fread(bytes, 1, (size_t)s.st_size, in) : 0;
    if (in)
        fclose(in);
    if (bytes && *len != (size_t)s.st_size) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

static void *open_object(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// --- the cache
typedef struct asked { // a request and the texts in it
    cache_request request;
    cache_part parts[4];
    char id[600], options[400];
} asked;

static void ask(asked *a, const char *code, size_t len, const char *about)
{
    const char *compiler = cpu_compiler(NULL);
    struct stat s = {0};
    (void)!stat(compiler, &s);
    snprintf(a->id, sizeof a->id, "%s %lld %lld", compiler, (long long)s.st_size,
             (long long)s.st_mtime);
    snprintf(a->options, sizeof a->options, "%s\n", found.march);
    for (size_t k = 0; k < COUNT(flags); k++)
        snprintf(a->options + strlen(a->options), sizeof a->options - strlen(a->options), "%s\n",
                 flags[k]);
    a->parts[0] = (cache_part){"target", "cpu"};
    a->parts[1] = (cache_part){"compiler", a->id};
    a->parts[2] = (cache_part){"options", a->options};
    a->parts[3] = (cache_part){"machine", found.machine};
    a->request = (cache_request){.about = about,
                                 .source = code,
                                 .source_len = len,
                                 .parts = a->parts,
                                 .part_count = COUNT(a->parts)};
}

void *build_cached(const char *code, size_t len)
{
    asked a;
    void *bytes = NULL, *object = NULL;
    size_t bytes_len = 0;
    char folder[256], path[300];
    ask(&a, code, len, NULL);
    if (!cache_get(&a.request, &bytes, &bytes_len))
        return NULL;
    folder_name(folder, sizeof folder);
    if (mkdtemp(folder)) {
        snprintf(path, sizeof path, "%s/kernel.so", folder);
        if (write_all(path, bytes, bytes_len))
            object = open_object(path);
        folder_remove(folder);
    }
    free(bytes);
    return object;
}

void build_keep(const build_job *job, const char *about)
{
    asked a;
    if (!job->bytes)
        return;
    ask(&a, job->code, job->code_len, about);
    cache_put(&a.request, NULL, 0, job->bytes, job->bytes_len);
}

// --- a job
// The environment in one piece: the pointers, then the texts. What the compiler keeps for a moment
// goes to the job's own folder.
static char **copy_environment(char *tmpdir)
{
    size_t count = 0, bytes = 0, n = 0;
    for (; environ && environ[count]; count++)
        bytes += strlen(environ[count]) + 1;
    char **copy = malloc((count + 2) * sizeof *copy + bytes);
    char *at = copy ? (char *)(copy + count + 2) : NULL;
    for (size_t k = 0; copy && k < count; k++)
        if (strncmp(environ[k], "TMPDIR=", 7) != 0) {
            copy[n++] = at;
            at = stpcpy(at, environ[k]) + 1;
        }
    if (copy) {
        copy[n++] = tmpdir;
        copy[n] = NULL;
    }
    return copy;
}

build_job *build_job_new(const char *code, size_t len)
{
    build_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    pthread_mutex_init(&job->lock, NULL);
    job->code = malloc(len + 1);
    job->environment = copy_environment(job->tmpdir);
    if (!job->code || !job->environment) {
        build_job_free(job);
        return NULL;
    }
    memcpy(job->code, code, len);
    job->code_len = len;
    job->talks = knob_number(KNOB_DEBUG) > 0;
    folder_name(job->folder, sizeof job->folder);
    pthread_sigmask(SIG_SETMASK, NULL, &job->signals);
    return job;
}

void build_job_free(build_job *job)
{
    free(job->code);
    free(job->environment);
    free(job->bytes);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

void build_object(build_job *job)
{
    char source[300], object[300];
    if (!mkdtemp(job->folder))
        return;
    snprintf(job->tmpdir, sizeof job->tmpdir, "TMPDIR=%s", job->folder);
    snprintf(source, sizeof source, "%s/kernel.c", job->folder);
    snprintf(object, sizeof object, "%s/kernel.so", job->folder);
    if (write_all(source, job->code, job->code_len))
        for (int try = 0; try < 2 && !job->object; try++)
            if (run_compiler(job, source, object, try))
                job->object = open_object(object);
    if (job->object)
        job->bytes = read_all(object, &job->bytes_len);
    folder_remove(job->folder);
}
