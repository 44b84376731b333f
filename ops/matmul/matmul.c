// kiln_matmul: checks a description, picks a kernel, and launches it; host_tile.c picks the tile of
// gemm_sm90.c.
//
// The kernels: gemm_sm90.c (wgmma, tensor maps), gemm_sm80.c (mma, asynchronous copies), and for
// everything else gemm_portable.c (fragments) and gemm_f32.c. The first one that can do the job is
// taken; the two fast ones want rows that start at multiples of 16 bytes. Start reading at
// kiln_matmul, the last function.
#include "ops/matmul/host_matmul.h"

static const struct {
    kiln_type type;
    uint32_t bytes;
} operands[OPERAND_COUNT] = {
    [BF16] = {KILN_BF16, 2}, [F16] = {KILN_F16, 2}, [TF32] = {KILN_F32, 4},
    [E4M3] = {KILN_F8E4, 1}, [S8] = {KILN_I8, 1},   [F32] = {KILN_F32, 4},
};

// --- the kernels and the axes of their variants
#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include "ops/matmul/axes.def"
};
#define AXIS(id, text, what, domain) [AXIS_##id] = {.name = text, .kind = OP_##what, domain},
static const op_axis axes[] = {
#include "ops/matmul/axes.def"
};
static const op_program gemm_sm90 = {"ops/matmul/gemm_sm90.c", NULL, axes, COUNT(axes)},
                        gemm_sm80 = {"ops/matmul/gemm_sm80.c", NULL, axes, COUNT(axes)},
                        gemm_portable = {"ops/matmul/gemm_portable.c", NULL, axes, COUNT(axes)},
                        gemm_f32 = {"ops/matmul/gemm_f32.c", NULL, axes, COUNT(axes)};

// --- checking
static kiln_status wrong(kiln *k, const char *what)
{
    return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_matmul: %s", what);
}

static kiln_status check_types(job *j)
{
    const kiln_matmul_desc *d = j->desc;
    kiln_type a = kiln_buffer_type(d->a), b = kiln_buffer_type(d->b),
              out = kiln_buffer_type(d->out);
    if (a != b)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011, "kiln_matmul: 'a' is %s and 'b' is %s",
                         kiln_type_name(a), kiln_type_name(b));
    if (d->is_tf32 && a != KILN_F32)
        return wrong(j->k, "is_tf32 is for f32 operands");
    j->type = OPERAND_COUNT;
    for (operand t = BF16; t < OPERAND_COUNT; t++)
        if (operands[t].type == a && (t == TF32) == d->is_tf32)
            j->type = t;
    if (j->type == OPERAND_COUNT)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011,
                         "kiln_matmul: operands of %s; bf16, f16, f8e4, f32 and i8 are possible",
                         kiln_type_name(a));
    j->bytes = operands[j->type].bytes;
    j->result = out == KILN_BF16  ? OUT_BF16
                : out == KILN_F16 ? OUT_F16
                : out == KILN_F32 ? OUT_F32
                                  : OUT_S32;
    j->out_bytes = (uint32_t)kiln_type_size(out);
    bool is_right = j->type == S8    ? out == KILN_I32
                    : j->type == F32 ? out == KILN_F32
                                     : out == KILN_F32 || out == KILN_F16 || out == KILN_BF16;
    if (!is_right)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011,
                         "kiln_matmul: the product of %s%s cannot be stored as %s; %s",
                         d->is_tf32 ? "tf32 " : "", kiln_type_name(a), kiln_type_name(out),
                         j->type == S8    ? "i32 is possible"
                         : j->type == F32 ? "f32 is possible"
                                          : "f32, f16 and bf16 are possible");
    return KILN_OK;
}

// Elements from the first to the last of `batch` matrices; UINT64_MAX: more than can be counted.
static uint64_t extent(uint64_t rows, uint64_t columns, uint64_t stride, uint32_t batch,
                       uint64_t next)
{
    if (!rows || !columns)
        return 0;
    uint64_t before = op_product(batch - 1, next), last = op_product(rows - 1, stride) + columns;
    return before > UINT64_MAX - last ? UINT64_MAX : before + last;
}

static kiln_status check_shape(job *j)
{
    const kiln_matmul_desc *d = j->desc;
    if (d->m > INT32_MAX || d->n > INT32_MAX || d->k > INT32_MAX)
        return wrong(j->k, "m, n and k are at most 2147483647");
    uint64_t a_columns = d->a_is_transposed ? d->m : d->k;
    uint64_t b_columns = d->b_is_transposed ? d->k : d->n;
    j->a_rows = d->a_is_transposed ? d->k : d->m;
    j->b_rows = d->b_is_transposed ? d->n : d->k;
    j->a_stride = d->a_stride ? d->a_stride : a_columns;
    j->b_stride = d->b_stride ? d->b_stride : b_columns;
    j->out_stride = d->out_stride ? d->out_stride : d->n;
    if (j->a_stride < a_columns || j->b_stride < b_columns || j->out_stride < d->n)
        return wrong(j->k, "a stride is shorter than a row");
    if (j->a_stride > UINT32_MAX || j->b_stride > UINT32_MAX || j->out_stride > UINT32_MAX)
        return wrong(j->k, "a stride is longer than 4294967295 elements");
    j->batch = d->batch ? d->batch : 1;
    j->a_batch = d->a_batch ? d->a_batch : j->a_rows * j->a_stride;
    j->b_batch = d->b_batch ? d->b_batch : j->b_rows * j->b_stride;
    j->out_batch = d->out_batch ? d->out_batch : d->m * j->out_stride;
    const uint64_t far = (uint64_t)1 << 44;
    if (j->a_batch > far || j->b_batch > far || j->out_batch > far)
        return wrong(j->k, "a distance between matrices is above 2^44 elements");
    kiln_status status =
        op_check_buffer(j->k, "kiln_matmul", "a", d->a, d->a_first,
                        extent(j->a_rows, a_columns, j->a_stride, j->batch, j->a_batch));
    if (!status)
        status = op_check_buffer(j->k, "kiln_matmul", "b", d->b, d->b_first,
                                 extent(j->b_rows, b_columns, j->b_stride, j->batch, j->b_batch));
    if (!status)
        status = op_check_buffer(j->k, "kiln_matmul", "out", d->out, d->out_first,
                                 extent(d->m, d->n, j->out_stride, j->batch, j->out_batch));
    return status;
}

static kiln_status check(job *j)
{
    const kiln_matmul_desc *d = j->desc;
    const struct {
        const char *name;
        const kiln_buffer *buffer;
    } given[] = {{"a", d->a}, {"b", d->b}, {"out", d->out}, {"bias", d->bias}};
    if ((unsigned)d->epilogue > KILN_EPILOGUE_BIAS_SILU)
        return wrong(j->k, "there is no such epilogue");
    if ((unsigned)d->kernel > KILN_MATMUL_PORTABLE)
        return wrong(j->k, "there is no such kernel");
    for (size_t n = 0; n < 3 + (d->epilogue != KILN_EPILOGUE_NONE); n++) {
        kiln_status status = op_check_buffer(j->k, "kiln_matmul", given[n].name, given[n].buffer, 0,
                                             n == 3 ? d->n : 0);
        if (status)
            return status;
    }
    if (d->bias && d->epilogue == KILN_EPILOGUE_NONE)
        return wrong(j->k, "there is a bias, and no epilogue that adds it");
    if (d->bias && kiln_buffer_type(d->bias) != KILN_F32)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011, "kiln_matmul: 'bias' is %s, not f32",
                         kiln_type_name(kiln_buffer_type(d->bias)));
    if (d->out == d->a || d->out == d->b || d->out == d->bias)
        return wrong(j->k, "'out' is an operand, too");
    kiln_status status = check_types(j);
    if (!status && j->type == S8 && d->epilogue != KILN_EPILOGUE_NONE)
        return wrong(j->k, "the epilogue of an i8 product is KILN_EPILOGUE_NONE");
    return status ? status : check_shape(j);
}

// --- what the kernels share
static void set_types(const job *j, bool left_is_mn, bool right_is_mn, op_request *r)
{
    op_set(r, TYPE, j->type);
    op_set(r, OUT, j->result);
    op_set(r, A_MN, left_is_mn);
    op_set(r, B_MN, right_is_mn);
    op_set(r, EPILOGUE, j->desc->epilogue);
}

static void set_common(const job *j, op_request *r)
{
    set_types(j, j->desc->a_is_transposed, !j->desc->b_is_transposed, r);
}

// Do rows and matrices of an operand start at multiples of 16 bytes?
static bool is_aligned(const kiln_buffer *buffer, uint64_t first, uint64_t stride, uint64_t next,
                       uint32_t batch, uint32_t bytes)
{
    return (buffer->address + first * bytes) % 16 == 0 && stride * bytes % 16 == 0 &&
           (batch == 1 || next * bytes % 16 == 0);
}

static bool operands_are_aligned(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    return is_aligned(d->a, d->a_first, j->a_stride, j->a_batch, j->batch, j->bytes) &&
           is_aligned(d->b, d->b_first, j->b_stride, j->b_batch, j->batch, j->bytes);
}

// --- sm_90a
// Why gemm_sm90.c cannot do it; NULL: it can.
static const char *sm90_obstacle(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    if (!j->k->caps.has_wgmma)
        return "the device is not sm_90a";
    if (!j->k->caps.has_tensor_copies)
        return "the device has no tensor maps";
    if (j->type == F32)
        return "f32 without is_tf32 has no matrix unit";
    if (j->bytes != 2 && (d->a_is_transposed || !d->b_is_transposed))
        return "only 16-bit operands can be read across their rows: a is [m, k], b is [n, k]";
    if (!d->k)
        return "k is 0";
    if ((d->tile_m || d->tile_n) && !matmul_has_tile(j))
        return "it has no such tile";
    if (!operands_are_aligned(j))
        return "a row of an operand does not start at a multiple of 16 bytes";
    if (j->out_stride != d->n ||
        !is_aligned(d->out, d->out_first, d->n, j->out_batch, j->batch, j->out_bytes))
        return "the rows of 'out' are not dense, or do not start at multiples of 16 bytes";
    return NULL;
}

// The map of matrix `n` of an operand for boxes of `rows` (along K: of 64).
static kiln_tensor_map_desc operand_map(const job *j, const side *s, uint32_t n, uint32_t rows)
{
    return (kiln_tensor_map_desc){.buffer = s->buffer,
                                  .first = s->first + n * s->next,
                                  .rank = 2,
                                  .size = {s->columns, s->rows},
                                  .stride_bytes = {0, s->stride * j->bytes},
                                  .box = {s->is_mn ? 64 : 128 / j->bytes, s->is_mn ? 64 : rows},
                                  .swizzle_bytes = 128,
                                  .promotion_bytes = 256};
}

// What leaves beside other work does so through the copy engine, which takes whole slabs of 128
// bytes a line.
static bool is_async(const job *j, const tile *t)
{
    return matmul_is_held(j, t) || (t->is_pingpong && t->n * j->out_bytes >= 128);
}

// The map of result `n` for slabs of 16 rows, or of 64 where they are stored transposed.
static kiln_tensor_map_desc result_map(const job *j, uint32_t n, bool is_swapped)
{
    const kiln_matmul_desc *d = j->desc;
    return (kiln_tensor_map_desc){.buffer = d->out,
                                  .first = d->out_first + n * j->out_batch,
                                  .rank = 2,
                                  .size = {d->n, d->m},
                                  .stride_bytes = {0, (uint64_t)d->n * j->out_bytes},
                                  .box = {128 / j->out_bytes, is_swapped ? 64 : 16},
                                  .swizzle_bytes = 128};
}

// The map for tails of `count` columns: of boxes of 64 all others are outside. They begin at any
// multiple of 16.
static kiln_tensor_map_desc tail_map(kiln_tensor_map_desc whole, uint32_t count)
{
    return (kiln_tensor_map_desc){.buffer = whole.buffer,
                                  .first = whole.first,
                                  .rank = 3,
                                  .size = {count, (whole.size[0] - count) / 16 + 1, whole.size[1]},
                                  .stride_bytes = {0, 32, whole.stride_bytes[1]},
                                  .box = {64, 1, whole.box[1]},
                                  .swizzle_bytes = 128,
                                  .promotion_bytes = whole.promotion_bytes};
}

// Of an operand that is smaller than a tile nothing more is loaded, but for whole lines.
static uint32_t rows_loaded(const side *s, uint32_t rows)
{
    return !s->is_mn && s->size < rows ? s->size : matmul_lines(s->is_mn, rows);
}

static void tune_sm90(const job *j, const tile *t, const side s[2], op_request *r)
{
    set_types(j, s[LEFT].is_mn, s[RIGHT].is_mn, r);
    op_set(r, ASYNC_OUT, is_async(j, t));
    op_set(r, NARROW_BN, t->narrow_columns ? t->narrow_n : 0);
    op_set(r, B_TAIL, matmul_has_tail(j, &s[RIGHT], t));
    op_set(r, BM, t->m);
    op_set(r, BN, t->n);
    op_set(r, WGS, t->warpgroups);
    op_set(r, STAGES, t->stages);
    bool is_large = t->is_pingpong || t->warpgroups == 3 || t->m * t->n / t->warpgroups >= 64 * 192;
    op_set(r, LOADERS, is_large ? 4 : 1);
    op_set(r, PINGPONG, t->is_pingpong);
    op_set(r, HELD, matmul_is_held(j, t));
    op_set(r, GROUP, t->group);
    op_set(r, SPLIT_K, t->split_k);
    op_set(r, SWAP, t->is_swapped);
    op_set(r, EARLY, j->desc->b_is_constant && t->is_swapped && !j->desc->waits_for_previous);
}

// More than half of a multiprocessor's: the next kernel of a chain spreads over those that are
// idle instead of joining the blocks of this one.
static uint32_t launch_shared_bytes(const job *j, const tile *t)
{
    const uint32_t least = 115840;
    uint32_t bytes = matmul_shared_bytes(t);
    return bytes < least && !j->desc->sm90.stages ? least : bytes;
}

// --- its arguments
typedef struct arguments {
    kiln_tensor_map maps[5];
    kiln_arg args[14];
    size_t count;
} arguments;

static kiln_status add_map(const job *j, kiln_tensor_map_desc desc, arguments *to)
{
    kiln_tensor_map *made = &to->maps[to->count];
    to->args[to->count++] = kiln_arg_struct(made, sizeof *made);
    return kiln_tensor_map_make(j->k, &desc, made);
}

// Operands and result of product `n`.
static kiln_status add_matrices(const job *j, const tile *t, const side s[2], uint32_t n,
                                arguments *to)
{
    const kiln_matmul_desc *d = j->desc;
    kiln_tensor_map_desc left = operand_map(j, &s[LEFT], n, rows_loaded(&s[LEFT], t->m));
    kiln_tensor_map_desc right = operand_map(j, &s[RIGHT], n, rows_loaded(&s[RIGHT], t->n));
    kiln_tensor_map_desc result = result_map(j, n, t->is_swapped);
    bool has_tail = matmul_has_tail(j, &s[RIGHT], t);
    kiln_status status = add_map(j, left, to);
    if (!status)
        status = add_map(j, right, to);
    if (!status && t->narrow_columns)
        status = add_map(j, operand_map(j, &s[RIGHT], n, t->narrow_n), to);
    if (!status && has_tail)
        status = add_map(j, tail_map(right, t->n % 64), to);
    if (!status && is_async(j, t))
        status = add_map(j, result, to);
    else
        to->args[to->count++] = kiln_arg_buffer_at(d->out, d->out_first + n * j->out_batch);
    if (!status && has_tail)
        status = add_map(j, tail_map(result, t->n % 64), to);
    return status;
}

static kiln_status run_sm90(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    uint32_t steps = matmul_steps(j);
    tile t = matmul_tile(j);
    side s[2];
    matmul_sides(j, t.is_swapped, s);
    op_request r = {.program = &gemm_sm90, .shared_bytes = launch_shared_bytes(j, &t)};
    tune_sm90(j, &t, s, &r);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    if (status)
        return status;
    uint32_t rows = ceil_div(s[LEFT].size, t.m), columns = matmul_columns(&t, s[RIGHT].size);
    uint32_t sms = kernel->resident;
    uint64_t tiles = (uint64_t)rows * columns, blocks = tiles * t.split_k;
    bool is_streaming = t.is_swapped && columns == 1;
    if (t.split_k == 1 && tiles > sms) {
        // What multiplies wants as many tiles in each block, what loads as many blocks as possible.
        uint64_t waves = (tiles + sms - 1) / sms;
        blocks = is_streaming ? sms : (tiles + waves - 1) / waves;
    }
    // A streaming kernel that leaves a few multiprocessors idle gives these to the next one, which
    // then is spread unevenly; that costs more than the early start gains.
    bool is_uneven =
        is_streaming && !d->b_is_constant && blocks > sms / 2 && blocks < sms - sms / 11;
    // About how many cycles a block multiplies. Of a third of a millisecond and more an early start
    // saves nothing; at the power limit it costs up to one percent.
    uint64_t cycles = (tiles + blocks - 1) / blocks * steps * (t.m * t.n / 32);
    bool is_long = cycles > 500000;
    uint32_t loaded = rows_loaded(&s[LEFT], t.m) + rows_loaded(&s[RIGHT], t.n);
    for (uint32_t n = 0; n < j->batch && !status; n++) {
        arguments to = {.count = 0};
        status = add_matrices(j, &t, s, n, &to);
        if (status)
            break;
        if (d->epilogue != KILN_EPILOGUE_NONE)
            to.args[to.count++] = kiln_arg_buffer(d->bias);
        const uint32_t numbers[] = {
            s[LEFT].size, s[RIGHT].size, rows,        columns, columns - t.narrow_columns,
            t.shift,      steps,         loaded * 128};
        for (size_t i = 0; i < COUNT(numbers); i++)
            to.args[to.count++] = kiln_arg_i64(KILN_U32, numbers[i]);
        status = kiln_launch(kernel->kernel,
                             &(kiln_launch_desc){.grid = {(uint32_t)blocks},
                                                 .shared_bytes = r.shared_bytes,
                                                 .args = to.args,
                                                 .arg_count = to.count,
                                                 .stream = d->stream,
                                                 .overlaps_previous = !d->waits_for_previous &&
                                                                      !is_uneven && !is_long});
    }
    return status;
}

// --- operands in plain memory: sm_80, portable, f32
typedef struct plain { // one way to run one of them
    uint32_t m, n, warps_m, warps_n, stages;
    uint32_t line; // bytes of a stage along K
    size_t shared_bytes;
    bool is_persistent; // its blocks take one tile after the other
} plain;

static bool has_pairs(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    uint64_t address = d->out->address + d->out_first * j->out_bytes;
    return address % (2 * j->out_bytes) == 0 && d->n % 2 == 0 && j->out_stride % 2 == 0 &&
           (j->batch == 1 || j->out_batch % 2 == 0);
}

// Are there nothing but whole tiles, and steps for all stages?
static bool is_whole(const job *j, plain way)
{
    const kiln_matmul_desc *d = j->desc;
    uint32_t depth = way.line / j->bytes;
    return d->m % way.m == 0 && d->n % way.n == 0 && d->k % depth == 0 &&
           d->k / depth >= way.stages;
}

static kiln_status launch_plain(const job *j, const op_request *r, plain way)
{
    const kiln_matmul_desc *d = j->desc;
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->k, r, &kernel);
    uint64_t tiles = (uint64_t)ceil_div(d->m, way.m) * ceil_div(d->n, way.n), blocks = tiles;
    if (!status && tiles > INT32_MAX)
        return error_set(j->k, KILN_E_LAUNCH, K6015, "kiln_matmul: %llu tiles are too many",
                         (unsigned long long)tiles);
    if (!status && way.is_persistent) { // as many tiles for each block
        uint64_t resident = kernel->resident / j->batch, waves;
        waves = resident ? (tiles + resident - 1) / resident : tiles;
        blocks = (tiles + waves - 1) / waves;
    }
    const uint32_t most = 65535; // blocks along y
    for (uint32_t first = 0; first < j->batch && !status; first += most) {
        kiln_arg args[16] = {kiln_arg_buffer_at(d->a, d->a_first + first * j->a_batch),
                             kiln_arg_buffer_at(d->b, d->b_first + first * j->b_batch),
                             kiln_arg_buffer_at(d->out, d->out_first + first * j->out_batch)};
        size_t count = 3;
        if (d->epilogue != KILN_EPILOGUE_NONE)
            args[count++] = kiln_arg_buffer(d->bias);
        const uint64_t numbers[] = {d->m,          d->n,       d->k,       j->a_stride, j->b_stride,
                                    j->out_stride, j->a_batch, j->b_batch, j->out_batch};
        for (size_t i = 0; i < COUNT(numbers); i++)
            args[count++] = kiln_arg_i64(i < 6 ? KILN_U32 : KILN_U64, (int64_t)numbers[i]);
        uint32_t rest = j->batch - first;
        status =
            kiln_launch(kernel->kernel,
                        &(kiln_launch_desc){.grid = {(uint32_t)blocks, rest < most ? rest : most},
                                            .shared_bytes = r->shared_bytes,
                                            .args = args,
                                            .arg_count = count,
                                            .stream = d->stream});
    }
    return status;
}

static const char *sm80_obstacle(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    if (!j->k->caps.has_nv)
        return "the device has no asynchronous copies";
    if (j->k->caps.sm && j->k->caps.sm < (j->type == E4M3 ? 89 : 80))
        return "the device is too old";
    if (j->type == F32)
        return "f32 without is_tf32 has no matrix unit";
    if (j->bytes != 2 && (d->a_is_transposed || !d->b_is_transposed))
        return "only 16-bit operands can be read across their rows: a is [m, k], b is [n, k]";
    if (!operands_are_aligned(j))
        return "a row of an operand does not start at a multiple of 16 bytes";
    return NULL;
}

static kiln_status refuse(const job *j, const char *kernel, const char *why)
{
    return error_set(j->k, KILN_E_UNSUPPORTED, K6038, "kiln_matmul: the %s kernel cannot: %s",
                     kernel, why);
}

// The tile that is asked for; else the first that fills the device, or the smallest.
static kiln_status pick_plain(const job *j, const char *kernel, const plain *ways, size_t count,
                              uint32_t blocks, plain *out)
{
    const kiln_matmul_desc *d = j->desc;
    bool is_given = d->tile_m || d->tile_n;
    for (size_t n = 0; n < count; n++) {
        const plain *w = &ways[n];
        uint64_t tiles = (uint64_t)ceil_div(d->m, w->m) * ceil_div(d->n, w->n) * j->batch;
        bool is_last = n + 1 == count;
        bool is_wanted =
            is_given ? d->tile_m == w->m && d->tile_n == w->n : tiles >= blocks || is_last;
        *out = *w;
        if (is_wanted && (w->shared_bytes <= j->k->caps.shared_bytes || is_last))
            return KILN_OK;
    }
    return refuse(j, kernel, "it has no such tile");
}

static kiln_status run_sm80(const job *j)
{
#define WAY(m, n, warps_m, warps_n, stages)                                                        \
    {                                                                                              \
        m, n, warps_m, warps_n, stages, 128, (m + n) * 128 * stages, true                          \
    }
    static const plain ways[] = {WAY(128, 256, 2, 4, 4), WAY(128, 256, 2, 4, 3),
                                 WAY(128, 128, 2, 2, 3), WAY(64, 64, 2, 2, 4)};
#undef WAY
    plain way;
    kiln_status status =
        pick_plain(j, "sm_80", ways, COUNT(ways), j->device->multiprocessors * 3 / 4, &way);
    if (status)
        return status;
    op_request r = {.program = &gemm_sm80, .shared_bytes = way.shared_bytes};
    set_common(j, &r);
    op_set(&r, BM, way.m);
    op_set(&r, BN, way.n);
    op_set(&r, WARPS_M, way.warps_m);
    op_set(&r, WARPS_N, way.warps_n);
    op_set(&r, STAGES, way.stages);
    bool has_whole = is_whole(j, way);
    op_set(&r, WHOLE, has_whole);
    op_set(&r, WIDE,
           has_whole && is_aligned(j->desc->out, j->desc->out_first, j->out_stride, j->out_batch,
                                   j->batch, j->out_bytes));
    op_set(&r, PAIRS, has_pairs(j));
    return launch_plain(j, &r, way);
}

static kiln_status run_f32(const job *j)
{
    static const plain ways[] = {{.m = 128, .n = 128}, {.m = 64, .n = 64}, {.m = 32, .n = 32}};
    size_t first = j->k->caps.sm ? 0 : 1;
    plain way;
    kiln_status status =
        pick_plain(j, "f32", ways + first, COUNT(ways) - first, j->device->multiprocessors, &way);
    if (status)
        return status;
    job plain_job = *j;
    plain_job.type = F32;
    op_request r = {.program = &gemm_f32};
    set_common(&plain_job, &r);
    op_set(&r, TILE, way.m);
    op_set(&r, PAIRS, has_pairs(j));
    op_set(&r, ALIGNED, operands_are_aligned(j));
    return launch_plain(j, &r, way);
}

static kiln_status run_portable(const job *j)
{
    // Two buffers, 16 bytes behind each row and column; some more when lines of a small tile run
    // along the columns.
#define WAY(m, n, warps_m, warps_n, line)                                                          \
    {                                                                                              \
        m, n, warps_m, warps_n, 2, line, (m + n) * (line + 16) * 2 + line * 32, false              \
    }
    static const plain ways[] = {WAY(128, 256, 2, 4, 128), WAY(128, 128, 2, 2, 128),
                                 WAY(64, 64, 2, 2, 128),   WAY(128, 128, 2, 4, 64),
                                 WAY(64, 64, 2, 2, 64),    WAY(32, 32, 1, 1, 64)};
#undef WAY
    if (j->type == F32 || (j->type == TF32 && j->out_bytes == 4))
        return run_f32(j);
    if (j->type == TF32)
        return error_set(j->k, KILN_E_UNSUPPORTED, K6038,
                         "kiln_matmul: a tf32 product for 16-bit results needs sm_80 and aligned "
                         "rows");
    // Matrix units want large tiles of each warp, but bytes across the rows want registers, too.
    // The cpu device and the interpreter have blocks of one warp: no fibers.
    bool turns_bytes = j->type == S8 && (j->desc->a_is_transposed || !j->desc->b_is_transposed);
    bool is_large = j->k->caps.sm >= 80 && !turns_bytes;
    size_t first = j->k->caps.sm ? (is_large ? 0 : 3) : j->k->caps.is_host ? 5 : 4;
    size_t count = first == 0 ? 3 : first == 3 ? 2 : 1;
    plain way;
    kiln_status status =
        pick_plain(j, "portable", ways + first, count, j->device->multiprocessors, &way);
    if (status)
        return status;
    op_request r = {.program = &gemm_portable, .shared_bytes = way.shared_bytes};
    set_common(j, &r);
    op_set(&r, BM, way.m);
    op_set(&r, BN, way.n);
    op_set(&r, WARPS_M, way.warps_m);
    op_set(&r, WARPS_N, way.warps_n);
    op_set(&r, PAIRS, has_pairs(j));
    bool is_even = j->type != E4M3 && operands_are_aligned(j); // e4m3 is converted on the way
    op_set(&r, ALIGNED, is_even);
    op_set(&r, LINE, way.line);
    op_set(&r, WHOLE, is_even && is_whole(j, way));
    return launch_plain(j, &r, way);
}

// --- choosing
kiln_status kiln_matmul(kiln *k, const kiln_matmul_desc *desc)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!desc)
        return wrong(k, "the description is NULL");
    job j = {.k = k, .desc = desc};
    kiln_status status = check(&j);
    if (!status)
        status = op_device(k, &j.device);
    if (status || !desc->m || !desc->n)
        return status;
    const char *no_sm90 = sm90_obstacle(&j), *no_sm80 = sm80_obstacle(&j);
    switch (desc->kernel) {
    case KILN_MATMUL_SM90: return no_sm90 ? refuse(&j, "sm_90a", no_sm90) : run_sm90(&j);
    case KILN_MATMUL_SM80: return no_sm80 ? refuse(&j, "sm_80", no_sm80) : run_sm80(&j);
    case KILN_MATMUL_PORTABLE: return run_portable(&j);
    case KILN_MATMUL_BEST: break;
    }
    bool is_fast = !k->caps.is_emulated;
    return is_fast && !no_sm90   ? run_sm90(&j)
           : is_fast && !no_sm80 ? run_sm80(&j)
                                 : run_portable(&j);
}
