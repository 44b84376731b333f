// Calls of gguf on a device: they check their views, choose a kernel and launch it. For at most
// eight rows of x that is stream.c or few.c, or matvec.c where that is impossible, else tensor.c or
// tile.c; unpack.c and pack.c convert.
#include "ops/gguf/host_gguf.h"

#include "ops/operands.h"
#include "rt/memory/view.h"

#define AXES "ops/gguf/axes.def"
#include "ops/axes.h"
static const op_program few = OP_PROGRAM("ops/gguf/few.c", "gguf_few");
static const op_program streamed = OP_PROGRAM("ops/gguf/stream.c", "gguf_stream");
static const op_program matvec = OP_PROGRAM("ops/gguf/matvec.c", "gguf_matvec");
static const op_program tile = OP_PROGRAM("ops/gguf/tile.c", "gguf_tile");
static const op_program tensor = OP_PROGRAM("ops/gguf/tensor.c", "gguf_tensor");
static const op_program unpack = OP_PROGRAM("ops/gguf/unpack.c", "gguf_unpack");
static const op_program pack = OP_PROGRAM("ops/gguf/pack.c", "gguf_pack");

enum { MOST_VECTOR_ROWS = 8, TILE_M = 32, TILE_N = 32, MOST_BLOCKS = 132 * 16 };

typedef struct sizes { // sizes.h
    uint64_t m, n, units;
    int64_t x_row, x_step, w_row, out_row, out_step, bias_step;
} sizes;

typedef struct job {
    const char *call;
    const gguf_row *row;
    kiln_view weight, dense; // dense: the floats beside the weights, x or out
    bool is_result;          // the weights are written, and `dense` is read
    kiln_stream *stream;
} job;

// --- checks
static kiln_status check_type(kiln *k, const char *call, const char *name, const kiln_view *v)
{
    kiln_type type = kiln_view_type(*v);
    if (type == KILN_F16 || type == KILN_BF16 || type == KILN_F32)
        return KILN_OK;
    return error_set(k, KILN_E_BAD_ARGUMENT, K6011,
                     "%s: '%s' is %s; bf16, f16 and f32 are possible", call, name,
                     kiln_type_name(type));
}

static kiln_status check_rank(kiln *k, const char *call, const char *name, const kiln_view *v)
{
    return v->rank == 2 ? KILN_OK
                        : op_refuse(k, call, "'%s' has %u dimensions, not two", name, v->rank);
}

// The blocks [n, bytes] belong to elements [n, count]; `of` names the view that has those.
static kiln_status check_blocks(kiln *k, const char *call, const gguf_row *row, const char *name,
                                const kiln_view *v, const char *of, uint64_t count)
{
    const kiln_gguf_format *f = &row->format;
    if (kiln_view_type(*v) != KILN_U8)
        return error_set(k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s; blocks are bytes, u8",
                         call, name, kiln_type_name(kiln_view_type(*v)));
    kiln_status status = check_rank(k, call, name, v);
    if (status)
        return status;
    if (count % f->block_size)
        return op_refuse(k, call, "'%s' has rows of %llu elements; %s has blocks of %u", of,
                         (unsigned long long)count, f->name, f->block_size);
    uint64_t bytes = op_product(count / f->block_size, f->block_bytes);
    if (v->sizes[1] != bytes)
        return op_refuse(k, call,
                         "'%s' has rows of %llu bytes; %llu elements of %s, a row of '%s', are "
                         "%llu",
                         name, (unsigned long long)v->sizes[1], (unsigned long long)count, f->name,
                         of, (unsigned long long)bytes);
    if (bytes > 1 && kiln_view_stride(*v, 1) != 1)
        return op_refuse(k, call, "the rows of '%s' are not contiguous: bytes are %lld apart", name,
                         (long long)kiln_view_stride(*v, 1));
    return KILN_OK;
}

// --- launches
// The power of two, 16 at most, that the addresses of all blocks are a multiple of.
static uint32_t alignment_of(const kiln_view *weight, const gguf_row *row)
{
    uint64_t all = (weight->buffer->address + weight->first) | row->format.block_bytes | 16;
    if (weight->sizes[0] > 1)
        all |= (uint64_t)kiln_view_stride(*weight, 0);
    return (uint32_t)(all & (0 - all));
}

// Elements of an access to the runs of a row of floats: 16 bytes at most.
static uint32_t width_of(const gguf_row *row, kiln_type type)
{
    uint32_t most = 16 / (uint32_t)kiln_type_size(type);
    return row->run < most ? row->run : most;
}

static bool is_packed(const kiln_view *v)
{
    uint64_t size = kiln_type_size(kiln_view_type(*v));
    return kiln_view_stride(*v, 1) == 1 && view_is_aligned(v, 16) &&
           (v->sizes[0] < 2 || (uint64_t)kiln_view_stride(*v, 0) * size % 16 == 0);
}

// Blocks that stay, at most as many as run at the same time.
typedef struct residents {
    uint32_t splits;   // blocks of a cluster; 0: blocks do not stay
    size_t bytes;      // of shared memory
    size_t tile_bytes; // the same for each of a block's tiles
} residents;

// `more`: bytes of shared memory behind the kernel's own.
static kiln_status launch(kiln *k, const char *call, const op_request *r, uint64_t blocks,
                          const kiln_arg *args, uint32_t count, size_t more, residents stay,
                          kiln_stream *stream)
{
    const op_kernel *kernel;
    if (blocks > INT32_MAX)
        return error_set(k, KILN_E_LAUNCH, K6015, "%s: %llu tiles are too many for one launch",
                         call, (unsigned long long)blocks);
    kiln_status status = op_kernel_get(k, r, &kernel);
    if (status)
        return status;
    size_t bytes = kernel->shared_bytes + more;
    if (stay.splits) {
        uint64_t all = blocks;
        if (blocks > kernel->resident)
            blocks = kernel->resident > stay.splits ? kernel->resident / stay.splits * stay.splits
                                                    : stay.splits;
        size_t least = stay.bytes + (size_t)((all + blocks - 1) / blocks) * stay.tile_bytes;
        bytes = bytes > least ? bytes : least;
        if (bytes > k->caps.shared_bytes)
            return op_refuse(k, call, "%zu bytes of shared memory are too many", bytes);
    }
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {(uint32_t)blocks},
                                                           .shared_bytes = bytes,
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = stream,
                                                           .overlaps_previous = kernel->overlaps});
}

// Rows of weights of a block: as many as leave eight blocks for each of a GPU's multiprocessors.
static uint32_t rows_of(uint64_t m, uint64_t n)
{
    enum { BLOCKS = 132 * 8 };
    return m <= 2 && n >= 4 * BLOCKS ? 4 : n >= 2 * BLOCKS ? 2 : 1;
}

// Why the kernel for tensor cores is impossible; NULL: it is not.
static const char *obstacle(const kiln *k, const kiln_view *x)
{
    kiln_type type = kiln_view_type(*x);
    if (!k->caps.has_nv || (k->caps.sm && k->caps.sm < 80))
        return "the device has no tensor cores of sm_80";
    if (type != KILN_F16 && type != KILN_BF16)
        return "only f16 and bf16 are multiplied there";
    if (!is_packed(x))
        return "the rows of 'x' are not contiguous, or do not start at multiples of 16 bytes";
    return NULL;
}

// Rows of x of a tile for tensor cores: as many as leave a tile for each multiprocessor of a GPU,
// and fit into its shared memory.
static uint32_t tensor_rows(const kiln *k, const sizes *s, uint64_t *blocks)
{
    enum { FULL = 132, WIDE_BYTES = 128 * 1024 };
    uint64_t across = op_ceil_div(s->n, 128);
    uint32_t rows = k->caps.shared_bytes && k->caps.shared_bytes < WIDE_BYTES ? 64 : 128;
    while (rows > 16 && op_product(op_ceil_div(s->m, rows), across) < FULL)
        rows = rows == 128 ? 64 : 16;
    if (rows == 16)
        across = op_ceil_div(s->n, 32);
    *blocks = op_product(op_ceil_div(s->m, rows), across);
    return rows;
}

// Rows of x in shared memory of few.c, and their bytes: whole stages of 256 elements.
static uint32_t few_rows(uint64_t m)
{
    return m <= 2 ? (uint32_t)m : m <= 4 ? 4 : 8;
}

static uint64_t few_bytes(const kiln_gguf_matmul_desc *d)
{
    return op_ceil_div(d->x.sizes[1], 256) * 256 * few_rows(d->x.sizes[0]) * 2;
}

// How stream.c is launched.
typedef struct stream_plan {
    uint32_t stages;   // of its ring; 0: it is impossible
    uint32_t elements; // of a row that a warp has at a time
    residents stay;
} stream_plan;

// Rows must be such that what all warps take of them is copied at once, and x must fit beside the
// ring.
static stream_plan stream_plan_of(const kiln *k, const kiln_gguf_matmul_desc *d,
                                  const gguf_row *row, const kiln_device_info *info)
{
    enum { WARPS = 16, ROWS = 16, MOST_SPLITS = 8, LEAST_STAGES = 2, MOST_STAGES = 4 };
    enum { MUCH_OF_X = 48 << 10, ENOUGH_SPLITS = 2, STATIC_BYTES = 1 << 10 };
    uint32_t size = row->format.block_size, block = row->format.block_bytes, splits = 1;
    uint64_t depth = d->x.sizes[1], rows = few_rows(d->x.sizes[0]), sums = ROWS * rows * 4;
    // The warps have whole blocks; with one row of x and blocks of 32 a longer ring is better.
    stream_plan p = {.elements = depth % 256 || (size == 32 && rows == 1) ? 128 : 256};
    uint64_t turn = WARPS * p.elements, stage = ((turn / size * block / 16) | 1) * 16 * ROWS;
    uint64_t tiles = op_ceil_div(d->weight.sizes[0], ROWS), turns = op_ceil_div(depth, turn);
    uint32_t sms = info->multiprocessors ? info->multiprocessors : 1;
    uint64_t batches = 2 * (rows <= 2 ? 8 : 16 / rows); // tiles whose sums the warps keep
    bool can_split = k->caps.has_clusters || info->caps.is_emulated;
    if (depth % p.elements || !depth || depth / size * block % 16 ||
        (d->weight.sizes[0] > 1 && kiln_view_stride(d->weight, 0) % 16))
        return p;
    for (;; splits *= 2) {
        // Clusters may leave a quarter of the multiprocessors without one.
        uint64_t clusters = sms * 3 / 4 > splits ? sms * 3 / 4 / splits : 1;
        uint64_t own = splits > 1 ? op_ceil_div(tiles, clusters) * sums : 0;
        // x, and sums of its groups: at most eight of f32 for 128 elements
        uint64_t rest = op_ceil_div(turns, splits) * turn * rows * 9 / 4 + batches * WARPS * sums;
        uint64_t room = rest + own + STATIC_BYTES;
        uint64_t stages = room < k->caps.shared_bytes ? (k->caps.shared_bytes - room) / stage : 0;
        bool has_few = tiles * splits * 2 <= sms && turns >= 2 * splits;
        // All multiprocessors read x at the same time, which takes long.
        bool has_much = op_ceil_div(turns, splits) * turn * rows * 2 > MUCH_OF_X && turns > splits;
        bool is_enough = !has_few && (!has_much || splits >= ENOUGH_SPLITS);
        if (!can_split || splits == MOST_SPLITS || (stages >= LEAST_STAGES && is_enough)) {
            stages = stages > MOST_STAGES ? MOST_STAGES : stages < LEAST_STAGES ? 0 : stages;
            p.stages = (uint32_t)stages;
            p.stay = (residents){.splits = splits,
                                 .bytes = (size_t)(rest + stages * stage),
                                 .tile_bytes = splits > 1 ? (size_t)sums : 0};
            return p;
        }
    }
}

// Why few.c and stream.c are impossible; NULL: one is not.
static const char *few_obstacle(kiln *k, const kiln_gguf_matmul_desc *d, const gguf_row *row)
{
    enum { LARGEST_RING = 80 << 10 }; // of few.c
    const char *why = obstacle(k, &d->x);
    if (why)
        return why;
    if (d->x.sizes[0] > MOST_VECTOR_ROWS)
        return "'x' has more than 8 rows";
    if ((d->weight.buffer->address + d->weight.first) % 16 || alignment_of(&d->weight, row) < 2 ||
        (d->weight.sizes[0] > 1 && kiln_view_stride(d->weight, 0) < 0))
        return "the weights do not start at a multiple of 16 bytes, or their rows at even ones, in "
               "order";
    const kiln_device_info *info;
    return few_bytes(d) + LARGEST_RING > k->caps.shared_bytes &&
                   (op_device(k, &info) || !stream_plan_of(k, d, row, info).stages)
               ? "x is too large"
               : NULL;
}

// Warps of a block of few.c with different rows of weights: as many as leave two blocks for each of
// a GPU's multiprocessors, but enough to share what they read of x.
static uint32_t few_warps(uint64_t m, uint64_t n)
{
    enum { BLOCKS = 132 * 2 * 8 / 10 };
    uint32_t least = m > 4 ? 4 : m > 2 ? 2 : 1, warps = 8;
    while (warps > least && n < (uint64_t)BLOCKS * 16 * warps)
        warps /= 2;
    return warps;
}

static kiln_gguf_kernel kernel_of(kiln *k, const kiln_gguf_matmul_desc *d, const gguf_row *row)
{
    const kiln_device_info *info;
    if (d->kernel != KILN_GGUF_BEST)
        return d->kernel;
    bool is_real = !op_device(k, &info) && !info->caps.is_emulated;
    if (d->x.sizes[0] <= MOST_VECTOR_ROWS)
        return is_real && d->x.sizes[1] && !few_obstacle(k, d, row) ? KILN_GGUF_FEW
                                                                    : KILN_GGUF_VECTOR;
    bool is_fast = is_real && !obstacle(k, &d->x);
    return is_fast ? KILN_GGUF_TENSOR : KILN_GGUF_TILE;
}

// The variant of a kernel, and what its launch needs beside the arguments.
typedef struct choice {
    op_request request;
    uint64_t blocks;
    size_t more; // bytes of shared memory behind the kernel's own
    residents stay;
} choice;

static void choose_vector(const kiln_gguf_matmul_desc *d, const gguf_row *row, const sizes *s,
                          choice *c)
{
    uint32_t rows = rows_of(s->m, s->n);
    c->request.program = &matvec;
    op_set(&c->request, V, width_of(row, kiln_view_type(d->x)));
    op_set(&c->request, PACKED, is_packed(&d->x));
    op_set(&c->request, M, s->m <= 2 ? s->m : s->m <= 4 ? 4 : 8);
    op_set(&c->request, ROWS, rows);
    c->blocks = op_ceil_div(s->n, rows);
}

static void choose_few(kiln *k, const kiln_gguf_matmul_desc *d, const gguf_row *row, const sizes *s,
                       choice *c)
{
    enum { MORE_THAN_HALF = 120 << 10 }; // of a multiprocessor's shared memory: it has one block
    const kiln_device_info *info;
    op_request *r = &c->request;
    stream_plan plan = {0};
    if (!op_device(k, &info))
        plan = stream_plan_of(k, d, row, info);
    op_set(r, IN, kiln_view_type(d->x));
    op_set(r, XR, few_rows(s->m));
    if (plan.stages) {
        r->program = &streamed;
        r->shared_bytes = MORE_THAN_HALF;
        op_set(r, SPLITS, plan.stay.splits);
        op_set(r, STAGES, plan.stages);
        op_set(r, ELEMENTS, plan.elements);
        op_set(r, BULK, k->caps.has_clusters || (info->caps.is_emulated && s->n % 2 == 0));
        c->blocks = op_ceil_div(s->n, 16) * plan.stay.splits;
        c->stay = plan.stay;
        return;
    }
    uint32_t warps = few_warps(s->m, s->n);
    uint64_t stage = 256 / row->format.block_size * row->format.block_bytes;
    r->program = &few;
    op_set(r, WARPS_N, warps);
    op_set(r, WHOLE, stage % 16 == 0 && (s->n < 2 || s->w_row % 16 == 0));
    c->blocks = op_ceil_div(s->n, 16 * warps);
    c->more = (size_t)few_bytes(d);
}

static void choose_tensor(kiln *k, const kiln_gguf_matmul_desc *d, const sizes *s, choice *c)
{
    uint32_t rows = d->tile_rows;
    c->request.program = &tensor;
    op_set(&c->request, IN, kiln_view_type(d->x));
    op_set(&c->request, BX, rows ? rows : tensor_rows(k, s, &c->blocks));
    if (rows)
        c->blocks = op_product(op_ceil_div(s->m, rows), op_ceil_div(s->n, rows == 16 ? 32 : 128));
}

static kiln_status multiply(kiln *k, const kiln_gguf_matmul_desc *d, const gguf_row *row)
{
    sizes s = {.m = d->x.sizes[0],
               .n = d->weight.sizes[0],
               .units = d->x.sizes[1] / GGUF_UNIT,
               .x_row = kiln_view_stride(d->x, 0),
               .x_step = kiln_view_stride(d->x, 1),
               .w_row = kiln_view_stride(d->weight, 0),
               .out_row = kiln_view_stride(d->out, 0),
               .out_step = kiln_view_stride(d->out, 1)};
    choice c = {.request = {.program = &tile},
                .blocks = op_product(op_ceil_div(s.m, TILE_M), op_ceil_div(s.n, TILE_N))};
    kiln_gguf_kernel kernel = kernel_of(k, d, row);
    if (kernel == KILN_GGUF_VECTOR)
        choose_vector(d, row, &s, &c);
    else if (kernel == KILN_GGUF_FEW)
        choose_few(k, d, row, &s, &c);
    else if (kernel == KILN_GGUF_TENSOR)
        choose_tensor(k, d, &s, &c);
    op_set(&c.request, BLOCK, row->type);
    op_set(&c.request, ALIGN, alignment_of(&d->weight, row));
    op_set(&c.request, T, kiln_view_type(d->x));
    op_set(&c.request, OUT, kiln_view_type(d->out));
    kiln_arg args[5] = {kiln_arg_view(d->x), kiln_arg_view(d->weight), kiln_arg_view(d->out)};
    uint32_t count = 3;
    if (d->bias.buffer) {
        s.bias_step = kiln_view_stride(d->bias, 0);
        op_set(&c.request, BIAS, kiln_view_type(d->bias));
        args[count++] = kiln_arg_view(d->bias);
    }
    args[count++] = kiln_arg_struct(&s, sizeof s);
    return launch(k, "kiln_gguf_matmul", &c.request, c.blocks, args, count, c.more, c.stay,
                  d->stream);
}

kiln_status kiln_gguf_matmul(kiln *k, const kiln_gguf_matmul_desc *d)
{
    const char *call = "kiln_gguf_matmul";
    kiln_status status = op_begin(k, call, d);
    if (status)
        return status;
    const gguf_row *row = gguf_row_of(k, call, d->type);
    if (!row)
        return KILN_E_BAD_ARGUMENT;
    const op_operand o[] = {{.name = "x", .view = &d->x},
                            {.name = "weight", .view = &d->weight},
                            {.name = "bias", .view = &d->bias, .is_optional = true},
                            {.name = "out", .view = &d->out, .is_result = true}};
    status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status)
        status = check_type(k, call, "x", &d->x);
    if (!status)
        status = check_type(k, call, "out", &d->out);
    if (!status)
        status = check_rank(k, call, "x", &d->x);
    if (!status)
        status = check_rank(k, call, "out", &d->out);
    if (!status)
        status = check_blocks(k, call, row, "weight", &d->weight, "x", d->x.sizes[1]);
    if (!status && d->bias.buffer) {
        status = check_type(k, call, "bias", &d->bias);
        if (!status && (d->bias.rank != 1 || d->bias.sizes[0] != d->weight.sizes[0]))
            status =
                op_refuse(k, call, "'bias' must be [%llu]: an element for each row of 'weight'",
                          (unsigned long long)d->weight.sizes[0]);
    }
    if (status)
        return status;
    if (d->out.sizes[0] != d->x.sizes[0] || d->out.sizes[1] != d->weight.sizes[0])
        return op_refuse(k, call, "'out' is [%llu, %llu]; it must be [%llu, %llu]",
                         (unsigned long long)d->out.sizes[0], (unsigned long long)d->out.sizes[1],
                         (unsigned long long)d->x.sizes[0], (unsigned long long)d->weight.sizes[0]);
    if (d->kernel > KILN_GGUF_FEW)
        return op_refuse(k, call, "%d is no kernel", (int)d->kernel);
    if (d->kernel == KILN_GGUF_VECTOR && d->x.sizes[0] > MOST_VECTOR_ROWS)
        return op_refuse(k, call, "KILN_GGUF_VECTOR takes 8 rows of 'x' at most, not %llu",
                         (unsigned long long)d->x.sizes[0]);
    const char *why =
        d->kernel == KILN_GGUF_TENSOR && kiln_view_count(d->x) ? obstacle(k, &d->x) : NULL;
    if (why)
        return op_refuse(k, call, "KILN_GGUF_TENSOR is impossible here: %s", why);
    why = d->kernel == KILN_GGUF_FEW && kiln_view_count(d->x) ? few_obstacle(k, d, row) : NULL;
    if (why)
        return op_refuse(k, call, "KILN_GGUF_FEW is impossible here: %s", why);
    if (d->tile_rows && d->tile_rows != 16 && d->tile_rows != 64 && d->tile_rows != 128)
        return op_refuse(k, call, "'tile_rows' is %u; 16, 64 and 128 are possible", d->tile_rows);
    return kiln_view_count(d->out) ? multiply(k, d, row) : KILN_OK;
}

// --- conversions
static kiln_status convert(kiln *k, const job *j)
{
    const kiln_view *weight = &j->weight, *dense = &j->dense;
    const char *call = j->call, *blocks_name = j->is_result ? "out" : "weight";
    const char *name = j->is_result ? "x" : "out";
    const op_operand o[] = {{.name = name, .view = dense, .is_result = !j->is_result},
                            {.name = blocks_name, .view = weight, .is_result = j->is_result}};
    kiln_status status = op_check_operands(k, call, o, COUNT(o), NULL);
    if (!status)
        status = check_type(k, call, name, dense);
    if (!status)
        status = check_rank(k, call, name, dense);
    if (!status)
        status = check_blocks(k, call, j->row, blocks_name, weight, name, dense->sizes[1]);
    if (!status && dense->sizes[0] != weight->sizes[0])
        status = op_refuse(k, call, "'%s' has %llu rows, and '%s' has %llu", name,
                           (unsigned long long)dense->sizes[0], blocks_name,
                           (unsigned long long)weight->sizes[0]);
    if (status || !kiln_view_count(*dense))
        return status;
    const kiln_type type = kiln_view_type(*dense);
    sizes s = {.n = weight->sizes[0],
               .units = dense->sizes[1] / GGUF_UNIT,
               .x_row = kiln_view_stride(*dense, 0),
               .x_step = kiln_view_stride(*dense, 1),
               .w_row = kiln_view_stride(*weight, 0)};
    s.out_row = s.x_row;
    s.out_step = s.x_step;
    op_request r = {.program = j->is_result ? &pack : &unpack};
    op_set(&r, BLOCK, j->row->type);
    if (j->is_result) {
        op_set(&r, T, type);
        op_set(&r, BYTES, j->row->format.block_bytes);
    } else {
        op_set(&r, ALIGN, alignment_of(weight, j->row));
        op_set(&r, OUT, type);
        op_set(&r, V, width_of(j->row, type));
        op_set(&r, PACKED, is_packed(dense));
    }
    // pack.c: a warp has 16 units; unpack.c: a thread has one.
    uint64_t blocks = j->is_result ? op_ceil_div(op_product(s.n, op_ceil_div(s.units, 16)), 4)
                                   : op_ceil_div(s.n * s.units, 256);
    blocks = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    const kiln_arg args[] = {kiln_arg_view(j->is_result ? *dense : *weight),
                             kiln_arg_view(j->is_result ? *weight : *dense),
                             kiln_arg_struct(&s, sizeof s)};
    return launch(k, call, &r, blocks, args, COUNT(args), 0, (residents){0}, j->stream);
}

kiln_status kiln_gguf_dequantise(kiln *k, const kiln_gguf_dequantise_desc *d)
{
    job j = {.call = "kiln_gguf_dequantise"};
    kiln_status status = op_begin(k, j.call, d);
    if (status)
        return status;
    j.row = gguf_row_of(k, j.call, d->type);
    j.weight = d->weight;
    j.dense = d->out;
    j.stream = d->stream;
    return j.row ? convert(k, &j) : KILN_E_BAD_ARGUMENT;
}

kiln_status kiln_gguf_quantise(kiln *k, const kiln_gguf_quantise_desc *d)
{
    job j = {.call = "kiln_gguf_quantise", .is_result = true};
    kiln_status status = op_begin(k, j.call, d);
    if (status)
        return status;
    j.row = gguf_row_of(k, j.call, d->type);
    j.weight = d->out;
    j.dense = d->x;
    j.stream = d->stream;
    return j.row ? convert(k, &j) : KILN_E_BAD_ARGUMENT;
}
