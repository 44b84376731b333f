// Constants that do not fit the bits they go to; values known only later wrap.
#include <kiln/kernel.h>

struct flags {
    u32 low : 4;
    i32 sign : 1;
    i32 both : 5;
};
static const struct flags table[] = {{15, 0, -16}, {16}};

kernel block(64) void f(u32 *x, u32 n)
{
    struct flags v = {.low = 15, .sign = 1};
    v.both = 16;
    v.both = -16;
    v.low = n;
    x[0] = v.low + table[0].low;
}
