// Words of GNU's C that stand where a type does.
#include <kiln/kernel.h>

#define larger(x, y) ({ __auto_type a = (x); a > (y) ? a : (y); })

kernel block(64) void f(i32 *x)
{
    __label__ again, done;
    x[0] = larger(x[1], 2);
again:
    if (x[0]++ < 10)
        goto again;
    if (x[0] > 20)
        goto done;
    x[1] = 0;
done:
    x[2] = 1;
}
