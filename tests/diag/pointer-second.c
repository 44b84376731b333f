// Every pointer of a copy is looked at, not only the first.
#include <kiln/kernel.h>

kernel block(32) void copies(u32 g, const u32 *c, f32 *q)
{
    _Alignas(128) shared u32 sh[64];
    shared mbarrier b;
    bulk_load(sh, g, 16, &b);
    bulk_store(c, sh, 16);
    async_copy_4(sh, (void *)q);
}
