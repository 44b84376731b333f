// An operator without its right operand: an error at the semicolon that says an expression is missing.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1.0f + ;
}
