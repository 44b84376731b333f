// Launches of scaled_sm90.c: products with factors, a residual or numbers before the activation,
// and groups of rows (host_grouped.c). Start reading at matmul_run_scaled, the last function.
#include "ops/matmul/host_matmul.h"

static const op_program scaled_sm90 = MATMUL_PROGRAM("ops/matmul/scaled_sm90.c");

typedef struct form {
    uint32_t warpgroups, n;
} form;

static const form forms[] = {{2, 256}, {2, 128}, {1, 256}, {1, 128}, {1, 64}};

// --- what follows the sum
static bool is_there(kiln_view v)
{
    return v.buffer != NULL;
}

static uint32_t step(kiln_view v, uint32_t axis)
{
    return v.rank > axis && v.sizes[axis] > 1 ? (uint32_t)kiln_view_stride(v, axis) : 0;
}

static int64_t stride(kiln_view v, uint32_t axis)
{
    return is_there(v) ? kiln_view_stride(v, axis) : 0;
}

ends_steps matmul_ends_steps(const job *j, const matmul_ends *e, uint64_t out_stride)
{
    return (ends_steps){.out = (uint32_t)out_stride,
                        .residual = {stride(e->residual, 0), stride(e->residual, 1)},
                        .pre = {stride(e->pre, 0), stride(e->pre, 1)},
                        .a_row = step(e->a_scale, 0),
                        .a_k = step(e->a_scale, 1),
                        .b_column = step(e->b_scale, e->b_scale.rank == 2),
                        .b_k = e->is_blocked ? step(e->b_scale, 0) : 0,
                        .b_group =
                            e->group_ends.buffer && e->b_scale.rank == 2 ? step(e->b_scale, 0) : 0,
                        .bias = (uint32_t)j->bias.steps[0]};
}

void matmul_set_ends(const job *j, const matmul_ends *e, op_request *r)
{
    op_set(r, TYPE, j->type);
    op_set(r, OUT, j->result);
    op_set(r, EPILOGUE, j->desc->epilogue);
    op_set(r, SCALED_A, is_there(e->a_scale) && !e->is_blocked);
    op_set(r, SCALED_B, is_there(e->b_scale) && !e->is_blocked);
    op_set(r, BLOCKED, e->is_blocked);
    op_set(r, RESIDUAL, is_there(e->residual));
    op_set(r, PRE, is_there(e->pre));
}

size_t matmul_ends_args(const job *j, const matmul_ends *e, kiln_arg *args, size_t count)
{
    const kiln_view *const views[] = {&e->a_scale, &e->b_scale, &e->residual, &e->pre};
    if (j->desc->epilogue != KILN_EPILOGUE_NONE)
        args[count++] = matmul_arg(&j->bias, 0);
    for (size_t n = 0; n < COUNT(views); n++)
        if (is_there(*views[n]))
            args[count++] = kiln_arg_view(*views[n]);
    return count;
}

// --- the form
// Cycles of a multiprocessor, as in host_tile.c: a stage of a tile multiplies or loads; then the
// tile is stored.
static uint64_t cost_of(const job *j, const matmul_ends *e, form f)
{
    enum { LOADED_PER_CYCLE = 45, START_CYCLES = 2500, STORED_AT_ONCE = 12 };
    uint64_t m = 64 * f.warpgroups, sms = j->k->caps.is_emulated ? 132 : j->device->multiprocessors;
    uint64_t groups = is_there(e->group_ends) ? e->group_ends.sizes[0] : 1;
    uint64_t tiles =
        (j->m / m + (groups > 1 ? groups : (uint32_t)(j->m % m != 0))) * ceil_div(j->n, f.n);
    uint64_t multiplied = m * f.n / 32, loaded = (m + f.n) * 128 / LOADED_PER_CYCLE;
    uint64_t stage = multiplied > loaded ? multiplied : loaded, stored = m * f.n / STORED_AT_ONCE;
    uint64_t waves = (tiles + sms - 1) / sms;
    return START_CYCLES + waves * (ceil_div(j->depth, 128 / j->bytes) * stage + stored);
}

static bool is_possible(const job *j, const matmul_ends *e, form f)
{
    const kiln_matmul_desc *d = j->desc;
    bool is_asked =
        !d->tile_m && !d->tile_n ? true : d->tile_m == 64 * f.warpgroups && d->tile_n == f.n;
    return is_asked && (!e->is_blocked || f.n <= 128);
}

static form best_form(const job *j, const matmul_ends *e, uint64_t *least)
{
    form best = {0, 0};
    *least = UINT64_MAX;
    for (size_t n = 0; n < COUNT(forms); n++) {
        uint64_t cost = is_possible(j, e, forms[n]) ? cost_of(j, e, forms[n]) : UINT64_MAX;
        if (cost < *least) {
            *least = cost;
            best = forms[n];
        }
    }
    return best;
}

uint64_t matmul_scaled_cost(const job *j, const matmul_ends *e)
{
    uint64_t cost;
    best_form(j, e, &cost);
    return cost;
}

const char *matmul_scaled_obstacle(const job *j, const matmul_ends *e)
{
    uint64_t cost;
    if (!j->k->caps.has_wgmma)
        return "the device is not sm_90a";
    if (!j->k->caps.has_tensor_copies)
        return "the device has no tensor maps";
    if (j->type == F32)
        return "f32 without is_tf32 has no matrix unit";
    if (matmul_is_scattered(j) || (j->n > 1 && j->out.steps[1] != 1) || j->out.stride > UINT32_MAX)
        return matmul_not_contiguous;
    if (j->bytes != 2 && (j->a.is_transposed || !j->b.is_transposed))
        return matmul_across_rows;
    if (!j->depth)
        return "k is 0";
    if (matmul_copies(j))
        return "a row of an operand does not start at a multiple of 16 bytes";
    if ((j->a.rows > 1 && j->a.stride < (j->a.is_transposed ? j->m : j->depth)) ||
        (j->b.rows > 1 && j->b.stride < (j->b.is_transposed ? j->depth : j->n)))
        return "the rows of an operand overlap";
    if (!best_form(j, e, &cost).n)
        return "it has no such tile";
    return NULL;
}

// --- the launch
typedef struct schedule { // as scaled_sm90.c has it
    uint32_t rows, columns, steps, groups;
    ends_steps at;
} schedule;

static kiln_tensor_map_desc map_of_groups(const job *j, const side *s, uint32_t n, uint64_t groups)
{
    kiln_tensor_map_desc of = matmul_operand_map(j, s, 0, n, 1);
    of.rank = 3;
    of.size[2] = groups;
    of.stride_bytes[2] = groups > 1 ? s->in->next * j->bytes : of.stride_bytes[1] * of.size[1];
    of.box[2] = 1;
    return of;
}

kiln_status matmul_run_scaled(const job *j, const matmul_ends *e)
{
    uint64_t cost, groups = is_there(e->group_ends) ? e->group_ends.sizes[0] : 1;
    form f = best_form(j, e, &cost);
    const op_kernel *kernel;
    op_request r = {.program = &scaled_sm90};
    side s[2];
    matmul_sides(j, false, s);
    matmul_set_ends(j, e, &r);
    op_set(&r, A_MN, s[LEFT].is_mn);
    op_set(&r, B_MN, s[RIGHT].is_mn);
    op_set(&r, WGS, f.warpgroups);
    op_set(&r, BN, f.n);
    op_set(&r, LOOSE, j->is_loose);
    op_set(&r, GROUPED, is_there(e->group_ends));
    kiln_status status = op_kernel_get(j->k, &r, &kernel);
    kiln_tensor_map maps[2];
    const kiln_tensor_map_desc of[2] = {matmul_operand_map(j, &s[LEFT], 0, 64 * f.warpgroups, 1),
                                        map_of_groups(j, &s[RIGHT], f.n, groups)};
    for (size_t n = 0; n < COUNT(maps) && !status; n++)
        status = kiln_tensor_map_make(j->k, &of[n], &maps[n]);
    uint64_t tiles = (j->m / (64 * f.warpgroups) + groups) * ceil_div(j->n, f.n);
    if (!status && tiles > INT32_MAX)
        return matmul_too_many_tiles(j, tiles);
    if (status)
        return status;
    const schedule w = {.rows = j->m,
                        .columns = j->n,
                        .steps = ceil_div(j->depth, 128 / j->bytes),
                        .groups = (uint32_t)groups,
                        .at = matmul_ends_steps(j, e, j->out.stride)};
    kiln_arg args[10] = {kiln_arg_struct(&maps[0], sizeof maps[0]),
                         kiln_arg_struct(&maps[1], sizeof maps[1]), matmul_arg(&j->out, 0)};
    size_t count = matmul_ends_args(j, e, args, 3);
    if (is_there(e->group_ends))
        args[count++] = kiln_arg_view(e->group_ends);
    args[count++] = kiln_arg_struct(&w, sizeof w);
    uint64_t resident = kernel->resident ? kernel->resident : 1;
    return kiln_launch(
        kernel->kernel,
        &(kiln_launch_desc){.grid = {(uint32_t)(tiles < resident ? tiles : resident)},
                            .shared_bytes = kernel->shared_bytes,
                            .args = args,
                            .arg_count = count,
                            .stream = j->desc->stream,
                            .overlaps_previous = !j->desc->waits_for_previous});
}
