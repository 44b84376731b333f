// kiln_linear and kiln_linear_qkv: checks, and the choice of the kernel. One to three weight
// matrices are one job. Start reading at kiln_linear.
#include "ops/linear/host_linear.h"

#include "rt/memory/view.h"

#define AXES "ops/linear/axes.def"
#include "ops/axes.h"
static const op_program rows_program = OP_PROGRAM("ops/linear/rows.c", "linear_rows"),
                        cpu_program = OP_PROGRAM("ops/linear/rows_cpu.c", "linear_rows_cpu"),
                        few_program = OP_PROGRAM("ops/linear/few.c", "linear_few"),
                        stream_program = OP_PROGRAM("ops/linear/stream.c", "linear_stream"),
                        tensor_program = OP_PROGRAM("ops/linear/tensor.c", "linear_tensor"),
                        scaled_program = OP_PROGRAM("ops/linear/scaled.c", "linear_scaled");

typedef struct layer { // a weight matrix and what becomes of its product
    linear_weights weights;
    const kiln_view *bias, *out;
    const char *bias_name, *out_name;
} layer;

typedef struct job {
    const char *call;
    kiln_view x, x_scale, workspace;
    layer layers[LINEAR_LAYERS];
    uint32_t count, group;
    kiln_activation activation;
    kiln_linear_kernel kernel;
    kiln_stream *stream;
    linear_argument argument;
} job;

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
    if (!status && j->kernel > KILN_LINEAR_FEW)
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
static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static bool is_grouped(const job *j)
{
    return j->group && j->group < j->x.sizes[1] && kiln_view_type(j->x) != KILN_I8;
}

// What becomes of a sum.
static void set_result_axes(const job *j, op_request *r)
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
static void set_axes(const job *j, op_request *r)
{
    const layer *y = &j->layers[0];
    kiln_type x = kiln_view_type(j->x);
    bool is_packed = true;
    for (uint32_t n = 0; n < j->count; n++)
        is_packed = is_packed && linear_is_packed(j->layers[n].weights.data);
    set_result_axes(j, r);
    op_set(r, X, x);
    op_set(r, X_TYPE, x);
    op_set(r, WEIGHT, y->weights.format);
    op_set(r, HAS_ZERO, y->weights.zero.buffer != NULL);
    op_set(r, THREE, j->count > 1);
    op_set(r, GROUPED, is_grouped(j));
    op_set(r, W_PACKED, is_packed);
}

static void set_argument(job *j)
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

typedef struct tiling {
    uint32_t width;    // columns of a tile
    uint32_t splits;   // blocks that share a tile; 0: one
    uint32_t rows;     // tiles of rows
    bool is_resident;  // no more blocks than run at the same time: each has several tiles
    size_t more_bytes; // of shared memory, behind the kernel's own
    size_t all_bytes;  // of shared memory, at least
    size_t tile_bytes; // of shared memory for each of a resident block's tiles
} tiling;

static kiln_status launch(kiln *k, job *j, const op_request *r, tiling t)
{
    kiln_arg args[3 + 5 * LINEAR_LAYERS];
    uint32_t count = 0;
    uint64_t blocks = 0;
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(k, r, &kernel);
    if (status)
        return status;
    set_argument(j);
    args[count++] = kiln_arg_view(j->x);
    for (uint32_t n = 0; n < j->count; n++) {
        args[count++] = kiln_arg_view(*j->layers[n].weights.data);
        blocks += ceil_div(j->layers[n].weights.n, t.width) * (t.splits ? t.splits : 1);
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
    size_t least = t.all_bytes + (size_t)ceil_div(tiles, blocks) * t.tile_bytes;
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
    uint64_t tiles = ceil_div(j->x.sizes[0], rows);
    op_request r = {.program = is_cpu ? &cpu_program : &rows_program};
    set_axes(j, &r);
    op_set(&r, ROWS, rows);
    if (!is_cpu) {
        op_set(&r, X_PACKED, is_packed);
        op_set(&r, COLUMNS, columns);
        op_set(&r, WARPS, warps);
    }
    return launch(k, j, &r,
                  (tiling){.width = is_cpu ? LANES : warps * columns,
                           .rows = (uint32_t)(tiles < MOST_TILES ? tiles : MOST_TILES)});
}

// --- tensor cores
// Why they are impossible; NULL: they are possible.
static const char *obstacle(kiln *k, const job *j)
{
    enum { LEAST_TILE = 64 };
    if (!k->caps.has_nv || (k->caps.sm && k->caps.sm < 80))
        return "the device has no tensor cores of sm_80";
    if (kiln_view_type(j->x) == KILN_F32)
        return "'x' is f32";
    if (!j->x.sizes[1])
        return "K is 0";
    return ceil_div(j->x.sizes[0], LEAST_TILE) > MOST_TILES ? "'x' has too many rows" : NULL;
}

// Columns are contiguous, and pairs of them start at even elements.
static bool is_paired(const kiln_view *out)
{
    return (out->sizes[1] <= 1 || kiln_view_stride(*out, 1) == 1) && out->sizes[1] % 2 == 0 &&
           kiln_view_stride(*out, 0) % 2 == 0 &&
           (out->buffer->address + out->first * view_element_size(out)) %
                   (2 * view_element_size(out)) ==
               0;
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
    if (j->x.sizes[0] <= 64 || ceil_div(j->x.sizes[0], tile_m) * ceil_div(columns, tile_n) < FULL)
        tile_m = 64;
    if (ceil_div(j->x.sizes[0], tile_m) * ceil_div(columns, tile_n) < FULL)
        tile_n = 64;
    op_request r = {.program = &tensor_program};
    set_axes(j, &r);
    op_set(&r, X_PACKED, linear_is_packed(&j->x));
    op_set(&r, FOLD, j->group == 32 ? 32 : 64);
    op_set(&r, PAIRS, is_even);
    op_set(&r, BM, tile_m);
    op_set(&r, BN, tile_n);
    return launch(k, j, &r,
                  (tiling){.width = tile_n, .rows = (uint32_t)ceil_div(j->x.sizes[0], tile_m)});
}

// --- few rows on tensor cores
enum { FEW_ROWS = 16 }; // of x: up to where reading the weights takes the time

static uint32_t chunk_of(const job *j) // weights of 16 bytes
{
    return j->layers[0].weights.format == WEIGHT_I4 ? 32 : 16;
}

// Words of a row of weights that a lane of few.c reads at a time: four lanes stay within a group.
static uint32_t few_words(const job *j)
{
    uint32_t words = 4;
    while (words > 1 && is_grouped(j) && words * chunk_of(j) > j->group)
        words /= 2;
    return words;
}

static const char *few_obstacle(kiln *k, const job *j)
{
    const char *why = obstacle(k, j);
    if (why)
        return why;
    if (kiln_view_type(j->x) == KILN_I8)
        return "'x' is i8";
    if (j->x.sizes[0] > FEW_ROWS)
        return "'x' has more than 16 rows";
    bool is_packed = linear_is_packed(&j->x) && j->x.sizes[1] % chunk_of(j) == 0;
    for (uint32_t n = 0; n < j->count; n++)
        is_packed = is_packed && linear_is_packed(j->layers[n].weights.data);
    return is_packed ? NULL
                     : "rows of 'x' or of the weights do not start at multiples of 16 bytes, or K "
                       "is no multiple of 16 (int8) or 32 (int4)";
}

// How few.c is launched; false: its part of x does not fit into shared memory.
static bool plan_few(kiln *k, const job *j, const kiln_device_info *info, op_request *r, tiling *t)
{
    enum {
        WARPS = 8,
        MOST_SPLITS = 8,
        RING = 80 << 10,
        WANTED = 48 << 10,
        STATIC_BYTES = 10 << 10
    };
    uint32_t rows = 1, depth = 4 * chunk_of(j), splits = 1; // depth: of a stage
    while (rows < j->x.sizes[0])
        rows *= 2;
    // The part of x that a block reads is small beside its weights; with all warps it is a ring.
    uint32_t warps = rows <= 2 ? 2 : WARPS, group = is_grouped(j) ? j->group : 0;
    uint64_t tiles = 0, stages = ceil_div(j->x.sizes[1], depth), bytes;
    for (uint32_t n = 0; n < j->count; n++)
        tiles += ceil_div(j->layers[n].weights.n, 16 * warps);
    uint64_t most = (uint64_t)info->multiprocessors * 2;
    bool can_split = k->caps.has_clusters || info->caps.is_emulated;
    for (;; splits *= 2) {
        uint64_t own = ceil_div(stages, splits) * depth, groups = group ? own / group + 3 : 1;
        bytes = (warps == WARPS ? 0 : own * rows * 2) +
                groups * 16 * warps * 4 * (j->layers[0].weights.zero.buffer ? 2 : 1);
        bool has_few = tiles * splits * 10 < most * 9 && stages / (splits * WARPS / warps) >= 8;
        if (!can_split || splits == MOST_SPLITS || (!has_few && bytes <= WANTED))
            break;
    }
    *t = (tiling){.width = 16 * warps, .splits = splits, .rows = 1, .more_bytes = (size_t)bytes};
    r->program = &few_program;
    set_axes(j, r);
    op_set(r, XR, rows);
    op_set(r, WORDS, few_words(j));
    op_set(r, WARPS_N, warps);
    op_set(r, SPLITS, splits);
    return bytes + RING + STATIC_BYTES <= k->caps.shared_bytes;
}

// Bytes of a row's scales and zeros in a turn of stream.c, `depth` elements of K, if they can come
// through its ring: they lie side by side and are multiples of 16 bytes. 0: they cannot.
static uint32_t together_bytes(const job *j, uint64_t depth)
{
    enum { GRANULE = 16 }; // and so much keeps the banks apart
    const linear_weights *w = &j->layers[0].weights;
    uint64_t rest = j->x.sizes[1] % depth, bytes = 0;
    if (!is_grouped(j) || j->x.sizes[1] % j->group)
        return 0;
    for (uint32_t n = 0; n < j->count; n++) {
        const linear_weights *its = &j->layers[n].weights;
        if (!linear_is_packed(&its->scale) || (its->zero.buffer && !linear_is_packed(&its->zero)))
            return 0;
    }
    for (uint32_t is_zero = 0; is_zero < (w->zero.buffer ? 2 : 1); is_zero++) {
        size_t size = is_zero ? 1 : view_element_size(&w->scale);
        if (depth / j->group * size % GRANULE || rest / j->group * size % GRANULE)
            return 0;
        bytes += depth / j->group * size + GRANULE;
    }
    return (uint32_t)bytes;
}

// Are two blocks better than one on each of so many multiprocessors? Warps of the other one work
// while those of the one wait, but the tiles must not leave more of them idle.
static bool is_better_twice(uint64_t tiles, uint64_t multiprocessors)
{
    uint64_t once = ceil_div(tiles, multiprocessors), twice = ceil_div(tiles, multiprocessors * 2);
    return tiles > multiprocessors && twice * 2 * 9 <= once * 10;
}

// How stream.c is launched; false: x is too large.
static bool plan_stream(kiln *k, const job *j, const kiln_device_info *info, op_request *r,
                        tiling *t)
{
    enum { WARPS = 16, MOST_SPLITS = 8, MOST_STAGES = 6, LEAST_STAGES = 3 };
    // Of a multiprocessor's shared memory: it has one block, or two.
    enum { MORE_THAN_HALF = 120 << 10, MORE_THAN_A_THIRD = 80 << 10 };
    enum { STATIC_BYTES = 1 << 10, MUCH_OF_X = 48 << 10 };
    uint32_t rows = 1, words = few_words(j), splits = 1;
    while (rows < j->x.sizes[0])
        rows *= 2;
    // With many rows of x reading those takes time, too: they are multiplied with twice the
    // weights.
    uint32_t bands = rows > 8 && !j->layers[0].weights.zero.buffer ? 2 : 1;
    uint32_t height = 16 * bands, places = (3 - bands) * (rows <= 2 ? 8 : 16 / rows); // for sums
    uint32_t depth = WARPS * 4 * chunk_of(j) / bands, factors = together_bytes(j, depth);
    uint32_t sms = info->multiprocessors ? info->multiprocessors : 1;
    bool can_split = k->caps.has_clusters || info->caps.is_emulated;
    words = words > 4 / bands ? 4 / bands : words;
    uint64_t tiles = 0, turns = ceil_div(j->x.sizes[1], depth), sums = height * rows * 4, stages;
    uint64_t stage = height * (WARPS * 64 / bands + 16 * words + factors), rest;
    for (uint32_t n = 0; n < j->count; n++)
        tiles += ceil_div(j->layers[n].weights.n, height);
    for (;; splits *= 2) {
        // Clusters may leave a quarter of the multiprocessors without one.
        uint64_t clusters = sms * 3 / 4 > splits ? sms * 3 / 4 / splits : 1;
        uint64_t own = splits > 1 ? ceil_div(tiles, clusters) * sums : 0;
        rest = places * WARPS * sums + ceil_div(turns, splits) * depth * rows * 2;
        stages = rest + own + STATIC_BYTES < k->caps.shared_bytes
                     ? (k->caps.shared_bytes - STATIC_BYTES - own - rest) / stage
                     : 0;
        bool has_few = tiles * splits * 2 <= sms && turns >= 2 * splits;
        // All multiprocessors read x at the same time, which takes long.
        bool has_much = ceil_div(turns, splits) * depth * rows * 2 > MUCH_OF_X && turns > splits;
        bool is_enough = !has_few && (!has_much || splits >= 2 * bands);
        if (!can_split || splits == MOST_SPLITS || (stages >= LEAST_STAGES && is_enough))
            break;
    }
    stages = stages >= MOST_STAGES ? MOST_STAGES : stages >= LEAST_STAGES ? stages : 0;
    // Two blocks of a multiprocessor: half of the shared memory each, less what the system takes.
    bool has_registers =
        rows == 1 && !j->layers[0].weights.zero.buffer && (factors || !is_grouped(j));
    uint64_t half = k->caps.shared_bytes / 2 - 2 * STATIC_BYTES;
    bool is_twice = splits == 1 && has_registers && rest + LEAST_STAGES * stage <= half &&
                    is_better_twice(tiles, sms);
    if (is_twice && stages > (half - rest) / stage)
        stages = (half - rest) / stage;
    *t = (tiling){.width = height,
                  .splits = splits,
                  .rows = 1,
                  .is_resident = true,
                  .all_bytes = (size_t)(rest + stages * stage),
                  .tile_bytes = splits > 1 ? (size_t)sums : 0};
    r->program = &stream_program;
    r->shared_bytes = is_twice ? MORE_THAN_A_THIRD : MORE_THAN_HALF;
    set_axes(j, r);
    op_set(r, XR, rows);
    op_set(r, RESIDENT, is_twice ? 2 : 1);
    op_set(r, WORDS, words);
    op_set(r, SPLITS, splits);
    op_set(r, STAGES, stages);
    op_set(r, BANDS, bands);
    op_set(r, TOGETHER, factors != 0);
    return stages != 0;
}

static kiln_status run_few(kiln *k, job *j, const kiln_device_info *info, bool *is_done)
{
    op_request r = {0};
    tiling t;
    *is_done = true;
    if (plan_stream(k, j, info, &r, &t))
        return launch(k, j, &r, t);
    r = (op_request){0};
    *is_done = plan_few(k, j, info, &r, &t);
    return *is_done ? launch(k, j, &r, t) : KILN_OK;
}

// --- weights as numbers
enum { MOST_BYTE_ROWS = 64 }; // of x of i8: up to where the kernel of one launch is faster

// Why it is impossible; NULL: it is possible.
static const char *unpack_obstacle(const job *j)
{
    kiln_type x = kiln_view_type(j->x), out = kiln_view_type(*j->layers[0].out);
    if (j->count > 1)
        return "there are three weights";
    if (!j->x.sizes[1])
        return "K is 0";
    return x == KILN_F32 && out != KILN_F32 ? "the product of f32 is f32" : NULL;
}

static bool is_unpacked(const job *j, const kiln_device_info *info)
{
    kiln_type x = kiln_view_type(j->x);
    uint64_t most = x == KILN_I8 ? MOST_BYTE_ROWS : FEW_ROWS;
    bool is_fast = !info->caps.is_host && (x != KILN_I8 || info->caps.has_wgmma);
    return j->kernel == KILN_LINEAR_UNPACK || (j->kernel == KILN_LINEAR_BEST && is_fast &&
                                               j->x.sizes[0] > most && !unpack_obstacle(j));
}

static bool is_step(int64_t stride)
{
    return stride >= 0 && stride <= UINT32_MAX;
}

// Does the product of integers apply the scales itself? Its activations round in another way.
static bool is_one_product(const job *j)
{
    const kiln_view *scale = &j->layers[0].weights.scale, *tokens = &j->x_scale;
    return kiln_view_type(*j->layers[0].out) == KILN_I32 ||
           (kiln_view_type(*scale) == KILN_F32 && !j->activation &&
            is_step(kiln_view_stride(*scale, 0)) &&
            (!tokens->buffer || !tokens->rank || is_step(kiln_view_stride(*tokens, 0))));
}

// Bytes of the workspace: the weights as numbers; with x of i8 the sums, where scales follow them.
static uint64_t unpacked_bytes(const job *j)
{
    if (kiln_view_type(j->x) == KILN_I8)
        return is_one_product(j) ? 0
                                 : op_product(op_product(j->x.sizes[0], j->layers[0].weights.n), 4);
    uint64_t count = op_product(j->layers[0].weights.n, j->x.sizes[1]);
    return op_product(count, kiln_type_size(kiln_view_type(j->x)));
}

static kiln_status multiply_bytes(kiln *k, const job *j, kiln_view sums)
{
    return kiln_matmul(k, &(kiln_matmul_desc){.a = j->x,
                                              .b = kiln_view_transpose(*j->layers[0].weights.data),
                                              .out = sums,
                                              .stream = j->stream});
}

// The result at once.
static kiln_status multiply_scaled(kiln *k, const job *j)
{
    const layer *y = &j->layers[0];
    kiln_matmul_desc d = {.a = j->x,
                          .b = kiln_view_transpose(*y->weights.data),
                          .out = *y->out,
                          .bias = *y->bias,
                          .epilogue = y->bias->buffer ? KILN_EPILOGUE_BIAS : KILN_EPILOGUE_NONE,
                          .b_scale = kiln_view_index(y->weights.scale, 1, 0),
                          .stream = j->stream};
    if (j->x_scale.buffer) {
        const uint64_t one = 1;
        d.a_scale = j->x_scale.rank ? j->x_scale : kiln_view_reshape(j->x_scale, 1, &one);
    }
    return kiln_matmul(k, &d);
}

// Sums of integers in the workspace, then scales and what follows them.
static kiln_status run_scaled(kiln *k, job *j, kiln_view sums)
{
    enum { WIDTH = 4, ROWS = 4, THREADS = 256 }; // of scaled.c
    const layer *y = &j->layers[0];
    size_t size = view_element_size(y->out);
    bool is_packed = y->weights.n % WIDTH == 0 &&
                     (y->weights.n <= 1 || kiln_view_stride(*y->out, 1) == 1) &&
                     kiln_view_stride(*y->out, 0) % WIDTH == 0 &&
                     (y->out->buffer->address + y->out->first * size) % (WIDTH * size) == 0;
    uint64_t units = op_product(ceil_div(y->weights.n, WIDTH), ceil_div(j->x.sizes[0], ROWS));
    if (units > (uint64_t)INT32_MAX * THREADS / 2)
        return op_refuse(k, j->call, "this kernel is impossible here: there are too many results");
    kiln_status status = multiply_bytes(k, j, sums);
    op_request r = {.program = &scaled_program};
    set_result_axes(j, &r);
    op_set(&r, X_PACKED, is_packed);
    op_set(&r, ROWS, ROWS);
    const op_kernel *kernel;
    if (!status)
        status = op_kernel_get(k, &r, &kernel);
    if (status)
        return status;
    set_argument(j);
    kiln_arg args[6] = {kiln_arg_view(sums), kiln_arg_view(y->weights.scale)};
    uint32_t count = 2;
    if (y->bias->buffer)
        args[count++] = kiln_arg_view(*y->bias);
    if (j->x_scale.buffer)
        args[count++] = kiln_arg_view(j->x_scale);
    args[count++] = kiln_arg_view(*y->out);
    args[count++] = kiln_arg_struct(&j->argument, sizeof j->argument);
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {(uint32_t)ceil_div(units, THREADS)},
                                           .args = args,
                                           .arg_count = count,
                                           .stream = j->stream,
                                           .overlaps_previous = kernel->overlaps});
}

static kiln_status run_unpack(kiln *k, job *j)
{
    static const kiln_epilogue epilogues[] = {KILN_EPILOGUE_BIAS, KILN_EPILOGUE_BIAS_RELU,
                                              KILN_EPILOGUE_BIAS_GELU, KILN_EPILOGUE_BIAS_SILU};
    static const kiln_elementwise activations[] = {KILN_EW_COPY, KILN_EW_RELU, KILN_EW_GELU_TANH,
                                                   KILN_EW_SILU};
    const layer *y = &j->layers[0];
    kiln_type type = kiln_view_type(j->x);
    bool is_bytes = type == KILN_I8;
    if (is_bytes && is_one_product(j))
        return kiln_view_type(*y->out) == KILN_I32 ? multiply_bytes(k, j, *y->out)
                                                   : multiply_scaled(k, j);
    const uint64_t sizes[] = {is_bytes ? j->x.sizes[0] : y->weights.n,
                              is_bytes ? y->weights.n : j->x.sizes[1]};
    kiln_view words, numbers = kiln_view_of(j->workspace.buffer, 2, sizes);
    kiln_status status = op_check_workspace(k, j->call, &j->workspace, unpacked_bytes(j), &words);
    if (status)
        return status;
    uint64_t first = j->workspace.first * view_element_size(&j->workspace);
    if (first % 16)
        return op_refuse(k, j->call, "'workspace' does not start at a multiple of 16 bytes");
    const kiln_view *others[] = {&j->x,   y->weights.data, &y->weights.scale, &y->weights.zero,
                                 y->bias, y->out,          &j->x_scale};
    for (size_t n = 0; n < COUNT(others); n++)
        if (others[n]->buffer && kiln_view_overlaps(j->workspace, *others[n]))
            return op_refuse(k, j->call, "'workspace' overlaps another operand");
    numbers.type = is_bytes ? KILN_I32 : type;
    numbers.first = first / kiln_type_size(numbers.type);
    if (is_bytes)
        return run_scaled(k, j, numbers);
    status = kiln_dequantise_weights(k, &(kiln_dequantise_weights_desc){.weight = *y->weights.data,
                                                                        .scale = y->weights.scale,
                                                                        .zero = y->weights.zero,
                                                                        .out = numbers,
                                                                        .group = j->group,
                                                                        .stream = j->stream});
    if (status)
        return status;
    bool has_bias = y->bias->buffer != NULL;
    status = kiln_matmul(
        k, &(kiln_matmul_desc){.a = j->x,
                               .b = kiln_view_transpose(numbers),
                               .out = *y->out,
                               .bias = *y->bias,
                               .epilogue = has_bias ? epilogues[j->activation] : KILN_EPILOGUE_NONE,
                               .stream = j->stream});
    if (status || has_bias || !j->activation)
        return status;
    return kiln_elementwise_forward(k, &(kiln_elementwise_desc){.op = activations[j->activation],
                                                                .in = {*y->out},
                                                                .out = *y->out,
                                                                .stream = j->stream});
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
    bool is_few = j->kernel == KILN_LINEAR_FEW;
    const char *why = j->kernel == KILN_LINEAR_UNPACK ? unpack_obstacle(j)
                      : is_few                        ? few_obstacle(k, j)
                                                      : obstacle(k, j);
    if (j->kernel >= KILN_LINEAR_TENSOR && why)
        return op_refuse(k, j->call, "this kernel is impossible here: %s", why);
    if (is_unpacked(j, info) &&
        (j->workspace.buffer || j->kernel == KILN_LINEAR_UNPACK || !unpacked_bytes(j)))
        return run_unpack(k, j);
    if (is_few ||
        (j->kernel == KILN_LINEAR_BEST && !info->caps.is_emulated && !few_obstacle(k, j))) {
        bool is_done;
        status = run_few(k, j, info, &is_done);
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
    kiln_status status = op_begin(k, call, d);
    if (!status && !bytes)
        status = op_refuse(k, call, "'bytes' is NULL");
    if (!status)
        status = op_device(k, &info);
    if (status)
        return status;
    job j = job_of(call, d);
    status = check(k, &j);
    if (!status)
        *bytes = is_unpacked(&j, info) && !unpack_obstacle(&j) && kiln_view_count(*j.layers[0].out)
                     ? unpacked_bytes(&j)
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
