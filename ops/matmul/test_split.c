// kiln_matmul with is_tf32x3 against sums in double precision: its error is a small multiple of
// that of f32, and far below that of tf32; infinities are not lost; batches, layouts, epilogues;
// wrong descriptions.
//     matmul_split [DEVICE]        (default: cuda)
#include <math.h>

#include "api.h"
#include "kiln/ops.h"

typedef struct product {
    uint32_t batch, m, n, k;
    bool a_t, b_t;
    kiln_epilogue epilogue;
} product;

static const product products[] = {{1, 70, 40, 200, false, true, KILN_EPILOGUE_NONE},
                                   {1, 33, 65, 31, true, false, KILN_EPILOGUE_BIAS},
                                   {2, 16, 24, 96, false, false, KILN_EPILOGUE_NONE},
                                   {1, 64, 72, 130, true, true, KILN_EPILOGUE_BIAS_RELU}};

static float *numbers(kiln *k, size_t count, uint32_t seed, kiln_buffer **out)
{
    float *values = calloc(count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / 16777216.0f * 2 - 1;
    }
    CHECK(!kiln_buffer_new(k, KILN_F32, count, out) && !kiln_write(*out, 0, values, count));
    return values;
}

// The largest error, as a part of the sum of all |a * b|.
static double worst(kiln *k, const product *p, const kiln_matmul_desc *d, const float *a,
                    const float *b, const float *bias)
{
    size_t of_out = (size_t)p->batch * p->m * p->n;
    float *got = calloc(of_out, sizeof *got);
    double most = 0;
    kiln_status status = kiln_matmul(k, d);
    if (status)
        printf("%s\n", kiln_last_error(k)->text);
    CHECK(!status && !kiln_read(d->out.buffer, 0, got, of_out));
    for (size_t at = 0; at < of_out && !status; at++) {
        size_t z = at / ((size_t)p->m * p->n), i = at / p->n % p->m, j = at % p->n;
        double sum = p->epilogue ? (double)bias[j] : 0, all = 1e-30;
        for (size_t l = 0; l < p->k; l++) {
            double x = (double)a[z * p->m * p->k + (p->a_t ? l * p->m + i : i * p->k + l)];
            double y = (double)b[z * p->n * p->k + (p->b_t ? j * p->k + l : l * p->n + j)];
            sum += x * y;
            all += fabs(x * y);
        }
        sum = p->epilogue == KILN_EPILOGUE_BIAS_RELU && sum < 0 ? 0 : sum;
        double error = fabs((double)got[at] - sum) / all;
        most = error > most || isnan(error) ? error : most;
    }
    free(got);
    return most;
}

static kiln_view matrices(kiln_buffer *b, const product *p, uint64_t rows, uint64_t columns,
                          bool is_t)
{
    kiln_view v = KILN_VIEW(b, p->batch, is_t ? columns : rows, is_t ? rows : columns);
    v = is_t ? kiln_view_transpose(v) : v;
    return p->batch == 1 ? kiln_view_squeeze(v, 0) : v;
}

static void test_product(kiln *k, const product *p, kiln_matmul_kernel kernel)
{
    kiln_buffer *to_a, *to_b, *to_bias, *to_out = NULL;
    float *a = numbers(k, (size_t)p->batch * p->m * p->k, 1, &to_a),
          *b = numbers(k, (size_t)p->batch * p->k * p->n, 2, &to_b),
          *bias = numbers(k, p->n, 3, &to_bias);
    CHECK(!kiln_buffer_new(k, KILN_F32, (size_t)p->batch * p->m * p->n, &to_out));
    kiln_matmul_desc d;
    memset(&d, 0, sizeof d);
    d.a = matrices(to_a, p, p->m, p->k, p->a_t);
    d.b = matrices(to_b, p, p->k, p->n, p->b_t);
    d.out = matrices(to_out, p, p->m, p->n, false);
    d.epilogue = p->epilogue;
    if (p->epilogue)
        d.bias = KILN_VIEW(to_bias, p->n);
    d.kernel = kernel;
    d.is_tf32x3 = true;
    double error = worst(k, p, &d, a, b, bias);
    if (!(error < 1e-6))
        printf("%ux%ux%u: an error of %g\n", p->m, p->n, p->k, error);
    CHECK(error < 1e-6);
    if (kernel == KILN_MATMUL_SM90 && !p->a_t && p->b_t) { // the bound means something
        d.is_tf32x3 = false;
        d.is_tf32 = true;
        CHECK(worst(k, p, &d, a, b, bias) > 2e-5);
    }
    kiln_buffer *const all[] = {to_a, to_b, to_bias, to_out};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        kiln_buffer_free(all[n]);
    free(a);
    free(b);
    free(bias);
}

static void test_infinity(kiln *k, kiln_matmul_kernel kernel)
{
    enum { SIDE = 32 };
    float x[SIDE * SIDE], got[SIDE * SIDE];
    kiln_buffer *a = NULL, *out = NULL;
    for (size_t i = 0; i < SIDE * SIDE; i++)
        x[i] = 1;
    x[0] = HUGE_VALF;
    x[SIDE] = 3.4e38f; // would round to infinity
    CHECK(!kiln_buffer_new(k, KILN_F32, SIDE * SIDE, &a) && !kiln_write(a, 0, x, SIDE * SIDE) &&
          !kiln_buffer_new(k, KILN_F32, SIDE * SIDE, &out));
    kiln_matmul_desc d;
    memset(&d, 0, sizeof d);
    d.a = KILN_VIEW(a, SIDE, SIDE);
    d.b = kiln_view_transpose(KILN_VIEW(a, SIDE, SIDE));
    d.b = kiln_view_slice(d.b, 1, 2, SIDE, 1); // ones
    d.out = kiln_view_slice(KILN_VIEW(out, SIDE, SIDE), 1, 2, SIDE, 1);
    d.kernel = kernel;
    d.is_tf32x3 = true;
    CHECK(!kiln_matmul(k, &d) && !kiln_read(out, 0, got, SIDE * SIDE));
    CHECK(!isfinite(got[2]) && isfinite(got[SIDE + 2]) && got[SIDE + 2] > 3.3e38f &&
          got[2 * SIDE + 2] == SIDE);
    kiln_buffer_free(a);
    kiln_buffer_free(out);
}

static void test_errors(kiln *k)
{
    kiln_buffer *a = NULL, *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_F32, 64, &a) && !kiln_buffer_new(k, KILN_F32, 64, &out));
    kiln_matmul_desc d;
    memset(&d, 0, sizeof d);
    d.a = d.b = KILN_VIEW(a, 8, 8);
    d.out = KILN_VIEW(out, 8, 8);
    d.is_tf32 = d.is_tf32x3 = true;
    EXPECT(kiln_matmul(k, &d), KILN_E_BAD_ARGUMENT, "K6003", "exclude each other");
    kiln_buffer_free(a);
    kiln_buffer_free(out);
}

int main(int argc, char **argv)
{
    const char *device = argc > 1 ? argv[1] : "cuda";
    kiln *k = api_open(device);
    bool is_fake = api_is_fake(k),
         has_sm90 = !strcmp(device, "interp") || !strncmp(device, "cuda", 4);
    test_errors(k);
    for (int forced = 0; forced < 2 && !is_fake; forced++) {
        kiln_matmul_kernel kernel = forced ? KILN_MATMUL_SM90 : KILN_MATMUL_BEST;
        if (forced && !has_sm90)
            break;
        for (size_t n = 0; n < sizeof products / sizeof *products; n++)
            test_product(k, &products[n], kernel);
        test_infinity(k, kernel);
    }
    kiln_close(k);
    return api_done("matmul-split");
}
