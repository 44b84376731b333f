// Runs matmul on the best device present and checks it against a double-precision reference.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel.h"

static float random_float(void) // uniform in [-1, 1), the same everywhere
{
    static uint32_t state = 12345;
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) * 0x1p-23f - 1.0f;
}

static double now_us(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int fail(const kiln *k)
{
    fprintf(stderr, "matmul: %s\n", kiln_last_error(k)->text);
    return 1;
}

int main(void)
{
    kiln *k;
    if (kiln_open(NULL, &k))
        return fail(NULL);
    int is_gpu = strncmp(kiln_device_name(k), "cuda", 4) == 0;
    uint32_t m = is_gpu ? 4096 : 100, n = is_gpu ? 4096 : 90, kk = is_gpu ? 4096 : 70;
    char size[32];
    snprintf(size, sizeof size, "%ux%ux%u", m, n, kk);
    size_t a_len = (size_t)m * kk, b_len = (size_t)kk * n, c_len = (size_t)m * n;
    float *a_host = malloc(a_len * sizeof(float)), *b_host = malloc(b_len * sizeof(float)),
          *out_host = malloc(c_len * sizeof(float));
    if (!a_host || !b_host || !out_host)
        return 1;
    for (size_t i = 0; i < a_len; i++)
        a_host[i] = random_float();
    for (size_t i = 0; i < b_len; i++)
        b_host[i] = random_float();
    kernel_kernels kernels;
    if (kernel_load(k, &kernels))
        return fail(k);
    kiln_f32s a, b, c;
    if (kiln_f32s_new(k, a_len, &a) || kiln_f32s_write(a, 0, a_host, a_len) ||
        kiln_f32s_new(k, b_len, &b) || kiln_f32s_write(b, 0, b_host, b_len) ||
        kiln_f32s_new(k, c_len, &c))
        return fail(k);
    double times[11];
    for (int run = 0; run < 11; run++) {
        double start = now_us();
        if (launch_matmul(&kernels, (kiln_grid){.x = (n + 31) / 32, .y = (m + 31) / 32}, a, b, c, m,
                          n, kk) ||
            kiln_sync(k))
            return fail(k);
        times[run] = now_us() - start;
    }
    qsort(times, 11, sizeof times[0], by_value);
    if (kiln_f32s_read(c, 0, out_host, c_len))
        return fail(k);
    double worst = 0;
    // Every element is too many on a large product: a few thousand spread over it.
    size_t step = c_len > 10000 ? c_len / 4093 : 1;
    for (size_t i = 0; i < c_len; i += step) {
        double want = 0;
        for (uint32_t p = 0; p < kk; p++)
            want += (double)a_host[i / n * kk + p] * b_host[(size_t)p * n + i % n];
        worst = fmax(worst, fabs(out_host[i] - want) / sqrt(kk));
    }
    int ok = worst <= 1e-5;
    printf("%-12s %-18s %s  largest error %.3g  median %.1f us  (%s)\n", "matmul", size,
           ok ? "PASS" : "FAIL", worst, times[5], kiln_device_name(k));
    kernel_unload(&kernels);
    kiln_close(k);
    free(a_host);
    free(b_host);
    free(out_host);
    return !ok;
}
