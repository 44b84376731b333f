// A type of the file that is declared below the function.
#include <kiln/kernel.h>

kernel block(1) void f(i32 *out)
{
    word x = 1;
    out[0] = x;
}

typedef i32 word;
