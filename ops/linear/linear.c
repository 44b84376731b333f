// kiln_linear and kiln_linear_qkv: checks, launches, and the choice of the kernel. One to three
// weight matrices are one job. Start reading at kiln_linear.
#include "ops/linear/host_job.h"

#include "rt/memory/view.h"

#define AXES "ops/linear/axes.def"
#include "ops/axes.h"
static const op_program rows_program = OP_PROGRAM("ops/linear/rows.c", "linear_rows"),
                        cpu_program = OP_PROGRAM("ops/linear/rows_cpu.c", "linear_rows_cpu"),
                        tensor_program = OP_PROGRAM("ops/linear/tensor.c", "linear_tensor");

// --- checks
static kiln_status check_operands(kiln *k, const job *j)
{
    op_operand o[2 + 5 * LINEAR_LAYERS] = {
        {.name = "x", .view = &j->x},
        {.name = "x_scale", .view = &j->x_scale, .is_optional = true}};
    size_t count = 2;
    for (uint32_t n = 0; n < j->count; n++) {
        const layer *y = &j->layers[n];
        o[count++] = (op_operand){.name = y->weights.data_name, .view = y->weights.data};
        o[count++] = (op_operand){
            .name = y->weights.scale_name, .view = &y->weights.scale, .is_optional = true};
        o[count++] = (op_operand){
            .name = y->weights.zero_name, .view = &y->weights.zero, .is_optional = true};
        o[count++] = (op_operand){.name = y->bias_name, .view = y->bias, .is_optional = true};
        o[count++] = (op_operand){.name = y->out_name, .view = y->out, .is_result = true};
    }
    return op_check_operands(k, j->call, o, count, NULL);
}

static kiln_status check_types(kiln *k, const job *j)
{
    kiln_type x = kiln_view_type(j->x), out = kiln_view_type(*j->layers[0].out);
    if (x != KILN_I8 && !linear_is_float(x))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: 'x' is %s; bf16, f16, f32 and i8 are possible", j->call,
                         kiln_type_name(x));
    if (!linear_is_float(out) && !(out == KILN_I32 && x == KILN_I8))
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: '%s' is %s; bf16, f16 and f32 are possible, and i32 for 'x' of i8",
                         j->call, j->layers[0].out_name, kiln_type_name(out));
    if (x != KILN_I8 && j->x_scale.buffer)
        return op_refuse(k, j->call, "'x_scale' goes with 'x' of i8, and that is %s",
                         kiln_type_name(x));
    if (x == KILN_I8 && j->group)
        return op_refuse(k, j->call, "'x' of i8 takes no groups: 'group' is 0");
    if (out == KILN_I32 && (j->x_scale.buffer || j->activation))
        return op_refuse(k, j->call, "sums of i32 have no scale and no activation");
    return KILN_OK;
}

static kiln_status check_layer(kiln *k, const job *j, layer *y)
{
    kiln_type x = kiln_view_type(j->x), out = kiln_view_type(*y->out);
    bool is_raw = out == KILN_I32, is_x_i8 = x == KILN_I8;
    const uint64_t m = j->x.sizes[0];
    kiln_status status =
        linear_check_weights(k, j->call, &y->weights, j->x.sizes[1], j->group, !is_raw);
    if (status)
        return status;
    const linear_weights *w = &y->weights, *first = &j->layers[0].weights;
    if (is_x_i8 && w->format != WEIGHT_I8)
        return op_refuse(k, j->call, "'x' of i8 takes '%s' of i8", w->data_name);
    if (is_x_i8 && w->zero.buffer)
        return op_refuse(k, j->call, "'x' of i8 takes no '%s'", w->zero_name);
    if (is_raw && (w->scale.buffer || (y->bias->buffer != NULL)))
        return op_refuse(k, j->call, "sums of i32 have neither '%s' nor '%s'", w->scale_name,
                         y->bias_name);
    char got[VIEW_TEXT];
    if (y->out->rank != 2 || y->out->sizes[0] != m || y->out->sizes[1] != w->n)
        return op_refuse(k, j->call, "'%s' is %s; it is [%llu, %llu] here", y->out_name,
                         view_shape_text(y->out, got), (unsigned long long)m,
                         (unsigned long long)w->n);
    const op_operand bias = {.name = y->bias_name, .view = y->bias, .is_optional = true};
    status = op_check_type(k, j->call, &bias, KILN_F32);
    if (!status && y->bias->buffer && (y->bias->rank != 1 || y->bias->sizes[0] != w->n))
        status = op_refuse(k, j->call, "'%s' is %s; it is [%llu] here", y->bias_name,
                           view_shape_text(y->bias, got), (unsigned long long)w->n);
    if (!status && y != j->layers &&
        (w->format != first->format || out != kiln_view_type(*j->layers[0].out) ||
         (!is_raw && kiln_view_type(w->scale) != kiln_view_type(first->scale)) ||
         !w->zero.buffer != !first->zero.buffer || !y->bias->buffer != !j->layers[0].bias->buffer))
        status = op_refuse(k, j->call,
                           "'%s' and '%s' differ in a type, or one has zeros or a bias and the "
                           "other has none",
                           w->data_name, first->data_name);
    return status;
}

static kiln_status check(kiln *k, job *j)
{
    char got[VIEW_TEXT];
    kiln_status status = check_operands(k, j);
    if (!status)
        status = linear_check_group(k, j->call, j->group, &j->argument.group_shift);
    if (!status && j->x.rank != 2)
        status = op_refuse(k, j->call, "'x' is %s; it has two dimensions, rows and K",
                           view_shape_text(&j->x, got));
    if (!status && (j->x.sizes[0] > INT32_MAX || j->x.sizes[1] > INT32_MAX))
        status = op_refuse(k, j->call, "'x' is %s; neither of its sizes is above 2147483647",
                           view_shape_text(&j->x, got));
    if (!status && j->activation > KILN_ACTIVATION_SILU)
        status = op_refuse(k, j->call, "there is no activation %d", (int)j->activation);
    if (!status && j->kernel > KILN_LINEAR_REGISTERS)
        status = op_refuse(k, j->call, "there is no kernel %d", (int)j->kernel);
    if (!status)
        status = check_types(k, j);
    for (uint32_t n = 0; n < j->count && !status; n++)
        status = check_layer(k, j, &j->layers[n]);
    if (status || !j->x_scale.buffer)
        return status;
    const op_operand x_scale = {.name = "x_scale", .view = &j->x_scale};
    status = op_check_type(k, j->call, &x_scale, KILN_F32);
    if (!status && (j->x_scale.rank > 1 || (j->x_scale.rank && j->x_scale.sizes[0] != 1 &&
                                            j->x_scale.sizes[0] != j->x.sizes[0])))
        status = op_refuse(k, j->call, "'x_scale' is %s; it is [%llu] or [1] here",
                           view_shape_text(&j->x_scale, got), (unsigned long long)j->x.sizes[0]);
    return status;
}

// --- launches
bool linear_is_grouped(const job *j)
{
    return j->group && j->group < j->x.sizes[1] && kiln_view_type(j->x) != KILN_I8;
}

// What becomes of a sum.
void linear_set_result_axes(const job *j, op_request *r)
{
    const layer *y = &j->layers[0];
    kiln_type out = kiln_view_type(*y->out);
    if (y->weights.scale.buffer)
        op_set(r, SCALE, kiln_view_type(y->weights.scale));
    op_set(r, OUT, out);
    op_set(r, OUT_TYPE, out);
    op_set(r, HAS_BIAS, y->bias->buffer != NULL);
    op_set(r, HAS_X_SCALE, j->x_scale.buffer != NULL);
    op_set(r, ACTIVATION, j->activation);
}

// The axes that all kernels with weights have.
void linear_set_axes(const job *j, op_request *r)
{
    const layer *y = &j->layers[0];
    kiln_type x = kiln_view_type(j->x);
    bool is_packed = true;
    for (uint32_t n = 0; n < j->count; n++)
        is_packed = is_packed && linear_is_packed(j->layers[n].weights.data);
    linear_set_result_axes(j, r);
    op_set(r, X, x);
    op_set(r, X_TYPE, x);
    op_set(r, WEIGHT, y->weights.format);
    op_set(r, HAS_ZERO, y->weights.zero.buffer != NULL);
    op_set(r, THREE, j->count > 1);
    op_set(r, GROUPED, linear_is_grouped(j));
    op_set(r, W_PACKED, is_packed);
}

void linear_set_argument(job *j)
{
    linear_argument *a = &j->argument;
    a->m = (uint32_t)j->x.sizes[0];
    a->k = (uint32_t)j->x.sizes[1];
    a->x[0] = kiln_view_stride(j->x, 0);
    a->x[1] = kiln_view_stride(j->x, 1);
    a->x_scale = j->x_scale.buffer && j->x_scale.rank && j->x_scale.sizes[0] > 1
                     ? kiln_view_stride(j->x_scale, 0)
                     : 0;
    for (uint32_t n = 0; n < j->count; n++) {
        const layer *y = &j->layers[n];
        linear_set_weights(&y->weights, &a->layers[n]);
        a->layers[n].bias = y->bias->buffer ? kiln_view_stride(*y->bias, 0) : 0;
        a->layers[n].out[0] = kiln_view_stride(*y->out, 0);
        a->layers[n].out[1] = kiln_view_stride(*y->out, 1);
    }
}

kiln_status linear_launch(kiln *k, job *j, const op_request *r, tiling t)
{
    kiln_arg args[3 + 5 * LINEAR_LAYERS];
    uint32_t count = 0;
    uint64_t blocks = 0;
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, r, &kernel);
    if (status)
        return status;
    linear_set_argument(j);
    args[count++] = kiln_arg_view(j->x);
    for (uint32_t n = 0; n < j->count; n++) {
        args[count++] = kiln_arg_view(*j->layers[n].weights.data);
        blocks += op_ceil_div(j->layers[n].weights.n, t.width) * (t.splits ? t.splits : 1);
    }
    for (uint32_t n = 0; n < j->count && j->layers[0].weights.scale.buffer; n++)
        args[count++] = kiln_arg_view(j->layers[n].weights.scale);
    for (uint32_t n = 0; n < j->count && j->layers[0].weights.zero.buffer; n++)
        args[count++] = kiln_arg_view(j->layers[n].weights.zero);
    for (uint32_t n = 0; n < j->count && j->layers[0].bias->buffer; n++)
        args[count++] = kiln_arg_view(*j->layers[n].bias);
    if (j->x_scale.buffer)
        args[count++] = kiln_arg_view(j->x_scale);
    for (uint32_t n = 0; n < j->count; n++)
        args[count++] = kiln_arg_view(*j->layers[n].out);
    args[count++] = kiln_arg_struct(&j->argument, sizeof j->argument);
    uint64_t tiles = blocks;
    if (t.is_resident && blocks > kernel->resident)
        blocks = kernel->resident > t.splits ? kernel->resident / t.splits * t.splits : t.splits;
    size_t bytes = kernel->shared_bytes + t.more_bytes;
    size_t least = t.all_bytes + (size_t)op_ceil_div(tiles, blocks) * t.tile_bytes;
    bytes = bytes > least ? bytes : least;
    if (bytes > k->caps.shared_bytes)
        return op_refuse(k, j->call, "%zu bytes of shared memory are too many", bytes);
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)blocks, t.rows},
                                                           .shared_bytes = bytes,
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = j->stream,
                                                           .overlaps_previous = kernel->overlaps});
}

enum { MOST_TILES = 65535 }; // of rows: a grid's second dimension

static kiln_status run_rows(kiln *k, job *j, const kiln_device_info *info)
{
    enum { MOST_ROWS = 8, MOST_LOOSE = 2, LANES = 32 };
    uint32_t rows = 1, most = MOST_ROWS, chunk = j->layers[0].weights.format == WEIGHT_I4 ? 32 : 16;
    bool is_cpu = info->caps.is_host && !info->caps.is_emulated;
    bool is_packed = linear_is_packed(&j->x) && j->x.sizes[1] % chunk == 0;
    if (!is_packed && !is_cpu)
        most = MOST_LOOSE;
    while (rows < most && rows < j->x.sizes[0])
        rows *= 2;
    uint32_t columns = !is_packed ? 1 : rows == 8 ? 2 : 4, warps = info->caps.is_host ? 1 : 4;
    uint64_t tiles = op_ceil_div(j->x.sizes[0], rows);
    op_request r = {.program = is_cpu ? &cpu_program : &rows_program};
    linear_set_axes(j, &r);
    op_set(&r, ROWS, rows);
    if (!is_cpu) {
        op_set(&r, X_PACKED, is_packed);
        op_set(&r, COLUMNS, columns);
        op_set(&r, WARPS, warps);
    }
    return linear_launch(k, j, &r,
                         (tiling){.width = is_cpu ? LANES : warps * columns,
                                  .rows = (uint32_t)(tiles < MOST_TILES ? tiles : MOST_TILES)});
}

// --- tensor cores
// Why they are impossible; NULL: they are possible.
const char *linear_obstacle(kiln *k, const job *j)
{
    enum { LEAST_TILE = 64 };
    if (!k->caps.has_nv || (k->caps.sm && k->caps.sm < 80))
        return "the device has no tensor cores of sm_80";
    if (kiln_view_type(j->x) == KILN_F32)
        return "'x' is f32";
    if (!j->x.sizes[1])
        return "K is 0";
    return op_ceil_div(j->x.sizes[0], LEAST_TILE) > MOST_TILES ? "'x' has too many rows" : NULL;
}

// Columns are contiguous, and pairs of them start at even elements.
static bool is_paired(const kiln_view *out)
{
    return (out->sizes[1] <= 1 || kiln_view_stride(*out, 1) == 1) && out->sizes[1] % 2 == 0 &&
           kiln_view_stride(*out, 0) % 2 == 0 && view_is_aligned(out, 2 * view_element_size(out));
}

// Tiles of 128 rows and columns where there are enough of them for the device. Of int8 they gain
// little: three layers take the tile that the largest takes alone.
static kiln_status run_tensor(kiln *k, job *j)
{
    enum { FULL = 132 };
    uint64_t columns = 0;
    uint32_t tile_m = 128, tile_n = 128;
    bool is_even = true;
    for (uint32_t n = 0; n < j->count; n++) {
        uint64_t own = j->layers[n].weights.n;
        columns = j->layers[0].weights.format == WEIGHT_I4 ? columns + own
                  : own > columns                          ? own
                                                           : columns;
        is_even = is_even && is_paired(j->layers[n].out);
    }
    if (j->x.sizes[0] <= 64 ||
        op_ceil_div(j->x.sizes[0], tile_m) * op_ceil_div(columns, tile_n) < FULL)
        tile_m = 64;
    if (op_ceil_div(j->x.sizes[0], tile_m) * op_ceil_div(columns, tile_n) < FULL)
        tile_n = 64;
    op_request r = {.program = &tensor_program};
    linear_set_axes(j, &r);
    op_set(&r, X_PACKED, linear_is_packed(&j->x));
    op_set(&r, FOLD, j->group == 32 ? 32 : 64);
    op_set(&r, PAIRS, is_even);
    op_set(&r, BM, tile_m);
    op_set(&r, BN, tile_n);
    return linear_launch(
        k, j, &r, (tiling){.width = tile_n, .rows = (uint32_t)op_ceil_div(j->x.sizes[0], tile_m)});
}

// --- the choice
static kiln_status run(kiln *k, job *j)
{
    uint64_t results = 0;
    const kiln_device_info *info;
    kiln_status status = check(k, j);
    if (!status)
        status = op_device(k, &info);
    for (uint32_t n = 0; n < j->count && !status; n++)
        results += kiln_view_count(*j->layers[n].out);
    if (status || !results)
        return status;
    bool is_few = j->kernel == KILN_LINEAR_FEW,
         has_few = is_few || j->kernel == KILN_LINEAR_REGISTERS;
    const char *why = j->kernel == KILN_LINEAR_UNPACK ? linear_unpack_obstacle(j)
                      : has_few                       ? linear_few_obstacle(k, j)
                                                      : linear_obstacle(k, j);
    if (j->kernel >= KILN_LINEAR_TENSOR && why)
        return op_refuse(k, j->call, "this kernel is impossible here: %s", why);
    if (j->kernel == KILN_LINEAR_REGISTERS) {
        status = linear_run_registers(k, j, info, &why);
        return status || !why ? status
                              : op_refuse(k, j->call, "this kernel is impossible here: %s", why);
    }
    if (linear_is_unpacked(j, info) &&
        (j->workspace.buffer || j->kernel == KILN_LINEAR_UNPACK || !linear_unpacked_bytes(j)))
        return linear_run_unpack(k, j);
    if (is_few ||
        (j->kernel == KILN_LINEAR_BEST && !info->caps.is_emulated && !linear_few_obstacle(k, j))) {
        bool is_done = false;
        if (!is_few) {
            status = linear_run_registers(k, j, info, &why);
            is_done = !why;
        }
        if (!is_done)
            status = linear_run_few(k, j, info, &is_done);
        if (status || is_done)
            return status;
        if (is_few)
            return op_refuse(k, j->call, "this kernel is impossible here: x is too large");
    }
    bool is_tensor = j->kernel == KILN_LINEAR_BEST && !why && !info->caps.is_emulated &&
                     j->x.sizes[0] > FEW_ROWS;
    return is_tensor || j->kernel == KILN_LINEAR_TENSOR ? run_tensor(k, j) : run_rows(k, j, info);
}

static job job_of(const char *call, const kiln_linear_desc *d)
{
    job j = {.call = call,
             .x = d->x,
             .x_scale = d->x_scale,
             .workspace = d->workspace,
             .count = 1,
             .group = d->group,
             .activation = d->activation,
             .kernel = d->kernel,
             .stream = d->stream};
    j.layers[0] = (layer){.weights = {.data = &d->weight,
                                      .data_name = "weight",
                                      .scale_name = "scale",
                                      .zero_name = "zero",
                                      .scale = d->scale,
                                      .zero = d->zero},
                          .bias = &d->bias,
                          .out = &d->out,
                          .bias_name = "bias",
                          .out_name = "out"};
    return j;
}

kiln_status kiln_linear(kiln *k, const kiln_linear_desc *d)
{
    const char *call = "kiln_linear";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    job j = job_of(call, d);
    return run(k, &j);
}

kiln_status kiln_linear_workspace(kiln *k, const kiln_linear_desc *d, uint64_t *bytes)
{
    const char *call = "kiln_linear_workspace";
    const kiln_device_info *info;
    kiln_status status = op_begin_bytes(k, call, d, bytes);
    if (!status)
        status = op_device(k, &info);
    if (status)
        return status;
    job j = job_of(call, d);
    status = check(k, &j);
    if (!status)
        *bytes = linear_is_unpacked(&j, info) && !linear_unpack_obstacle(&j) &&
                         kiln_view_count(*j.layers[0].out)
                     ? linear_unpacked_bytes(&j)
                     : 0;
    return status;
}

kiln_status kiln_linear_qkv(kiln *k, const kiln_linear_qkv_desc *d)
{
    const char *call = "kiln_linear_qkv";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    job j = {.call = call,
             .x = d->x,
             .x_scale = d->x_scale,
             .count = LINEAR_LAYERS,
             .group = d->group,
             .kernel = d->kernel,
             .stream = d->stream};
#define LAYER(q)                                                                                   \
    {                                                                                              \
        .weights = {.data = &d->weight_##q,                                                        \
                    .data_name = "weight_" #q,                                                     \
                    .scale_name = "scale_" #q,                                                     \
                    .zero_name = "zero_" #q,                                                       \
                    .scale = d->scale_##q,                                                         \
                    .zero = d->zero_##q},                                                          \
        .bias = &d->bias_##q, .out = &d->out_##q, .bias_name = "bias_" #q, .out_name = "out_" #q   \
    }
    const layer layers[] = {LAYER(q), LAYER(k), LAYER(v)};
#undef LAYER
    memcpy(j.layers, layers, sizeof layers);
    return run(k, &j);
}
