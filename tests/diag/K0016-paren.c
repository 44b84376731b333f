// A closing parenthesis too many inside a block: an error with a label at the block.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = (x[1] + 1.0f));
}
