// out = scale[row] * q. Memory that is read and written at the same time pays for every change of
// direction, so each block reads in bursts: the copy engine fills its whole ring, the threads write
// four times as much out of it, and only then the next burst is asked for. Two blocks of a
// multiprocessor take turns. A piece lies within one row; n is a multiple of PIECE.
#include <kiln/kernel.h>

tune(RING, 16, 8, 12, 20, 24); // pieces of a burst
enum { PIECE = 4096, THREADS = 1024 };
#ifndef COLS
#    define COLS cols
#endif

_Alignas(128) shared i8 ring[];
shared mbarrier full[RING];

// Asks for the burst that begins with piece `first`; the pieces of a block are gridDim apart.
static void load_burst(const i8 *q, u32 first, u32 pieces)
{
    for (u32 i = 0; i < RING; i++) {
        u32 piece = first + i * grid_dim_x();
        if (piece < pieces) {
            mbarrier_arrive_expect(&full[i], PIECE);
            bulk_load(ring + i * PIECE, q + (u64)piece * PIECE, PIECE, &full[i]);
        }
    }
}

kernel block(THREADS) min_blocks(2) void dequant(const i8 *restrict q, const f32 *restrict scale,
                                                 f32 *restrict out, u32 cols, u32 n)
{
    u32 pieces = n / PIECE, stage = 0, phase = 0;
    if (thread_x() == 0) {
        for (u32 i = 0; i < RING; i++)
            mbarrier_init(&full[i], 1);
        mbarrier_fence_init();
    }
    next_kernel_launch();
    previous_kernel_wait();
    barrier();
    if (thread_x() == 0)
        load_burst(q, block_x(), pieces);
    for (u32 piece = block_x(); piece < pieces; piece += grid_dim_x()) {
        f32 s = scale[piece * PIECE / COLS];
        mbarrier_wait(&full[stage], phase);
        i8x4 a = ((const i8x4 *)(ring + stage * PIECE))[thread_x()];
        f32x4 v = {s * (f32)a.x, s * (f32)a.y, s * (f32)a.z, s * (f32)a.w};
        store_stream((f32x4 *)(out + (u64)piece * PIECE) + thread_x(), v);
        stage++;
        barrier(); // the block writes piece by piece, and in the end everybody has read the ring
        if (stage == RING) {
            if (thread_x() == 0)
                load_burst(q, piece + grid_dim_x(), pieces);
            stage = 0;
            phase ^= 1;
        }
    }
}
