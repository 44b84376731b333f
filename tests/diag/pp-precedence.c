// Operators of #if bind as those of C: each with the one above and below it.
#include <kiln/kernel.h>

#if (1 | 3 ^ 3) != 1 || (3 ^ 1 & 1) != 2 || (1 & 2 == 2) != 1 || (0 == 3 > 1) != 0
#error one
#endif
#if (1 < 1 << 1) != 1 || (1 << 1 + 1) != 4 || (2 + 3 * 2) != 8 || (7 - 3 - 2) != 2 || (-1 * 2 + 5) != 3
#error two
#endif
#if (1 || 0 && 0) != 1 || (0 && 1 | 1) != 0 || (1 ? 0 : 1 ? 2 : 3) != 0 || (0 ? 1 : 0 || 4) != 1
#error three
#endif
#if (1 & 1 | 2) != 3 || (5 | 4 ^ 4 & 4) != 5 || (8 >> 1 > 3) != 1 || (2 > 1 == 1) != 1 || (12 / 2 % 4) != 2
#error four
#endif
kernel block(32) void f(i32 *x)
{
    x[0] = 1;
}
