// flags: --target sm_90a
// The constants of every row on both sides of their limits: those of `fine` are taken.
#include <kiln/kernel.h>

kernel block(128) void fine(u32 *g)
{
    _Alignas(128) shared u32 sh[64];
    shared mbarrier b;
    mbarrier_init(&b, 1);
    mbarrier_init(&b, 1048575);
    mbarrier_expect(&b, 0);
    mbarrier_expect(&b, 1048575);
    mbarrier_arrive_expect(&b, 0);
    mbarrier_arrive_expect(&b, 1);
    mbarrier_arrive_expect(&b, 1048575);
    barrier_sync(0, 32);
    barrier_sync(15, 1024);
    barrier_arrive(0, 32);
    barrier_arrive(15, 1024);
    bulk_load(sh, g, 0, &b);
    bulk_load(sh, g, 16, &b);
    bulk_store(g, sh, 48);
}

kernel block(128) void wrong(u32 *g)
{
    _Alignas(128) shared u32 sh[64];
    shared mbarrier b;
    mbarrier_init(&b, 1048576);
    mbarrier_expect(&b, 1048576);
    mbarrier_arrive_expect(&b, 1048576);
    barrier_sync(16, 64);
    barrier_sync(1, 0);
    barrier_sync(1, 1056);
    barrier_sync(1, 48);
    barrier_arrive(16, 64);
    barrier_arrive(1, 0);
    barrier_arrive(1, 1056);
    barrier_arrive(1, 48);
    registers_more(16);
    registers_more(264);
    registers_less(20);
    registers_less(252);
}
