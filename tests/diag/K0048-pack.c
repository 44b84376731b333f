// Alignments are powers of two.
#include <kiln/kernel.h>
#pragma pack(push, 3)
#pragma pack(pop)
#pragma pack(push, name, 2)
struct item {
    u8 a;
    u32 b;
};
#pragma pack(pop, name)
#pragma pack(push)
#pragma pack(1)
#pragma pack()
#pragma pack(pop)
#pragma pack()
#pragma pack(push 1)
#pragma pack 1

kernel block(64) void f(u32 *x, const struct item *v)
{
    x[0] = v->b + (u32)sizeof(struct item);
}
