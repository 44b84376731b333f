// kiln_attention_forward: checks a description and launches a kernel in the tile that host_choice.c
// gives it.
//
// Four kernels: decode.c (mma; few queries and many keys), forward_sm90.c (wgmma, tensor maps),
// forward_mma.c (mma; all masks) and forward_portable.c (any device, any head dimension, any
// strides). Start reading at kiln_attention_forward, the last function.
#include <math.h>

#include "ops/attention/host_forward.h"
#include "ops/attention/sizes.h"
#include "ops/scratch.h"

static const op_program forward_sm90 = ATTENTION_PROGRAM("forward_sm90.c", NULL),
                        forward_join = ATTENTION_PROGRAM("forward_join.c", NULL),
                        forward_portable = ATTENTION_PROGRAM("forward_portable.c", NULL),
                        forward_mma = ATTENTION_PROGRAM("forward_mma.c", NULL),
                        decode = ATTENTION_PROGRAM("decode.c", NULL);

static void set_common(const forward_job *j, op_request *r)
{
    op_set(r, TYPE, j->a.type);
    op_set(r, NO_LSE, j->count == LSE);
    op_set(r, CAUSAL, j->a.is_causal && !j->a.is_masked); // a mask says it itself
}

// The factor of an fp8 cache; 0 is 1.
static float scale_of(float given)
{
    return given > 0.0f ? given : 1.0f;
}

// Adds what the portable kernel and decode.c have behind the strides.
static size_t add_rest(const forward_job *j, op_request *r, kiln_arg *args, size_t count)
{
    if (forward_has_narrow_keys(&j->a)) {
        op_set(r, CACHE, j->a.key_type);
        args[count++] = kiln_arg_f64(KILN_F32, (double)scale_of(j->desc->v_scale));
    }
    return j->a.is_masked ? attention_add_mask(&j->a, r, args, count) : count;
}

// Adds the tensors from `first` on to the arguments.
static size_t add_views(const forward_job *j, size_t first, kiln_arg *args, size_t count)
{
    for (size_t n = first; n < j->count; n++)
        args[count++] = kiln_arg_view(*j->tensors[n].view);
    return count;
}

// --- sm_90a
// Are the tensors dense, with as many columns as the kernel has?
static bool is_plain(const forward_job *j)
{
    return !j->a.is_masked && attention_is_dense(j->tensors, j->count) &&
           j->a.head_dim == attention_whole_dim(&j->a);
}

// Parts of the keys of a tile: as many as there are multiprocessors for them, where each then has
// JOIN blocks of keys less to read, which is what putting them together takes.
static uint32_t parts_for(const attention *a, forward_tile t)
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

static void set_sm90(const forward_job *j, forward_tile t, op_request *r)
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
    if (forward_is_dealt(&j->a, &t))
        op_set(r, DEALT, true);
}

kiln_status forward_has_room(const forward_job *j, const forward_tile *t, bool *out)
{
    op_request r = {.program = &forward_sm90};
    set_sm90(j, *t, &r);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->a.k, &r, &kernel);
    *out = !status && kernel->shared_bytes <= j->a.k->caps.shared_bytes;
    return status;
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

static struct shape shape_of(const forward_job *j, forward_tile t)
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
                     (t.warpgroups > 1 || a->is_masked || !forward_has_few_units(a, 64, false));
    s.units_per_head = has_pairs ? ceil_div(s.tiles, 2) : s.tiles;
    s.parts = parts_for(a, t);
    s.part_units = s.units_per_head * a->batch * a->heads;
    s.units = s.part_units * s.parts;
    if (forward_is_dealt(a, &t)) {
        s.units_per_head = a->batch * a->heads;
        s.units = s.units_per_head * s.tiles;
    }
    return s;
}

// What the parts leave: their sums, then their shares of out.
static kiln_status scratch_for(const forward_job *j, uint32_t parts, kiln_arg args[2])
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

static kiln_status run_join(const forward_job *j, forward_tile t, uint32_t parts,
                            const kiln_arg scratch[2])
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

static kiln_status run_sm90(const forward_job *j, forward_tile t)
{
    const attention *a = &j->a;
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
    if (forward_is_dealt(a, &t))
        grid = s.units < kernel->resident ? s.units : kernel->resident;
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
static size_t add_cache(const forward_job *j, op_request *r, kiln_arg *args, size_t count)
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

static uint32_t table_stride(const forward_job *j)
{
    return j->desc->pages.buffer ? (uint32_t)kiln_view_stride(j->desc->pages, 0) : 0;
}

static kiln_status run_portable(const forward_job *j)
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

// Adds what the blocks that share keys leave for each other.
static kiln_status add_parts(const forward_job *j, const decode_plan *p, kiln_arg *args,
                             size_t *count)
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

static kiln_status run_decode(const forward_job *j, const forward_choice *c)
{
    const attention *a = &j->a;
    kiln_status status = KILN_OK;
    decode_plan p;
    if (!forward_plan_decode(a, c, &p))
        return attention_wrong(a, "the choice has parts that are not possible");
    op_request r = {.program = &decode};
    kiln_arg args[TENSORS + 7 + MASK_ARGS];
    size_t count = add_cache(j, &r, args, add_views(j, Q, args, 0));
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
static kiln_status run_mma(const forward_job *j, uint32_t warps)
{
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

static kiln_status run(const forward_job *j, const forward_choice *c)
{
    switch (c->way) {
    case WAY_PORTABLE: return run_portable(j);
    case WAY_MMA: return run_mma(j, c->warps);
    case WAY_SM90: return run_sm90(j, c->tile);
    case WAY_DECODE: return run_decode(j, c);
    case WAY_COUNT: break;
    }
    return KILN_E_BAD_ARGUMENT;
}

// --- checks
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

kiln_status forward_begin(kiln *k, const kiln_attention_desc *desc, forward_job *out)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    *out = (forward_job){
        .a = {.k = k, .op = "kiln_attention_forward"}, .desc = desc, .count = TENSORS};
    if (!desc)
        return attention_wrong(&out->a, "the description is NULL");
    out->tensors[Q] = (tensor){"q", &desc->q, OF_QUERIES, false};
    out->tensors[K] = (tensor){"k", &desc->k, OF_KEYS, false};
    out->tensors[V] = (tensor){"v", &desc->v, OF_KEYS, false};
    out->tensors[OUT] = (tensor){"out", &desc->out, OF_QUERIES, true};
    out->tensors[LSE] = (tensor){"lse", &desc->lse, OF_ROWS, true};
    if (!desc->lse.buffer)
        out->count = LSE;
    kiln_status status =
        attention_sizes(&out->a, &desc->q, &desc->k, desc->pages.buffer ? &desc->pages : NULL,
                        desc->is_causal, desc->scale, desc->kernel, &MASKING_OF(desc));
    if (!status)
        status = check_narrow_keys(&out->a, desc);
    if (!status)
        status = attention_check(&out->a, out->tensors, out->count);
    if (!status)
        status = attention_check_mask(&out->a, out->tensors, out->count);
    if (!status && desc->q_offsets.buffer && (desc->lengths.buffer || desc->pages.buffer))
        status =
            attention_wrong(&out->a, "offsets with lengths or pages: k_offsets say how many keys "
                                     "there are");
    if (!status)
        status = attention_check_cache(&out->a, &desc->lengths, &desc->pages);
    return status;
}

kiln_status forward_run(kiln *k, const kiln_attention_desc *desc, const forward_choice *choice)
{
    forward_job j;
    kiln_status status = forward_begin(k, desc, &j);
    if (status || !j.a.rows)
        return status;
    if (!forward_can(&j, choice->way) || !forward_fits(&j, choice))
        return error_set(k, KILN_E_UNSUPPORTED, K6038, "%s: %s", j.a.op, j.a.obstacle);
    return run(&j, choice);
}

kiln_status kiln_attention_forward(kiln *k, const kiln_attention_desc *desc)
{
    forward_job j;
    forward_choice choice;
    kiln_status status = forward_begin(k, desc, &j);
    if (status || !j.a.rows)
        return status;
    status = forward_choose(&j, true, &choice);
    return status ? status : run(&j, &choice);
}
