// A label where none can stand: twice, under an if without braces, in a switch that has cases in inner statements.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
again:
    x[0] = 1;
again:
    if (n == 3)
    alone:
        x[1] = 2;
    switch (n) {
    case 1:
        if (x[2] > 1) {
        case 2: x[2] = 1;
        }
    among:
        x[3] = 1;
    }
    if (n > 5)
        goto again;
    if (n > 6)
        goto alone;
    if (n > 7)
        goto among;
}
