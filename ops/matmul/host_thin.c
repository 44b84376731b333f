// Products with few rows or few columns, by gemm_thin.c: the other operand passes by once, however
// its rows lie. Start reading at matmul_run_thin, the last function.
#include "ops/matmul/host_matmul.h"

static const op_program gemm_thin = MATMUL_PROGRAM("ops/matmul/gemm_thin.c");

enum {
    ROWS = 64,        // of a warp
    MOST_SHARED = 8,  // warps that share a sum
    LINE = 64,        // bytes of a chunk along K
    MOST_FEW = 32,    // of the few that a block takes
    MOST_TILES = 4,   // of the few, where the choice is free
    MOST_PARTS = 128, // of K
    // The model, as in host_tile.c: cycles of a multiprocessor.
    WARPS_AT_ONCE = 8,
    GATHER_CYCLES = 90, // of a warp's step for eight of the few that are contiguous across K
    STORE_CYCLES = 175  // of a number of a thread's
};

enum {
    ALIGNED,
    SHIFTED,
    WORDS
}; // pieces of 16 bytes that lie at such, anywhere; 4 bytes, anywhere

typedef struct way {
    uint32_t fews, kwarps, parts; // fews: of a block
    bool is_swapped;              // few rows
} way;

static uint32_t warps_of(const way *w) // of a block, as gemm_thin.c has it
{
    return w->kwarps == 8 ? 8 : 4;
}

static uint32_t rows_of(const way *w) // of a block
{
    return warps_of(w) / w->kwarps * ROWS;
}

// Do all pieces of 16 bytes begin at multiples of that, and end inside their row?
static bool is_aligned(const job *j)
{
    uint32_t step = 16 / j->bytes;
    bool is_along_k = !j->a.is_transposed || j->b.is_transposed;
    return (!is_along_k || j->depth % step == 0) && matmul_is_aligned(j, &j->a, j->bytes) &&
           matmul_is_aligned(j, &j->b, j->bytes) && (!j->a.is_transposed || j->m % step == 0) &&
           (j->b.is_transposed || j->n % step == 0);
}

static uint64_t blocks_of(const job *j, const way *w)
{
    return (uint64_t)ceil_div(many_of(j, w->is_swapped), rows_of(w)) *
           ceil_div(few_of(j, w->is_swapped), w->fews);
}

// Cycles of a step, all multiprocessors loading, of a block's start with a warp's first step, and
// of each of its further steps, for which memory answers: for many that are contiguous along K,
// across K. `more`: of the start, for every eight of the few behind the first. Fitted to times of
// an H200 (random shapes, and forms of some of them).
static const struct form {
    uint32_t step[2], start[2], answer[2], more[2];
} forms[] = {[ALIGNED] = {{200, 255}, {5800, 6100}, {1800, 2100}, {0, 0}},
             [SHIFTED] = {{570, 400}, {3200, 4050}, {3900, 4600}, {670, 1250}},
             [WORDS] = {{360, 360}, {2500, 2500}, {2900, 2900}, {0, 0}}};

static uint64_t cost_of(const job *j, const way *w)
{
    uint64_t sms = j->device->multiprocessors, blocks = blocks_of(j, w) * w->parts * j->batch;
    uint64_t at_once = sms * (WARPS_AT_ONCE / warps_of(w));
    uint64_t rounds = (blocks + at_once - 1) / at_once;
    uint32_t chunks = ceil_div(j->depth, LINE / j->bytes),
             own = ceil_div(chunks, w->kwarps * w->parts);
    bool many_is_mn = w->is_swapped ? !j->b.is_transposed : j->a.is_transposed;
    bool few_is_mn = w->is_swapped ? j->a.is_transposed : !j->b.is_transposed;
    // Where the few are several tiles, all but the first find the many in the cache: half a step.
    uint64_t tiles = ceil_div(few_of(j, w->is_swapped), w->fews);
    uint64_t steps = (uint64_t)ceil_div(many_of(j, w->is_swapped), ROWS) * chunks * j->batch *
                     (j->bytes == 4 ? 2 * tiles : tiles + 1) / 2;
    const struct form *f = &forms[is_aligned(j) ? ALIGNED : j->bytes == 4 ? WORDS : SHIFTED];
    uint64_t gather = few_is_mn ? w->fews / 8 * GATHER_CYCLES : 0;
    uint64_t start = f->start[many_is_mn] + (w->fews / 8 - 1) * f->more[many_is_mn];
    uint64_t load = (steps + sms - 1) / sms * f->step[many_is_mn],
             wait = rounds * (own - 1) * (f->answer[many_is_mn] + gather);
    uint64_t out = rows_of(w) * w->fews / (warps_of(w) * 32) * STORE_CYCLES;
    uint64_t cost = rounds * (start + gather + out) + (load > wait ? load : wait);
    if (w->parts > 1) // takes longer than all of this says
        cost += cost / 6;
    return cost + matmul_add_cost(j, w->parts);
}

// The fewest cycles of all ways to share K among warps and parts, or the form that is asked for.
static way pick(const job *j, uint64_t *least)
{
    const kiln_matmul_desc *d = j->desc;
    uint32_t chunks = ceil_div(j->depth, LINE / j->bytes);
    way w = {.is_swapped = d->tile_m ? d->sm90.is_swapped : j->m <= j->n}, best = w;
    uint32_t few = few_of(j, w.is_swapped), tiles = ceil_div(few, MOST_FEW);
    w.fews = (ceil_div(few, tiles) + 7) / 8 * 8;
    *least = UINT64_MAX;
    if (d->tile_m)
        return (way){d->tile_n, d->sm90.split_k, d->sm90.parts ? d->sm90.parts : 1,
                     d->sm90.is_swapped};
    for (w.kwarps = MOST_SHARED; w.kwarps; w.kwarps /= 2)
        for (w.parts = 1; w.parts <= MOST_PARTS && (w.parts == 1 || w.parts * w.kwarps <= chunks);
             w.parts *= 2) {
            uint64_t cost = cost_of(j, &w);
            if (cost < *least) {
                *least = cost;
                best = w;
            }
            if (j->batch > 1)
                break;
        }
    return best;
}

const char *matmul_thin_obstacle(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    const char *obstacle = matmul_mma_obstacle(j);
    uint32_t rows = d->tile_m, parts = d->sm90.parts, shared = d->sm90.split_k;
    way asked = {.kwarps = shared};
    if (obstacle)
        return obstacle;
    if ((rows || d->tile_n) &&
        ((shared != 1 && shared != 2 && shared != 4 && shared != 8) || rows != rows_of(&asked) ||
         !d->tile_n || d->tile_n % 8 || d->tile_n > MOST_FEW ||
         parts > ceil_div(j->depth, LINE / j->bytes) || (parts > 1 && j->batch > 1)))
        return "it has no such tile";
    return NULL;
}

uint64_t matmul_thin_cost(const job *j)
{
    uint64_t cost;
    pick(j, &cost);
    return cost;
}

bool matmul_is_thin(const job *j)
{
    const kiln_matmul_desc *d = j->desc;
    uint32_t few = j->m < j->n ? j->m : j->n;
    if (d->tile_m || d->tile_n || few > MOST_FEW * MOST_TILES || matmul_thin_obstacle(j))
        return false;
    if (matmul_sm90_obstacle(j))
        return few <= MOST_FEW && !is_aligned(j);
    uint64_t cost = matmul_thin_cost(j), sm90 = matmul_sm90_cost(j);
    uint64_t loose = matmul_loose_cost(j); // its model is too kind to parts of K
    return cost < sm90 && cost - cost / 4 < loose;
}

static kiln_status multiply(const job *j, const void *of)
{
    const way *w = of;
    op_request r = {.program = &gemm_thin};
    matmul_set_types(j, j->a.is_transposed, !j->b.is_transposed, &r);
    op_set(&r, BN, w->fews);
    op_set(&r, KWARPS, w->kwarps);
    op_set(&r, ALIGNED, is_aligned(j));
    op_set(&r, SWAP, w->is_swapped);
    op_set(&r, PARTS, w->parts > 1);
    return matmul_launch_tiles(j, &r, blocks_of(j, w), w->parts, matmul_overlaps(j));
}

kiln_status matmul_run_thin(const job *j)
{
    uint64_t cost;
    way w = pick(j, &cost);
    if (j->list) {
        j->list->at = AT_THIN;
        j->list->count = 1;
        j->list->all[0] =
            (matmul_choice){rows_of(&w),
                            w.fews,
                            {.is_swapped = w.is_swapped, .split_k = w.kwarps, .parts = w.parts}};
        return KILN_OK;
    }
    return matmul_run_parts(j, NULL, w.parts, multiply, &w);
}
