// kiln_attention_backward: checks a description, picks kernels, and launches them.
//
// Three ways: backward_sm90.c, or backward_wide.c above 128 columns, between the two kernels of
// backward_ends.c (wgmma, tensor maps), backward_mma.c (mma; all masks) and backward_portable.c
// (any device, any head dimension, any strides). The first one that can do the job is taken.
// backward_bias.c makes the gradient of a bias after them. Start reading at
// kiln_attention_backward, the last function.
#include "ops/attention/host_attention.h"
#include "ops/attention/sizes.h"
#include "rt/memory/view.h"

static const op_program prepare =
                            ATTENTION_PROGRAM("backward_ends.c", "attention_backward_prepare"),
                        backward_sm90 = ATTENTION_PROGRAM("backward_sm90.c", "attention_backward"),
                        backward_wide = ATTENTION_PROGRAM("backward_wide.c", "attention_backward"),
                        convert =
                            ATTENTION_PROGRAM("backward_ends.c", "attention_backward_convert"),
                        portable_queries =
                            ATTENTION_PROGRAM("backward_portable.c", "attention_backward_queries"),
                        portable_keys =
                            ATTENTION_PROGRAM("backward_portable.c", "attention_backward_keys"),
                        mma_queries =
                            ATTENTION_PROGRAM("backward_mma.c", "attention_backward_queries"),
                        mma_keys = ATTENTION_PROGRAM("backward_mma.c", "attention_backward_keys");

enum { Q, K, V, OUT, DOUT, LSE, DQ, DK, DV, TENSORS };

typedef struct job {
    attention a;
    const kiln_attention_backward_desc *desc;
    tensor tensors[TENSORS];
    uint32_t dim;          // attention_whole_dim
    uint32_t query_blocks; // of a head
    uint32_t parts;        // that share the queries of a key, on sm_90a
    bool is_plain;         // dense, as many keys as queries, no shared heads, whole columns
} job;

static uint32_t key_blocks_of(const job *j)
{
    return attention_tiles(&j->a, j->a.keys, BACKWARD_KEYS(j->dim));
}

// --- sm_90a: the shape
// Can backward_sm90.c work with such a shape? If not, the obstacle says why.
static bool can_shape(job *j)
{
    const attention *a = &j->a;
    const char *why = NULL;
    if (!a->k->caps.has_wgmma || !a->k->caps.has_tensor_copies)
        why = "the device is not sm_90a";
    else if (a->head_dim % 8 || a->head_dim < 32 || a->head_dim > 256)
        why = "head_dim is not a multiple of 8 from 32 to 256";
    else if (a->type == KILN_F32)
        why = "its tensors are bf16 or f16";
    else if ((uint64_t)a->batch * a->heads * j->query_blocks >= 1 << 22)
        why = "there are more than 2^22 blocks of queries";
    else if (attention_sm90_mask_obstacle(a))
        why = attention_sm90_mask_obstacle(a);
    else if (a->mask.bias.buffer)
        why = "it takes no bias";
    else if (j->desc->is_deterministic)
        why = "its dq is a sum in changing order";
    return attention_can(&j->a, why);
}

// Elements of the workspace: the sums of dQ, two numbers a query, and, where several units share
// the queries of a key, their shares of dK and dV; portable: one number.
static uint64_t sums_of(const job *j)
{
    return (uint64_t)j->a.batch * j->a.heads * j->query_blocks * SUM_BLOCK(j->dim);
}

static uint64_t rows_of(const job *j)
{
    return sums_of(j) / j->dim * 2;
}

static uint64_t shares_of(const job *j) // of dK, or of dV
{
    return j->parts > 1 ? (uint64_t)j->a.kv_rows * j->dim * j->parts : 0;
}

static uint64_t workspace_of(const job *j, bool is_sm90)
{
    return is_sm90 ? sums_of(j) + rows_of(j) + 2 * shares_of(j) : j->a.rows;
}

static kiln_arg workspace_at(const job *j, uint64_t element)
{
    kiln_view v = j->desc->workspace;
    if (!v.buffer) // no queries: nothing is in it
        v = (kiln_view){.buffer = j->desc->dk.buffer, .type = KILN_F32, .rank = 1};
    v.first += element;
    return kiln_arg_view(v);
}

// --- sm_90a: parts
// How many units share the query blocks of a key: what takes least time, counted in such blocks.
// Beginning and ending a unit is as much as FIXED of them, adding the shares of dK and dV one more,
// and one for as many bytes of theirs as go through memory meanwhile. Where units are several
// rounds, of which the last is not full, it must gain a GAIN-th: heads that share keys make few and
// long units. With a causal mask units have other sizes.
static uint32_t parts_for(const job *j)
{
    enum { FIXED = 1, MOST = 16, GAIN = 14, BYTES = 11 << 20 };
    const attention *a = &j->a;
    uint64_t units = (uint64_t)a->batch * a->kv_heads * key_blocks_of(j), best = UINT64_MAX;
    uint64_t blocks = (uint64_t)j->query_blocks * (a->heads / (a->kv_heads ? a->kv_heads : 1));
    uint64_t share = (uint64_t)a->kv_rows * j->dim * 16; // bytes, written and read
    uint32_t parts = 1, processors = attention_processors(&j->a);
    for (uint32_t n = 1; n <= MOST && n <= blocks && !a->is_masked; n++) {
        uint64_t rounds = (units * n + processors - 1) / processors;
        uint64_t taken = rounds * ((blocks + n - 1) / n + FIXED) + (n > 1);
        if (n > 1 && rounds > 1) {
            if (a->is_causal)
                continue;
            taken += share * n / BYTES;
            taken += parts == 1 ? taken / GAIN : 0;
        }
        if (taken >= best)
            continue;
        best = taken;
        parts = n;
    }
    return parts;
}

// --- sm_90a: the kernels
static kiln_status launch(const job *j, const op_kernel *kernel, uint32_t grid,
                          const kiln_arg *args, size_t count)
{
    return kiln_launch(kernel->kernel, &(kiln_launch_desc){.grid = {grid},
                                                           .shared_bytes = kernel->shared_bytes,
                                                           .args = args,
                                                           .arg_count = count,
                                                           .stream = j->desc->stream,
                                                           .overlaps_previous = kernel->overlaps});
}

// Launches a kernel with these arguments and those of the mask. Units: of work for the blocks that
// fit, or, 0, `grid` says how many blocks.
static kiln_status run_kernel(const job *j, const op_program *program, kiln_arg *args, size_t count,
                              uint32_t units, uint32_t grid)
{
    op_request r = {.program = program};
    op_set(&r, TYPE, j->a.type);
    op_set(&r, HD, j->dim);
    if (j->a.head_dim != j->dim)
        op_set(&r, COLUMNS, j->a.head_dim);
    op_set(&r, STRIDED, !j->is_plain);
    if (program != &prepare)
        op_set(&r, SPLIT, j->parts > 1);
    if (units)
        op_set(&r, CAUSAL, j->a.is_causal && !j->a.is_masked);
    if (j->a.is_masked)
        count = attention_add_mask(&j->a, &r, args, count);
    const op_kernel *kernel;
    kiln_status status = op_kernel_get(j->a.k, &r, &kernel);
    if (!status && units)
        grid = ceil_div(units, ceil_div(units, kernel->resident));
    return status ? status : launch(j, kernel, grid, args, count);
}

struct problem { // as in backward_units.h
    uint32_t queries, query_blocks, key_blocks, units, per_head;
    float c, scale;
    uint32_t keys, heads, kv_heads, sharing, parts, all_heads;
    steps q, k, v, dout;
    row_strides dk, dv;
};

static kiln_status run_main(const job *j)
{
    static const size_t mapped[] = {Q, K, V, DOUT};
    const attention *a = &j->a;
    uint32_t key_blocks = key_blocks_of(j), all_heads = a->batch * a->kv_heads;
    bool has_pairs = attention_has_pairs(a) && j->parts == 1 &&
                     (a->is_masked || all_heads * key_blocks > attention_processors(&j->a));
    uint32_t per_head = has_pairs ? ceil_div(key_blocks, 2) : key_blocks;
    uint32_t units = all_heads * per_head * j->parts;
    kiln_tensor_map maps[COUNT(mapped)];
    kiln_arg args[9 + MASK_ARGS];
    for (size_t n = 0; n < COUNT(mapped); n++) {
        const tensor *t = &j->tensors[mapped[n]];
        uint32_t rows = t->shape == OF_KEYS ? BACKWARD_KEYS(j->dim) : BACKWARD_QUERIES(j->dim);
        kiln_status status = a->mask.q_offsets.buffer
                                 ? attention_map_parts(a, t->view, rows, &maps[n])
                                 : attention_map(a, t->view, j->is_plain, rows, &maps[n]);
        if (status)
            return status;
        args[n] = kiln_arg_struct(&maps[n], sizeof maps[n]);
    }
    struct problem p = {.queries = a->queries,
                        .query_blocks = j->query_blocks,
                        .key_blocks = key_blocks,
                        .units = units,
                        .per_head = per_head,
                        .c = a->scale * 1.44269504f,
                        .scale = a->scale,
                        .keys = a->keys,
                        .heads = a->heads,
                        .kv_heads = a->kv_heads,
                        .sharing = a->heads / a->kv_heads,
                        .parts = j->parts,
                        .all_heads = all_heads,
                        .q = attention_steps(j->tensors[Q].view),
                        .k = attention_steps(j->tensors[K].view),
                        .v = attention_steps(j->tensors[V].view),
                        .dout = attention_steps(j->tensors[DOUT].view),
                        .dk = attention_row_strides(j->tensors[DK].view),
                        .dv = attention_row_strides(j->tensors[DV].view)};
    args[4] = workspace_at(j, sums_of(j));
    args[5] = workspace_at(j, 0);
    args[6] = kiln_arg_view(*j->tensors[DK].view);
    args[7] = kiln_arg_view(*j->tensors[DV].view);
    if (j->parts > 1) {
        args[6] = workspace_at(j, sums_of(j) + rows_of(j));
        args[7] = workspace_at(j, sums_of(j) + rows_of(j) + shares_of(j));
    }
    args[8] = kiln_arg_struct(&p, sizeof p);
    return run_kernel(j, j->dim > 128 ? &backward_wide : &backward_sm90, args, 9, units, 0);
}

struct tensors { // as in backward_ends.c
    uint32_t length, blocks;
    float scale;
    uint32_t heads;
    row_strides out, dout, lse, dq;
};

static kiln_status run_sm90(job *j)
{
    struct tensors t = {.length = j->a.queries,
                        .blocks = j->query_blocks,
                        .scale = j->a.scale,
                        .heads = j->a.heads,
                        .out = attention_row_strides(j->tensors[OUT].view),
                        .dout = attention_row_strides(j->tensors[DOUT].view),
                        .lse = attention_row_strides(j->tensors[LSE].view),
                        .dq = attention_row_strides(j->tensors[DQ].view)};
    kiln_arg rest = kiln_arg_struct(&t, sizeof t);
    kiln_arg to_prepare[6 + MASK_ARGS] = {kiln_arg_view(*j->tensors[OUT].view),
                                          kiln_arg_view(*j->tensors[DOUT].view),
                                          kiln_arg_view(*j->tensors[LSE].view),
                                          workspace_at(j, sums_of(j)),
                                          workspace_at(j, 0),
                                          rest};
    kiln_arg to_convert[7 + MASK_ARGS] = {workspace_at(j, 0), kiln_arg_view(*j->tensors[DQ].view),
                                          rest};
    uint32_t tiles = j->a.batch * j->a.heads * j->query_blocks, sum = SUM_BLOCK(j->dim);
    uint32_t lanes = j->dim == 192 ? 32 : j->dim / 8; // of a row, as in backward_ends.c
    uint32_t converting = tiles * (sum / 16 / 256), arg_count = 3;
    const struct { // as in backward_ends.c
        uint32_t first, parts, rows, keys, kv_heads;
        row_strides dk, dv;
    } joined = {converting,
                j->parts,
                j->a.kv_rows,
                j->a.keys,
                j->a.kv_heads,
                attention_row_strides(j->tensors[DK].view),
                attention_row_strides(j->tensors[DV].view)};
    if (j->parts > 1) {
        to_convert[arg_count++] = workspace_at(j, sums_of(j) + rows_of(j));
        to_convert[arg_count++] = kiln_arg_view(*j->tensors[DK].view);
        to_convert[arg_count++] = kiln_arg_view(*j->tensors[DV].view);
        to_convert[arg_count++] = kiln_arg_struct(&joined, sizeof joined);
        converting += ceil_div(2 * j->a.kv_rows * (j->dim / 8), 256);
    }
    kiln_status status =
        run_kernel(j, &prepare, to_prepare, 6, 0, tiles * (BACKWARD_QUERIES(j->dim) * lanes / 256));
    if (!status)
        status = run_main(j);
    return status ? status : run_kernel(j, &convert, to_convert, arg_count, 0, converting);
}

// --- mma and any device: a kernel for dQ, which writes what the one for dK and dV needs
enum { PAIR_ARGS = 8 };
static void pair_args(const job *j, bool is_keys, kiln_arg args[PAIR_ARGS])
{
    const size_t tensors[] = {Q, K, V, is_keys ? DK : OUT, DOUT, LSE};
    for (size_t n = 0; n < COUNT(tensors); n++)
        args[n] = kiln_arg_view(*j->tensors[tensors[n]].view);
    args[6] = workspace_at(j, 0);
    args[7] = kiln_arg_view(*j->tensors[is_keys ? DV : DQ].view);
}

static kiln_status run_mma(const job *j)
{
    kiln_status status = KILN_OK;
    for (int is_keys = 0; is_keys < 2 && !status; is_keys++) {
        if (!(is_keys ? j->a.kv_rows : j->a.rows))
            continue;
        op_request r = {.program = is_keys ? &mma_keys : &mma_queries};
        mma_launch l = {.tensors = j->tensors,
                        .tensor_count = TENSORS,
                        .given = TENSORS,
                        .arg_count = PAIR_ARGS,
                        .rows = BACKWARD_MMA_ROWS,
                        .is_keys = is_keys,
                        .stream = j->desc->stream};
        pair_args(j, is_keys, l.args);
        status = attention_run_mma(&j->a, &r, &l);
    }
    return status;
}

static kiln_status run_portable(const job *j)
{
    const attention *a = &j->a;
    portable_shape s = attention_portable_shape(a);
    strides by[TENSORS]; // struct tensors of backward_portable.c
    for (size_t n = 0; n < TENSORS; n++)
        by[n] = attention_strides(j->tensors[n].view);
    for (int is_keys = 0; is_keys < 2; is_keys++) {
        uint32_t rows = is_keys ? a->kv_rows : a->rows;
        if (!rows)
            continue;
        op_request r = {.program = is_keys ? &portable_keys : &portable_queries};
        op_set(&r, TYPE, a->type);
        op_set(&r, ANY_HD, a->head_dim);
        op_set(&r, CAUSAL, a->is_causal && !a->is_masked);
        op_set(&r, UNIT, attention_is_unit(j->tensors, TENSORS));
        kiln_arg args[PAIR_ARGS + 2 + MASK_ARGS];
        pair_args(j, is_keys, args);
        size_t count = PAIR_ARGS;
        args[count++] = kiln_arg_struct(&s, sizeof s);
        args[count++] = kiln_arg_struct(by, sizeof by);
        if (a->is_masked)
            count = attention_add_mask(a, &r, args, count);
        const op_kernel *kernel;
        kiln_status status = op_kernel_get(a->k, &r, &kernel);
        if (!status)
            status = launch(j, kernel, ceil_div(rows, PORTABLE_WARPS), args, count);
        if (status)
            return status;
    }
    return KILN_OK;
}

// After the kernels that leave the sum of dO * O of each row in the workspace: those for sm_90a
// take no bias.
static kiln_status run_dbias(const job *j)
{
    const tensor inputs[] = {j->tensors[Q], j->tensors[K], j->tensors[V], j->tensors[DOUT],
                             j->tensors[LSE]};
    if (!j->desc->dbias.buffer)
        return KILN_OK;
    return attention_run_dbias(&j->a, &j->desc->dbias, inputs, workspace_at(j, 0), j->desc->stream);
}

// --- the calls
static kiln_status begin(kiln *k, const kiln_attention_backward_desc *desc, job *j)
{
    if (!handle_is(HANDLE_CONTEXT, k))
        return error_bad_handle(HANDLE_CONTEXT, k);
    *j = (job){.a = {.k = k, .op = "kiln_attention_backward"}, .desc = desc};
    if (!desc)
        return attention_wrong(&j->a, "the description is NULL");
    kiln_status status = attention_sizes(&j->a, &desc->q, &desc->k, NULL, desc->is_causal,
                                         desc->scale, desc->kernel, &MASKING_OF(desc));
    if (status)
        return status;
    j->dim = attention_whole_dim(&j->a);
    j->query_blocks = attention_tiles(&j->a, j->a.queries, BACKWARD_QUERIES(j->dim));
    j->parts = parts_for(j);
    return KILN_OK;
}

static kiln_status check_workspace(const job *j, uint64_t elements)
{
    const kiln_view *w = &j->desc->workspace;
    const attention *a = &j->a;
    if (!elements && !w->buffer)
        return KILN_OK;
    kiln_status status = view_check(a->k, w, a->op, "workspace");
    if (status)
        return status;
    if (kiln_view_type(*w) != KILN_F32 || !kiln_view_is_dense(*w) || kiln_view_count(*w) < elements)
        return error_set(a->k, KILN_E_BAD_ARGUMENT, K7004,
                         "%s: 'workspace' is not a dense view of %llu or more f32", a->op,
                         (unsigned long long)elements);
    for (size_t n = 0; n < TENSORS; n++)
        if (kiln_view_overlaps(*w, *j->tensors[n].view))
            return error_set(a->k, KILN_E_BAD_ARGUMENT, K6003,
                             "%s: '%s' and 'workspace' have elements in common", a->op,
                             j->tensors[n].name);
    return KILN_OK;
}

kiln_status kiln_attention_backward_workspace(kiln *k, const kiln_attention_backward_desc *desc,
                                              uint64_t *elements)
{
    job j;
    kiln_status status = begin(k, desc, &j);
    if (!status && !elements)
        status = attention_wrong(&j.a, "'elements' is NULL");
    if (!status)
        *elements = workspace_of(
            &j, (desc->kernel == KILN_ATTENTION_BEST || desc->kernel == KILN_ATTENTION_SM90) &&
                    can_shape(&j));
    return status;
}

kiln_status kiln_attention_backward(kiln *k, const kiln_attention_backward_desc *desc)
{
    job j;
    kiln_status status = begin(k, desc, &j);
    if (status)
        return status;
    const tensor tensors[TENSORS] = {
        {"q", &desc->q, OF_QUERIES, false},       {"k", &desc->k, OF_KEYS, false},
        {"v", &desc->v, OF_KEYS, false},          {"out", &desc->out, OF_QUERIES, false},
        {"dout", &desc->dout, OF_QUERIES, false}, {"lse", &desc->lse, OF_ROWS, false},
        {"dq", &desc->dq, OF_QUERIES, true},      {"dk", &desc->dk, OF_KEYS, true},
        {"dv", &desc->dv, OF_KEYS, true}};
    memcpy(j.tensors, tensors, sizeof tensors);
    status = attention_check(&j.a, tensors, TENSORS);
    if (!status)
        status = attention_check_mask(&j.a, tensors, TENSORS);
    bool is_sm90 = false;
    if (!status)
        status = attention_choose(&j.a, desc->kernel,
                                  can_shape(&j) && attention_is_aligned(&j.a, tensors, TENSORS),
                                  &is_sm90);
    if (!status)
        status = check_workspace(&j, workspace_of(&j, is_sm90));
    if (!status)
        status = attention_check_dbias(&j.a, &desc->dbias, &desc->workspace, tensors, TENSORS);
    if (status)
        return status;
    if (!j.a.rows && !j.a.kv_rows)
        return run_dbias(&j);
    bool is_mma = !is_sm90 &&
                  (desc->kernel == KILN_ATTENTION_SM80 ||
                   (desc->kernel == KILN_ATTENTION_BEST && !k->caps.is_emulated)) &&
                  attention_can_mma(&j.a, tensors, TENSORS, true);
    if (desc->kernel == KILN_ATTENTION_SM80 && !is_mma)
        return error_set(k, KILN_E_UNSUPPORTED, K6038, "%s: the sm_80 kernel cannot: %s", j.a.op,
                         j.a.obstacle);
    j.is_plain = !j.a.is_masked && attention_is_dense(tensors, TENSORS) &&
                 j.a.queries == j.a.keys && j.a.heads == j.a.kv_heads && j.a.head_dim == j.dim &&
                 j.parts == 1;
    status = is_sm90 && j.a.rows ? run_sm90(&j) : is_mma ? run_mma(&j) : run_portable(&j);
    return status ? status : run_dbias(&j);
}
