// Attributes that change what a declaration means; a hint is taken as one.
#include <kiln/kernel.h>

typedef f32 wide __attribute__((vector_size(16)));
static f32 twice(f32 x) __attribute__((__always_inline__, unused));
static f32 twice(f32 x)
{
    return 2 * x;
}

kernel block(1) void f(wide *a, f32 *out)
{
    i32 word __attribute__((mode(DI))) = 1;
    out[0] = twice(1);
}
