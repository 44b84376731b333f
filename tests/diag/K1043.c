// A struct's tag used with union: an error with the definition labelled.
#include <kiln/kernel.h>

struct item {
    f32 a;
};

kernel block(64) void f(f32 *x, u32 n)
{
    union item v;
    x[0] = 1;
}
