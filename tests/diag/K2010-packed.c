// Pointers into packed structs: only to bytes, or through void *.
#include <kiln/kernel.h>

struct __attribute__((packed)) item {
    u8 kind;
    u32 count;
    f32 at[3];
    u8 text[4];
};
static void clear(u32 *x)
{
    *x = 0;
}

kernel block(64) void f(struct item *v, u32 *out)
{
    u32 *count = &v->count;
    const f32 *at = v->at;
    u8 *text = v->text;
    void *any = &v->count;
    clear(&v[1].count);
    atomic_add(&v->count, 1u);
    out[0] = *count + (u32)at[0] + text[0] + (any == v);
}
