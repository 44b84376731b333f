// From a module's C text to functions: the system's C compiler makes a shared object in a private
// folder, which is opened and removed at once; the disk cache keeps its bytes. Nothing here is an
// error: without a compiler the kernels stay on the interpreter. Start reading at cpu_take.
#include "rt/cpu/cpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "back/back.h"
#include "base/file.h"
#include "base/knobs.h"
#include "rt/cache.h"

extern char **environ;

static const char *const flags[] = {"-std=gnu11",
                                    "-w",
                                    "-O1",
                                    "-march=native",
                                    "-ffp-contract=off",
                                    "-fwrapv",
                                    "-fno-math-errno",
                                    "-fno-strict-aliasing",
                                    "-fno-trapping-math",
                                    "-fno-asynchronous-unwind-tables",
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
static bool run_compiler(const char *source, const char *out, int try)
{
    const char *argv[COUNT(flags) + COUNT(extra[0]) + 8];
    size_t n = 0;
    argv[n++] = found.path;
    for (size_t k = 0; k < COUNT(flags); k++)
        argv[n++] = flags[k];
    argv[n++] = source;
    argv[n++] = "-o";
    argv[n++] = out;
    for (size_t k = 0; k < COUNT(extra[0]) && extra[try][k]; k++)
        argv[n++] = extra[try][k];
    argv[n] = NULL;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return false;
    bool talks = knob_number(KNOB_DEBUG) > 0;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!talks) {
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    }
    pid_t child;
    int status = 1;
    if (posix_spawn(&child, found.path, &actions, NULL, (char *const *)(uintptr_t)argv, environ) ==
        0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
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

// The object of the C text, opened; from the cache, or made now.
static void *make_object(const char *code, size_t len)
{
    const char *compiler = cpu_compiler(NULL);
    if (!compiler)
        return NULL;
    struct stat s = {0};
    (void)!stat(compiler, &s);
    char id[600], options[400] = "";
    snprintf(id, sizeof id, "%s %lld %lld", compiler, (long long)s.st_size, (long long)s.st_mtime);
    for (size_t k = 0; k < COUNT(flags); k++)
        snprintf(options + strlen(options), sizeof options - strlen(options), "%s\n", flags[k]);
    cache_part parts[] = {
        {"target", "cpu"}, {"driver", id}, {"options", options}, {"machine", found.machine}};
    cache_request request = {
        .source = code, .source_len = len, .parts = parts, .part_count = COUNT(parts)};
    const char *tmp = getenv("TMPDIR");
    char folder[256], source[300], object[300];
    snprintf(folder, sizeof folder, "%s/kiln-cpu-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return NULL;
    snprintf(source, sizeof source, "%s/kernel.c", folder);
    snprintf(object, sizeof object, "%s/kernel.so", folder);
    void *bytes = NULL, *so = NULL;
    size_t bytes_len = 0;
    if (cache_get(&request, &bytes, &bytes_len)) {
        if (write_all(object, bytes, bytes_len))
            so = open_object(object);
    } else if (write_all(source, code, len)) {
        for (int try = 0; try < 2 && !so; try++)
            if (run_compiler(source, object, try))
                so = open_object(object);
        bytes = so ? read_all(object, &bytes_len) : NULL;
        if (bytes)
            cache_put(&request, NULL, 0, bytes, bytes_len);
    }
    free(bytes);
    unlink(source);
    unlink(object);
    rmdir(folder);
    return so;
}

// The first row says for which struct the code was made. False: some kernel has none.
static bool take_rows(kiln_module *m, const cpu_row *rows)
{
    size_t taken = 0;
    if (!rows || !rows->name || strcmp(rows->name, CPU_TABLE_MARK))
        return false;
    for (rows++; rows->name; rows++)
        for (size_t k = 0; k < m->kernel_count; k++)
            if (!strcmp(m->kernels[k]->name, rows->name)) {
                m->kernels[k]->native = rows;
                taken++;
            }
    return taken == m->kernel_count;
}

void cpu_take(kiln_module *m, ir_module *from)
{
    const cpu_row *embedded = (const void *)m->embedded;
    if (take_rows(m, embedded) || !cpu_compiler(NULL))
        return;
    arena *scratch = arena_new();
    if (!scratch)
        bug_out_of_memory();
    m->scratch = scratch; // freed with the module when this is left by a jump
    text code = {.in = scratch};
    cpu_emit(from, NULL, scratch, &code);
    m->native = make_object(code.at, code.len);
    m->scratch = NULL;
    arena_free(scratch);
    if (m->native)
        take_rows(m, dlsym(m->native, "kiln_cpu_table"));
}

void cpu_unload(kiln_module *m)
{
    if (m->native)
        dlclose(m->native);
    m->native = NULL;
}
