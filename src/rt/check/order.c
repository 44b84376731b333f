// What orders two accesses: barriers (epochs), warp_sync (the warp's count), one thread's own
// sequence, and pairs of release and acquire through an atomic or volatile place.
//
// The last kind is taken generously: an acquire comes after everything that any block did up to the
// place's newest release. So what is reported is a race; some races between blocks that synchronise
// by themselves are not found.
#include "rt/check/check.h"

static bool is_gentle(uint32_t flags)
{
    return (flags & (MARK_ATOMIC | MARK_VOLATILE)) != 0;
}

conflict order_conflict(const check *k, const mark *m, const mark *now)
{
    if (m->epoch < k->block_epoch) {
        if (!m->epoch || m->epoch <= k->acquired || (is_gentle(m->flags) && is_gentle(now->flags)))
            return CONFLICT_NONE;
        return CONFLICT_GRID;
    }
    if (m->epoch != now->epoch || (is_gentle(m->flags) && is_gentle(now->flags)))
        return CONFLICT_NONE;
    if (m->thread / LANES != now->thread / LANES)
        return CONFLICT_BLOCK;
    if (m->sync != now->sync || (m->thread == now->thread && !(m->flags & MARK_MANY)))
        return CONFLICT_NONE;
    return CONFLICT_BLOCK;
}

void order_fence(check *k, unsigned flags)
{
    k->fence_block = k->epoch;
    if (!(flags & WATCH_BLOCK_SCOPE))
        k->fence_device = k->epoch;
}

uint32_t order_at(check *k, uint64_t address, uint32_t thread, unsigned flags)
{
    enum { PLACES_MAX = 1 << 16 };
    uint32_t epoch = 0;
    if (k->releases.len) {
        const uint64_t *known = map_find(&k->releases, address);
        epoch = known ? (uint32_t)(*known >> 32) : 0;
        if (epoch && epoch < k->block_epoch && epoch > k->acquired)
            k->acquired = epoch;
        // Within the block it counts as a barrier.
        if (epoch == k->epoch && (uint32_t)*known != thread)
            k->epoch++;
    }
    uint32_t upto = flags & WATCH_RELEASE       ? k->epoch
                    : flags & WATCH_BLOCK_SCOPE ? k->fence_block
                    : k->fence_device           ? k->fence_device
                                                : k->fence_block;
    if (upto >= k->block_epoch && upto && k->releases.len < PLACES_MAX)
        *map_at(&k->releases, address) = (uint64_t)upto << 32 | thread;
    return epoch;
}

uint64_t order_block_of(const check *k, uint32_t epoch)
{
    uint32_t lo = 0, hi = k->starts.len;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (k->starts.at[mid] >> 32 <= epoch)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? (uint32_t)k->starts.at[lo - 1] : 0;
}
