// Under #pragma kiln variables(thread) each thread has the variables of the file, set when the kernel
// starts: their values must be known before.
#include <kiln/kernel.h>

#pragma kiln variables(thread)
static i32 given = 3, *where = &given;
static i32 late(void)
{
    return 4;
}
static i32 wrong = late();

kernel block(32) void f(i32 *x, i32 n)
{
    static i32 count = 5;
    static i32 first = n;
    x[0] = *where + wrong + ++count + first;
}
