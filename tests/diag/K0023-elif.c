// An #elif after the #else: an error that shows both.
#include <kiln/kernel.h>

#if 1
#define STEP 1
#else
#define STEP 2
#elif 1
#define STEP 3
#endif
kernel block(64) void f(f32 *x)
{
    x[0] = STEP;
}
