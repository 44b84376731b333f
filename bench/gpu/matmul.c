// f32 matrix product: portable Kiln C (bench/gpu/kernels/matmul.c, and the example) against cuBLAS
// sgemm without TF32, in turns.
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/bench.h"

enum { ROUNDS = 9, SAMPLES = 500 };

typedef struct cublas {
    int (*create)(void **handle);
    int (*set_stream)(void *handle, cu_stream stream);
    int (*set_math)(void *handle, int mode);
    int (*sgemm)(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha,
                 const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                 int ldc);
    void *handle;
} cublas;

typedef struct job {
    report r;
    cublas lib;
    bench_kernel kernel;
    kiln_launch_desc desc;
    kiln_arg args[6];
    kiln_buffer *a, *b, *c, *d; // d: theirs
    float *a_host, *b_host;
    int n;
} job;

static bool load_cublas(job *j)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                        "/usr/local/cuda/lib64/libcublas.so"};
    void *library = NULL;
    for (size_t k = 0; k < 4 && !library; k++)
        library = dlopen(names[k], RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return false;
    const struct {
        void *slot;
        const char *name;
    } rows[] = {{&j->lib.create, "cublasCreate_v2"},
                {&j->lib.set_stream, "cublasSetStream_v2"},
                {&j->lib.set_math, "cublasSetMathMode"},
                {&j->lib.sgemm, "cublasSgemm_v2"}};
    for (size_t k = 0; k < 4; k++) {
        void *symbol = dlsym(library, rows[k].name);
        if (!symbol)
            return false;
        memcpy(rows[k].slot, &symbol, sizeof symbol);
    }
    return !j->lib.create(&j->lib.handle) && !j->lib.set_stream(j->lib.handle, j->r.stream) &&
           !j->lib.set_math(j->lib.handle, 0);
}

static void ours(void *user, int i)
{
    (void)i;
    job *j = user;
    bench_must(&j->r, kiln_launch(j->kernel.kernel, &j->desc), "kiln_launch");
}

static float *device_pointer(const kiln_buffer *b)
{
    uint64_t address = kiln_buffer_address(b);
    float *p;
    memcpy(&p, &address, sizeof p);
    return p;
}

// Row-major C = A B is column-major C' = B' A'.
static void theirs(void *user, int i)
{
    (void)i;
    job *j = user;
    const float one = 1, zero = 0;
    int n = j->n;
    if (j->lib.sgemm(j->lib.handle, 0, 0, n, n, n, &one, device_pointer(j->b), n,
                     device_pointer(j->a), n, &zero, device_pointer(j->d), n)) {
        fprintf(stderr, "cublasSgemm failed\n");
        exit(1);
    }
}

static double worst_of(job *j, const kiln_buffer *result)
{
    size_t n = (size_t)j->n;
    float *got = bench_floats(n * n);
    double worst = 0;
    bench_must(&j->r, kiln_sync(j->r.k), "kiln_sync");
    bench_must(&j->r, kiln_read(result, 0, got, n * n), "a copy");
    for (size_t s = 0; s < SAMPLES; s++) {
        size_t at = s * 2654435761u % (n * n), row = at / n, col = at % n;
        double want = 0;
        for (size_t k = 0; k < n; k++)
            want += (double)j->a_host[row * n + k] * (double)j->b_host[k * n + col];
        double error = fabs((double)got[at] - want) / sqrt((double)n);
        worst = error > worst || isnan(error) ? (isnan(error) ? HUGE_VAL : error) : worst;
    }
    free(got);
    return worst;
}

static void run_variant(job *j, const char *path, const char *tune, uint32_t tile_m,
                        uint32_t tile_n)
{
    char label[80];
    bool is_example = !strncmp(path, "examples/", 9);
    size_t n = (size_t)j->n;
    snprintf(label, sizeof label, "%d.%s%s", j->n, is_example ? "example." : "", tune);
    j->kernel = bench_compile(&j->r, path, "matmul", tune, NULL);
    kiln_arg args[6] = {kiln_arg_buffer(j->a),        kiln_arg_buffer(j->b),
                        kiln_arg_buffer(j->c),        kiln_arg_i64(KILN_U32, j->n),
                        kiln_arg_i64(KILN_U32, j->n), kiln_arg_i64(KILN_U32, j->n)};
    memcpy(j->args, args, sizeof args);
    j->desc = (kiln_launch_desc){
        .grid = {(uint32_t)n / tile_n, (uint32_t)n / tile_m}, .args = j->args, .arg_count = 6};
    const float nothing = NAN;
    bench_must(&j->r, kiln_fill(j->c, &nothing), "a fill");
    ours(j, 0);
    double worst = worst_of(j, j->c);
    report_check(&j->r, worst < 1e-5, "%s, largest error / sqrt(n) %.3g", label, worst);
    kiln_resources resources;
    if (!kiln_kernel_resources(j->kernel.kernel, &resources))
        printf("  %u registers, %zu bytes of shared memory, %zu spilled\n", resources.registers,
               resources.shared_bytes, resources.spill_stores);
    double flops = 2.0 * (double)n * (double)n * (double)n, mine[ROUNDS], other[ROUNDS],
           ratio[ROUNDS];
    int count = n <= 2048 ? 20 : n <= 4096 ? 6 : 2;
    bench_gpu_ms(&j->r, ours, j, 2);
    for (int k = 0; k < ROUNDS; k++) {
        mine[k] = flops * count / bench_gpu_ms(&j->r, ours, j, count) * 1e-9;
        if (j->lib.handle)
            other[k] = flops * count / bench_gpu_ms(&j->r, theirs, j, count) * 1e-9;
        else
            other[k] = 0;
        ratio[k] = mine[k] / other[k];
    }
    report_number(&j->r, bench_median(mine, ROUNDS), "matmul.%s.TFLOPS", label);
    if (j->lib.handle) {
        report_number(&j->r, bench_median(other, ROUNDS), "matmul.%s.cublas.TFLOPS", label);
        report_number(&j->r, bench_median(ratio, ROUNDS), "matmul.%s.of_cublas", label);
    }
    kiln_module_free(j->kernel.module);
}

static void run_size(job *j, int n)
{
    size_t count = (size_t)n * (size_t)n;
    j->n = n;
    j->a_host = bench_floats(count);
    j->b_host = bench_floats(count);
    bench_random(j->a_host, count, 3);
    bench_random(j->b_host, count, 4);
    j->a = bench_upload(&j->r, j->a_host, count);
    j->b = bench_upload(&j->r, j->b_host, count);
    j->c = bench_upload(&j->r, NULL, count);
    j->d = bench_upload(&j->r, NULL, count);
    if (j->lib.handle) {
        theirs(j, 0);
        double worst = worst_of(j, j->d);
        report_check(&j->r, worst < 1e-5, "%d by cuBLAS, largest error / sqrt(n) %.3g", n, worst);
    }
    run_variant(j, "bench/gpu/kernels/matmul.c", "ROWS=128", 128, 128);
    if (n <= 2048)
        run_variant(j, "bench/gpu/kernels/matmul.c", "ROWS=64", 64, 128);
    if (n <= 4096)
        run_variant(j, "examples/matmul/kernel.c", "TILE=64", 64, 64);
    free(j->a_host);
    free(j->b_host);
    kiln_buffer_free(j->a);
    kiln_buffer_free(j->b);
    kiln_buffer_free(j->c);
    kiln_buffer_free(j->d);
}

int main(int argc, char **argv)
{
    static job j;
    if (!report_start(&j.r, "matmul", argc, argv, true))
        return BENCH_SKIPPED;
    if (!load_cublas(&j))
        printf("there is no libcublas here: only our side is measured\n");
    for (int n = 1024; n <= 8192; n *= 2)
        run_size(&j, n);
    return report_end(&j.r);
}
