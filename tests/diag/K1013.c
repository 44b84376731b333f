// Bit-fields that cannot be: of a float, too wide, without bits, with an alignment.
#include <kiln/kernel.h>

kernel block(64) void f(u32 *x)
{
    struct wrong {
        f32 a : 4;
        u8 b : 9;
        bool c : 2;
        u32 d : 0;
        u32 e : -1;
        _Alignas(8) u32 g : 3;
        u32 h : x[0];
    };
    struct right {
        u32 a : 4;
        u32 : 0;
        bool c : 1;
    } r = {1, 1};
    x[0] = r.a;
}
