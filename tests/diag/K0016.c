// A closing brace too many: an error; the rest of the file is still checked.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    if (n) {
        x[0] = 1;
    }
    }
}
