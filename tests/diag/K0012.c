// A byte escape above 255 and a short Unicode escape: two errors.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    printf("\x100 \u12\n");
}
