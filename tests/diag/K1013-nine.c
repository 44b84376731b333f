// 64 bits that start in the middle of a byte.
#include <kiln/kernel.h>

struct __attribute__((packed)) item {
    u8 low : 3;
    u64 all : 64;
};

kernel block(64) void f(u64 *x, const struct item *v)
{
    x[0] = v->all;
}
