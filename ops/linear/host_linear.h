// What the host files of linear layers share: the views of a weight matrix, checked, and its form.
#ifndef KILN_HOST_LINEAR_H
#define KILN_HOST_LINEAR_H

#include "kiln/ops_linear.h"

#include "ops/operands.h"

typedef enum weight_format { WEIGHT_I8, WEIGHT_I4 } weight_format; // of the axis WEIGHT

enum { LINEAR_LAYERS = 3 };

// A weight matrix with its scales and zeros; `scale` and `zero` are [n, groups] after the checks.
typedef struct linear_weights {
    const kiln_view *data;
    const char *data_name, *scale_name, *zero_name;
    kiln_view scale, zero;
    weight_format format;
    uint64_t n;
} linear_weights;

// As layer.h has them.
typedef struct linear_layer {
    uint32_t n;
    int64_t weight, scale[2], zero[2], bias, out[2];
} linear_layer;

typedef struct linear_argument {
    uint32_t m, k, group_shift;
    int64_t x[2], x_scale;
    linear_layer layers[LINEAR_LAYERS];
} linear_argument;

bool linear_is_float(kiln_type type);
// Is `group` possible? With its shift; 31 where there is one group.
kiln_status linear_check_group(kiln *k, const char *call, uint32_t group, uint32_t *shift);
// Format and sizes of weights for `depth` elements of K; scales and zeros are broadcast to
// [n, groups]. The views are operands that were checked.
kiln_status linear_check_weights(kiln *k, const char *call, linear_weights *w, uint64_t depth,
                                 uint32_t group, bool needs_scale);
// Their strides, in what a kernel takes.
void linear_set_weights(const linear_weights *w, linear_layer *to);
// Do rows of the matrix start at multiples of 16 bytes, and are they contiguous?
bool linear_is_packed(const kiln_view *v);

#endif
