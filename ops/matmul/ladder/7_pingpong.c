// Rung 7 of the ladder: ping-pong. A block stays on its multiprocessor and computes one tile after
// the other. Each of its two consumer warpgroups has a tile of its own: while one rounds and stores
// its results, the other has the tensor cores.
// Any m; n and k are multiples of 8. Runs on sm_90a and on interp.
#include <kiln/tile.h>

enum { BM = 128, BN = 192, BK = 64, STAGES = 4, CONSUMERS = 2, STORE_ROWS = 16, STORE_COLUMNS = 64 };
enum { PERSISTENT = 1, GROUP = 16 }; // one block a multiprocessor; rows of tiles that go together

tile_type(a_tile, bf16, BM, BK, 128);
tile_type(b_tile, bf16, BN, BK, 128);
tile_type(slab, bf16, STORE_ROWS, STORE_COLUMNS, 128); // results of a warp, on their way to memory
typedef struct stage {
    a_tile a;
    b_tile b;
} stage;
ring_type(stage_ring, STAGES);
typedef struct layout {
    stage stages[STAGES];
    slab slabs[CONSUMERS * 4][2];
    stage_ring ring;
    mbarrier turn[CONSUMERS]; // turn[g]: warpgroup g may multiply
} layout;

_Alignas(1024) shared layout smem[];
enum { SHARED_BYTES = sizeof(layout) };

typedef struct work {
    u32 tile_rows, tile_columns, steps;
} work;

// The row and column of a tile. Groups of rows of tiles, column by column inside a group: the blocks
// that run at the same time share operands, which are then in the L2 cache.
static u32x2 tile_at(u32 t, work w)
{
    u32 width = GROUP * w.tile_columns, first = t / width * GROUP;
    u32 height = min(w.tile_rows - first, (u32)GROUP), rest = t % width;
    return (u32x2){(first + rest % height) * BM, rest / height * BN};
}

static void produce(const tensor_map *a, const tensor_map *b, work w)
{
    u32 n = 0; // steps of all tiles so far
    for (u32 t = block_x(); t < w.tile_rows * w.tile_columns; t += grid_dim_x()) {
        u32x2 at = tile_at(t, w);
        for (u32 step = 0; step < w.steps; step++, n++) {
            ring_slot slot = ring_at(&smem->ring, n, RING_PRODUCER);
            stage *to = &smem->stages[slot.stage];
            ring_acquire(&smem->ring, slot, sizeof(stage));
            tile_load(&to->a, a, step * BK, at.x, ring_full(&smem->ring, slot));
            tile_load(&to->b, b, step * BK, at.y, ring_full(&smem->ring, slot));
        }
    }
}

typedef f32 accumulators[BM / 64][BN / 2];

// Steps n to n + steps of the ring. The other warpgroup gets its turn when the last stage of this
// tile has arrived: it waits for later ones.
static void multiply(accumulators *acc, u32 n, u32 steps, u32 group)
{
    for (u32 step = 0; step < steps; step++) {
        stage *s = &smem->stages[(n + step) % STAGES];
        ring_wait_step(&smem->ring, n + step);
        if (step == steps - 1 && thread_x() % 128 == 0)
            mbarrier_arrive(&smem->turn[group ^ 1]);
        wgmma_fence();
#pragma unroll
        for (u32 i = 0; i < BM / 64; i++)
            tile_mma(wgmma_bf16, (*acc)[i], tile_operand_block(&s->a, i), tile_operand(&s->b), 4, step != 0);
        wgmma_commit();
        wgmma_wait(1);
        if (step != 0)
            ring_release_step(&smem->ring, n + step - 1);
    }
    wgmma_wait(0);
    ring_release_step(&smem->ring, n + steps - 1);
}

// Block i of 64 rows through slabs, which a warp uses in turn, from tile to tile as well. The copy
// engine takes a slab to memory, and leaves out what is outside the result.
_Static_assert(BM / 64 * (BN / STORE_COLUMNS) % 2 == 0, "each tile begins with the first slab");
static void store(const tensor_map *c, const f32 (*acc)[BN / 2], u32 i, u32 row, u32 column)
{
#pragma unroll
    for (u32 x = 0; x < BN; x += STORE_COLUMNS) {
        slab *to = &smem->slabs[warp()][(i * BN + x) / STORE_COLUMNS % 2];
        if (lane() == 0)
            bulk_wait_read(1); // the slab's last results have left it
        warp_sync();
#pragma unroll
        for (u32 j = x; j < x + STORE_COLUMNS; j += 16) {
            u32 words[4];
#pragma unroll
            for (u32 h = 0; h < 4; h++)
                words[h] = pack_bf16((*acc)[j / 2 + h * 2], (*acc)[j / 2 + h * 2 + 1]);
            tile_put(to, 0, j - x, words);
        }
        fence_async();
        warp_sync();
        if (lane() == 0)
            tile_store(c, column + x, row + i * 64 + warp() % 4 * 16, to);
    }
}

static void consume(const tensor_map *c, work w, u32 group)
{
    u32 n = group * w.steps, phase = group ^ 1; // group 0 begins
    for (u32 t = block_x() + group * grid_dim_x(); t < w.tile_rows * w.tile_columns;
         t += CONSUMERS * grid_dim_x()) {
        u32x2 at = tile_at(t, w);
        accumulators acc;
        mbarrier_wait(&smem->turn[group], phase);
        phase ^= 1;
        multiply(&acc, n, w.steps, group);
        n += CONSUMERS * w.steps;
#pragma unroll
        for (u32 i = 0; i < BM / 64; i++)
            store(c, &acc[i], i, at.x, at.y);
    }
    bulk_wait(0);
}

// c: [m, n] = a: [m, k] times b: [n, k] transposed; the boxes: tiles of a and b, slabs of c
kernel block(128 * (CONSUMERS + 1)) void matmul(tensor_map a, tensor_map b, tensor_map c, u32 m, u32 n, u32 k)
{
    work w = {(m + BM - 1) / BM, (n + BN - 1) / BN, (k + BK - 1) / BK};
    u32 group = warp() / 4;
    if (thread_x() == 0) {
        ring_init(&smem->ring, 1); // a stage belongs to one warpgroup
        mbarrier_init(&smem->turn[0], 1);
        mbarrier_init(&smem->turn[1], 1);
        mbarrier_fence_init();
    }
    barrier();
    if (group < CONSUMERS) {
        registers_more(240);
        consume(&c, w, group);
    } else {
        registers_less(24);
        if (thread_x() == 128 * CONSUMERS)
            produce(&a, &b, w);
    }
}
