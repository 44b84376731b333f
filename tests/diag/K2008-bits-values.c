// Constants and bit-fields: the value, not its type, decides.
#include <kiln/kernel.h>

typedef struct flags {
    u32 a : 3, b : 5;
    i32 c : 4;
} flags;

kernel block(64) void f(flags *x)
{
    x[0].a = 7;
    x[0].a = 8;
    x[0].c = -8;
    x[0].c = 8;
    x[0].b = (u32)40.5f;
}
