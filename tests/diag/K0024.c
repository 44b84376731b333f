// Text after #ifdef NAME and after #endif: two warnings, the second with a fix-it.
#include <kiln/kernel.h>

#ifdef FAST && WIDE
#define STEP 4
#endif FAST

kernel block(64) void f(f32 *x)
{
    x[0] = 1;
}
