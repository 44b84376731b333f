// Kernel's needs and a target's limits in, blocks per multiprocessor out. Registers are given to
// warps in lots of 256, from four equal parts of the register file; shared memory in lots of 128
// bytes (256 before sm_80), and from sm_80 on the system takes 1 KiB of each block for itself.
// tests/gpu compares the result with the driver's.
#include "back/report/occupancy.h"

enum { WARP = 32, REGISTER_LOT = 256, PARTS = 4 };

static uint64_t round_up(uint64_t n, uint64_t lot)
{
    return (n + lot - 1) / lot * lot;
}

static uint64_t blocks_by_registers(const target *t, uint32_t registers, uint32_t warps)
{
    if (!registers)
        return UINT32_MAX;
    uint64_t of_warp = round_up((uint64_t)registers * WARP, REGISTER_LOT);
    if (registers > 255 || of_warp * round_up(warps, PARTS) > t->registers)
        return 0;
    return t->registers / PARTS / of_warp * PARTS / warps;
}

static uint64_t blocks_by_shared(const target *t, uint64_t shared)
{
    if (shared > t->shared_limit)
        return 0;
    uint64_t reserved = t->sm >= 80 ? 1024 : 0;
    uint64_t of_block = round_up(shared + reserved, t->sm >= 80 ? 128 : 256);
    return of_block ? t->shared_sm / of_block : UINT32_MAX;
}

const char *occupancy_limit_name(occupancy_limit limit)
{
    static const char *const names[] = {"nothing", "threads", "blocks", "registers",
                                        "shared memory"};
    return names[limit];
}

occupancy occupancy_of(const target *t, uint32_t registers, uint32_t threads, uint64_t shared)
{
    uint32_t warps = (threads + WARP - 1) / WARP, most = t->threads / WARP;
    if (!warps || threads > 1024)
        return (occupancy){0, 0, LIMIT_THREADS};
    // In the order in which ties are reported: what the author can change comes first.
    const struct {
        occupancy_limit limit;
        uint64_t blocks;
    } rows[] = {{LIMIT_REGISTERS, blocks_by_registers(t, registers, warps)},
                {LIMIT_SHARED, blocks_by_shared(t, shared)},
                {LIMIT_THREADS, most / warps},
                {LIMIT_BLOCKS, t->blocks}};
    occupancy best = {.blocks = UINT32_MAX};
    for (size_t k = 0; k < COUNT(rows); k++)
        if (rows[k].blocks < best.blocks)
            best = (occupancy){.blocks = (uint32_t)rows[k].blocks, .limit = rows[k].limit};
    best.percent = best.blocks * warps * 100 / most;
    if (best.blocks * warps == most)
        best.limit = LIMIT_NONE;
    return best;
}
