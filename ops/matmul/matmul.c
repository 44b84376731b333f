// kiln_matmul: checks a description, picks a kernel, and launches it; host_views.c makes products
// of the description's views, host_sm90.c launches gemm_sm90.c.
//
// The kernels: gemm_sm90.c (wgmma, tensor maps), gemm_sm80.c (mma, asynchronous copies), and for
// everything else gemm_portable.c (fragments) and gemm_f32.c. The first one that can do the job is
// taken; the two fast ones read rows that start at multiples of 16 bytes, for gemm_sm90.c others
// are copied. gemm_strided.c is for operands that are contiguous in neither dimension. Start
// reading at kiln_matmul, the last function.
#include <stdlib.h>

#include "ops/matmul/host_matmul.h"

static const struct {
    kiln_type type;
    uint32_t bytes;
} operands[OPERAND_COUNT] = {
    [BF16] = {KILN_BF16, 2}, [F16] = {KILN_F16, 2}, [TF32] = {KILN_F32, 4},
    [E4M3] = {KILN_F8E4, 1}, [S8] = {KILN_I8, 1},   [F32] = {KILN_F32, 4},
};

// --- the kernels and the axes of their variants
#define AXIS(id, text, what, domain) [AXIS_##id] = {.name = text, .kind = OP_##what, domain},
const op_axis matmul_axes[AXIS_COUNT] = {
#include "ops/matmul/axes.def"
};
static const op_program gemm_sm80 = MATMUL_PROGRAM("ops/matmul/gemm_sm80.c"),
                        gemm_portable = MATMUL_PROGRAM("ops/matmul/gemm_portable.c"),
                        gemm_f32 = MATMUL_PROGRAM("ops/matmul/gemm_f32.c"),
                        gemm_cpu = MATMUL_PROGRAM("ops/matmul/gemm_cpu.c"),
                        gemm_strided = MATMUL_PROGRAM("ops/matmul/gemm_strided.c"),
                        gemm_small = MATMUL_PROGRAM("ops/matmul/gemm_small.c"),
                        gemm_short = MATMUL_PROGRAM("ops/matmul/gemm_short.c");

// --- checking
static kiln_status wrong(kiln *k, const char *what)
{
    return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "kiln_matmul: %s", what);
}

static kiln_status check_types(job *j)
{
    const kiln_matmul_desc *d = j->desc;
    kiln_type a = kiln_view_type(d->a), b = kiln_view_type(d->b), out = kiln_view_type(d->out);
    if (a != b)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011, "kiln_matmul: 'a' is %s and 'b' is %s",
                         kiln_type_name(a), kiln_type_name(b));
    if ((d->is_tf32 || d->is_tf32x3) && a != KILN_F32)
        return wrong(j->k, "is_tf32 and is_tf32x3 are for f32 operands");
    if (d->is_tf32 && d->is_tf32x3)
        return wrong(j->k, "is_tf32 and is_tf32x3 exclude each other");
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

kiln_status matmul_check_types(job *j)
{
    const kiln_matmul_desc *d = j->desc;
    if (d->epilogue != KILN_EPILOGUE_NONE && kiln_view_type(d->bias) != KILN_F32)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011, "kiln_matmul: 'bias' is %s, not f32",
                         kiln_type_name(kiln_view_type(d->bias)));
    kiln_status status = check_types(j);
    if (!status && j->type == S8 && d->epilogue != KILN_EPILOGUE_NONE)
        return wrong(j->k, "the epilogue of an i8 product is KILN_EPILOGUE_NONE");
    return status;
}

// --- what the kernels share
void matmul_set_types(const job *j, bool left_is_mn, bool right_is_mn, op_request *r)
{
    op_set(r, TYPE, j->type);
    op_set(r, OUT, j->result);
    op_set(r, A_MN, left_is_mn);
    op_set(r, B_MN, right_is_mn);
    op_set(r, EPILOGUE, j->desc->epilogue);
}

static void set_common(const job *j, op_request *r)
{
    matmul_set_types(j, j->a.is_transposed, !j->b.is_transposed, r);
}

bool matmul_is_aligned(const job *j, const matrix *x, uint32_t bytes)
{
    return (x->buffer->address + x->first * bytes) % 16 == 0 && x->stride * bytes % 16 == 0 &&
           (j->batch == 1 || x->next * bytes % 16 == 0);
}

static bool operands_are_aligned(const job *j)
{
    return matmul_is_aligned(j, &j->a, j->bytes) && matmul_is_aligned(j, &j->b, j->bytes);
}

bool matmul_is_scattered(const job *j)
{
    return j->a.is_scattered || j->b.is_scattered || j->out.is_scattered || j->bias.is_scattered;
}

// --- operands in plain memory: sm_80, portable, f32
typedef struct plain { // one way to run one of them
    uint32_t m, n, warps_m, warps_n, stages;
    uint32_t line;      // bytes of a stage along K
    bool is_persistent; // its blocks take one tile after the other
} plain;

typedef void make_request(const job *j, plain way, op_request *out);

bool matmul_has_pairs(const job *j)
{
    uint64_t address = j->out.buffer->address + j->out.first * j->out_bytes;
    return address % (2 * j->out_bytes) == 0 && j->n % 2 == 0 && j->out.stride % 2 == 0 &&
           (j->batch == 1 || j->out.next % 2 == 0);
}

// Are there nothing but whole tiles, and steps for all stages?
static bool is_whole(const job *j, plain way)
{
    uint32_t depth = way.line / j->bytes;
    return j->m % way.m == 0 && j->n % way.n == 0 && j->depth % depth == 0 &&
           j->depth / depth >= way.stages;
}

static kiln_status launch_plain(const job *j, const op_kernel *kernel, plain way)
{
    uint64_t tiles = (uint64_t)ceil_div(j->m, way.m) * ceil_div(j->n, way.n), blocks = tiles;
    if (tiles > INT32_MAX)
        return matmul_too_many_tiles(j, tiles);
    if (way.is_persistent) { // as many tiles for each block
        uint64_t resident = kernel->resident / j->batch, waves;
        waves = resident ? (tiles + resident - 1) / resident : tiles;
        blocks = (tiles + waves - 1) / waves;
    }
    return matmul_launch_plain(j, kernel, (uint32_t)blocks, 1, false);
}

static const char *sm80_obstacle(const job *j)
{
    if (!j->k->caps.has_nv)
        return "the device has no asynchronous copies";
    if (j->k->caps.sm && j->k->caps.sm < (j->type == E4M3 ? 89 : 80))
        return "the device is too old";
    const char *obstacle = matmul_operand_obstacle(j);
    if (!obstacle && !operands_are_aligned(j))
        return "a row of an operand does not start at a multiple of 16 bytes";
    return obstacle;
}

static kiln_status refuse(const job *j, const char *kernel, const char *why)
{
    return error_set(j->k, KILN_E_UNSUPPORTED, K6038, "kiln_matmul: the %s kernel cannot: %s",
                     kernel, why);
}

static void list_way(matmul_list *to, const plain *w)
{
    for (size_t n = 0; n < to->count; n++)
        if (to->all[n].m == w->m && to->all[n].n == w->n)
            return;
    if (to->count < MATMUL_TILES)
        to->all[to->count++] = (matmul_choice){.m = w->m, .n = w->n};
}

// Runs the tile that is asked for; else the one that the tuner has found, if there is one; else the
// first that fills the device, or the smallest. One whose shared memory the device does not have is
// passed over, unless it is the last: the kernel knows how much it takes.
static kiln_status run_plain(const job *j, matmul_at at, const plain *ways, size_t count,
                             uint32_t blocks, make_request *make)
{
    const kiln_matmul_desc *d = j->desc;
    bool is_given = d->tile_m || d->tile_n;
    const matmul_tuned *tuned = is_given || j->list ? NULL : matmul_find_tuned(j, at);
    for (size_t n = 0; tuned && n < count; n++) {
        op_request r = {.program = NULL};
        const op_kernel *kernel;
        if (ways[n].m != tuned->choice.m || ways[n].n != tuned->choice.n)
            continue;
        make(j, ways[n], &r);
        if (!op_kernel_get(j->k, &r, &kernel) && kernel->shared_bytes <= j->k->caps.shared_bytes)
            return launch_plain(j, kernel, ways[n]);
    }
    for (size_t n = 0; n < count; n++) {
        const plain *w = &ways[n];
        uint64_t tiles = (uint64_t)ceil_div(j->m, w->m) * ceil_div(j->n, w->n) * j->batch;
        bool is_last = n + 1 == count;
        bool is_wanted =
            is_given ? d->tile_m == w->m && d->tile_n == w->n : tiles >= blocks || is_last;
        if (!is_wanted)
            continue;
        op_request r = {.program = NULL};
        const op_kernel *kernel;
        make(j, *w, &r);
        kiln_status status = op_kernel_get(j->k, &r, &kernel);
        if (status)
            return status;
        if (kernel->shared_bytes > j->k->caps.shared_bytes && !is_last)
            continue;
        if (!j->list)
            return launch_plain(j, kernel, *w);
        list_way(j->list, w); // the one that it gets unasked, then all
        j->list->at = at;
        for (size_t i = 0; i < count; i++)
            list_way(j->list, &ways[i]);
        return KILN_OK;
    }
    return refuse(j, matmul_at_names[at], "it has no such tile");
}

static void request_sm80(const job *j, plain way, op_request *out)
{
    bool has_whole = is_whole(j, way);
    out->program = &gemm_sm80;
    set_common(j, out);
    op_set(out, BM, way.m);
    op_set(out, BN, way.n);
    op_set(out, WARPS_M, way.warps_m);
    op_set(out, WARPS_N, way.warps_n);
    op_set(out, STAGES, way.stages);
    op_set(out, WHOLE, has_whole);
    op_set(out, WIDE, has_whole && matmul_is_aligned(j, &j->out, j->out_bytes));
    op_set(out, PAIRS, matmul_has_pairs(j));
}

static kiln_status run_sm80(const job *j)
{
    static const plain ways[] = {{128, 256, 2, 4, 4, 128, true},
                                 {128, 256, 2, 4, 3, 128, true},
                                 {128, 128, 2, 2, 3, 128, true},
                                 {64, 64, 2, 2, 4, 128, true}};
    // Larger tiles are faster even where a quarter of the multiprocessors have none.
    return run_plain(j, AT_SM80, ways, COUNT(ways), j->device->multiprocessors * 3 / 4,
                     request_sm80);
}

static void request_f32(const job *j, plain way, op_request *out)
{
    job plain_job = *j;
    plain_job.type = F32;
    out->program = &gemm_f32;
    set_common(&plain_job, out);
    op_set(out, TILE, way.m);
    op_set(out, PAIRS, matmul_has_pairs(j));
    op_set(out, ALIGNED, operands_are_aligned(j));
}

static kiln_status run_f32(const job *j)
{
    static const plain ways[] = {{.m = 128, .n = 128}, {.m = 64, .n = 64}, {.m = 32, .n = 32}};
    size_t first = j->k->caps.sm ? 0 : 1;
    return run_plain(j, AT_F32, ways + first, COUNT(ways) - first, j->device->multiprocessors,
                     request_f32);
}

static void request_portable(const job *j, plain way, op_request *out)
{
    bool is_even = j->type != E4M3 && operands_are_aligned(j); // e4m3 is converted on the way
    out->program = &gemm_portable;
    set_common(j, out);
    op_set(out, BM, way.m);
    op_set(out, BN, way.n);
    op_set(out, WARPS_M, way.warps_m);
    op_set(out, WARPS_N, way.warps_n);
    op_set(out, PAIRS, matmul_has_pairs(j));
    op_set(out, ALIGNED, is_even);
    op_set(out, LINE, way.line);
    op_set(out, WHOLE, is_even && is_whole(j, way));
}

// Can gemm_cpu.c do it? NULL: yes.
static const char *cpu_obstacle(const job *j)
{
    if (!j->k->caps.is_host)
        return "the device is not a CPU";
    if (matmul_is_scattered(j))
        return matmul_not_contiguous;
    if (j->type == TF32 && j->out_bytes != 4)
        return "it does not round to tf32";
    return NULL;
}

static void request_cpu(const job *j, plain way, op_request *out)
{
    job plain_job = *j;
    if (j->type == TF32)
        plain_job.type = F32; // more exact than asked for
    out->program = &gemm_cpu;
    set_common(&plain_job, out);
    op_set(out, BM, way.m);
    op_set(out, MR, way.m < 12 ? way.m : 12);
    op_set(out, PANELS, way.n / 32);
}

static kiln_status run_cpu(const job *j)
{
    // The first that has a few tiles for every core.
#define WAY(rows, panels)                                                                          \
    {                                                                                              \
        .m = (rows), .n = 32 * (panels)                                                            \
    }
    // The largest is for a b whose columns are contiguous: turning them as they are packed costs
    // more, and is done once for all rows of a tile.
    static const plain ways[] = {WAY(192, 4), WAY(96, 4), WAY(96, 2),
                                 WAY(48, 2),  WAY(48, 1), WAY(12, 1)},
                       few[] = {WAY(4, 4), WAY(4, 1)}, one[] = {WAY(1, 4), WAY(1, 1)};
#undef WAY
    // To wake another core takes as long as these many products on this one.
    enum { TILES_OF_A_CORE = 3, SMALL = 1 << 21 };
    bool is_small = (uint64_t)j->m * j->n * j->batch <= SMALL / (j->depth ? j->depth : 1);
    size_t first = j->b.is_transposed ? 0 : 1;
    const plain *from = j->m > 4 ? ways + first : j->m > 1 ? few : one;
    return run_plain(j, AT_CPU, from, j->m > 4 ? COUNT(ways) - first : COUNT(few),
                     is_small ? 1 : j->device->multiprocessors * TILES_OF_A_CORE, request_cpu);
}

static kiln_status run_portable(const job *j)
{
    static const plain ways[] = {{128, 256, 2, 4, 2, 128, false}, {128, 128, 2, 2, 2, 128, false},
                                 {64, 64, 2, 2, 2, 128, false},   {128, 128, 2, 4, 2, 64, false},
                                 {64, 64, 2, 2, 2, 64, false},    {32, 32, 1, 1, 2, 64, false}};
    if (j->type == F32 || (j->type == TF32 && j->out_bytes == 4))
        return run_f32(j);
    if (j->type == TF32)
        return error_set(j->k, KILN_E_UNSUPPORTED, K6038,
                         "kiln_matmul: a tf32 product for 16-bit results needs sm_80 and aligned "
                         "rows");
    // Matrix units want large tiles of each warp, but bytes across the rows want registers, too.
    // The cpu device and the interpreter have blocks of one warp: no fibers.
    bool transposes_bytes = j->type == S8 && (j->a.is_transposed || !j->b.is_transposed);
    bool is_large = j->k->caps.sm >= 80 && !transposes_bytes;
    size_t first = j->k->caps.sm ? (is_large ? 0 : 3) : j->k->caps.is_host ? 5 : 4;
    size_t count = first == 0 ? 3 : first == 3 ? 2 : 1;
    return run_plain(j, AT_PORTABLE, ways + first, count, j->device->multiprocessors,
                     request_portable);
}

// --- neither rows nor columns are contiguous
typedef struct strided_layout { // as gemm_strided.c has it
    uint64_t first[4];
    int64_t steps[7], next[3];
} strided_layout;

// `blocks` of a kernel with the arguments of gemm_strided.c, for each product.
static kiln_status launch_strided(const job *j, const op_request *r, uint64_t blocks)
{
    const kiln_matmul_desc *d = j->desc;
    const matrix *const all[] = {&j->a, &j->b, &j->out};
    enum { MOST = 65535 }; // blocks along y
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->k, r, &kernel);
    if (!status && blocks > INT32_MAX)
        return matmul_too_many_tiles(j, blocks);
    for (uint32_t first = 0; first < j->batch && !status; first += MOST) {
        kiln_arg args[8];
        size_t count = 0;
        strided_layout l = {.first = {[3] = j->bias.first}, .steps = {[6] = j->bias.steps[0]}};
        for (size_t n = 0; n < COUNT(all); n++) {
            args[count++] = matmul_arg_start(all[n]);
            l.first[n] = all[n]->first + first * all[n]->next;
            l.steps[2 * n] = all[n]->steps[0];
            l.steps[2 * n + 1] = all[n]->steps[1];
            l.next[n] = (int64_t)all[n]->next;
        }
        if (d->epilogue != KILN_EPILOGUE_NONE)
            args[count++] = matmul_arg_start(&j->bias);
        args[count++] = kiln_arg_i64(KILN_U32, j->m);
        args[count++] = kiln_arg_i64(KILN_U32, j->n);
        args[count++] = kiln_arg_i64(KILN_U32, j->depth);
        args[count++] = kiln_arg_struct(&l, sizeof l);
        uint32_t rest = j->batch - first;
        status =
            kiln_launch(kernel->kernel,
                        &(kiln_launch_desc){.grid = {(uint32_t)blocks, rest < MOST ? rest : MOST},
                                            .args = args,
                                            .arg_count = count,
                                            .stream = d->stream,
                                            .overlaps_previous = matmul_overlaps(j)});
    }
    return status;
}

static kiln_status run_strided(const job *j)
{
    enum { TILE = 32 };
    op_request r = {.program = &gemm_strided};
    matmul_set_types(j, false, false, &r);
    if (j->desc->tile_m || j->desc->tile_n || j->list)
        return refuse(j, "strided", "it has no such tile");
    return launch_strided(j, &r, (uint64_t)ceil_div(j->m, TILE) * ceil_div(j->n, TILE));
}

// --- small products and short sums
typedef struct small {
    bool is_short; // gemm_short.c, with so many rows and numbers of a sum; else gemm_small.c
    uint32_t rows, depth, lanes;
} small;

enum { SHORT_COLUMNS = 128, SMALL_THREADS = 128 }; // of a block

// Lanes that share a sum in gemm_small.c, and its model: cycles until a block has begun and ended,
// until memory answers, and of a block among many. Fitted to 60 times of an H200.
static const struct small_form {
    uint32_t lanes, start, answer, each;
} small_forms[] = {
    {1, 600, 850, 250}, {32, 600, 1050, 250}, {128, 1100, 800, 220}, {512, 1500, 800, 1213}};

static uint64_t small_blocks(const job *j, const small *s) // of a product
{
    if (s->is_short)
        return (uint64_t)ceil_div(j->m, s->rows) * ceil_div(j->n, SHORT_COLUMNS);
    uint32_t results = s->lanes < SMALL_THREADS ? SMALL_THREADS / s->lanes : 1;
    return ((uint64_t)j->m * j->n + results - 1) / results;
}

// Lines of granules of 16 bytes, each inside its line?
static bool has_granules(const job *j, const matrix *x)
{
    bool is_across = x == &j->a ? x->is_transposed : !x->is_transposed;
    uint32_t numbers = !is_across ? j->depth : x == &j->a ? j->m : j->n;
    return matmul_is_aligned(j, x, j->bytes) && numbers % (16 / j->bytes) == 0;
}

// The model, as in host_tile.c: cycles of a multiprocessor. Operands without granules are loaded
// number by number; rows of a along K come while the tile before is stored. Fitted to 70 times of
// an H200.
static uint64_t short_cost(const job *j, const small *s)
{
    enum { START_CYCLES = 3400, TILE_CYCLES = 1100, LINE_CYCLES = 6, STORED_PER_CYCLE = 1900 };
    uint64_t sms = j->device->multiprocessors, blocks = small_blocks(j, s) * j->batch;
    uint64_t numbers = has_granules(j, &j->a) ? 0 : (uint64_t)s->rows * j->depth;
    uint64_t start = START_CYCLES + (has_granules(j, &j->b) ? 0 : SHORT_COLUMNS * j->depth * 3 / 2),
             each = TILE_CYCLES * s->rows * j->out_bytes / 128 + LINE_CYCLES * s->depth * j->bytes +
                    (j->a.is_transposed ? numbers * 4 / 3 : numbers);
    uint64_t cost = (blocks + sms - 1) / sms * each,
             least = j->batch * matmul_least_cycles(j, STORED_PER_CYCLE);
    cost = start + (cost > least ? cost : least);
    return j->n <= MATMUL_FEW ? cost + cost / 4 : cost; // most of a tile is empty
}

// A warp's load is of numbers that follow each other, or it is of a line of memory for each lane.
static uint64_t small_cost(const job *j, const small *s)
{
    enum { LOAD_CYCLES = 3, LINES_CYCLES = 20, BLOCK_LINES_CYCLES = 32, AT_ONCE = 8, WARPS = 64 };
    const struct small_form *f = small_forms;
    while (f->lanes != s->lanes)
        f++;
    uint64_t sms = j->device->multiprocessors, blocks = small_blocks(j, s) * j->batch;
    uint64_t warps = blocks * (s->lanes > SMALL_THREADS ? s->lanes : SMALL_THREADS) / 32;
    uint64_t waves = (warps + sms * WARPS - 1) / (sms * WARPS);
    uint64_t wait = waves * ceil_div(j->depth, s->lanes * AT_ONCE) * f->answer,
             loads = warps * 2 * ceil_div(j->depth, s->lanes), cost = f->start;
    bool is_along = s->lanes > 1 && j->a.steps[1] == 1 && j->b.steps[0] == 1,
         is_large = s->lanes > SMALL_THREADS;
    cost += blocks * f->each / sms;
    if (is_along)
        return cost + wait + loads * LOAD_CYCLES / sms;
    loads = is_large ? loads * BLOCK_LINES_CYCLES / (blocks < sms ? blocks : sms)
                     : loads * LINES_CYCLES / sms;
    return cost + (loads > wait ? loads : wait);
}

static bool can_short(const job *j)
{
    enum { LINE = 128 };
    const kiln_caps *caps = &j->k->caps;
    return j->depth && j->depth * j->bytes <= LINE && (j->bytes == 2 || j->type == TF32) &&
           caps->has_nv && (!caps->sm || caps->sm >= 80) && !matmul_is_scattered(j);
}

static bool can_small(const job *j, const small *s)
{
    return s->is_short ? can_short(j) : j->depth && (j->bytes == 2 || j->type == TF32);
}

// The faster of the two, or the one with the tile that is asked for.
static small small_of(const job *j)
{
    enum { FEW = 16, STEP = 32 }; // numbers of a sum; bytes
    uint32_t unit = STEP / j->bytes;
    small one = {.lanes = 1},
          s = {.is_short = true, .rows = 64, .depth = (j->depth + unit - 1) / unit * unit};
    if (j->desc->tile_m == 1)
        return (small){.lanes = j->desc->sm90.split_k};
    for (size_t n = 1; n < COUNT(small_forms) && j->depth > FEW; n++) {
        small tried = {.lanes = small_forms[n].lanes};
        if (n == 1 || small_cost(j, &tried) < small_cost(j, &one))
            one = tried;
    }
    // Few rows make many blocks. Each loads columns of b, which takes long number by number.
    small low = s;
    low.rows = 32;
    if (j->out_bytes == 4 || small_blocks(j, &s) * j->batch < j->device->multiprocessors ||
        (has_granules(j, &j->b) && short_cost(j, &low) < short_cost(j, &s)))
        s = low;
    if (j->desc->tile_m)
        s.rows = j->desc->tile_m;
    bool is_short =
        j->desc->tile_m ||
        (can_short(j) && (!can_small(j, &one) || short_cost(j, &s) < small_cost(j, &one)));
    return is_short ? s : one;
}

// One kernel is faster than a copy and a product, and stores single numbers well.
static bool is_small(const job *j)
{
    small s = small_of(j);
    bool is_few = j->m <= MATMUL_FEW || j->n <= MATMUL_FEW; // a tile of it would be empty for most
    bool has_few_results = (uint64_t)j->m * j->n <= MATMUL_FEW; // … for nearly all
    if (!can_small(j, &s) || !j->k->caps.has_nv || matmul_is_scattered(j) ||
        !(matmul_copies(j) || (s.is_short && !is_few) || has_few_results) || j->desc->tile_m)
        return false;
    uint64_t cost = s.is_short ? short_cost(j, &s) : small_cost(j, &s);
    return cost < matmul_thin_cost(j) && cost < matmul_loose_cost(j) &&
           cost < matmul_stream_cost(j) && (matmul_sm90_obstacle(j) || cost < matmul_sm90_cost(j));
}

static kiln_status run_short(const job *j, const small *s)
{
    op_request r = {.program = &gemm_short};
    const op_kernel *kernel;
    set_common(j, &r);
    op_set(&r, DEPTH, s->depth);
    op_set(&r, ROWS, s->rows);
    op_set(&r, ALIGNED, has_granules(j, &j->a) + 2 * has_granules(j, &j->b));
    op_set(&r, PAIRS, matmul_has_pairs(j));
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    if (status)
        return status;
    // Columns that are loaded number by number stay for many tiles: as many blocks as run at a
    // time, each with as many tiles.
    uint32_t rows = ceil_div(j->m, s->rows), columns = ceil_div(j->n, SHORT_COLUMNS);
    uint32_t most = kernel->resident / columns / j->batch;
    bool has_all = has_granules(j, &j->a) && has_granules(j, &j->b);
    if (most && most < rows && !has_all)
        rows = ceil_div(rows, ceil_div(rows, most));
    uint64_t blocks = (uint64_t)rows * columns;
    if (blocks > INT32_MAX)
        return matmul_too_many_tiles(j, blocks);
    return matmul_launch_plain(j, kernel, (uint32_t)blocks, 1, matmul_overlaps(j));
}

// Is it one of the forms, where one is asked for?
static bool has_small_form(const job *j, const small *s)
{
    const kiln_matmul_desc *d = j->desc;
    if (s->is_short)
        return d->tile_m ? d->tile_n == SHORT_COLUMNS && (s->rows == 32 || s->rows == 64)
                         : !d->tile_n;
    bool is_listed = false;
    for (size_t n = 0; n < COUNT(small_forms); n++)
        is_listed |= small_forms[n].lanes == s->lanes;
    return is_listed && (d->tile_m ? d->tile_n == (s->lanes == 1 ? SMALL_THREADS : 1) : !d->tile_n);
}

static kiln_status run_small(const job *j)
{
    small s = small_of(j);
    op_request r = {.program = &gemm_small};
    if (!can_small(j, &s))
        return refuse(j, "small", "operands are of 8 bits or f32 without is_tf32, or k is 0");
    if (!has_small_form(j, &s))
        return refuse(j, "small", "it has no such tile");
    if (j->list) {
        j->list->at = AT_SMALL;
        j->list->count = 1;
        j->list->all[0] = s.is_short ? (matmul_choice){.m = s.rows, .n = SHORT_COLUMNS}
                                     : (matmul_choice){.m = 1,
                                                       .n = s.lanes == 1 ? SMALL_THREADS : 1,
                                                       .sm90 = {.split_k = s.lanes}};
        return KILN_OK;
    }
    if (s.is_short)
        return run_short(j, &s);
    matmul_set_types(j, false, false, &r);
    op_set(&r, LANES, s.lanes);
    return launch_strided(j, &r, small_blocks(j, &s));
}

// --- choosing
// gemm_sm90.c takes a launch for each product of a batch. Where products are so small that launches
// are most of it, gemm_sm80.c is faster, which does them all in one.
static bool is_many_small(const job *j)
{
    enum { LAUNCH_CYCLES = 2500, START_CYCLES = 6000, PRODUCTS_PER_CYCLE = 500, TILE = 64 };
    if (j->batch < 4 || j->desc->tile_m || j->desc->tile_n)
        return false;
    job one = *j;
    one.batch = 1;
    uint64_t each = matmul_tile_cost(&one), padded = (uint64_t)ceil_div(j->m, TILE) * TILE;
    padded *= (uint64_t)ceil_div(j->n, TILE) * TILE;
    uint64_t own = START_CYCLES + padded * (j->depth + TILE) * j->batch / PRODUCTS_PER_CYCLE /
                                      j->device->multiprocessors;
    return own < j->batch * (each > LAUNCH_CYCLES ? each : LAUNCH_CYCLES);
}

// What comes before the first kernel that can do it. Choices are kept: the models take longer than
// a launch.
typedef enum way { UNKNOWN, SMALL, STREAM, THIN, LOOSE, MANY_SMALL, FIRST_POSSIBLE } way;

typedef struct kept_way {
    uint32_t key[5];
    way way;
} kept_way;

enum { KEPT_WAYS = 64 };

static void *make_ways(kiln *k)
{
    (void)k;
    return calloc(KEPT_WAYS, sizeof(kept_way));
}

static way new_way(const job *j)
{
    return is_small(j)                                                         ? SMALL
           : matmul_is_stream(j)                                               ? STREAM
           : matmul_is_thin(j)                                                 ? THIN
           : matmul_is_loose(j)                                                ? LOOSE
           : !matmul_sm90_obstacle(j) && !sm80_obstacle(j) && is_many_small(j) ? MANY_SMALL
                                                                               : FIRST_POSSIBLE;
}

static way way_of(const job *j)
{
    const bool facts[] = {j->a.is_transposed,
                          j->b.is_transposed,
                          j->is_loose,
                          matmul_is_scattered(j),
                          matmul_copies(j),
                          matmul_is_aligned(j, &j->a, j->bytes),
                          matmul_is_aligned(j, &j->b, j->bytes),
                          matmul_is_lined(j, &j->a),
                          matmul_is_lined(j, &j->b),
                          matmul_is_lined_result(j)};
    uint32_t key[5] = {j->m, j->n, j->depth, j->batch,
                       (uint32_t)j->type * 64 + (uint32_t)j->result * 8 +
                           (uint32_t)j->desc->epilogue};
    uint32_t hash = 0;
    kept_way *all = op_keep(j->k, OP_KEEP_MATMUL_WAYS, make_ways, free);
    if (!all || j->desc->tile_m || j->desc->tile_n || j->list)
        return new_way(j);
    for (size_t n = 0; n < COUNT(facts); n++)
        key[4] = key[4] * 2 + facts[n];
    for (size_t n = 0; n < COUNT(key); n++)
        hash = (hash ^ key[n]) * 0x9e3779b1u;
    kept_way *at = &all[(hash >> 16) % KEPT_WAYS];
    if (memcmp(at->key, key, sizeof key) != 0) { // m is never 0
        at->way = new_way(j);
        memcpy(at->key, key, sizeof key);
    }
    return at->way;
}

static kiln_status run(const job *j)
{
    bool wants_sm90 = j->desc->kernel == KILN_MATMUL_SM90 ||
                      (j->desc->kernel == KILN_MATMUL_BEST && !j->k->caps.is_emulated);
    if (wants_sm90 && matmul_is_split(j) && !j->list)
        return matmul_run_split(j);
    const char *no_sm90 = matmul_sm90_obstacle(j), *no_sm80 = sm80_obstacle(j),
               *no_cpu = cpu_obstacle(j), *no_thin = matmul_thin_obstacle(j);
    bool is_fast = !j->k->caps.is_emulated, is_portable = false;
    switch (j->desc->kernel) {
    case KILN_MATMUL_SM90: return no_sm90 ? refuse(j, "sm_90a", no_sm90) : matmul_run_sm90(j);
    case KILN_MATMUL_SM80: return no_sm80 ? refuse(j, "sm_80", no_sm80) : run_sm80(j);
    case KILN_MATMUL_CPU: return no_cpu ? refuse(j, "cpu", no_cpu) : run_cpu(j);
    case KILN_MATMUL_THIN:
        if (j->desc->sm90.stages)
            no_thin = matmul_stream_obstacle(j);
        return no_thin                ? refuse(j, "thin", no_thin)
               : j->desc->sm90.stages ? matmul_run_stream(j)
                                      : matmul_run_thin(j);
    case KILN_MATMUL_SMALL: return run_small(j);
    case KILN_MATMUL_PORTABLE:
        if (matmul_is_loose_tile(j))
            return matmul_run_loose(j);
        is_portable = true;
        break;
    case KILN_MATMUL_BEST: break;
    }
    is_fast = is_fast && !is_portable;
    way w = is_fast ? way_of(j) : FIRST_POSSIBLE;
    if (w == SMALL && !j->desc->tile_m)
        return run_small(j);
    if (w == STREAM)
        return matmul_run_stream(j);
    if (w == THIN || w == LOOSE || w == MANY_SMALL)
        return w == THIN ? matmul_run_thin(j) : w == LOOSE ? matmul_run_loose(j) : run_sm80(j);
    return is_fast && !no_sm90      ? matmul_run_sm90(j)
           : is_fast && !no_sm80    ? run_sm80(j)
           : is_fast && !no_cpu     ? run_cpu(j)
           : matmul_is_scattered(j) ? run_strided(j)
                                    : run_portable(j);
}

// Numbers of other than 16 bits are read along K alone. With a sum of one product every matrix of
// which the numbers follow each other can be read that way.
static void read_along_k(job *j)
{
    if (j->depth != 1 || j->bytes == 2)
        return;
    if (j->a.is_transposed && !j->a.is_scattered) {
        j->a.is_transposed = false;
        j->a.rows = j->m;
        j->a.stride = 1;
    }
    if (!j->b.is_transposed && !j->b.is_scattered) {
        j->b.is_transposed = true;
        j->b.rows = j->n;
        j->b.stride = 1;
    }
}

static kiln_status start(kiln *k, const kiln_matmul_desc *desc, matmul_list *list)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!desc)
        return wrong(k, "the description is NULL");
    if ((unsigned)desc->epilogue > KILN_EPILOGUE_BIAS_SILU)
        return wrong(k, "there is no such epilogue");
    if ((unsigned)desc->kernel > KILN_MATMUL_SMALL)
        return wrong(k, "there is no such kernel");
    if (desc->bias.buffer && desc->epilogue == KILN_EPILOGUE_NONE)
        return wrong(k, "there is a bias, and no epilogue that adds it");
    if (matmul_has_ends(desc))
        return list ? wrong(k, "factors, a residual and 'pre' leave no tile to choose")
                    : matmul_run_ends(k, desc);
    products p;
    kiln_status status = matmul_products(k, desc, &p);
    if (!status)
        status = op_device(k, &p.job.device);
    if (!status)
        status = matmul_check_types(&p.job);
    for (uint64_t n = 0; n < p.count && !status; n++) {
        job j = matmul_job(&p, n);
        j.list = list;
        matmul_set_loose(&j);
        read_along_k(&j);
        status = run(&j);
        if (list && !status)
            matmul_name(&j, list->at, list->program, list->shape);
        if (list)
            break;
    }
    return status;
}

kiln_status kiln_matmul(kiln *k, const kiln_matmul_desc *desc)
{
    return start(k, desc, NULL);
}

kiln_status matmul_list_tiles(kiln *k, const kiln_matmul_desc *desc, matmul_list *out)
{
    *out = (matmul_list){.count = 0};
    return start(k, desc, out);
}
