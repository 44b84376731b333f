// From views to packs and a launch (walk.h).
#include "ops/walk.h"

void op_walk_make(const kiln_view *views, uint32_t count, op_walk how, op_packs *out)
{
    op_nest nest;
    op_nest_make(views, count, &nest);
    nest.is_of_rows = true;
    nest.widest = how.widest ? how.widest : 16;
    nest.has_singles = how.single != 0;
    for (uint32_t v = 0; v < count; v++) {
        int64_t inner = nest.strides[v][nest.rank - 1];
        if ((how.dense >> v & 1 && inner != 1) || (how.single >> v & 1 && inner != 0))
            nest.widest = 1;
    }
    op_nest_pack(&nest, views, out);
}

uint32_t op_walk_divide(uint32_t width, const int64_t *strides, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        while ((uint64_t)strides[n] % width)
            width /= 2;
    return width;
}

kiln_arg op_walk_arg(const op_packs *packs)
{
    return kiln_arg_struct(&packs->argument, sizeof packs->argument);
}

uint32_t op_walk_per(const kiln *k, const op_packs *packs)
{
    enum { MANY = 1 << 20, PER = 4 };
    return packs->rank == 1 && packs->argument.packs >= MANY && !op_is_in_turn(k) ? PER : 1;
}

void op_walk_turn(op_packs *packs, bool is_possible, int64_t read, int64_t written, op_turns *out)
{
    enum { THREADS = 1 << 17, MOST = 16 };
    uint64_t *size = &packs->argument.sizes[0], each = packs->argument.packs / THREADS;
    *out = (op_turns){.count = *size};
    if (!is_possible || packs->rank < 2 || each < 2)
        return;
    packs->argument.packs /= *size;
    *size = op_ceil_div(*size, op_min(each, MOST));
    packs->argument.packs *= *size;
    out->steps[0] = read * (int64_t)*size;
    out->steps[1] = written * (int64_t)*size;
}

void op_walk_turn_even(kiln *k, const op_request *r, op_packs *packs, uint32_t most, int64_t read,
                       int64_t written, op_turns *out)
{
    enum { BEFORE = 1 };
    uint64_t size = packs->argument.sizes[0], inner = packs->argument.packs / size, best = 1;
    const op_kernel *kernel;
    if (k->caps.is_host || !k->ops->occupancy || packs->rank < 2 || op_kernel_get(k, r, &kernel)) {
        op_walk_turn(packs, true, read, written, out);
        return;
    }
    uint64_t room = (uint64_t)kernel->resident * WALK_THREADS, least = UINT64_MAX;
    for (uint64_t turns = 1; turns <= op_min(size, most); turns++) {
        uint64_t waves = op_ceil_div(inner * op_ceil_div(size, turns), room);
        uint64_t cost = waves * (turns + BEFORE);
        best = cost < least ? turns : best;
        least = op_min(cost, least);
    }
    *out = (op_turns){.count = size};
    if (best == 1)
        return;
    packs->argument.sizes[0] = op_ceil_div(size, best);
    packs->argument.packs = inner * packs->argument.sizes[0];
    out->steps[0] = read * (int64_t)packs->argument.sizes[0];
    out->steps[1] = written * (int64_t)packs->argument.sizes[0];
}

kiln_status op_walk_launch(kiln *k, const op_request *r, const op_packs *packs, uint32_t per,
                           const kiln_arg *args, size_t count, kiln_stream *stream)
{
    uint64_t each = (uint64_t)WALK_THREADS * per;
    return op_launch_blocks(k, r, op_ceil_div(packs->argument.packs, each), args, count, stream);
}
