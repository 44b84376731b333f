// kiln_matmul_grouped against sums in double precision: groups of rows, some of them empty, all
// types and layouts, rows behind the last group, wrong descriptions.
//     matmul_grouped [DEVICE]        (default: cuda)
// Operands are small integers, so that every sum is exact and every result must be right bit for
// bit.
#include "api.h"
#include "kiln/ops.h"

enum { MOST_GROUPS = 5 };

typedef struct grouped {
    uint32_t rows, n, k, groups;
    int32_t ends[MOST_GROUPS];
    bool a_t, b_t;
    kiln_epilogue epilogue;
} grouped;

static const grouped cases[] = {
    {70, 24, 40, 4, {16, 16, 50, 70}, false, true, KILN_EPILOGUE_NONE},
    {133, 65, 33, 5, {1, 2, 67, 67, 120}, false, false, KILN_EPILOGUE_BIAS},
    {40, 16, 72, 3, {8, 24, 40}, true, true, KILN_EPILOGUE_BIAS_RELU},
    {300, 136, 64, 2, {150, 300}, true, false, KILN_EPILOGUE_NONE},
    {9, 8, 16, 1, {4}, false, true, KILN_EPILOGUE_BIAS},
    {330, 264, 136, 3, {130, 131, 320}, false, true, KILN_EPILOGUE_BIAS},
    {200, 72, 72, 4, {0, 0, 65, 200}, false, false, KILN_EPILOGUE_NONE},
};

static const struct {
    kiln_type in, out;
} types[] = {
    {KILN_BF16, KILN_BF16}, {KILN_F16, KILN_F32}, {KILN_F32, KILN_F32}, {KILN_I8, KILN_I32}};

static uint32_t state = 1;

static int small(void)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 16) % 5) - 2;
}

// --- numbers of a type; all of them are small integers
static void put(kiln_type t, void *to, size_t i, int x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t e = bits >> 23 & 255;
    if (t == KILN_F32)
        ((float *)to)[i] = f;
    else if (t == KILN_I8)
        ((int8_t *)to)[i] = (int8_t)x;
    else if (t == KILN_BF16)
        ((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
    else
        ((uint16_t *)to)[i] =
            x ? (uint16_t)((bits >> 31) << 15 | (e - 112) << 10 | (bits >> 13 & 1023)) : 0;
}

static double get(kiln_type t, const void *from, size_t i)
{
    uint32_t bits = t == KILN_BF16 ? (uint32_t)((const uint16_t *)from)[i] << 16 : 0;
    float f;
    memcpy(&f, &bits, 4);
    return t == KILN_BF16  ? (double)f
           : t == KILN_I32 ? ((const int32_t *)from)[i]
                           : (double)((const float *)from)[i];
}

static kiln_buffer *operand(kiln *k, kiln_type t, double *values, size_t count)
{
    void *bytes = calloc(count, 4);
    kiln_buffer *b = NULL;
    for (size_t i = 0; i < count; i++) {
        int x = small();
        values[i] = x;
        put(t, bytes, i, x);
    }
    CHECK(!kiln_buffer_new(k, t, count, &b) && !kiln_write(b, 0, bytes, count));
    free(bytes);
    return b;
}

// --- one case
static double wanted(const grouped *c, const double *a, const double *b, const double *bias,
                     uint32_t g, uint32_t row, uint32_t column)
{
    double sum = c->epilogue ? bias[column] : 0;
    for (uint32_t i = 0; i < c->k; i++)
        sum += a[c->a_t ? i * c->rows + row : row * c->k + i] *
               b[(size_t)g * c->k * c->n + (c->b_t ? column * c->k + i : i * c->n + column)];
    return c->epilogue == KILN_EPILOGUE_BIAS_RELU && sum < 0 ? 0 : sum;
}

static double to_bf16(double x) // as a result is rounded
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &bits, 4);
    return (double)f;
}

static void test_case(kiln *k, const grouped *c, kiln_type in, kiln_type out,
                      kiln_matmul_kernel kernel)
{
    size_t of_a = (size_t)c->rows * c->k, of_b = (size_t)c->groups * c->k * c->n,
           of_out = (size_t)c->rows * c->n;
    double *a = calloc(of_a, sizeof *a), *b = calloc(of_b, sizeof *b),
           *bias = calloc(c->n, sizeof *bias);
    void *got = calloc(of_out, 4);
    kiln_buffer *to_a = operand(k, in, a, of_a), *to_b = operand(k, in, b, of_b),
                *to_bias = operand(k, KILN_F32, bias, c->n), *to_out = NULL, *to_ends = NULL;
    uint32_t poison = 0x7f7f7f7fu;
    CHECK(!kiln_buffer_new(k, out, of_out, &to_out) && !kiln_fill(to_out, &poison));
    CHECK(!kiln_buffer_new(k, KILN_I32, c->groups, &to_ends) &&
          !kiln_write(to_ends, 0, c->ends, c->groups));
    kiln_matmul_desc d;
    memset(&d, 0, sizeof d);
    d.a = c->a_t ? kiln_view_transpose(KILN_VIEW(to_a, c->k, c->rows))
                 : KILN_VIEW(to_a, c->rows, c->k);
    d.b = c->b_t ? kiln_view_transpose(KILN_VIEW(to_b, c->groups, c->n, c->k))
                 : KILN_VIEW(to_b, c->groups, c->k, c->n);
    d.out = KILN_VIEW(to_out, c->rows, c->n);
    d.epilogue = c->epilogue;
    d.kernel = kernel;
    if (c->epilogue)
        d.bias = KILN_VIEW(to_bias, c->n);
    kiln_status status = kiln_matmul_grouped(k, &d, KILN_VIEW(to_ends, c->groups));
    bool is_impossible = status == KILN_E_UNSUPPORTED && kernel == KILN_MATMUL_SM90;
    if (status && !is_impossible)
        printf("%s\n", kiln_last_error(k)->text);
    CHECK((!status || is_impossible) && !kiln_read(to_out, 0, got, of_out));
    size_t wrong = 0;
    for (uint32_t row = 0, g = 0; row < c->rows && !is_impossible; row++) {
        while (g < c->groups && row >= (uint32_t)c->ends[g])
            g++;
        for (uint32_t column = 0; column < c->n; column++) {
            size_t at = (size_t)row * c->n + column, size = kiln_type_size(out);
            if (g == c->groups) {
                wrong += memcmp((const char *)got + at * size, &poison, size) != 0;
                continue;
            }
            double want = wanted(c, a, b, bias, g, row, column);
            wrong += get(out, got, at) != (out == KILN_BF16 ? to_bf16(want) : want);
        }
    }
    if (wrong)
        printf("%s %ux%ux%u, %u groups, kernel %d: %zu of %zu are wrong\n", kiln_type_name(in),
               c->rows, c->n, c->k, c->groups, (int)kernel, wrong, of_out);
    CHECK(!wrong);
    kiln_buffer *const all[] = {to_a, to_b, to_bias, to_out, to_ends};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        kiln_buffer_free(all[n]);
    free(a);
    free(b);
    free(bias);
    free(got);
}

static void test_errors(kiln *k)
{
    kiln_buffer *a = NULL, *ends = NULL, *out = NULL;
    CHECK(!kiln_buffer_new(k, KILN_F16, 64, &a) && !kiln_buffer_new(k, KILN_I32, 4, &ends) &&
          !kiln_buffer_new(k, KILN_F16, 64, &out));
    kiln_matmul_desc d;
    memset(&d, 0, sizeof d);
    d.a = KILN_VIEW(a, 4, 4);
    d.b = KILN_VIEW(a, 2, 4, 4);
    d.out = KILN_VIEW(out, 4, 4);
    EXPECT(kiln_matmul_grouped(k, NULL, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K6003", "NULL");
    EXPECT(kiln_matmul_grouped(NULL, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_HANDLE, "K6002", "NULL");
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 3)), KILN_E_BAD_ARGUMENT, "K7004",
           "2 groups");
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(a, 2)), KILN_E_BAD_ARGUMENT, "K6011", "not i32");
    d.b = KILN_VIEW(a, 4, 4);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K7004", "[4, 4]");
    d.b = KILN_VIEW(a, 2, 4, 4);
    d.a_scale = KILN_VIEW(ends, 1);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K6003",
           "not for groups");
    d.a_scale.buffer = NULL;
    d.out = KILN_VIEW(a, 4, 4);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K6003",
           "overlaps");
    kiln_buffer_free(a);
    kiln_buffer_free(ends);
    kiln_buffer_free(out);
}

int main(int argc, char **argv)
{
    static const kiln_matmul_kernel kernels[] = {KILN_MATMUL_BEST, KILN_MATMUL_SM90,
                                                 KILN_MATMUL_PORTABLE};
    kiln *k = api_open(argc > 1 ? argv[1] : "cuda");
    bool is_fake = api_is_fake(k);
    test_errors(k);
    for (size_t n = 0; n < sizeof cases / sizeof *cases && !is_fake; n++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            if (types[t].in != KILN_I8 || !cases[n].epilogue)
                for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
                    test_case(k, &cases[n], types[t].in, types[t].out, kernels[i]);
    kiln_close(k);
    return api_done("matmul-grouped");
}
