// A declaration right after a case label: an error that asks for braces.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    switch (n) {
    case 1:
        f32 a = 2;
        x[0] = a;
    }
}
