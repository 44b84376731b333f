// Reductions and scans over a whole grid, in Kiln C; host compilers read the same text.
//
// No block ever waits for another one, so the order in which a device starts its blocks does not matter: each block
// leaves its result in a buffer and takes a ticket, and the one that takes the last ticket combines all of them. The
// order is fixed by the shape of the launch alone, so that every device and every run gives the same bits, whichever
// block comes last. A reduction: thread t combines the results of blocks t, t + n, t + 2n … (n threads in a block) from
// the lowest up, then the threads combine as in a block. A scan: the last block scans the blocks' totals in pieces
// of n, each as in a block, the running value of the pieces below on the left; a second launch (_end) puts the
// running value of the blocks below to the left of each thread's own.
#ifndef KILN_LIB_GRID_H
#define KILN_LIB_GRID_H

static inline u32 k_grid_blocks(void)
{
    return grid_dim_x() * grid_dim_y() * grid_dim_z();
}

static inline u32 k_grid_place(void)
{
    return (block_z() * grid_dim_y() + block_y()) * grid_dim_x() + block_x();
}

// The first barrier gathers what the block wrote (and keeps the store of is_last behind an earlier call's loads); thread
// 0's fences hand it on through the ticket to whoever comes last.
static inline bool k_grid_is_last(u32 *ticket)
{
    shared u32 is_last;
    barrier();
    if (thread_rank() == 0) {
        fence_device();
        u32 turn = atomic_add(ticket, 1u);
        fence_device();
        is_last = turn == k_grid_blocks() - 1;
        if (is_last)
            atomic_store(ticket, 0u);
    }
    barrier();
    return promise_block_uniform(is_last != 0);
}
#endif
