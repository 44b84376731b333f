// extern in a block means the variable of the file: here one that lives on the host.
#include <kiln/kernel.h>

static const i32 table[] = {1, 2, 3};

kernel block(1) void f(i32 *out)
{
    extern const i32 table[3];
    extern i32 counter;
    out[0] = table[1] + counter;
}
