// The ladder of matrix products (ops/matmul/ladder): bf16, c = a * transposed b, every rung in
// turns with cuBLAS, and kiln_matmul as the last one. Absolute speeds change with the temperature
// of the card; the ratio to cuBLAS in the same round does not.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/gemm.h"
#include "kiln/ops.h"
#include "ops/matmul/ladder/ladder.h"

enum { ROUNDS = 9 };
static const double most_error = 0.03; // of a result, in units of sqrt(k): as bench/gpu/gemm.c
static const double least_ms = 4;      // of a round

typedef struct job {
    report r;
    gemm_problem p;
    gemm_data data;
    uint32_t multiprocessors;
    bool has_cublas;
    kiln_kernel *kernel; // of a rung; NULL: kiln_matmul
    ladder_launch launches[GEMM_SETS];
} job;

static void ours(void *user, int i)
{
    job *j = user;
    const int set = i % j->data.set_count;
    if (j->kernel) {
        bench_must(&j->r, kiln_launch(j->kernel, &j->launches[set].desc), "kiln_launch");
        return;
    }
    const uint64_t m = (uint64_t)j->p.m, n = (uint64_t)j->p.n, k = (uint64_t)j->p.k;
    const gemm_set *s = &j->data.sets[set];
    const kiln_matmul_desc desc = {.a = KILN_VIEW(s->a, m, k),
                                   .b = kiln_view_transpose(KILN_VIEW(s->b, n, k)),
                                   .out = KILN_VIEW(s->c, m, n)};
    bench_must(&j->r, kiln_matmul(j->r.k, &desc), "kiln_matmul");
}

static void theirs(void *user, int i)
{
    job *j = user;
    if (!cublas_run(&j->p, &j->data.sets[i % j->data.set_count])) {
        fprintf(stderr, "cublasGemmEx failed\n");
        exit(1);
    }
}

// Whether `run` computes the product; the result is cleared before.
static void check(job *j, void (*run)(void *user, int i), const char *name)
{
    const uint16_t not_a_number = 0x7fc0;
    bench_must(&j->r, kiln_fill(j->data.sets[0].c, &not_a_number), "a fill");
    run(j, 0);
    double worst = gemm_data_worst(&j->r, &j->data, &j->p, NULL);
    report_check(&j->r, worst <= most_error, "%d %s, largest error / sqrt(k) %.3g", j->p.n, name,
                 worst);
}

// How many launches take about least_ms.
static int count_for(job *j, void (*run)(void *user, int i))
{
    double ms = bench_gpu_ms(&j->r, run, j, 1);
    return ms >= least_ms ? 1 : (int)ceil(least_ms / ms);
}

static double tflops(const job *j, double ms)
{
    return 2.0 * j->p.m * j->p.n * j->p.k / ms * 1e-9;
}

static void measure(job *j, const char *name)
{
    double mine[ROUNDS], other[ROUNDS], ratio[ROUNDS];
    check(j, ours, name);
    const int count = count_for(j, ours), their_count = j->has_cublas ? count_for(j, theirs) : 0;
    for (int k = 0; k < ROUNDS; k++) {
        mine[k] = tflops(j, bench_gpu_ms(&j->r, ours, j, count) / count);
        if (j->has_cublas)
            other[k] = tflops(j, bench_gpu_ms(&j->r, theirs, j, their_count) / their_count);
        ratio[k] = j->has_cublas ? mine[k] / other[k] : 0;
    }
    report_number(&j->r, bench_median(mine, ROUNDS), "ladder.%d.%s.TFLOPS", j->p.n, name);
    if (j->has_cublas)
        report_number(&j->r, bench_median(ratio, ROUNDS), "ladder.%d.%s.of_cublas", j->p.n, name);
    if (j->has_cublas && !j->kernel) // beside the fastest of ours
        report_number(&j->r, bench_median(other, ROUNDS), "ladder.%d.cublas.TFLOPS", j->p.n);
}

static void run_rung(job *j, const ladder_rung *rung)
{
    bench_kernel b = bench_compile(&j->r, rung->path, "matmul", NULL, NULL);
    const uint32_t m = (uint32_t)j->p.m, n = (uint32_t)j->p.n, k = (uint32_t)j->p.k;
    for (int s = 0; s < j->data.set_count; s++) {
        const gemm_set *set = &j->data.sets[s];
        const ladder_problem p = {set->a, set->b, set->c, m, n, k};
        bench_must(&j->r, ladder_prepare(j->r.k, b.kernel, &p, j->multiprocessors, &j->launches[s]),
                   rung->path);
    }
    j->kernel = b.kernel;
    measure(j, rung->name);
    kiln_resources resources;
    if (!kiln_kernel_resources(b.kernel, &resources))
        printf("  %u registers, %zu bytes spilled\n", resources.registers, resources.spill_stores);
    kiln_module_free(b.module);
}

static void run_size(job *j, int n, const kiln_caps *caps)
{
    j->p = (gemm_problem){.type = GEMM_BF16, .m = n, .n = n, .k = n};
    gemm_data_make(&j->r, &j->p, &j->data);
    if (j->has_cublas)
        check(j, theirs, "cuBLAS");
    for (int k = 0; k < LADDER_RUNGS; k++)
        if (ladder_runs_on(&ladder_rungs[k], caps))
            run_rung(j, &ladder_rungs[k]);
        else
            printf("skipped: %s needs %s\n", ladder_rungs[k].name, ladder_rungs[k].target);
    j->kernel = NULL;
    measure(j, "kiln_matmul");
    gemm_data_free(&j->data);
}

int main(int argc, char **argv)
{
    static job j;
    kiln_device_info info;
    if (!report_start(&j.r, "ladder", argc, argv, true))
        return BENCH_SKIPPED;
    bench_must(&j.r, kiln_device_info_of(j.r.k, &info), "the device");
    j.multiprocessors = info.multiprocessors;
    free(report_source(&j.r, "include/kiln/tile.h", NULL)); // the upper rungs are written in it
    free(report_source(&j.r, "ops/matmul/gemm_sm90.c", NULL)); // kiln_matmul's
    j.has_cublas = cublas_open(&j.r, j.r.stream);
    if (!j.has_cublas)
        printf("there is no libcublas here: only our side is measured\n");
    for (int n = 4096; n <= 8192; n *= 2)
        run_size(&j, n, &info.caps);
    return report_end(&j.r);
}
