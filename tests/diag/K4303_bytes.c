// flags: --target sm_90a
// The bytes of every copy on both sides of their limits: those of `fine` are taken.
#include <kiln/kernel.h>

kernel block(128) void fine(u32 *g)
{
    _Alignas(128) shared u32 sh[64];
    shared mbarrier b;
    async_copy_4_part(sh, g, 0);
    async_copy_4_part(sh, g, 4);
    async_copy_8_part(sh, g, 8);
    async_copy_16_part(sh, g, 16);
    bulk_load(sh, g, 0, &b);
    bulk_load(sh, g, 16, &b);
    bulk_store(g, sh, 48);
}

kernel block(128) void wrong(u32 *g)
{
    _Alignas(128) shared u32 sh[64];
    shared mbarrier b;
    async_copy_4_part(sh, g, 5);
    async_copy_8_part(sh, g, 9);
    async_copy_16_part(sh, g, 17);
    bulk_load(sh, g, 17, &b);
    bulk_store(g, sh, 8);
    bulk_send(sh, sh, 8, &b, 0);
    bulk_add_f32((f32 *)g, (f32 *)sh, 8);
    bulk_add_f64((f64 *)g, (f64 *)sh, 8);
    bulk_add_f16((f16 *)g, (f16 *)sh, 8);
    bulk_add_bf16((bf16 *)g, (bf16 *)sh, 8);
    bulk_add_u32(g, sh, 8);
    bulk_add_u64((u64 *)g, (u64 *)sh, 8);
}
