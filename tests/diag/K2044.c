// a printf whose format is not a literal
#include <kiln/kernel.h>

kernel void run(i32 n)
{
    printf(n);
}
