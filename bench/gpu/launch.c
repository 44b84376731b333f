// What Kiln adds to a launch: kiln_launch against a bare cuLaunchKernel loop, kiln_graph_launch
// against cuGraphLaunch; the same code, the same arguments, the same stream, in turns. And what a
// program waits for at its first launch.
//     launch first matmul|attention    one process of time_first_calls, which starts them
#include <kiln/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/gpu/bench.h"
#include "rt/cache/cache.h"

enum {
    LOADS = 9,
    FIRST_CALLS = 7,
    FIRST_DIM = 128,
    ROUNDS = 101,
    BATCH = 1000,
    FEW = 200,
    GRAPH_NODES = 100,
    GRAPH_BATCH = 50,
    COUNT_OF_ITEMS = 256
};

typedef struct both {
    report r;
    bench_kernel ours;
    kiln_launch_desc desc;
    cu_module module;
    cu_function theirs;
    void *params[5];
    kiln_graph *graph;
    cu_graph_exec exec;
} both;

static void launch_ours(both *b, int count)
{
    for (int i = 0; i < count; i++)
        bench_must(&b->r, kiln_launch(b->ours.kernel, &b->desc), "kiln_launch");
}

static void launch_theirs(both *b, int count)
{
    for (int i = 0; i < count; i++)
        bench_cu(&b->r,
                 b->r.cu->launch(b->theirs, 1, 1, 1, 256, 1, 1, 0, b->r.stream, b->params, NULL),
                 "cuLaunchKernel");
}

static void replay_ours(both *b, int count)
{
    for (int i = 0; i < count; i++)
        bench_must(&b->r, kiln_graph_launch(b->graph, NULL), "kiln_graph_launch");
}

static void replay_theirs(both *b, int count)
{
    for (int i = 0; i < count; i++)
        bench_cu(&b->r, b->r.cu->graph_launch(b->exec, b->r.stream), "cuGraphLaunch");
}

// Microseconds for one call: until the last is done (waits), or only for handing them over.
static double time_of(both *b, void (*run)(both *, int), int count, bool waits)
{
    bench_cu(&b->r, b->r.cu->stream_sync(b->r.stream), "waiting");
    double start = bench_now();
    run(b, count);
    double handed = bench_now();
    bench_cu(&b->r, b->r.cu->stream_sync(b->r.stream), "waiting");
    return ((waits ? bench_now() : handed) - start) * 1e6 / count;
}

static void compare(both *b, const char *name, void (*ours)(both *, int),
                    void (*theirs)(both *, int), int count, bool waits)
{
    double mine[ROUNDS], bare[ROUNDS], ratio[ROUNDS];
    time_of(b, ours, count, waits);
    time_of(b, theirs, count, waits);
    for (int n = 0; n < ROUNDS; n++) {
        bool first = n % 2;
        if (first)
            mine[n] = time_of(b, ours, count, waits);
        bare[n] = time_of(b, theirs, count, waits);
        if (!first)
            mine[n] = time_of(b, ours, count, waits);
        ratio[n] = mine[n] / bare[n];
    }
    report_number(&b->r, bench_median(mine, ROUNDS), "%s.kiln.us", name);
    report_number(&b->r, bench_median(bare, ROUNDS), "%s.driver.us", name);
    report_number(&b->r, bench_median(ratio, ROUNDS), "%s.ratio", name);
}

static void make_graphs(both *b)
{
    kiln_stream *s;
    bench_must(&b->r, kiln_stream_new(b->r.k, 0, &s), "a stream");
    kiln_launch_desc in_stream = b->desc;
    in_stream.stream = s;
    bench_must(&b->r, kiln_capture_begin(s), "a capture");
    for (int i = 0; i < GRAPH_NODES; i++)
        bench_must(&b->r, kiln_launch(b->ours.kernel, &in_stream), "a captured launch");
    bench_must(&b->r, kiln_capture_end(s, &b->graph), "a capture");
    cu_stream native = kiln_stream_native(b->r.k, s);
    cu_graph graph;
    bench_cu(&b->r, b->r.cu->capture_begin(native, CU_CAPTURE_RELAXED), "a capture");
    for (int i = 0; i < GRAPH_NODES; i++)
        bench_cu(&b->r, b->r.cu->launch(b->theirs, 1, 1, 1, 256, 1, 1, 0, native, b->params, NULL),
                 "a captured launch");
    bench_cu(&b->r, b->r.cu->capture_end(native, &graph), "a capture");
    bench_cu(&b->r, b->r.cu->graph_instantiate(&b->exec, graph, 0), "a graph");
}

// What a program waits for before its first launch: compiled, from the disk cache, from memory. The
// driver's own cache is off (main).
static void time_loads(both *b)
{
    static const char path[] = "bench/gpu/kernels/matmul.c";
    static const char *const names[] = {"load.compiled.ms", "load.from_disk.ms",
                                        "load.from_memory.ms"};
    char folder[] = "/tmp/kiln-bench-XXXXXX";
    double ms[3][LOADS];
    if (!mkdtemp(folder))
        return;
    setenv("KILN_CACHE_DIR", folder, 1);
    free(report_source(&b->r, path, NULL));
    for (int n = 0; n < LOADS; n++) {
        cache_clear();
        for (int how = 0; how < 3; how++) {
            kiln_module *m;
            if (how == 1)
                cache_drop_memory();
            double start = bench_now();
            bench_must(&b->r, kiln_compile(b->r.k, &(kiln_compile_desc){.path = path}, &m),
                       "kiln_compile");
            ms[how][n] = (bench_now() - start) * 1e3;
            kiln_module_free(m);
        }
    }
    for (int how = 0; how < 3; how++)
        report_number(&b->r, bench_median(ms[how], LOADS), "%s", names[how]);
    cache_clear();
    rmdir(folder);
}

// --- the first call of an op in a process that finds the kernel on disk: from the call until it
// returns, and until the result is there. The device is open, the buffers are filled, and another
// kernel has run: neither the context's start nor the driver's first launch counts. The driver's
// cache is on: machine code of kernels with setmaxnreg is only there (dev/cuda/module.c).

static kiln_status call_op(kiln *k, bool is_matmul, kiln_buffer **b)
{
    if (is_matmul)
        return kiln_matmul(k, &(kiln_matmul_desc){.a = KILN_VIEW(b[0], FIRST_DIM, FIRST_DIM),
                                                  .b = KILN_VIEW(b[1], FIRST_DIM, FIRST_DIM),
                                                  .out = KILN_VIEW(b[3], FIRST_DIM, FIRST_DIM)});
    kiln_view v[4];
    for (int n = 0; n < 4; n++)
        v[n] = KILN_VIEW(b[n], 1, 1, FIRST_DIM, FIRST_DIM);
    return kiln_attention_forward(
        k, &(kiln_attention_desc){.q = v[0], .k = v[1], .v = v[2], .out = v[3]});
}

static int first_call(const char *op)
{
    enum { COUNT = FIRST_DIM * FIRST_DIM };
    static uint16_t zeros[COUNT];
    kiln *k;
    kiln_buffer *b[4];
    kiln_module *m;
    kiln_kernel *warm;
    kiln_status status = kiln_open("cuda", &k);
    for (int n = 0; n < 4 && !status; n++) {
        status = kiln_buffer_new(k, KILN_BF16, COUNT, &b[n]);
        status = status ? status : kiln_write(b[n], 0, zeros, COUNT);
    }
    const kiln_compile_desc source = {.source = "kernel block(32) void warm(u32 n) { (void)n; }"};
    const kiln_arg none = kiln_arg_i64(KILN_U32, 0);
    if (status || kiln_compile(k, &source, &m) || kiln_module_kernel(m, NULL, &warm) ||
        kiln_launch(warm, &(kiln_launch_desc){.grid = {1}, .args = &none, .arg_count = 1}) ||
        kiln_sync(k))
        return 1;
    double start = bench_now();
    status = call_op(k, !strcmp(op, "matmul"), b);
    double returned = bench_now();
    if (status || kiln_sync(k))
        return 1;
    printf("%.6f %.6f\n", (returned - start) * 1e3, (bench_now() - start) * 1e3);
    kiln_close(k);
    return 0;
}

static void time_first_calls(both *b, const char *program)
{
    static const char *const ops[] = {"matmul", "attention"};
    char folder[] = "/tmp/kiln-bench-XXXXXX", command[512];
    if (!mkdtemp(folder))
        return;
    setenv("KILN_CACHE_DIR", folder, 1);
    setenv("CUDA_CACHE_PATH", folder, 1);
    for (int op = 0; op < 2; op++) {
        double ms[2][FIRST_CALLS];
        bool is_complete = true;
        snprintf(command, sizeof command, "'%s' first %s", program, ops[op]);
        for (int n = -1; n < FIRST_CALLS; n++) { // the first process fills the cache
            double one[2] = {0, 0};
            FILE *from = popen(command, "r");
            is_complete = from && fscanf(from, "%lf %lf", &one[0], &one[1]) == 2 && is_complete;
            if (from)
                is_complete = pclose(from) == 0 && is_complete;
            for (int i = 0; i < 2 && n >= 0; i++)
                ms[i][n] = one[i];
        }
        report_check(&b->r, is_complete, "the first call of %s in a new process", ops[op]);
        report_number(&b->r, bench_median(ms[0], FIRST_CALLS), "first_call.%s.ms", ops[op]);
        report_number(&b->r, bench_median(ms[1], FIRST_CALLS), "first_result.%s.ms", ops[op]);
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    report_check(&b->r, system(command) == 0, "the caches are removed");
}

int main(int argc, char **argv)
{
    static both b;
    bool is_child = argc == 3 && !strcmp(argv[1], "first");
    setenv("CUDA_CACHE_DISABLE", is_child ? "0" : "1", 1);
    if (is_child)
        return first_call(argv[2]);
    if (!report_start(&b.r, "launch", argc, argv, true))
        return BENCH_SKIPPED;
    b.ours = bench_compile(&b.r, "examples/saxpy/kernel.c", "saxpy", NULL, NULL);
    bench_cu(&b.r,
             b.r.cu->module_load(&b.module, kiln_module_code(b.ours.module, NULL), 0, NULL, NULL),
             "loading the PTX");
    bench_cu(&b.r, b.r.cu->module_function(&b.theirs, b.module, "saxpy"), "the kernel");
    float x[COUNT_OF_ITEMS], y[COUNT_OF_ITEMS], out[2][COUNT_OF_ITEMS], a = 2.5f;
    uint32_t n = COUNT_OF_ITEMS;
    bench_random(x, n, 1);
    bench_random(y, n, 2);
    kiln_buffer *bx = bench_upload(&b.r, x, n), *by = bench_upload(&b.r, y, n),
                *to = bench_upload(&b.r, NULL, n);
    kiln_arg args[] = {kiln_arg_buffer(bx), kiln_arg_buffer(by), kiln_arg_buffer(to),
                       kiln_arg_f64(KILN_F32, 2.5), kiln_arg_i64(KILN_U32, n)};
    b.desc = (kiln_launch_desc){.grid = {1}, .args = args, .arg_count = 5};
    uint64_t ax = kiln_buffer_address(bx), ay = kiln_buffer_address(by),
             at = kiln_buffer_address(to);
    void *params[] = {&ax, &ay, &at, &a, &n};
    memcpy(b.params, params, sizeof params);

    for (int side = 0; side < 2; side++) {
        const float zero = 0;
        bench_must(&b.r, kiln_fill(to, &zero), "a fill");
        (side ? launch_theirs : launch_ours)(&b, 1);
        bench_must(&b.r, kiln_sync(b.r.k), "kiln_sync");
        bench_must(&b.r, kiln_read(to, 0, out[side], n), "a copy");
    }
    bool is_right = !memcmp(out[0], out[1], sizeof out[0]);
    for (uint32_t i = 0; i < n; i++)
        is_right = is_right && out[0][i] == a * x[i] + y[i];
    report_check(&b.r, is_right, "both launches give the host's values");

    compare(&b, "submit", launch_ours, launch_theirs, FEW, false);
    compare(&b, "launch", launch_ours, launch_theirs, BATCH, true);
    compare(&b, "launch_and_wait", launch_ours, launch_theirs, 1, true);
    make_graphs(&b);
    compare(&b, "graph_of_100", replay_ours, replay_theirs, GRAPH_BATCH, true);
    time_loads(&b);
    time_first_calls(&b, argv[0]);
    return report_end(&b.r);
}
