// kiln_matmul with factors (of the whole, of rows and columns, of blocks of 128), a residual and
// the numbers before the activation, against sums in double precision; every kernel that has them,
// all types of operands and results, wrong descriptions.
//     matmul_scaled [DEVICE]        (default: cuda)
#include "api.h"
#include "kiln/ops.h"
#include "test_ends.h"

#include <math.h>

typedef enum factor { NO_FACTOR, OF_ALL, OF_LINES, OF_BLOCKS } factor;

typedef struct scaled {
    kiln_type in, out;
    uint32_t m, n, k;
    factor a, b;
    bool a_t, b_t;
    kiln_epilogue epilogue;
    int residual; // 1: a view of its own; 2: out itself
    bool has_pre;
    uint32_t batch;   // 0: no such dimension
    uint32_t tile[2]; // of the kernel for sm_90a
} scaled;

#define E4 KILN_F8E4
static const scaled cases[] = {
    {E4, KILN_BF16, 64, 64, 128, OF_ALL, OF_ALL, .b_t = true},
    {E4, KILN_F16, 130, 72, 160, OF_LINES, OF_LINES, .b_t = true,
     .epilogue = KILN_EPILOGUE_BIAS_RELU},
    {E4, KILN_F32, 70, 136, 144, OF_LINES, NO_FACTOR, .b_t = true, .residual = 1},
    {E4, KILN_BF16, 33, 31, 32, NO_FACTOR, OF_LINES, .b_t = true, .epilogue = KILN_EPILOGUE_BIAS,
     .has_pre = true},
    {E4, KILN_F32, 70, 130, 400, OF_BLOCKS, OF_BLOCKS, .b_t = true},
    {E4, KILN_BF16, 140, 264, 256, OF_BLOCKS, OF_BLOCKS, .b_t = true,
     .epilogue = KILN_EPILOGUE_BIAS_GELU, .residual = 1, .tile = {128, 128}},
    {E4, KILN_BF16, 65, 300, 272, OF_BLOCKS, OF_BLOCKS, .b_t = true, .residual = 2,
     .tile = {64, 64}},
    {E4, KILN_F16, 20, 24, 48, OF_LINES, OF_LINES, .a_t = true,
     .epilogue = KILN_EPILOGUE_BIAS_SILU},
    {KILN_I8, KILN_F32, 64, 48, 128, OF_ALL, OF_ALL, .b_t = true},
    {KILN_I8, KILN_BF16, 129, 80, 176, OF_LINES, OF_LINES, .b_t = true,
     .epilogue = KILN_EPILOGUE_BIAS},
    {KILN_I8, KILN_F16, 9, 40, 64, OF_LINES, OF_ALL, .b_t = true,
     .epilogue = KILN_EPILOGUE_BIAS_RELU, .residual = 1, .has_pre = true},
    {KILN_I8, KILN_F32, 40, 129, 300, OF_BLOCKS, OF_BLOCKS, .b_t = true},
    {KILN_I8, KILN_BF16, 17, 19, 23, OF_ALL, OF_LINES, .a_t = true},
    {KILN_BF16, KILN_BF16, 72, 136, 104, OF_ALL, NO_FACTOR, .epilogue = KILN_EPILOGUE_BIAS_GELU,
     .residual = 1, .has_pre = true},
    {KILN_BF16, KILN_F32, 72, 64, 104, NO_FACTOR, NO_FACTOR, .a_t = true, .residual = 2},
    {KILN_F16, KILN_F16, 130, 264, 72, OF_LINES, OF_LINES, .b_t = true, .has_pre = true,
     .epilogue = KILN_EPILOGUE_BIAS_SILU, .tile = {128, 256}},
    {KILN_F16, KILN_F16, 16, 24, 32, OF_ALL, OF_LINES, .b_t = true, .batch = 3, .residual = 1,
     .epilogue = KILN_EPILOGUE_BIAS},
    {KILN_F32, KILN_F32, 21, 34, 55, OF_LINES, OF_LINES, .epilogue = KILN_EPILOGUE_BIAS_GELU,
     .residual = 1},
    {KILN_F32, KILN_BF16, 21, 34, 55, OF_ALL, NO_FACTOR, .residual = 1},
    {E4, KILN_F32, 5, 7, 0, OF_LINES, OF_LINES, .b_t = true, .epilogue = KILN_EPILOGUE_BIAS},
};

static uint32_t state = 7;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

// A random number of the type: its bits, and the value.
static double random_number(kiln_type t, void *to, size_t i)
{
    uint32_t r = next(), sign = r & 1, low = r >> 1 & 7, e = 4 + (r >> 4) % 5;
    double x = ldexp(8 + low, (int)e - 10) * (sign ? -1 : 1);
    if (t == KILN_I8)
        return ((int8_t *)to)[i] = (int8_t)((int)(r >> 3 & 63) - 32);
    if (t == KILN_F8E4)
        ((uint8_t *)to)[i] = (uint8_t)(sign << 7 | e << 3 | low);
    else if (t == KILN_F16)
        ((uint16_t *)to)[i] = (uint16_t)(sign << 15 | (e + 8) << 10 | low << 7);
    else if (t == KILN_BF16)
        ((uint16_t *)to)[i] = (uint16_t)(sign << 15 | (e + 120) << 7 | low << 4);
    else
        ((float *)to)[i] = (float)x;
    return x;
}

static kiln_buffer *random_buffer(kiln *k, kiln_type t, double **values, size_t count)
{
    void *bytes = calloc(count + 1, 4);
    kiln_buffer *b = NULL;
    *values = calloc(count + 1, sizeof **values);
    for (size_t i = 0; i < count; i++)
        (*values)[i] = random_number(t, bytes, i);
    CHECK(!kiln_buffer_new(k, t, count ? count : 1, &b) && !kiln_write(b, 0, bytes, count));
    free(bytes);
    return b;
}

typedef struct data {
    kiln_buffer *a, *b, *bias, *a_scale, *b_scale, *residual, *out, *pre;
    double *of_a, *of_b, *of_bias, *of_a_scale, *of_b_scale, *of_residual;
    size_t count; // of results
} data;

static size_t scale_count(factor f, uint32_t lines, uint32_t blocks)
{
    return f == OF_ALL ? 1 : f == OF_LINES ? lines : blocks;
}

static uint32_t blocks_of(uint32_t n)
{
    return (n + 127) / 128;
}

static kiln_matmul_desc describe(kiln *k, const scaled *c, data *d)
{
    uint32_t batch = c->batch ? c->batch : 1, kb = blocks_of(c->k), nb = blocks_of(c->n);
    d->count = (size_t)batch * c->m * c->n;
    d->a = random_buffer(k, c->in, &d->of_a, (size_t)batch * c->m * c->k);
    d->b = random_buffer(k, c->in, &d->of_b, (size_t)batch * c->k * c->n);
    d->bias = random_buffer(k, KILN_F32, &d->of_bias, c->n);
    d->a_scale = random_buffer(k, KILN_F32, &d->of_a_scale, scale_count(c->a, c->m, c->m * kb));
    d->b_scale = random_buffer(k, KILN_F32, &d->of_b_scale, scale_count(c->b, c->n, kb * nb));
    d->residual = random_buffer(k, c->out, &d->of_residual, d->count);
    CHECK(!kiln_buffer_new(k, c->out, d->count, &d->out) &&
          !kiln_buffer_new(k, c->out, d->count, &d->pre));
    kiln_matmul_desc to;
    memset(&to, 0, sizeof to);
    to.a = c->a_t ? kiln_view_transpose(KILN_VIEW(d->a, batch, c->k, c->m))
                  : KILN_VIEW(d->a, batch, c->m, c->k);
    to.b = c->b_t ? kiln_view_transpose(KILN_VIEW(d->b, batch, c->n, c->k))
                  : KILN_VIEW(d->b, batch, c->k, c->n);
    to.out = KILN_VIEW(c->residual == 2 ? d->residual : d->out, batch, c->m, c->n);
    if (c->residual)
        to.residual = KILN_VIEW(d->residual, batch, c->m, c->n);
    if (c->has_pre)
        to.pre = KILN_VIEW(d->pre, batch, c->m, c->n);
    if (!c->batch) {
        kiln_view *const all[] = {&to.a, &to.b, &to.out, &to.residual, &to.pre};
        for (size_t n = 0; n < sizeof all / sizeof *all; n++)
            if (all[n]->buffer)
                *all[n] = kiln_view_squeeze(*all[n], 0);
    }
    to.epilogue = c->epilogue;
    if (c->epilogue)
        to.bias = KILN_VIEW(d->bias, c->n);
    if (c->a)
        to.a_scale = c->a == OF_ALL     ? KILN_VIEW(d->a_scale, 1)
                     : c->a == OF_LINES ? KILN_VIEW(d->a_scale, c->m)
                                        : KILN_VIEW(d->a_scale, c->m, kb);
    if (c->b)
        to.b_scale = c->b == OF_ALL     ? KILN_VIEW(d->b_scale, 1)
                     : c->b == OF_LINES ? KILN_VIEW(d->b_scale, c->n)
                                        : KILN_VIEW(d->b_scale, kb, nb);
    return to;
}

static void drop(data *d)
{
    kiln_buffer *const all[] = {d->a,       d->b,        d->bias, d->a_scale,
                                d->b_scale, d->residual, d->out,  d->pre};
    double *const values[] = {d->of_a,       d->of_b,       d->of_bias,
                              d->of_a_scale, d->of_b_scale, d->of_residual};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        kiln_buffer_free(all[n]);
    for (size_t n = 0; n < sizeof values / sizeof *values; n++)
        free(values[n]);
}

// The number before the activation, and what its error is measured by.
typedef struct sizes {
    double sum;     // of the sizes of what it is made of
    double largest; // of those, and of the sums on the way
} sizes;

static double wanted(const scaled *c, const data *d, size_t at, sizes *of)
{
    uint32_t row = (uint32_t)(at / c->n % c->m), column = (uint32_t)(at % c->n),
             kb = blocks_of(c->k);
    const double *a = d->of_a + at / c->n / c->m * c->m * c->k,
                 *b = d->of_b + at / c->n / c->m * c->k * c->n;
    double sum = c->epilogue ? d->of_bias[column] : 0;
    *of = (sizes){fabs(sum), 0};
    double way = 0;
    for (uint32_t i = 0; i < c->k; i++) {
        double of_a = c->a == OF_ALL      ? d->of_a_scale[0]
                      : c->a == OF_LINES  ? d->of_a_scale[row]
                      : c->a == OF_BLOCKS ? d->of_a_scale[(size_t)row * kb + i / 128]
                                          : 1;
        double of_b = c->b == OF_ALL     ? d->of_b_scale[0]
                      : c->b == OF_LINES ? d->of_b_scale[column]
                      : c->b == OF_BLOCKS
                          ? d->of_b_scale[(size_t)(i / 128) * blocks_of(c->n) + column / 128]
                          : 1;
        double x = a[c->a_t ? (size_t)i * c->m + row : (size_t)row * c->k + i] *
                   b[c->b_t ? (size_t)column * c->k + i : (size_t)i * c->n + column] * of_a * of_b;
        sum += x;
        way += x;
        of->sum += fabs(x);
        of->largest = fmax(of->largest, fmax(fabs(x), fabs(way)));
    }
    return sum;
}

static size_t count_wrong(const scaled *c, const data *d, bool is_gpu, const void *out,
                          const void *pre)
{
    // A GPU's matrix unit takes 32 products of f8e4 and the sum so far at a time, and cuts each off
    // at 13 bits below the largest.
    double of_sum = ldexp(1, -20),
           of_largest = c->in == E4 && is_gpu ? ceil(c->k / 32.0) * (32 + 1) * ldexp(1, -13) : 0;
    double of_out = c->out == KILN_BF16  ? ldexp(1, -8)
                    : c->out == KILN_F16 ? ldexp(1, -10)
                                         : ldexp(1, -21);
    double of_act = c->epilogue > KILN_EPILOGUE_BIAS_RELU ? ldexp(1, -9) : 0;
    size_t wrong = 0;
    for (size_t i = 0; i < d->count; i++) {
        sizes size;
        double x = wanted(c, d, i, &size);
        double error = size.sum * of_sum + size.largest * of_largest + 1e-30;
        if (c->has_pre)
            wrong += !(fabs(get(c->out, pre, i) - x) <= error + fabs(x) * of_out);
        double y = activated(c->epilogue, x), want = y + (c->residual ? d->of_residual[i] : 0);
        error = error * 1.2 + (fabs(y) + 1e-2) * of_act + fabs(want) * of_out;
        wrong += !(fabs(get(c->out, out, i) - want) <= error);
    }
    return wrong;
}

static void test_case(kiln *k, const scaled *c, kiln_matmul_kernel kernel, bool is_fake)
{
    data d;
    kiln_matmul_desc desc = describe(k, c, &d);
    void *out = calloc(d.count, 4), *pre = calloc(d.count, 4);
    desc.kernel = kernel;
    if (kernel == KILN_MATMUL_SM90) {
        desc.tile_m = c->tile[0];
        desc.tile_n = c->tile[1];
    }
    kiln_status status = kiln_matmul(k, &desc);
    bool is_impossible = status == KILN_E_UNSUPPORTED && kernel == KILN_MATMUL_SM90;
    kiln_device_info info;
    bool is_gpu = !kiln_device_info_of(k, &info) && info.caps.sm;
    if (!is_impossible) {
        CHECK(!status && !kiln_read(desc.out.buffer, 0, out, d.count) &&
              !kiln_read(d.pre, 0, pre, d.count));
        size_t wrong = status || is_fake ? 0 : count_wrong(c, &d, is_gpu, out, pre);
        if (wrong || status)
            printf("case %zu, kernel %d: %zu of %zu are wrong; %s\n", (size_t)(c - cases),
                   (int)kernel, wrong, d.count, status ? kiln_last_error(k)->text : "");
        CHECK(!wrong);
    }
    free(out);
    free(pre);
    drop(&d);
}

static void test_errors(kiln *k)
{
    data d;
    kiln_matmul_desc good = describe(k, &cases[4], &d), x = good;
    x.a_scale = KILN_VIEW(d.a_scale, 3);
    EXPECT(kiln_matmul(k, &x), KILN_E_BAD_ARGUMENT, "K7004", "[70, 4]");
    x = good;
    x.b_scale = KILN_VIEW(d.b_scale, 1);
    EXPECT(kiln_matmul(k, &x), KILN_E_BAD_ARGUMENT, "K6003", "neither");
    x = good;
    x.a_scale = KILN_VIEW(d.a, 70, 4);
    EXPECT(kiln_matmul(k, &x), KILN_E_BAD_ARGUMENT, "K6011", "not f32");
    x.a_scale = kiln_view_flip(good.a_scale, 0);
    EXPECT(kiln_matmul(k, &x), KILN_E_BAD_ARGUMENT, "K7004", "'a_scale' has a stride of -");
    x = good;
    x.residual = KILN_VIEW(d.residual, 130, 70);
    EXPECT(kiln_matmul(k, &x), KILN_E_BAD_ARGUMENT, "K7004", "residual");
    x = good;
    x.pre = x.out;
    EXPECT(kiln_matmul(k, &x), KILN_E_BAD_ARGUMENT, "K6003", "'pre'");
    x = good;
    x.kernel = KILN_MATMUL_SM80;
    EXPECT(kiln_matmul(k, &x), KILN_E_UNSUPPORTED, "K6038", "blocks");
    drop(&d);
    x = describe(k, &cases[13], &d);
    x.a_scale = KILN_VIEW(d.bias, 72, 1);
    x.b_scale = KILN_VIEW(d.bias, 1, 2);
    EXPECT(kiln_matmul(k, &x), KILN_E_BAD_ARGUMENT, "K6011", "f8e4");
    drop(&d);
    x = describe(k, &cases[8], &d);
    x.a_scale.buffer = x.b_scale.buffer = NULL;
    EXPECT(kiln_matmul(k, &x), KILN_E_BAD_ARGUMENT, "K6011", "i32");
    drop(&d);
}

int main(int argc, char **argv)
{
    static const kiln_matmul_kernel kernels[] = {KILN_MATMUL_BEST, KILN_MATMUL_SM90,
                                                 KILN_MATMUL_PORTABLE};
    kiln *k = api_open(argc > 1 ? argv[1] : "cuda");
    bool is_fake = api_is_fake(k);
    test_errors(k);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
            test_case(k, &cases[n], kernels[i], is_fake);
    kiln_close(k);
    return api_done("matmul-scaled");
}
