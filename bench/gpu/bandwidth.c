// Kernels that memory limits: GB/s (read + written), every variant in turns with the driver's own
// device-to-device copy of the same size. "example" is the kernel of examples/NAME; the others are
// bench/gpu/kernels with their tunables. Inputs rotate, and are larger than the cache but for the
// small sizes, which run as a graph of many launches. "ceiling" rows are bare kernels (PTX by hand)
// that do nothing but the reads and writes of dequant, or writes alone. Start at main's tables.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/bench.h"

enum {
    ROUNDS = 11,
    LAUNCHES = 16,
    ROTATE = 2,
    SMALL_LAUNCHES = 400,
    SMALL_ROTATE = 16,
    CHECKED = 8192,
    ARGS = 10
};
static const size_t most = (size_t)128 << 20; // elements
static const double eps = 1e-5;

typedef struct op op;
typedef struct bench {
    report r;
    float *x_host, *y_host; // `most` values, y a little shorter use
    int8_t *q_host;
    kiln_buffer *x[ROTATE], *y[ROTATE], *out[ROTATE], *q[ROTATE];
} bench;

struct op {
    const char *name;
    double bytes;                        // for one element
    double tolerance;                    // absolute
    double (*value)(double x, double y); // elementwise
    void (*row)(const float *x, const float *gain, const float *bias, uint32_t cols, double *out);
};

// --- what is right, in double
static double add(double x, double y)
{
    return x + y;
}
static double silu_gate(double x, double y)
{
    return x / (1 + exp(-x)) * y;
}
static double gelu(double x, double y)
{
    (void)y;
    return 0.5 * x * (1 + erf(x * 0.70710678118654752));
}
static double gelu_fast(double x, double y)
{
    (void)y;
    return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
}
static double product(double x, double y)
{
    return x * y;
}
static double same(double x, double y)
{
    (void)y;
    return x;
}

static void softmax(const float *x, const float *gain, const float *bias, uint32_t cols,
                    double *out)
{
    (void)gain, (void)bias;
    double largest = -HUGE_VAL, sum = 0;
    for (uint32_t c = 0; c < cols; c++)
        largest = fmax(largest, (double)x[c]);
    for (uint32_t c = 0; c < cols; c++)
        sum += out[c] = exp((double)x[c] - largest);
    for (uint32_t c = 0; c < cols; c++)
        out[c] /= sum;
}

static void layer_norm(const float *x, const float *gain, const float *bias, uint32_t cols,
                       double *out)
{
    double mean = 0, squares = 0;
    for (uint32_t c = 0; c < cols; c++)
        mean += (double)x[c] / cols;
    for (uint32_t c = 0; c < cols; c++)
        squares += ((double)x[c] - mean) * ((double)x[c] - mean);
    for (uint32_t c = 0; c < cols; c++)
        out[c] =
            ((double)x[c] - mean) / sqrt(squares / cols + eps) * (double)gain[c] + (double)bias[c];
}

static void rms_norm(const float *x, const float *gain, const float *bias, uint32_t cols,
                     double *out)
{
    (void)bias;
    double squares = 0;
    for (uint32_t c = 0; c < cols; c++)
        squares += (double)x[c] * (double)x[c];
    for (uint32_t c = 0; c < cols; c++)
        out[c] = (double)x[c] / sqrt(squares / cols + eps) * (double)gain[c];
}

// --- one variant: its launches, each with its own buffers
typedef struct variant {
    bench *b;
    bench_kernel kernel;
    const op *o;
    size_t n; // elements
    uint32_t cols;
    int rotate;
    size_t shared_bytes; // dynamic
    bool is_chained;     // a dependent launch
    kiln_arg args[SMALL_ROTATE][ARGS];
    kiln_launch_desc desc[SMALL_ROTATE];
    kiln_graph *graph; // small sizes
} variant;

static bool is(const op *o, const char *name)
{
    return !strcmp(o->name, name);
}

// The arguments of launch `i`: they follow the kernels' parameters by name.
static void set_args(variant *v, int i, uint32_t grid)
{
    bench *b = v->b;
    size_t count = kiln_kernel_param_count(v->kernel.kernel);
    bool is_small = v->rotate == SMALL_ROTATE;
    int set = is_small ? 0 : i;
    size_t first = is_small ? (size_t)i * v->n : 0;
    for (size_t p = 0; p < count && p < ARGS; p++) {
        kiln_param_info info;
        bench_must(&b->r, kiln_kernel_param(v->kernel.kernel, p, &info), "a parameter");
        const char *name = info.name;
        kiln_arg *a = &v->args[i][p];
        if (!strcmp(name, "x"))
            *a = kiln_arg_buffer_at(b->x[set], first);
        else if (!strcmp(name, "out"))
            *a = kiln_arg_buffer_at(b->out[set], first);
        else if (!strcmp(name, "q"))
            *a = kiln_arg_buffer_at(b->q[set], first);
        else if (!strcmp(name, "y") || !strcmp(name, "gate") || !strcmp(name, "gain") ||
                 !strcmp(name, "scale"))
            *a = kiln_arg_buffer_at(b->y[set], 0);
        else if (!strcmp(name, "bias"))
            *a = kiln_arg_buffer_at(b->y[set], v->cols);
        else if (!strcmp(name, "rows"))
            *a = kiln_arg_i64(KILN_U32, grid);
        else if (!strcmp(name, "cols"))
            *a = kiln_arg_i64(KILN_U32, v->cols);
        else if (!strcmp(name, "n"))
            *a = kiln_arg_i64(KILN_U32, (int64_t)v->n);
        else if (!strcmp(name, "eps"))
            *a = kiln_arg_f64(KILN_F32, eps);
    }
    v->desc[i] = (kiln_launch_desc){.grid = {grid},
                                    .args = v->args[i],
                                    .arg_count = count,
                                    .shared_bytes = v->shared_bytes,
                                    .overlaps_previous = v->is_chained};
}

static void launch(void *user, int i)
{
    variant *v = user;
    bench_must(&v->b->r, kiln_launch(v->kernel.kernel, &v->desc[i % v->rotate]), "kiln_launch");
}

static void replay(void *user, int i)
{
    (void)i;
    variant *v = user;
    bench_must(&v->b->r, kiln_graph_launch(v->graph, NULL), "kiln_graph_launch");
}

static void driver_copy(void *user, int i)
{
    variant *v = user;
    bench *b = v->b;
    bench_cu(&b->r,
             b->r.cu->copy_device_async(kiln_buffer_address(b->out[i % ROTATE]),
                                        kiln_buffer_address(b->x[i % ROTATE]), v->n * sizeof(float),
                                        b->r.stream),
             "cuMemcpyDtoDAsync");
}

// --- checking: some rows, or some stretches
static double worst_of(variant *v, const float *got, size_t first, size_t count)
{
    const bench *b = v->b;
    double worst = 0, *want = malloc(v->cols * sizeof *want);
    if (!want)
        exit(1);
    for (size_t k = 0; k < count; k++) {
        size_t i = first + k;
        double expected;
        if (v->o->row) {
            if (k % v->cols == 0)
                v->o->row(b->x_host + i, b->y_host, b->y_host + v->cols, v->cols, want);
            expected = want[k % v->cols];
        } else if (is(v->o, "dequant")) {
            expected = v->o->value((double)b->q_host[i], (double)b->y_host[i / v->cols]);
        } else {
            expected = v->o->value((double)b->x_host[i], (double)b->y_host[i]);
        }
        double error = fabs((double)got[k] - expected);
        worst = error > worst || isnan(error) ? (isnan(error) ? HUGE_VAL : error) : worst;
    }
    free(want);
    return worst;
}

static void check(variant *v, const char *label)
{
    static float got[1 << 16];
    bench *b = v->b;
    const float nothing = -12345;
    bench_must(&b->r, kiln_fill(b->out[0], &nothing), "a fill");
    launch(v, 0);
    bench_must(&b->r, kiln_sync(b->r.k), label);
    size_t unit = v->o->row ? v->cols : CHECKED,
           places[3] = {0, v->n / unit / 2 * unit, v->n - unit};
    double worst = 0;
    for (int k = 0; k < 3; k++) {
        bench_must(&b->r, kiln_read(b->out[0], places[k], got, unit), "a copy");
        worst = fmax(worst, worst_of(v, got, places[k], unit));
    }
    report_check(&b->r, worst <= v->o->tolerance, "%s, largest error %.3g", label, worst);
}

// --- measuring
static void make_graph(variant *v)
{
    kiln_stream *s;
    bench_must(&v->b->r, kiln_stream_new(v->b->r.k, 0, &s), "a stream");
    bench_must(&v->b->r, kiln_capture_begin(s), "a capture");
    for (int i = 0; i < SMALL_LAUNCHES; i++) {
        kiln_launch_desc d = v->desc[i % v->rotate];
        d.stream = s;
        bench_must(&v->b->r, kiln_launch(v->kernel.kernel, &d), "a captured launch");
    }
    bench_must(&v->b->r, kiln_capture_end(s, &v->graph), "a capture");
    kiln_stream_free(s);
}

static double measure_small(variant *v, const char *label)
{
    double us[ROUNDS];
    make_graph(v);
    bench_gpu_ms(&v->b->r, replay, v, 1);
    for (int n = 0; n < ROUNDS; n++)
        us[n] = bench_gpu_ms(&v->b->r, replay, v, 1) * 1e3 / SMALL_LAUNCHES;
    double median = bench_median(us, ROUNDS);
    report_number(&v->b->r, median, "%s.us", label);
    kiln_graph_free(v->graph);
    return -median;
}

static double measure_large(variant *v, const char *label)
{
    double rate[ROUNDS], ratio[ROUNDS];
    bench_gpu_ms(&v->b->r, launch, v, LAUNCHES);
    bench_gpu_ms(&v->b->r, driver_copy, v, LAUNCHES);
    for (int n = 0; n < ROUNDS; n++) {
        double ours = bench_gpu_ms(&v->b->r, launch, v, LAUNCHES),
               copy = bench_gpu_ms(&v->b->r, driver_copy, v, LAUNCHES);
        rate[n] = v->o->bytes * (double)v->n * LAUNCHES / ours * 1e-6;
        ratio[n] = rate[n] / (8.0 * (double)v->n * LAUNCHES / copy * 1e-6);
    }
    double median = bench_median(rate, ROUNDS);
    report_number(&v->b->r, median, "%s.GBps", label);
    report_number(&v->b->r, bench_median(ratio, ROUNDS), "%s.of_driver_copy", label);
    return median;
}

static double measure(variant *v, const char *path, const char *tune, const char *define,
                      uint32_t grid, const char *label, double best)
{
    v->rotate = v->n < (size_t)1 << 20 ? SMALL_ROTATE : ROTATE;
    v->kernel = bench_compile(&v->b->r, path, v->o->name, tune, define);
    for (int i = 0; i < v->rotate; i++)
        set_args(v, i, grid);
    check(v, label);
    double got = v->rotate == SMALL_ROTATE ? measure_small(v, label) : measure_large(v, label);
    kiln_module_free(v->kernel.module);
    return got > best ? got : best;
}

// The better of `best` and this variant.
static double run_variant(bench *b, const op *o, const char *path, const char *tune,
                          const char *define, size_t n, uint32_t cols, uint32_t grid,
                          const char *size, double best)
{
    static variant v;
    char label[80];
    bool is_example = !strncmp(path, "examples/", 9);
    snprintf(label, sizeof label, "%s.%s.%s", o->name, size, is_example ? "example" : tune);
    v = (variant){.b = b, .o = o, .n = n, .cols = cols};
    return measure(&v, path, is_example ? NULL : tune, is_example ? NULL : define, grid, label,
                   best);
}

// Dequantisation by bursts: as many blocks as fit, each with a ring of its own.
static double run_bursts(bench *b, const op *o, size_t n, double best)
{
    static const uint32_t rings[] = {8, 12, 16, 20, 24};
    static variant v;
    kiln_device_info device;
    bench_must(&b->r, kiln_device_info_of(b->r.k, &device), "the device");
    for (size_t k = 0; k < 2 * sizeof rings / sizeof *rings; k++) {
        char tune[32], label[64];
        bool is_chained = k % 2;
        snprintf(tune, sizeof tune, "RING=%u", rings[k / 2]);
        snprintf(label, sizeof label, "dequant.64M.%s%s", tune, is_chained ? ".chained" : "");
        v = (variant){.b = b,
                      .o = o,
                      .n = n,
                      .cols = 4096,
                      .shared_bytes = rings[k / 2] * 4096,
                      .is_chained = is_chained};
        best = measure(&v, "bench/gpu/kernels/dequant.c", tune, "COLS=4096",
                       2 * device.multiprocessors, label, best);
    }
    return best;
}

static void run_stream(bench *b, const op *o)
{
    static const char *const tunes[] = {"PER=1", "PER=2", "PER=4"};
    const size_t n = (size_t)64 << 20;
    double best = 0;
    char path[64];
    snprintf(path, sizeof path, "examples/%s/kernel.c", o->name);
    if (!is(o, "add") && !is(o, "copy"))
        best = run_variant(b, o, path, "", NULL, n, 4096, (uint32_t)(n / 256), "64M", best);
    for (uint32_t k = 0; k < 3; k++)
        best = run_variant(b, o, "bench/gpu/kernels/stream.c", tunes[k],
                           is(o, "dequant") ? "COLS=4096" : NULL, n, 4096,
                           (uint32_t)(n / 1024 >> k), "64M", best);
    if (is(o, "dequant"))
        best = run_bursts(b, o, n, best);
    report_number(&b->r, best, "%s.64M.best.GBps", o->name);
}

// --- the memory's own limit: bare kernels for the same mix of reads and writes (twins/ceiling)
enum { CEILING_ELEMENTS = 8192, CEILING_THREADS = 256 }; // of one block
static const char ceiling_path[] = "bench/gpu/twins/ceiling.ptx.txt";

typedef struct ceiling {
    bench *b;
    const char *name;
    double bytes; // for one element
    bool is_fill;
    size_t n;
    cu_function function;
} ceiling;

static void launch_ceiling(void *user, int i)
{
    ceiling *c = user;
    bench *b = c->b;
    cu_ptr in = kiln_buffer_address(b->q[i % ROTATE]),
           out = kiln_buffer_address(b->out[i % ROTATE]);
    void *params[] = {&in, &out};
    bench_cu(&b->r,
             b->r.cu->launch(c->function, (unsigned)(c->n / CEILING_ELEMENTS), 1, 1,
                             CEILING_THREADS, 1, 1, 0, b->r.stream, params, NULL),
             "cuLaunchKernel");
}

static void driver_fill(void *user, int i)
{
    ceiling *c = user;
    bench *b = c->b;
    bench_cu(&b->r,
             b->r.cu->fill32_async(kiln_buffer_address(b->out[i % ROTATE]), 0x3f800000, c->n,
                                   b->r.stream),
             "cuMemsetD32Async");
}

static void check_ceiling(ceiling *c, void (*run)(void *user, int i))
{
    static float got[CHECKED];
    bench *b = c->b;
    const float nothing = -12345;
    bench_must(&b->r, kiln_fill(b->out[0], &nothing), "a fill");
    run(c, 0);
    bench_must(&b->r, kiln_sync(b->r.k), c->name);
    size_t places[3] = {0, c->n / CHECKED / 2 * CHECKED, c->n - CHECKED}, wrong = 0;
    for (int k = 0; k < 3; k++) {
        bench_must(&b->r, kiln_read(b->out[0], places[k], got, CHECKED), "a copy");
        for (size_t i = 0; i < CHECKED; i++)
            wrong += !(got[i] == (c->is_fill ? 1.0f : (float)b->q_host[places[k] + i]));
    }
    report_check(&b->r, !wrong, "ceiling.64M.%s, %zu wrong", c->name, wrong);
}

static double measure_ceiling(ceiling *c, void (*run)(void *user, int i))
{
    variant copied = {.b = c->b, .n = c->n};
    double rate[ROUNDS], ratio[ROUNDS];
    check_ceiling(c, run);
    bench_gpu_ms(&c->b->r, run, c, LAUNCHES);
    for (int n = 0; n < ROUNDS; n++) {
        double ours = bench_gpu_ms(&c->b->r, run, c, LAUNCHES),
               copy = bench_gpu_ms(&c->b->r, driver_copy, &copied, LAUNCHES);
        rate[n] = c->bytes * (double)c->n * LAUNCHES / ours * 1e-6;
        ratio[n] = rate[n] / (8.0 * (double)c->n * LAUNCHES / copy * 1e-6);
    }
    double median = bench_median(rate, ROUNDS);
    report_number(&c->b->r, median, "ceiling.64M.%s.GBps", c->name);
    report_number(&c->b->r, bench_median(ratio, ROUNDS), "ceiling.64M.%s.of_driver_copy", c->name);
    return median;
}

static void run_ceilings(bench *b)
{
    static const char *const widen[] = {"widen4", "widen16", "widen16_stream"};
    char *ptx = report_source(&b->r, ceiling_path, NULL);
    cu_module module;
    bench_cu(&b->r, b->r.cu->module_load(&module, ptx, 0, NULL, NULL), "cuModuleLoadDataEx");
    ceiling c = {.b = b, .bytes = 5, .n = (size_t)64 << 20};
    double best = 0;
    for (size_t k = 0; k < 3; k++) {
        c.name = widen[k];
        bench_cu(&b->r, b->r.cu->module_function(&c.function, module, c.name), c.name);
        best = fmax(best, measure_ceiling(&c, launch_ceiling));
    }
    report_number(&b->r, best, "ceiling.64M.dequant.GBps");
    c = (ceiling){.b = b, .name = "fill", .bytes = 4, .is_fill = true, .n = c.n};
    bench_cu(&b->r, b->r.cu->module_function(&c.function, module, c.name), c.name);
    measure_ceiling(&c, launch_ceiling);
    c.name = "driver_fill";
    measure_ceiling(&c, driver_fill);
    b->r.cu->module_unload(module);
    free(ptx);
}

static void run_rows(bench *b, const op *o, uint32_t rows, uint32_t cols, const char *const *tunes)
{
    double best = -HUGE_VAL;
    char path[64], size[32], define[32];
    snprintf(path, sizeof path, "examples/%s/kernel.c", o->name);
    snprintf(size, sizeof size, "%ux%u", rows, cols);
    snprintf(define, sizeof define, "COLS=%u", cols);
    size_t n = (size_t)rows * cols;
    best = run_variant(b, o, path, "", NULL, n, cols, rows, size, best);
    for (; *tunes; tunes++)
        best = run_variant(b, o, "bench/gpu/kernels/rows.c", *tunes, define, n, cols, rows, size,
                           best);
    if (n < (size_t)1 << 20)
        report_number(&b->r, -best, "%s.%s.best.us", o->name, size);
    else
        report_number(&b->r, best, "%s.%s.best.GBps", o->name, size);
}

static void make_data(bench *b)
{
    b->x_host = bench_floats(most);
    b->y_host = bench_floats(most);
    b->q_host = malloc(most / 2);
    if (!b->q_host)
        exit(1);
    bench_random(b->x_host, most, 1);
    bench_random(b->y_host, most, 2);
    for (size_t i = 0; i < most / 2; i++)
        b->q_host[i] = (int8_t)(b->x_host[i] * 30);
    for (int k = 0; k < ROTATE; k++) {
        b->x[k] = bench_upload(&b->r, b->x_host, most);
        b->y[k] = bench_upload(&b->r, b->y_host, most);
        b->out[k] = bench_upload(&b->r, NULL, most);
        bench_must(&b->r, kiln_buffer_new(b->r.k, KILN_I8, most / 2, &b->q[k]), "a buffer");
        bench_must(&b->r, kiln_write(b->q[k], 0, b->q_host, most / 2), "a copy");
    }
}

int main(int argc, char **argv)
{
    static const op streams[] = {
        {"copy", 8, 0, same, NULL},
        {"add", 12, 1e-6, add, NULL},
        {"silu_gate", 12, 1e-5, silu_gate, NULL},
        {"gelu", 8, 1e-5, gelu, NULL},
        {"gelu_fast", 8, 4e-3, gelu_fast, NULL},
        {"dequant", 5, 1e-4, product, NULL},
    };
    static const op rows[] = {{"softmax", 8, 1e-5, NULL, softmax},
                              {"layer_norm", 8, 1e-4, NULL, layer_norm},
                              {"rms_norm", 8, 1e-4, NULL, rms_norm}};
    static const char *const for_4096[] = {"THREADS=128", "THREADS=256", "THREADS=512",
                                           "THREADS=1024", NULL};
    static const char *const for_32768[] = {"THREADS=512", "THREADS=1024", NULL};
    static const char *const for_768[] = {"THREADS=192", NULL};
    static bench b;
    if (!report_start(&b.r, "bandwidth", argc, argv, true))
        return BENCH_SKIPPED;
    make_data(&b);
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        run_stream(&b, &streams[k]);
    run_ceilings(&b);
    for (size_t k = 0; k < 3; k++) {
        run_rows(&b, &rows[k], 16384, 4096, for_4096);
        run_rows(&b, &rows[k], 128, 768, for_768);
    }
    run_rows(&b, &rows[0], 4096, 32768, for_32768);
    free(b.x_host);
    free(b.y_host);
    free(b.q_host);
    return report_end(&b.r);
}
