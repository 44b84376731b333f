// Runs dequant on the best device present and checks it against a double-precision reference.
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
    fprintf(stderr, "dequant: %s\n", kiln_last_error(k)->text);
    return 1;
}

int main(void)
{
    kiln *k;
    if (kiln_open(NULL, &k))
        return fail(NULL);
    int is_gpu = strncmp(kiln_device_name(k), "cuda", 4) == 0;
    uint32_t rows = is_gpu ? 16384 : 64, cols = is_gpu ? 4096 : 1024, n = rows * cols;
    char size[32];
    snprintf(size, sizeof size, "%ux%u", rows, cols);
    int8_t *q_host = malloc(n);
    float *scale_host = malloc(rows * sizeof(float)), *out_host = malloc(n * sizeof(float));
    if (!q_host || !scale_host || !out_host)
        return 1;
    for (uint32_t i = 0; i < n; i++)
        q_host[i] = (int8_t)(random_float() * 127.0f);
    for (uint32_t i = 0; i < rows; i++)
        scale_host[i] = random_float();
    kernel_kernels kernels;
    if (kernel_load(k, &kernels))
        return fail(k);
    kiln_i8s q;
    kiln_f32s scale, out;
    if (kiln_i8s_new(k, n, &q) || kiln_i8s_write(q, 0, q_host, n) ||
        kiln_f32s_new(k, rows, &scale) || kiln_f32s_write(scale, 0, scale_host, rows) ||
        kiln_f32s_new(k, n, &out))
        return fail(k);
    double times[11];
    for (int run = 0; run < 11; run++) {
        double start = now_us();
        if (launch_dequant(&kernels, (kiln_grid){.items = n}, q, scale, out, cols, n) ||
            kiln_sync(k))
            return fail(k);
        times[run] = now_us() - start;
    }
    qsort(times, 11, sizeof times[0], by_value);
    if (kiln_f32s_read(out, 0, out_host, n))
        return fail(k);
    double worst = 0;
    for (uint32_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(out_host[i] - (double)scale_host[i / cols] * q_host[i]));
    int ok = worst <= 1e-5;
    printf("%-12s %-18s %s  largest error %.3g  median %.1f us  (%s)\n", "dequant", size,
           ok ? "PASS" : "FAIL", worst, times[5], kiln_device_name(k));
    kernel_unload(&kernels);
    kiln_close(k);
    free(q_host);
    free(scale_host);
    free(out_host);
    return !ok;
}
