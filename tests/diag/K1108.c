// A block size on a function that is no kernel: an error with a fix-it that adds kernel.
#include <kiln/kernel.h>

block(64) void f(f32 *x)
{
    x[thread_rank()] = 1;
}
