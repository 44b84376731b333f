// Runs rms_norm on the best device present and checks it against a double-precision reference.
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
    fprintf(stderr, "rms_norm: %s\n", kiln_last_error(k)->text);
    return 1;
}

int main(void)
{
    kiln *k;
    if (kiln_open(NULL, &k))
        return fail(NULL);
    int is_gpu = strncmp(kiln_device_name(k), "cuda", 4) == 0;
    uint32_t rows = is_gpu ? 16384 : 64, cols = is_gpu ? 4096 : 1000, n = rows * cols;
    char size[32];
    snprintf(size, sizeof size, "%ux%u", rows, cols);
    float *x_host = malloc(n * sizeof(float)), *out_host = malloc(n * sizeof(float));
    float *gain_host = malloc(cols * sizeof(float));
    if (!x_host || !out_host || !gain_host)
        return 1;
    for (uint32_t i = 0; i < n; i++)
        x_host[i] = 4.0f * random_float();
    for (uint32_t i = 0; i < cols; i++)
        gain_host[i] = random_float();
    kernel_kernels kernels;
    if (kernel_load(k, &kernels))
        return fail(k);
    kiln_f32s x, out, gain;
    if (kiln_f32s_new(k, n, &x) || kiln_f32s_write(x, 0, x_host, n) || kiln_f32s_new(k, n, &out) ||
        kiln_f32s_new(k, cols, &gain) || kiln_f32s_write(gain, 0, gain_host, cols))
        return fail(k);
    double times[11];
    for (int run = 0; run < 11; run++) {
        double start = now_us();
        if (launch_rms_norm(&kernels, (kiln_grid){.x = rows}, x, gain, out, rows, cols, 1e-5f) ||
            kiln_sync(k))
            return fail(k);
        times[run] = now_us() - start;
    }
    qsort(times, 11, sizeof times[0], by_value);
    if (kiln_f32s_read(out, 0, out_host, n))
        return fail(k);
    double worst = 0;
    for (uint32_t r = 0; r < rows; r++) {
        const float *row = x_host + (size_t)r * cols;
        double sum = 0;
        for (uint32_t c = 0; c < cols; c++)
            sum += (double)row[c] * row[c];
        double scale = 1 / sqrt(sum / cols + 1e-5);
        for (uint32_t c = 0; c < cols; c++)
            worst =
                fmax(worst, fabs(out_host[(size_t)r * cols + c] - row[c] * scale * gain_host[c]));
    }
    int ok = worst <= 1e-5;
    printf("%-12s %-18s %s  largest error %.3g  median %.1f us  (%s)\n", "rms_norm", size,
           ok ? "PASS" : "FAIL", worst, times[5], kiln_device_name(k));
    kernel_unload(&kernels);
    kiln_close(k);
    free(x_host);
    free(out_host);
    free(gain_host);
    return !ok;
}
