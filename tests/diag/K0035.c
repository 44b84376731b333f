// Too few and too many arguments: two errors with a label at the definition.
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define FIRST(a, b, ...) a
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = MAX(1.0f);
    x[1] = MAX(1.0f, 2.0f, 3.0f);
    x[2] = FIRST(1.0f);
}
