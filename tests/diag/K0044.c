// A target condition in #if: an error with notes about what to write instead.
#include <kiln/kernel.h>

#if target_sm() >= 90
#define STEP 8
#endif
kernel block(64) void f(f32 *x)
{
    x[0] = 1;
}
