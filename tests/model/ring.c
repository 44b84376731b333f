// Objects through a ring in shared memory (src/rt/channel/mailbox_ring.h), for devices that have
// bulk copies: two warps in turn, each twice, so that the second finds the barriers as the first
// left them. `missed` counts who did not get the ring.
#include <kiln/kernel.h>

#include "../../src/rt/channel/mailbox_ring.h"

kernel block(64) void through_ring(u8 *to, const u8 *from, u32 n, u32 at, u32 *missed)
{
    shared u64x2 memory[1560];
    uintptr_t start = ((uintptr_t)memory + 127u) & ~(uintptr_t)127u;
    mailbox_ring ring = {start, 24960u - 128u, 0};
    u32 *lock = ring_address(start, u32);
    if (thread_x() == 0u)
        lock[0] = lock[1] = 0;
    barrier();
    for (u32 turn = 0; turn < 4u; turn++) {
        if (thread_x() == 32u * (turn & 1u) + 3u) {
            u64 place = at + (u64)(n + 48u) * (turn & 1u);
            if (ring_try(lock)) {
                mailbox_ring_copy(&ring, to + place, from + place, n);
                ring_leave(lock);
            } else {
                atomic_add(missed, 1u);
            }
        }
        barrier();
    }
}
