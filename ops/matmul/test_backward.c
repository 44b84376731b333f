// kiln_matmul_backward against differences of a forward pass in double precision: all activations,
// types, factors and their gradients, batches with one b and with a b each; wrong descriptions.
//     matmul_backward [DEVICE]        (default: cuda)
#include "api.h"
#include "kiln/ops.h"
#include "test_ends.h"

#include <math.h>

typedef struct backward {
    kiln_type in, out;
    uint32_t batch, m, n, k; // batch 0: no such dimension
    kiln_epilogue epilogue;
    int a_scale, b_scale; // 1: for all, 2: for each row or column
    bool has_one_b, a_t, b_t;
} backward;

static const backward cases[] = {
    {KILN_F32, KILN_F32, 0, 5, 7, 6, KILN_EPILOGUE_NONE, .b_t = true},
    {KILN_F32, KILN_F32, 0, 9, 4, 3, KILN_EPILOGUE_BIAS, .b_t = false},
    {KILN_F32, KILN_F32, 0, 6, 5, 8, KILN_EPILOGUE_BIAS_RELU, .b_t = true},
    {KILN_F32, KILN_F32, 0, 7, 6, 5, KILN_EPILOGUE_BIAS_GELU, 1, 2, .a_t = true},
    {KILN_F32, KILN_F32, 0, 4, 9, 5, KILN_EPILOGUE_BIAS_SILU, 2, 0, .b_t = false},
    {KILN_F32, KILN_F32, 3, 4, 5, 6, KILN_EPILOGUE_BIAS_GELU, 1, 0, .has_one_b = true},
    {KILN_F32, KILN_F32, 2, 3, 5, 4, KILN_EPILOGUE_BIAS_SILU, .b_t = false},
    {KILN_BF16, KILN_BF16, 0, 8, 16, 8, KILN_EPILOGUE_BIAS_GELU, .b_t = true},
    {KILN_F16, KILN_F16, 0, 16, 8, 8, KILN_EPILOGUE_BIAS_SILU, 0, 1, .b_t = false},
    {KILN_BF16, KILN_F32, 0, 8, 8, 16, KILN_EPILOGUE_NONE, .b_t = false},
    {KILN_F16, KILN_F16, 2, 4, 8, 8, KILN_EPILOGUE_BIAS, .has_one_b = true},
    {KILN_F32, KILN_F32, 0, 37, 9, 11, KILN_EPILOGUE_NONE, 2, 2, .a_t = true, .b_t = true},
    {KILN_F32, KILN_F32, 2, 3, 6, 4, KILN_EPILOGUE_BIAS_SILU, 1, 2, .b_t = false},
    {KILN_F32, KILN_F32, 0, 1, 5, 3, KILN_EPILOGUE_BIAS, 1, 1, .b_t = false},
    {KILN_BF16, KILN_BF16, 0, 8, 16, 8, KILN_EPILOGUE_BIAS_GELU, 2, 2, .b_t = true},
    {KILN_F32, KILN_F32, 0, 200, 130, 2, KILN_EPILOGUE_BIAS_RELU,
     .b_t = false}, // several chunks of rows
};

enum { A, B, BIAS, A_SCALE, B_SCALE, DOUT, TENSORS };

static uint32_t state = 3;

// Multiples of 1/8 up to 1: exact in every type.
static double next_number(void)
{
    state = state * 1664525u + 1013904223u;
    int x = (int)(state >> 20) % 17 - 8;
    return (x ? x : 3) / 8.0;
}

static void put(kiln_type t, void *to, size_t i, double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t e = bits >> 23 & 255, h = (bits >> 31) << 15 | (e - 112) << 10 | (bits >> 13 & 1023);
    if (t == KILN_F32)
        ((float *)to)[i] = f;
    else // bf16 rounds to nearest; f16 is given exact numbers, or those of `pre`
        ((uint16_t *)to)[i] = (uint16_t)(t == KILN_BF16 ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16
                                         : e > 112      ? h
                                                        : 0);
}

typedef struct tensors {
    double *of[TENSORS];
    size_t count[TENSORS];
} tensors;

static uint32_t batches(const backward *c)
{
    return c->batch ? c->batch : 1;
}

// What the activation gets for one result.
static double pre_of(const backward *c, const tensors *t, size_t at)
{
    size_t batch = at / ((size_t)c->m * c->n), row = at / c->n % c->m, column = at % c->n;
    const double *a = t->of[A] + batch * c->m * c->k,
                 *b = t->of[B] + (c->has_one_b ? 0 : batch * c->k * c->n);
    double sum = 0;
    for (size_t i = 0; i < c->k; i++)
        sum += a[c->a_t ? i * c->m + row : row * c->k + i] *
               b[c->b_t ? column * c->k + i : i * c->n + column];
    if (c->a_scale)
        sum *= t->of[A_SCALE][c->a_scale == 2 ? row : 0];
    if (c->b_scale)
        sum *= t->of[B_SCALE][c->b_scale == 2 ? column : 0];
    return sum + (c->epilogue ? t->of[BIAS][column] : 0);
}

// The number whose gradients are asked for.
static double loss(const backward *c, const tensors *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->count[DOUT]; i++)
        sum += t->of[DOUT][i] * activated(c->epilogue, pre_of(c, t, i));
    return sum;
}

static kiln_buffer *buffer_of(kiln *k, kiln_type type, const double *values, size_t count)
{
    void *bytes = calloc(count, 4);
    kiln_buffer *b = NULL;
    for (size_t i = 0; i < count; i++)
        put(type, bytes, i, values[i]);
    CHECK(!kiln_buffer_new(k, type, count, &b) && !kiln_write(b, 0, bytes, count));
    free(bytes);
    return b;
}

static size_t compare(const backward *c, tensors *t, int which, const void *got, kiln_type type)
{
    // Of a relative error, and of the sums' sizes: bf16 rounds g, and the result.
    double bound = c->in == KILN_BF16 || c->out == KILN_BF16 ? 0.04
                   : c->in == KILN_F16 || c->out == KILN_F16 ? 5e-3
                                                             : 2e-5;
    const double h = ldexp(1, -20);
    size_t wrong = 0, step = t->count[which] > 300 ? 7 : 1;
    for (size_t i = 0; i < t->count[which]; i += step) {
        double x = t->of[which][i];
        t->of[which][i] = x + h;
        double more = loss(c, t);
        t->of[which][i] = x - h;
        double less = loss(c, t), want = (more - less) / (2 * h);
        t->of[which][i] = x;
        double error = fabs(get(type, got, i) - want);
        wrong += !(error <= bound * (fabs(want) + 1));
    }
    return wrong;
}

static kiln_view view_of(kiln_buffer *b, uint32_t batch, uint32_t rows, uint32_t columns, bool is_t)
{
    kiln_view v = batch ? KILN_VIEW(b, batch, is_t ? columns : rows, is_t ? rows : columns)
                        : KILN_VIEW(b, is_t ? columns : rows, is_t ? rows : columns);
    return is_t ? kiln_view_transpose(v) : v;
}

typedef struct buffers {
    kiln_buffer *given[TENSORS], *result[DOUT], *out, *pre;
    kiln_type type[TENSORS];
} buffers;

static void make_tensors(kiln *k, const backward *c, tensors *t, buffers *b)
{
    uint32_t batch = batches(c), of_b = c->has_one_b ? 1 : batch;
    *t = (tensors){.count = {(size_t)batch * c->m * c->k, (size_t)of_b * c->k * c->n, c->n,
                             c->a_scale == 2 ? c->m : 1, c->b_scale == 2 ? c->n : 1,
                             (size_t)batch * c->m * c->n}};
    *b = (buffers){.type = {c->in, c->in, KILN_F32, KILN_F32, KILN_F32, c->out}};
    for (int n = 0; n < TENSORS; n++) {
        t->of[n] = calloc(t->count[n], sizeof(double));
        for (size_t i = 0; i < t->count[n]; i++)
            t->of[n][i] = next_number();
        b->given[n] = buffer_of(k, b->type[n], t->of[n], t->count[n]);
    }
    // Keeps results off the kink of relu, where no difference is right.
    for (size_t i = 0; i < t->count[DOUT] && c->epilogue == KILN_EPILOGUE_BIAS_RELU; i++)
        if (fabs(pre_of(c, t, i)) < 1e-3)
            t->of[DOUT][i] = 0;
    kiln_buffer_free(b->given[DOUT]);
    b->given[DOUT] = buffer_of(k, c->out, t->of[DOUT], t->count[DOUT]);
    for (int n = 0; n < DOUT; n++)
        CHECK(!kiln_buffer_new(k, b->type[n], t->count[n], &b->result[n]));
    CHECK(!kiln_buffer_new(k, c->out, t->count[DOUT], &b->out) &&
          !kiln_buffer_new(k, c->out, t->count[DOUT], &b->pre));
}

static void free_tensors(tensors *t, buffers *b)
{
    for (int n = 0; n < TENSORS; n++) {
        free(t->of[n]);
        kiln_buffer_free(b->given[n]);
    }
    for (int n = 0; n < DOUT; n++)
        kiln_buffer_free(b->result[n]);
    kiln_buffer_free(b->out);
    kiln_buffer_free(b->pre);
}

static kiln_matmul_desc forward_of(const backward *c, const tensors *t, const buffers *b)
{
    kiln_matmul_desc f;
    memset(&f, 0, sizeof f);
    f.a = view_of(b->given[A], c->batch, c->m, c->k, c->a_t);
    f.b = view_of(b->given[B], c->has_one_b ? 0 : c->batch, c->k, c->n, c->b_t);
    f.out = view_of(b->out, c->batch, c->m, c->n, false);
    f.pre = view_of(b->pre, c->batch, c->m, c->n, false);
    f.epilogue = c->epilogue;
    if (c->epilogue)
        f.bias = KILN_VIEW(b->given[BIAS], c->n);
    if (c->a_scale)
        f.a_scale = KILN_VIEW(b->given[A_SCALE], t->count[A_SCALE]);
    if (c->b_scale)
        f.b_scale = KILN_VIEW(b->given[B_SCALE], t->count[B_SCALE]);
    return f;
}

static kiln_matmul_backward_desc backward_of(const backward *c, const tensors *t, const buffers *b,
                                             const kiln_matmul_desc *f)
{
    kiln_matmul_backward_desc d;
    memset(&d, 0, sizeof d);
    d.a = f->a;
    d.b = f->b;
    d.dout = view_of(b->given[DOUT], c->batch, c->m, c->n, false);
    if (c->epilogue > KILN_EPILOGUE_BIAS) // what the forward call has stored
        d.saved = c->epilogue == KILN_EPILOGUE_BIAS_RELU ? f->out : f->pre;
    d.da = view_of(b->result[A], c->batch, c->m, c->k, c->a_t);
    d.db = view_of(b->result[B], c->has_one_b ? 0 : c->batch, c->k, c->n, c->b_t);
    if (c->epilogue)
        d.dbias = KILN_VIEW(b->result[BIAS], c->n);
    d.a_scale = f->a_scale;
    d.b_scale = f->b_scale;
    if (c->a_scale)
        d.da_scale = KILN_VIEW(b->result[A_SCALE], t->count[A_SCALE]);
    if (c->b_scale)
        d.db_scale = KILN_VIEW(b->result[B_SCALE], t->count[B_SCALE]);
    d.epilogue = c->epilogue;
    return d;
}

static void check_gradient(const backward *c, tensors *t, const buffers *b, int n, bool is_fake)
{
    void *got = calloc(t->count[n], 4);
    CHECK(!kiln_read(b->result[n], 0, got, t->count[n]));
    size_t wrong = is_fake ? 0 : compare(c, t, n, got, b->type[n]);
    if (wrong)
        printf("case %zu, gradient %d: %zu of %zu are wrong\n", (size_t)(c - cases), n, wrong,
               t->count[n]);
    CHECK(!wrong);
    free(got);
}

static void test_case(kiln *k, const backward *c, bool is_fake)
{
    const bool is_wanted[DOUT] = {true, true, c->epilogue != KILN_EPILOGUE_NONE, c->a_scale != 0,
                                  c->b_scale != 0};
    tensors t;
    buffers b;
    make_tensors(k, c, &t, &b);
    kiln_matmul_desc f = forward_of(c, &t, &b);
    CHECK(!kiln_matmul(k, &f));
    kiln_matmul_backward_desc d = backward_of(c, &t, &b, &f);
    kiln_status status = kiln_matmul_backward(k, &d);
    if (status)
        printf("case %zu: %s\n", (size_t)(c - cases), kiln_last_error(k)->text);
    CHECK(!status);
    for (int n = 0; n < DOUT && !status; n++)
        if (is_wanted[n])
            check_gradient(c, &t, &b, n, is_fake);
    free_tensors(&t, &b);
}

// The slope of an activation far from 0, where its terms leave f32.
static void test_slopes(kiln *k)
{
    static const double saved[4] = {-0x1p100, -0x1p66, 0x1p66, 0x1p100}, one[4] = {1, 1, 1, 1};
    static const kiln_epilogue epilogues[] = {KILN_EPILOGUE_BIAS_RELU, KILN_EPILOGUE_BIAS_GELU,
                                              KILN_EPILOGUE_BIAS_SILU};
    kiln_buffer *x = buffer_of(k, KILN_F32, saved, 4), *y = buffer_of(k, KILN_F32, one, 4);
    kiln_buffer *z = buffer_of(k, KILN_F32, one, 4);
    for (size_t n = 0; n < sizeof epilogues / sizeof *epilogues; n++) {
        float got[4];
        kiln_matmul_backward_desc d = {.a = KILN_VIEW(y, 4, 1),
                                       .b = KILN_VIEW(y, 1, 1),
                                       .dout = KILN_VIEW(y, 4, 1),
                                       .saved = KILN_VIEW(x, 4, 1),
                                       .da = KILN_VIEW(z, 4, 1),
                                       .epilogue = epilogues[n]};
        CHECK(!kiln_matmul_backward(k, &d) && !kiln_read(z, 0, got, 4));
        for (int i = 0; i < 4 && !api_is_fake(k); i++)
            CHECK(got[i] == (i < 2 ? 0 : 1));
    }
    kiln_buffer_free(x);
    kiln_buffer_free(y);
    kiln_buffer_free(z);
}

static void test_errors(kiln *k)
{
    kiln_buffer *x = NULL, *y = NULL, *z = NULL;
    CHECK(!kiln_buffer_new(k, KILN_F32, 64, &x) && !kiln_buffer_new(k, KILN_F32, 64, &y) &&
          !kiln_buffer_new(k, KILN_I8, 64, &z));
    kiln_matmul_backward_desc good, d;
    memset(&good, 0, sizeof good);
    good.a = KILN_VIEW(x, 3, 4);
    good.b = KILN_VIEW(x, 4, 5);
    good.dout = KILN_VIEW(x, 3, 5);
    good.da = KILN_VIEW(y, 3, 4);
    CHECK(!kiln_matmul_backward(k, &good));
    EXPECT(kiln_matmul_backward(k, NULL), KILN_E_BAD_ARGUMENT, "K6003", "NULL");
    EXPECT(kiln_matmul_backward(NULL, &good), KILN_E_BAD_HANDLE, "K6002", "NULL");
    d = good;
    d.dout = KILN_VIEW(x, 3, 4);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "does not make");
    d = good;
    d.da = KILN_VIEW(y, 4, 3);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "'da'");
    d = good;
    d.da = KILN_VIEW(x, 3, 4);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K6003", "overlaps");
    d = good;
    d.epilogue = KILN_EPILOGUE_BIAS_GELU;
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K6003", "saved");
    d = good;
    d.dbias = KILN_VIEW(y, 5);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K6003", "no bias");
    d = good;
    d.a = KILN_VIEW(z, 3, 4);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K6011", "i8");
    d = good;
    d.a_scale = KILN_VIEW(x, 2);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "a_scale");
    d = good;
    d.b_scale = kiln_view_flip(KILN_VIEW(x, 5), 0);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "stride of -1; 0 to");
    d = good;
    d.db_scale = KILN_VIEW(y, 5);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K6003", "'db_scale' wants");
    d.b_scale = KILN_VIEW(x, 1);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "'db_scale' is [5], not [1]");
    d.b_scale = KILN_VIEW(x, 5);
    d.db_scale = KILN_VIEW(x, 5);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K6003", "overlaps");
    d = good;
    d.a = KILN_VIEW(x, 2, 3, 4);
    d.da = KILN_VIEW(y, 2, 3, 4);
    d.dout = kiln_view_slice(KILN_VIEW(x, 2, 6, 5), 1, 0, 3, 1);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "batches of 'dout' must");
    d.dout = KILN_VIEW(x, 2, 3, 5);
    d.da = kiln_view_slice(KILN_VIEW(y, 2, 6, 4), 1, 0, 3, 1);
    EXPECT(kiln_matmul_backward(k, &d), KILN_E_BAD_ARGUMENT, "K7004", "batches of 'da' must");
    d = good;
    d.b_scale = KILN_VIEW(x, 5);
    // Of no rows the gradient of a factor is 0.
    const float poison = 7;
    float got[5];
    CHECK(!kiln_fill(y, &poison));
    d.a = KILN_VIEW(x, 0, 4);
    d.dout = KILN_VIEW(x, 0, 5);
    d.da.buffer = NULL;
    d.db_scale = KILN_VIEW(y, 5);
    CHECK(!kiln_matmul_backward(k, &d) && !kiln_read(y, 0, got, 5));
    for (int n = 0; n < 5 && !api_is_fake(k); n++)
        CHECK(got[n] == 0);
    kiln_buffer_free(x);
    kiln_buffer_free(y);
    kiln_buffer_free(z);
}

int main(int argc, char **argv)
{
    kiln *k = api_open(argc > 1 ? argv[1] : "cuda");
    bool is_fake = api_is_fake(k);
    test_errors(k);
    test_slopes(k);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        test_case(k, &cases[n], is_fake);
    kiln_close(k);
    return api_done("matmul-backward");
}
