// Statements before the first case are never reached; a label inside a later loop is.
#include <kiln/kernel.h>

kernel block(1) void f(i32 *out)
{
    switch (out[0]) {
        i32 only_declared;
        out[1] = 2;
    case 1: only_declared = 1; out[1] = only_declared; break;
        while (out[1] < 9) {
        case 2: out[1]++;
        }
    }
}
