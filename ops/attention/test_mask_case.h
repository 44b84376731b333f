// A case of attention with a mask (window, sequences, bias, slopes): its tensors on the device, and
// what it must give, in double precision. The reference looks at every pair of a query and a key.
#ifndef KILN_ATTENTION_TEST_MASK_CASE_H
#define KILN_ATTENTION_TEST_MASK_CASE_H

#include "test_case.h"

enum { MOST_SEQUENCES = 9, MOST_HEADS = 70 };

typedef enum bias_form { // which dimensions it has
    NO_BIAS,
    WHOLE,      // [batch, heads, queries, keys]
    OF_PAIRS,   // [queries, keys]
    OF_HEADS,   // [heads, 1, keys]
    OF_BATCHES, // [batch, 1, queries, keys]
    OF_QUERIES, // [1, 1, queries, 1]
    TRANSPOSED, // whole, keys before queries in memory
    BIAS_FORMS
} bias_form;

typedef struct plan { // a case beside its shape
    bool has_window;
    int32_t left, right;
    uint32_t sequences; // 0: a batch
    int32_t q_offsets[MOST_SEQUENCES + 1], k_offsets[MOST_SEQUENCES + 1];
    bias_form bias;
    kiln_type bias_type;
    bool has_slopes, hides_row; // the bias hides all keys of the first queries
    bool is_wild;               // offsets do not fit the tensors
    kiln_attention_kernel kernel;
} plan;

typedef struct run {
    attention_case c;
    plan p;
    kiln_buffer *offsets[2], *bias, *dbias, *slopes, *workspace;
    kiln_view bias_view, dbias_view;
    uint64_t bias_sizes[4];
    double *bias_numbers;   // [batch, heads, queries, keys]
    double *bias_gradients; // of bias_sizes
    double *bias_slack;     // how far each of them may be off
    float slope[MOST_HEADS];
} run;

// --- what belongs to a case
static bool make_offsets(run *r)
{
    const int32_t *from[] = {r->p.q_offsets, r->p.k_offsets};
    for (int n = 0; n < 2; n++)
        if (kiln_buffer_new(r->c.k, KILN_I32, r->p.sequences + 1, &r->offsets[n]) ||
            kiln_write(r->offsets[n], 0, from[n], r->p.sequences + 1))
            return false;
    return true;
}

static bool make_slopes(run *r)
{
    for (uint32_t n = 0; n < r->c.s.heads; n++)
        r->slope[n] = ldexpf(1.0f + 0.25f * (float)(n % 3), -(int)(n % 5) - 1);
    return !kiln_buffer_new(r->c.k, KILN_F32, MOST_HEADS, &r->slopes) &&
           !kiln_write(r->slopes, 0, r->slope, MOST_HEADS);
}

// The view of a bias, as a form has it.
static void place_bias(run *r, uint64_t sizes[4])
{
    static const bool has[BIAS_FORMS][4] = {{0},          {1, 1, 1, 1}, {0, 0, 1, 1}, {0, 1, 0, 1},
                                            {1, 0, 1, 1}, {0, 0, 1, 0}, {1, 1, 1, 1}};
    const shape *s = &r->c.s;
    const uint64_t all[] = {s->batch, s->heads, s->queries, s->keys};
    for (int n = 0; n < 4; n++)
        sizes[n] = has[r->p.bias][n] ? all[n] : 1;
    uint32_t missing = r->p.bias == OF_PAIRS ? 2 : r->p.bias == OF_HEADS ? 1 : 0;
    uint64_t placed[] = {sizes[0], sizes[1], sizes[3], sizes[2]};
    bool is_transposed = r->p.bias == TRANSPOSED;
    r->bias_view = kiln_view_of(r->bias, 4 - missing, is_transposed ? placed : sizes + missing);
    if (is_transposed)
        r->bias_view = kiln_view_transpose(r->bias_view);
}

static bool make_bias(run *r)
{
    const shape *s = &r->c.s;
    uint64_t sizes[4] = {s->batch, s->heads, s->queries, s->keys};
    size_t count = (size_t)(sizes[0] * sizes[1] * sizes[2] * sizes[3]);
    kiln_type type = r->p.bias_type;
    void *host = calloc(count + 1, 4);
    r->bias_numbers = (double *)calloc(count + 1, sizeof *r->bias_numbers);
    if (!host || !r->bias_numbers || kiln_buffer_new(r->c.k, type, count + 1, &r->bias))
        return false;
    place_bias(r, sizes);
    memcpy(r->bias_sizes, sizes, sizeof sizes);
    r->bias_gradients = (double *)calloc(count + 1, sizeof *r->bias_gradients);
    r->bias_slack = (double *)calloc(count + 1, sizeof *r->bias_slack);
    uint32_t nan = nan_bits(type);
    if (!r->bias_gradients || !r->bias_slack ||
        kiln_buffer_new(r->c.k, type, count + 1, &r->dbias) || kiln_fill(r->dbias, &nan))
        return false;
    r->dbias_view = r->bias_view;
    r->dbias_view.buffer = r->dbias;
    size_t used = (size_t)(sizes[0] * sizes[1] * sizes[2] * sizes[3]);
    uint32_t minus_infinity = type == KILN_F32 ? 0xff800000u : type == KILN_F16 ? 0xfc00 : 0xff80;
    for (size_t i = 0; i < used; i++) {
        size_t key = i % sizes[3], query = i / sizes[3] % sizes[2];
        bool is_hidden =
            (r->p.hides_row && query == 0) || (sizes[3] > 1 && (key * 7 + query) % 5 == 0);
        double value = next_number(&r->c.state);
        put(host, type, i, value);
        if (is_hidden && type == KILN_F32)
            memcpy((char *)host + i * 4, &minus_infinity, 4);
        else if (is_hidden)
            ((uint16_t *)host)[i] = (uint16_t)minus_infinity;
    }
    bool is_good = !kiln_write_view(r->bias_view, host);
    for (size_t i = 0; i < count && used; i++) {
        size_t at[] = {i / s->keys / s->queries / s->heads, i / s->keys / s->queries % s->heads,
                       i / s->keys % s->queries, i % s->keys};
        size_t from = 0;
        for (int n = 0; n < 4; n++)
            from = from * (size_t)sizes[n] + (sizes[n] == 1 ? 0 : at[n]);
        bool is_minus_infinity = type == KILN_F32
                                     ? ((uint32_t *)host)[from] == minus_infinity
                                     : ((uint16_t *)host)[from] == (uint16_t)minus_infinity;
        r->bias_numbers[i] = is_minus_infinity ? -INFINITY : get(host, type, from);
    }
    free(host);
    return is_good;
}

// Rows that no sequence has are NaN: nothing of them may reach a result.
static bool spoil_rows(run *r)
{
    static const int inputs[] = {Q, K, V, DOUT};
    bool is_good = true;
    for (int n = 0; n < 4; n++) {
        kiln_view v = r->c.views[inputs[n]];
        bool is_keys = inputs[n] == K || inputs[n] == V;
        const int32_t *offsets = is_keys ? r->p.k_offsets : r->p.q_offsets;
        uint64_t behind = (uint64_t)offsets[r->p.sequences], rows = v.sizes[2];
        const uint64_t parts[][2] = {{0, (uint64_t)offsets[0]}, {behind, rows}};
        for (int part = 0; part < 2; part++) {
            kiln_view some =
                kiln_view_slice(v, 2, (int64_t)parts[part][0], (int64_t)parts[part][1], 1);
            size_t count = (size_t)kiln_view_count(some);
            uint32_t nan = nan_bits(type_of(&r->c, inputs[n]));
            char *host = (char *)calloc(count + 1, 4);
            size_t size = kiln_type_size(type_of(&r->c, inputs[n]));
            for (size_t i = 0; host && i < count; i++)
                memcpy(host + i * size, &nan, size);
            is_good = is_good && host && (!count || !kiln_write_view(some, host));
            free(host);
        }
    }
    return is_good;
}

static bool begin(run *r, kiln *k, shape s, number_type type, layout form, uint32_t seed, plan p)
{
    memset(r, 0, sizeof *r);
    r->p = p;
    return begin_case(&r->c, k, s, type, form, seed) &&
           (!p.sequences || (make_offsets(r) && (p.is_wild || spoil_rows(r)))) &&
           (!p.bias || make_bias(r)) && (!p.has_slopes || make_slopes(r));
}

static void end(run *r)
{
    kiln_buffer_free(r->offsets[0]);
    kiln_buffer_free(r->offsets[1]);
    kiln_buffer_free(r->bias);
    kiln_buffer_free(r->dbias);
    free(r->bias_gradients);
    free(r->bias_slack);
    kiln_buffer_free(r->slopes);
    kiln_buffer_free(r->workspace);
    free(r->bias_numbers);
    end_case(&r->c);
}

// --- the reference
// P, computed again from a logsumexp and scores in f32: how far it may be off, relative to it.
#define OF_P 1e-4

// Does a query see a key? own: where the query is, key: where the key is, in their sequence.
static bool sees(const run *r, int64_t query, int64_t key, int64_t *own_key, int64_t *other)
{
    int64_t q = 0, k = 0, queries = r->c.s.queries, keys = r->c.s.keys;
    bool is_found = !r->p.sequences;
    for (uint32_t n = 0; n < r->p.sequences && !is_found; n++) {
        q = r->p.q_offsets[n];
        k = r->p.k_offsets[n];
        queries = r->p.q_offsets[n + 1] - q;
        keys = r->p.k_offsets[n + 1] - k;
        is_found = query >= q && query < q + queries;
    }
    *own_key = query - q + keys - queries;
    *other = key - k;
    if (!is_found || *other < 0 || *other >= keys)
        return false;
    if (r->c.s.is_causal && *other > *own_key)
        return false;
    return !r->p.has_window || ((r->p.left < 0 || *own_key - *other <= r->p.left) &&
                                (r->p.right < 0 || *other - *own_key <= r->p.right));
}

// Half the distance of two numbers next to 1.
static double unit_of(kiln_type type)
{
    return ldexp(1, type == KILN_BF16 ? -8 : type == KILN_F16 ? -11 : -24);
}

static double dot_of_sizes(const double *a, const double *b, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += fabs(a[i] * b[i]);
    return sum;
}

// How far dot(out, dout) may be off: P is rounded before it is multiplied with V, and out is when
// it is stored. p: of all keys.
static double slack_of_d(const run *r, const double *p, const double *v, const double *out,
                         const double *dout)
{
    uint32_t n = r->c.s.head_dim;
    double sum = dot_of_sizes(out, dout, n);
    for (size_t i = 0; i < r->c.s.keys; i++)
        sum += p[i] * dot_of_sizes(v + i * n, dout, n);
    return unit_of(r->c.type.type) * sum;
}

// One query of all; OUT, LSE, and with is_backward DQ, DK and DV. p: room for the keys.
static void attend_masked(run *r, size_t row, double *p, bool is_backward)
{
    attention_case *c = &r->c;
    const shape *s = &c->s;
    uint32_t n = s->head_dim;
    size_t all_heads = row / s->queries, query = row % s->queries, head = all_heads % s->heads;
    size_t kv_head = all_heads / s->heads * s->kv_heads + head / (s->heads / s->kv_heads);
    const double *q = c->numbers[Q] + row * n, *k = c->numbers[K] + kv_head * s->keys * n;
    const double *v = c->numbers[V] + kv_head * s->keys * n;
    double top = -INFINITY, sum = 0, *out = c->numbers[OUT] + row * n;
    for (size_t i = 0; i < s->keys; i++) {
        int64_t own, other;
        p[i] = -INFINITY;
        if (!sees(r, (int64_t)query, (int64_t)i, &own, &other))
            continue;
        p[i] = dot(q, k + i * n, n) / sqrt(n);
        if (r->p.bias)
            p[i] += r->bias_numbers[row * s->keys + i];
        if (r->p.has_slopes)
            p[i] -= (double)r->slope[head] * fabs((double)(own - other));
        top = fmax(top, p[i]);
    }
    for (size_t i = 0; i < s->keys; i++)
        sum += p[i] = isinf(p[i]) ? 0 : exp(p[i] - top);
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < s->keys; i++)
        add(out, p[i] = sum > 0 ? p[i] / sum : 0, v + i * n, n);
    c->numbers[LSE][row] = sum > 0 ? top + log(sum) : -INFINITY;
    const double *dout = c->numbers[DOUT] + row * n;
    double d = dot(out, dout, n);
    double d_slack = is_backward && r->p.bias ? slack_of_d(r, p, v, out, dout) : 0;
    for (size_t i = 0; i < s->keys && is_backward; i++) {
        size_t key = (kv_head * s->keys + i) * n;
        double dp = dot(dout, c->numbers[V] + key, n), ds = p[i] * (dp - d) / sqrt(n);
        add(c->numbers[DQ] + row * n, ds, c->numbers[K] + key, n);
        add(c->numbers[DK] + key, ds, q, n);
        add(c->numbers[DV] + key, p[i], dout, n);
        if (r->p.bias) {
            const size_t at[] = {all_heads / s->heads, head, query, i};
            size_t to = 0;
            for (int dim = 0; dim < 4; dim++)
                to = to * (size_t)r->bias_sizes[dim] + (r->bias_sizes[dim] == 1 ? 0 : at[dim]);
            r->bias_gradients[to] += ds * sqrt(n);
            r->bias_slack[to] += p[i] * (d_slack + OF_P * (fabs(dp) + fabs(d)));
        }
    }
}

#endif
