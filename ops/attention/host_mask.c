// What hides keys from queries and what is added to scores, of an attention call: windows,
// sequences of different lengths, biases and slopes. Views are checked and become the arguments of
// mask.h.
#include <stdio.h>

#include "ops/attention/host_attention.h"
#include "ops/attention/sizes.h"
#include "rt/memory/view.h"

// --- checking
static kiln_status wrong_shape(const attention *a, const char *name, const kiln_view *v,
                               const char *wanted)
{
    char given[VIEW_TEXT];
    return error_set(a->k, KILN_E_BAD_ARGUMENT, K7004, "%s: '%s' is %s, not %s", a->op, name,
                     view_shape_text(v, given), wanted);
}

static kiln_status check_view(const attention *a, const char *name, const kiln_view *v,
                              const tensor *tensors, size_t count)
{
    kiln_status status = view_check(a->k, v, a->op, name);
    for (size_t n = 0; n < count && !status; n++)
        if (tensors[n].is_result && kiln_view_overlaps(*v, *tensors[n].view))
            status = error_set(a->k, KILN_E_BAD_ARGUMENT, K6003,
                               "%s: '%s' and the result '%s' have elements in common", a->op, name,
                               tensors[n].name);
    return status;
}

static kiln_status check_type(const attention *a, const char *name, const kiln_view *v,
                              kiln_type wanted)
{
    if (kiln_view_type(*v) == wanted)
        return KILN_OK;
    return error_set(a->k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not %s", a->op, name,
                     kiln_type_name(kiln_view_type(*v)), kiln_type_name(wanted));
}

static kiln_status check_window(attention *a)
{
    const int64_t no_limit = (int64_t)1 << 40; // more than there are rows
    const masking *m = &a->mask;
    if (!m->has_window && (m->left || m->right))
        return attention_wrong(a, "window_left or window_right is given, but has_window is not");
    kernel_mask *to = &a->kernel_mask;
    to->left = m->has_window && m->left >= 0 ? m->left : no_limit;
    to->right = a->is_causal ? 0 : m->has_window && m->right >= 0 ? m->right : no_limit;
    return KILN_OK;
}

static kiln_status check_offsets(attention *a, const tensor *tensors, size_t tensor_count)
{
    const masking *m = &a->mask;
    const struct {
        const char *name;
        const kiln_view *view;
    } both[] = {{"q_offsets", &m->q_offsets}, {"k_offsets", &m->k_offsets}};
    if (!m->q_offsets.buffer && !m->k_offsets.buffer)
        return KILN_OK;
    if (!m->q_offsets.buffer || !m->k_offsets.buffer)
        return attention_wrong(a, "q_offsets and k_offsets are given both, or none");
    if (a->batch != 1)
        return attention_wrong(a, "with offsets the batch is 1: sequences are rows one behind the "
                                  "other");
    if (m->bias.buffer)
        return attention_wrong(a, "a bias with offsets is not possible; slopes are");
    for (size_t n = 0; n < COUNT(both); n++) {
        const kiln_view *v = both[n].view;
        kiln_status status = check_view(a, both[n].name, v, tensors, tensor_count);
        if (!status)
            status = check_type(a, both[n].name, v, KILN_I32);
        if (status)
            return status;
        if (v->rank != 1 || !v->sizes[0] || v->sizes[0] > INT32_MAX || !kiln_view_is_dense(*v) ||
            v->sizes[0] != m->q_offsets.sizes[0])
            return wrong_shape(a, both[n].name, v, "[sequences + 1], dense, as many of q as of k");
    }
    a->kernel_mask.sequences = (uint32_t)m->q_offsets.sizes[0] - 1;
    return KILN_OK;
}

static kiln_status check_slopes(attention *a, const tensor *tensors, size_t count)
{
    const kiln_view *v = &a->mask.slopes;
    if (!v->buffer)
        return KILN_OK;
    kiln_status status = check_view(a, "slopes", v, tensors, count);
    if (!status)
        status = check_type(a, "slopes", v, KILN_F32);
    if (status)
        return status;
    bool is_right = v->rank == 1   ? v->sizes[0] == a->heads
                    : v->rank == 2 ? v->sizes[0] == a->batch && v->sizes[1] == a->heads
                                   : false;
    if (!is_right)
        return wrong_shape(a, "slopes", v, "[heads] or [batch, heads]");
    int64_t by[KILN_MAX_RANK] = {0};
    view_strides(v, by);
    a->kernel_mask.slope_batch = v->rank == 2 ? by[0] : 0;
    a->kernel_mask.slope_head = by[v->rank - 1];
    return KILN_OK;
}

static kiln_status check_bias(attention *a, const tensor *tensors, size_t count)
{
    const kiln_view *v = &a->mask.bias;
    if (!v->buffer)
        return KILN_OK;
    kiln_status status = check_view(a, "bias", v, tensors, count);
    if (status)
        return status;
    kiln_type type = kiln_view_type(*v);
    if (type != KILN_F32 && type != KILN_F16 && type != KILN_BF16)
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K6011, "%s: 'bias' is %s, not f32, f16 or bf16",
                         a->op, kiln_type_name(type));
    const uint64_t sizes[] = {a->batch, a->heads, a->queries, a->keys};
    kernel_mask *to = &a->kernel_mask;
    int64_t *places[] = {&to->bias_batch, &to->bias_head, &to->bias_query, &to->bias_key};
    int64_t by[KILN_MAX_RANK] = {0};
    view_strides(v, by);
    bool is_right = v->rank >= 1 && v->rank <= 4;
    for (uint32_t n = 0; n < v->rank && is_right; n++) {
        uint32_t at = n + 4 - v->rank;
        is_right = v->sizes[n] == sizes[at] || v->sizes[n] == 1;
        *places[at] = v->sizes[n] == 1 ? 0 : by[n];
    }
    char wanted[VIEW_TEXT + 32], shape[VIEW_TEXT];
    snprintf(wanted, sizeof wanted, "%s or broadcast to it", view_sizes_text(4, sizes, shape));
    return is_right ? KILN_OK : wrong_shape(a, "bias", v, wanted);
}

kiln_status attention_check_mask(attention *a, const tensor *tensors, size_t count)
{
    kiln_status status = check_window(a);
    if (!status)
        status = check_offsets(a, tensors, count);
    if (!status)
        status = check_slopes(a, tensors, count);
    return status ? status : check_bias(a, tensors, count);
}

// --- for the kernels
size_t attention_add_mask(const attention *a, op_request *r, kiln_arg *args, size_t count)
{
    const masking *m = &a->mask;
    op_set(r, MASK, true);
    if (m->q_offsets.buffer) {
        op_set(r, OFFSETS, true);
        args[count++] = kiln_arg_view(m->q_offsets);
        args[count++] = kiln_arg_view(m->k_offsets);
    }
    if (m->slopes.buffer) {
        op_set(r, SLOPES, true);
        args[count++] = kiln_arg_view(m->slopes);
    }
    if (m->bias.buffer) {
        op_set(r, BIAS, kiln_view_type(m->bias));
        args[count++] = kiln_arg_view(m->bias);
    }
    args[count++] = kiln_arg_struct(&a->kernel_mask, sizeof a->kernel_mask);
    return count;
}

uint32_t attention_tiles(const attention *a, uint32_t length, uint32_t rows)
{
    const kiln_view *offsets = &a->mask.q_offsets; // one more than sequences
    return offsets->buffer ? length / rows + (uint32_t)offsets->sizes[0] + 1
                           : ceil_div(length, rows);
}

// --- sm_90a
const char *attention_sm90_mask_obstacle(const attention *a)
{
    if (!a->is_masked)
        return NULL;
    if (!a->keys)
        return "there are no keys";
    return a->queries > MOST_SHIFT / 2 || a->keys > MOST_SHIFT / 2 ? "there are too many rows"
                                                                   : NULL;
}

bool attention_has_pairs(const attention *a)
{
    return a->is_causal && (!a->is_masked || a->kernel_mask.left >= a->keys) &&
           !a->mask.q_offsets.buffer;
}
