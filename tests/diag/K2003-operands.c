// Operands that operators do not take: an error each.
#include <kiln/kernel.h>

typedef struct pair {
    i32 a, b;
} pair;
static void nothing(void) {}

kernel block(64) void f(f32 *x, i32 *n, void *v, pair *p, bool *b)
{
    const pair fixed = {1, 2};
    n[0] = 1 + nothing();
    n[1] = -p[0];
    n[2] = ~x[0];
    n[3] = !p[0];
    n[4] = 3 - n;
    n[5] = x[1] << 2;
    n[6] = p[0] + p[1];
    n[7] = n == 1;
    n[8] = n == 1.5f;
    n[9] = *v;
    fixed.a++;
    b[0]++;
    --b[1];
    x = x + 1.5f;
    x = x + n;
    x = x * 2;
    n[10] = x - n;
    n[11] = p[0] && 1;
    n[12] = p[0] ? 1 : 2;
}
