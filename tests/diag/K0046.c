// Names of the preprocessor defined as macros: two errors.
#define defined 1
#define __LINE__ 5
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
