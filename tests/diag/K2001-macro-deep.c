// Of a long chain of macros the innermost and the outermost are shown. What comes from an argument
// stands where the argument is written.
#include <kiln/kernel.h>

#define A(x) (x + missing)
#define B(x) (A(x) * 2)
#define C(x) (B(x) - 1)
#define D(x) (C(x) / 3)
#define E(x) (D(x) % 4)
#define F(x) (E(x) & 5)

kernel block(64) void k(i32 *out)
{
    out[0] = F(1);
    out[1] = C(absent);
}
