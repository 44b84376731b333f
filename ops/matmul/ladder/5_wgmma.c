// Rung 5 of the ladder: Hopper's tensor cores and copy engine. Four warps multiply 64 x 128 x 16 in
// one instruction, wgmma, straight from shared memory. One thread asks the copy engine for whole
// tiles; barriers in shared memory count the bytes that arrive.
// Any m; n and k are multiples of 8. Runs on sm_90a and on interp.
#include <kiln/tile.h>

enum { BM = 128, BN = 128, BK = 64, STAGES = 3 };

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

// One thread: waits until the stage of this step is empty, then has the copy engine fill it.
static void load_step(const tensor_map *a, const tensor_map *b, u32 step)
{
    ring_slot slot = ring_at(&smem->ring, step, RING_PRODUCER);
    stage *to = &smem->stages[slot.stage];
    ring_acquire(&smem->ring, slot, sizeof(stage));
    tile_load(&to->a, a, step * BK, block_y() * BM, ring_full(&smem->ring, slot));
    tile_load(&to->b, b, step * BK, block_x() * BN, ring_full(&smem->ring, slot));
}

// c: [m, n] = a: [m, k] times b: [n, k] transposed; the maps' boxes are tiles
kernel block(256) min_blocks(2) void matmul(tensor_map a, tensor_map b, bf16 *c, u32 m, u32 n, u32 k)
{
    u32 steps = (k + BK - 1) / BK, group = warp() / 4; // two groups of four warps: 64 rows each
    if (thread_x() == 0) {
        ring_init(&smem->ring, 2); // a stage is empty when both groups have released it
        mbarrier_fence_init();
    }
    barrier();
    if (thread_x() == 0)
        for (u32 s = 0; s < min(steps, (u32)STAGES); s++)
            load_step(&a, &b, s);
    f32 acc[BN / 2];
    for (u32 step = 0; step < steps; step++) {
        stage *s = &smem->stages[step % STAGES];
        mma_operand of_a = tile_operand_block(&s->a, group), of_b = tile_operand(&s->b);
        ring_wait_step(&smem->ring, step);
        wgmma_fence();
        tile_mma(wgmma_bf16, acc, of_a, of_b, 4, step != 0);
        wgmma_commit();
        wgmma_wait(1); // the products of the step before are done: its stage may be filled again
        if (step != 0) {
            ring_release_step(&smem->ring, step - 1);
            if (thread_x() == 0 && step - 1 + STAGES < steps)
                load_step(&a, &b, step - 1 + STAGES);
        }
    }
    wgmma_wait(0);
#pragma unroll
    for (u32 i = 0; i < BN / 2; i += 2) {
        u32 row = block_y() * BM + group * 64 + acc_row(i), column = block_x() * BN + acc_column(i);
        if (row < m && column < n)
            *(u32 *)(c + (u64)row * n + column) = pack_bf16(acc[i], acc[i + 1]);
    }
}
