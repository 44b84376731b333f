// Attention and convolutions as graphs of cuDNN's operations (cudnn.h). cuDNN finds the fused
// kernel for attention by the shape of the graph: products, a softmax of single operations, and a
// mask made of the indices of rows and columns.
#include <math.h>
#include <string.h>

#include "cli/cudnn.h"

// --- attention
typedef struct scores { // [batch, heads, queries, keys], and what makes them
    cudnn_graph *g;
    int64_t all[4], rows[4], swapped[4], swapped_strides[4]; // swapped: [.., keys, queries]
    int64_t queries, keys;
    bool is_causal;
    cudnn_tensor *scale;
} scores;

static scores scores_of(cudnn_graph *g, kiln_view q, kiln_view k, bool is_causal, float scale)
{
    int64_t batch = (int64_t)q.sizes[0], heads = (int64_t)q.sizes[1], queries = (int64_t)q.sizes[2],
            keys = (int64_t)k.sizes[2];
    scores s = {.g = g,
                .all = {batch, heads, queries, keys},
                .rows = {batch, heads, queries, 1},
                .swapped = {batch, heads, keys, queries},
                .swapped_strides = {heads * queries * keys, queries * keys, 1, keys},
                .queries = queries,
                .keys = keys,
                .is_causal = is_causal};
    s.scale = cudnn_real(g, scale != 0 ? scale : 1 / sqrtf((float)q.sizes[3]));
    return s;
}

static cudnn_tensor *matrix(const scores *s, int type)
{
    return cudnn_between(s->g, type, 4, s->all, NULL);
}

static cudnn_tensor *apply(const scores *s, int mode, cudnn_tensor *x, cudnn_tensor *b)
{
    cudnn_tensor *y = cudnn_between(s->g, CUDNN_DATA_FLOAT, 4, x->sizes, NULL);
    cudnn_pointwise(s->g, &(cudnn_pointwise_desc){
                              .mode = mode, .compute = CUDNN_DATA_FLOAT, .x = x, .b = b, .y = y});
    return y;
}

static cudnn_tensor *by_row(const scores *s, int how, cudnn_tensor *x)
{
    cudnn_tensor *y = cudnn_between(s->g, CUDNN_DATA_FLOAT, 4, s->rows, NULL);
    cudnn_reduce(s->g, how, x, y);
    return y;
}

// The row or column of every score.
static cudnn_tensor *index_of(const scores *s, cudnn_tensor *x, int axis)
{
    cudnn_tensor *y = matrix(s, CUDNN_DATA_INT32);
    cudnn_pointwise(s->g, &(cudnn_pointwise_desc){.mode = CUDNN_POINTWISE_GEN_INDEX,
                                                  .compute = CUDNN_DATA_FLOAT,
                                                  .axis = axis,
                                                  .x = x,
                                                  .y = y});
    return y;
}

static cudnn_tensor *shifted(const scores *s, int mode, cudnn_tensor *row, int64_t by)
{
    cudnn_tensor *y = matrix(s, CUDNN_DATA_INT32);
    cudnn_pointwise(s->g, &(cudnn_pointwise_desc){.mode = mode,
                                                  .compute = CUDNN_DATA_INT32,
                                                  .x = row,
                                                  .b = cudnn_whole(s->g, (int32_t)by),
                                                  .y = y});
    return y;
}

// The last query sees all keys, each one before it one less; others are minus infinity.
static cudnn_tensor *masked(const scores *s, cudnn_tensor *x)
{
    if (!s->is_causal)
        return x;
    cudnn_tensor *row = index_of(s, x, 2), *column = index_of(s, x, 3);
    if (s->queries != s->keys) {
        row = shifted(s, CUDNN_POINTWISE_ADD, row, s->keys);
        row = shifted(s, CUDNN_POINTWISE_SUB, row, s->queries);
    }
    cudnn_tensor *sees = matrix(s, CUDNN_DATA_BOOLEAN), *y = matrix(s, CUDNN_DATA_FLOAT);
    cudnn_pointwise(s->g, &(cudnn_pointwise_desc){.mode = CUDNN_POINTWISE_CMP_GE,
                                                  .compute = CUDNN_DATA_BOOLEAN,
                                                  .x = row,
                                                  .b = column,
                                                  .y = sees});
    cudnn_pointwise(s->g, &(cudnn_pointwise_desc){.mode = CUDNN_POINTWISE_BINARY_SELECT,
                                                  .compute = CUDNN_DATA_FLOAT,
                                                  .x = x,
                                                  .b = cudnn_real(s->g, -INFINITY),
                                                  .t = sees,
                                                  .y = y});
    return y;
}

static cudnn_tensor *transposed(cudnn_graph *g, kiln_view v)
{
    return cudnn_view(g, kiln_view_permute(v, (const uint32_t[]){0, 1, 3, 2}));
}

static bool is_plain(cudnn_graph *g, uint32_t rank, bool has_more)
{
    if (rank != 4)
        cudnn_wrong(g, "attention has four dimensions");
    if (has_more)
        cudnn_wrong(g, "cuDNN is asked for a causal mask alone");
    if (cudnn_version() < 91000)
        cudnn_wrong(g, "cuDNN 9.10 or later is needed for attention");
    return !*g->why;
}

bool cudnn_attention_forward(cudnn_graph *g, const kiln_attention_desc *d, cudnn_attention *own)
{
    bool has_more = d->has_window || d->lengths.buffer || d->pages.buffer || d->q_offsets.buffer ||
                    d->bias.buffer || d->slopes.buffer;
    if (!is_plain(g, d->q.rank, has_more))
        return false;
    scores s = scores_of(g, d->q, d->k, d->is_causal, d->scale);
    cudnn_tensor *q = cudnn_view(g, d->q), *k = transposed(g, d->k), *v = cudnn_view(g, d->v),
                 *out = cudnn_view(g, d->out), *product = matrix(&s, CUDNN_DATA_FLOAT);
    own->stats = cudnn_in_memory(g, CUDNN_DATA_FLOAT, 4, s.rows, NULL);
    cudnn_matmul(g, q, k, product);
    cudnn_tensor *x = masked(&s, apply(&s, CUDNN_POINTWISE_MUL, product, s.scale));
    cudnn_tensor *most = by_row(&s, CUDNN_REDUCE_TENSOR_MAX, x);
    cudnn_tensor *power =
        apply(&s, CUDNN_POINTWISE_EXP, apply(&s, CUDNN_POINTWISE_SUB, x, most), NULL);
    cudnn_tensor *sum = by_row(&s, CUDNN_REDUCE_TENSOR_ADD, power);
    cudnn_tensor *logarithm = apply(&s, CUDNN_POINTWISE_LOG, sum, NULL);
    cudnn_pointwise(g, &(cudnn_pointwise_desc){.mode = CUDNN_POINTWISE_ADD,
                                               .compute = CUDNN_DATA_FLOAT,
                                               .x = most,
                                               .b = logarithm,
                                               .y = own->stats});
    cudnn_tensor *part = matrix(&s, q->type); // of the softmax, as the second product takes it
    cudnn_pointwise(g, &(cudnn_pointwise_desc){.mode = CUDNN_POINTWISE_DIV,
                                               .compute = CUDNN_DATA_FLOAT,
                                               .x = power,
                                               .b = sum,
                                               .y = part});
    cudnn_matmul(g, part, v, out);
    return !*g->why;
}

// out = transposed x times `by`; heads that share one of out are added.
static void product_of_columns(const scores *s, cudnn_tensor *x, cudnn_tensor *by,
                               cudnn_tensor *out)
{
    cudnn_tensor *swapped = cudnn_between(s->g, by->type, 4, s->swapped, s->swapped_strides);
    cudnn_reshape(s->g, x, swapped);
    if (out->sizes[1] == s->all[1]) {
        cudnn_matmul(s->g, swapped, by, out);
        return;
    }
    const int64_t every_head[] = {s->all[0], s->all[1], s->keys, by->sizes[3]};
    cudnn_tensor *heads = cudnn_between(s->g, by->type, 4, every_head, NULL);
    cudnn_matmul(s->g, swapped, by, heads);
    cudnn_reduce(s->g, CUDNN_REDUCE_TENSOR_ADD, heads, out);
}

bool cudnn_attention_backward(cudnn_graph *g, const kiln_attention_backward_desc *d,
                              cudnn_attention *own)
{
    bool has_more = d->has_window || d->q_offsets.buffer || d->bias.buffer || d->slopes.buffer;
    if (!is_plain(g, d->q.rank, has_more))
        return false;
    scores s = scores_of(g, d->q, d->k, d->is_causal, d->scale);
    cudnn_tensor *q = cudnn_view(g, d->q), *k = transposed(g, d->k), *v = transposed(g, d->v),
                 *out = cudnn_view(g, d->out), *dout = cudnn_view(g, d->dout),
                 *dq = cudnn_view(g, d->dq), *dk = cudnn_view(g, d->dk), *dv = cudnn_view(g, d->dv);
    own->stats = cudnn_in_memory(g, CUDNN_DATA_FLOAT, 4, s.rows, NULL);
    own->sums = cudnn_in_memory(g, CUDNN_DATA_FLOAT, 4, s.rows, NULL);
    own->dq = cudnn_in_memory(g, CUDNN_DATA_FLOAT, 4, q->sizes, NULL);

    // sums = dout * out, by row
    cudnn_tensor *both = apply(&s, CUDNN_POINTWISE_MUL, dout, out);
    cudnn_pointwise(g, &(cudnn_pointwise_desc){.mode = CUDNN_POINTWISE_MUL,
                                               .compute = CUDNN_DATA_FLOAT,
                                               .x = by_row(&s, CUDNN_REDUCE_TENSOR_ADD, both),
                                               .b = cudnn_real(g, 1),
                                               .y = own->sums});
    // The softmax again, and dv = transposed softmax times dout
    cudnn_tensor *product = matrix(&s, CUDNN_DATA_FLOAT);
    cudnn_matmul(g, q, k, product);
    cudnn_tensor *x = apply(&s, CUDNN_POINTWISE_MUL, product, s.scale);
    x = masked(&s, apply(&s, CUDNN_POINTWISE_SUB, x, own->stats));
    cudnn_tensor *softmax = apply(&s, CUDNN_POINTWISE_EXP, x, NULL);
    product_of_columns(&s, softmax, dout, dv);
    // The gradient of the scores, and dk = transposed that times q
    cudnn_tensor *gradient = matrix(&s, CUDNN_DATA_FLOAT);
    cudnn_matmul(g, dout, v, gradient);
    gradient = apply(&s, CUDNN_POINTWISE_SUB, gradient, own->sums);
    gradient = apply(&s, CUDNN_POINTWISE_MUL, gradient, softmax);
    gradient = apply(&s, CUDNN_POINTWISE_MUL, gradient, s.scale);
    product_of_columns(&s, gradient, q, dk);
    // dq = that times k, summed in f32
    int64_t sizes[4] = {k->sizes[0], k->sizes[1], k->sizes[3], k->sizes[2]},
            strides[4] = {k->strides[0], k->strides[1], k->strides[3], k->strides[2]};
    cudnn_tensor *rows = cudnn_between(g, k->type, 4, sizes, strides);
    cudnn_reshape(g, k, rows);
    cudnn_matmul(g, gradient, rows, own->dq);
    cudnn_pointwise(g, &(cudnn_pointwise_desc){.mode = CUDNN_POINTWISE_IDENTITY,
                                               .compute = CUDNN_DATA_FLOAT,
                                               .x = own->dq,
                                               .y = dq});
    return !*g->why;
}

// --- convolutions
// cuDNN has two dimensions of space or three: one is the second of two.
static kiln_view with_plane(kiln_view v)
{
    if (v.rank != 3)
        return v;
    kiln_view plane = v;
    plane.rank = 4;
    plane.has_strides = true;
    plane.sizes[2] = 1;
    plane.sizes[3] = v.sizes[2];
    for (int n = 0; n < 4; n++) {
        int from = n < 3 ? n : 2;
        plane.strides[n] = v.has_strides ? v.strides[from]
                           : from == 2   ? 1
                           : from == 1   ? (int64_t)v.sizes[2]
                                         : (int64_t)(v.sizes[1] * v.sizes[2]);
    }
    return plane;
}

static kiln_window plane_window(const kiln_window *window, uint32_t rank)
{
    kiln_window w = *window;
    if (rank == 3) {
        w.stride[1] = w.stride[0], w.dilation[1] = w.dilation[0];
        w.pad_before[1] = w.pad_before[0], w.pad_after[1] = w.pad_after[0];
        w.stride[0] = w.dilation[0] = 1;
        w.pad_before[0] = w.pad_after[0] = 0;
    }
    return w;
}

// A transposed convolution is the gradient of one by its operand.
bool cudnn_conv_forward(cudnn_graph *g, const kiln_conv_desc *d)
{
    if (d->bias.buffer || d->activation != KILN_ACTIVATION_NONE)
        cudnn_wrong(g, "cuDNN is asked for convolutions without bias and activation");
    kiln_window w = plane_window(&d->window, d->x.rank);
    cudnn_tensor *x = cudnn_view(g, with_plane(d->x)),
                 *weight = cudnn_view(g, with_plane(d->weight)),
                 *out = cudnn_view(g, with_plane(d->out));
    if (d->is_transposed)
        cudnn_convolve(g, CUDNN_BY_DATA, &w, out, weight, x);
    else
        cudnn_convolve(g, CUDNN_FORWARD, &w, x, weight, out);
    return !*g->why;
}

bool cudnn_conv_backward(cudnn_graph *g, const kiln_conv_backward_desc *d, bool is_by_weight)
{
    if (d->dbias.buffer)
        cudnn_wrong(g, "cuDNN is asked for convolutions without bias and activation");
    kiln_window w = plane_window(&d->window, d->x.rank);
    cudnn_tensor *dout = cudnn_view(g, with_plane(d->dout));
    if (is_by_weight) {
        cudnn_tensor *x = cudnn_view(g, with_plane(d->x)),
                     *dweight = cudnn_view(g, with_plane(d->dweight));
        cudnn_convolve(g, CUDNN_BY_WEIGHT, &w, d->is_transposed ? dout : x, dweight,
                       d->is_transposed ? x : dout);
    } else {
        cudnn_tensor *weight = cudnn_view(g, with_plane(d->weight)),
                     *dx = cudnn_view(g, with_plane(d->dx));
        if (d->is_transposed)
            cudnn_convolve(g, CUDNN_FORWARD, &w, dout, weight, dx);
        else
            cudnn_convolve(g, CUDNN_BY_DATA, &w, dx, weight, dout);
    }
    return !*g->why;
}
