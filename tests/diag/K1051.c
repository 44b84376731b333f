// A thread-local variable in a kernel: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
    static _Thread_local f32 a;
}
