// Malformed conditions: an error for each.
#if 1 +
#endif
#if (1
#endif
#if 1 2
#endif
#if
#endif
#if 1.5 > 1
#endif
#if defined
#endif
#if 1 ? 2
#endif
#if = 3
#endif
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
