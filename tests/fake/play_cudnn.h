// The operations of the cuDNN that runs on the host (libcudnn.c), in double: what their shapes must
// be, and what they compute. Tensors are kept by id, element by element in row-major order.
#ifndef KILN_TESTS_FAKE_PLAY_CUDNN_H
#define KILN_TESTS_FAKE_PLAY_CUDNN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "play_numbers.h"

enum { PLAY_RANK = 5, PLAY_TENSORS = 128 };

typedef struct play_tensor {
    int64_t id, sizes[PLAY_RANK], strides[PLAY_RANK];
    int type, rank;
    bool is_virtual, is_value;
    void *data;
} play_tensor;

typedef enum play_kind {
    PLAY_POINTWISE,
    PLAY_MATMUL,
    PLAY_REDUCE,
    PLAY_RESHAPE,
    PLAY_CONVOLVE,
    PLAY_BY_DATA,  // x: dy, b: w, y: dx
    PLAY_BY_WEIGHT // x: x, b: dy, y: dw
} play_kind;

typedef struct play_operation {
    play_kind kind;
    int mode, axis, space;
    int64_t stride[3], dilation[3], before[3], after[3];
    play_tensor x, b, t, y;
    bool has_b, has_t;
} play_operation;

static int play_type_bytes(int type)
{
    switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32: return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16: return 2;
    case CUDNN_DATA_BOOLEAN: return 1;
    default: return 0;
    }
}

static size_t play_count(const play_tensor *t)
{
    size_t count = 1;
    for (int n = 0; n < t->rank; n++)
        count *= (size_t)t->sizes[n];
    return count;
}

// --- shapes
// Every dimension is that of `to`, or 1.
static bool play_broadcasts(const play_tensor *from, const play_tensor *to)
{
    for (int n = 0; n < to->rank; n++)
        if (from->rank != to->rank || (from->sizes[n] != to->sizes[n] && from->sizes[n] != 1))
            return false;
    return true;
}

static const char *play_check_pointwise(const play_operation *o)
{
    bool is_unary = o->mode == CUDNN_POINTWISE_EXP || o->mode == CUDNN_POINTWISE_LOG ||
                    o->mode == CUDNN_POINTWISE_IDENTITY || o->mode == CUDNN_POINTWISE_GEN_INDEX;
    bool is_select = o->mode == CUDNN_POINTWISE_BINARY_SELECT;
    if (is_unary == o->has_b || is_select != o->has_t)
        return "pointwise %ld, %ld: another number of operands";
    if (!play_broadcasts(&o->x, &o->y) || (o->has_b && !play_broadcasts(&o->b, &o->y)) ||
        (o->has_t && !play_broadcasts(&o->t, &o->y)))
        return "pointwise %ld, %ld: shapes do not fit";
    if ((o->mode == CUDNN_POINTWISE_CMP_GE) != (o->y.type == CUDNN_DATA_BOOLEAN) ||
        (is_select && o->t.type != CUDNN_DATA_BOOLEAN))
        return "pointwise %ld, %ld: a comparison gives a boolean, a selection takes one";
    if ((o->mode == CUDNN_POINTWISE_GEN_INDEX) != (o->axis >= 0) || o->axis >= o->y.rank)
        return "pointwise %ld, %ld: an axis is for indices";
    return NULL;
}

// Heads of b may be shared by several of a.
static const char *play_check_matmul(const play_operation *o)
{
    int r = o->y.rank;
    if (r < 3 || o->x.rank != r || o->b.rank != r || o->x.sizes[r - 1] != o->b.sizes[r - 2] ||
        o->x.sizes[r - 2] != o->y.sizes[r - 2] || o->b.sizes[r - 1] != o->y.sizes[r - 1])
        return "product %ld, %ld: shapes do not fit";
    for (int n = 0; n < r - 2; n++)
        if (o->x.sizes[n] != o->y.sizes[n] || o->y.sizes[n] % o->b.sizes[n])
            return "product %ld, %ld: batches do not fit";
    return NULL;
}

static const char *play_check_window(const play_operation *o)
{
    bool by_data = o->kind == PLAY_BY_DATA, by_weight = o->kind == PLAY_BY_WEIGHT;
    const play_tensor *x = by_data ? &o->y : &o->x, *w = by_weight ? &o->y : &o->b,
                      *y = by_data     ? &o->x
                           : by_weight ? &o->b
                                       : &o->y;
    if (x->rank != o->space + 2 || w->rank != x->rank || y->rank != x->rank || o->space < 2)
        return "convolution %ld, %ld: dimensions of space";
    if (x->sizes[0] != y->sizes[0] || w->sizes[0] != y->sizes[1] || x->sizes[1] % w->sizes[1] ||
        w->sizes[0] % (x->sizes[1] / w->sizes[1]))
        return "convolution %ld, %ld: channels and groups do not fit";
    for (int n = 0; n < o->space; n++) {
        int64_t reach = o->dilation[n] * (w->sizes[2 + n] - 1) + 1;
        if (y->sizes[2 + n] !=
            (x->sizes[2 + n] + o->before[n] + o->after[n] - reach) / o->stride[n] + 1)
            return "convolution %ld, %ld: the result has another size";
    }
    return NULL;
}

// NULL, or what is wrong, with places for the ids of x and y.
static const char *play_check(const play_operation *o)
{
    switch (o->kind) {
    case PLAY_POINTWISE: return play_check_pointwise(o);
    case PLAY_MATMUL: return play_check_matmul(o);
    case PLAY_REDUCE:
        for (int n = 0; n < o->y.rank; n++)
            if (o->x.rank != o->y.rank || o->x.sizes[n] % o->y.sizes[n])
                return "reduction %ld, %ld: shapes do not fit";
        return NULL;
    case PLAY_RESHAPE:
        return play_count(&o->x) == play_count(&o->y) ? NULL : "reshape %ld, %ld: other elements";
    case PLAY_CONVOLVE:
    case PLAY_BY_DATA:
    case PLAY_BY_WEIGHT: return play_check_window(o);
    }
    return "no such operation";
}

// --- memory
// Where element n of the row-major order lies.
static int64_t play_place(const play_tensor *t, size_t n)
{
    int64_t place = 0;
    for (int d = t->rank; d-- > 0; n /= (size_t)t->sizes[d])
        place += (int64_t)(n % (size_t)t->sizes[d]) * t->strides[d];
    return place;
}

static double *play_values[PLAY_TENSORS];

static double *play_get(const play_tensor *t)
{
    double *values = play_values[t->id];
    if (values)
        return values;
    values = play_values[t->id] = calloc(play_count(t), sizeof *values);
    for (size_t n = 0; n < play_count(t) && t->data; n++)
        values[n] =
            play_load((char *)t->data + play_place(t, n) * play_type_bytes(t->type), t->type);
    return values;
}

// --- what they compute
// Element n of y is which one of x? A dimension of x that is smaller is shared, or added up.
static size_t play_match(const play_tensor *y, const play_tensor *x, size_t n)
{
    size_t place = 0, scale = 1;
    for (int d = y->rank; d-- > 0; n /= (size_t)y->sizes[d]) {
        size_t index = n % (size_t)y->sizes[d] / (size_t)(y->sizes[d] / x->sizes[d]);
        place += index * scale;
        scale *= (size_t)x->sizes[d];
    }
    return place;
}

static void play_pointwise(const play_operation *o, double *y)
{
    const double *x = play_get(&o->x), *b = o->has_b ? play_get(&o->b) : NULL,
                 *t = o->has_t ? play_get(&o->t) : NULL;
    for (size_t n = 0; n < play_count(&o->y); n++) {
        double left = x[play_match(&o->y, &o->x, n)];
        double right = b ? b[play_match(&o->y, &o->b, n)] : 0;
        size_t index = n;
        for (int d = o->y.rank - 1; d > o->axis && o->axis >= 0; d--)
            index /= (size_t)o->y.sizes[d];
        switch (o->mode) {
        case CUDNN_POINTWISE_ADD: y[n] = left + right; break;
        case CUDNN_POINTWISE_SUB: y[n] = left - right; break;
        case CUDNN_POINTWISE_MUL: y[n] = left * right; break;
        case CUDNN_POINTWISE_DIV: y[n] = left / right; break;
        case CUDNN_POINTWISE_EXP: y[n] = exp(left); break;
        case CUDNN_POINTWISE_LOG: y[n] = log(left); break;
        case CUDNN_POINTWISE_IDENTITY: y[n] = left; break;
        case CUDNN_POINTWISE_CMP_GE: y[n] = left >= right; break;
        case CUDNN_POINTWISE_GEN_INDEX: y[n] = (double)(index % (size_t)o->y.sizes[o->axis]); break;
        case CUDNN_POINTWISE_BINARY_SELECT:
            y[n] = t[play_match(&o->y, &o->t, n)] != 0 ? left : right;
            break;
        default: y[n] = NAN;
        }
    }
}

static void play_matmul(const play_operation *o, double *y)
{
    int r = o->y.rank;
    size_t rows = (size_t)o->y.sizes[r - 2], columns = (size_t)o->y.sizes[r - 1],
           depth = (size_t)o->x.sizes[r - 1];
    const double *a = play_get(&o->x), *b = play_get(&o->b);
    for (size_t n = 0; n < play_count(&o->y); n++) {
        size_t row = n / columns % rows, column = n % columns, batch = n / columns / rows;
        play_tensor outer = o->y, other = o->b; // of the batch alone
        outer.rank = other.rank = r - 2;
        size_t of_b = play_match(&outer, &other, batch);
        y[n] = 0;
        for (size_t i = 0; i < depth; i++)
            y[n] += a[(batch * rows + row) * depth + i] * b[(of_b * depth + i) * columns + column];
    }
}

static void play_reduce(const play_operation *o, double *y)
{
    const double *x = play_get(&o->x);
    bool is_max = o->mode == CUDNN_REDUCE_TENSOR_MAX;
    for (size_t n = 0; n < play_count(&o->y); n++)
        y[n] = is_max ? -INFINITY : 0;
    for (size_t n = 0; n < play_count(&o->x); n++) {
        double *to = &y[play_match(&o->x, &o->y, n)];
        *to = is_max ? fmax(*to, x[n]) : *to + x[n];
    }
}

// A view of the same memory with other strides; a virtual tensor lies as its strides say.
static void play_reshape(const play_operation *o, double *y)
{
    const double *x = play_get(&o->x);
    size_t count = play_count(&o->x);
    for (size_t n = 0; n < count; n++)
        for (size_t i = 0; i < count; i++)
            if (play_place(&o->y, n) == play_place(&o->x, i)) {
                y[n] = x[i];
                break;
            }
}

// Every product of an element of x and a weight goes into an element of y.
static void play_convolve(const play_operation *o, double *out)
{
    bool by_data = o->kind == PLAY_BY_DATA, by_weight = o->kind == PLAY_BY_WEIGHT;
    const play_tensor *x = by_data ? &o->y : &o->x, *w = by_weight ? &o->y : &o->b,
                      *y = by_data     ? &o->x
                           : by_weight ? &o->b
                                       : &o->y;
    const double *left = play_get(&o->x), *right = play_get(&o->b);
    int64_t groups = x->sizes[1] / w->sizes[1];
    for (size_t i = 0; i < play_count(y); i++)
        for (size_t j = 0; j < play_count(w) / (size_t)w->sizes[0]; j++) {
            int64_t at[PLAY_RANK], tap[PLAY_RANK], place = 0;
            size_t rest = i, rest_of_w = j;
            bool is_inside = true;
            for (int d = y->rank; d-- > 0; rest /= (size_t)y->sizes[d])
                at[d] = (int64_t)(rest % (size_t)y->sizes[d]);
            for (int d = w->rank; d-- > 1; rest_of_w /= (size_t)w->sizes[d])
                tap[d] = (int64_t)(rest_of_w % (size_t)w->sizes[d]);
            int64_t group = at[1] / (y->sizes[1] / groups);
            place = at[0] * x->sizes[1] + group * w->sizes[1] + tap[1];
            for (int d = 2; d < x->rank; d++) {
                int64_t from =
                    at[d] * o->stride[d - 2] + tap[d] * o->dilation[d - 2] - o->before[d - 2];
                is_inside &= from >= 0 && from < x->sizes[d];
                place = place * x->sizes[d] + from;
            }
            size_t weight = (size_t)at[1] * (play_count(w) / (size_t)w->sizes[0]) + j;
            if (!is_inside)
                continue;
            if (by_data)
                out[place] += left[i] * right[weight];
            else if (by_weight)
                out[weight] += left[place] * right[i];
            else
                out[i] += left[place] * right[weight];
        }
}

static void play_all(const play_operation *operations, int count)
{
    for (int n = 0; n < count; n++) {
        const play_operation *o = &operations[n];
        double *y = calloc(play_count(&o->y), sizeof *y);
        switch (o->kind) {
        case PLAY_POINTWISE: play_pointwise(o, y); break;
        case PLAY_MATMUL: play_matmul(o, y); break;
        case PLAY_REDUCE: play_reduce(o, y); break;
        case PLAY_RESHAPE: play_reshape(o, y); break;
        case PLAY_CONVOLVE:
        case PLAY_BY_DATA:
        case PLAY_BY_WEIGHT: play_convolve(o, y); break;
        }
        for (size_t i = 0; i < play_count(&o->y); i++) {
            if (o->y.type == CUDNN_DATA_HALF || o->y.type == CUDNN_DATA_BFLOAT16)
                y[i] = play_narrow(y[i], o->y.type);
            if (o->y.data)
                play_store((char *)o->y.data + play_place(&o->y, i) * play_type_bytes(o->y.type),
                           o->y.type, y[i]);
        }
        play_values[o->y.id] = y;
    }
    for (int n = 0; n < PLAY_TENSORS; n++) {
        free(play_values[n]);
        play_values[n] = NULL;
    }
}

#endif
