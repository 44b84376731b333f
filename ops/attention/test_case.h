// What the tests of attention forward and backward share: a case (shape, type, layout) with its
// tensors on the device, and the same numbers in double precision.
//
// Inputs are random numbers in the whole buffer; the view picks some, and kiln_read_view tells
// which. Results are NaN before: what is not written shows, and so does a write beside the view.
#ifndef KILN_ATTENTION_TEST_CASE_H
#define KILN_ATTENTION_TEST_CASE_H

#include <kiln/ops.h>
#include <math.h>

#include "api.h"
#include "test_numbers.h"

enum { Q, K, V, OUT, LSE, DOUT, DQ, DK, DV, TENSORS };
typedef enum layout {
    DENSE,     // [batch, heads, rows, head_dim]
    BY_ROW,    // [batch, rows, heads, head_dim]
    PACKED,    // [batch, rows, heads + 2 kv_heads, head_dim]: q, k and v; dq, dk and dv
    GAPS,      // of 16 bytes between rows, more between heads and batches
    ONE_BATCH, // k and v are broadcast over the batch, v over the heads, too
    ALIGNED,   // any of these by a seed, for each tensor its own
    ANY,       // every order of dimensions, gaps, broadcasts, backwards, by a seed
    LAYOUTS
} layout;
static const char *const layout_names[] = {"dense",     "by row",  "packed", "gaps",
                                           "one batch", "aligned", "any"};

typedef struct shape {
    uint32_t batch, heads, kv_heads, queries, keys, head_dim;
    bool is_causal;
} shape;

typedef struct attention_case {
    kiln *k;
    shape s;
    number_type type;
    layout form;
    uint32_t state; // of the random numbers
    kiln_buffer *buffers[TENSORS];
    size_t buffer_counts[TENSORS], counts[TENSORS];
    kiln_view views[TENSORS];
    double *numbers[TENSORS]; // dense: inputs, then what results should be
} attention_case;

static inline uint32_t next_random(attention_case *c, uint32_t below)
{
    c->state = c->state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(c->state >> 8) * below >> 24);
}

static inline bool is_result(int t)
{
    return t == OUT || t == LSE || t >= DQ;
}

static inline kiln_type type_of(const attention_case *c, int t)
{
    return t == LSE ? KILN_F32 : c->type.type;
}

static inline uint32_t sizes_of(const shape *s, int t, uint64_t sizes[4])
{
    bool is_keys = t == K || t == V || t == DK || t == DV;
    sizes[0] = s->batch;
    sizes[1] = is_keys ? s->kv_heads : s->heads;
    sizes[2] = is_keys ? s->keys : s->queries;
    sizes[3] = s->head_dim;
    return t == LSE ? 3 : 4;
}

// --- layouts

// Strides for dimensions that lie in memory in the order `order`, the last one innermost, each with
// a gap behind it; returns the elements from the first to behind the last.
static inline size_t place(kiln_view *v, const uint32_t *order, const uint64_t *gaps)
{
    uint64_t step = 1;
    v->has_strides = true;
    for (uint32_t n = v->rank; n-- > 0;) {
        uint32_t d = order[n];
        v->strides[d] = (int64_t)step;
        step = step * v->sizes[d] + gaps[d];
    }
    return (size_t)step;
}

static inline size_t place_aligned(attention_case *c, int t, layout form, kiln_view *v)
{
    static const uint32_t dense[] = {0, 1, 2, 3}, by_row[] = {0, 2, 1, 3};
    uint64_t gaps[4] = {0, 0, 0, 0}, step = 16 / kiln_type_size(type_of(c, t));
    if (form == GAPS) {
        gaps[3] = step;
        gaps[2] = 3 * step;
        gaps[1] = 5 * step;
        v->first = 2 * step;
    }
    size_t count = place(v, form == BY_ROW ? by_row : dense, gaps);
    if (form == ONE_BATCH && (t == K || t == V))
        v->strides[0] = 0;
    if (form == ONE_BATCH && t == V)
        v->strides[1] = 0;
    return count + v->first;
}

static inline size_t place_any(attention_case *c, int t, kiln_view *v)
{
    uint32_t order[4] = {0, 1, 2, 3};
    uint64_t gaps[4];
    for (uint32_t n = v->rank; n-- > 1;) {
        uint32_t with = next_random(c, n + 1), other = order[n];
        order[n] = order[with];
        order[with] = other;
    }
    for (uint32_t n = 0; n < 4; n++)
        gaps[n] = next_random(c, 2) ? next_random(c, 5) : 0;
    v->first = next_random(c, 9);
    size_t count = place(v, order, gaps) + v->first;
    for (uint32_t n = 0; n < v->rank; n++) {
        if (v->sizes[n] && next_random(c, 4) == 0) { // backwards
            v->first += (v->sizes[n] - 1) * (uint64_t)v->strides[n];
            v->strides[n] = -v->strides[n];
        } else if (!is_result(t) && next_random(c, 6) == 0) {
            v->strides[n] = 0;
        }
    }
    return count;
}

// q, k, v (or the gradients) are parts of one buffer, that of the first.
static inline size_t place_packed(attention_case *c, int t, kiln_view *v)
{
    int first = t >= DQ ? DQ : Q;
    uint64_t head_dim = c->s.head_dim, heads = c->s.heads, kv_heads = c->s.kv_heads;
    uint64_t row = (heads + 2 * kv_heads) * head_dim;
    v->has_strides = true;
    v->strides[0] = (int64_t)(row * c->s.queries);
    v->strides[1] = (int64_t)head_dim;
    v->strides[2] = (int64_t)row;
    v->strides[3] = 1;
    v->first = t == first ? 0 : (heads + (uint64_t)(t - first - 1) * kv_heads) * head_dim;
    return (size_t)(row * c->s.queries * c->s.batch);
}

static inline bool is_packed(const attention_case *c, int t)
{
    return c->form == PACKED && c->s.queries == c->s.keys && (t <= V || t >= DQ);
}

static inline bool make_tensor(attention_case *c, int t)
{
    kiln_view *v = &c->views[t];
    memset(v, 0, sizeof *v);
    v->rank = sizes_of(&c->s, t, v->sizes);
    c->counts[t] = (size_t)kiln_view_count(*v);
    int owner = is_packed(c, t) ? (t >= DQ ? DQ : Q) : t;
    layout form = c->form == ALIGNED ? (layout)next_random(c, ALIGNED) : c->form;
    size_t count = owner != t || is_packed(c, t) ? place_packed(c, t, v)
                   : form == ANY                 ? place_any(c, t, v)
                                                 : place_aligned(c, t, form, v);
    c->numbers[t] = (double *)calloc(c->counts[t] + 1, sizeof(double));
    if (owner == t && kiln_buffer_new(c->k, type_of(c, t), count + 1, &c->buffers[t]))
        return false;
    c->buffer_counts[t] = owner == t ? count + 1 : 0;
    v->buffer = c->buffers[owner];
    return c->numbers[t] != NULL;
}

// --- numbers

static inline bool fill_input(attention_case *c, int t)
{
    kiln_type type = type_of(c, t);
    void *host = calloc(c->buffer_counts[t] + 1, 4);
    for (size_t i = 0; host && i < c->buffer_counts[t]; i++)
        put(host, type, i, next_number(&c->state));
    bool is_good = host && !kiln_write(c->buffers[t], 0, host, c->buffer_counts[t]);
    free(host);
    return is_good;
}

static inline double *read_numbers(const attention_case *c, int t)
{
    void *host = calloc(c->counts[t] + 1, 4);
    double *numbers = (double *)calloc(c->counts[t] + 1, sizeof *numbers);
    bool is_good = host && numbers && !kiln_read_view(c->views[t], host);
    for (size_t i = 0; is_good && i < c->counts[t]; i++)
        numbers[i] = get(host, type_of(c, t), i);
    free(host);
    if (is_good)
        return numbers;
    free(numbers);
    return NULL;
}

static inline bool read_input(attention_case *c, int t)
{
    free(c->numbers[t]);
    c->numbers[t] = read_numbers(c, t);
    return c->numbers[t] != NULL;
}

static inline bool spoil_result(const attention_case *c, int t)
{
    uint32_t nan = nan_bits(type_of(c, t));
    return !c->buffers[t] || !kiln_fill(c->buffers[t], &nan);
}

// How many elements of a result's buffer are not NaN: those of the view, or somebody wrote beside.
static inline bool is_only_view(const attention_case *c, int t)
{
    size_t written = 0, wanted = c->counts[t];
    if (!c->buffers[t])
        return true;
    if (is_packed(c, t))
        wanted = c->counts[DQ] + c->counts[DK] + c->counts[DV];
    void *host = calloc(c->buffer_counts[t] + 1, 4);
    bool is_good = host && !kiln_read(c->buffers[t], 0, host, c->buffer_counts[t]);
    for (size_t i = 0; is_good && i < c->buffer_counts[t]; i++)
        written += !isnan(get(host, type_of(c, t), i));
    free(host);
    return is_good && written == wanted;
}

static inline void end_case(attention_case *c)
{
    for (int t = 0; t < TENSORS; t++) {
        kiln_buffer_free(c->buffers[t]);
        free(c->numbers[t]);
    }
}

static inline bool begin_case(attention_case *c, kiln *k, shape s, number_type type, layout form,
                              uint32_t seed)
{
    memset(c, 0, sizeof *c);
    c->k = k;
    c->s = s;
    c->type = type;
    c->form = form;
    c->state = seed * 2654435761u + 1;
    bool is_good = true;
    for (int t = 0; t < TENSORS; t++)
        is_good = is_good && make_tensor(c, t);
    for (int t = 0; t < TENSORS && is_good; t++)
        is_good = is_result(t) || !c->buffers[t] || fill_input(c, t);
    for (int t = 0; t < TENSORS && is_good; t++)
        is_good = is_result(t) ? spoil_result(c, t) : read_input(c, t);
    return is_good;
}

static inline void print_case(const attention_case *c, const char *what)
{
    const shape *s = &c->s;
    printf("%s, %s, head_dim %u, %s, %u x %u heads (%u), %u queries, %u keys: %s\n",
           kiln_type_name(c->type.type), layout_names[c->form], s->head_dim,
           s->is_causal ? "causal" : "full", s->batch, s->heads, s->kv_heads, s->queries, s->keys,
           what);
}

// --- the reference
static inline double dot(const double *a, const double *b, uint32_t n)
{
    double sum[4] = {0, 0, 0, 0};
    for (uint32_t i = 0; i < n; i++)
        sum[i % 4] += a[i] * b[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

static inline void add(double *to, double weight, const double *row, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] += weight * row[i];
}

// One query, number `row` of all, which sees keys from `from` to `seen` - 1: its row of OUT and
// LSE; the probabilities stay in p.
static inline void attend_between(attention_case *c, size_t row, size_t from, size_t seen,
                                  double *p)
{
    const shape *s = &c->s;
    uint32_t n = s->head_dim;
    size_t head = row / s->queries, kv_head = head / (s->heads / s->kv_heads);
    const double *q = c->numbers[Q] + row * n, *k = c->numbers[K] + kv_head * s->keys * n;
    const double *v = c->numbers[V] + kv_head * s->keys * n;
    double top = -INFINITY, sum = 0;
    for (size_t i = from; i < seen; i++) {
        p[i] = dot(q, k + i * n, n) / sqrt(n);
        top = fmax(top, p[i]);
    }
    for (size_t i = from; i < seen; i++)
        sum += p[i] = exp(p[i] - top);
    double *out = c->numbers[OUT] + row * n;
    memset(out, 0, n * sizeof *out);
    for (size_t i = from; i < seen; i++)
        add(out, p[i] /= sum, v + i * n, n);
    c->numbers[LSE][row] = seen > from ? top + log(sum) : -INFINITY;
}

static inline void attend_to(attention_case *c, size_t row, size_t seen, double *p)
{
    attend_between(c, row, 0, seen, p);
}

// The same with all the keys that it sees; returns how many.
static inline size_t attend(attention_case *c, size_t row, double *p)
{
    const shape *s = &c->s;
    size_t seen = s->is_causal ? s->keys - s->queries + row % s->queries + 1 : s->keys;
    attend_to(c, row, seen, p);
    return seen;
}

// The same, its row of DQ, and what it adds to DK and DV of its head.
static inline void differentiate(attention_case *c, size_t row, double *p)
{
    const shape *s = &c->s;
    uint32_t n = s->head_dim;
    size_t seen = attend(c, row, p);
    size_t first = row / s->queries / (s->heads / s->kv_heads) * s->keys;
    const double *q = c->numbers[Q] + row * n, *dout = c->numbers[DOUT] + row * n;
    double d = dot(c->numbers[OUT] + row * n, dout, n);
    for (size_t i = 0; i < seen; i++) {
        size_t key = (first + i) * n;
        double ds = p[i] * (dot(dout, c->numbers[V] + key, n) - d) / sqrt(n);
        add(c->numbers[DQ] + row * n, ds, c->numbers[K] + key, n);
        add(c->numbers[DK] + key, ds, q, n);
        add(c->numbers[DV] + key, p[i], dout, n);
    }
}

#endif
