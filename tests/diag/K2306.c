// a kernel that returns a number
#include <kiln/kernel.h>

kernel i32 run(i32 n)
{
    return n;
}
