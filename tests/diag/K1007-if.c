// A condition that is nested too deeply: one error, and the else still belongs to its if.
#include <kiln/kernel.h>

#define P(x)  ((((((((((x))))))))))
#define P2(x) P(P(P(P(P(P(P(P(P(P(x))))))))))

kernel block(1) void f(i32 *out)
{
    if (P2(P2(P2(1))))
        out[0] = 1;
    else
        out[0] = 2;
    while (out[0] +)
        out[0] = missing;
}
