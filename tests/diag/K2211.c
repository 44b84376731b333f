// A tunable and an enum constant in #if. Silent: macros, names that nothing declares, defined.
#include <kiln/kernel.h>

tune(WIDE, 0, 1);
enum { LINES = 4 };
#define COUNT 2

kernel void f(f32 *x)
{
#if WIDE == 1
    x[0] = 1.0f;
#endif
#if COUNT > 1 && LINES > 2
    x[1] = 1.0f;
#endif
#if UNKNOWN || defined(WIDE)
    x[2] = 1.0f;
#endif
    x[3] = WIDE + LINES + COUNT;
}
