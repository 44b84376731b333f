// An #endif and an #else without #if: two errors.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
#else
#endif
