// The views of an attention call: sizes are taken from them and checked, then they become tensor
// maps, strides and steps for the kernels.
#include <math.h>
#include <stdio.h>

#include "ops/attention/host_attention.h"
#include "ops/attention/sizes.h"
#include "rt/memory/view.h"

#define AXIS(id, text, what, domain) [AXIS_##id] = {.name = text, .kind = OP_##what, domain},
const op_axis attention_axes[] = {
#include "ops/attention/axes.def"
};

// --- checking
kiln_status attention_wrong(const attention *a, const char *what)
{
    return error_set(a->k, KILN_E_BAD_ARGUMENT, K6003, "%s: %s", a->op, what);
}

static kiln_status check_rank(const attention *a, const kiln_view *v, const char *name)
{
    kiln_status status = view_check(a->k, v, a->op, name);
    if (!status && v->rank != 4) {
        char given[VIEW_TEXT];
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: '%s' is %s; it has four dimensions: batch, heads, rows, head_dim",
                         a->op, name, view_shape_text(v, given));
    }
    return status;
}

static kiln_status check_limits(const attention *a, const kiln_view *q, const kiln_view *k)
{
    enum { MOST_ROWS = INT32_MAX - 1024 };
    if (!q->sizes[3] || q->sizes[3] > 1024)
        return attention_wrong(a, "head_dim is 1 to 1024");
    if (op_product(q->sizes[0], q->sizes[1]) > INT32_MAX || q->sizes[2] > MOST_ROWS ||
        op_product(k->sizes[0], k->sizes[1]) > INT32_MAX || k->sizes[2] > MOST_ROWS)
        return attention_wrong(a, "a head's rows and the heads of the batch are at most 2^31 - "
                                  "1024");
    if (op_product(q->sizes[0] * q->sizes[1], q->sizes[2]) > UINT32_MAX ||
        op_product(k->sizes[0] * k->sizes[1], k->sizes[2]) > UINT32_MAX)
        return attention_wrong(a, "the heads of the batch have more than 2^32 - 1 rows");
    return KILN_OK;
}

kiln_status attention_sizes(attention *a, const kiln_view *q, const kiln_view *k,
                            const kiln_view *pages, bool is_causal, float scale,
                            kiln_attention_kernel kernel, const masking *mask)
{
    bool has_sequences = mask->q_offsets.buffer || mask->k_offsets.buffer;
    kiln_status status = check_rank(a, q, "q");
    if (!status)
        status = check_rank(a, k, "k");
    if (!status)
        status = check_limits(a, q, k);
    if (status)
        return status;
    a->type = a->key_type = kiln_view_type(*q);
    a->batch = (uint32_t)q->sizes[0];
    a->heads = (uint32_t)q->sizes[1];
    a->kv_heads = (uint32_t)k->sizes[1];
    a->queries = (uint32_t)q->sizes[2];
    a->keys = (uint32_t)k->sizes[2];
    a->head_dim = (uint32_t)q->sizes[3];
    a->rows = a->batch * a->heads * a->queries;
    a->kv_rows = a->batch * a->kv_heads * a->keys;
    if (pages) {
        uint64_t keys = pages->rank == 2 ? op_product(pages->sizes[1], k->sizes[2]) : 0;
        if (keys > INT32_MAX)
            return attention_wrong(a, "the pages of a batch have more than 2^31 - 1 keys");
        a->pages = (uint32_t)k->sizes[0];
        a->page_size = a->keys;
        a->keys = (uint32_t)keys;
    }
    a->is_causal = is_causal;
    a->mask = *mask;
    a->is_masked = mask->has_window || has_sequences || mask->bias.buffer || mask->slopes.buffer;
    a->scale = scale > 0.0f ? scale : 1.0f / sqrtf((float)a->head_dim);
    if (a->kv_heads ? a->heads % a->kv_heads : a->heads)
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: %u heads of q are not a multiple of the %u heads of k", a->op,
                         a->heads, a->kv_heads);
    if (a->rows && !a->keys && !has_sequences)
        return attention_wrong(a, "there are queries, and no keys");
    if (is_causal && a->queries > a->keys && !has_sequences)
        return attention_wrong(a, "is_causal with more queries than keys: the first ones would see "
                                  "none");
    if (!(scale >= 0.0f) || isinf(scale))
        return attention_wrong(a, "scale is not a positive number");
    if ((unsigned)kernel > KILN_ATTENTION_SM80)
        return attention_wrong(a, "there is no such kernel");
    return KILN_OK;
}

static kiln_status check_tensor(const attention *a, const tensor *t)
{
    kiln_status status = t->is_result ? view_check_written(a->k, t->view, a->op, t->name)
                                      : view_check(a->k, t->view, a->op, t->name);
    if (status)
        return status;
    bool is_keys = t->shape == OF_KEYS;
    uint32_t rank = t->shape == OF_ROWS ? 3 : 4;
    bool is_paged = is_keys && a->page_size;
    const uint64_t sizes[] = {is_paged ? a->pages : a->batch, is_keys ? a->kv_heads : a->heads,
                              is_paged  ? a->page_size
                              : is_keys ? a->keys
                                        : a->queries,
                              a->head_dim};
    if (t->view->rank != rank || memcmp(t->view->sizes, sizes, rank * sizeof *sizes) != 0) {
        char given[VIEW_TEXT], wanted[VIEW_TEXT];
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K7004, "%s: '%s' is %s, not %s", a->op, t->name,
                         view_shape_text(t->view, given), view_sizes_text(rank, sizes, wanted));
    }
    kiln_type type = kiln_view_type(*t->view), right = t->shape == OF_ROWS ? KILN_F32
                                                       : is_keys           ? a->key_type
                                                                           : a->type;
    if (type != right)
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not %s", a->op, t->name,
                         kiln_type_name(type), kiln_type_name(right));
    return KILN_OK;
}

kiln_status attention_check(attention *a, const tensor *tensors, size_t count)
{
    if (a->type != KILN_BF16 && a->type != KILN_F16 && a->type != KILN_F32)
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: tensors of %s; bf16, f16 and f32 are possible", a->op,
                         kiln_type_name(a->type));
    for (size_t n = 0; n < count; n++) {
        kiln_status status = check_tensor(a, &tensors[n]);
        if (status)
            return status;
    }
    for (size_t n = 0; n < count; n++)
        for (size_t other = 0; tensors[n].is_result && other < count; other++)
            if (other != n && kiln_view_overlaps(*tensors[n].view, *tensors[other].view))
                return error_set(a->k, KILN_E_BAD_ARGUMENT, K6003,
                                 "%s: '%s' and the result '%s' have elements in common", a->op,
                                 tensors[other].name, tensors[n].name);
    return KILN_OK;
}

kiln_status attention_check_cache(const attention *a, const kiln_view *lengths,
                                  const kiln_view *pages)
{
    const struct {
        const char *name;
        const kiln_view *view;
        uint32_t rank;
    } all[] = {{"lengths", lengths, 1}, {"pages", pages, 2}};
    for (size_t n = 0; n < COUNT(all); n++) {
        const kiln_view *v = all[n].view;
        if (!v->buffer)
            continue;
        kiln_status status = view_check(a->k, v, a->op, all[n].name);
        if (status)
            return status;
        if (kiln_view_type(*v) != KILN_I32)
            return error_set(a->k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not i32", a->op,
                             all[n].name, kiln_type_name(kiln_view_type(*v)));
        int64_t by[KILN_MAX_RANK] = {0};
        view_strides(v, by);
        bool is_right = v->rank == all[n].rank && v->sizes[0] == a->batch;
        bool is_contiguous = v->sizes[v->rank ? v->rank - 1 : 0] <= 1 || by[all[n].rank - 1] == 1;
        if (!is_right || !is_contiguous || (all[n].rank == 2 && (by[0] < 0 || by[0] > INT32_MAX))) {
            char given[VIEW_TEXT];
            return error_set(a->k, KILN_E_BAD_ARGUMENT, K7004,
                             "%s: '%s' is %s; it has %s for each of %u batches", a->op, all[n].name,
                             view_shape_text(v, given),
                             n ? "a contiguous row" : "one number, without gaps,", a->batch);
        }
    }
    return KILN_OK;
}

bool attention_can(attention *a, const char *why)
{
    if (why)
        snprintf(a->obstacle, sizeof a->obstacle, "%s", why);
    return !why;
}

kiln_status attention_choose(const attention *a, kiln_attention_kernel kernel, bool can_sm90,
                             bool *is_sm90)
{
    if (kernel == KILN_ATTENTION_DECODE)
        return error_set(a->k, KILN_E_UNSUPPORTED, K6038,
                         "%s: the decode kernel cannot: it is for the forward pass", a->op);
    if (kernel == KILN_ATTENTION_SM90 && !can_sm90)
        return error_set(a->k, KILN_E_UNSUPPORTED, K6038, "%s: the sm_90a kernel cannot: %s", a->op,
                         a->obstacle);
    *is_sm90 = kernel == KILN_ATTENTION_SM90 ||
               (kernel == KILN_ATTENTION_BEST && !a->k->caps.is_emulated && can_sm90);
    return KILN_OK;
}

// --- for the kernels
strides attention_strides(const kiln_view *v)
{
    int64_t by[KILN_MAX_RANK] = {0};
    view_strides(v, by);
    return (strides){by[0], by[1], by[2], v->rank == 4 ? by[3] : 1};
}

row_strides attention_row_strides(const kiln_view *v)
{
    strides by = attention_strides(v);
    return (row_strides){by.batch, by.head, by.row};
}

steps attention_steps(const kiln_view *v)
{
    strides by = attention_strides(v);
    return (steps){.head = by.head != 0, .batch = by.batch != 0};
}

bool attention_is_dense(const tensor *tensors, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (!kiln_view_is_dense(*tensors[n].view))
            return false;
    return true;
}

bool attention_is_unit(const tensor *tensors, size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (tensors[n].shape != OF_ROWS && tensors[n].view->sizes[3] > 1 &&
            attention_strides(tensors[n].view).column != 1)
            return false;
    return true;
}

// Why the copy engine and 16-byte accesses do not reach the rows of a tensor; NULL: they do.
static const char *obstacle_of(const tensor *t)
{
    static const int64_t most = (int64_t)1 << 36;
    const kiln_view *v = t->view;
    strides by = attention_strides(v);
    const int64_t all[] = {by.batch, by.head, by.row};
    size_t size = view_element_size(v);
    if (by.column != 1)
        return "its rows are not contiguous";
    if (!view_is_aligned(v, 16) || v->first * size % v->buffer->elem_size)
        return "its first element is not at a multiple of 16 bytes";
    for (int n = 0; n < 3; n++) {
        if (v->sizes[n] == 1)
            continue;
        if (all[n] % (int64_t)(16 / size))
            return "its strides are not multiples of 16 bytes";
        if (!t->is_result && (all[n] < 0 || all[n] > most || (n == 2 && all[n] == 0)))
            return "the copy engine has no such strides";
    }
    return NULL;
}

bool attention_is_aligned(attention *a, const tensor *tensors, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const char *why = tensors[n].shape == OF_ROWS ? NULL : obstacle_of(&tensors[n]);
        if (why) {
            snprintf(a->obstacle, sizeof a->obstacle, "'%s': %s", tensors[n].name, why);
            return false;
        }
    }
    return true;
}

uint32_t attention_processors(const attention *a)
{
    const kiln_device_info *device;
    return a->k->caps.is_emulated || op_device(a->k, &device) ? 4 : device->multiprocessors;
}

kiln_status attention_map(const attention *a, const kiln_view *v, bool is_dense, uint32_t box_rows,
                          kiln_tensor_map *out)
{
    size_t size = view_element_size(v);
    kiln_tensor_map_desc d = {.buffer = v->buffer,
                              .first = v->first * size / v->buffer->elem_size,
                              .type = kiln_view_type(*v),
                              .rank = is_dense ? 3 : 4,
                              .size = {v->sizes[3], v->sizes[2], v->sizes[1], v->sizes[0]},
                              .box = {64, box_rows, 1, 1},
                              .swizzle_bytes = 128,
                              .promotion_bytes = 256};
    if (is_dense) {
        d.size[2] *= d.size[3];
        return kiln_tensor_map_make(a->k, &d, out);
    }
    strides by = attention_strides(v);
    const int64_t all[] = {1, by.row, by.head, by.batch};
    for (int n = 1; n < 4; n++) {
        if (all[n] == 0) // a broadcast: the kernel asks for its only one
            d.size[n] = 1;
        if (d.size[n] > 1)
            d.stride_bytes[n] = (uint64_t)all[n] * size;
    }
    return kiln_tensor_map_make(a->k, &d, out);
}

kiln_status attention_map_parts(const attention *a, const kiln_view *v, uint32_t box_rows,
                                kiln_tensor_map *out)
{
    size_t size = view_element_size(v);
    strides by = attention_strides(v);
    uint64_t row = v->sizes[2] > 1 ? (uint64_t)by.row * size : 16; // one row: any step does
    bool has_heads = by.head != 0 && v->sizes[1] > 1;
    // PART_ROWS turns of 2^34 bytes less a row are a multiple of 2^64 less PART_ROWS rows.
    const uint64_t turn = ((uint64_t)1 << 34) - row;
    const kiln_tensor_map_desc d = {
        .buffer = v->buffer,
        .first = v->first * size / v->buffer->elem_size,
        .type = kiln_view_type(*v),
        .rank = 5,
        .size = {v->sizes[3], PART_ROWS, has_heads ? v->sizes[1] : 1, v->sizes[2] + 1,
                 PART_ROWS + 1},
        .stride_bytes = {0, row, has_heads ? (uint64_t)by.head * size : 16, row, turn},
        .box = {64, box_rows, 1, 1, 1},
        .swizzle_bytes = 128,
        .promotion_bytes = 256};
    return a->k->ops->tensor_map(a->k, &d, out);
}
