// Weight matrices of small integers: what a call may be given, and the kernels that make them of
// numbers (quantise.c) and numbers of them (dequantise.c).
#include "ops/linear/host_linear.h"

#include "ops/launch.h"
#include "rt/memory/view.h"

// --- checks
bool linear_is_float(kiln_type type)
{
    return type == KILN_F16 || type == KILN_BF16 || type == KILN_F32;
}

kiln_status linear_check_group(kiln *k, const char *call, uint32_t group, uint32_t *shift)
{
    if (group && (group < 32 || group & (group - 1)))
        return op_refuse(k, call,
                         "a group of %u elements is not possible; it is a power of two from 32 on",
                         group);
    *shift = group ? (uint32_t)__builtin_ctz(group) : 31;
    return KILN_OK;
}

// Scales or zeros as [n, groups].
static kiln_status spread(kiln *k, const char *call, const char *name, kiln_view *v, uint64_t n,
                          uint64_t groups)
{
    const uint64_t sizes[] = {n, groups};
    kiln_view wide = v->rank == 1 && groups == 1 ? kiln_view_unsqueeze(*v, 1) : *v;
    bool fits = wide.rank == 2 || (wide.rank == 1 && wide.sizes[0] == 1) || !wide.rank;
    for (uint32_t d = 0; d < wide.rank && fits; d++)
        fits = wide.sizes[d] == sizes[2 - wide.rank + d] || wide.sizes[d] == 1;
    if (!fits) {
        char got[VIEW_TEXT];
        return op_refuse(k, call, "'%s' is %s; it is [%llu, %llu]%s here", name,
                         view_shape_text(v, got), (unsigned long long)n, (unsigned long long)groups,
                         groups == 1 ? ", a vector of as many, or one number," : "");
    }
    *v = kiln_view_broadcast(wide, 2, sizes);
    return KILN_OK;
}

static kiln_status check_type(kiln *k, const char *call, const char *name, const kiln_view *v,
                              kiln_type type)
{
    const op_operand o = {.name = name, .view = v};
    return op_check_type(k, call, &o, type);
}

kiln_status linear_check_weights(kiln *k, const char *call, linear_weights *w, uint64_t depth,
                                 uint32_t group, bool needs_scale)
{
    kiln_type type = kiln_view_type(*w->data);
    uint64_t groups = group && depth ? (depth + group - 1) / group : 1;
    if (type != KILN_I8 && type != KILN_U32)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: '%s' is %s; weights are i8, or int4 in words of u32", call,
                         w->data_name, kiln_type_name(type));
    w->format = type == KILN_I8 ? WEIGHT_I8 : WEIGHT_I4;
    uint64_t columns = w->format == WEIGHT_I8 ? depth : kiln_int4_words(depth);
    if (w->data->rank != 2 || w->data->sizes[1] != columns) {
        char got[VIEW_TEXT];
        return op_refuse(k, call, "'%s' is %s; for %llu elements along K it has rows of %llu %s",
                         w->data_name, view_shape_text(w->data, got), (unsigned long long)depth,
                         (unsigned long long)columns,
                         w->format == WEIGHT_I8 ? "bytes" : "words (kiln_int4_words)");
    }
    if (columns > 1 && kiln_view_stride(*w->data, 1) != 1)
        return op_refuse(k, call, "the rows of '%s' are not contiguous", w->data_name);
    w->n = w->data->sizes[0];
    if (w->n > INT32_MAX)
        return op_refuse(k, call, "'%s' has more than 2147483647 rows", w->data_name);
    if (!needs_scale)
        return KILN_OK;
    if (!w->scale.buffer)
        return op_refuse(k, call, "'%s' is missing", w->scale_name);
    if (!linear_is_float(kiln_view_type(w->scale)))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: '%s' is %s; bf16, f16 and f32 are possible", call, w->scale_name,
                         kiln_type_name(kiln_view_type(w->scale)));
    kiln_status status = spread(k, call, w->scale_name, &w->scale, w->n, groups);
    if (status || !w->zero.buffer)
        return status;
    status = check_type(k, call, w->zero_name, &w->zero, type == KILN_I8 ? KILN_I8 : KILN_U8);
    return status ? status : spread(k, call, w->zero_name, &w->zero, w->n, groups);
}

void linear_set_weights(const linear_weights *w, linear_layer *to)
{
    *to = (linear_layer){.n = (uint32_t)w->n, .weight = kiln_view_stride(*w->data, 0)};
    for (uint32_t d = 0; d < 2; d++) {
        to->scale[d] = w->scale.buffer ? kiln_view_stride(w->scale, d) : 0;
        to->zero[d] = w->zero.buffer ? kiln_view_stride(w->zero, d) : 0;
    }
}

bool linear_is_packed(const kiln_view *v)
{
    int64_t size = (int64_t)view_element_size(v);
    return (v->sizes[1] <= 1 || kiln_view_stride(*v, 1) == 1) && view_is_aligned(v, 16) &&
           (v->sizes[0] <= 1 || kiln_view_stride(*v, 0) * size % 16 == 0);
}

// --- kernels
#define AXES "ops/linear/axes.def"
#include "ops/axes.h"
static const op_program quantise = OP_PROGRAM("ops/linear/quantise.c", "quantise_weights");
static const op_program dequantise = OP_PROGRAM("ops/linear/dequantise.c", "dequantise_weights");

typedef struct conversion {
    const char *call, *numbers_name;
    const kiln_view *numbers; // [n, k]
    linear_weights weights;
    uint32_t group;
    bool is_back; // to numbers
    kiln_stream *stream;
} conversion;

static kiln_status check(kiln *k, conversion *c, uint32_t *shift)
{
    const op_operand o[] = {
        {.name = c->numbers_name, .view = c->numbers, .is_result = c->is_back},
        {.name = "weight", .view = c->weights.data, .is_result = !c->is_back},
        {.name = "scale", .view = &c->weights.scale, .is_result = !c->is_back},
        {.name = "zero", .view = &c->weights.zero, .is_result = !c->is_back, .is_optional = true}};
    kiln_type type = kiln_view_type(*c->numbers);
    char got[VIEW_TEXT];
    kiln_status status = op_check_operands(k, c->call, o, COUNT(o), NULL);
    if (!status)
        status = linear_check_group(k, c->call, c->group, shift);
    if (!status && !linear_is_float(type))
        status = error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                           "%s: '%s' is %s; bf16, f16 and f32 are possible", c->call,
                           c->numbers_name, kiln_type_name(type));
    if (!status && (c->numbers->rank != 2 || c->numbers->sizes[1] > INT32_MAX))
        status = op_refuse(k, c->call,
                           "'%s' is %s; it has two dimensions, rows and K, and K is at most "
                           "2147483647",
                           c->numbers_name, view_shape_text(c->numbers, got));
    if (!status)
        status =
            linear_check_weights(k, c->call, &c->weights, c->numbers->sizes[1], c->group, true);
    if (!status && c->weights.n != c->numbers->sizes[0])
        status = op_refuse(k, c->call, "'weight' has %llu rows, and '%s' is %s",
                           (unsigned long long)c->weights.n, c->numbers_name,
                           view_shape_text(c->numbers, got));
    // A result that was broadcast would be written more than once.
    for (uint32_t n = 2; n < 4 && !status && !c->is_back; n++)
        if (o[n].view->buffer)
            status = view_check_written(k, o[n].view, c->call, o[n].name);
    return status;
}

static kiln_status convert(kiln *k, conversion *c)
{
    enum { EIGHTS = 256, ROWS = 4, WARPS = 4, LONG = 2048, MANY = 132 * 8, MOST_ROWS = 65535 };
    linear_argument a = {0};
    kiln_status status = check(k, c, &a.group_shift);
    // Rows of no numbers still have a scale.
    if (status || !c->weights.n || (c->is_back && !kiln_view_count(*c->numbers)))
        return status;
    kiln_type type = kiln_view_type(*c->numbers);
    uint64_t depth = c->numbers->sizes[1];
    uint64_t groups = c->group && depth ? op_ceil_div(depth, c->group) : 1;
    const kiln_device_info *info;
    status = op_device(k, &info);
    if (status)
        return status;
    // dequantise.c: a block has 256 times eight numbers of some rows; quantise.c: a warp has a
    // group, or a block where they are long and few.
    bool is_together = depth / groups >= LONG && c->weights.n * groups < MANY &&
                       (!info->caps.is_host || info->caps.is_emulated);
    uint64_t blocks = c->is_back ? op_ceil_div(depth, 8 * EIGHTS) : groups;
    uint64_t together = c->is_back ? ROWS : is_together ? 1 : WARPS; // rows of a block
    uint64_t rows = op_ceil_div(c->weights.n, together);
    a.k = (uint32_t)depth;
    linear_set_weights(&c->weights, &a.layers[0]);
    op_request r = {.program = c->is_back ? &dequantise : &quantise};
    op_set(&r, WEIGHT, c->weights.format);
    op_set(&r, SCALE, kiln_view_type(c->weights.scale));
    op_set(&r, HAS_ZERO, c->weights.zero.buffer != NULL);
    for (uint32_t d = 0; d < 2; d++)
        *(c->is_back ? &a.layers[0].out[d] : &a.x[d]) = kiln_view_stride(*c->numbers, d);
    op_set(&r, X_PACKED, linear_is_packed(c->numbers));
    op_set(&r, W_PACKED, linear_is_packed(c->weights.data));
    if (c->is_back) {
        op_set(&r, OUT, type);
        op_set(&r, OUT_TYPE, type);
    } else {
        op_set(&r, X, type);
        op_set(&r, X_TYPE, type);
        op_set(&r, TOGETHER, is_together);
    }
    kiln_arg args[5];
    uint32_t count = 0;
    if (!c->is_back)
        args[count++] = kiln_arg_view(*c->numbers);
    args[count++] = kiln_arg_view(*c->weights.data);
    args[count++] = kiln_arg_view(c->weights.scale);
    if (c->weights.zero.buffer)
        args[count++] = kiln_arg_view(c->weights.zero);
    if (c->is_back)
        args[count++] = kiln_arg_view(*c->numbers);
    args[count++] = kiln_arg_struct(&a, sizeof a);
    return op_launch(k, &(op_launch_desc){.request = &r,
                                          .blocks = blocks,
                                          .parts = op_min(rows, MOST_ROWS),
                                          .args = args,
                                          .arg_count = count,
                                          .stream = c->stream});
}

kiln_status kiln_quantise_weights(kiln *k, const kiln_quantise_weights_desc *d)
{
    const char *call = "kiln_quantise_weights";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    conversion c = {.call = call,
                    .numbers_name = "x",
                    .numbers = &d->x,
                    .weights = {.data = &d->weight,
                                .data_name = "weight",
                                .scale_name = "scale",
                                .zero_name = "zero",
                                .scale = d->scale,
                                .zero = d->zero},
                    .group = d->group,
                    .stream = d->stream};
    return convert(k, &c);
}

kiln_status kiln_dequantise_weights(kiln *k, const kiln_dequantise_weights_desc *d)
{
    const char *call = "kiln_dequantise_weights";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    conversion c = {.call = call,
                    .numbers_name = "out",
                    .numbers = &d->out,
                    .weights = {.data = &d->weight,
                                .data_name = "weight",
                                .scale_name = "scale",
                                .zero_name = "zero",
                                .scale = d->scale,
                                .zero = d->zero},
                    .group = d->group,
                    .is_back = true,
                    .stream = d->stream};
    return convert(k, &c);
}
