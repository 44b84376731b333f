// A macro that is used once: the fix is made in its definition.
#include <kiln/kernel.h>

#define SCALED(a, b) (a) * (b) + 0.5f
#define STORE(v)     out[thread_x()] = SCALED(v, 2.0f) + v

kernel block(64) void k(i32 *out, const f32 *x)
{
    STORE(x[thread_x()]);
}
