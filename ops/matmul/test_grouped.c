// kiln_matmul_grouped against sums in double precision: groups of rows, some of them empty, all
// types and layouts, rows behind the last group, factors, residual, `pre`, wrong descriptions.
//     matmul_grouped [DEVICE]        (default: cuda)
// Operands are small integers, so that every sum is exact and every result must be right bit for
// bit.
#include "api.h"
#include "kiln/ops.h"

enum { MOST_GROUPS = 5 };

typedef enum factor { NO_FACTOR, OF_ALL, OF_LINES, OF_GROUPS, OF_ALL_LINES } factor;

typedef struct grouped {
    uint32_t rows, n, k, groups;
    int32_t ends[MOST_GROUPS];
    bool a_t, b_t;
    kiln_epilogue epilogue;
    factor a_scale, b_scale;
    bool has_residual, has_pre, is_in_place; // is_in_place: the residual is the result
} grouped;

// clang-format off
static const grouped cases[] = {
    {70, 24, 40, 4, {16, 16, 50, 70}, false, true, .epilogue = KILN_EPILOGUE_NONE},
    {133, 65, 33, 5, {1, 2, 67, 67, 120}, false, false, .epilogue = KILN_EPILOGUE_BIAS},
    {40, 16, 72, 3, {8, 24, 40}, true, true, .epilogue = KILN_EPILOGUE_BIAS_RELU},
    {300, 136, 64, 2, {150, 300}, true, false, .epilogue = KILN_EPILOGUE_NONE},
    {9, 8, 16, 1, {4}, false, true, .epilogue = KILN_EPILOGUE_BIAS},
    {330, 264, 136, 3, {130, 131, 320}, false, true, .epilogue = KILN_EPILOGUE_BIAS},
    {200, 72, 72, 4, {0, 0, 65, 200}, false, false, .epilogue = KILN_EPILOGUE_NONE},
    {70, 24, 40, 4, {16, 16, 50, 66}, false, true, .a_scale = OF_LINES, .b_scale = OF_LINES},
    {133, 64, 32, 5, {1, 2, 67, 67, 120}, false, true, KILN_EPILOGUE_BIAS, OF_ALL, .b_scale = OF_ALL_LINES},
    {90, 16, 64, 3, {8, 24, 90}, false, true, KILN_EPILOGUE_BIAS_RELU, .b_scale = OF_GROUPS, .has_residual = true, .has_pre = true},
    {41, 33, 17, 2, {20, 40}, false, false, .a_scale = OF_LINES, .b_scale = OF_ALL, .has_residual = true, .is_in_place = true},
    {41, 32, 16, 2, {20, 40}, false, true, .a_scale = OF_LINES, .b_scale = OF_ALL_LINES, .has_residual = true, .is_in_place = true},
    {64, 40, 48, 2, {30, 64}, false, true, .a_scale = OF_LINES, .has_pre = true},
};
// clang-format on

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
// What the activation gets, which *pre has then, and the result without a residual.
static double wanted(const grouped *c, const double *a, const double *b, const double *bias,
                     const double *const factors[2], uint32_t g, uint32_t row, uint32_t column,
                     double *pre)
{
    double sum = 0;
    for (uint32_t i = 0; i < c->k; i++)
        sum += a[c->a_t ? i * c->rows + row : row * c->k + i] *
               b[(size_t)g * c->k * c->n + (c->b_t ? column * c->k + i : i * c->n + column)];
    sum *= c->a_scale ? factors[0][c->a_scale == OF_LINES ? row : 0] : 1;
    sum *= c->b_scale == NO_FACTOR   ? 1
           : c->b_scale == OF_ALL    ? factors[1][0]
           : c->b_scale == OF_LINES  ? factors[1][column]
           : c->b_scale == OF_GROUPS ? factors[1][g]
                                     : factors[1][(size_t)g * c->n + column];
    *pre = sum + (c->epilogue ? bias[column] : 0);
    return c->epilogue == KILN_EPILOGUE_BIAS_RELU && *pre < 0 ? 0 : *pre;
}

// Powers of two, so that nothing is rounded.
static kiln_buffer *factors_of(kiln *k, double *values, size_t count)
{
    static const float all[] = {0.5f, 1, 2, -1};
    float *f = calloc(count, sizeof *f);
    kiln_buffer *b = NULL;
    for (size_t i = 0; i < count; i++)
        values[i] = (double)(f[i] = all[(unsigned)(small() + 2) % 4]);
    CHECK(!kiln_buffer_new(k, KILN_F32, count, &b) && !kiln_write(b, 0, f, count));
    free(f);
    return b;
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

static kiln_view factor_view(const grouped *c, factor f, kiln_buffer *b, uint32_t lines)
{
    return f == OF_ALL      ? KILN_VIEW(b, 1)
           : f == OF_LINES  ? KILN_VIEW(b, lines)
           : f == OF_GROUPS ? KILN_VIEW(b, c->groups, 1)
                            : KILN_VIEW(b, c->groups, lines);
}

typedef struct data {
    kiln_type in, out;
    size_t of_a, of_b, of_out; // elements
    // What operands hold, and what the results are to be compared with.
    double *a, *b, *bias, *residual, *rows, *columns;
    void *got, *got_pre;
    struct {
        kiln_buffer *a, *b, *bias, *out, *ends, *pre, *rows, *columns, *residual;
    } to;
} data;

static const uint32_t poison = 0x7f7f7f7fu; // what is not written keeps it

static void make_data(kiln *k, const grouped *c, data *d)
{
    size_t of_columns = (size_t)c->groups * c->n;
    d->of_a = (size_t)c->rows * c->k;
    d->of_b = of_columns * c->k;
    d->of_out = (size_t)c->rows * c->n;
    d->a = calloc(d->of_a, sizeof *d->a);
    d->b = calloc(d->of_b, sizeof *d->b);
    d->bias = calloc(c->n, sizeof *d->bias);
    d->residual = calloc(d->of_out, sizeof *d->residual);
    d->rows = calloc(c->rows, sizeof *d->rows);
    d->columns = calloc(of_columns, sizeof *d->columns);
    d->got = calloc(d->of_out, 4);
    d->got_pre = calloc(d->of_out, 4);
    d->to.a = operand(k, d->in, d->a, d->of_a);
    d->to.b = operand(k, d->in, d->b, d->of_b);
    d->to.bias = operand(k, KILN_F32, d->bias, c->n);
    d->to.rows = factors_of(k, d->rows, c->rows);
    d->to.columns = factors_of(k, d->columns, of_columns);
    if (d->out != KILN_I32 && d->out != KILN_F16)
        d->to.residual = operand(k, d->out, d->residual, d->of_out);
    kiln_buffer **const results[] = {&d->to.out, &d->to.pre};
    for (size_t n = 0; n < 2; n++)
        CHECK(!kiln_buffer_new(k, d->out, d->of_out, results[n]) &&
              !kiln_fill(*results[n], &poison));
    CHECK(!kiln_buffer_new(k, KILN_I32, c->groups, &d->to.ends) &&
          !kiln_write(d->to.ends, 0, c->ends, c->groups));
}

static void free_data(data *d)
{
    kiln_buffer *const buffers[] = {d->to.a,   d->to.b,    d->to.bias,    d->to.out,     d->to.ends,
                                    d->to.pre, d->to.rows, d->to.columns, d->to.residual};
    void *const host[] = {d->a,    d->b,       d->bias, d->residual,
                          d->rows, d->columns, d->got,  d->got_pre};
    for (size_t n = 0; n < sizeof buffers / sizeof *buffers; n++)
        kiln_buffer_free(buffers[n]);
    for (size_t n = 0; n < sizeof host / sizeof *host; n++)
        free(host[n]);
}

static kiln_matmul_desc desc_of(const grouped *c, const data *d, kiln_matmul_kernel kernel)
{
    kiln_matmul_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.a = c->a_t ? kiln_view_transpose(KILN_VIEW(d->to.a, c->k, c->rows))
                    : KILN_VIEW(d->to.a, c->rows, c->k);
    desc.b = c->b_t ? kiln_view_transpose(KILN_VIEW(d->to.b, c->groups, c->n, c->k))
                    : KILN_VIEW(d->to.b, c->groups, c->k, c->n);
    desc.out = KILN_VIEW(c->is_in_place ? d->to.residual : d->to.out, c->rows, c->n);
    desc.epilogue = c->epilogue;
    desc.kernel = kernel;
    if (c->epilogue)
        desc.bias = KILN_VIEW(d->to.bias, c->n);
    if (c->a_scale)
        desc.a_scale = factor_view(c, c->a_scale, d->to.rows, c->rows);
    if (c->b_scale)
        desc.b_scale = factor_view(c, c->b_scale, d->to.columns, c->n);
    if (c->has_residual)
        desc.residual = KILN_VIEW(d->to.residual, c->rows, c->n);
    if (c->has_pre)
        desc.pre = KILN_VIEW(d->to.pre, c->rows, c->n);
    return desc;
}

// Of a result in group g; a row behind the last group stays as it was.
static size_t count_wrong_at(const grouped *c, const data *d, uint32_t g, uint32_t row,
                             uint32_t column)
{
    const double *const factors[2] = {d->rows, d->columns};
    size_t at = (size_t)row * c->n + column, size = kiln_type_size(d->out), wrong = 0;
    const char *one = (const char *)d->got + at * size,
               *one_pre = (const char *)d->got_pre + at * size;
    bool is_kept = g == c->groups;
    if (is_kept || !c->has_pre)
        wrong += memcmp(one_pre, &poison, size) != 0;
    if (is_kept)
        return wrong + (c->is_in_place ? get(d->out, d->got, at) != d->residual[at]
                                       : memcmp(one, &poison, size) != 0);
    double pre, want = wanted(c, d->a, d->b, d->bias, factors, g, row, column, &pre);
    want += c->has_residual ? d->residual[at] : 0;
    wrong += get(d->out, d->got, at) != (d->out == KILN_BF16 ? to_bf16(want) : want);
    if (c->has_pre)
        wrong += get(d->out, d->got_pre, at) != (d->out == KILN_BF16 ? to_bf16(pre) : pre);
    return wrong;
}

static size_t count_wrong(const grouped *c, const data *d)
{
    size_t wrong = 0;
    for (uint32_t row = 0, g = 0; row < c->rows; row++) {
        while (g < c->groups && row >= (uint32_t)c->ends[g])
            g++;
        for (uint32_t column = 0; column < c->n; column++)
            wrong += count_wrong_at(c, d, g, row, column);
    }
    return wrong;
}

static void test_case(kiln *k, const grouped *c, kiln_type in, kiln_type out,
                      kiln_matmul_kernel kernel)
{
    bool has_more = c->a_scale || c->b_scale || c->has_residual || c->has_pre;
    data d = {.in = in, .out = in == KILN_I8 && has_more ? KILN_F32 : out};
    make_data(k, c, &d);
    kiln_matmul_desc desc = desc_of(c, &d, kernel);
    kiln_status status = kiln_matmul_grouped(k, &desc, KILN_VIEW(d.to.ends, c->groups));
    bool is_impossible = status == KILN_E_UNSUPPORTED && kernel == KILN_MATMUL_SM90;
    if (status && !is_impossible)
        printf("%s\n", kiln_last_error(k)->text);
    CHECK((!status || is_impossible) &&
          !kiln_read(c->is_in_place ? d.to.residual : d.to.out, 0, d.got, d.of_out) &&
          !kiln_read(d.to.pre, 0, d.got_pre, d.of_out));
    size_t wrong = is_impossible ? 0 : count_wrong(c, &d);
    if (wrong)
        printf("%s %ux%ux%u, %u groups, kernel %d: %zu of %zu are wrong\n", kiln_type_name(in),
               c->rows, c->n, c->k, c->groups, (int)kernel, wrong, d.of_out);
    CHECK(!wrong);
    free_data(&d);
}

static void test_errors(kiln *k)
{
    kiln_buffer *a = NULL, *ends = NULL, *out = NULL, *factors = NULL;
    CHECK(!kiln_buffer_new(k, KILN_F32, 64, &factors) && !kiln_buffer_new(k, KILN_F16, 64, &a) &&
          !kiln_buffer_new(k, KILN_I32, 4, &ends) && !kiln_buffer_new(k, KILN_F16, 64, &out));
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
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K6011",
           "'a_scale' is i32");
    d.a_scale = KILN_VIEW(factors, 3);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K7004",
           "'a_scale' is [3]");
    d.a_scale = KILN_VIEW(factors, 2, 4);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K7004",
           "'a_scale' is [2, 4]");
    d.a_scale.buffer = NULL;
    d.b_scale = KILN_VIEW(factors, 3, 4);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K7004",
           "number of groups");
    d.b_scale.buffer = NULL;
    d.residual = KILN_VIEW(factors, 4, 4);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K6011",
           "'residual' is f32");
    d.residual = KILN_VIEW(out, 2, 4);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K7004",
           "kiln_matmul_grouped: 'residual'");
    d.residual.buffer = NULL;
    d.pre = KILN_VIEW(out, 4, 4);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K6003",
           "'out' and 'pre' overlap");
    d.pre.buffer = NULL;
    d.out = KILN_VIEW(a, 4, 4);
    EXPECT(kiln_matmul_grouped(k, &d, KILN_VIEW(ends, 2)), KILN_E_BAD_ARGUMENT, "K6003",
           "overlaps");
    kiln_buffer_free(a);
    kiln_buffer_free(ends);
    kiln_buffer_free(out);
    kiln_buffer_free(factors);
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
            if (types[t].in != KILN_I8 || !cases[n].epilogue || cases[n].a_scale ||
                cases[n].b_scale)
                for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
                    test_case(k, &cases[n], types[t].in, types[t].out, kernels[i]);
    kiln_close(k);
    return api_done("matmul-grouped");
}
