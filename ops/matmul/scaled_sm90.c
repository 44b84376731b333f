// C[M,N] = A * B for Hopper (sm_90a) where more happens than gemm_sm90.c does: factors of the sum,
// a residual, the numbers before the activation, groups of rows. Persistent blocks: a producer thread
// keeps a ring of stages filled through the copy engine, WGS warpgroups multiply 64 rows of a tile each
// and store them.
//
// -D TYPE_…, OUT_…, EPILOGUE_…, A_IS_MN, B_IS_MN as in gemm_sm90.c.
// -D SCALED_A, SCALED_B: the sum times a_scale of its row, times b_scale of its column.
// -D BLOCKED: both have a number for each 128 of K, b_scale for each 128 columns besides. A stage is
// 128 of K (numbers of 8 bits): its products are summed by themselves, scaled, and added in f32.
// -D HAS_RESIDUAL: added behind the activation. -D HAS_PRE: what the activation gets is stored, too.
// -D GROUPED: rows of A belong to groups, each with a B of its own (gemm_common.h has the same).
// Start reading at `consume`.
#include <kiln/tile.h>

tune(WGS, 2, 1);
tune(BN, 128, 64, 192, 256);
tune(MOST_STAGES, 8, 2, 3, 4, 5, 6, 7);
tune(GROUP, 8, 1, 16);
tune(IS_LOOSE, 0, 1); // rows of the result begin anywhere
enum { BM = 64 * WGS };

#include "gemm_types.h"
#include "gemm_ends.h"

typedef struct schedule {
    u32 rows, columns, steps; // steps: stages along K
    u32 groups;               // GROUPED
    ends_steps at;
} schedule;

// --- shared memory
enum { K_TILE = 128 / sizeof(in_t), SLAB_N = 128 / sizeof(out_t) };
tile_type(a_tile, in_t, A_IS_MN ? K_TILE : BM, A_IS_MN ? BM : K_TILE, 128);
tile_type(b_tile, in_t, B_IS_MN ? K_TILE : BN, B_IS_MN ? BN : K_TILE, 128);
tile_type(slab, out_t, 16, SLAB_N, 128); // results of a warp
typedef struct stage {
    a_tile a;
    b_tile b;
} stage;

enum {
    SHARED_LIMIT = 232448 - 1024,
    FIT = (SHARED_LIMIT - WGS * 4 * sizeof(slab)) / (sizeof(stage) + 16),
    STAGES = FIT < MOST_STAGES ? FIT : MOST_STAGES
};
ring_type(stage_ring, STAGES);
typedef struct layout {
    stage stages[STAGES];
    slab slabs[WGS * 4];
    stage_ring ring;
} layout;
_Alignas(1024) shared layout smem[];

enum { SHARED_BYTES = sizeof(layout), THREADS = 128 * WGS + 128 };
typedef acc_t accumulators[BN / 2];
#if defined(BLOCKED)
typedef f32 totals[BN / 2];
#else
typedef acc_t totals[BN / 2];
#endif

// --- which tile
typedef struct place {
    u32 row, column, end; // end: the row behind the last one of the result or of the group
    u32 group;
} place;

// Tiles come in rising order: the group of the one before is where the search goes on.
typedef struct cursor {
    u32 group, begin, first; // begin: the group's first row; first: its first tile
} cursor;

static bool place_of(u32 t, cursor *c, const i32 *group_ends, schedule w, place *out)
{
    u32 columns = (w.columns + BN - 1) / BN;
#if defined(GROUPED)
    for (; c->group < w.groups; c->group++) {
        u32 end = min((u32)max(group_ends[c->group], (i32)c->begin), w.rows), rows = (end - c->begin + BM - 1) / BM;
        if (t < c->first + rows * columns) {
            u32x2 at = tile_at(t - c->first, rows, columns);
            *out = (place){c->begin + at.x, at.y, end, c->group};
            return true;
        }
        c->first += rows * columns;
        c->begin = end;
    }
    return false;
#else
    u32 rows = (w.rows + BM - 1) / BM;
    u32x2 at = tile_at(t, rows, columns);
    *out = (place){at.x, at.y, w.rows, 0};
    return t < rows * columns;
#endif
}

// --- the producer
static void produce(const tensor_map *a, const tensor_map *b, const i32 *group_ends, schedule w)
{
    ring_slot slot = {0, 1};
    cursor c = {0, 0, 0};
    place p;
    for (u32 t = block_x(); place_of(t, &c, group_ends, w, &p); t += grid_dim_x())
        for (u32 step = 0; step < w.steps; step++) {
            stage *to = &smem->stages[slot.stage];
            u32 k = step * K_TILE;
            ring_acquire(&smem->ring, slot, sizeof(stage));
            tile_load(&to->a, a, A_IS_MN ? p.row : k, A_IS_MN ? k : p.row, ring_full(&smem->ring, slot));
            tile_load_3d(&to->b, b, B_IS_MN ? p.column : k, B_IS_MN ? k : p.column, p.group,
                         ring_full(&smem->ring, slot));
            slot = ring_next(&smem->ring, slot);
        }
}

// --- consumers
static void multiply_stage(accumulators *acc, mma_operand a, mma_operand b, bool adds)
{
    wgmma_fence();
#pragma unroll
    for (u32 k = 0; k < 4; k++)
        WGMMA(*acc, operand_at(a, 0, k), operand_at(b, 0, k), adds || k != 0);
    wgmma_commit();
}

#if defined(BLOCKED)
// The factors of a stage: those of the lane's two rows times that of the columns before and behind the
// end of a block of 128.
typedef struct factors {
    f32 before[2], behind[2];
} factors;

static factors load_factors(ends e, place p, u32 step, schedule w)
{
    factors f;
    u32 last = (w.columns - 1) / 128, at = p.column / 128, other = min(at + 1, last);
    const f32 *columns = e.b_scale + ((u64)step * w.at.b_k + (u64)p.group * w.at.b_group);
    f32 x = columns[(u64)at * w.at.b_column], y = BN > 128 ? columns[(u64)other * w.at.b_column] : x;
#pragma unroll
    for (u32 h = 0; h < 2; h++) {
        u32 row = min(p.row + warp() / 4 * 64 + acc_row(h * 2), w.rows - 1);
        f32 of_row = e.a_scale[(u64)row * w.at.a_row + (u64)step * w.at.a_k];
        f.before[h] = of_row * x;
        f.behind[h] = of_row * y;
    }
    return f;
}

static void add_scaled(totals *acc, const accumulators *part, factors f, u32 before)
{
#pragma unroll
    for (u32 i = 0; i < BN / 2; i++)
        (*acc)[i] = fma((f32)(*part)[i], i / 4 * 8 < before ? f.before[i / 2 % 2] : f.behind[i / 2 % 2], (*acc)[i]);
}

static ring_slot multiply_tile(totals *acc, mma_operand a, mma_operand b, ring_slot slot, ends e, place p, schedule w)
{
    u32 before = BN > 128 ? 128 - p.column % 128 : BN; // columns of the first block
#pragma unroll
    for (u32 i = 0; i < BN / 2; i++)
        (*acc)[i] = 0;
    for (u32 k = 0; k < w.steps; k++) {
        accumulators part;
        ring_wait_full(&smem->ring, slot);
        u32 offset = slot.stage * (u32)sizeof(stage);
        multiply_stage(&part, operand_move(a, offset), operand_move(b, offset), false);
        factors f = load_factors(e, p, k, w);
        wgmma_wait(0);
        ring_release_once(&smem->ring, slot);
        add_scaled(acc, &part, f, before);
        slot = ring_next(&smem->ring, slot);
    }
    return slot;
}
#else
static ring_slot multiply_tile(accumulators *acc, mma_operand a, mma_operand b, ring_slot slot, schedule w)
{
    ring_slot before = {0, 0}; // the stage that is still being read
    for (u32 k = 0; k < w.steps; k++) {
        ring_wait_full(&smem->ring, slot);
        u32 offset = slot.stage * (u32)sizeof(stage);
        multiply_stage(acc, operand_move(a, offset), operand_move(b, offset), k != 0);
        wgmma_wait(1);
        if (k != 0)
            ring_release_once(&smem->ring, before);
        before = slot;
        slot = ring_next(&smem->ring, slot);
    }
    wgmma_wait(0);
    ring_release_once(&smem->ring, before);
    return slot;
}
#endif

// What the lane's columns of a slab get, and the residual of its numbers. Loads have no branches between them: all
// are under way at the same time. Numbers outside of the result take those of the last column or row.
typedef struct slab_ends {
    f32 factor[SLAB_N / 4], bias[SLAB_N / 4];
    f32 residual[SLAB_N / 2];
} slab_ends;

static u32 slab_row(u32 i)
{
    return lane() / 4 + i / 2 % 2 * 8;
}

static void load_ends(slab_ends *s, ends e, place p, u32 first, schedule w)
{
#pragma unroll
    for (u32 i = 0; i < SLAB_N / 4; i++) {
        u32 column = min(first + i / 2 * 8 + lane() % 4 * 2 + i % 2, w.columns - 1);
        s->factor[i] = COLUMN_FACTOR(e, w.at, p.group, column);
        s->bias[i] = BIAS_OF(e, w.at, column);
    }
#pragma unroll
    for (u32 i = 0; i < SLAB_N / 2; i++)
        s->residual[i] =
            residual_at(e, w.at, min(p.row + slab_row(i), p.end - 1), min(first + acc_column(i), w.columns - 1));
}

// The 16 rows of a warp, a slab of 128 bytes a row at a time.
static void store_rows(totals *acc, out_t *out, ends e, place p, schedule w)
{
    slab *own = &smem->slabs[warp()];
    p.row += warp() / 4 * 64 + warp() % 4 * 16;
    if (p.row >= p.end)
        return;
    const f32 of_rows[2] = {ROW_FACTOR(e, w.at, min(p.row + slab_row(0), p.end - 1)),
                            ROW_FACTOR(e, w.at, min(p.row + slab_row(2), p.end - 1))};
#pragma unroll
    for (u32 n = 0; n < BN / SLAB_N; n++) {
        u32 first = p.column + n * SLAB_N;
        out_t values[SLAB_N / 2];
        if (first >= w.columns)
            break;
#if defined(OUT_s32)
#pragma unroll
        for (u32 i = 0; i < SLAB_N / 2; i++)
            values[i] = (*acc)[n * SLAB_N / 2 + i];
#else
        slab_ends s;
        load_ends(&s, e, p, first, w);
#pragma unroll
        for (u32 i = 0; i < SLAB_N / 2; i++) {
            u32 row = p.row + slab_row(i), column = first + acc_column(i), of = i / 4 * 2 + i % 2;
            f32 x = scaled((f32)(*acc)[n * SLAB_N / 2 + i], of_rows[i / 2 % 2], s.factor[of], s.bias[of]);
            if (row < p.end && column < w.columns)
                keep_pre(e, w.at, row, column, x);
            values[i] = TO_OUT(activated(x) + s.residual[i]);
        }
#endif
        warp_sync(); // all have read what the slab held
#if defined(PACK)
#pragma unroll
        for (u32 u = 0; u < 4; u++) {
            u32 words[4];
#pragma unroll
            for (u32 i = 0; i < 4; i++)
                words[i] = pair_bits(values[u * 8 + i * 2], values[u * 8 + i * 2 + 1]);
            tile_put(own, 0, u * 16, words);
        }
#else
        tile_put_32(own, values);
#endif
        warp_sync();
        tile_place to = {p.row, first, p.end, w.columns};
        if (IS_LOOSE)
            tile_copy_loose(own, 16, SLAB_N, out, w.at.out, to, 32);
        else
            tile_copy(own, 16, SLAB_N, out, w.at.out, to, 32);
    }
}

static void consume(out_t *out, ends e, const i32 *group_ends, schedule w)
{
    stage *s = &smem->stages[0];
    mma_operand a = A_IS_MN ? tile_operand_block_transposed(&s->a, warp() / 4) : tile_operand_block(&s->a, warp() / 4);
    mma_operand b = B_IS_MN ? tile_operand_transposed(&s->b) : tile_operand(&s->b);
    ring_slot slot = {0, 0};
    cursor c = {0, 0, 0};
    place p;
    for (u32 t = block_x(); place_of(t, &c, group_ends, w, &p); t += grid_dim_x()) {
        totals acc;
#if defined(BLOCKED)
        slot = multiply_tile(&acc, a, b, slot, e, p, w);
#else
        slot = multiply_tile(&acc, a, b, slot, w);
#endif
        store_rows(&acc, out, e, p, w);
    }
}

kernel block(THREADS) void gemm(tensor_map a, tensor_map b, out_t *out, ENDS_PARAMETERS
#if defined(GROUPED)
                                const i32 *group_ends,
#endif
                                schedule w)
{
    ends e;
    ENDS_GATHER(e);
#if !defined(GROUPED)
    const i32 *group_ends = (const i32 *)0;
#endif
    if (thread_x() == 0) {
        ring_init(&smem->ring, WGS);
        mbarrier_fence_init();
        tensor_map_prefetch(&a);
        tensor_map_prefetch(&b);
    }
    barrier();
    next_kernel_launch();
    previous_kernel_wait();
    if (warp() < WGS * 4) {
        registers_more(240);
        consume(out, e, group_ends, w);
    } else {
        registers_less(24);
        if (thread_x() == WGS * 128)
            produce(&a, &b, group_ends, w);
    }
}
