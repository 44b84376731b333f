// Directives without a name: two errors.
#define 16 TILE
#ifdef
#endif
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
