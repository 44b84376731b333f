// offsetof of a member that does not exist: an error at its name.
#include <kiln/kernel.h>

struct pair {
    f32 a, b;
};

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = (f32)offsetof(struct pair, c);
}
