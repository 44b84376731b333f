// An #ifdef without #endif: an error that shows it, its #else and the end of the file.
#include <kiln/kernel.h>

#ifdef FAST
#define STEP 4
#else
#define STEP 1

kernel block(64) void f(f32 *x)
{
    x[0] = STEP;
}
