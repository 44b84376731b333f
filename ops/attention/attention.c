// kiln_attention_forward: checks a description, picks a kernel and its tile, and launches it.
//
// Two kernels: forward_sm90.c (wgmma, tensor maps) and forward_portable.c (any device, any head
// dimension). The first one that can do the job is taken. Start reading at kiln_attention_forward,
// the last function.
#include "kiln/ops.h"

#include <math.h>

#include "ops/op.h"

static const char op_name[] = "kiln_attention_forward";

// --- the kernels and the axes of their variants
#define AXIS(id, text, kind, domain) AXIS_##id,
enum {
#include "ops/attention/axes.def"
};
#define AXIS(id, text, what, domain) [AXIS_##id] = {.name = text, .kind = OP_##what, domain},
static const op_axis axes[] = {
#include "ops/attention/axes.def"
};
static const op_program forward_sm90 = {"ops/attention/forward_sm90.c", NULL, axes, COUNT(axes)},
                        forward_portable = {"ops/attention/forward_portable.c", NULL, axes,
                                            COUNT(axes)};

// A description with everything decided.
typedef struct job {
    kiln *k;
    const kiln_attention_desc *desc;
    kiln_type type;
    uint32_t heads, kv_heads; // of the whole batch
    float scale;              // times log2(e)
} job;

// --- checking
static kiln_status wrong(kiln *k, const char *what)
{
    return error_set(k, KILN_E_BAD_ARGUMENT, K6003, "%s: %s", op_name, what);
}

static kiln_status check_shape(job *j)
{
    const kiln_attention_desc *d = j->desc;
    uint32_t kv_heads = d->kv_heads ? d->kv_heads : d->heads;
    if (!d->head_dim || d->head_dim > 1024)
        return wrong(j->k, "head_dim is 1 to 1024");
    if (d->heads && d->heads % kv_heads)
        return wrong(j->k, "heads is not a multiple of kv_heads");
    if (d->queries && !d->keys)
        return wrong(j->k, "there are queries, and no keys");
    if (d->is_causal && d->queries > d->keys)
        return wrong(j->k, "is_causal with more queries than keys: the first ones would see none");
    if (!(d->scale >= 0.0f) || isinf(d->scale))
        return wrong(j->k, "scale is not a positive number");
    if ((unsigned)d->kernel > KILN_ATTENTION_PORTABLE)
        return wrong(j->k, "there is no such kernel");
    uint64_t heads = (uint64_t)d->batch * d->heads;
    if (heads > INT32_MAX || d->queries > INT32_MAX - 1024 || d->keys > INT32_MAX - 1024)
        return wrong(j->k, "a head's rows and the heads of the batch are at most 2^31 - 1024");
    if (d->queries && heads > UINT32_MAX / d->queries)
        return wrong(j->k, "the heads of the batch have more than 2^32 - 1 queries");
    j->heads = (uint32_t)heads;
    j->kv_heads = d->heads ? (uint32_t)(heads / d->heads * kv_heads) : 0;
    j->scale = (d->scale > 0.0f ? d->scale : 1.0f / sqrtf((float)d->head_dim)) * 1.44269504f;
    return KILN_OK;
}

static kiln_status check_buffers(job *j)
{
    const kiln_attention_desc *d = j->desc;
    const uint64_t rows = (uint64_t)j->heads * d->queries;
    const uint64_t kv_count = op_product((uint64_t)j->kv_heads * d->keys, d->head_dim);
    const struct {
        const char *name;
        const kiln_buffer *buffer;
        uint64_t count;
    } given[] = {{"q", d->q, rows * d->head_dim},
                 {"k", d->k, kv_count},
                 {"v", d->v, kv_count},
                 {"out", d->out, rows * d->head_dim},
                 {"lse", d->lse, rows}};
    for (size_t n = 0; n < COUNT(given) - !d->lse; n++) {
        kiln_status status =
            op_check_buffer(j->k, op_name, given[n].name, given[n].buffer, 0, given[n].count);
        if (status)
            return status;
        kiln_type type = kiln_buffer_type(given[n].buffer);
        if (n == 0)
            j->type = type;
        kiln_type wanted = n == 4 ? KILN_F32 : j->type;
        if (type != wanted)
            return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011, "%s: '%s' is %s, not %s", op_name,
                             given[n].name, kiln_type_name(type), kiln_type_name(wanted));
        if ((n < 3 && (given[n].buffer == d->out || given[n].buffer == d->lse)) ||
            (n == 3 && d->out == d->lse))
            return error_set(j->k, KILN_E_BAD_ARGUMENT, K6003,
                             "%s: '%s' is the buffer of a result, too", op_name, given[n].name);
    }
    if (j->type != KILN_BF16 && j->type != KILN_F16 && j->type != KILN_F32)
        return error_set(j->k, KILN_E_BAD_ARGUMENT, K6011,
                         "%s: tensors of %s; bf16, f16 and f32 are possible", op_name,
                         kiln_type_name(j->type));
    return KILN_OK;
}

// --- what the kernels share
static uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return a / b + (a % b != 0);
}

static void set_common(const job *j, op_request *r)
{
    op_set(r, TYPE, j->type);
    op_set(r, NO_LSE, !j->desc->lse);
    op_set(r, CAUSAL, j->desc->is_causal);
}

// --- sm_90a
typedef struct tile {    // what forward_sm90.c is specialised by
    uint32_t warpgroups; // of 64 queries
    uint32_t keys;
    uint32_t q_stages, ahead;
    bool has_turns, is_late;
} tile;

enum { SHARED_LIMIT = 231424 };

static size_t shared_bytes_of(tile t, uint32_t head_dim)
{
    return (size_t)t.q_stages * t.warpgroups * 64 * head_dim * 2 +
           (size_t)t.keys * head_dim * 2 * 4 + t.warpgroups * 4 * 2048 + 12 * 8;
}

// Measured on an H200 with 1k, 4k and 16k keys (bench/gpu/attention.py --variants); the first row
// that fits is taken.
static const struct choice {
    uint32_t head_dim, min_keys;
    bool is_full, is_causal; // for which it is
    tile tile;
} choices[] = {
    {64, 2048, true, true, {3, 128, 2, 2, .has_turns = true}},
    {64, 0, true, true, {4, 64, 2, 1, .has_turns = false}},
    {128, 2048, true, false, {3, 80, 1, 1, .has_turns = false}},
    {128, 0, true, false, {2, 128, 2, 2, .has_turns = false}},
    {128, 0, false, true, {2, 128, 2, 1, .has_turns = false}},
    {256, 0, true, false, {2, 64, 1, 2, .has_turns = false}},
    {256, 0, false, true, {2, 64, 1, 0, .is_late = true}},
};

static tile tile_for(const kiln_attention_desc *d)
{
    const struct choice *c = choices;
    while (c->head_dim != d->head_dim || c->min_keys > d->keys ||
           !(d->is_causal ? c->is_causal : c->is_full))
        c++;
    tile t = c->tile;
    if (d->tile_queries && d->tile_queries != t.warpgroups * 64) {
        t = (tile){d->tile_queries / 64, 128, .q_stages = 1, .ahead = 1};
        if (d->head_dim == 256 || t.warpgroups == 4)
            t.keys = 64;
        else if (d->head_dim == 128 && t.warpgroups == 3)
            t.keys = 80;
    }
    if (d->tile_keys)
        t.keys = d->tile_keys;
    if (shared_bytes_of(t, d->head_dim) > SHARED_LIMIT)
        t.q_stages = 1;
    return t;
}

// Why forward_sm90.c cannot do it; NULL: it can.
static const char *sm90_obstacle(const job *j)
{
    const kiln_attention_desc *d = j->desc;
    if (!j->k->caps.has_wgmma)
        return "the device is not sm_90a";
    if (!j->k->caps.has_tensor_copies)
        return "the device has no tensor maps";
    if (j->type == KILN_F32)
        return "its tensors are bf16 or f16";
    if (d->head_dim != 64 && d->head_dim != 128 && d->head_dim != 256)
        return "head_dim is not 64, 128 or 256";
    if (d->tile_queries && d->tile_queries != 128 && d->tile_queries != 192 &&
        (d->tile_queries != 256 || d->head_dim != 64))
        return "tile_queries is not 128, 192 or, with head_dim 64, 256";
    if (d->tile_keys && (d->tile_keys % 16 || d->tile_keys < 64 || d->tile_keys > 192))
        return "tile_keys is not a multiple of 16 from 64 to 192";
    if (shared_bytes_of(tile_for(d), d->head_dim) > SHARED_LIMIT)
        return "the tile does not fit in shared memory";
    return NULL;
}

static kiln_status map_rows(const job *j, const kiln_buffer *buffer, uint32_t heads, uint32_t rows,
                            uint32_t box_rows, kiln_tensor_map *out)
{
    return kiln_tensor_map_make(j->k,
                                &(kiln_tensor_map_desc){.buffer = buffer,
                                                        .rank = 3,
                                                        .size = {j->desc->head_dim, rows, heads},
                                                        .box = {64, box_rows, 1},
                                                        .swizzle_bytes = 128,
                                                        .promotion_bytes = 256},
                                out);
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

struct shape { // as in forward_sm90.c
    uint32_t queries, keys, tiles, units_per_head, units, sharing;
    float scale;
};

static kiln_status run_sm90(const job *j)
{
    const kiln_attention_desc *d = j->desc;
    tile t = tile_for(d);
    op_request r = {.program = &forward_sm90, .shared_bytes = shared_bytes_of(t, d->head_dim)};
    set_common(j, &r);
    op_set(&r, HD, d->head_dim);
    op_set(&r, BN, t.keys);
    op_set(&r, WGS, t.warpgroups);
    op_set(&r, Q_STAGES, t.q_stages);
    op_set(&r, AHEAD, t.ahead);
    op_set(&r, TURNS, t.has_turns);
    op_set(&r, LATE, t.is_late);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    kiln_tensor_map q, k, v;
    if (!status)
        status = map_rows(j, d->q, j->heads, d->queries, t.warpgroups * 64, &q);
    if (!status)
        status = map_rows(j, d->k, j->kv_heads, d->keys, t.keys, &k);
    if (!status)
        status = map_rows(j, d->v, j->kv_heads, d->keys, t.keys, &v);
    if (status)
        return status;
    struct shape s = {.queries = d->queries, .keys = d->keys, .scale = j->scale};
    s.tiles = ceil_div(d->queries, t.warpgroups * 64);
    s.units_per_head = d->is_causal ? ceil_div(s.tiles, 2) : s.tiles;
    s.units = s.units_per_head * j->heads;
    s.sharing = j->heads / j->kv_heads;
    kiln_arg args[6] = {kiln_arg_struct(&q, sizeof q), kiln_arg_struct(&k, sizeof k),
                        kiln_arg_struct(&v, sizeof v), kiln_arg_buffer(d->out)};
    size_t count = 4;
    if (d->lse)
        args[count++] = kiln_arg_buffer(d->lse);
    args[count++] = kiln_arg_struct(&s, sizeof s);
    uint32_t grid = blocks_for(s.units, s.units_per_head, kernel->resident,
                               d->queries % (t.warpgroups * 64) != 0);
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {grid},
                                                           .shared_bytes = r.shared_bytes,
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = d->stream});
}

// --- any device
enum { PORTABLE_ROWS = 4 }; // of a block: WARPS in forward_portable.c

static kiln_status run_portable(const job *j)
{
    const kiln_attention_desc *d = j->desc;
    op_request r = {.program = &forward_portable};
    set_common(j, &r);
    op_set(&r, ANY_HD, d->head_dim);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    if (status)
        return status;
    uint32_t rows = j->heads * d->queries;
    kiln_arg args[10] = {kiln_arg_buffer(d->q), kiln_arg_buffer(d->k), kiln_arg_buffer(d->v),
                         kiln_arg_buffer(d->out)};
    size_t count = 4;
    if (d->lse)
        args[count++] = kiln_arg_buffer(d->lse);
    const uint32_t numbers[] = {rows, d->queries, d->keys, j->heads / j->kv_heads};
    for (size_t n = 0; n < COUNT(numbers); n++)
        args[count++] = kiln_arg_i64(KILN_U32, numbers[n]);
    args[count++] = kiln_arg_f64(KILN_F32, (double)j->scale);
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {ceil_div(rows, PORTABLE_ROWS)},
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = d->stream});
}

kiln_status kiln_attention_forward(kiln *k, const kiln_attention_desc *desc)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    if (!desc)
        return wrong(k, "the description is NULL");
    job j = {.k = k, .desc = desc};
    kiln_status status = check_shape(&j);
    if (!status)
        status = check_buffers(&j);
    if (status || !j.heads || !desc->queries)
        return status;
    const char *obstacle = sm90_obstacle(&j);
    if (desc->kernel == KILN_ATTENTION_SM90 && obstacle)
        return error_set(k, KILN_E_UNSUPPORTED, K6038, "%s: the sm_90a kernel cannot: %s", op_name,
                         obstacle);
    bool is_fast = desc->kernel == KILN_ATTENTION_SM90 ||
                   (desc->kernel == KILN_ATTENTION_BEST && !k->caps.is_emulated && !obstacle);
    return is_fast ? run_sm90(&j) : run_portable(&j);
}
