// cpu_products: kiln_matmul on the cpu device beside OpenBLAS' sgemm (opened at run time), one
// thread each, in turns. Times are the thread's own (what else runs on the machine does not count);
// a row has the medians of both, and the median of the turns' ratios. bf16 and i8 stand beside the
// same sgemm: OpenBLAS has no such product everywhere.
//
//     cpu_products [--json FILE]
//
// Start reading at main.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kiln/kiln.h"
#include "kiln/ops.h"

enum { LEAST_TURNS = 7, MOST_TURNS = 61 };

typedef void sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int,
                      float, float *, int);

typedef struct row {
    const char *name;
    kiln_type type, out;
} row;

static const row rows[] = {
    {"f32", KILN_F32, KILN_F32}, {"bf16", KILN_BF16, KILN_BF16}, {"i8", KILN_I8, KILN_I32}};
static const uint64_t sizes[] = {256, 384, 512, 768, 1024, 1536};

typedef struct problem {
    kiln *k;
    sgemm_fn *sgemm;
    uint64_t size;
    bool is_transposed;       // b: its columns are contiguous
    kiln_buffer *a, *b, *out; // ours
    float *theirs;            // a, b and the result
} problem;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t count)
{
    qsort(v, count, sizeof *v, by_value);
    return v[count / 2];
}

// Numbers that are exact in every type, small enough for exact sums of f32.
static void fill(const problem *p, const row *r)
{
    uint64_t count = p->size * p->size;
    uint32_t state = 12345;
    void *data = malloc(count * kiln_type_size(r->type));
    for (int operand = 0; operand < 2 && data; operand++) {
        for (uint64_t i = 0; i < count; i++) {
            state = state * 1664525u + 1013904223u;
            int number = (int)(state >> 24) % 15 - 7;
            float x = (float)number;
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            p->theirs[(uint64_t)operand * count + i] = x;
            if (r->type == KILN_F32)
                ((float *)data)[i] = x;
            else if (r->type == KILN_BF16)
                ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
            else
                ((int8_t *)data)[i] = (int8_t)number;
        }
        kiln_write(operand ? p->b : p->a, 0, data, count);
    }
    free(data);
}

static kiln_status ours(const problem *p)
{
    const uint64_t shape[] = {p->size, p->size};
    kiln_view b = kiln_view_of(p->b, 2, shape);
    return kiln_matmul(p->k, &(kiln_matmul_desc){.a = kiln_view_of(p->a, 2, shape),
                                                 .b = p->is_transposed ? kiln_view_transpose(b) : b,
                                                 .out = kiln_view_of(p->out, 2, shape)});
}

static void theirs(const problem *p)
{
    enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112 };
    int n = (int)p->size;
    float *a = p->theirs, *b = a + p->size * p->size, *c = b + p->size * p->size;
    p->sgemm(ROWS, PLAIN, p->is_transposed ? TRANSPOSED : PLAIN, n, n, n, 1, a, n, b, n, 0, c, n);
}

// Are the results equal? Those of bf16 are rounded.
static bool is_right(const problem *p, const row *r)
{
    uint64_t count = p->size * p->size, wrong = 0;
    void *got = malloc(count * kiln_type_size(r->out));
    if (!got || ours(p) || kiln_sync(p->k) || kiln_read(p->out, 0, got, count)) {
        free(got);
        return false;
    }
    theirs(p);
    for (uint64_t i = 0; i < count; i++) {
        float want = p->theirs[2 * count + i], value = 0;
        if (r->out == KILN_F32)
            value = ((float *)got)[i];
        else if (r->out == KILN_I32)
            value = (float)((int32_t *)got)[i];
        else {
            uint32_t bits = (uint32_t)((uint16_t *)got)[i] << 16;
            memcpy(&value, &bits, sizeof value);
        }
        float off = value > want ? value - want : want - value;
        wrong += off > (r->out == KILN_BF16 ? (want < 0 ? -want : want) / 128 : 0);
    }
    free(got);
    return !wrong;
}

// One row of the table; false: a wrong result.
static bool measure(problem *p, const row *r, FILE *json)
{
    double mine[MOST_TURNS], other[MOST_TURNS], ratio[MOST_TURNS];
    uint64_t count = p->size * p->size;
    double work = 2.0 * (double)count * (double)p->size;
    if (kiln_buffer_new(p->k, r->type, count, &p->a) ||
        kiln_buffer_new(p->k, r->type, count, &p->b) ||
        kiln_buffer_new(p->k, r->out, count, &p->out) ||
        !(p->theirs = calloc(count * 3, sizeof *p->theirs)))
        return false;
    fill(p, r);
    bool right = is_right(p, r);
    size_t turns = 0;
    for (double begin = now(); turns < MOST_TURNS && (turns < LEAST_TURNS || now() - begin < 1.0);
         turns++) {
        double start = now();
        right = right && !ours(p) && !kiln_sync(p->k);
        double middle = now();
        theirs(p);
        mine[turns] = middle - start;
        other[turns] = now() - middle;
        ratio[turns] = other[turns] / mine[turns];
    }
    double of = median(ratio, turns), gflops = work / median(mine, turns) * 1e-9,
           blas = work / median(other, turns) * 1e-9;
    const char *layout = p->is_transposed ? "nt" : "nn";
    printf("%-4s %s %5llu  %7.1f GFLOP/s  OpenBLAS f32 %7.1f  %.2f of it%s\n", r->name, layout,
           (unsigned long long)p->size, gflops, blas, of, right ? "" : "  wrong");
    if (json)
        fprintf(json,
                "\"%s.%s.%llu.GFLOPS\": %.4g,\n\"%s.%s.%llu.openblas.GFLOPS\": "
                "%.4g,\n\"%s.%s.%llu.of_openblas\": %.4g,\n",
                r->name, layout, (unsigned long long)p->size, gflops, r->name, layout,
                (unsigned long long)p->size, blas, r->name, layout, (unsigned long long)p->size,
                of);
    fflush(stdout);
    kiln_buffer_free(p->a);
    kiln_buffer_free(p->b);
    kiln_buffer_free(p->out);
    free(p->theirs);
    return right;
}

// What stands before the rows of the file: the kernel's hash, machine and date.
static void begin_json(FILE *json)
{
    char line[256] = "", hash[65] = "", date[32], machine[128] = "unknown";
    FILE *sum = popen("sha256sum ops/matmul/gemm_cpu.c", "r");
    if (sum && fgets(line, sizeof line, sum))
        snprintf(hash, sizeof hash, "%.64s", line);
    if (sum)
        pclose(sum);
    FILE *cpu = fopen("/proc/cpuinfo", "r");
    while (cpu && fgets(line, sizeof line, cpu))
        if (sscanf(line, "model name : %127[^\n]", machine) == 1)
            break;
    if (cpu)
        fclose(cpu);
    time_t t = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
    fprintf(json,
            "{\n\"bench\": \"cpu_products\",\n\"command\": \"make bench-cpu\",\n\"date\": "
            "\"%s\",\n\"machine\": \"%s\",\n\"threads\": 1,\n\"kernels\": "
            "{\n\"ops/matmul/gemm_cpu.c\": \"%s\"\n},\n\"results\": {\n",
            date, machine, hash);
}

int main(int argc, char **argv)
{
    setenv("KILN_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("KILN_CPU", "wait", 1);
    problem p = {0};
    void *lib = dlopen("libopenblas.so.0", RTLD_NOW);
    void *symbol = lib ? dlsym(lib, "cblas_sgemm") : NULL;
    memcpy(&p.sgemm, &symbol, sizeof symbol);
    if (!p.sgemm) {
        printf("cpu_products: OpenBLAS is not here\n");
        return 77;
    }
    if (kiln_open("cpu", &p.k))
        return 1;
    FILE *json = argc > 2 && !strcmp(argv[1], "--json") ? fopen(argv[2], "w") : NULL;
    if (json)
        begin_json(json);
    bool right = true;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int layout = 0; layout < 2; layout++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                p.size = sizes[s];
                p.is_transposed = layout;
                right = measure(&p, &rows[r], json) && right;
            }
    if (json) {
        fprintf(json, "\"rows\": %zu\n}\n}\n",
                sizeof rows / sizeof *rows * 2 * (sizeof sizes / sizeof *sizes));
        fclose(json);
    }
    kiln_close(p.k);
    return !right;
}
