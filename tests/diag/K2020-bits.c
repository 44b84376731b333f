// A bit-field has a value but neither an address, nor a size, nor an offset.
#include <kiln/kernel.h>

struct flags {
    u32 low : 4;
    i32 sign : 1;
};

kernel block(64) void f(u32 *x)
{
    struct flags v = {1, -1};
    u32 *p = &v.low;
    x[0] = (u32)sizeof v.low;
    x[1] = (u32)offsetof(struct flags, sign);
    atomic_add(&v.low, 1u);
    x[2] = v.low + p[0];
}
