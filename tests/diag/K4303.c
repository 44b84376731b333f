// flags: --target sm_90a
// Constants that an instruction does not take: a barrier, threads, registers, bytes.
#include <kiln/kernel.h>

kernel block(128) void f(u32 *g)
{
    _Alignas(128) shared u32 sh[64];
    shared mbarrier b;
    barrier_sync(17, 128);
    barrier_sync(1, 33);
    registers_more(250);
    bulk_load(sh, g, 20, &b);
    mbarrier_init(&b, 0);
}
