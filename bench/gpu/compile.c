// Source text to PTX: Kiln against NVRTC, the same kernels, in turns, one thread. Needs no GPU.
// NVRTC's first compile (it loads its own parts) is not counted, and its cache is off, as is ours.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "back/back.h"
#include "base/bug.h"
#include "bench/gpu/bench.h"
#include "compile.h"

enum { ROUNDS = 21 };
static const char target_name[] = "sm_90a";

typedef struct nvrtc {
    int (*version)(int *major, int *minor);
    int (*create)(void **program, const char *source, const char *name, int count,
                  const char *const *headers, const char *const *names);
    int (*compile)(void *program, int count, const char *const *options);
    int (*ptx_size)(void *program, size_t *size);
    int (*ptx)(void *program, char *out);
    int (*destroy)(void **program);
    bool has_cache; // since 12.9
} nvrtc;

static bool load_nvrtc(nvrtc *n)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so"};
    void *library = NULL;
    for (size_t k = 0; k < 4 && !library; k++)
        library = dlopen(names[k], RTLD_NOW);
    if (!library)
        return false;
    const struct {
        void *slot;
        const char *name;
    } rows[] = {{&n->version, "nvrtcVersion"},
                {&n->create, "nvrtcCreateProgram"},
                {&n->compile, "nvrtcCompileProgram"},
                {&n->ptx_size, "nvrtcGetPTXSize"},
                {&n->ptx, "nvrtcGetPTX"},
                {&n->destroy, "nvrtcDestroyProgram"}};
    for (size_t k = 0; k < 6; k++) {
        void *symbol = dlsym(library, rows[k].name);
        if (!symbol)
            return false;
        memcpy(rows[k].slot, &symbol, sizeof symbol);
    }
    return true;
}

typedef struct ptx_out {
    char *text;
    size_t len;
} ptx_out;

static double ours(const char *name, const char *source, size_t len, const char *tune, ptx_out *out)
{
    const char *tunes[] = {tune, NULL};
    double start = bench_now();
    compile_outcome outcome = compile_run(&(compile_options){
        .path = name,
        .source = source,
        .source_len = len,
        .front = {.target = target_find(target_name), .tunes = tune ? tunes : NULL},
        .level = 2,
        .no_remarks = true,
        .backend = &ptx_backend,
        .emit_options = &(ptx_options){.line_info = false}});
    double seconds = bench_now() - start;
    if (outcome.status) {
        fprintf(stderr, "%s\n", outcome.log);
        exit(1);
    }
    // The PTX out, as a program that compiles at run time would take it.
    out->len = outcome.emitted.len;
    out->text = malloc(out->len + 1);
    if (!out->text)
        exit(1);
    memcpy(out->text, outcome.emitted.at, out->len + 1);
    compile_outcome_free(&outcome);
    return seconds;
}

static double theirs(const nvrtc *n, const char *name, const char *source, ptx_out *out)
{
    const char *options[] = {"--gpu-architecture=compute_90a", "--no-cache"};
    void *program;
    double start = bench_now();
    int bad = n->create(&program, source, name, 0, NULL, NULL);
    bad = bad ? bad : n->compile(program, n->has_cache ? 2 : 1, options);
    bad = bad ? bad : n->ptx_size(program, &out->len);
    out->text = bad ? NULL : malloc(out->len);
    if (!out->text || n->ptx(program, out->text)) {
        fprintf(stderr, "NVRTC says %d to %s\n", bad, name);
        exit(1);
    }
    n->destroy(&program);
    return bench_now() - start;
}

static void compare(report *r, const nvrtc *n, const char *name, const char *path,
                    const char *twin_path, const char *tune)
{
    size_t len;
    char *source = report_source(r, path, &len), *twin = report_source(r, twin_path, NULL);
    double mine[ROUNDS], other[ROUNDS], ratio[ROUNDS];
    for (int k = -1; k < ROUNDS; k++) {
        ptx_out a, b;
        double x = ours(path, source, len, tune, &a), y = theirs(n, twin_path, twin, &b);
        if (k < 0) {
            char entry[64];
            snprintf(entry, sizeof entry, ".entry %s(", name);
            report_check(r, strstr(a.text, entry) && strstr(b.text, entry),
                         "both give PTX with a kernel '%s'", name);
        } else {
            mine[k] = x * 1e3;
            other[k] = y * 1e3;
            ratio[k] = y / x;
        }
        free(a.text);
        free(b.text);
    }
    report_number(r, bench_median(mine, ROUNDS), "%s.kiln.ms", name);
    report_number(r, bench_median(other, ROUNDS), "%s.nvrtc.ms", name);
    report_number(r, bench_median(ratio, ROUNDS), "%s.times_faster", name);
    free(source);
    free(twin);
}

int main(int argc, char **argv)
{
    static report r;
    nvrtc n;
    report_start(&r, "compile", argc, argv, false);
    if (!load_nvrtc(&n)) {
        printf("skipped: there is no libnvrtc here\n");
        return BENCH_SKIPPED;
    }
    int major = 0, minor = 0;
    n.version(&major, &minor);
    n.has_cache = major > 12 || (major == 12 && minor >= 9);
    printf("NVRTC %d.%d, target %s\n", major, minor, target_name);
    compare(&r, &n, "saxpy", "examples/saxpy/kernel.c", "bench/gpu/twins/saxpy.cu.txt", NULL);
    compare(&r, &n, "matmul", "examples/matmul/kernel.c", "bench/gpu/twins/matmul.cu.txt",
            "TILE=64");
    return report_end(&r);
}
