// Other libraries beside ours in kiln bench, on a cuDNN and a cuBLAS that run on the host
// (libcudnn.c, libcublas.c): attention, convolutions and products have the results of plain loops
// in double, in every direction; what cannot be is said.
//     theirs_check LIBCUDA LIBCUDNN LIBCUBLAS
#define _GNU_SOURCE
#include "api.h"

#include <math.h>

#include "cli/bench.h"
#include "cli/cudnn.h"
#include "ops/conv/suite.h"

static kiln *k;

// --- tensors: small multiples of 1/8, which both types of 16 bits have
typedef struct tensor {
    kiln_view view;
    size_t count;
    double values[4096]; // row-major, as the view is read
} tensor;

static uint64_t state = 1;
static double next_value(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int)(state >> 60) / 8 - 1;
}

static uint16_t bits_of(kiln_type type, double value)
{
    float real = (float)value;
    uint32_t wide;
    memcpy(&wide, &real, sizeof wide);
    if (type == KILN_BF16 || value == 0)
        return (uint16_t)(wide >> 16);
    return (uint16_t)((wide >> 16 & 0x8000) | (((wide >> 23 & 255) - 112) << 10) |
                      (wide >> 13 & 1023));
}

static double value_of(kiln_type type, uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float real;
    memcpy(&real, &wide, sizeof real);
    if (type == KILN_BF16)
        return (double)real;
    int exponent = bits >> 10 & 31;
    double v = exponent ? ldexp((bits & 1023) + 1024, exponent - 25) : ldexp(bits & 1023, -24);
    return bits >> 15 ? -v : v;
}

// order: how memory has the dimensions; NULL: as they are.
static void make(tensor *t, kiln_type type, uint32_t rank, const uint64_t *sizes,
                 const uint32_t *order)
{
    uint64_t in_memory[KILN_MAX_RANK];
    uint32_t back[KILN_MAX_RANK];
    uint16_t data[4096];
    t->count = 1;
    for (uint32_t n = 0; n < rank; n++) {
        uint32_t from = order ? order[n] : n;
        in_memory[n] = sizes[from];
        back[from] = n;
        t->count *= sizes[n];
    }
    kiln_buffer *buffer = NULL;
    CHECK(t->count <= 4096 && !kiln_buffer_new(k, type, t->count, &buffer));
    t->view = kiln_view_permute(kiln_view_of(buffer, rank, in_memory), back);
    for (size_t n = 0; n < t->count; n++)
        data[n] = bits_of(type, next_value());
    CHECK(!kiln_write(buffer, 0, data, t->count));
}

static void take(tensor *t)
{
    uint16_t data[4096];
    CHECK(!kiln_sync(k) && !kiln_read_view(t->view, data));
    for (size_t n = 0; n < t->count; n++)
        t->values[n] = value_of(kiln_view_type(t->view), data[n]);
}

static void drop(tensor *t)
{
    kiln_buffer_free(t->view.buffer);
}

// Of the largest number: results have 8 bits or more.
static bool is_near(const tensor *t, const double *wanted)
{
    double apart = 0, most = 0;
    for (size_t n = 0; n < t->count; n++) {
        apart = fmax(apart, fabs(t->values[n] - wanted[n]));
        most = fmax(most, fabs(wanted[n]));
        if (!isfinite(t->values[n]))
            return false;
    }
    if (apart > most / 64)
        printf("  differs by %g, largest %g\n", apart, most);
    return most > 0 && apart <= most / 64;
}

// Calls of ours: the fake GPU runs none.
static kiln_status nothing(void *user, int round)
{
    (void)user, (void)round;
    return KILN_OK;
}

static kiln_status one_wrong(void *user, int round) // the former values, and a 7
{
    const tensor *t = user;
    kiln_type type = kiln_view_type(t->view);
    uint16_t data[4096];
    (void)round;
    for (size_t n = 0; n < t->count; n++)
        data[n] = bits_of(type, n ? 0.125 : 7);
    return kiln_write(t->view.buffer, 0, data, t->count);
}

// --- attention
typedef struct shape {
    uint64_t batch, heads, shared, queries, keys, dim; // shared: heads of keys
} shape;

enum { Q, K, V, OUT, DOUT, DQ, DK, DV, TENSORS };

// Softmax, its sums and the gradients, from the values of q, k, v and dout.
static void reference(const shape *s, bool is_causal, const tensor *t, double wanted[TENSORS][4096])
{
    double scale = 1 / sqrt((double)s->dim), p[64], dp[64];
    memset(wanted, 0, sizeof(double[TENSORS][4096]));
    for (uint64_t head = 0; head < s->batch * s->heads; head++) {
        uint64_t of_k = head / s->heads * s->shared + head % s->heads / (s->heads / s->shared);
        for (uint64_t i = 0; i < s->queries; i++) {
            const double *q = &t[Q].values[(head * s->queries + i) * s->dim],
                         *dout = &t[DOUT].values[(head * s->queries + i) * s->dim];
            double *out = &wanted[OUT][(head * s->queries + i) * s->dim],
                   *dq = &wanted[DQ][(head * s->queries + i) * s->dim], sum = 0, dot = 0;
            for (uint64_t j = 0; j < s->keys; j++) {
                const double *key = &t[K].values[(of_k * s->keys + j) * s->dim];
                p[j] = 0;
                for (uint64_t d = 0; d < s->dim; d++)
                    p[j] += q[d] * key[d];
                bool sees = !is_causal || j + s->queries <= i + s->keys;
                p[j] = sees ? exp(p[j] * scale) : 0;
                sum += p[j];
            }
            for (uint64_t j = 0; j < s->keys; j++) {
                const double *value = &t[V].values[(of_k * s->keys + j) * s->dim];
                p[j] /= sum;
                dp[j] = 0;
                for (uint64_t d = 0; d < s->dim; d++) {
                    out[d] += p[j] * value[d];
                    dp[j] += dout[d] * value[d];
                }
                dot += p[j] * dp[j];
            }
            for (uint64_t j = 0; j < s->keys; j++)
                for (uint64_t d = 0; d < s->dim; d++) {
                    uint64_t at = (of_k * s->keys + j) * s->dim + d;
                    double gradient = p[j] * (dp[j] - dot) * scale;
                    dq[d] += gradient * t[K].values[at];
                    wanted[DK][at] += gradient * q[d];
                    wanted[DV][at] += p[j] * dout[d];
                }
        }
    }
}

static void attention(const shape *s, kiln_type type, bool is_causal, bool is_packed)
{
    static tensor t[TENSORS];
    static double wanted[TENSORS][4096];
    static const uint32_t by_token[] = {0, 2, 1, 3}; // [batch, length, heads, dim]
    const uint64_t of_q[] = {s->batch, s->heads, s->queries, s->dim},
                   of_k[] = {s->batch, s->shared, s->keys, s->dim};
    bench_cudnn c;
    double difference = 0;
    for (int n = 0; n < TENSORS; n++) {
        bool is_of_k = n == K || n == V || n == DK || n == DV;
        make(&t[n], type, 4, is_of_k ? of_k : of_q, is_packed ? by_token : NULL);
        take(&t[n]);
    }
    reference(s, is_causal, t, wanted);
    kiln_attention_desc forward = {
        .q = t[Q].view, .k = t[K].view, .v = t[V].view, .out = t[OUT].view, .is_causal = is_causal};
    kiln_attention_backward_desc backward = {.q = t[Q].view,
                                             .k = t[K].view,
                                             .v = t[V].view,
                                             .out = t[OUT].view,
                                             .dout = t[DOUT].view,
                                             .dq = t[DQ].view,
                                             .dk = t[DK].view,
                                             .dv = t[DV].view,
                                             .is_causal = is_causal};
    CHECK(bench_cudnn_attention(&c, k, &forward, NULL, 1) && !bench_cudnn_call(&c, 0));
    take(&t[OUT]);
    CHECK(is_near(&t[OUT], wanted[OUT]));
    CHECK(!bench_cudnn_compare(&c, bench_cudnn_call, &c, &difference) && difference == 0);
    CHECK(!bench_cudnn_compare(&c, one_wrong, &t[OUT], &difference) && difference > 0.1);
    CHECK(!bench_cudnn_compare(&c, nothing, NULL, &difference) && isnan(difference));
    bench_cudnn_free(&c);
    CHECK(bench_cudnn_attention(&c, k, &forward, &backward, 1) && !bench_cudnn_call(&c, 0));
    for (int n = DQ; n <= DV; n++) {
        take(&t[n]);
        CHECK(is_near(&t[n], wanted[n]));
    }
    bench_cudnn_free(&c);
    for (int n = 0; n < TENSORS; n++)
        drop(&t[n]);
}

static void all_attention(void)
{
    static const shape shapes[] = {{2, 2, 2, 5, 5, 8},
                                   {1, 4, 2, 6, 6, 16}, // heads of keys are shared
                                   {1, 6, 1, 3, 7, 8},  // few queries
                                   {2, 2, 2, 7, 4, 8}};
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        for (int how = 0; how < 8; how++) {
            bool is_causal = how & 2;
            if (is_causal && shapes[n].queries > shapes[n].keys)
                continue; // queries that see no key
            attention(&shapes[n], how & 1 ? KILN_F16 : KILN_BF16, is_causal, how & 4);
        }
}

// --- convolutions
typedef struct layer {
    uint64_t x[4], outputs, groups, size; // x: batch, channels, height, width
    uint32_t stride, dilation, before, after;
    bool is_line; // one dimension: height is 1
} layer;

static uint64_t result_size(const layer *l, uint64_t size)
{
    return (size + l->before + l->after - l->dilation * (l->size - 1) - 1) / l->stride + 1;
}

// y, dx and dw of x, w and dy: every product of a weight.
static void convolve(const layer *l, const uint64_t *ys, const tensor *x, const tensor *w,
                     const tensor *dy, double *y, double *dx, double *dw)
{
    uint64_t channels = l->x[1] / l->groups, high = l->is_line ? 1 : l->size;
    memset(y, 0, sizeof(double[4096]));
    memset(dx, 0, sizeof(double[4096]));
    memset(dw, 0, sizeof(double[4096]));
    for (uint64_t b = 0; b < ys[0]; b++)
        for (uint64_t o = 0; o < ys[1]; o++)
            for (uint64_t i = 0; i < ys[2]; i++)
                for (uint64_t j = 0; j < ys[3]; j++)
                    for (uint64_t c = 0; c < channels; c++)
                        for (uint64_t r = 0; r < high; r++)
                            for (uint64_t s = 0; s < l->size; s++) {
                                uint64_t row = l->is_line
                                                   ? 0
                                                   : i * l->stride + r * l->dilation - l->before,
                                         column = j * l->stride + s * l->dilation - l->before,
                                         channel = o / (ys[1] / l->groups) * channels + c;
                                if (row >= l->x[2] || column >= l->x[3])
                                    continue; // below 0 it is huge
                                uint64_t at_x =
                                             ((b * l->x[1] + channel) * l->x[2] + row) * l->x[3] +
                                             column,
                                         at_w = ((o * channels + c) * high + r) * l->size + s,
                                         at_y = ((b * ys[1] + o) * ys[2] + i) * ys[3] + j;
                                y[at_y] += x->values[at_x] * w->values[at_w];
                                dx[at_x] += dy->values[at_y] * w->values[at_w];
                                dw[at_w] += dy->values[at_y] * x->values[at_x];
                            }
}

static void one_layer(const layer *l, kiln_type type, bool is_last, bool is_transposed)
{
    static tensor x, w, y, dx, dw;
    static double wanted_y[4096], wanted_dx[4096], wanted_dw[4096];
    static const uint32_t last[] = {0, 2, 3, 1}, last_of_line[] = {0, 2, 1};
    uint64_t ys[4] = {l->x[0], l->outputs, l->is_line ? 1 : result_size(l, l->x[2]),
                      result_size(l, l->x[3])},
             ws[4] = {l->outputs, l->x[1] / l->groups, l->is_line ? 1 : l->size, l->size}, xs[4];
    memcpy(xs, l->x, sizeof xs);
    if (l->is_line)
        for (uint64_t *sizes[] = {xs, ys, ws}, n = 0; n < 3; n++)
            sizes[n][2] = sizes[n][3];
    uint32_t rank = l->is_line ? 3 : 4;
    const uint32_t *order = !is_last ? NULL : l->is_line ? last_of_line : last;
    tensor *all[] = {&x, &w, &y, &dx, &dw};
    const uint64_t *sizes[] = {xs, ws, ys, xs, ws};
    for (int n = 0; n < 5; n++) {
        make(all[n], type, rank, sizes[n], order);
        take(all[n]);
    }
    if (l->is_line)
        ys[2] = 1;
    convolve(l, ys, &x, &w, &y, wanted_y, wanted_dx, wanted_dw);
    kiln_conv_desc forward = {
        .x = x.view, .weight = w.view, .out = y.view, .groups = (uint32_t)l->groups};
    for (uint32_t n = 0; n < rank - 2; n++) {
        forward.window.stride[n] = l->stride;
        forward.window.dilation[n] = l->dilation;
        forward.window.pad_before[n] = l->before;
        forward.window.pad_after[n] = l->after;
    }
    kiln_conv_backward_desc backward = {.x = x.view,
                                        .weight = w.view,
                                        .dout = y.view,
                                        .dx = dx.view,
                                        .dweight = dw.view,
                                        .window = forward.window,
                                        .groups = forward.groups};
    bench_cudnn c;
    CHECK(bench_cudnn_conv(&c, k, &forward, &backward, 1) && !bench_cudnn_call(&c, 0));
    take(&dx);
    take(&dw);
    CHECK(is_near(&dx, wanted_dx) && is_near(&dw, wanted_dw));
    bench_cudnn_free(&c);
    if (is_transposed) { // the gradient by the operand, as a forward pass: out is as large as x
        kiln_conv_desc turned = forward;
        turned.x = y.view;
        turned.out = dx.view;
        turned.is_transposed = true;
        CHECK(bench_cudnn_conv(&c, k, &turned, NULL, 1) && !bench_cudnn_call(&c, 0));
        take(&dx);
        CHECK(is_near(&dx, wanted_dx));
        bench_cudnn_free(&c);
    }
    CHECK(bench_cudnn_conv(&c, k, &forward, NULL, 1) && !bench_cudnn_call(&c, 0));
    take(&y);
    CHECK(is_near(&y, wanted_y));
    bench_cudnn_free(&c);
    for (int n = 0; n < 5; n++)
        drop(all[n]);
}

static void all_layers(void)
{
    static const layer layers[] = {{{2, 4, 5, 6}, 4, 1, 3, 1, 1, 1, 1, false},
                                   {{1, 8, 7, 7}, 4, 1, 3, 2, 1, 1, 1, false},
                                   {{1, 4, 8, 7}, 8, 2, 3, 1, 2, 2, 2, false},
                                   {{2, 4, 5, 5}, 4, 4, 3, 1, 1, 1, 1, false}, // depthwise
                                   {{1, 8, 4, 4}, 4, 1, 1, 1, 1, 0, 0, false},
                                   {{1, 4, 6, 6}, 4, 1, 2, 1, 1, 1, 0, false},
                                   {{2, 4, 1, 9}, 4, 1, 3, 2, 1, 1, 1, true}};
    for (size_t n = 0; n < sizeof layers / sizeof *layers; n++)
        for (int how = 0; how < 4; how++)
            one_layer(&layers[n], how & 1 ? KILN_F16 : KILN_BF16, how & 2, how < 2);
}

// Copies: every round has addresses of its own.
static void rounds(void)
{
    static const uint64_t xs[] = {1, 4, 4, 4}, ws[] = {4, 4, 1, 1};
    static tensor x[3], w, y[3];
    kiln_conv_desc d[3];
    bench_cudnn c;
    make(&w, KILN_F16, 4, ws, NULL);
    for (int n = 0; n < 3; n++) {
        make(&x[n], KILN_F16, 4, xs, NULL);
        make(&y[n], KILN_F16, 4, xs, NULL);
        take(&y[n]);
        d[n] = (kiln_conv_desc){.x = x[n].view, .weight = w.view, .out = y[n].view};
    }
    setenv("FAKE_CUDNN", "idle", 1);
    CHECK(bench_cudnn_conv(&c, k, d, NULL, 3));
    setenv("FAKE_CUDNN", "", 1);
    for (int n = 0; n < 3; n++) { // round n writes y[n] alone
        static tensor before[3];
        memcpy(before, y, sizeof before);
        CHECK(!bench_cudnn_call(&c, n + 3));
        for (int i = 0; i < 3; i++) {
            take(&y[i]);
            CHECK((memcmp(before[i].values, y[i].values, sizeof(double) * y[i].count) != 0) ==
                  (i == n));
        }
    }
    bench_cudnn_free(&c);
    drop(&w);
    for (int n = 0; n < 3; n++) {
        drop(&x[n]);
        drop(&y[n]);
    }
}

// --- plans, and what cannot be
static void says(const char *settings, const kiln_conv_desc *d, const char *words)
{
    bench_cudnn c;
    setenv("FAKE_CUDNN", settings, 1);
    bool is_fine = bench_cudnn_conv(&c, k, d, NULL, 1);
    if (is_fine || !strstr(c.why, words))
        printf("  %s: '%s', not '%s'\n", settings, c.why, words);
    CHECK(!is_fine && strstr(c.why, words));
    bench_cudnn_free(&c);
    setenv("FAKE_CUDNN", "", 1);
}

static void plans(void)
{
    static const uint64_t xs[] = {1, 4, 4, 4}, ws[] = {4, 4, 1, 1};
    static tensor x, w, y;
    bench_cudnn c;
    make(&x, KILN_BF16, 4, xs, NULL);
    make(&w, KILN_BF16, 4, ws, NULL);
    make(&y, KILN_BF16, 4, xs, NULL);
    kiln_conv_desc d = {.x = x.view, .weight = w.view, .out = y.view}, other = d;
    static const struct {
        const char *settings;
        int plans, slow; // slow: not chosen
    } cases[] = {{"idle,slow=0", 3, 0},
                 {"idle,slow=1", 3, 1},
                 {"idle,refuse=0", 2, -1},
                 {"workspace=0", 3, -1}};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        setenv("FAKE_CUDNN", cases[n].settings, 1);
        CHECK(bench_cudnn_conv(&c, k, &d, NULL, 1));
        CHECK(c.graphs[0]->plan_count == cases[n].plans && c.plans[0] != cases[n].slow);
        bench_cudnn_free(&c);
    }
    says("none", &d, "it has no engine for this");
    says("norun", &d, "none of its plans runs");
    says("workspace=1000000000000", &d, "none of its plans runs");
    other.out.sizes[2] = 3;
    says("", &other, "the result has another size");
    other = d;
    other.weight.sizes[1] = 3;
    says("", &other, "channels and groups do not fit");
    other = d;
    other.activation = KILN_ACTIVATION_RELU;
    says("", &other, "without bias and activation");
    other = d;
    other.x.first = 1;
    says("", &other, "none of its plans runs"); // not aligned
    other = d;
    kiln_buffer *wide = NULL;
    CHECK(!kiln_buffer_new(k, KILN_F32, 64, &wide));
    other.x = KILN_VIEW(wide, 1, 4, 4, 4);
    says("", &other, "bf16 and f16 alone");
    kiln_attention_desc a = {.q = x.view, .k = x.view, .v = x.view, .out = y.view};
    setenv("FAKE_CUDNN", "version=90500", 1);
    CHECK(!bench_cudnn_attention(&c, k, &a, NULL, 1) && strstr(c.why, "9.10 or later"));
    bench_cudnn_free(&c);
    setenv("FAKE_CUDNN", "", 1);
    a.has_window = true;
    CHECK(!bench_cudnn_attention(&c, k, &a, NULL, 1) && strstr(c.why, "a causal mask alone"));
    bench_cudnn_free(&c);
    a.has_window = false;
    a.k = w.view; // [4, 4, 1, 1]: no keys for these queries
    CHECK(!bench_cudnn_attention(&c, k, &a, NULL, 1) && strstr(c.why, "a product"));
    bench_cudnn_free(&c);
    kiln_buffer_free(wide);
    drop(&x);
    drop(&w);
    drop(&y);
}

// A graph with a mistake of its own is refused by the library that plays: the checks are checked.
static void mistakes(void)
{
    const int64_t sizes[] = {1, 2, 3, 4}, other[] = {1, 2, 3, 1};
    for (int n = 0; n < 4; n++) {
        cudnn_graph *g = cudnn_graph_new();
        cudnn_tensor *x = cudnn_in_memory(g, CUDNN_DATA_FLOAT, 4, sizes, NULL),
                     *y = cudnn_in_memory(g, CUDNN_DATA_FLOAT, 4, n == 1 ? other : sizes, NULL),
                     *between = cudnn_between(g, CUDNN_DATA_FLOAT, 4, sizes, NULL);
        cudnn_pointwise_desc d = {
            .mode = CUDNN_POINTWISE_EXP, .compute = CUDNN_DATA_FLOAT, .x = x, .y = y};
        if (n == 0)
            d.x = between; // used, never made
        if (n == 2)
            d.y = between; // made, never used
        if (n == 3)
            d.b = x;
        cudnn_pointwise(g, &d);
        static const char *const words[] = {"is used before it is made", "shapes do not fit",
                                            "nobody uses the virtual tensor",
                                            "another number of operands"};
        CHECK(!cudnn_plan(g) && strstr(g->why, words[n]));
        cudnn_graph_free(g);
    }
}

// --- products
static double element(kiln_type type, const uint8_t *data, size_t n)
{
    uint16_t bits;
    float real;
    int32_t whole;
    switch (kiln_type_size(type)) {
    case 1: {
        int exponent = data[n] >> 3 & 15, sign = data[n] >> 7 ? -1 : 1;
        double v = exponent ? ldexp((data[n] & 7) + 8, exponent - 10) : ldexp(data[n] & 7, -9);
        return type == KILN_I8 ? (int8_t)data[n] : sign * v;
    }
    case 2: memcpy(&bits, data + 2 * n, 2); return value_of(type, bits);
    default:
        memcpy(&real, data + 4 * n, 4);
        memcpy(&whole, data + 4 * n, 4);
        return type == KILN_I32 ? whole : (double)real;
    }
}

static void product(kiln_type type, bool is_tf32, bool is_lt, bool is_there)
{
    enum { M = 5, N = 7, DEPTH = 9 };
    kiln_type out_type = type == KILN_I8 ? KILN_I32 : type == KILN_F8E4 ? KILN_BF16 : type;
    kiln_buffer *a = NULL, *b = NULL, *out = NULL;
    uint8_t left[4 * M * DEPTH], right[4 * N * DEPTH], result[4 * M * N];
    size_t size = kiln_type_size(type);
    bench_fill_random(type, left, size * M * DEPTH);
    bench_fill_random(type, right, size * N * DEPTH);
    right[0] ^= 1;
    CHECK(!kiln_buffer_new(k, type, M * DEPTH, &a) && !kiln_buffer_new(k, type, N * DEPTH, &b) &&
          !kiln_buffer_new(k, out_type, M * N, &out) && !kiln_write(a, 0, left, M * DEPTH) &&
          !kiln_write(b, 0, right, N * DEPTH));
    kiln_matmul_desc d = {.a = KILN_VIEW(a, M, DEPTH),
                          .b = kiln_view_transpose(KILN_VIEW(b, N, DEPTH)),
                          .out = KILN_VIEW(out, M, N),
                          .is_tf32 = is_tf32};
    bench_cublas c;
    int copies = 1;
    CHECK(bench_cublas_prepare(&c, k, is_lt, &d, &copies) == is_there);
    if (is_there) {
        CHECK(!bench_cublas_call(&c, 0) && !kiln_sync(k) && !kiln_read(out, 0, result, M * N));
        double apart = 0, most = 0;
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double sum = 0;
                for (int p = 0; p < DEPTH; p++)
                    sum += element(type, left, (size_t)(i * DEPTH + p)) *
                           element(type, right, (size_t)(j * DEPTH + p));
                apart = fmax(apart, fabs(sum - element(out_type, result, (size_t)(i * N + j))));
                most = fmax(most, fabs(sum));
            }
        CHECK(most > 0 && apart <= most / 128);
    }
    bench_cublas_free(&c);
    kiln_buffer_free(a);
    kiln_buffer_free(b);
    kiln_buffer_free(out);
}

static void products(const char *library)
{
    static const struct {
        kiln_type type;
        bool is_tf32, is_in_cublas;
    } types[] = {{KILN_BF16, false, true}, {KILN_F16, false, true}, {KILN_F32, false, true},
                 {KILN_F32, true, true},   {KILN_I8, false, true},  {KILN_F8E4, false, false}};
    CHECK(strstr(bench_cublas_open(k, "/no/such.so"), "--against cublas=FILE"));
    CHECK(strstr(bench_cublaslt_open(k, "/no/such.so"), "--against cublaslt=FILE"));
    CHECK(strstr(bench_cublaslt_open(k, getenv("KILN_CUDA_LIBRARY")), "not as it is known"));
    setenv("FAKE_CUBLAS", "nostart", 1);
    CHECK(strstr(bench_cublas_open(k, library), "does not start"));
    CHECK(strstr(bench_cublaslt_open(k, library), "does not start"));
    setenv("FAKE_CUBLAS", "", 1);
    CHECK(!bench_cublas_open(k, library) && !bench_cublaslt_open(k, library));
    for (size_t n = 0; n < sizeof types / sizeof *types; n++) {
        product(types[n].type, types[n].is_tf32, false, types[n].is_in_cublas);
        product(types[n].type, types[n].is_tf32, true, true);
    }
    setenv("FAKE_CUBLAS", "none", 1);
    product(KILN_BF16, false, true, false);
    setenv("FAKE_CUBLAS", "norun", 1);
    product(KILN_BF16, false, true, false);
    for (int slow = 0; slow < 2; slow++) { // the other one is chosen
        uint64_t chosen = 0;
        kiln_buffer *x = NULL;
        bench_cublas c;
        int copies = 1;
        CHECK(!kiln_buffer_new(k, KILN_BF16, 64, &x));
        kiln_matmul_desc d = {.a = KILN_VIEW(x, 8, 8),
                              .b = kiln_view_transpose(KILN_VIEW(x, 8, 8)),
                              .out = KILN_VIEW(x, 8, 8)};
        setenv("FAKE_CUBLAS", slow ? "idle,slow=1" : "idle,slow=0", 1);
        CHECK(bench_cublas_prepare(&c, k, true, &d, &copies));
        chosen = c.algorithm[0] - 77;
        CHECK(chosen == (uint64_t)!slow);
        bench_cublas_free(&c);
        kiln_buffer_free(x);
    }
    setenv("FAKE_CUBLAS", "", 1);
}

// --- opening
static void opening(const char *library)
{
    kiln *host = NULL;
    CHECK(!kiln_open("interp", &host));
    CHECK(strstr(cudnn_open(host, library), "cuda devices alone"));
    kiln_close(host);
    CHECK(strstr(cudnn_open(k, "/no/such/libcudnn.so.9"), "--against cudnn=FILE"));
    CHECK(strstr(cudnn_open(k, getenv("KILN_CUDA_LIBRARY")), "cuDNN 9 is needed"));
    setenv("FAKE_CUDNN", "nostart", 1);
    CHECK(strstr(cudnn_open(k, library), "does not start"));
    setenv("FAKE_CUDNN", "", 1);
    CHECK(!cudnn_open(k, library) && cudnn_version() == 91900);
}

// --- windows of the command line
static void windows(void)
{
    op_case c = {.tags = SUITE_BENCH, .rank = 4, .sizes = {1, 64, 8, 8}};
    static const char *const bad[] = {"outputs",   "outputs=", "outputs=0", "window=16",
                                      "size=3",    "stride=4", "pad=4",     "window=3;",
                                      "window=3x", "window=15"};
    static const struct {
        const char *words, *text;
    } good[] = {{"", "to 64 window 3 pad 1+1"},
                {"outputs=128,window=1", "to 128 window 1"},
                {"outputs=4096,window=7,stride=2", "to 4096 window 7 stride 2 pad 3+3"},
                {"groups=64", "to 64 window 3 groups 64 pad 1+1"},
                {"dilation=2,pad=0", "to 64 window 3 dilation 2"}};
    for (size_t n = 0; n < sizeof bad / sizeof *bad; n++)
        CHECK(!conv_suite_read(&c, bad[n]));
    for (size_t n = 0; n < sizeof good / sizeof *good; n++) {
        char text[96];
        const op_suite *s = op_suite_find("conv");
        CHECK(conv_suite_read(&c, good[n].words));
        s->describe(&c, text, sizeof text);
        if (strcmp(text, good[n].text))
            printf("  '%s', not '%s'\n", text, good[n].text);
        CHECK(!strcmp(text, good[n].text));
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    setenv("KILN_CUDA_LIBRARY", argv[1], 1);
    setenv("FAKE_CUDA", "", 1);
    setenv("FAKE_CUDNN", "", 1);
    setenv("KILN_CACHE", "off", 1);
    if (kiln_open("cuda", &k)) {
        printf("%s\n", kiln_last_error(NULL)->text);
        return 1;
    }
    opening(argv[2]);
    all_attention();
    all_layers();
    rounds();
    plans();
    mistakes();
    windows();
    products(argv[3]);
    kiln_close(k);
    printf("theirs: %d passed, %d failed, 0 skipped\n", api_passed, api_failed);
    return api_failed != 0;
}
