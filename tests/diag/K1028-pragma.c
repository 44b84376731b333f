// #pragma pack would change the layout of what a kernel reads; after pack() all is well.
#include <kiln/kernel.h>

#pragma pack(push, 1)
struct tight {
    u8 kind;
    u32 size;
};
#pragma pack(pop)
struct loose {
    u8 kind;
    u32 size;
};

kernel block(1) void f(const struct tight *a, const struct loose *b, u32 *out)
{
    out[0] = a->size + b->size;
}
