// Products with few rows or few columns, by gemm_stream.c: the other operand passes by once,
// through shared memory. Start reading at matmul_run_stream, the last function.
#include "ops/matmul/host_matmul.h"

static const op_program gemm_stream = MATMUL_PROGRAM("ops/matmul/gemm_stream.c");

enum {
    LINE = 128,  // bytes of a stage along K
    PITCH = 144, // … of a line in shared memory
    STAGES = 4,
    LEAST_STAGES = 2,
    LEAST_MANY = 128, // of a block
    MOST_MANY = 256,
    MOST_FEW = 64,   // of the few that a block takes
    MOST_TILES = 2,  // of the few, where the choice is free
    MOST_PARTS = 64, // of K
    // The model, as in host_tile.c: cycles of a multiprocessor. Fitted to 190 times of an H200.
    CACHE_PER_CYCLE = 2600,  // bytes that the cache gives to the whole device
    STORED_PER_CYCLE = 1230, // … and that it stores
    FEW_CYCLES = 635,        // of a stage of 64 of the few, more than `stage` of the next
    COPY_CYCLES = 3500,      // of a copy of the few,
    COPIED_PER_CYCLE = 1000, // bytes of it
    SHARED = 228 << 10,      // bytes of a multiprocessor
    REGISTERS = 65536,
    THREAD_REGISTERS = 255
};

// Operands that begin anywhere, or at multiples of 16 bytes; numbers of 32 bits that begin
// anywhere.
enum { ANYWHERE, EVEN, SINGLES };
static const struct rate {
    uint32_t start;  // of a block, until its first stage has come, and of its stores
    uint32_t stage;  // of a stage, if a multiprocessor has one block
    uint32_t warp;   // … or of each warp of all its blocks,
    uint32_t few;    // and for 64 of the few
    uint32_t memory; // bytes that it gives to the whole device in a cycle
} rates[] = {
    {6560, 2490, 163, 353, 1500}, {3470, 1040, 48, 282, 1700}, {3800, 1300, 75, 282, 1600}};

typedef struct way {
    uint32_t many, fews, stages, parts; // of a block
    bool is_swapped;                    // few rows
} way;

static bool is_across(const job *j, const matrix *x) // contiguous across K
{
    return x == &j->a ? x->is_transposed : !x->is_transposed;
}

static const matrix *long_of(const job *j, bool is_swapped)
{
    return is_swapped ? &j->b : &j->a;
}

// Do all granules of 16 bytes begin at multiples of that, and along K end inside their row?
static bool is_even(const job *j, const matrix *x)
{
    return matmul_is_aligned(j, x, j->bytes) &&
           (is_across(j, x) || j->depth % (16 / j->bytes) == 0);
}

// The few are copied first where they are contiguous across K and begin anywhere.
static const matrix *copied_of(const job *j, bool is_swapped)
{
    const matrix *few = is_swapped ? &j->a : &j->b;
    return is_across(j, few) && !is_even(j, few) ? few : NULL;
}

static uint64_t blocks_of(const job *j, const way *w)
{
    return (uint64_t)ceil_div(many_of(j, w->is_swapped), w->many) *
           ceil_div(few_of(j, w->is_swapped), w->fews);
}

// Do the granules need no shift?
static bool has_granules(const job *j, bool is_swapped)
{
    const matrix *many = long_of(j, is_swapped), *few = long_of(j, !is_swapped);
    return is_even(j, many) && (is_across(j, few) || is_even(j, few));
}

// Blocks that fit a multiprocessor.
static uint32_t fit_of(const way *w)
{
    uint32_t memory = SHARED / (w->stages * (w->many + w->fews) * PITCH + 1024),
             threads = REGISTERS / THREAD_REGISTERS / w->many;
    uint32_t fit = memory < threads ? memory : threads;
    return fit ? fit : 1;
}

static uint64_t cost_of(const job *j, const way *w)
{
    uint64_t sms = j->device->multiprocessors, blocks = blocks_of(j, w) * w->parts * j->batch;
    uint64_t few = few_of(j, w->is_swapped), many = many_of(j, w->is_swapped);
    uint32_t steps = ceil_div(ceil_div(j->depth * j->bytes, LINE), w->parts), warps = w->many / 32;
    const struct rate *r = &rates[has_granules(j, w->is_swapped) ? EVEN
                                  : j->bytes == 4                ? SINGLES
                                                                 : ANYWHERE];
    uint64_t room = sms * fit_of(w), rounds = (blocks + room - 1) / room;
    uint64_t beside = rounds > 1 ? fit_of(w) : (blocks + sms - 1) / sms;
    uint64_t warp = j->bytes == 4 ? r->warp * 4 / 3 : r->warp,
             work = beside * warps * (warp + r->few * w->fews / 64),
             wait = r->stage + FEW_CYCLES * w->fews / 64;
    uint64_t bytes = (uint64_t)j->depth * j->bytes * j->batch;
    uint64_t cached = bytes *
                      (many * ceil_div((uint32_t)few, w->fews) +
                       few * ceil_div((uint32_t)many, w->many)) /
                      CACHE_PER_CYCLE,
             loaded = bytes * (many + few) / r->memory;
    uint64_t stored = many * few * j->batch * (w->parts > 1 ? 4 * w->parts : j->out_bytes);
    uint64_t cost = rounds * steps * (work > wait ? work : wait);
    cost = cost > cached ? cost : cached;
    cost = cost > loaded ? cost : loaded;
    cost += rounds * r->start + stored / STORED_PER_CYCLE;
    if (w->is_swapped && w->many == MOST_MANY) // more sums of a warp than it has registers for
        cost += cost / 16;
    if (copied_of(j, w->is_swapped))
        cost += COPY_CYCLES + bytes * few / COPIED_PER_CYCLE;
    return cost + matmul_add_cost(j, w->parts);
}

// The fewest cycles of all forms, or the form that is asked for.
static way pick(const job *j, uint64_t *least)
{
    const kiln_matmul_desc *d = j->desc;
    uint32_t steps = ceil_div(j->depth * j->bytes, LINE);
    way w = {.stages = STAGES, .is_swapped = j->m <= j->n}, best = w;
    uint32_t few = few_of(j, w.is_swapped), unit = w.is_swapped ? 16 : 8;
    w.fews = (ceil_div(few, ceil_div(few, MOST_FEW)) + unit - 1) / unit * unit;
    *least = UINT64_MAX;
    if (d->tile_m)
        return (way){d->tile_m, d->tile_n, d->sm90.stages, d->sm90.parts ? d->sm90.parts : 1,
                     d->sm90.is_swapped};
    // As many parts as make a block for every multiprocessor, two or four.
    for (w.many = MOST_MANY; w.many >= LEAST_MANY; w.many /= 2)
        for (uint32_t each = 0; each <= (j->batch == 1 ? 4 : 0); each = each ? each * 2 : 1) {
            uint64_t parts = each * j->device->multiprocessors / blocks_of(j, &w);
            uint32_t most = steps / 2 < MOST_PARTS ? steps / 2 : MOST_PARTS;
            w.parts = parts > most ? most : (uint32_t)parts;
            w.parts = w.parts ? w.parts : 1;
            uint64_t cost = cost_of(j, &w);
            if (cost < *least) {
                *least = cost;
                best = w;
            }
        }
    return best;
}

static const char *obstacle_of(const job *j, const way *w)
{
    const char *obstacle = matmul_mma_obstacle(j);
    const matrix *many = long_of(j, w->is_swapped);
    uint32_t unit = w->is_swapped ? 16 : 8;
    if (obstacle)
        return obstacle;
    if ((is_across(j, many) && !is_even(j, many)) || (j->batch > 1 && copied_of(j, w->is_swapped)))
        return "a row of an operand does not start at a multiple of 16 bytes";
    if ((w->many != LEAST_MANY && w->many != MOST_MANY) || !w->fews || w->fews % unit ||
        w->fews > MOST_FEW || w->stages < LEAST_STAGES || w->stages > STAGES ||
        w->parts > ceil_div(j->depth * j->bytes, LINE) || (w->parts > 1 && j->batch > 1))
        return "it has no such tile";
    return NULL;
}

const char *matmul_stream_obstacle(const job *j)
{
    uint64_t cost;
    way w = pick(j, &cost);
    return obstacle_of(j, &w);
}

uint64_t matmul_stream_cost(const job *j)
{
    uint64_t cost;
    way w = pick(j, &cost);
    uint32_t few = few_of(j, w.is_swapped);
    return few > MOST_FEW * MOST_TILES || obstacle_of(j, &w) ? UINT64_MAX : cost;
}

bool matmul_is_stream(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    uint64_t cost = d->tile_m || d->tile_n ? UINT64_MAX : matmul_stream_cost(j);
    return cost < UINT64_MAX && (matmul_thin_obstacle(j) || cost < matmul_thin_cost(j)) &&
           cost < matmul_loose_cost(j) && (matmul_sm90_obstacle(j) || cost < matmul_sm90_cost(j));
}

static kiln_status multiply(const job *j, const void *of)
{
    const way *w = of;
    op_request r = {.program = &gemm_stream};
    matmul_set_types(j, j->a.is_transposed, !j->b.is_transposed, &r);
    op_set(&r, BM, w->many);
    op_set(&r, BN, w->fews);
    op_set(&r, STAGES, w->stages);
    op_set(&r, ALIGNED, has_granules(j, w->is_swapped));
    op_set(&r, SWAP, w->is_swapped);
    op_set(&r, PARTS, w->parts > 1);
    op_set(&r, PAIRS, matmul_has_pairs(j));
    return matmul_launch_tiles(j, &r, blocks_of(j, w), w->parts, matmul_overlaps(j));
}

kiln_status matmul_run_stream(const job *j)
{
    uint64_t cost;
    way w = pick(j, &cost);
    if (j->list) {
        j->list->at = AT_THIN;
        j->list->count = 1;
        j->list->all[0] = (matmul_choice){
            w.many, w.fews, {.is_swapped = w.is_swapped, .stages = w.stages, .parts = w.parts}};
        return KILN_OK;
    }
    return matmul_run_parts(j, copied_of(j, w.is_swapped), w.parts, multiply, &w);
}
