// Few rows of x on tensor cores: how stream.c and few.c are launched. Start reading at
// linear_run_few.
#include "ops/linear/host_job.h"

#include "rt/memory/view.h"

#define AXES "ops/linear/axes.def"
#include "ops/axes.h"
static const op_program few_program = OP_PROGRAM("ops/linear/few.c", "linear_few"),
                        stream_program = OP_PROGRAM("ops/linear/stream.c", "linear_stream");

uint32_t linear_chunk(const job *j)
{
    return j->layers[0].weights.format == WEIGHT_I4 ? 32 : 16;
}

uint32_t linear_span_words(const job *j)
{
    uint32_t words = 4;
    while (words > 1 && linear_is_grouped(j) && words * linear_chunk(j) > j->group)
        words /= 2;
    return words;
}

const char *linear_few_obstacle(kiln *k, const job *j)
{
    const char *why = linear_obstacle(k, j);
    if (why)
        return why;
    if (kiln_view_type(j->x) == KILN_I8)
        return "'x' is i8";
    if (j->x.sizes[0] > FEW_ROWS)
        return "'x' has more than 16 rows";
    bool is_packed = linear_is_packed(&j->x) && j->x.sizes[1] % linear_chunk(j) == 0;
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
    uint32_t rows = 1, depth = 4 * linear_chunk(j), splits = 1; // depth: of a stage
    while (rows < j->x.sizes[0])
        rows *= 2;
    // The part of x that a block reads is small beside its weights; with all warps it is a ring.
    uint32_t warps = rows <= 2 ? 2 : WARPS, group = linear_is_grouped(j) ? j->group : 0;
    uint64_t tiles = 0, stages = op_ceil_div(j->x.sizes[1], depth), bytes;
    for (uint32_t n = 0; n < j->count; n++)
        tiles += op_ceil_div(j->layers[n].weights.n, 16 * warps);
    uint64_t most = (uint64_t)info->multiprocessors * 2;
    bool can_split = k->caps.has_clusters || info->caps.is_emulated;
    for (;; splits *= 2) {
        uint64_t own = op_ceil_div(stages, splits) * depth, groups = group ? own / group + 3 : 1;
        bytes = (warps == WARPS ? 0 : own * rows * 2) +
                groups * 16 * warps * 4 * (j->layers[0].weights.zero.buffer ? 2 : 1);
        bool has_few = tiles * splits * 10 < most * 9 && stages / (splits * WARPS / warps) >= 8;
        if (!can_split || splits == MOST_SPLITS || (!has_few && bytes <= WANTED))
            break;
    }
    *t = (tiling){.width = 16 * warps, .splits = splits, .rows = 1, .more_bytes = (size_t)bytes};
    r->program = &few_program;
    linear_set_axes(j, r);
    op_set(r, XR, rows);
    op_set(r, WORDS, linear_span_words(j));
    op_set(r, WARPS_N, warps);
    op_set(r, SPLITS, splits);
    return bytes + RING + STATIC_BYTES <= k->caps.shared_bytes;
}

bool linear_has_grains(const kiln_view *v, uint32_t grain)
{
    size_t size = view_element_size(v);
    return (v->sizes[1] <= 1 || kiln_view_stride(*v, 1) == 1) && view_is_aligned(v, grain) &&
           (v->sizes[0] <= 1 || kiln_view_stride(*v, 0) * (int64_t)size % grain == 0);
}

// Bytes of a row's scales and zeros in a turn of stream.c, `depth` elements of K, if they can come
// through its ring: they lie side by side and are multiples of `grain` bytes. 0: they cannot.
static uint32_t together_bytes(const job *j, uint64_t depth, uint32_t grain)
{
    enum { APART = 16 }; // keeps the banks apart
    const linear_weights *w = &j->layers[0].weights;
    uint64_t rest = j->x.sizes[1] % depth, bytes = 0;
    if (!linear_is_grouped(j) || j->x.sizes[1] % j->group || depth % j->group)
        return 0; // a turn begins and ends with a group
    for (uint32_t n = 0; n < j->count; n++) {
        const linear_weights *its = &j->layers[n].weights;
        if (!linear_has_grains(&its->scale, grain) ||
            (its->zero.buffer && !linear_has_grains(&its->zero, grain)))
            return 0;
    }
    for (uint32_t is_zero = 0; is_zero < (w->zero.buffer ? 2 : 1); is_zero++) {
        size_t size = is_zero ? 1 : view_element_size(&w->scale);
        if (depth / j->group * size % grain || rest / j->group * size % grain)
            return 0;
        bytes += depth / j->group * size + APART;
    }
    return (uint32_t)bytes;
}

// A form of stream.c: warps with different rows of weights, 16 rows of each so often, units of 2
// KB, and the least blocks of a cluster.
typedef struct stream_form {
    uint32_t warps_n, bands;
    bool is_long;
    uint32_t splits;
} stream_form;

typedef struct stream_plan {
    uint32_t rows, words, splits, stages, together;
    uint64_t height, tiles; // rows of a tile; tiles of all layers
    uint64_t sums, bytes;   // bytes of a tile's sums; of shared memory without those of all tiles
} stream_plan;

// How a form is launched: as many blocks of a cluster as x and the work ask for, and what is left
// of shared memory for the ring. `stages` is 0 where that is too little.
static stream_plan plan_form(kiln *k, const job *j, const kiln_device_info *info, stream_form f,
                             bool is_bulk)
{
    enum { WARPS = 16, MOST_SPLITS = 8, MOST_STAGES = 6 };
    enum { STATIC_BYTES = 1 << 10, MUCH_OF_X = 48 << 10 };
    uint32_t height = 16 * f.bands * f.warps_n, least = height > 16 ? 2 : 3; // stages
    stream_plan p = {
        .rows = 1, .words = linear_span_words(j), .splits = f.splits, .height = height};
    while (p.rows < j->x.sizes[0])
        p.rows *= 2;
    uint32_t along = WARPS / f.warps_n, row_unit = (f.is_long ? 128 : 64) / f.bands;
    uint32_t unit = row_unit / 16 * linear_chunk(j), depth = along * unit, factors = 0;
    p.words = p.words > row_unit / 16 ? row_unit / 16 : p.words;
    if (j->x.sizes[1] % unit == 0) {
        factors = together_bytes(j, depth, 16);
        p.together = factors != 0;
        if (!factors && is_bulk && (factors = together_bytes(j, depth, 4)))
            p.together = 2;
    }
    uint32_t sms = info->multiprocessors ? info->multiprocessors : 1;
    bool can_split = k->caps.has_clusters || info->caps.is_emulated;
    p.splits = can_split ? p.splits : 1;
    p.sums = p.height * p.rows * 4;
    // Places for the sums of the warps; x and its sums in a turn
    uint64_t places = (height > 16 ? 1 : 2) * (p.rows <= 2 ? 8 : 16 / p.rows);
    uint64_t x_bytes = depth * p.rows * 2 + depth / (p.words * linear_chunk(j)) * p.rows * 4;
    uint64_t stage = p.height * (along * row_unit + 16 * p.words + factors), rest, stages;
    uint64_t turns = op_ceil_div(j->x.sizes[1], depth);
    for (uint32_t n = 0; n < j->count; n++)
        p.tiles += op_ceil_div(j->layers[n].weights.n, p.height);
    for (;; p.splits *= 2) {
        // Clusters may leave a quarter of the multiprocessors without one.
        uint64_t clusters = sms * 3 / 4 > p.splits ? sms * 3 / 4 / p.splits : 1;
        uint64_t own = p.splits > 1 ? op_ceil_div(p.tiles, clusters) * p.sums : 0;
        rest = places * along * p.sums + op_ceil_div(turns, p.splits) * x_bytes;
        stages = rest + own + STATIC_BYTES < k->caps.shared_bytes
                     ? (k->caps.shared_bytes - STATIC_BYTES - own - rest) / stage
                     : 0;
        bool has_few = p.tiles * p.splits * 2 <= sms && turns >= 2 * p.splits;
        // All multiprocessors read x at the same time, which takes long.
        bool has_much =
            op_ceil_div(turns, p.splits) * depth * p.rows * 2 > MUCH_OF_X && turns > p.splits;
        bool is_enough = !has_few && (!has_much || p.splits >= (p.rows > 8 ? 4 : 2));
        if (!can_split || p.splits == MOST_SPLITS || (stages >= least && is_enough))
            break;
    }
    p.stages = stages >= MOST_STAGES ? MOST_STAGES : stages >= least ? (uint32_t)stages : 0;
    p.bytes = rest + p.stages * stage;
    return p;
}

// How stream.c is launched; false: x is too large.
static bool plan_stream(kiln *k, const job *j, const kiln_device_info *info, op_request *r,
                        tiling *t)
{
    enum { MORE_THAN_HALF = 120 << 10 }; // of a multiprocessor's shared memory: it has one block
    enum { SHORT = 4096 };
    // sm_90 has the copy engine; what only plays a GPU plays both.
    bool is_bulk =
        k->caps.has_clusters || (info->caps.is_emulated && j->layers[0].weights.n % 2 == 0);
    // Of many rows of x the sums take time, too: warps have more of K, and fewer of them add up.
    const stream_form few[] = {{1, 1, true, 1}, {1, 1, false, 1}}, small[] = {{1, 1, false, 2}},
                      many[] = {
                          {2, 1, true, 1}, {2, 2, true, 1}, {2, 2, false, 1}, {1, 2, false, 1}};
    uint64_t outputs = 0;
    for (uint32_t n = 0; n < j->count; n++)
        outputs += j->layers[n].weights.n;
    bool has_many = j->x.sizes[0] > 8;
    bool is_small = outputs <= (uint64_t)32 * info->multiprocessors && j->x.sizes[1] <= SHORT;
    const stream_form *forms = has_many ? many : is_small ? small : few, *f = forms;
    size_t count = has_many ? COUNT(many) : is_small ? COUNT(small) : COUNT(few);
    stream_plan p = {0};
    for (size_t n = 0; n < count && !p.stages; n++)
        p = plan_form(k, j, info, *(f = &forms[n]), is_bulk);
    *t = (tiling){.width = (uint32_t)p.height,
                  .splits = p.splits,
                  .rows = 1,
                  .is_resident = true,
                  .all_bytes = (size_t)p.bytes,
                  .tile_bytes = p.splits > 1 ? (size_t)p.sums : 0};
    r->program = &stream_program;
    r->shared_bytes = MORE_THAN_HALF;
    linear_set_axes(j, r);
    op_set(r, XR, p.rows);
    op_set(r, WORDS, p.words);
    op_set(r, SPLITS, p.splits);
    op_set(r, STAGES, p.stages);
    op_set(r, BANDS, f->bands);
    op_set(r, WARPS_N, f->warps_n);
    op_set(r, LONG, f->is_long);
    op_set(r, BULK, is_bulk);
    op_set(r, TOGETHER, p.together);
    return p.stages != 0;
}

kiln_status linear_run_few(kiln *k, job *j, const kiln_device_info *info, bool *is_done)
{
    op_request r = {0};
    tiling t;
    *is_done = true;
    if (plan_stream(k, j, info, &r, &t))
        return linear_launch(k, j, &r, t);
    r = (op_request){0};
    *is_done = plan_few(k, j, info, &r, &t);
    return *is_done ? linear_launch(k, j, &r, t) : KILN_OK;
}
