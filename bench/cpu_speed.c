// cpu_speed: the kernels of bench/cpu on the cpu device, the interpreter and PoCL (OpenCL, opened
// at run time), and matmul beside OpenBLAS; in one process, in turns of three launches, of which
// the best counts. Times are medians over the turns, ratios medians of the turns' ratios; data is
// in place. What is not there is left out.
//
// The cpu device has two kinds of machine code: Kiln's own, there when kiln_compile returns
// ("quick"), and the C compiler's, made meanwhile ("best"). Run times of both are shown, and the
// times from the kernel's text until there is any code ("code": the quick one, when there is one)
// and until the best is there; PoCL makes its code at the first launch. "x" columns are PoCL's time
// divided by ours: run time of the best and the quick code, time until there is any code.
//
//     cpu_speed FOLDER [KERNEL]       FOLDER has kernels.c and kernels.cl
//
// Start reading at main.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dev/cpu/cpu.h"
#include "kiln/kiln.h"

enum { MOST_BUFFERS = 4, LEAST_TURNS = 7, TURNS = 99, SECONDS = 2 };

typedef struct bench_case {
    const char *name;
    size_t counts[MOST_BUFFERS]; // of 32-bit elements; 0: no more
    const char *types;           // 'f' or 'u' of each
    const char *scalars;         // "fu": after the buffers
    uint32_t scalar[3];          // numbers; of 'f': as float
    uint32_t grid[2], block[2];
    double work; // operations or bytes
    const char *unit;
} bench_case;

static const bench_case cases[] = {
    {"saxpy",
     {1 << 24, 1 << 24},
     "ff",
     "fu",
     {2, 1 << 24},
     {65536, 1},
     {256, 1},
     3.0 * 4 * (1 << 24),
     "GB/s"},
    {"softmax",
     {4096 * 1024, 4096 * 1024},
     "ff",
     "u",
     {1024},
     {4096, 1},
     {256, 1},
     4096.0 * 1024,
     "Gelem/s"},
    {"layernorm",
     {4096 * 1024, 4096 * 1024},
     "ff",
     "u",
     {1024},
     {4096, 1},
     {256, 1},
     4096.0 * 1024,
     "Gelem/s"},
    {"matmul",
     {1 << 20, 1 << 20, 1 << 20},
     "fff",
     "u",
     {1024},
     {32, 16},
     {32, 8},
     2.0 * (1u << 30),
     "GFLOP/s"},
    {"reduction",
     {1 << 24, 256},
     "ff",
     "u",
     {1 << 24},
     {256, 1},
     {256, 1},
     4.0 * (1 << 24),
     "GB/s"},
    {"histogram", {1 << 22, 256}, "uu", "u", {1 << 22}, {64, 1}, {256, 1}, 1 << 22, "Gelem/s"},
    {"mandelbrot", {1 << 20}, "u", "uu", {1024, 1024}, {4096, 1}, {256, 1}, 1 << 20, "Gelem/s"},
    {"nbody",
     {4096, 4096, 4096, 4096},
     "ffff",
     "u",
     {4096},
     {16, 1},
     {256, 1},
     20.0 * 4096 * 4096,
     "GFLOP/s"},
    {"bitonic", {1 << 22}, "u", "", {0}, {8192, 1}, {256, 1}, 1 << 22, "Gelem/s"},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *read_text(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(path, "rb");
    char *contents = calloc(1, 1 << 20);
    if (in && contents && !fread(contents, 1, (1 << 20) - 1, in))
        contents[0] = 0;
    if (in)
        fclose(in);
    return contents;
}

// The kernel's own text: from its marker up to the next one. Helpers before the first kernel or
// between stay in.
static char *only_kernel(const char *all, const char *name, const char *marker)
{
    char want[64], *out = calloc(1, strlen(all) + 1);
    snprintf(want, sizeof want, " void %s(", name);
    const char *at = all;
    while (out && *at) {
        const char *next = strstr(at + 1, marker);
        size_t len = next ? (size_t)(next - at) : strlen(at);
        const char *here = strstr(at, want);
        bool is_kernel = !strncmp(at, marker, strlen(marker));
        const char *end = is_kernel ? strstr(at, "\n}\n") : NULL;
        if (!is_kernel || (here && here < at + len))
            strncat(out, at, len);
        else if (end && end + 3 < at + len)
            strncat(out, end + 3, (size_t)(at + len - end - 3));
        at += len;
    }
    return out;
}

static void fill_buffer(const bench_case *c, int index, void *data)
{
    uint32_t state = 12345u + (uint32_t)index;
    for (size_t i = 0; i < c->counts[index]; i++) {
        state = state * 1664525u + 1013904223u;
        if (c->types[index] == 'f')
            ((float *)data)[i] = (float)(state >> 8) / 16777216.0f - 0.5f;
        else
            ((uint32_t *)data)[i] = state >> 4;
    }
}

// One side of a comparison: ready to launch.
typedef struct ocl ocl;
typedef struct side {
    double first, compile; // seconds; 0: not there. first: until there is any machine code
    double turns[TURNS];   // the best launch of each
    kiln *k;
    kiln_kernel *kernel;
    kiln_arg args[8];
    kiln_launch_desc launch;
    const ocl *o;
    void *ocl_kernel, *ocl_buffers[MOST_BUFFERS];
    size_t local[2], global[2];
} side;

// --- Kiln
static void kiln_args(side *s, const bench_case *c)
{
    size_t count = 0;
    for (int i = 0; i < MOST_BUFFERS && c->counts[i]; i++) {
        kiln_buffer *buffer = NULL;
        void *data = malloc(c->counts[i] * 4);
        fill_buffer(c, i, data);
        kiln_buffer_new(s->k, c->types[i] == 'f' ? KILN_F32 : KILN_U32, c->counts[i], &buffer);
        kiln_write(buffer, 0, data, c->counts[i]);
        free(data);
        s->args[count++] = kiln_arg_buffer(buffer);
    }
    for (int i = 0; c->scalars[i]; i++)
        s->args[count++] = c->scalars[i] == 'f' ? kiln_arg_f64(KILN_F32, c->scalar[i])
                                                : kiln_arg_i64(KILN_U32, c->scalar[i]);
    s->launch =
        (kiln_launch_desc){.grid = {c->grid[0], c->grid[1]}, .args = s->args, .arg_count = count};
}

// `mode`: of KILN_CPU.
static void kiln_start(side *s, const char *device, const char *mode, const bench_case *c,
                       const char *source)
{
    setenv("KILN_CPU", mode, 1);
    if (kiln_open(device, &s->k))
        return;
    double start = now();
    kiln_module *m = NULL;
    if (kiln_compile(s->k, &(kiln_compile_desc){.source = source, .path = "kernels.c"}, &m) ||
        kiln_module_kernel(m, c->name, &s->kernel)) {
        fprintf(stderr, "%s: %s\n", device, kiln_last_error(s->k)->text);
        s->kernel = NULL;
        return;
    }
    const cpu_kernel *c_kernel = strcmp(device, "cpu") ? NULL : cpu_kernel_of(s->kernel);
    if (c_kernel && (c_kernel->quick || c_kernel->native))
        s->first = now() - start;
    kiln_resources unused; // the answer waits for the C compiler, if there is one
    kiln_kernel_resources(s->kernel, &unused);
    s->compile = now() - start;
    if (s->first == 0)
        s->first = s->compile;
    if (!strcmp(mode, "quick") && !(c_kernel && c_kernel->quick)) // it would be interpreted
        s->kernel = NULL;
    else
        kiln_args(s, c);
}

// --- OpenCL, with our own declarations
struct ocl {
    int32_t (*get_platforms)(uint32_t, void **, uint32_t *);
    int32_t (*get_devices)(void *, uint64_t, uint32_t, void **, uint32_t *);
    void *(*create_context)(const void *, uint32_t, void **, void *, void *, int32_t *);
    void *(*create_queue)(void *, void *, uint64_t, int32_t *);
    void *(*create_program)(void *, uint32_t, const char **, const size_t *, int32_t *);
    int32_t (*build)(void *, uint32_t, void **, const char *, void *, void *);
    void *(*create_kernel)(void *, const char *, int32_t *);
    void *(*create_buffer)(void *, uint64_t, size_t, void *, int32_t *);
    int32_t (*set_arg)(void *, uint32_t, size_t, const void *);
    int32_t (*enqueue)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *,
                       uint32_t, void **, void **);
    int32_t (*finish)(void *);
    int32_t (*release_buffer)(void *);
    void *context, *queue, *device;
};

static bool ocl_open(ocl *o)
{
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!lib)
        return false;
    static const char *const names[] = {"clGetPlatformIDs",
                                        "clGetDeviceIDs",
                                        "clCreateContext",
                                        "clCreateCommandQueue",
                                        "clCreateProgramWithSource",
                                        "clBuildProgram",
                                        "clCreateKernel",
                                        "clCreateBuffer",
                                        "clSetKernelArg",
                                        "clEnqueueNDRangeKernel",
                                        "clFinish",
                                        "clReleaseMemObject"};
    void **slots = (void **)o;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(slots[i] = dlsym(lib, names[i])))
            return false;
    void *platform;
    uint32_t count = 0;
    int32_t error = 0;
    if (o->get_platforms(1, &platform, &count) || !count ||
        o->get_devices(platform, 2 /* CPU */, 1, &o->device, &count) || !count)
        return false;
    o->context = o->create_context(NULL, 1, &o->device, NULL, NULL, &error);
    o->queue = error ? NULL : o->create_queue(o->context, o->device, 0, &error);
    return !error;
}

static void ocl_start(side *s, const ocl *o, const bench_case *c, const char *source)
{
    int32_t error = 0;
    double start = now();
    void *program = o->create_program(o->context, 1, &source, NULL, &error);
    if (error || o->build(program, 1, (void **)(uintptr_t)&o->device,
                          "-cl-fp32-correctly-rounded-divide-sqrt", NULL, NULL))
        return;
    void *kernel = o->create_kernel(program, c->name, &error);
    s->compile = now() - start;
    uint32_t at = 0;
    for (int i = 0; i < MOST_BUFFERS && c->counts[i]; i++) {
        void *data = malloc(c->counts[i] * 4);
        fill_buffer(c, i, data);
        s->ocl_buffers[i] = o->create_buffer(o->context, 1 | 32 /* read-write, copy */,
                                             c->counts[i] * 4, data, &error);
        o->set_arg(kernel, at++, sizeof(void *), &s->ocl_buffers[i]);
        free(data);
    }
    for (int i = 0; c->scalars[i]; i++) {
        float f = (float)c->scalar[i];
        o->set_arg(kernel, at++, 4,
                   c->scalars[i] == 'f' ? (const void *)&f : (const void *)&c->scalar[i]);
    }
    for (int axis = 0; axis < 2; axis++) {
        s->local[axis] = c->block[axis];
        s->global[axis] = s->local[axis] * c->grid[axis];
    }
    s->o = o;
    s->ocl_kernel = kernel;
}

// --- both
static bool is_there(const side *s)
{
    return s->kernel || s->ocl_kernel;
}

static double launch_once(side *s)
{
    double start = now();
    bool failed = s->kernel ? kiln_launch(s->kernel, &s->launch) != KILN_OK
                            : s->o->enqueue(s->o->queue, s->ocl_kernel, 2, NULL, s->global,
                                            s->local, 0, NULL, NULL) ||
                                  s->o->finish(s->o->queue);
    if (failed)
        fprintf(stderr, "a launch failed: %s\n", s->k ? kiln_last_error(s->k)->text : "OpenCL");
    return now() - start;
}

// Turns, so that all see the same machine: what else runs on it comes and goes. Three launches
// each, so that small data is in the caches. Gives the number of turns.
static int take_turns(side *const *sides, int count)
{
    double begin = now();
    int turn = 0;
    for (; turn < TURNS && (turn < LEAST_TURNS || now() - begin < SECONDS); turn++)
        for (int i = 0; i < count; i++)
            for (int n = 0; n < 3 && is_there(sides[i]); n++) {
                double t = launch_once(sides[i]), *best = &sides[i]->turns[turn];
                *best = *best == 0 || t < *best ? t : *best;
            }
    return turn;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The median over the turns of `s`, or of its ratio to `over`. 0: one of them is not there.
static double median_of(const side *s, const side *over, int turns)
{
    double v[TURNS];
    if (!is_there(s) || (over && !is_there(over)))
        return 0;
    for (int n = 0; n < turns; n++)
        v[n] = over ? s->turns[n] / over->turns[n] : s->turns[n];
    qsort(v, (size_t)turns, sizeof *v, by_value);
    return v[turns / 2];
}

static void side_end(side *s)
{
    for (int i = 0; i < MOST_BUFFERS && s->ocl_buffers[i]; i++)
        s->o->release_buffer(s->ocl_buffers[i]);
    if (s->k)
        kiln_close(s->k);
}

static double run_blas(int n)
{
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW);
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                  float, float *, int) = NULL;
    void *symbol = lib ? dlsym(lib, "cblas_sgemm") : NULL;
    memcpy(&sgemm, &symbol, sizeof sgemm);
    if (!sgemm)
        return 0;
    float *all = calloc((size_t)n * (size_t)n * 3, sizeof *all), *b = all + n * n, *c = b + n * n;
    double best = 0;
    for (int i = 0; i < 2 * n * n; i++)
        all[i] = (float)(i % 7) * 0.25f;
    for (int i = 0; i < 10; i++) {
        double start = now();
        sgemm(101, 111, 111, n, n, n, 1, all, n, b, n, 0, c, n);
        double t = now() - start;
        best = best == 0 || t < best ? t : best;
    }
    free(all);
    return best;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "bench/cpu", *wanted = argc > 2 ? argv[2] : NULL;
    char *ours = read_text(folder, "kernels.c"), *theirs = read_text(folder, "kernels.cl");
    ocl o = {0};
    setenv("KILN_CACHE", "off", 1);
    setenv("POCL_KERNEL_CACHE", "0", 1);
    bool has_ocl = ocl_open(&o);
    printf("%-11s %9s %9s %9s %9s %9s         | %7s %7s %7s | %6s %7s %7s\n", "kernel", "best ms",
           "quick ms", "PoCL ms", "interp ms", "best rate", "code", "best", "PoCL", "x best",
           "x quick", "x code");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bench_case *c = &cases[i];
        if (wanted && strcmp(wanted, c->name))
            continue;
        char *source = only_kernel(ours, c->name, "kernel block("),
             *cl = only_kernel(theirs, c->name, "__kernel ");
        static side cpu, quick, pocl, interp;
        side *const sides[] = {&cpu, &quick, &pocl};
        cpu = quick = pocl = interp = (side){0};
        kiln_start(&interp, "interp", "wait", c, source);
        double interpreted = launch_once(&interp);
        kiln_start(&cpu, "cpu", "background", c, source);
        kiln_start(&quick, "cpu", "quick", c, source);
        if (has_ocl)
            ocl_start(&pocl, &o, c, cl);
        if (is_there(&pocl)) // it makes its code at the first launch
            pocl.compile += launch_once(&pocl);
        int turns = take_turns(sides, 3);
        double run = median_of(&cpu, NULL, turns), pocl_run = median_of(&pocl, NULL, turns);
        pocl.compile -= pocl_run; // of the first launch
        printf("%-11s %9.3f %9.3f %9.3f %9.1f %9.2f %-7s | %7.2f %7.1f %7.1f | %6.2f %7.2f %7.1f\n",
               c->name, run * 1e3, median_of(&quick, NULL, turns) * 1e3, pocl_run * 1e3,
               interpreted * 1e3, c->work / run * 1e-9, c->unit, cpu.first * 1e3, cpu.compile * 1e3,
               pocl.compile * 1e3, median_of(&pocl, &cpu, turns), median_of(&pocl, &quick, turns),
               pocl.compile / cpu.first);
        if (!strcmp(c->name, "matmul")) {
            double blas = run_blas(1024);
            if (blas > 0)
                printf("%-11s %9.3f  OpenBLAS %.2f GFLOP/s; cpu is %.0f %% of it\n", "", blas * 1e3,
                       c->work / blas * 1e-9, 100 * blas / run);
        }
        fflush(stdout);
        for (int n = 0; n < 3; n++)
            side_end(sides[n]);
        side_end(&interp);
        free(source);
        free(cl);
    }
    free(ours);
    free(theirs);
    return 0;
}
