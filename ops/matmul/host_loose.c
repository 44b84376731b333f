// Products for which gemm_portable.c is faster than gemm_sm90.c, on sm_90 and later: those of small
// operands whose rows do not begin at multiples of 16 bytes, which it reads as they lie. K is cut
// into parts until the device is busy. Start reading at matmul_run_loose, the last function.
#include "ops/matmul/host_matmul.h"

static const op_program gemm_portable = MATMUL_PROGRAM("ops/matmul/gemm_portable.c");

enum {
    LINE = 128,       // bytes of a tile along K
    THREADS = 128,    // of a block
    MOST_PARTS = 128, // of K
    // The model, as in host_tile.c: cycles of a multiprocessor.
    START_CYCLES = 10000,    // of a block, with its first step and its stores;
    BESIDE_CYCLES = 5000,    // of each block of a multiprocessor, if that is more
    ROUND_CYCLES = 20000,    // the same where blocks follow each other
    STEP_CYCLES = 9000,      // of each step along K after it: memory answers twice
    PRODUCTS_PER_CYCLE = 5,  // of a step, of all blocks of a multiprocessor: m * n of them
    BYTES_PER_CYCLE = 9,     // that these read
    MOST_BLOCKS = 5,         // of a multiprocessor
    STORED_PER_CYCLE = 1400, // bytes of a result that the device stores in pieces of 16 bytes
    SINGLES_PER_CYCLE = 600  // and number by number
};

typedef struct way {
    uint32_t m, n, warps_m, warps_n;
    uint32_t parts;
} way;

static const way ways[] = {{16, 64, 1, 4, 1},  {16, 128, 1, 4, 1}, {64, 16, 4, 1, 1},
                           {128, 16, 4, 1, 1}, {64, 64, 2, 2, 1},  {64, 128, 2, 2, 1},
                           {64, 256, 2, 4, 1}, {128, 128, 2, 2, 1}};
enum { CHOSEN = 6 }; // the first; the others are never faster, and only taken if asked for

// Do results leave row by row, in pieces of 16 bytes?
static bool is_staged(const job *j, const way *w)
{
    return j->out_bytes == 2 && w->parts == 1 && w->n >= 64;
}

// Bytes of a tile along K. Every thread loads a piece of 16 bytes of both operands, at least.
static uint32_t line_of(const job *j, const way *w)
{
    uint32_t threads = w->warps_m * w->warps_n * 32, few = w->m < w->n ? w->m : w->n;
    bool is_half = j->depth * j->bytes <= LINE / 2 && few * (LINE / 2 / 16) >= threads;
    return is_half ? LINE / 2 : LINE;
}

static uint64_t cost_of(const job *j, const way *w, uint32_t steps)
{
    uint64_t sms = j->device->multiprocessors, own = ceil_div(steps, w->parts);
    uint64_t blocks = (uint64_t)ceil_div(j->m, w->m) * ceil_div(j->n, w->n) * w->parts * j->batch;
    uint64_t rounds = (blocks + sms * MOST_BLOCKS - 1) / (sms * MOST_BLOCKS);
    uint64_t beside = rounds > 1 ? MOST_BLOCKS : (blocks + sms - 1) / sms;
    uint64_t multiply = beside * w->m * w->n / PRODUCTS_PER_CYCLE,
             load = beside * (w->m + w->n) * LINE / BYTES_PER_CYCLE, step = STEP_CYCLES;
    step = multiply > step ? multiply : step;
    step = load > step ? load : step;
    uint64_t start = rounds > 1                              ? ROUND_CYCLES
                     : beside * BESIDE_CYCLES > START_CYCLES ? beside * BESIDE_CYCLES
                                                             : START_CYCLES;
    uint64_t cost = rounds * (start + (own - 1) * step);
    uint64_t least = matmul_least_cycles(j, is_staged(j, w) ? STORED_PER_CYCLE : SINGLES_PER_CYCLE);
    least *= j->batch;
    cost = cost > least ? cost : least;
    if (w->parts > 1) // takes longer than all of this says
        cost += cost / 3;
    return cost + matmul_add_cost(j, w->parts);
}

static way pick(const job *j, uint64_t *least)
{
    uint32_t steps = ceil_div(j->depth, LINE / j->bytes);
    const kiln_matmul_desc *d = j->desc;
    way best = ways[0];
    *least = UINT64_MAX;
    for (size_t n = 0; n < COUNT(ways) && d->tile_m; n++)
        if (ways[n].m == d->tile_m && ways[n].n == d->tile_n) {
            best = ways[n];
            best.parts = d->sm90.parts ? d->sm90.parts : 1;
            return best;
        }
    for (size_t n = 0; n < CHOSEN; n++)
        for (uint32_t parts = 1; parts <= MOST_PARTS && (parts == 1 || parts * 2 <= steps);
             parts *= 2) {
            way w = ways[n];
            w.parts = parts;
            uint64_t cost = cost_of(j, &w, steps);
            if (cost < *least) {
                *least = cost;
                best = w;
            }
            if (j->batch > 1)
                break;
        }
    return best;
}

static bool is_possible(const job *j)
{
    const kiln_caps *caps = &j->k->caps;
    return j->bytes == 2 && j->depth && caps->has_nv && (!caps->sm || caps->sm >= 90) &&
           !matmul_is_scattered(j);
}

bool matmul_is_loose_tile(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    uint32_t parts = d->sm90.parts;
    bool is_listed = false;
    for (size_t n = 0; n < COUNT(ways); n++)
        is_listed |= ways[n].m == d->tile_m && ways[n].n == d->tile_n;
    return is_listed && (parts || d->tile_m == 16 || d->tile_n == 16) && is_possible(j) &&
           parts <= ceil_div(j->depth, LINE / j->bytes) && (parts <= 1 || j->batch == 1);
}

uint64_t matmul_loose_cost(const job *j)
{
    uint64_t own;
    if (!matmul_copies(j) || !is_possible(j))
        return UINT64_MAX;
    pick(j, &own);
    return own;
}

bool matmul_is_loose(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    if (!matmul_copies(j) || d->tile_m || d->tile_n || matmul_sm90_obstacle(j))
        return false;
    uint64_t own = matmul_loose_cost(j);
    bool is_few = j->m <= MATMUL_FEW || j->n <= MATMUL_FEW; // it takes longer than its model says
    return own + (is_few ? own / 8 : 0) < matmul_sm90_cost(j);
}

static kiln_status multiply(const job *j, const void *of)
{
    const way *w = of;
    op_request r = {.program = &gemm_portable};
    matmul_set_types(j, j->a.is_transposed, !j->b.is_transposed, &r);
    op_set(&r, BM, w->m);
    op_set(&r, BN, w->n);
    op_set(&r, WARPS_M, w->warps_m);
    op_set(&r, WARPS_N, w->warps_n);
    op_set(&r, LINE, line_of(j, w));
    op_set(&r, STAGED, is_staged(j, w));
    op_set(&r, ALIGNED, 2);
    op_set(&r, WHOLE, false);
    op_set(&r, PARTS, w->parts > 1);
    op_set(&r, PAIRS, matmul_has_pairs(j));
    uint64_t tiles = (uint64_t)ceil_div(j->m, w->m) * ceil_div(j->n, w->n);
    return matmul_launch_tiles(j, &r, tiles, w->parts, !j->desc->waits_for_previous);
}

kiln_status matmul_run_loose(const job *j)
{
    uint64_t cost;
    way w = pick(j, &cost);
    if (j->list) {
        j->list->at = AT_PORTABLE;
        j->list->count = 1;
        j->list->all[0] = (matmul_choice){w.m, w.n, {.parts = w.parts}};
        return KILN_OK;
    }
    return matmul_run_parts(j, NULL, w.parts, multiply, &w);
}
