// Rung 6 of the ladder: warp specialisation. One warpgroup only loads; it gives its registers to two
// warpgroups that only multiply. No multiplying warp waits for a copy to be started, and the block
// can have twice the results: 128 x 256.
// Any m; n and k are multiples of 8. Runs on sm_90a and on interp.
#include <kiln/tile.h>

enum { BM = 128, BN = 256, BK = 64, STAGES = 4, CONSUMERS = 2 };

tile_type(a_tile, bf16, BM, BK, 128);
tile_type(b_tile, bf16, BN, BK, 128);
typedef struct stage {
    a_tile a;
    b_tile b;
} stage;
ring_type(stage_ring, STAGES);
typedef struct layout {
    stage stages[STAGES];
    stage_ring ring;
} layout;

_Alignas(1024) shared layout smem[];
enum { SHARED_BYTES = sizeof(layout) };

// One thread keeps the ring full.
static void produce(const tensor_map *a, const tensor_map *b, u32 steps)
{
    for (u32 step = 0; step < steps; step++) {
        ring_slot slot = ring_at(&smem->ring, step, RING_PRODUCER);
        stage *to = &smem->stages[slot.stage];
        ring_acquire(&smem->ring, slot, sizeof(stage));
        tile_load(&to->a, a, step * BK, block_y() * BM, ring_full(&smem->ring, slot));
        tile_load(&to->b, b, step * BK, block_x() * BN, ring_full(&smem->ring, slot));
    }
}

// A warpgroup multiplies its 64 rows of every stage.
static void consume(bf16 *c, u32 m, u32 n, u32 steps, u32 group)
{
    f32 acc[BN / 2];
    for (u32 step = 0; step < steps; step++) {
        stage *s = &smem->stages[step % STAGES];
        mma_operand a = tile_operand_block(&s->a, group), b = tile_operand(&s->b);
        ring_wait_step(&smem->ring, step);
        wgmma_fence();
        tile_mma(wgmma_bf16, acc, a, b, 4, step != 0);
        wgmma_commit();
        wgmma_wait(1); // one group of products stays under way
        if (step != 0)
            ring_release_step(&smem->ring, step - 1);
    }
    wgmma_wait(0);
#pragma unroll
    for (u32 i = 0; i < BN / 2; i += 2) {
        u32 row = block_y() * BM + group * 64 + acc_row(i), column = block_x() * BN + acc_column(i);
        if (row < m && column < n)
            *(u32 *)(c + (u64)row * n + column) = pack_bf16(acc[i], acc[i + 1]);
    }
}

// c: [m, n] = a: [m, k] times b: [n, k] transposed; the maps' boxes are tiles
kernel block(128 * (CONSUMERS + 1)) void matmul(tensor_map a, tensor_map b, bf16 *c, u32 m, u32 n, u32 k)
{
    u32 steps = (k + BK - 1) / BK, group = warp() / 4;
    if (thread_x() == 0) {
        ring_init(&smem->ring, CONSUMERS);
        mbarrier_fence_init();
    }
    barrier();
    if (group < CONSUMERS) {
        registers_more(232);
        consume(c, m, n, steps, group);
    } else {
        registers_less(40);
        if (thread_x() == 128 * CONSUMERS)
            produce(&a, &b, steps);
    }
}
