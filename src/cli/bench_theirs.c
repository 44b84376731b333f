// kiln bench … --against NAME[=FILE]: another library beside ours, opened at run time. Which one is
// asked for which op is a row of `libraries`; cuBLAS is here, cuDNN in bench_cudnn.c. Where it is
// not there, a sentence says so, and ours is measured alone. The declarations are ours: nothing of
// CUDA is needed to build.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/cudnn.h"

// --- cuBLAS
static struct {
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                const void *beta, void *c, int c_type, int ldc, int compute, int algo);
    void *handle;
} blas;

// What cuBLAS calls the types: cudaDataType_t and cublasComputeType_t.
static const struct {
    kiln_type type;
    bool is_tf32;
    int in, out, compute;
} types[] = {{KILN_BF16, false, 14, 14, 68},
             {KILN_F16, false, 2, 2, 68},
             {KILN_F32, true, 0, 0, 77},
             {KILN_F32, false, 0, 0, 68},
             {KILN_I8, false, 3, 10, 72}};

static const char *cublas_open(kiln *k, const char *file)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so"};
    static const char *const symbols[] = {"cublasCreate_v2", "cublasSetStream_v2", "cublasGemmEx"};
    void *const slots[] = {&blas.create, &blas.set_stream, &blas.gemm};
    kiln_device_info info;
    if (kiln_device_info_of(k, &info) || !info.caps.sm)
        return "cuBLAS runs on cuda devices alone";
    switch (bench_load(file, names, COUNT(names), symbols, slots, COUNT(symbols))) {
    case BENCH_LOADED: break;
    case BENCH_MISSING: return "there is no libcublas.so here; --against cublas=FILE says where";
    case BENCH_STRANGE: return "libcublas.so is not as it is known";
    }
    if (blas.create(&blas.handle) || blas.set_stream(blas.handle, kiln_stream_native(k, NULL)))
        return "cuBLAS does not start";
    return NULL;
}

// Row-major c = a * b is column-major c' = b' * a'; b lies as [n, k].
kiln_status bench_theirs_matmul(const kiln_matmul_desc *d)
{
    const float one = 1, zero = 0;
    const int32_t whole_one = 1, whole_zero = 0;
    bool is_whole = kiln_view_type(d->a) == KILN_I8;
    int m = (int)d->out.sizes[0], n = (int)d->out.sizes[1], depth = (int)d->a.sizes[1];
    for (size_t t = 0; t < COUNT(types); t++)
        if (types[t].type == kiln_view_type(d->a) && types[t].is_tf32 == d->is_tf32)
            return blas.gemm(blas.handle, 1, 0, n, m, depth,
                             is_whole ? (const void *)&whole_one : &one,
                             (const void *)(uintptr_t)kiln_buffer_address(d->b.buffer), types[t].in,
                             depth, (const void *)(uintptr_t)kiln_buffer_address(d->a.buffer),
                             types[t].in, depth, is_whole ? (const void *)&whole_zero : &zero,
                             (void *)(uintptr_t)kiln_buffer_address(d->out.buffer), types[t].out, n,
                             types[t].compute, -1)
                       ? KILN_E_UNSUPPORTED
                       : KILN_OK;
    return KILN_E_UNSUPPORTED;
}

// --- which library, and what came out
static const struct library {
    const char *name, *label, *op;
    const char *(*open)(kiln *k, const char *file);
} libraries[] = {{"cublas", "cuBLAS", "matmul", cublas_open},
                 {"cudnn", "cuDNN", "attention", cudnn_open},
                 {"cudnn", "cuDNN", "conv", cudnn_open}};

static const struct library *library_of(const char *op)
{
    for (size_t n = 0; n < COUNT(libraries); n++)
        if (!strcmp(libraries[n].op, op))
            return &libraries[n];
    return NULL;
}

int bench_theirs_read(bench_theirs *t, const char *op, const char *word)
{
    const struct library *l = library_of(op);
    if (!word)
        return EXIT_FINE;
    if (!l)
        return cli_usage("bench", "--against has no library for %s", op);
    size_t length = strlen(l->name);
    if (strncmp(word, l->name, length) != 0 || (word[length] && word[length] != '='))
        return cli_usage("bench", "--against is %s or %s=FILE for %s", l->name, l->name, op);
    *t = (bench_theirs){.name = l->name, .label = l->label};
    if (word[length])
        t->file = word + length + 1;
    t->why = "it is not open";
    return EXIT_FINE;
}

void bench_theirs_open(bench_theirs *t, kiln *k, bool is_json)
{
    for (size_t n = 0; n < COUNT(libraries) && t->name; n++)
        if (!strcmp(libraries[n].name, t->name)) {
            t->why = libraries[n].open(k, t->file);
            break;
        }
    if (t->why && !is_json)
        printf("%s is not measured: %s\n", t->label, t->why);
}

bool bench_theirs_is_there(const bench_theirs *t)
{
    return t->name && !t->why;
}

// Text of others in a JSON string.
static void print_json_text(const char *text)
{
    for (; *text; text++)
        if (*text == '"' || *text == '\\' || (unsigned char)*text < ' ')
            putchar(' ');
        else
            putchar(*text);
}

void bench_theirs_print(bench_theirs *t, bool is_json, double theirs, double ours, const char *why)
{
    if (!bench_theirs_is_there(t))
        return;
    if (theirs > 0 && is_json)
        printf(", \"%s_us\": %.3f, \"ratio\": %.4f", t->name, theirs * 1e6, theirs / ours);
    else if (theirs > 0)
        printf("  %s %10.2f us  ratio %.3f", t->label, theirs * 1e6, theirs / ours);
    else if (is_json) {
        printf(", \"%s_missing\": \"", t->name);
        print_json_text(why);
        printf("\"");
    } else
        printf("  %s: %s", t->label, why);
    if (theirs > 0 && t->count < BENCH_ROWS)
        t->ratios[t->count++] = theirs / ours;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_theirs_print_ratios(bench_theirs *t, bool is_json)
{
    int count = t->count;
    double *r = t->ratios;
    qsort(r, (size_t)count, sizeof *r, by_value);
    double median = count ? (r[(count - 1) / 2] + r[count / 2]) / 2 : 0;
    if (t->name && is_json && t->why) {
        printf(", \"%s\": {\"missing\": \"", t->name);
        print_json_text(t->why);
        printf("\"}");
    } else if (count && is_json)
        printf(", \"%s\": {\"worst\": %.4f, \"median\": %.4f, \"best\": %.4f}", t->name, r[0],
               median, r[count - 1]);
    else if (count)
        printf("%s takes %.3f (worst), %.3f (median), %.3f (best) of our time\n", t->label, r[0],
               median, r[count - 1]);
}

// Both round to 16 bits in between, and sum in other orders.
int bench_is_same(double difference)
{
    if (difference <= 0.02)
        return EXIT_FINE;
    fprintf(stderr, "kiln bench: the results differ by %.3g of the largest number\n", difference);
    return EXIT_KERNEL;
}
