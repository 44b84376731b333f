// A thread-local variable in a kernel: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    _Thread_local f32 a = 2;
    x[0] = a;
}
