// A struct with an array of no length that a kernel uses: an error at the member.
#include <kiln/kernel.h>

struct packet {
    u32 len;
    f32 data[];
};

kernel block(64) void f(f32 *x, const struct packet *v, u32 n)
{
    x[0] = v->data[n];
}
