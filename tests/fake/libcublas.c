// A cuBLAS and a cuBLASLt that run on the host: products of column-major matrices in double, for
// the product that kiln bench sets beside ours. With libcuda.c device memory is host memory.
// Descriptors of cuBLASLt are checked; a product that does not fit them is refused. FAKE_CUBLAS
// says what goes wrong, with commas:
//
//     nostart        creating a handle fails
//     none           the heuristics propose nothing
//     slow=0         the proposal of that number takes 2 ms longer
//     norun          execution fails
//     idle           execution checks everything, and computes nothing
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "play_numbers.h"
#define SETTINGS "FAKE_CUBLAS"
#include "settings.h"

#define EXPORT __attribute__((visibility("default")))
enum { FINE = 0, NOT_READY = 1, BAD = 7, NO_SUPPORT = 15 };
enum { R_32F = 0, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28 };
enum { COMPUTE_32F = 68, COMPUTE_32I = 72, COMPUTE_TF32 = 77 };
enum { PROPOSALS = 3 };

static int handle_marker;

// --- products
typedef struct matrix {
    const void *data;
    int type;
    int64_t rows, columns, ld; // column-major
} matrix;

static double load(const matrix *m, int64_t row, int64_t column)
{
    int64_t at = column * m->ld + row;
    switch (m->type) {
    case R_16BF: return play_load((const uint16_t *)m->data + at, CUDNN_DATA_BFLOAT16);
    case R_16F: return play_load((const uint16_t *)m->data + at, CUDNN_DATA_HALF);
    case R_8I: return ((const int8_t *)m->data)[at];
    case R_8F_E4M3: {
        uint8_t bits = ((const uint8_t *)m->data)[at];
        int exponent = bits >> 3 & 15, fraction = bits & 7;
        double v = exponent ? ldexp(fraction + 8, exponent - 10) : ldexp(fraction, -9);
        return bits >> 7 ? -v : v;
    }
    default: return ((const float *)m->data)[at];
    }
}

static void store(const matrix *m, int64_t row, int64_t column, double value)
{
    int64_t at = column * m->ld + row;
    switch (m->type) {
    case R_16BF: play_store((uint16_t *)m->data + at, CUDNN_DATA_BFLOAT16, value); return;
    case R_16F: play_store((uint16_t *)m->data + at, CUDNN_DATA_HALF, value); return;
    case R_32I: ((int32_t *)m->data)[at] = (int32_t)value; return;
    default: ((float *)m->data)[at] = (float)value;
    }
}

static bool are_types(int in, int out, int compute)
{
    switch (in) {
    case R_16BF:
    case R_16F: return out == in && compute == COMPUTE_32F;
    case R_32F: return out == in && (compute == COMPUTE_32F || compute == COMPUTE_TF32);
    case R_8I: return out == R_32I && compute == COMPUTE_32I;
    case R_8F_E4M3: return out == R_16BF && compute == COMPUTE_32F;
    default: return false;
    }
}

// c = op(a) * op(b); the factors are 1 and 0, as the type of the sums has them.
static int multiply(matrix a, bool is_a_turned, matrix b, bool is_b_turned, matrix c, int compute,
                    const void *alpha, const void *beta)
{
    int64_t m = is_a_turned ? a.columns : a.rows, depth = is_a_turned ? a.rows : a.columns,
            n = is_b_turned ? b.rows : b.columns, of_b = is_b_turned ? b.columns : b.rows;
    int32_t bits[2];
    memcpy(&bits[0], alpha, 4);
    memcpy(&bits[1], beta, 4);
    bool are_factors = bits[0] == (compute == COMPUTE_32I ? 1 : 0x3f800000) && bits[1] == 0;
    if (depth != of_b || c.rows != m || c.columns != n || a.ld < a.rows || b.ld < b.rows ||
        c.ld < c.rows || a.type != b.type || !are_types(a.type, c.type, compute) || !are_factors ||
        !a.data || !b.data || !c.data)
        return BAD;
    if (setting("norun"))
        return NO_SUPPORT;
    for (int64_t j = 0; j < n && !setting("idle"); j++)
        for (int64_t i = 0; i < m; i++) {
            double sum = 0;
            for (int64_t p = 0; p < depth; p++)
                sum += load(&a, is_a_turned ? p : i, is_a_turned ? i : p) *
                       load(&b, is_b_turned ? j : p, is_b_turned ? p : j);
            store(&c, i, j, sum);
        }
    return FINE;
}

// --- cuBLAS
EXPORT int cublasCreate_v2(void **handle)
{
    *handle = &handle_marker;
    return setting("nostart") ? NOT_READY : FINE;
}
EXPORT int cublasSetStream_v2(void *handle, void *stream)
{
    return handle == &handle_marker && stream ? FINE : BAD;
}
EXPORT int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                        const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                        const void *beta, void *c, int c_type, int ldc, int compute, int algo)
{
    if (handle != &handle_marker || algo != -1 || a_type == R_8F_E4M3)
        return BAD;
    return multiply((matrix){a, a_type, op_a ? k : m, op_a ? m : k, lda}, op_a,
                    (matrix){b, b_type, op_b ? n : k, op_b ? k : n, ldb}, op_b,
                    (matrix){c, c_type, m, n, ldc}, compute, alpha, beta);
}

// --- cuBLASLt
typedef struct lt_desc {
    int compute, scale, op_a, op_b;
} lt_desc;
typedef struct lt_layout {
    int type;
    int64_t rows, columns, ld;
} lt_layout;
typedef struct lt_result {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} lt_result;

EXPORT int cublasLtCreate(void **handle)
{
    *handle = &handle_marker;
    return setting("nostart") ? NOT_READY : FINE;
}
EXPORT int cublasLtMatmulDescCreate(void **out, int compute, int scale)
{
    lt_desc *d = calloc(1, sizeof *d);
    *d = (lt_desc){.compute = compute, .scale = scale};
    *out = d;
    return scale == (compute == COMPUTE_32I ? R_32I : R_32F) ? FINE : BAD;
}
EXPORT int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t size)
{
    lt_desc *d = desc;
    if (attribute == 3 && size == 4)
        memcpy(&d->op_a, value, 4);
    else if (attribute == 4 && size == 4)
        memcpy(&d->op_b, value, 4);
    else
        return attribute == 25 && size == 1 ? FINE : BAD;
    return FINE;
}
EXPORT int cublasLtMatmulDescDestroy(void *desc)
{
    free(desc);
    return FINE;
}
EXPORT int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns,
                                      int64_t ld)
{
    lt_layout *l = calloc(1, sizeof *l);
    *l = (lt_layout){type, (int64_t)rows, (int64_t)columns, ld};
    *out = l;
    return ld >= (int64_t)rows ? FINE : BAD;
}
EXPORT int cublasLtMatrixLayoutDestroy(void *layout)
{
    free(layout);
    return FINE;
}
EXPORT int cublasLtMatmulPreferenceCreate(void **out)
{
    *out = calloc(1, sizeof(size_t));
    return FINE;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(void *pref, int attribute, const void *value,
                                                size_t size)
{
    if (attribute != 1 || size != sizeof(size_t))
        return BAD;
    memcpy(pref, value, size);
    return FINE;
}
EXPORT int cublasLtMatmulPreferenceDestroy(void *pref)
{
    free(pref);
    return FINE;
}
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c,
                                          void *d, void *pref, int wanted, lt_result *results,
                                          int *count)
{
    if (handle != &handle_marker || !desc || !a || !b || c != d || *(size_t *)pref < 1 << 20)
        return BAD;
    *count = setting("none") ? 0 : wanted < PROPOSALS ? wanted : PROPOSALS;
    memset(results, 0, (size_t)*count * sizeof *results);
    for (int n = 0; n < *count; n++) {
        results[n].algorithm[0] = (uint64_t)n + 77;
        results[n].state = n == 2 ? NO_SUPPORT : FINE; // the last one does not run
    }
    return FINE;
}
EXPORT int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a,
                          void *a_layout, const void *b, void *b_layout, const void *beta,
                          const void *c, void *c_layout, void *d, void *d_layout,
                          const void *algorithm, void *workspace, size_t bytes, void *stream)
{
    const lt_desc *how = desc;
    const lt_layout *of_a = a_layout, *of_b = b_layout, *of_c = c_layout;
    uint64_t number = *(const uint64_t *)algorithm - 77;
    if (handle != &handle_marker || c != d || c_layout != d_layout || !workspace || !bytes ||
        !stream || number > 1)
        return BAD;
    if (setting_number("slow", -1) == (long)number)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return multiply((matrix){a, of_a->type, of_a->rows, of_a->columns, of_a->ld}, how->op_a,
                    (matrix){b, of_b->type, of_b->rows, of_b->columns, of_b->ld}, how->op_b,
                    (matrix){d, of_c->type, of_c->rows, of_c->columns, of_c->ld}, how->compute,
                    alpha, beta);
}
