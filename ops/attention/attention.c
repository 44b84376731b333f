// kiln_attention_forward: checks a description, picks a kernel and its tile, and launches it.
//
// Four kernels: decode.c (mma; few queries and many keys), forward_sm90.c (wgmma, tensor maps),
// forward_mma.c (mma; all masks) and forward_portable.c (any device, any head dimension, any
// strides). The first one that can do the job is taken. Start reading at kiln_attention_forward,
// the last function.
#include <math.h>

#include "ops/attention/host_attention.h"
#include "ops/attention/sizes.h"
#include "ops/scratch.h"

static const op_program forward_sm90 = ATTENTION_PROGRAM("forward_sm90.c", NULL),
                        forward_join = ATTENTION_PROGRAM("forward_join.c", NULL),
                        forward_portable = ATTENTION_PROGRAM("forward_portable.c", NULL),
                        forward_mma = ATTENTION_PROGRAM("forward_mma.c", NULL),
                        decode = ATTENTION_PROGRAM("decode.c", NULL);

enum { Q, K, V, OUT, LSE, TENSORS };

typedef struct job {
    attention a;
    const kiln_attention_desc *desc;
    tensor tensors[TENSORS];
    size_t count; // of the tensors: LSE may be missing
} job;

static void set_common(const job *j, op_request *r)
{
    op_set(r, TYPE, j->a.type);
    op_set(r, NO_LSE, j->count == LSE);
    op_set(r, CAUSAL, j->a.is_causal && !j->a.is_masked); // a mask says it itself
}

static bool has_narrow_keys(const attention *a)
{
    return a->key_type != a->type;
}

// The factor of an fp8 cache; 0 is 1.
static float scale_of(float given)
{
    return given > 0.0f ? given : 1.0f;
}

// Adds what the portable kernel and decode.c have behind the strides.
static size_t add_rest(const job *j, op_request *r, kiln_arg *args, size_t count)
{
    if (has_narrow_keys(&j->a)) {
        op_set(r, CACHE, j->a.key_type);
        args[count++] = kiln_arg_f64(KILN_F32, (double)scale_of(j->desc->v_scale));
    }
    return j->a.is_masked ? attention_add_mask(&j->a, r, args, count) : count;
}

// Adds the tensors from `first` on to the arguments.
static size_t add_views(const job *j, size_t first, kiln_arg *args, size_t count)
{
    for (size_t n = first; n < j->count; n++)
        args[count++] = kiln_arg_view(*j->tensors[n].view);
    return count;
}

// --- sm_90a
typedef struct tile {    // what forward_sm90.c is specialised by
    uint32_t warpgroups; // of 64 queries
    uint32_t keys;
    uint32_t q_stages, ahead;
    bool has_turns, is_late;
} tile;

// Measured on an H200 with 1k, 4k and 16k keys (bench/gpu/attention.py --variants); the first row
// that fits is taken.
static const struct choice {
    uint32_t head_dim, min_keys;
    bool is_full, is_causal; // for which it is
    tile tile;
} choices[] = {
    {64, 2048, true, false, {3, 128, 2, 0, .has_turns = true}},
    {64, 2048, false, true, {3, 128, 2, 2, .has_turns = true}},
    {64, 0, true, true, {4, 64, 2, 1, .has_turns = false}},
    {128, 2048, true, false, {3, 80, 1, 1, .has_turns = false}},
    {128, 0, true, false, {2, 128, 2, 2, .has_turns = false}},
    {128, 2048, false, true, {2, 128, 2, 2, .is_late = true}},
    {128, 0, false, true, {2, 128, 2, 1, .has_turns = true}},
    {192, 0, true, false, {2, 96, 1, 2, .has_turns = false}},
    {192, 0, false, true, {2, 96, 1, 1, .is_late = true}},
    {256, 0, true, false, {2, 64, 1, 2, .has_turns = false}},
    {256, 0, false, true, {2, 64, 1, 0, .is_late = true}},
};

// With a mask: what its numbers leave registers for.
static const struct choice masked_choices[] = {
    {64, 0, true, true, {2, 128, 2, 1, .has_turns = false}},
    {128, 0, true, true, {2, 128, 1, 1, .has_turns = false}},
    {192, 0, true, true, {2, 64, 1, 0, .is_late = true}},
    {256, 0, true, true, {2, 64, 1, 0, .is_late = true}},
};

// Is there no more than a unit of work for each multiprocessor with tiles of so many queries? Then
// no larger ones are better: what a multiprocessor does at a time limits it, its exponentials
// before all.
static bool has_few_units(const attention *a, uint32_t queries, bool has_pairs)
{
    uint32_t tiles = attention_tiles(a, a->queries, queries);
    uint64_t units = has_pairs ? ceil_div(tiles, 2) : tiles;
    return units * a->batch * a->heads <= attention_processors(a);
}

static tile tile_for(const attention *a, const kiln_attention_desc *d)
{
    const struct choice *c = a->is_masked ? masked_choices : choices;
    while (c->head_dim != attention_whole_dim(a) || c->min_keys > a->keys ||
           !(a->is_causal ? c->is_causal : c->is_full))
        c++;
    tile t = c->tile;
    if (t.warpgroups > 2 && has_few_units(a, t.warpgroups * 64, attention_has_pairs(a)))
        t = (tile){2, 128, .q_stages = 2, .ahead = 1};
    if (a->keys <= 64 && attention_whole_dim(a) <= 128)
        t = (tile){2, 64, .q_stages = 2, .ahead = 1};
    if (!a->is_masked && has_few_units(a, 64, attention_has_pairs(a)))
        t = (tile){1, t.keys, .q_stages = 1, .ahead = 1};
    if (d->tile_queries && d->tile_queries != t.warpgroups * 64) {
        t = (tile){d->tile_queries / 64, 128, .q_stages = 1, .ahead = 1};
        if (attention_whole_dim(a) > 128 || t.warpgroups == 4)
            t.keys = 64;
        else if (attention_whole_dim(a) == 128 && t.warpgroups == 3)
            t.keys = 80;
    }
    if (d->tile_keys && d->tile_keys != t.keys) {
        t.keys = d->tile_keys;
        t.q_stages = 1;
    }
    return t;
}

// Are the tensors dense, with as many columns as the kernel has?
static bool is_plain(const job *j)
{
    return !j->a.is_masked && attention_is_dense(j->tensors, j->count) &&
           j->a.head_dim == attention_whole_dim(&j->a);
}

// Parts of the keys of a tile: as many as there are multiprocessors for them, where each then has
// JOIN blocks of keys less to read, which is what putting them together takes.
static uint32_t parts_for(const attention *a, tile t)
{
    enum { MOST = 16, JOIN = 4 };
    uint64_t units = (uint64_t)a->batch * a->heads * attention_tiles(a, a->queries, 64);
    uint32_t blocks = ceil_div(a->keys, t.keys), parts = 1;
    if (a->is_masked || t.warpgroups > 1)
        return 1;
    while (parts < MOST && parts < blocks && units * (parts + 1) <= attention_processors(a))
        parts++;
    return blocks - ceil_div(blocks, parts) > JOIN ? parts : 1;
}

static void set_sm90(const job *j, tile t, op_request *r)
{
    set_common(j, r);
    if (parts_for(&j->a, t) > 1) {
        op_set(r, NO_LSE, false);
        op_set(r, SPLIT, true);
    }
    op_set(r, STRIDED, !is_plain(j));
    op_set(r, HD, attention_whole_dim(&j->a));
    if (j->a.head_dim != attention_whole_dim(&j->a))
        op_set(r, COLUMNS, j->a.head_dim);
    op_set(r, BN, t.keys);
    op_set(r, WGS, t.warpgroups);
    op_set(r, Q_STAGES, t.q_stages);
    op_set(r, AHEAD, t.ahead);
    op_set(r, TURNS, t.has_turns);
    op_set(r, LATE, t.is_late);
}

static bool fits_shared(const job *j, tile t)
{
    op_request r = {.program = &forward_sm90};
    set_sm90(j, t, &r);
    const op_kernel *kernel;
    return op_kernel_get(j->a.k, &r, &kernel) || kernel->shared_bytes <= j->a.k->caps.shared_bytes;
}

// Can forward_sm90.c do it? If not, the obstacle says why.
static bool can_sm90(job *j)
{
    const attention *a = &j->a;
    const kiln_attention_desc *d = j->desc;
    const char *why = NULL;
    if (!a->k->caps.has_wgmma)
        why = "the device is not sm_90a";
    else if (d->lengths.buffer || d->pages.buffer)
        why = "it takes no lengths and no pages";
    else if (attention_sm90_mask_obstacle(a))
        why = attention_sm90_mask_obstacle(a);
    else if (has_narrow_keys(a))
        why = "it takes no fp8 cache";
    else if (!a->k->caps.has_tensor_copies)
        why = "the device has no tensor maps";
    else if (a->type == KILN_F32)
        why = "its tensors are bf16 or f16";
    else if (a->head_dim % 8 || a->head_dim < 32 || a->head_dim > 256)
        why = "head_dim is not a multiple of 8 from 32 to 256";
    else if (d->tile_queries && d->tile_queries != 64 && d->tile_queries != 128 &&
             d->tile_queries != 192 && (d->tile_queries != 256 || a->head_dim > 64))
        why = "tile_queries is not 64, 128, 192 or, with head_dim 64, 256";
    else if (d->tile_keys && (d->tile_keys % 16 || d->tile_keys < 64 || d->tile_keys > 192))
        why = "tile_keys is not a multiple of 16 from 64 to 192";
    if (!attention_can(&j->a, why) || !attention_is_aligned(&j->a, j->tensors, j->count))
        return false;
    if ((d->tile_queries || d->tile_keys) && !fits_shared(j, tile_for(a, d)))
        return attention_can(&j->a, "the tile does not fit in shared memory");
    return true;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Blocks that walk over `units` of work, as many at a time as fit: no more than their number of
// rounds needs, so that all have the same work. When a head's last tile is not full, a number that
// has no divisor in common with a head's units is better: each block gets its share of those tiles.
static uint32_t blocks_for(uint32_t units, uint32_t per_head, uint32_t resident, bool is_ragged)
{
    uint32_t rounds = ceil_div(units, resident), least = ceil_div(units, rounds);
    for (uint32_t n = resident; is_ragged && rounds > 1 && n >= least; n--)
        if (common_divisor(n, per_head) == 1)
            return n;
    return least;
}

struct shape { // as in forward_tiles.h
    uint32_t queries, keys, tiles, units_per_head, units, sharing;
    float scale;
    uint32_t heads, kv_heads;
    steps q, k, v;
    row_strides out, lse;
    uint32_t parts, part_units;
};

static struct shape shape_of(const job *j, tile t)
{
    const attention *a = &j->a;
    struct shape s = {.queries = a->queries,
                      .keys = a->keys,
                      .tiles = attention_tiles(a, a->queries, t.warpgroups * 64),
                      .sharing = a->heads / a->kv_heads,
                      .scale = a->scale * 1.44269504f,
                      .heads = a->heads,
                      .kv_heads = a->kv_heads,
                      .q = attention_steps(j->tensors[Q].view),
                      .k = attention_steps(j->tensors[K].view),
                      .v = attention_steps(j->tensors[V].view),
                      .out = attention_row_strides(j->tensors[OUT].view)};
    if (j->count > LSE)
        s.lse = attention_row_strides(j->tensors[LSE].view);
    bool has_pairs = attention_has_pairs(a) &&
                     (t.warpgroups > 1 || a->is_masked || !has_few_units(a, 64, false));
    s.units_per_head = has_pairs ? ceil_div(s.tiles, 2) : s.tiles;
    s.parts = parts_for(a, t);
    s.part_units = s.units_per_head * a->batch * a->heads;
    s.units = s.part_units * s.parts;
    return s;
}

// What the parts leave: their sums, then their shares of out.
static kiln_status scratch_for(const job *j, uint32_t parts, kiln_arg args[2])
{
    const uint64_t sums = ((uint64_t)parts * j->a.rows + 3) / 4 * 4,
                   shares = (uint64_t)parts * j->a.rows * attention_whole_dim(&j->a);
    const op_scratch want = {.keeper = OP_KEEP_ATTENTION_SCRATCH,
                             .name = "kiln_attention_forward",
                             .type = KILN_U32,
                             .count = DECODE_TICKETS + sums + shares,
                             .zeros = DECODE_TICKETS}; // decode.c's, in front of what it leaves
    kiln_buffer *scratch;
    kiln_status status = op_scratch_of(j->a.k, &want, j->desc->stream, &scratch);
    for (int n = 0; n < 2 && !status; n++) {
        kiln_view left = kiln_view_of(scratch, 1, n ? &sums : &shares);
        left.type = KILN_F32;
        left.first = DECODE_TICKETS + (n ? 0 : sums);
        args[n] = kiln_arg_view(left);
    }
    return status;
}

static kiln_status run_join(const job *j, tile t, uint32_t parts, const kiln_arg scratch[2])
{
    const attention *a = &j->a;
    op_request r = {.program = &forward_join};
    set_common(j, &r);
    op_set(&r, STRIDED, true);
    op_set(&r, HD, attention_whole_dim(a));
    if (a->head_dim != attention_whole_dim(a))
        op_set(&r, COLUMNS, a->head_dim);
    op_set(&r, BN, t.keys);
    struct { // as in forward_join.c
        uint32_t rows, queries, keys, heads, parts;
        row_strides out, lse;
    } s = {a->rows,  a->queries, a->keys,
           a->heads, parts,      attention_row_strides(j->tensors[OUT].view),
           {0, 0, 0}};
    if (j->count > LSE)
        s.lse = attention_row_strides(j->tensors[LSE].view);
    kiln_arg args[5] = {scratch[0], scratch[1]};
    size_t count = add_views(j, OUT, args, 2);
    args[count++] = kiln_arg_struct(&s, sizeof s);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(a->k, &r, &kernel);
    uint32_t grid = ceil_div(a->rows * (attention_whole_dim(a) / 8), 256);
    return status ? status
                  : kiln_launch(kernel->kernel,
                                &(kiln_launch_desc){.grid = {grid},
                                                    .args = args,
                                                    .arg_count = count,
                                                    .stream = j->desc->stream,
                                                    .overlaps_previous = kernel->overlaps});
}

static kiln_status run_sm90(const job *j)
{
    const attention *a = &j->a;
    tile t = tile_for(a, j->desc);
    bool is_dense = is_plain(j);
    op_request r = {.program = &forward_sm90};
    set_sm90(j, t, &r);
    kiln_tensor_map maps[3];
    kiln_arg args[TENSORS + 1 + MASK_ARGS];
    kiln_status status = KILN_OK;
    for (size_t n = 0; n < 3 && !status; n++) {
        uint32_t rows = n ? t.keys : t.warpgroups * 64;
        status = n && a->mask.q_offsets.buffer
                     ? attention_map_parts(a, j->tensors[n].view, rows, &maps[n])
                     : attention_map(a, j->tensors[n].view, is_dense, rows, &maps[n]);
        args[n] = kiln_arg_struct(&maps[n], sizeof maps[n]);
    }
    struct shape s = shape_of(j, t);
    kiln_arg scratch[2] = {{0}};
    size_t count = 5;
    if (s.parts == 1)
        count = add_views(j, OUT, args, 3);
    else if (!status)
        status = scratch_for(j, s.parts, scratch);
    if (s.parts > 1)
        memcpy(args + 3, scratch, sizeof scratch);
    args[count++] = kiln_arg_struct(&s, sizeof s);
    if (a->is_masked)
        count = attention_add_mask(a, &r, args, count);
    const op_kernel *kernel;
    if (!status)
        status = op_kernel_get(a->k, &r, &kernel);
    if (status)
        return status;
    uint32_t grid = blocks_for(s.units, s.units_per_head, kernel->resident,
                               a->queries % (t.warpgroups * 64) != 0);
    status =
        kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {grid},
                                                        .shared_bytes = kernel->shared_bytes,
                                                        .args = args,
                                                        .arg_count = count,
                                                        .stream = j->desc->stream,
                                                        .overlaps_previous = kernel->overlaps});
    return status || s.parts == 1 ? status : run_join(j, t, s.parts, scratch);
}

// --- any device, and few queries
// Adds the views of the cache to the arguments.
static size_t add_cache(const job *j, op_request *r, kiln_arg *args, size_t count)
{
    const kiln_attention_desc *d = j->desc;
    op_set(r, LENGTHS, d->lengths.buffer != NULL);
    op_set(r, PAGED, d->pages.buffer != NULL);
    if (d->lengths.buffer)
        args[count++] = kiln_arg_view(d->lengths);
    if (d->pages.buffer)
        args[count++] = kiln_arg_view(d->pages);
    return count;
}

static uint32_t table_stride(const job *j)
{
    return j->desc->pages.buffer ? (uint32_t)kiln_view_stride(j->desc->pages, 0) : 0;
}

static kiln_status run_portable(const job *j)
{
    const attention *a = &j->a;
    op_request r = {.program = &forward_portable};
    set_common(j, &r);
    op_set(&r, ANY_HD, a->head_dim);
    op_set(&r, UNIT, attention_is_unit(j->tensors, j->count));
    kiln_arg args[TENSORS + 5 + MASK_ARGS];
    size_t count = add_cache(j, &r, args, add_views(j, Q, args, 0));
    portable_shape s = attention_portable_shape(a);
    s.scale *= 1.44269504f * scale_of(j->desc->k_scale);
    s.table = table_stride(j);
    strides by[TENSORS] = {{0, 0, 0, 0}};
    for (size_t n = 0; n < j->count; n++)
        by[n] = attention_strides(j->tensors[n].view);
    args[count++] = kiln_arg_struct(&s, sizeof s);
    args[count++] = kiln_arg_struct(by, sizeof by);
    count = add_rest(j, &r, args, count);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(a->k, &r, &kernel);
    if (status)
        return status;
    return kiln_launch(kernel->kernel,
                       &(kiln_launch_desc){.grid = {ceil_div(a->rows, PORTABLE_WARPS)},
                                           .args = args,
                                           .arg_count = count,
                                           .stream = j->desc->stream});
}

// Rows of q that share a head of k and v.
static uint64_t shared_rows(const attention *a)
{
    return (uint64_t)(a->heads / a->kv_heads) * a->queries;
}

// Can decode.c do it? If not, the obstacle says why.
static bool can_decode(job *j)
{
    const attention *a = &j->a;
    const char *why = NULL;
    if (!a->k->caps.has_nv || (a->k->caps.sm && a->k->caps.sm < 80))
        why = "the device is not sm_80 or later";
    else if (a->type == KILN_F32)
        why = "its tensors are bf16 or f16";
    else if (a->head_dim % 8 || a->head_dim > 256)
        why = "head_dim is not a multiple of 8 up to 256";
    else if (shared_rows(a) * a->batch * a->kv_heads > INT32_MAX)
        why = "there are too many rows";
    else if (j->desc->tile_queries || j->desc->tile_keys)
        why = "its tile is fixed";
    else if (a->mask.q_offsets.buffer)
        why = "it takes no offsets";
    else if (has_narrow_keys(a) && a->head_dim % 16)
        why = "head_dim is not a multiple of 16, with an fp8 cache";
    return attention_can(&j->a, why) && attention_is_aligned(&j->a, j->tensors, j->count);
}

// Is reading k and v what takes the time?
static bool has_few_queries(const attention *a)
{
    enum { FEW = 16, SOME = 64 }; // one tile of rows; a few, whose k and v the second cache has
    uint64_t rows = shared_rows(a);
    return rows <= FEW || (rows <= SOME && a->keys >= 16 * a->queries);
}

typedef struct decode_plan {
    uint32_t tiles, parts, stages; // tiles of rows of a head, parts of its keys, stages of a warp
    uint64_t units;                // tiles of all heads
    uint32_t shares;               // blocks with equal shares of all keys; 0: parts of each head
} decode_plan;

// The most stages of decode.c up to `wanted` that fit into shared memory: a tile of rows, and for
// each of four warps tiles of keys and values.
static uint32_t decode_stages(const attention *a, uint32_t wanted)
{
    static const uint32_t possible[] = {8, 6, 4, 3, 2};
    enum { WARPS = 4, STATIC_BYTES = 2048 };
    size_t bytes = (size_t)ceil_div(a->head_dim, 64) * DECODE_ROWS * 128, n = 0; // of a tile
    while (n + 1 < COUNT(possible) &&
           (possible[n] > wanted ||
            bytes * (1 + WARPS * 2 * possible[n]) + STATIC_BYTES > a->k->caps.shared_bytes))
        n++;
    return possible[n];
}

// As many parts as fill `places` best, while each warp of a part has two groups of keys: the fewest
// of those that are about as good. Returns how full.
static double fill_places(const attention *a, uint64_t places, decode_plan *p)
{
    uint32_t groups = ceil_div(a->keys, DECODE_GROUP), most = groups / 2;
    double best = 0;
    p->parts = 1;
    for (uint32_t parts = 1;
         p->units <= DECODE_TICKETS && (parts == 1 || (parts <= most && parts <= DECODE_PARTS)) &&
         p->units * parts <= places;
         parts++) { // the time is that of the largest part
        double taken = (double)(p->units * groups) / (double)(places * ceil_div(groups, parts));
        if (taken > best + 0.01) {
            best = taken;
            p->parts = parts;
        }
    }
    return best;
}

// Equal shares of the keys of all heads, which follow each other, for so many blocks: more even
// than parts of each head, but most blocks have the end of one head and the start of the next.
static bool can_share(const attention *a, uint64_t places, decode_plan *p)
{
    enum { LEAST = 4, WIDEST = 128 }; // groups of a share; columns that leave registers for more
    uint64_t groups = ceil_div(a->keys, DECODE_GROUP), all = p->units * groups;
    if (a->head_dim > WIDEST || a->is_masked || p->units > DECODE_TICKETS || all < places * LEAST ||
        all > INT32_MAX)
        return false;
    p->shares = (uint32_t)places;
    p->parts = (uint32_t)((groups - 1) / (all / places) + 2); // shares that a head has a piece of
    return p->parts <= DECODE_PARTS;
}

// Groups of keys that a multiprocessor has one after the other, at most, with so many blocks beside
// each other.
static uint64_t most_groups(const attention *a, uint64_t multiprocessors, uint32_t beside,
                            const decode_plan *p)
{
    enum { CUT = 4 }; // what a block loses between two heads; fitted to times of an H200
    uint64_t groups = ceil_div(a->keys, DECODE_GROUP), places = multiprocessors * beside;
    if (p->shares)
        return ((p->units * groups + places - 1) / places + CUT) * beside;
    return (p->units * p->parts + places - 1) / places * ceil_div((uint32_t)groups, p->parts) *
           beside;
}

// Much of K and V is under way, as shared memory holds it: one block a multiprocessor with a deep
// ring, or two with half of it each, where that fills the device better. Of up to 64 columns only
// few heads have one. Shares take two: one multiplies while the other begins its next head. Lengths
// may be far below the keys that there is room for: a head's parts are of its length, shares are
// not.
static decode_plan plan_decode(const attention *a, bool has_lengths, uint32_t multiprocessors)
{
    enum { FEW = 8, LEAST_GAIN = 10 }; // multiprocessors of a head; shares gain a tenth, or more
    decode_plan p = {.tiles = ceil_div((uint32_t)shared_rows(a), DECODE_ROWS)}, two = p;
    p.units = two.units = (uint64_t)a->batch * a->kv_heads * p.tiles;
    p.stages = decode_stages(a, a->head_dim <= 64 ? 8 : 6);
    two.stages = decode_stages(a, a->head_dim <= 64 ? 6 : 3);
    decode_plan shared = two;
    uint64_t places = (uint64_t)multiprocessors * 2;
    double alone = fill_places(a, multiprocessors, &p), both = fill_places(a, places, &two);
    bool is_alone = a->head_dim > 128 || p.units * FEW <= multiprocessors ||
                    (a->head_dim > 64 && alone > 0 && alone >= both - 0.01);
    if (!is_alone)
        p = two;
    if (has_lengths || !can_share(a, places, &shared))
        return p;
    uint64_t usual = most_groups(a, multiprocessors, is_alone ? 1 : 2, &p);
    return most_groups(a, multiprocessors, 2, &shared) < usual - usual / LEAST_GAIN ? shared : p;
}

// Adds what the blocks that share keys leave for each other.
static kiln_status add_parts(const job *j, const decode_plan *p, kiln_arg *args, size_t *count)
{
    uint64_t part = (uint64_t)DECODE_ROWS * (j->a.head_dim + 2);
    const uint64_t numbers = p->units * p->parts * part, tickets = DECODE_TICKETS;
    const op_scratch want = {.keeper = OP_KEEP_ATTENTION_SCRATCH,
                             .name = "kiln_attention_forward",
                             .type = KILN_U32,
                             .count = tickets + numbers,
                             .zeros = tickets}; // each launch leaves zeros behind
    kiln_buffer *scratch;
    kiln_status status = op_scratch_of(j->a.k, &want, j->desc->stream, &scratch);
    if (status)
        return status;
    kiln_view left = kiln_view_of(scratch, 1, &numbers);
    left.type = KILN_F32;
    left.first = tickets;
    args[(*count)++] = kiln_arg_view(left);
    args[(*count)++] = kiln_arg_view(kiln_view_of(scratch, 1, &tickets));
    return KILN_OK;
}

static kiln_status run_decode(const job *j)
{
    const attention *a = &j->a;
    const kiln_device_info *device;
    kiln_status status = op_device(a->k, &device);
    if (status)
        return status;
    op_request r = {.program = &decode};
    kiln_arg args[TENSORS + 7 + MASK_ARGS];
    size_t count = add_cache(j, &r, args, add_views(j, Q, args, 0));
    decode_plan p = plan_decode(a, j->desc->lengths.buffer != NULL, device->multiprocessors);
    set_common(j, &r);
    op_set(&r, ANY_HD, a->head_dim);
    op_set(&r, STAGES, p.stages);
    op_set(&r, PARTS, p.parts > 1);
    op_set(&r, SHARES, p.shares > 0);
    if (p.parts > 1)
        status = add_parts(j, &p, args, &count);
    if (status)
        return status;
    const struct { // as in decode.c
        uint32_t heads, kv_heads, queries, keys, row_tiles, parts, units, pages, page_size, table;
        float scale;
    } s = {.heads = a->heads,
           .kv_heads = a->kv_heads,
           .queries = a->queries,
           .keys = a->keys,
           .row_tiles = p.tiles,
           .parts = p.parts,
           .units = (uint32_t)p.units,
           .pages = a->pages,
           .page_size = a->page_size,
           .table = table_stride(j),
           .scale = a->scale * 1.44269504f * scale_of(j->desc->k_scale)};
    uint32_t blocks = p.shares ? p.shares : (uint32_t)p.units * p.parts;
    row_strides by[TENSORS] = {{0, 0, 0}};
    for (size_t n = 0; n < j->count; n++)
        by[n] = attention_row_strides(j->tensors[n].view);
    args[count++] = kiln_arg_struct(&s, sizeof s);
    args[count++] = kiln_arg_struct(by, sizeof by);
    count = add_rest(j, &r, args, count);
    const op_kernel *kernel;
    status = op_kernel_get(a->k, &r, &kernel);
    if (status)
        return status;
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {blocks},
                                                           .shared_bytes = kernel->shared_bytes,
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = j->desc->stream,
                                                           .overlaps_previous = kernel->overlaps});
}

// --- mma
// Can forward_mma.c do it? If not, the obstacle says why.
static bool can_mma(job *j)
{
    const kiln_attention_desc *d = j->desc;
    if (d->lengths.buffer || d->pages.buffer)
        return attention_can(&j->a, "it takes no lengths and no pages");
    if (d->tile_queries || d->tile_keys)
        return attention_can(&j->a, "its tile is fixed");
    if (has_narrow_keys(&j->a))
        return attention_can(&j->a, "it takes no fp8 cache");
    return attention_can_mma(&j->a, j->tensors, j->count, false);
}

static kiln_status run_mma(const job *j)
{
    const kiln_device_info *device;
    kiln_status status = op_device(j->a.k, &device);
    if (status)
        return status;
    uint32_t warps = attention_mma_warps(&j->a, device->multiprocessors);
    op_request r = {.program = &forward_mma};
    op_set(&r, NO_LSE, j->count == LSE);
    op_set(&r, WARPS, warps);
    mma_launch l = {.tensors = j->tensors,
                    .tensor_count = TENSORS,
                    .given = j->count,
                    .rows = warps * 16,
                    .stream = j->desc->stream};
    l.arg_count = add_views(j, Q, l.args, 0);
    return attention_run_mma(&j->a, &r, &l);
}

// --- choosing
static kiln_status run(job *j)
{
    attention *a = &j->a;
    kiln_attention_kernel kernel = j->desc->kernel;
    bool is_fast = kernel == KILN_ATTENTION_BEST && !a->k->caps.is_emulated;
    if (kernel == KILN_ATTENTION_DECODE && !can_decode(j))
        return error_set(a->k, KILN_E_UNSUPPORTED, K6038, "%s: the decode kernel cannot: %s", a->op,
                         a->obstacle);
    if (kernel == KILN_ATTENTION_DECODE || (is_fast && has_few_queries(a) && can_decode(j)))
        return run_decode(j);
    bool is_sm90 = false;
    kiln_status status = attention_choose(a, kernel, can_sm90(j), &is_sm90);
    if (status)
        return status;
    if (is_sm90)
        return run_sm90(j);
    bool is_mma = (is_fast || kernel == KILN_ATTENTION_SM80) && can_mma(j);
    if (kernel == KILN_ATTENTION_SM80 && !is_mma)
        return error_set(a->k, KILN_E_UNSUPPORTED, K6038, "%s: the sm_80 kernel cannot: %s", a->op,
                         a->obstacle);
    return is_mma ? run_mma(j) : is_fast && can_decode(j) ? run_decode(j) : run_portable(j);
}

// A cache of fp8 and its factors.
static kiln_status check_narrow_keys(attention *a, const kiln_attention_desc *d)
{
    kiln_type type = kiln_view_type(d->k);
    bool is_narrow = type == KILN_F8E4 || type == KILN_F8E5;
    const float scales[] = {d->k_scale, d->v_scale};
    for (size_t n = 0; n < COUNT(scales); n++) {
        if (!(scales[n] >= 0.0f) || isinf(scales[n]))
            return attention_wrong(a, "k_scale or v_scale is not a positive number");
        if (scales[n] != 0.0f && !is_narrow)
            return attention_wrong(a, "k_scale and v_scale are for k and v of f8e4 or f8e5");
    }
    if (is_narrow && a->type == KILN_F32)
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: 'k' is %s, 'q' is f32; q is f16 or bf16 with such a cache", a->op,
                         kiln_type_name(type));
    if (is_narrow)
        a->key_type = type;
    return KILN_OK;
}

kiln_status kiln_attention_forward(kiln *k, const kiln_attention_desc *desc)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    job j = {.a = {.k = k, .op = "kiln_attention_forward"}, .desc = desc, .count = TENSORS};
    if (!desc)
        return attention_wrong(&j.a, "the description is NULL");
    j.tensors[Q] = (tensor){"q", &desc->q, OF_QUERIES, false};
    j.tensors[K] = (tensor){"k", &desc->k, OF_KEYS, false};
    j.tensors[V] = (tensor){"v", &desc->v, OF_KEYS, false};
    j.tensors[OUT] = (tensor){"out", &desc->out, OF_QUERIES, true};
    j.tensors[LSE] = (tensor){"lse", &desc->lse, OF_ROWS, true};
    if (!desc->lse.buffer)
        j.count = LSE;
    kiln_status status =
        attention_sizes(&j.a, &desc->q, &desc->k, desc->pages.buffer ? &desc->pages : NULL,
                        desc->is_causal, desc->scale, desc->kernel, &MASKING_OF(desc));
    if (!status)
        status = check_narrow_keys(&j.a, desc);
    if (!status)
        status = attention_check(&j.a, j.tensors, j.count);
    if (!status)
        status = attention_check_mask(&j.a, j.tensors, j.count);
    if (!status && desc->q_offsets.buffer && (desc->lengths.buffer || desc->pages.buffer))
        status = attention_wrong(&j.a, "offsets with lengths or pages: k_offsets say how many keys "
                                       "there are");
    if (!status)
        status = attention_check_cache(&j.a, &desc->lengths, &desc->pages);
    return status || !j.a.rows ? status : run(&j);
}
