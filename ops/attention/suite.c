// The cases of attention (ops/suite.h). Tensors: q, k, v, a bias, slopes (ALiBi), out, lse, and the
// workspace of backward. A case without a bias or slopes has one number in their place.
// Sizes of a case: batch, heads, kv_heads, queries, keys, head_dim. Tests of single kernels are in
// test*.c.
#include "ops/suite.h"

#include <math.h>

#include "ops/attention/sizes.h"

enum { CAUSAL = 1, WINDOW = 2, SLOPES = 4, BIAS = 8, MMA = 16 }; // MMA: by the kernels on mma
enum { LEFT = 5, RIGHT = 2 };                                    // of the window
enum { Q, K, V, ADDED, SLOPE, OUT, LSE, WORK, TENSORS };
enum { BATCH, HEADS, KV_HEADS, QUERIES, KEYS, DIM };

static const op_case cases[] = {
#define CASE(...) {__VA_ARGS__},
#include "ops/attention/cases.def"
};

static uint32_t tensors(const op_case *c, kiln_type type, op_tensor *out)
{
    const uint64_t *s = c->sizes;
    const op_tensor q = {.name = "q",
                         .type = type,
                         .rank = 4,
                         .sizes = {s[BATCH], s[HEADS], s[QUERIES], s[DIM]},
                         .low = -1,
                         .high = 1,
                         .has_gradient = true,
                         .is_unordered = true,
                         .tolerance = 64};
    out[Q] = out[K] = out[OUT] = q;
    out[K].name = "k";
    out[K].sizes[1] = s[KV_HEADS];
    out[K].sizes[2] = s[KEYS];
    out[K].is_unordered = false;
    out[V] = out[K];
    out[V].name = "v";
    out[ADDED] = (op_tensor){.name = "bias",
                             .type = type,
                             .rank = 4,
                             .sizes = {1, s[HEADS], s[QUERIES], s[KEYS]},
                             .low = -2,
                             .high = 2,
                             .has_gradient = c->option & BIAS,
                             .tolerance = 64};
    out[SLOPE] = (op_tensor){
        .name = "slopes", .type = KILN_F32, .rank = 1, .sizes = {s[HEADS]}, .low = 0, .high = 0.5};
    for (int n = 1; n < 4 && !(c->option & BIAS); n++)
        out[ADDED].sizes[n] = 1;
    if (!(c->option & SLOPES))
        out[SLOPE].sizes[0] = 1;
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = out[OUT].is_unordered = false;
    out[LSE] = out[OUT];
    out[LSE].name = "lse";
    out[LSE].type = KILN_F32;
    out[LSE].rank = 3;
    out[LSE].is_constant = true;
    uint64_t dim = s[DIM] <= 64 ? 64 : (s[DIM] + 63) / 64 * 64,
             block = SUM_BLOCK(dim) + 2 * SUM_BLOCK(dim) / dim;
    uint64_t most = 256 << 15, shares = 32 * s[BATCH] * s[KV_HEADS] * s[KEYS] * dim; // of dK and dV
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_F32,
                            .rank = 1,
                            .sizes = {s[BATCH] * s[HEADS] * (s[QUERIES] / 64 + 1) * block +
                                      (shares < most ? shares : most)}};
    return TENSORS;
}

static kiln_status call_kernel(kiln *k, const op_case *c, op_pass pass, const kiln_view *views,
                               kiln_attention_kernel kernel)
{
    kiln_attention_desc d = {.q = views[Q],
                             .k = views[K],
                             .v = views[V],
                             .out = views[OUT],
                             .lse = views[LSE],
                             .is_causal = c->option & CAUSAL,
                             .kernel = kernel,
                             .has_window = c->option & WINDOW};
    if (c->option & WINDOW) {
        d.window_left = LEFT;
        d.window_right = RIGHT;
    }
    if (c->option & BIAS)
        d.bias = views[ADDED];
    if (c->option & SLOPES)
        d.slopes = views[SLOPE];
    if (pass == PASS_FORWARD)
        return kiln_attention_forward(k, &d);
    const kiln_view *gradients = views + TENSORS, none = {.buffer = NULL};
    return kiln_attention_backward(
        k, &(kiln_attention_backward_desc){.q = d.q,
                                           .k = d.k,
                                           .v = d.v,
                                           .out = d.out,
                                           .lse = d.lse,
                                           .dout = gradients[OUT],
                                           .dq = gradients[Q],
                                           .dk = gradients[K],
                                           .dv = gradients[V],
                                           .workspace = views[WORK],
                                           .is_causal = d.is_causal,
                                           .kernel = kernel,
                                           .has_window = d.has_window,
                                           .window_left = d.window_left,
                                           .window_right = d.window_right,
                                           .bias = d.bias,
                                           .dbias = c->option & BIAS ? gradients[ADDED] : none,
                                           .slopes = d.slopes});
}

// A device or a type that the kernels on mma do not have takes the best ones.
static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    kiln_status status = KILN_E_UNSUPPORTED;
    if (c->option & MMA)
        status = call_kernel(k, c, pass, views, KILN_ATTENTION_SM80);
    return status == KILN_E_UNSUPPORTED ? call_kernel(k, c, pass, views, KILN_ATTENTION_BEST)
                                        : status;
}

// One row of q. added: what is added to the score of each key, -HUGE_VAL: it is not seen. Becomes
// the weights.
static void one_row(const double *q, const double *k, const double *v, size_t keys, size_t dim,
                    double *added, double *out, double *lse)
{
    double largest = -HUGE_VAL, sum = 0;
    for (size_t j = 0; j < keys; j++) {
        for (size_t d = 0; d < dim; d++)
            added[j] += q[d] * k[j * dim + d] / sqrt((double)dim);
        largest = fmax(largest, added[j]);
    }
    for (size_t j = 0; j < keys; j++)
        sum += added[j] = exp(added[j] - largest);
    for (size_t d = 0; d < dim; d++) {
        out[d] = 0;
        for (size_t j = 0; j < keys; j++)
            out[d] += added[j] / sum * v[j * dim + d];
    }
    *lse = largest + log(sum);
}

// What is added to the score of a query and a key. own: the key that the query is at.
static double added_to(const op_case *c, double *const *values, size_t head, size_t query,
                       size_t key)
{
    const uint64_t *s = c->sizes;
    double own = (double)query + (double)s[KEYS] - (double)s[QUERIES], added = 0;
    if (((c->option & CAUSAL) && (double)key > own) ||
        ((c->option & WINDOW) && ((double)key < own - LEFT || (double)key > own + RIGHT)))
        return -HUGE_VAL;
    if (c->option & BIAS)
        added += values[ADDED][(head * s[QUERIES] + query) * s[KEYS] + key];
    if (c->option & SLOPES)
        added -= values[SLOPE][head] * fabs(own - (double)key);
    return added;
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    enum { MOST_KEYS = 4096 };
    static double added[MOST_KEYS]; // suites run on one thread
    const uint64_t *s = c->sizes;
    size_t queries = s[QUERIES], keys = s[KEYS] < MOST_KEYS ? s[KEYS] : MOST_KEYS, dim = s[DIM];
    (void)t;
    for (size_t row = 0; row < s[BATCH] * s[HEADS] * queries; row++) {
        size_t head = row / queries % s[HEADS], batch = row / queries / s[HEADS];
        size_t kv = head / (s[HEADS] / s[KV_HEADS]);
        size_t first = (batch * s[KV_HEADS] + kv) * s[KEYS] * dim;
        for (size_t key = 0; key < keys; key++)
            added[key] = added_to(c, values, head, row % queries, key);
        one_row(values[Q] + row * dim, values[K] + first, values[V] + first, keys, dim, added,
                values[OUT] + row * dim, values[LSE] + row);
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s%s%s", c->option & CAUSAL ? "causal" : "full",
             c->option & WINDOW ? ", window" : "", c->option & BIAS ? ", bias" : "",
             c->option & SLOPES ? ", slopes" : "", c->option & MMA ? ", mma" : "");
}

static double operations(const op_case *c)
{
    const uint64_t *s = c->sizes;
    return 4 * (double)(s[BATCH] * s[HEADS] * s[QUERIES]) * (double)(s[KEYS] * s[DIM]) /
           (c->option & CAUSAL ? 2 : 1);
}

static bool is_possible(const op_case *c)
{
    bool sees_something =
        c->sizes[KEYS] && (!(c->option & (CAUSAL | WINDOW)) || c->sizes[KEYS] >= c->sizes[QUERIES]);
    return c->sizes[KV_HEADS] && c->sizes[HEADS] % c->sizes[KV_HEADS] == 0 && c->sizes[DIM] &&
           c->sizes[DIM] <= 1024 && c->sizes[KEYS] <= 4096 && sees_something;
}

const op_suite op_suite_attention = {.name = "attention",
                                     .cases = cases,
                                     .case_count = sizeof cases / sizeof *cases,
                                     .has_backward = true,
                                     .bits_differ = true,
                                     .tensors = tensors,
                                     .call = call,
                                     .reference = reference,
                                     .describe = describe,
                                     .is_possible = is_possible,
                                     .operations = operations};
