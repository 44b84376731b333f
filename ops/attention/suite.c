// The cases of attention (ops/suite.h). Tensors: q, k, v, out, lse, and the workspace of backward.
// Sizes of a case: batch, heads, kv_heads, queries, keys, head_dim. Tests of single kernels are in
// test*.c.
#include "ops/suite.h"

#include <math.h>

#include "ops/attention/sizes.h"

enum { CAUSAL = 1 };
enum { Q, K, V, OUT, LSE, WORK, TENSORS };
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
    out[OUT].name = "out";
    out[OUT].role = ROLE_OUTPUT;
    out[OUT].has_gradient = out[OUT].is_unordered = false;
    out[LSE] = out[OUT];
    out[LSE].name = "lse";
    out[LSE].type = KILN_F32;
    out[LSE].rank = 3;
    out[LSE].is_constant = true;
    uint64_t block = SUM_BLOCK + 2 * SUM_BLOCK / (s[DIM] < 64 ? 64 : s[DIM]);
    out[WORK] = (op_tensor){.name = "workspace",
                            .role = ROLE_SCRATCH,
                            .type = KILN_F32,
                            .rank = 1,
                            .sizes = {s[BATCH] * s[HEADS] * (s[QUERIES] / 64 + 1) * block}};
    return TENSORS;
}

static kiln_status call(kiln *k, const op_case *c, op_pass pass, const kiln_view *views)
{
    bool is_causal = c->option & CAUSAL;
    if (pass == PASS_FORWARD)
        return kiln_attention_forward(k, &(kiln_attention_desc){.q = views[Q],
                                                                .k = views[K],
                                                                .v = views[V],
                                                                .out = views[OUT],
                                                                .lse = views[LSE],
                                                                .is_causal = is_causal});
    const kiln_view *gradients = views + TENSORS;
    return kiln_attention_backward(k, &(kiln_attention_backward_desc){.q = views[Q],
                                                                      .k = views[K],
                                                                      .v = views[V],
                                                                      .out = views[OUT],
                                                                      .lse = views[LSE],
                                                                      .dout = gradients[OUT],
                                                                      .dq = gradients[Q],
                                                                      .dk = gradients[K],
                                                                      .dv = gradients[V],
                                                                      .workspace = views[WORK],
                                                                      .is_causal = is_causal});
}

// One row of q, which sees the first `seen` of the keys. weights: room for them.
static void one_row(const double *q, const double *k, const double *v, size_t seen, size_t dim,
                    double *weights, double *out, double *lse)
{
    double largest = -HUGE_VAL, sum = 0;
    for (size_t j = 0; j < seen; j++) {
        weights[j] = 0;
        for (size_t d = 0; d < dim; d++)
            weights[j] += q[d] * k[j * dim + d] / sqrt((double)dim);
        largest = fmax(largest, weights[j]);
    }
    for (size_t j = 0; j < seen; j++)
        sum += weights[j] = exp(weights[j] - largest);
    for (size_t d = 0; d < dim; d++) {
        out[d] = 0;
        for (size_t j = 0; j < seen; j++)
            out[d] += weights[j] / sum * v[j * dim + d];
    }
    *lse = seen ? largest + log(sum) : -HUGE_VAL;
}

static void reference(const op_case *c, const op_tensor *t, double *const *values)
{
    enum { MOST_KEYS = 4096 };
    static double weights[MOST_KEYS]; // suites run on one thread
    const uint64_t *s = c->sizes;
    size_t queries = s[QUERIES], keys = s[KEYS], dim = s[DIM];
    (void)t;
    for (size_t row = 0; row < s[BATCH] * s[HEADS] * queries; row++) {
        size_t head = row / queries, query = row % queries;
        size_t batch = head / s[HEADS], kv = head % s[HEADS] / (s[HEADS] / s[KV_HEADS]);
        size_t first = (batch * s[KV_HEADS] + kv) * keys * dim;
        size_t hidden = c->option & CAUSAL ? queries - 1 - query : 0;
        size_t seen = keys > hidden ? keys - hidden : 0;
        one_row(values[Q] + row * dim, values[K] + first, values[V] + first,
                seen < MOST_KEYS ? seen : MOST_KEYS, dim, weights, values[OUT] + row * dim,
                values[LSE] + row);
    }
}

static void describe(const op_case *c, char *out, size_t size)
{
    snprintf(out, size, "%s", c->option & CAUSAL ? "causal" : "full");
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
        c->sizes[KEYS] && (!(c->option & CAUSAL) || c->sizes[KEYS] >= c->sizes[QUERIES]);
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
