// A packed struct that a kernel uses: an error at the attribute.
#include <kiln/kernel.h>

struct __attribute__((packed)) item {
    u8 kind;
    f32 value;
};

kernel block(64) void f(f32 *x, const struct item *v)
{
    x[0] = v->value;
}
