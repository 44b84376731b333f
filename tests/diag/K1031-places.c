// Storage classes and function words where they mean nothing.
#include <kiln/kernel.h>

struct item {
    static i32 a;
    inline i32 b;
};

kernel block(1) void f(static i32 *out, struct item x)
{
    inline i32 y = 1;
    _Noreturn i32 z = 1;
    extern i32 w = 1;
    out[0] = y + z + x.a;
}
